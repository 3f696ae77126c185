"""gzip members in a row (RFC 1952) in, their contents out; bytes after the last member are ignored, as in Java."""

from __future__ import annotations

import zlib
from typing import Final

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import BLOCKS_MAX

_WINDOW: Final = 31  # 15 bits, with gzip's header and trailer
_HEAD: Final = b"\x1f\x8b"
# zlib copies what follows a member, so later members get small pieces: the cost stays linear.
_STEP: Final = 1024


def inflate(packed: memoryview, size_max: int, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """The contents of all members of `packed`, at most `size_max` bytes together."""
    out: list[bytes] = []
    at, left, step = 0, size_max, len(packed)
    for _ in range(BLOCKS_MAX):
        member = zlib.decompressobj(_WINDOW)
        start = at
        while not member.eof:
            piece = packed[at : at + step]
            if not piece:
                raise Truncated("the gzip data ends inside a member", offset=start)
            try:
                block = member.decompress(piece, left + 1)
            except zlib.error as failure:
                raise Malformed(f"no gzip: {failure}", offset=start) from None
            left -= len(block)
            if left < 0:
                raise LimitExceeded(f"gzip: more than {size_max} bytes come out", offset=start)
            out.append(block)
            at += len(piece) - len(member.unused_data)
            step *= 2
        if bytes(packed[at : at + 2]) != _HEAD:
            return out[0] if len(out) == 1 else b"".join(out)
        step = _STEP
    raise LimitExceeded(f"gzip: more than {BLOCKS_MAX} members", offset=at)


def deflate(plain: bytes, magic: int) -> bytes:  # noqa: ARG001 - one signature for all codecs
    """`plain` compressed as one member without name and time."""
    member = zlib.compressobj(wbits=_WINDOW)
    return member.compress(plain) + member.flush()
