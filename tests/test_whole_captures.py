"""`read_exchanges`: what a program may give it as a source, and what it is told of what is none."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard

from decoders import DecodeError, Truncated, read_exchanges

CAPTURES: Final = Path(__file__).resolve().parents[1] / "captures"
TOUR: Final = (CAPTURES / "tour.pcapng").read_bytes()


def compress_by_zstd(data: bytes) -> bytes:
    """Frames of 4 KiB: of a frame that is cut off only whole blocks can be read."""
    frames = (data[at : at + 4096] for at in range(0, len(data), 4096))
    return b"".join(map(zstandard.ZstdCompressor().compress, frames))


COMPRESSED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "zstd": compress_by_zstd,
    "lz4": lz4.frame.compress,
}
ADVICE: Final = r"give an open file or bytes: open\(path, 'rb'\)"


def times(*sources: Any, **options: Any) -> list[str]:
    """The times of the exchanges of sources."""
    return [exchange.time for exchange in read_exchanges(*sources, **options)]


TIMES: Final = times(TOUR)


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
@pytest.mark.parametrize("size", [1, 3, 1000, 1 << 20])
def test_a_compressed_capture_is_inflated(compress: Callable[[bytes], bytes], size: int) -> None:
    packed = compress(TOUR)
    assert len(TIMES) > 100
    assert times(packed) == times(BytesIO(packed)) == TIMES
    assert times(packed[at : at + size] for at in range(0, len(packed), size)) == TIMES


def test_compressed_and_plain_captures_are_merged() -> None:
    other = (CAPTURES / "first-steps.pcapng").read_bytes()
    both = times(TOUR, other)
    assert len(both) > len(TIMES)
    assert times(gzip.compress(TOUR), other) == both


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_a_compressed_capture_that_is_cut_off_ends_quietly_unless_strict(compress: Callable[[bytes], bytes]) -> None:
    packed = compress(TOUR)
    packed = packed[: len(packed) - len(packed) // 3]
    found = times(packed)
    assert 0 < len(found) < len(TIMES)
    with pytest.raises(Truncated, match="data is cut off after"):
        times(packed, strict=True)


NO_CAPTURES: Final = {
    "text": b"root:x:0:0:root:/root:/bin/bash\n",
    "nothing": b"",
    "three bytes": b"abc",
    "text in gzip": gzip.compress(b"root:x:0:0:root:/root:/bin/bash\n"),
    "nothing in zstd": zstandard.ZstdCompressor().compress(b""),
    "the head of gzip": b"\x1f\x8b\x08\0",
}


@pytest.mark.parametrize("data", NO_CAPTURES.values(), ids=NO_CAPTURES)
@pytest.mark.parametrize("strict", [False, True])
def test_a_source_that_is_no_capture_raises(data: bytes, strict: bool) -> None:
    with pytest.raises(DecodeError, match=r"not a capture|cut off"):
        times(data, strict=strict)
    with pytest.raises(DecodeError, match=r"not a capture|cut off"):
        times(TOUR, BytesIO(data), strict=strict)


@pytest.mark.parametrize(
    "source",
    [str(CAPTURES / "tour.pcapng"), CAPTURES / "tour.pcapng", StringIO("text")],
    ids=["str", "Path", "a file of text"],
)
def test_a_path_or_a_text_is_told_at_once(source: Any) -> None:
    with pytest.raises(TypeError, match=ADVICE):
        read_exchanges(TOUR, source)


def test_a_file_opened_as_text_is_told_at_once() -> None:
    with (CAPTURES / "README.md").open() as text, pytest.raises(TypeError, match=ADVICE):
        times(text)


@pytest.mark.parametrize("source", [7, None, object()], ids=["a number", "None", "an object"])
def test_what_cannot_be_read_is_told_at_once(source: Any) -> None:
    with pytest.raises(TypeError, match="a source is bytes, a binary file or an iterable of bytes, not"):
        read_exchanges(source)


@pytest.mark.parametrize("pieces", [["a", "b"], [BytesIO(TOUR)], [1, 2]], ids=["texts", "files", "numbers"])
def test_pieces_that_are_no_bytes_are_told(pieces: list[Any]) -> None:
    with pytest.raises(TypeError, match="gives bytes, not"):
        times(pieces)
