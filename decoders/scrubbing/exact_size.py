"""Plain bytes that may be varied in, a compressed form of them of exactly so many bytes out.

Overwritten records compress better than those that somebody wrote, so that there is room to fill. Where the format has
a place for bytes without meaning they go there: the name in gzip's header (RFC 1952), a skippable frame of zstd
(RFC 8878). LZ4 and snappy, which have none that every reader takes, copy letters without a pattern byte by byte: as
many of the overwritten bytes become such letters as there are bytes too few. What snappy then still lacks, its literals
take that say how long they are in more bytes than they need.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

import cramjam
import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import zstandard

from decoders.records.codecs.lz4 import header_checksum

__all__ = ["Variants", "compress_to"]

Form = Callable[[bytes], bytes]
# What was compressed and how many bytes it lacks in, as many more out, or None.
Pad = Callable[[bytes, int], "bytes | None"]
# What is compressed, with so many of its overwritten bytes as letters without a pattern; and how many there may be.
Variants = tuple[Callable[[int], bytes], int]

_TRIES: Final = 48
_NEAR: Final = 12
_FEW: Final = 512
# Of gzip: magic and method; the flag of a name; time, and flags of the compressor and the system, none.
_GZIP: Final = b"\x1f\x8b\x08"
_GZIP_NAMED: Final = 8
_GZIP_REST: Final = bytes(5) + b"\xff"
# Of zstd: the smallest skippable frame; the bits that say how long a dictionary's id is, and how long it is then; an
# empty block.
_SKIPPABLE: Final = b"\x50\x2a\x4d\x18"
_SKIPPABLE_MIN: Final = 8
_FLAGS_AT: Final = 4
_SINGLE: Final = 0x20
_EMPTY_BLOCK: Final = bytes(3)
_SNAPPY: Final = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"
# Bytes of the longest head of a literal.
_WIDEST: Final = 5
_SNAPPY_BLOCKS: Final = (1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11)


def compress_to(number: int, variants: Variants, size: int, like: bytes, magic: int) -> bytes | None:
    """`size` bytes that the codec inflates to a variant, in the form of `like`; None where none fits."""
    make = variants[0]
    if number == 1:
        return _gzip(make(0), size)
    if number == 4:
        return _zstd(make(0), size)
    forms, pad = (_lz4_forms(magic), None) if number == 3 else (_snappy_forms(like), _widen)
    return next((found for form in forms if (found := _search(form, pad, variants, size)) is not None), None)


def _search(form: Form, pad: Pad | None, variants: Variants, size: int) -> bytes | None:
    """A letter without a pattern more makes the result mostly a byte longer, so few steps lead there."""
    make, most = variants
    tried: set[int] = set()
    nearest = b""  # the longest one that is too short
    letters = 0
    for _ in range(_TRIES):
        found = form(make(letters))
        left = size - len(found)
        if not left:
            return found
        tried.add(letters)
        if left < 0 and not letters:
            return None  # nothing is shorter
        nearest = max(nearest, found, key=len) if left > 0 else nearest
        letters = min(max(letters + left, 0), most)
        if letters in tried:
            break
    reach = _NEAR if most > _FEW else most
    for near in range(max(letters - reach, 0), min(letters + reach, most) + 1):
        if near not in tried:
            found = form(make(near))
            if len(found) == size:
                return found
            nearest = max(nearest, found, key=len) if len(found) < size else nearest
    return pad(nearest, size - len(nearest)) if pad is not None and nearest else None


def _gzip(plain: bytes, size: int) -> bytes | None:
    packer = zlib.compressobj(9, wbits=-15)
    body = packer.compress(plain) + packer.flush()
    body += zlib.crc32(plain).to_bytes(4, "little") + (len(plain) & 0xFFFF_FFFF).to_bytes(4, "little")
    left = size - len(body) - len(_GZIP) - 1 - len(_GZIP_REST)
    if left < 0:
        return None
    name = b"x" * (left - 1) + b"\0" if left else b""
    return _GZIP + bytes((_GZIP_NAMED if left else 0,)) + _GZIP_REST + name + body


def _zstd(plain: bytes, size: int) -> bytes | None:
    packed = zstandard.ZstdCompressor(write_content_size=True).compress(plain)
    if len(packed) > size:
        packed = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(plain)
    left = size - len(packed)
    if left < 0:
        return None
    if left >= _SKIPPABLE_MIN:
        return packed + _SKIPPABLE + (left - _SKIPPABLE_MIN).to_bytes(4, "little") + bytes(left - _SKIPPABLE_MIN)
    flags = packed[_FLAGS_AT]
    head = _FLAGS_AT + 1 + (0 if flags & _SINGLE else 1)  # a dictionary's id follows the window
    first = head + ((0, 2, 4, 8)[flags >> 6] or (1 if flags & _SINGLE else 0))
    blocks, identity = divmod(left, len(_EMPTY_BLOCK))
    begun = packed[:_FLAGS_AT] + bytes((flags | identity,)) + packed[_FLAGS_AT + 1 : head] + bytes(identity)
    return begun + packed[head:first] + _EMPTY_BLOCK * blocks + packed[first:]


def _lz4_forms(magic: int) -> Iterator[Form]:
    """Ways to write a frame of independent blocks, the shortest first; each of the others is some bytes longer."""
    for level, sized, checked, blocks_checked in product((0, 9), (False, True), (False, True), (False, True)):

        def form(
            plain: bytes,
            level: int = level,
            sized: bool = sized,
            checked: bool = checked,
            blocks_checked: bool = blocks_checked,
        ) -> bytes:
            made: bytes = lz4.frame.compress(
                plain,
                compression_level=level,
                block_size=lz4.frame.BLOCKSIZE_MAX64KB,
                block_linked=False,
                store_size=sized,
                content_checksum=checked,
                block_checksum=blocks_checked,
            )
            if magic:
                return made
            at = 14 if sized else 6
            return made[:at] + bytes((header_checksum(made[:at]),)) + made[at + 1 :]

        yield form


def _snappy_forms(like: bytes) -> Iterator[Form]:
    """One block, or a stream of blocks as Java writes it, whatever the original is."""
    if not like.startswith(_SNAPPY[:8]):
        yield lambda plain: bytes(cramjam.snappy.compress_raw(plain))
        return
    for most in _SNAPPY_BLOCKS:

        def form(plain: bytes, most: int = most) -> bytes:
            out = [_SNAPPY]
            for at in range(0, len(plain), most):
                block = bytes(cramjam.snappy.compress_raw(plain[at : at + most]))
                out += (len(block).to_bytes(4, "big"), block)
            return b"".join(out)

        yield form


def _widen(packed: bytes, left: int) -> bytes | None:
    """A raw block, or a stream, whose literals say how long they are in `left` bytes more; None where they are few."""
    if not packed.startswith(_SNAPPY[:8]):
        return _widen_block(packed, left)
    size = int.from_bytes(packed[len(_SNAPPY) : len(_SNAPPY) + 4], "big")
    begin = len(_SNAPPY) + 4
    block = _widen_block(packed[begin : begin + size], left)
    return block and _SNAPPY + len(block).to_bytes(4, "big") + block + packed[begin + size :]


def _widen_block(block: bytes, left: int) -> bytes | None:
    """A literal of up to 60 bytes says so in its tag, any other in one to four bytes behind it.

    Before that is done, bytes of literals become literals of their own, with heads as long as may be.
    """
    at = next(index for index, byte in enumerate(block) if byte < 0x80) + 1
    out = [block[:at]]
    while at < len(block):
        tag = block[at]
        if tag & 3:  # a copy
            size = (0, 2, 3, 5)[tag & 3]
            out.append(block[at : at + size])
            at += size
            continue
        extra = max((tag >> 2) - 59, 0)
        begin = at + 1 + extra
        count = int.from_bytes(block[at + 1 : begin], "little") if extra else tag >> 2  # one less than it has
        at = begin + count + 1
        while left and count:
            wide = min(left, _WIDEST)
            out += (_literal(0, wide - 1), block[begin : begin + 1])
            left, begin, count = left - wide, begin + 1, count - 1
        least = next(wide for wide in range(5) if count < (60, 1 << 8, 1 << 16, 1 << 24, 1 << 32)[wide])
        left += max(extra - least, 0)  # it may be said in fewer bytes now
        more = min(left, 4 - least)
        left -= more
        out += (_literal(count, least + more), block[begin:at])
    return None if left else b"".join(out)


def _literal(count: int, wide: int) -> bytes:
    """The head of a literal of `count` + 1 bytes, which says so in its tag, or in `wide` bytes behind it."""
    return bytes(((59 + wide) << 2,)) + count.to_bytes(wide, "little") if wide else bytes((count << 2,))
