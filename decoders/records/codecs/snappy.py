"""A raw Snappy block, or a stream of blocks as Java's library frames them, in; plain bytes out.

The stream: `82 "SNAPPY" 00`, int32 version, int32 lowest compatible version, then per block an int32 size and the
block. Streams may follow each other. A block begins with its plain size; a size that the block cannot give is refused
before decompression.
"""

from __future__ import annotations

from typing import Final

import cramjam

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import BLOCKS_MAX
from decoders.wire.format_and_escape_text import format_bytes

_MAGIC: Final = b"\x82SNAPPY\0"
_HEADER: Final = _MAGIC + b"\0\0\0\x01\0\0\0\x01"
_BLOCK: Final = 32 * 1024
# The densest element of a block copies 64 bytes and takes 3.
_OUT, _IN = 64, 3


def inflate(packed: memoryview, size_max: int, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """The plain bytes of a raw block or a stream, at most `size_max`."""
    if bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return bytes(_inflate_block(packed, size_max, 0))
    out: list[memoryview] = []
    at, size, left = len(_HEADER), len(packed), size_max
    if at > size:
        raise Truncated("the header of the snappy stream is cut", offset=size)
    while at < size:
        if len(out) >= BLOCKS_MAX:
            raise LimitExceeded(f"snappy: more than {BLOCKS_MAX} blocks", offset=at)
        if bytes(packed[at : at + len(_MAGIC)]) == _MAGIC:
            at += len(_HEADER)
            continue
        if at + 4 > size:
            raise Truncated("the size of a snappy block is cut", offset=at)
        count = int.from_bytes(packed[at : at + 4], "big", signed=True)
        at += 4
        if not 0 <= count <= size - at:
            raise Truncated(f"a snappy block of {format_bytes(count)}, {size - at} are left", offset=at - 4)
        block = _inflate_block(packed[at : at + count], left, at)
        left -= len(block)
        at += count
        out.append(block)
    return b"".join(out)


def _inflate_block(packed: memoryview, size_max: int, at: int) -> memoryview:
    """The plain bytes of one raw block, at most `size_max`."""
    try:
        claimed = cramjam.snappy.decompress_raw_len(packed)
        if claimed * _IN > len(packed) * _OUT:
            raise Malformed(
                f"a snappy block of {format_bytes(len(packed))} cannot give the {claimed} it claims", offset=at
            )
        if claimed > size_max:
            raise LimitExceeded(f"snappy: {claimed} bytes would come out, {size_max} are allowed", offset=at)
        return memoryview(cramjam.snappy.decompress_raw(packed))
    except cramjam.DecompressionError as failure:
        raise Malformed(f"no snappy block: {failure}", offset=at) from None


def deflate(plain: bytes, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """`plain` as a stream of blocks of 32 KiB, as Java writes it."""
    out = [_HEADER]
    for at in range(0, len(plain), _BLOCK):
        block = bytes(cramjam.snappy.compress_raw(plain[at : at + _BLOCK]))
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)
