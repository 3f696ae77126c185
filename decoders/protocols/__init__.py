"""First bytes of connections, and SASL tokens, in, the protocol they belong to where it is not Kafka out."""

from typing import Final

# The name of TLS among these protocols.
TLS: Final = "TLS"
