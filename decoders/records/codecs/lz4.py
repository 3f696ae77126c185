"""LZ4 frames in a row in, their contents out; bytes after the last frame are ignored, as in Kafka.

Messages of magic 0 have a wrong checksum in the frame's header (Kafka computed it over the frame's magic too,
KAFKA-3160), and so have those of old clients in magic 1; it is corrected before the strict LZ4 reader gets the frame.
First the frame's blocks are stepped over: that shows where the frame ends and how much can come out at most, so a
claimed size is never trusted.
"""

from __future__ import annotations

from typing import Final, Literal

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import BATCH_INFLATED_MAX, BLOCKS_MAX
from decoders.named_tuple import NamedTuple

_MAGIC: Final = b"\x04\x22\x4d\x18"
_INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM, _DICTIONARY = 0x20, 0x10, 0x08, 0x04, 0x01
_FLAGS_AT: Final = 4
_CHECKSUM_SIZE: Final = 4
_BLOCK_MAX: Final = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
_PLAIN_BLOCK: Final = 0x80000000
# A length byte in a block stands for 255 bytes at most.
_RATIO: Final = 255
# In a frame without sizes the header checksum follows magic, flags and block size.
_CHECKSUM_AT: Final = 6
_MASK: Final = 0xFFFFFFFF
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1


class _Lz4Frame(NamedTuple):
    """Where a frame's descriptor and the frame itself end, and the most that can come out of it."""

    body: int
    end: int
    bound: int


def inflate(packed: memoryview, size_max: int, magic: int) -> bytes:
    """The contents of all frames of `packed`, at most `size_max` bytes together."""
    out: list[bytes] = []
    at, left, size = 0, size_max, len(packed)
    if size and bytes(packed[:4]) != _MAGIC:
        raise Malformed("no LZ4 frame begins here")
    for _ in range(BLOCKS_MAX):
        if bytes(packed[at : at + 4]) != _MAGIC:
            return out[0] if len(out) == 1 else b"".join(out)
        frame = _read_frame_layout(packed, at, size)
        head: bytes | memoryview = packed[at : frame.body]
        if magic < 2:
            head = bytes(head[:-1]) + bytes((compute_descriptor_checksum(bytes(head[4:-1])),))
        try:
            block, ends = _decompress_frame(head, packed[frame.body : frame.end], min(frame.bound, left) + 1)
        except RuntimeError as failure:
            if not packed[at + _FLAGS_AT] & _CONTENT_CHECKSUM or "ontentChecksum" not in str(failure):
                raise Malformed(f"no LZ4 frame: {failure}", offset=at) from None
            # Kafka does not look at the checksum of the content.
            body = packed[frame.body : frame.end - _CHECKSUM_SIZE]
            block, ends = _decompress_frame(_clear_content_checksum_flag(head), body, min(frame.bound, left) + 1)
        left -= len(block)
        if left < 0:
            raise LimitExceeded(f"LZ4: more than {size_max} bytes come out", offset=at)
        if not ends:
            raise Malformed("the LZ4 frame does not end where its blocks do", offset=at)
        out.append(block)
        at = frame.end
    raise LimitExceeded(f"LZ4: more than {BLOCKS_MAX} frames", offset=at)


def _decompress_frame(head: bytes | memoryview, body: memoryview, size_max: int) -> tuple[bytes, bool]:
    """The content of a frame, and whether the frame ends where `body` does. Raises RuntimeError."""
    reader = lz4.frame.LZ4FrameDecompressor()
    reader.decompress(head)
    return reader.decompress(body, max_length=size_max), reader.eof


def _clear_content_checksum_flag(head: bytes | memoryview) -> bytes:
    """The descriptor of a frame without the flag of a content checksum."""
    bare = bytearray(head[:-1])
    bare[_FLAGS_AT] &= ~_CONTENT_CHECKSUM
    return bytes(bare) + bytes((compute_descriptor_checksum(bytes(bare[4:])),))


def find_lz4_oddities(
    packed: memoryview, *, checksums: bool
) -> list[tuple[Literal["lz4_linked", "lz4_checksum"], str]]:
    """What Kafka refuses or does not look at in the first frame of a batch of magic 2, with a text for each.

    `checksums`: the frame is decompressed where it has a content checksum.
    """
    found: list[tuple[Literal["lz4_linked", "lz4_checksum"], str]] = []
    if len(packed) < _CHECKSUM_AT or bytes(packed[:4]) != _MAGIC:
        return found
    flags = packed[_FLAGS_AT]
    if not flags & _INDEPENDENT:
        found.append(("lz4_linked", "an LZ4 frame with linked blocks (bit 5 of its flags is 0), which Kafka refuses"))
    if checksums and flags & _CONTENT_CHECKSUM:
        try:
            frame = _read_frame_layout(packed, 0, len(packed))
            _decompress_frame(
                packed[: frame.body], packed[frame.body : frame.end], min(frame.bound, BATCH_INFLATED_MAX) + 1
            )
        except RuntimeError as failure:
            if "ontentChecksum" in str(failure):
                found.append(
                    ("lz4_checksum", "the content checksum of its LZ4 frame is wrong; Kafka does not look at it")
                )
        except DecodeError:
            pass
    return found


def _read_frame_layout(packed: memoryview, frame_at: int, size: int) -> _Lz4Frame:
    """Where the frame at `frame_at` ends, from its block sizes alone (LZ4 frame format 1.6). Raises DecodeError."""
    if frame_at + 7 > size:
        raise Truncated("the LZ4 frame ends in its header", offset=frame_at)
    flags = packed[frame_at + 4]
    block_max = _BLOCK_MAX.get(packed[frame_at + 5] >> 4 & 7)
    if flags >> 6 != 1 or block_max is None:
        raise Malformed("an LZ4 frame header that cannot be", offset=frame_at)
    body = at = frame_at + 7 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY else 0)
    tail = 4 if flags & _BLOCK_CHECKSUM else 0
    bound = 0
    for _ in range(BLOCKS_MAX):
        if at + 4 > size:
            raise Truncated("the LZ4 frame ends before its end mark", offset=frame_at)
        count = int.from_bytes(packed[at : at + 4], "little")
        at += 4
        if not count:
            at += 4 if flags & _CONTENT_CHECKSUM else 0
            if at > size:
                raise Truncated("the LZ4 frame's checksum is cut", offset=frame_at)
            return _Lz4Frame(body, at, bound)
        plain = count & _PLAIN_BLOCK
        count &= ~_PLAIN_BLOCK
        bound += min(block_max, count if plain else count * _RATIO)
        at += count + tail
    raise LimitExceeded(f"LZ4: more than {BLOCKS_MAX} blocks", offset=frame_at)


def compute_descriptor_checksum(descriptor: bytes) -> int:
    """The checksum byte of a frame descriptor: the second byte of its xxHash-32 (fewer than 16 bytes, seed 0)."""
    value = _PRIME_5 + len(descriptor)
    words = len(descriptor) & ~3
    for at in range(0, words, 4):
        value = value + int.from_bytes(descriptor[at : at + 4], "little") * _PRIME_3 & _MASK
        value = _rotate_left_32(value, 17) * _PRIME_4 & _MASK
    for byte in descriptor[words:]:
        value = value + byte * _PRIME_5 & _MASK
        value = _rotate_left_32(value, 11) * _PRIME_1 & _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return (value ^ value >> 16) >> 8 & 0xFF


def _rotate_left_32(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK


def deflate(data: bytes, magic: int) -> bytes:
    """`data` as one frame of independent blocks of 64 KiB without size and checksum, as Kafka writes it."""
    block_size = lz4.frame.BLOCKSIZE_MAX64KB
    frame: bytes = lz4.frame.compress(data, block_size=block_size, block_linked=False, store_size=False)
    if magic:
        return frame
    return (
        frame[:_CHECKSUM_AT] + bytes((compute_descriptor_checksum(frame[:_CHECKSUM_AT]),)) + frame[_CHECKSUM_AT + 1 :]
    )
