"""Data compressed to a given size has that size, and every reader gets the same bytes out of it."""

from __future__ import annotations

import gzip
from random import Random

import cramjam
import lz4.frame  # type: ignore[import-untyped]
import pytest
import zstandard

from decoders.records.codecs import NUMBERS, deflate, inflate
from decoders.scrubbing.compress_to_exact_size import compress_to_exact_size
from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.scrub_records import _OverwrittenBytes

NOISE = Pseudonyms(b"key").letters_without_pattern(1 << 16)


def overwritten(rng: Random, size: int) -> tuple[bytes, _OverwrittenBytes]:
    """Some records, and a maker of overwritten ones."""
    words = [bytes(rng.choices(b"abcdefghij0123456789 ", k=rng.randrange(3, 12))) for _ in range(40)]
    plain, ranges = bytearray(), []
    while len(plain) < size:
        plain += rng.randbytes(3) + b"\0\2\x10"
        begin = len(plain)
        plain += b" ".join(rng.choices(words, k=rng.randrange(1, 30)))
        ranges.append((begin, len(plain)))
    made = _OverwrittenBytes(bytes(plain), NOISE)
    for at, end in ranges:
        made.overwrite_and_note_range(at, end)
    return bytes(plain), made


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("size", [60, 400, 3000, 100_000])
def test_the_size_is_that_of_what_was_there(codec: str, size: int) -> None:
    for seed in range(6):
        plain, made = overwritten(Random(seed), size)
        packed = deflate(codec, plain)
        found = compress_to_exact_size(NUMBERS[codec], (made.make_bytes, made.overwritten_size), len(packed), packed, 2)
        assert found is not None, (seed, len(plain), len(packed))
        assert len(found) == len(packed)
        inflated = inflate(NUMBERS[codec], memoryview(found), 1 << 24, 2)
        assert len(inflated) == len(plain)
        at = 0
        for begin, end in made.ranges:  # all other bytes are unchanged
            assert inflated[at:begin] == plain[at:begin]
            at = end


@pytest.mark.parametrize("more", [*range(40), 300, 5000])
def test_every_size_from_the_smallest_on_is_met(more: int) -> None:
    """Every size from the smallest on is met, and independent readers decompress the result."""
    _, made = overwritten(Random(7), 4000)
    plain = made.make_bytes(0)
    readers = {
        "gzip": gzip.decompress,
        "zstd": lambda data: zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(),
        "lz4": lz4.frame.decompress,
        "snappy": lambda data: bytes(cramjam.snappy.decompress_raw(data)),
    }
    for codec, read in readers.items():
        least = bytes(cramjam.snappy.compress_raw(plain)) if codec == "snappy" else deflate(codec, plain)
        if codec == "gzip":
            least = least[:-4]  # gzip is written with more effort here, and may be shorter
        size = len(least) + more
        if codec == "lz4" and more > len(plain) - len(least):
            continue  # more than the size without any compression
        found = compress_to_exact_size(NUMBERS[codec], (made.make_bytes, made.overwritten_size), size, least, 2)
        if codec == "gzip" and found is None:
            assert more < 4
            continue
        if codec in ("lz4", "snappy") and found is None:
            assert more < 8 or more > 3000, (codec, more)
            continue
        assert found is not None, (codec, more)
        assert len(found) == size
        assert len(read(found)) == len(plain)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_what_is_too_small_is_nothing(codec: int) -> None:
    _, made = overwritten(Random(7), 4000)
    assert compress_to_exact_size(codec, (made.make_bytes, made.overwritten_size), 20, b"", 2) is None


def test_old_lz4_frames_have_their_wrong_checksum() -> None:
    """LZ4 of magic 0, with old Kafka's header checksum (KAFKA-3160), is compressed to a size and decompressed again."""
    plain, made = overwritten(Random(3), 3000)
    packed = deflate("lz4", plain, 0)
    found = compress_to_exact_size(NUMBERS["lz4"], (made.make_bytes, made.overwritten_size), len(packed), packed, 0)
    assert found is not None
    for each in (packed, found):
        with pytest.raises(RuntimeError, match="headerChecksum_invalid"):
            lz4.frame.decompress(each)
    assert len(inflate(NUMBERS["lz4"], memoryview(found), 1 << 20, 0)) == len(plain)
