"""First bytes of connections, and SASL tokens, in, the protocol they belong to where it is not Kafka out."""

from typing import Final

# The name of TLS among these protocols.
TLS: Final = "TLS"
# The end of the detail of a TLS connection that its other side closed without a byte.
REFUSED_HELLO: Final = ", refused without an answer"
REFUSED_TLS: Final = "TLS that was refused"


def foreign_protocol_name(detail: str) -> str:
    """The protocol that `Skipped.detail` names for a connection that is not Kafka; empty where it names none."""
    if detail.endswith(REFUSED_HELLO):
        return REFUSED_TLS
    if detail.startswith(("TLS ", "TLS,", "TLS;")):
        return "TLS"
    name = detail.partition(":")[0]
    return "" if " " in name else name
