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
from decoders.wire.readable_text import in_bytes

_MAGIC: Final = b"\x82SNAPPY\0"
_HEADER: Final = _MAGIC + b"\0\0\0\x01\0\0\0\x01"
_BLOCK: Final = 32 * 1024
# The densest element of a block copies 64 bytes and takes 3.
_OUT, _IN = 64, 3


def inflate(data: memoryview, cap: int, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """The plain bytes of a raw block or a stream, at most `cap`."""
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        return bytes(_block(data, cap, 0))
    out: list[memoryview] = []
    at, size, left = len(_HEADER), len(data), cap
    if at > size:
        raise Truncated("the header of the snappy stream is cut", offset=size)
    while at < size:
        if len(out) >= BLOCKS_MAX:
            raise LimitExceeded(f"snappy: more than {BLOCKS_MAX} blocks", offset=at)
        if bytes(data[at : at + len(_MAGIC)]) == _MAGIC:
            at += len(_HEADER)
            continue
        if at + 4 > size:
            raise Truncated("the size of a snappy block is cut", offset=at)
        count = int.from_bytes(data[at : at + 4], "big", signed=True)
        at += 4
        if not 0 <= count <= size - at:
            raise Truncated(f"a snappy block of {in_bytes(count)}, {size - at} are left", offset=at - 4)
        block = _block(data[at : at + count], left, at)
        left -= len(block)
        at += count
        out.append(block)
    return b"".join(out)


def _block(data: memoryview, cap: int, at: int) -> memoryview:
    """The plain bytes of one raw block, at most `cap`."""
    try:
        claimed = cramjam.snappy.decompress_raw_len(data)
        if claimed * _IN > len(data) * _OUT:
            raise Malformed(f"a snappy block of {in_bytes(len(data))} cannot give the {claimed} it claims", offset=at)
        if claimed > cap:
            raise LimitExceeded(f"snappy: {claimed} bytes would come out, {cap} are allowed", offset=at)
        return memoryview(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as failure:
        raise Malformed(f"no snappy block: {failure}", offset=at) from None


def deflate(data: bytes, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """`data` as a stream of blocks of 32 KiB, as Java writes it."""
    out = [_HEADER]
    for at in range(0, len(data), _BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _BLOCK]))
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)
