"""Bytes that spell text, and whether rewritten bytes still spell what they spelled before."""

from __future__ import annotations

import pytest

from decoders.scrubbing.find_text_spelled_by_numbers import SPELLED, still_spells_text
from decoders.scrubbing.scrub_frames import harmless_request_start


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"abc", []),
        (b"\0abcd\0", [b"abcd"]),
        (b"a1b2c3d", []),
        (b"a1b2c3d4", [b"a1b2c3d4"]),
        (b"1.2.3.4:9092", [b"1.2.3.4:9092"]),
        ("äöüß".encode(), ["äöüß".encode()]),
        ("äöü".encode(), []),
        ("日本語字".encode(), ["日本語字".encode()]),
        (b"\xe0\x80\x80" * 4, []),
        (b"\xee\x80\x80" * 4, []),
        (b"\xc2\x80" * 4, []),
        (b"ab\0cd", []),
    ],
)
def test_letters_in_a_row_are_text(data: bytes, found: list[bytes]) -> None:
    assert [match[0] for match in SPELLED.finditer(data)] == found


@pytest.mark.parametrize(
    ("start", "made"),
    [
        (b"\0\0\0\x40\0\x01\0\x0d", b"\0\0\0\x40\0\x01\0\x0d"),
        (b"\0\0abcd\0\x01", b"\0\0ab\x7f\x7f\x7f\x7f"),
        (b"\x05jkdb\0\0\0", b"\x05jkd\x7f\x7f\x7f\x7f"),
        (b"abcdefgh", b"\x7f\xff\xff\xff\x7f\x7f\x7f\x7f"),
        (b"abcd\0\1\0\1", b"\x7f\xff\xff\xff\0\1\0\1"),
        (b"\0\0abc", b"\0\0abc"),
        (b"\0abcd", b"\0abc\x7f"),
        (b"\0", b"\0"),
    ],
)
def test_what_a_request_begins_with_spells_nothing(start: bytes, made: bytes) -> None:
    assert harmless_request_start(start) == made
    assert harmless_request_start(made) == made


@pytest.mark.parametrize(
    ("before", "after", "still"),
    [
        (b"", b"", False),
        (b"orders", b"orders", True),
        (b"orders", b"xxxxxx", False),
        (b"\0orders\0", b"\0ordxxx\0", False),
        (b"\0orders\0", b"\0orderx\0", True),
        (b"\0\1\2\3", b"\0\1\2\3", False),
        (b"orders", b"sredro", False),
        (b"xxxxxx", b"xxxxxx", False),
        (b"axxxxx", b"axxxxx", True),
        (b"\0\0\0\0orders", b"\1\1\1\1orders", True),
    ],
)
def test_what_is_the_same_in_both_is_read(before: bytes, after: bytes, still: bool) -> None:
    assert still_spells_text(before, after) is still
