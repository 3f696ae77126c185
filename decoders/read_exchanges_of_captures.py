"""Whole captures in, as programs have them (bytes, binary files, iterables of bytes), their exchanges out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import TextIOBase
from itertools import chain
from typing import Any, Final, Protocol

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED, PIECE_SIZE, inflate_pieces
from decoders.capture.merge_captures import merge_segments
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError, strip_traceback
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from decoders.tls.key_log import KeyLog


class BinaryFile(Protocol):
    """A binary file."""

    def read(self, size: int, /) -> bytes: ...


Source = bytes | bytearray | memoryview | BinaryFile | Iterable[bytes]
_BYTES: Final = (bytes, bytearray, memoryview)
_ADVICE: Final = "give an open file or bytes: open(path, 'rb')"
# The first bytes by which compressed data are recognised.
_MAGIC_SIZE: Final = 4


def read_exchanges(
    *sources: Source,
    ports: Iterable[int] | None = None,
    needs: Needs | None = None,
    strict: bool = False,
    keys: KeyLog | None = None,
) -> Iterator[Exchange]:
    """The exchanges of captures (pcap, pcapng), as they settle; several captures are merged by packet time.

    A source is bytes, a binary file or an iterable of bytes, plain or compressed by gzip, zstd or lz4. With `ports`,
    connections to these and no others are taken for Kafka, without a look at their bytes; `needs` says which fields
    `Exchange.view` gives, for programs that want few of them fast. TLS is decrypted as far as `keys` and the secrets in
    the captures go. A connection that a capture has on both sides of NAT is given once, as in `kw sniff`. A source that
    is no capture raises DecodeError. One that is cut off or corrupt ends there quietly; with `strict` its error is
    raised after everything that was read. What is no source at all, a path for example, raises TypeError at once, and a
    field in `needs` that an API does not have ValueError.
    """
    settled = read_settled(*sources, ports=ports, needs=needs, strict=strict, keys=keys)
    return (row for row in settled if isinstance(row, Exchange))


def read_settled(
    *sources: Source,
    ports: Iterable[int] | None = None,
    needs: Needs | None = None,
    strict: bool = False,
    keys: KeyLog | None = None,
) -> Iterator[Settled]:
    """The exchanges of captures as `read_exchanges` gives them, and the skipped runs of bytes between them."""
    for source in sources:
        _check_source(source)
    if needs is not None:
        if not isinstance(needs, Needs):
            raise TypeError(f"needs is a Needs: Needs({{(API, side): paths}}), not {type(needs).__name__}")
        needs.check()
    if keys is not None and not isinstance(keys, KeyLog):
        raise TypeError(f"keys is a KeyLog, whose add_lines() takes key logs, not {type(keys).__name__}")
    keys = KeyLog() if keys is None else keys
    engine = Engine(ports, needs, keys=keys)
    engine.enable_leaving_out_of_copies()
    return _read_settled(sources, engine, strict, keys)


def _check_source(source: object) -> None:
    """Raise TypeError for what is no source of bytes."""
    if isinstance(source, str | TextIOBase) or hasattr(source, "__fspath__"):
        raise TypeError(_ADVICE)
    if not isinstance(source, Iterable) and not hasattr(source, "read"):
        raise TypeError(f"a source is bytes, a binary file or an iterable of bytes, not {type(source).__name__}")


def _read_settled(sources: tuple[Source, ...], engine: Engine, strict: bool, keys: KeyLog) -> Iterator[Settled]:
    problems: list[DecodeError] = []
    for segments in merge_segments([_read_segments(source, problems, engine, keys) for source in sources]):
        yield from engine.feed(segments)
    yield from engine.finish()
    if strict and problems:
        raise problems[0]


def _read_segments(
    source: Source, problems: list[DecodeError], engine: Engine, keys: KeyLog
) -> Iterator[list[Segment]]:
    """The segments of a source; what ends it early goes to `problems`. Raises DecodeError for what is no capture."""
    reader = CaptureReader()
    reader.on_secrets = keys.add_lines
    reader.cut_receiver = engine
    problem = None
    try:
        for piece in _inflate_source(_read_source_in_pieces(source)):
            yield reader.feed(piece)
            if reader.problem is not None:
                break
    except DecodeError as failure:
        problem = strip_traceback(failure)
    yield reader.finish()
    problem = problem or reader.problem
    if problem is not None:
        if reader.kind is None:
            raise problem
        problems.append(problem)


def _inflate_source(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a source, inflated where they are compressed."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _MAGIC_SIZE:
            break
    pieces = chain([head], pieces)
    return inflate_pieces(pieces) if COMPRESSED.match(head) else pieces


def _read_source_in_pieces(source: Source) -> Iterator[bytes]:
    """The bytes of a source, piece by piece."""
    if isinstance(source, _BYTES):
        for at in range(0, len(source), PIECE_SIZE):
            yield bytes(source[at : at + PIECE_SIZE])
        return
    read: Any = getattr(source, "read", None)
    for piece in source if read is None else iter(lambda: read(PIECE_SIZE), b""):  # type: ignore[union-attr]  # iterable
        if isinstance(piece, str):
            raise TypeError(f"a source gives bytes, not text: {_ADVICE}")
        if not isinstance(piece, _BYTES):
            raise TypeError(f"a source gives bytes, not {type(piece).__name__}")
        yield bytes(piece)
