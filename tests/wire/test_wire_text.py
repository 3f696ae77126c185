"""Bytes and texts, and what is said of them."""

from __future__ import annotations

from decoders.wire.format_and_escape_text import format_bytes


def test_sizes_are_read_out() -> None:
    assert [format_bytes(size) for size in (0, 1, 2, 4096, -1)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "4,096 bytes",
        "-1 bytes",
    ]
