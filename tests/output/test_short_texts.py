"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.output.short_texts import (
    cell_width,
    count_of,
    cut,
    cut_start_to_width,
    format_number_ranges,
    format_period,
    join_first_and_count_others,
    shorten_api_name,
)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"),
        (0.0, "0µs"),
        (0.048, "48µs"),
        (1.234, "1.2ms"),
        (99.96, "100ms"),
        (502.04, "502ms"),
        (3250.0, "3.25s"),
        (75_000.0, "75s"),
        (-0.02, "-20µs"),
        (-3.0, "-3.0ms"),
        (-2000.0, "-2.00s"),
    ],
)
def test_took(ms: float | None, text: str) -> None:
    assert format_latency(ms) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0B"), (92, "92B"), (999, "999B"), (1000, "1.0kB"), (38_120, "38.1kB"), (999_949, "999.9kB"),
     (999_950, "1.0MB"), (1_400_000, "1.4MB"), (5_000_000_000, "5.0GB")],
)  # fmt: skip
def test_amount(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0ms"), (500, "500ms"), (30_000, "30s"), (90_000, "90s"), (300_000, "5m"), (604_800_000, "7d")]
)
def test_period(ms: int, text: str) -> None:
    assert format_period(ms) == text


def test_counted() -> None:
    counts = [count_of(1, "topic"), count_of(2_000, "topic"), count_of(3, "entry")]
    assert counts == ["1 topic", "2,000 topics", "3 entries"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([0, 3, 5], "0,3,5"), ([5, 4, 3, 2], "2-5"), ([0, 1], "0,1"), ([0, 1, 2, 7], "0-2,7"),
     ([1, 1, 2], "1,2")],
)  # fmt: skip
def test_ranges(numbers: list[int], text: str) -> None:
    assert format_number_ranges(numbers) == text


def test_listed() -> None:
    assert join_first_and_count_others(["a", "b", "c"], None) == "a,b,c"
    assert join_first_and_count_others(["a", "b", "c"], 3) == "a,b,c"
    assert join_first_and_count_others(["a", "b", "c"], 1) == "a,+2"


@given(st.text(st.characters(), max_size=30), st.integers(0, 40))
def test_what_is_shown_fits_and_cannot_command_the_terminal(text: str, width: int) -> None:
    shown = cut(escape_text(text), width)
    assert shown.isprintable()
    assert cell_width(shown) <= width
    shown.encode()


def test_clean() -> None:
    assert escape_text("a\x1b[2J\n\udcff") == "a\\x1b[2J\\n\\xff"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("a–b…", 4),
        ("한글", 4),
        ("漢字", 4),
        ("ﾊﾝｶｸ", 4),
        ("ｚ", 2),
        ("\U0001f600", 2),
        # Between the Hangul and the ideographs for compatibility: private use, Lisu, the escapes of bytes.
        ("\ue000\ua4d0\udcff", 3),
        ("\uf900", 2),
    ],
)
def test_cells_of_a_terminal(text: str, width: int) -> None:
    assert cell_width(text) == width


def test_cut() -> None:
    assert [cut("abcdef", 6), cut("abcdef", 5), cut("漢字漢字", 5), cut("x", 0)] == ["abcdef", "abcd…", "漢字…", ""]
    assert cut_start_to_width("127.0.0.1:9092", 7) == "…1:9092"


def test_short_name() -> None:
    assert shorten_api_name("Metadata", 8) == "Metadata"
    assert shorten_api_name("ConsumerGroupHeartbeat", 16) == "Consum…Heartbeat"
    assert shorten_api_name("88 StreamsGroupHeartbeat", 20) == "88 Streams…Heartbeat"
    assert shorten_api_name("ConsumerGroupHeartbeat", 10) == "ConsumerG…"
    assert shorten_api_name("eligible.leader.replicas.version", 20) == "eligible.leader.rep…"
