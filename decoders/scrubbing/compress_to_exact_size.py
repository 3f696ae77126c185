"""Plain bytes with parts that may vary in, a compressed form of them with an exact size out.

Overwritten records compress better than the original ones, so that there is room to fill. Some formats have a place for
bytes without meaning: the name in gzip's header (RFC 1952), a skippable frame of zstd (RFC 8878). LZ4 and Snappy have
none that every reader accepts, but they store letters without a pattern byte by byte: for each byte that is missing,
one overwritten byte becomes such a letter. The last missing bytes of Snappy go into literals, whose lengths are written
in more bytes than needed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

import cramjam
import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import zstandard

from decoders.records.codecs.lz4 import compute_descriptor_checksum

__all__ = ["Variants", "compress_to_exact_size"]

Form = Callable[[bytes], bytes]
# A function: compressed bytes and the number of missing bytes in, compressed bytes of the full size out, or None.
Pad = Callable[[bytes, int], "bytes | None"]
# A function that gives the plain bytes with so many overwritten bytes as letters without a pattern; the most letters.
Variants = tuple[Callable[[int], bytes], int]

_TRIES: Final = 48
_NEAR: Final = 12
_FEW: Final = 512
# gzip's header: magic and method; the flag of a name; then no time, no compressor flags, unknown system.
_GZIP: Final = b"\x1f\x8b\x08"
_GZIP_NAMED: Final = 8
_GZIP_REST: Final = bytes(5) + b"\xff"
# zstd: the magic and least size of a skippable frame, the place of the frame's flags, the single-segment flag, an empty
# block.
_SKIPPABLE: Final = b"\x50\x2a\x4d\x18"
_SKIPPABLE_MIN: Final = 8
_FLAGS_AT: Final = 4
_SINGLE: Final = 0x20
_EMPTY_BLOCK: Final = bytes(3)
# zstd's forms: the level, and whether the frame has the size of its content; the fast one first, the smallest last.
_ZSTD_FORMS: Final = ((3, True), (19, True), (22, False))
# LZ4's levels, in the same order; the size of its small blocks: data that fits into one gains nothing by a larger one.
_LZ4_LEVELS: Final = (0, 9, 12)
_LZ4_BLOCK: Final = 1 << 16
_SNAPPY: Final = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"
# The size of the longest head of a literal.
_WIDEST: Final = 5
_SNAPPY_BLOCKS: Final = (1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11)


def compress_to_exact_size(codec_number: int, variants: Variants, size: int, like: bytes, magic: int) -> bytes | None:
    """`size` bytes that the codec inflates to one of the variants, in the form of `like`; None if no variant fits."""
    make = variants[0]
    if codec_number == 1:
        return _pad_gzip_to_size(make(0), size)
    if codec_number == 4:
        return _pad_zstd_to_size(make(0), size)
    forms, pad = (
        (_make_lz4_forms(magic, len(make(0))), None) if codec_number == 3 else (_make_snappy_forms(like), _widen_snappy)
    )
    return next(
        (found for form in forms if (found := _search_variant_of_size(form, pad, variants, size)) is not None), None
    )


def _search_variant_of_size(form: Form, pad: Pad | None, variants: Variants, size: int) -> bytes | None:
    """`size` bytes in this form, or None. A letter without a pattern adds mostly one byte, so few tries suffice."""
    make, most = variants
    tried: set[int] = set()
    nearest = b""  # the longest result that is too short
    letters = 0
    for _ in range(_TRIES):
        found = form(make(letters))
        left = size - len(found)
        if not left:
            return found
        tried.add(letters)
        if left < 0 and not letters:
            return None  # no variant is shorter
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


def _pad_gzip_to_size(plain: bytes, size: int) -> bytes | None:
    packer = zlib.compressobj(9, wbits=-15)
    body = packer.compress(plain) + packer.flush()
    body += zlib.crc32(plain).to_bytes(4, "little") + (len(plain) & 0xFFFF_FFFF).to_bytes(4, "little")
    left = size - len(body) - len(_GZIP) - 1 - len(_GZIP_REST)
    if left < 0:
        return None
    name = b"x" * (left - 1) + b"\0" if left else b""
    return _GZIP + bytes((_GZIP_NAMED if left else 0,)) + _GZIP_REST + name + body


def _pad_zstd_to_size(plain: bytes, size: int) -> bytes | None:
    for level, sized in _ZSTD_FORMS:
        packed = zstandard.ZstdCompressor(level=level, write_content_size=sized).compress(plain)
        left = size - len(packed)
        if left >= 0:
            break
    else:
        return None
    if left >= _SKIPPABLE_MIN:
        return packed + _SKIPPABLE + (left - _SKIPPABLE_MIN).to_bytes(4, "little") + bytes(left - _SKIPPABLE_MIN)
    flags = packed[_FLAGS_AT]
    head = _FLAGS_AT + 1 + (0 if flags & _SINGLE else 1)  # a dictionary's id follows the window
    first = head + ((0, 2, 4, 8)[flags >> 6] or (1 if flags & _SINGLE else 0))
    blocks, identity = divmod(left, len(_EMPTY_BLOCK))
    begun = packed[:_FLAGS_AT] + bytes((flags | identity,)) + packed[_FLAGS_AT + 1 : head] + bytes(identity)
    return begun + packed[head:first] + _EMPTY_BLOCK * blocks + packed[first:]


def _make_lz4_forms(magic: int, size: int) -> Iterator[Form]:
    """The forms of a frame of independent blocks for `size` bytes; of each level, the shortest first: checksums and
    sizes add some bytes.
    """
    blocks = [lz4.frame.BLOCKSIZE_MAX64KB, *([lz4.frame.BLOCKSIZE_MAX4MB] if size > _LZ4_BLOCK else [])]
    switch = (False, True)
    for block_size, level, sized, checked, blocks_checked in product(blocks, _LZ4_LEVELS, switch, switch, switch):

        def compress_as_lz4_frame(
            plain: bytes,
            block_size: int = block_size,
            level: int = level,
            sized: bool = sized,
            checked: bool = checked,
            blocks_checked: bool = blocks_checked,
        ) -> bytes:
            made: bytes = lz4.frame.compress(
                plain,
                compression_level=level,
                block_size=block_size,
                block_linked=False,
                store_size=sized,
                content_checksum=checked,
                block_checksum=blocks_checked,
            )
            if magic:
                return made
            at = 14 if sized else 6
            return made[:at] + bytes((compute_descriptor_checksum(made[:at]),)) + made[at + 1 :]

        yield compress_as_lz4_frame


def _make_snappy_forms(like: bytes) -> Iterator[Form]:
    """The forms of one raw block, or of a stream of blocks as Java writes it, whichever the original is."""
    if not like.startswith(_SNAPPY[:8]):
        yield lambda plain: bytes(cramjam.snappy.compress_raw(plain))
        return
    for most in _SNAPPY_BLOCKS:

        def compress_as_snappy_stream(plain: bytes, most: int = most) -> bytes:
            out = [_SNAPPY]
            for at in range(0, len(plain), most):
                block = bytes(cramjam.snappy.compress_raw(plain[at : at + most]))
                out += (len(block).to_bytes(4, "big"), block)
            return b"".join(out)

        yield compress_as_snappy_stream


def _widen_snappy(packed: bytes, by_bytes: int) -> bytes | None:
    """A raw block or stream made `by_bytes` bytes longer by longer heads of its literals; None if it has too few."""
    if not packed.startswith(_SNAPPY[:8]):
        return _widen_snappy_block(packed, by_bytes)
    size = int.from_bytes(packed[len(_SNAPPY) : len(_SNAPPY) + 4], "big")
    begin = len(_SNAPPY) + 4
    block = _widen_snappy_block(packed[begin : begin + size], by_bytes)
    return block and _SNAPPY + len(block).to_bytes(4, "big") + block + packed[begin + size :]


def _widen_snappy_block(block: bytes, by_bytes: int) -> bytes | None:
    """A raw block made `by_bytes` bytes longer by longer heads of its literals; None if it has too few.

    A literal of up to 60 bytes has its length in its tag, a longer one in one to four bytes after the tag. First,
    single bytes of literals become literals of their own, with the longest heads.
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
        count = int.from_bytes(block[at + 1 : begin], "little") if extra else tag >> 2  # the literal's length less one
        at = begin + count + 1
        while by_bytes and count:
            wide = min(by_bytes, _WIDEST)
            out += (_encode_literal_head(0, wide - 1), block[begin : begin + 1])
            by_bytes, begin, count = by_bytes - wide, begin + 1, count - 1
        least = next(wide for wide in range(5) if count < (60, 1 << 8, 1 << 16, 1 << 24, 1 << 32)[wide])
        by_bytes += max(extra - least, 0)  # the length may need fewer bytes now
        more = min(by_bytes, 4 - least)
        by_bytes -= more
        out += (_encode_literal_head(count, least + more), block[begin:at])
    return None if by_bytes else b"".join(out)


def _encode_literal_head(count: int, wide: int) -> bytes:
    """The head of a literal of `count` + 1 bytes, with its length in the tag, or in `wide` bytes after the tag."""
    return bytes(((59 + wide) << 2,)) + count.to_bytes(wide, "little") if wide else bytes((count << 2,))
