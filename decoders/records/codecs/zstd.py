"""Zstandard frames in a row in, with or without a content size, skippable frames included; their contents out.

First the frame's blocks are stepped over (RFC 8878): that shows where the frame ends and how much can come out at most,
so that cut frames are noticed and a claimed size is never trusted.

Making a decompressor takes 8 µs, reading a small batch with it 1 µs: `kw sniff --records` took 5 % longer when each
batch made one. So a call takes one out of IDLE, which nobody else has until it is put back: several threads read
batches, and two must not use the same one. One that has failed is not put back, nor one that has the memory of a large
window.
"""

from __future__ import annotations

from typing import Final

import zstandard

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import BLOCKS_MAX, WINDOW_KEPT_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.readable_text import in_bytes

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SKIP: Final = 0x184D2A5
_CHECKSUM, _SINGLE = 0x04, 0x20
_SIZE_BYTES: Final = (0, 2, 4, 8)
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_BLOCK_MAX: Final = 128 << 10
_RLE, _COMPRESSED = 1, 2

# Decompressors that no call has now: as many as calls ran at one time. No two threads get the same from list.pop().
IDLE: Final[list[zstandard.ZstdDecompressor]] = []


class _ZstdFrame(NamedTuple):
    """Where a frame ends, the most that can come out of it, and the memory that reading it takes (its window)."""

    end: int
    bound: int
    window: int


def inflate(data: memoryview, cap: int, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """The contents of all frames of `data`, at most `cap` bytes together."""
    out: list[bytes] = []
    at, left, size, window = 0, cap, len(data), 0
    try:
        reader = IDLE.pop()
    except IndexError:
        reader = zstandard.ZstdDecompressor()
    for _ in range(BLOCKS_MAX):
        if at == size:
            if window <= WINDOW_KEPT_MAX:
                IDLE.append(reader)
            return out[0] if len(out) == 1 else b"".join(out)
        if int.from_bytes(data[at : at + 4], "little") >> 4 == _SKIP:
            at = _skip(data, at, size)
            continue
        frame = _walk(data, at, size)
        try:
            block = reader.stream_reader(data[at : frame.end]).read(min(frame.bound, left) + 1)
        except zstandard.ZstdError as failure:
            raise Malformed(f"no zstd: {failure}", offset=at) from None
        left -= len(block)
        if left < 0:
            raise LimitExceeded(f"zstd: more than {cap} bytes come out", offset=at)
        out.append(block)
        at, window = frame.end, max(window, frame.window)
    raise LimitExceeded(f"zstd: more than {BLOCKS_MAX} frames", offset=at)


def _skip(data: memoryview, at: int, size: int) -> int:
    end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    if at + 8 > size or end > size:
        raise Truncated("a skippable zstd frame is cut", offset=at)
    return end


def _walk(data: memoryview, start: int, size: int) -> _ZstdFrame:
    """Where the frame at `start` ends, from its block sizes alone. Raises DecodeError."""
    if bytes(data[start : start + 4]) != _MAGIC[: size - start]:
        raise Malformed("no zstd frame begins here", offset=start)
    if start + 5 > size:
        raise Truncated("the zstd frame ends in its header", offset=start)
    flags = data[start + 4]
    single = flags & _SINGLE
    size_bytes = _SIZE_BYTES[flags >> 6] or (1 if single else 0)
    at = start + 5 + (0 if single else 1) + _DICTIONARY_BYTES[flags & 3]
    claimed = int.from_bytes(data[at : at + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    at += size_bytes
    bound = 0
    for _ in range(BLOCKS_MAX):
        if at + 3 > size:
            raise Truncated("the zstd frame ends before its last block", offset=start)
        head = int.from_bytes(data[at : at + 3], "little")
        kind, count = head >> 1 & 3, head >> 3
        if kind > _COMPRESSED:
            raise Malformed("a zstd block of a kind that is not there", offset=at)
        bound += _BLOCK_MAX if kind == _COMPRESSED else count
        at += 3 + (1 if kind == _RLE else count)
        if head & 1:
            break
    else:
        raise LimitExceeded(f"zstd: more than {BLOCKS_MAX} blocks", offset=start)
    at += 4 if flags & _CHECKSUM else 0
    if at > size:
        raise Truncated("the zstd frame is cut", offset=start)
    if size_bytes and claimed > bound:
        raise Malformed(f"the zstd frame claims {in_bytes(claimed)}, its blocks give at most {bound}", offset=start)
    exponent, mantissa = data[start + 5] >> 3, data[start + 5] & 7
    return _ZstdFrame(at, bound, claimed if single else (8 + mantissa) << (7 + exponent))


def deflate(data: bytes, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """`data` as one frame at zstd's default level, which is Kafka's default too."""
    return zstandard.ZstdCompressor().compress(data)
