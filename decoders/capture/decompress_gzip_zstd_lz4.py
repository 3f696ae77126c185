"""Compressed bytes in, plain bytes out in pieces: gzip members, zstd and lz4 frames, one after the other.

A library that finds a fault returns nothing of the bytes that it was fed with the faulty ones. So each block of a frame
is fed alone, and a container's means of verification (checksums, sizes, the end mark) are fed or compared behind the
blocks: all plain bytes before a fault have been given when the error is raised.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.limits import LZ4_BLOCK_MAX
from decoders.wire.format_and_escape_text import format_bytes

__all__ = ["COMPRESSED", "PIECE_SIZE", "inflate_pieces", "quote_first_bytes"]

# Pieces of packets of this size, and the objects made of them, stay in the processor's cache (tests/bench/sniff.py: a
# fifth faster than pieces of 1 MiB).
PIECE_SIZE: Final = 1 << 16
# Flags of a gzip header (RFC 1952).
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16
# The first bytes of frames that zstd and lz4 pass over (RFC 8878, 3.1.2).
SKIPPABLE: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
# A part of a library's message → the words for it in kw's.
WORDS: Final = {
    "contentChecksum_invalid": "its content checksum does not match",
    "blockChecksum_invalid": "the checksum of a block does not match",
    "headerChecksum_invalid": "the checksum of its header does not match",
    "frameSize_wrong": "it has another size than its header says",
    "doesn't match checksum": "its content checksum does not match",
}


class CompressedInput:
    """Compressed bytes from `pieces`, to be taken in any sizes. `made` counts the plain bytes made of them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.made = 0
        self.codec = ""
        self._pieces = pieces
        self._held = b""  # from `_from` on not taken yet
        self._from = 0
        self._at = 0  # byte of the input where `_held` begins

    @property
    def at(self) -> int:
        """The byte of the input that comes next."""
        return self._at + self._from

    def peek(self, size: int) -> bytes:
        """The next bytes without taking them; fewer at the end."""
        data = self.take_bytes(size)
        self.put_back_bytes(data)
        return data

    def take_bytes(self, size: int) -> bytes:
        """The next bytes, fewer at the end."""
        left = len(self._held) - self._from
        if left < size:
            parts = [self._held[self._from :]]
            self._at += self._from
            self._from = 0
            while left < size and (more := next(self._pieces, b"")):
                parts.append(more)
                left += len(more)
            self._held = b"".join(parts)
        data = self._held[self._from : self._from + size]
        self._from += len(data)
        return data

    def take_available_bytes(self) -> bytes:
        """The next bytes, as many as are there; none at the end."""
        return self.take_bytes(len(self._held) - self._from) or self.take_bytes(1) + self.take_bytes(
            len(self._held) - self._from
        )

    def put_back_bytes(self, data: bytes) -> None:
        """Put back the latest bytes taken, to be taken again."""
        if self._from >= len(data):
            self._from -= len(data)
        else:
            self._at -= len(data) - self._from
            self._held, self._from = data + self._held[self._from :], 0

    def take_exactly(self, size: int) -> bytes:
        """The next `size` bytes; raises Truncated where the input ends before."""
        data = self.take_bytes(size)
        if len(data) < size:
            raise self.make_cut_off_error()
        return data

    def count_and_return_plain_bytes(self, plain: bytes) -> bytes:
        """Count plain bytes in `made`, and return them."""
        self.made += len(plain)
        return plain

    def make_cut_off_error(self) -> DecodeError:
        """The error of an input that ends inside a member or frame."""
        text = f"the {self.codec} data is cut off after {format_bytes(self.made)} of capture"
        return Truncated(text, offset=self.at)

    def make_corruption_error(self, why: object) -> DecodeError:
        """The error of data that does not match its checksum or size, or cannot be decompressed."""
        text = str(why)
        text = next((words for sign, words in WORDS.items() if sign in text), text)
        text = f"corrupt {self.codec} data after {format_bytes(self.made)} of capture ({text})"
        return Malformed(text, offset=self.at)


def inflate_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The plain bytes of `pieces`, which begin with COMPRESSED; raises DecodeError where they end badly."""
    packed = CompressedInput(pieces)
    known: Callable[[CompressedInput], Iterator[bytes]] | None = None
    while head := _peek_next_head(packed):
        if SKIPPABLE.match(head) and packed.codec != "gzip":
            packed.codec = packed.codec or "zstd or lz4"
            _skip_skippable_frame(packed)
            continue
        found = next(((codec, inflate) for magic, codec, inflate in CODECS if head.startswith(magic)), None)
        if found is None or known not in (None, found[1]):
            if any(magic.startswith(head) and inflate is known for magic, _, inflate in CODECS):
                raise packed.make_cut_off_error()
            text = f"garbage at byte {packed.at:,}, behind the {packed.codec} data: {quote_first_bytes(head)}"
            raise Malformed(text, offset=packed.at)
        packed.codec, known = found
        yield from known(packed)


def _peek_next_head(packed: CompressedInput) -> bytes:
    """The first bytes of the next member or frame; zeros behind a gzip member are padding, as for gzip itself."""
    while packed.codec == "gzip" and packed.peek(1) == b"\0":
        packed.put_back_bytes(packed.take_available_bytes().lstrip(b"\0"))
    return packed.peek(4)


def _skip_skippable_frame(packed: CompressedInput) -> None:
    left = int.from_bytes(packed.take_exactly(8)[4:], "little")
    while left:
        left -= len(packed.take_exactly(min(left, PIECE_SIZE)))


def quote_first_bytes(head: bytes) -> str:
    """The first bytes of something unknown, as text where they are text."""
    text = head[:4]
    if all(32 <= byte < 127 for byte in text):
        return f'"{text.decode()}"'
    return f"the bytes {text.hex(' ')}"


# -- gzip --------------------------------------------------------------------------------------------------------------


def _inflate_gzip(packed: CompressedInput) -> Iterator[bytes]:
    """The plain bytes of one member (RFC 1952). Its trailer is verified here: zlib gives nothing where it is wrong."""
    _skip_gzip_header(packed)
    engine = zlib.decompressobj(wbits=-15)
    crc = size = 0
    data = b""
    while not engine.eof:
        data = data or packed.take_available_bytes()
        before = engine.copy()
        try:
            plain = engine.decompress(data, PIECE_SIZE)
        except zlib.error as error:
            for plain in _inflate_up_to_fault(before, data):
                yield packed.count_and_return_plain_bytes(plain)
            raise packed.make_corruption_error(error) from None
        if not (data or plain or engine.eof):
            raise packed.make_cut_off_error()
        crc = zlib.crc32(plain, crc)
        size += len(plain)
        if plain:
            yield packed.count_and_return_plain_bytes(plain)
        data = engine.unconsumed_tail
    packed.put_back_bytes(engine.unused_data)
    trailer = packed.take_exactly(8)
    if int.from_bytes(trailer[:4], "little") != crc:
        raise packed.make_corruption_error("its CRC-32 does not match")
    if int.from_bytes(trailer[4:], "little") != size & 0xFFFF_FFFF:
        raise packed.make_corruption_error("it has another size than its end says")


def _skip_gzip_header(packed: CompressedInput) -> None:
    head = packed.take_exactly(10)
    flags = head[3]
    if head[2] != 8 or flags & 0xE0:
        raise packed.make_corruption_error("no gzip header")
    crc = zlib.crc32(head)
    if flags & FEXTRA:
        extra = packed.take_exactly(2)
        extra += packed.take_exactly(int.from_bytes(extra, "little"))
        crc = zlib.crc32(extra, crc)
    for flag in (FNAME, FCOMMENT):
        while flags & flag:
            part = packed.take_available_bytes()
            end = part.find(b"\0") + 1
            if not part:
                raise packed.make_cut_off_error()
            crc = zlib.crc32(part[: end or None], crc)
            if end:
                packed.put_back_bytes(part[end:])
                break
    if flags & FHCRC and int.from_bytes(packed.take_exactly(2), "little") != crc & 0xFFFF:
        raise packed.make_corruption_error("the checksum of its header does not match")


def _inflate_up_to_fault(engine: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """The plain bytes that can be had of data with a fault in it, up to the last but one before the fault."""
    size = PIECE_SIZE
    while size:
        trial = engine.copy()
        try:
            plain = trial.decompress(data, size)
        except zlib.error:
            size //= 2
        else:
            if not plain:
                return
            yield plain
            engine, data = trial, trial.unconsumed_tail


# -- zstd --------------------------------------------------------------------------------------------------------------


def _inflate_zstd(packed: CompressedInput) -> Iterator[bytes]:
    """The plain bytes of one frame (RFC 8878), block by block, each of at most 128 KiB.

    The engine gets a header without the frame's content size, which it would compare before it gives the last block.
    Where the window follows from that size, the header states a window as large instead.
    """
    import zstandard

    head = packed.take_exactly(5)
    flags = head[4]
    single = flags >> 5 & 1
    window = packed.take_exactly(1 - single)
    dictionary = packed.take_exactly((0, 1, 2, 4)[flags & 3])
    stated = packed.take_exactly((single, 2, 4, 8)[flags >> 6])
    wanted = int.from_bytes(stated, "little") + (256 if len(stated) == 2 else 0)
    if single:
        window = bytes([max((wanted - 1).bit_length() - 10, 0) << 3])
        flags &= ~(1 << 5)
    made = packed.made
    engine = zstandard.ZstdDecompressor().decompressobj()

    def decompress_part(data: bytes) -> bytes:
        try:
            return packed.count_and_return_plain_bytes(engine.decompress(data))
        except zstandard.ZstdError as error:
            raise packed.make_corruption_error(error) from None

    decompress_part(head[:4] + bytes([flags & 0x3F]) + window + dictionary)
    last = 0
    while not last:
        block = packed.take_exactly(3)
        word = int.from_bytes(block, "little")
        last = word & 1
        plain = decompress_part(block + packed.take_exactly(1 if word >> 1 & 3 == 1 else word >> 3))
        if plain:
            yield plain
    if stated and packed.made - made != wanted:
        raise packed.make_corruption_error("it has another size than its header says")
    if flags & 4:
        decompress_part(packed.take_exactly(4))


# -- lz4 ---------------------------------------------------------------------------------------------------------------


def _inflate_lz4(packed: CompressedInput) -> Iterator[bytes]:
    """The plain bytes of one frame, block by block, each of at most 4 MiB."""
    import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types

    head = packed.take_exactly(6)
    flags = head[4]
    head += packed.take_exactly(1 + 8 * (flags >> 3 & 1) + 4 * (flags & 1))
    engine = lz4.frame.LZ4FrameDecompressor()

    def decompress_part(data: bytes) -> Iterator[bytes]:
        while True:
            try:
                plain: bytes = engine.decompress(data, PIECE_SIZE)
            except RuntimeError as error:
                raise packed.make_corruption_error(error) from None
            if plain:
                yield packed.count_and_return_plain_bytes(plain)
            if engine.eof or engine.needs_input:
                return
            data = b""

    yield from decompress_part(head)
    while word := int.from_bytes(mark := packed.take_exactly(4), "little"):
        size = word & 0x7FFF_FFFF
        if size > LZ4_BLOCK_MAX:
            raise packed.make_corruption_error(f"a block of {size:,} bytes")
        yield from decompress_part(mark + packed.take_exactly(size + 4 * (flags >> 4 & 1)))
    yield from decompress_part(mark)  # the end mark: the library compares the size
    if flags & 4:
        yield from decompress_part(packed.take_exactly(4))


# First bytes of a member or frame, the name of its codec, its decompressor.
CODECS: Final[tuple[tuple[bytes, str, Callable[[CompressedInput], Iterator[bytes]]], ...]] = (
    (bytes.fromhex("1f8b"), "gzip", _inflate_gzip),
    (bytes.fromhex("28b52ffd"), "zstd", _inflate_zstd),
    (bytes.fromhex("04224d18"), "lz4", _inflate_lz4),
)
# The first bytes of compressed files.
COMPRESSED: Final = re.compile(b"|".join([SKIPPABLE.pattern, *(re.escape(magic) for magic, _, _ in CODECS)]))
