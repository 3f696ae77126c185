"""The captures that ship, by name, and their bytes and segments, each read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from decoders.capture.read_capture import CaptureReader
from decoders.tcp.stream_chunks import Segment
from tests.captures.plain import read_bytes

__all__ = ["CLEAN", "FOLDER", "NEGATIVE", "capture_bytes", "segments"]

FOLDER: Final = Path(__file__).resolve().parents[2] / "captures"
CLEAN: Final = sorted(file.name for file in FOLDER.iterdir() if ".pcap" in file.name)
NEGATIVE: Final = sorted(f"negative/{file.name}" for file in (FOLDER / "negative").iterdir())


@cache
def capture_bytes(name: str) -> bytes:
    """The bytes of a capture, decompressed."""
    return read_bytes(FOLDER / name)


@cache
def segments(name: str) -> tuple[Segment, ...]:
    """All TCP segments of a capture."""
    reader = CaptureReader()
    found = [*reader.feed(capture_bytes(name)), *reader.finish()]
    assert reader.problem is None
    return tuple(found)
