"""Captures in, exchanges out: the library's call for whole captures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from decoders.capture.merge import merged
from decoders.capture.reader import CaptureReader
from decoders.errors import DecodeError
from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.needs import Needs
from decoders.streams.chunks import Segment

PIECE_SIZE: Final = 1 << 20


class Readable(Protocol):
    """A binary file."""

    def read(self, size: int, /) -> bytes: ...


Source = bytes | bytearray | memoryview | Readable | Iterable[bytes]


def read_exchanges(
    *sources: Source, ports: Iterable[int] | None = None, needs: Needs | None = None, strict: bool = False
) -> Iterator[Exchange]:
    """The exchanges of captures (pcap, pcapng), as they settle; several captures are merged by packet time.

    A source is bytes, a binary file or an iterable of bytes. `ports` are Kafka without a look, and no others; `needs`
    says which fields `Exchange.view` gives. What is cut off or corrupt ends that source quietly; with `strict` it is a
    DecodeError after everything before it.
    """
    for settled in read_settled(*sources, ports=ports, needs=needs, strict=strict):
        if isinstance(settled, Exchange):
            yield settled


def read_settled(
    *sources: Source, ports: Iterable[int] | None = None, needs: Needs | None = None, strict: bool = False
) -> Iterator[Settled]:
    """As read_exchanges, with the runs of bytes that are no exchange."""
    engine = Engine(ports, needs)
    problems: list[DecodeError] = []
    streams = [_segments(source, problems) for source in sources]
    for segments in merged(streams):
        yield from engine.feed(segments)
    yield from engine.finish()
    if strict and problems:
        raise problems[0]


def _segments(source: Source, problems: list[DecodeError]) -> Iterator[list[Segment]]:
    reader = CaptureReader()
    for piece in pieces(source):
        yield reader.feed(piece)
    yield reader.finish()
    if reader.problem is not None:
        problems.append(reader.problem)


def pieces(source: Source) -> Iterator[bytes]:
    """The bytes of a source, piece by piece."""
    if isinstance(source, bytes | bytearray | memoryview):
        for at in range(0, len(source), PIECE_SIZE):
            yield bytes(source[at : at + PIECE_SIZE])
        return
    read: Any = getattr(source, "read", None)
    if read is None:
        yield from source  # type: ignore[misc]  # an iterable, then
        return
    while data := read(PIECE_SIZE):
        yield data
