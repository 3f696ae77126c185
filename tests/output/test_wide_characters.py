"""Characters that a terminal draws two cells wide, at the ends of each range."""

from __future__ import annotations

import pytest

from kwcli.output.short_texts import cell_width, cut

WIDE = [
    (0x1100, 0x115F),
    (0x2E80, 0x303E),
    (0x3041, 0x4DBF),
    (0x4E00, 0xA4CF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x3FFFD),
]


@pytest.mark.parametrize(("first", "last"), WIDE)
def test_a_range_ends_where_it_says(first: int, last: int) -> None:
    assert [cell_width(chr(number)) for number in (first - 1, first, last, last + 1)] == [1, 2, 2, 1]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 3, "日…"),
        ("日本語", 2, "…"),
        ("日本語", 1, "…"),
        ("日本語", 0, ""),
        ("a日", 3, "a日"),
        ("a日", 2, "a…"),
    ],
)
def test_a_wide_character_is_cut_whole(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
