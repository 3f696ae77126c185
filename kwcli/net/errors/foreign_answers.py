"""The first bytes of an answer that is no Kafka in, why the connection ended, in words, out."""

from __future__ import annotations

from kwcli.net.errors.connection_stops import Cause, ConnectionStop

_WHERE = "check host and port"


def named(head: bytes, *, sasl: bool = False) -> ConnectionStop | None:
    """The end of a connection whose peer began, or went on, with `head`; None where that is no known protocol's."""
    from decoders.protocols.signatures import TLS, mark_of

    mark = mark_of(head)
    if mark is None:
        return None
    if mark.name == TLS:
        return ConnectionStop(Cause.FOREIGN, "speaks TLS", remedy=tls_remedy(sasl))
    detail = mark.tell(head)
    what = f"{mark.name} ({detail})" if detail else mark.name
    return ConnectionStop(Cause.FOREIGN, f"speaks {what}, not Kafka", remedy=_WHERE)


def not_kafka(head: bytes, *, sasl: bool = False) -> ConnectionStop:
    """The same, with the bytes themselves where nobody knows them."""
    sent = f"does not speak Kafka: it sent {shown(head)}"
    return named(head, sasl=sasl) or ConnectionStop(Cause.FOREIGN, sent, remedy=_WHERE)


def tls_remedy(sasl: bool) -> str:
    """What to set where the peer turns out to speak TLS."""
    return f"try -X security.protocol={'SASL_SSL' if sasl else 'SSL'}"


def plain_remedy(sasl: bool) -> str:
    """What to set where the peer turns out not to."""
    return f"try -X security.protocol={'SASL_PLAINTEXT' if sasl else 'PLAINTEXT'}"


def shown(data: bytes, limit: int = 24) -> str:
    """Bytes for a line of text: as they are where they can be read, else in hex."""
    part = data[:limit]
    more = "…" if len(data) > limit else ""
    text = part.rstrip(b"\r\n")
    if text and all(32 <= byte < 127 for byte in text):
        return f'"{text.decode("ascii")}{more}"'
    return part.hex(" ") + more if part else "nothing"
