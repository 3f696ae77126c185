"""The first bytes that came instead of a frame in, what they are and what to do about it out."""

from __future__ import annotations

from typing import Literal, overload

from kwcli.net.core.stops import Cause, Stop


@overload
def not_kafka(head: bytes) -> Stop: ...
@overload
def not_kafka(head: bytes, *, sure: Literal[False]) -> Stop | None: ...


def not_kafka(head: bytes, *, sure: bool = True) -> Stop | None:
    """The end of a connection whose peer began, or went on, with `head`; unless `sure`, None where it has no name."""
    from decoders.streams.foreign import TLS, likely

    name = likely(head)
    if name == TLS:
        return Stop(Cause.FOREIGN, "speaks TLS", remedy="try -X security.protocol=SSL")
    if name:
        return Stop(Cause.FOREIGN, f"speaks {name}, not Kafka", remedy="is it the right port?")
    if not sure:
        return None
    return Stop(Cause.FOREIGN, f"does not speak Kafka: it sent {shown(head)}", remedy="is it the right port?")


def shown(data: bytes, limit: int = 24) -> str:
    """Bytes for a line of text: as they are where they can be read, else in hex."""
    part = data[:limit]
    more = "…" if len(data) > limit else ""
    text = part.rstrip(b"\r\n")
    if text and all(32 <= byte < 127 for byte in text):
        return f'"{text.decode("ascii")}{more}"'
    return part.hex(" ") + more if part else "nothing"
