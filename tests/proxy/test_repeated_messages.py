"""Equal lines are said once, then counted, in pauses that grow while they keep coming."""

from __future__ import annotations

import pytest

from kwcli.proxy.repeated_messages import RepeatFilter, SeenTexts


class Said:
    """A clock, and the lines that were said."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.lines: list[str] = []
        self.filter = RepeatFilter(lambda: self.now_s, self.lines.append)

    def come(self, text: str, now_s: float) -> None:
        self.now_s = now_s
        self.filter.say_unless_repeated(text, f"line {text}")

    def take(self) -> list[str]:
        lines = self.lines[:]
        self.lines.clear()
        return lines


def test_texts_are_new_once_and_repeats_are_counted() -> None:
    seen = SeenTexts()
    assert [seen.count_text_and_check_new(text) for text in ("a", "b", "a", "c", "a", "b")] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    lines: list[str] = []
    seen.say_repeats(lines.append)
    assert lines == ["3 times: a", "2 times: b"]


def test_a_thousand_texts_are_remembered() -> None:
    seen = SeenTexts()
    assert all(seen.count_text_and_check_new(str(number)) for number in range(1000))
    assert not seen.count_text_and_check_new("1000")
    assert not seen.count_text_and_check_new("0")
    lines: list[str] = []
    seen.say_repeats(lines.append)
    assert lines == ["2 times: 0"]


def test_a_line_is_said_again_with_its_count_after_the_pause() -> None:
    said = Said()
    for now_s in (0, 1, 9.9):
        said.come("x", now_s)
    assert said.take() == ["line x"]
    said.come("x", 10)
    assert said.take() == ["2 more times: x", "line x"]
    said.come("x", 29.9)
    assert said.take() == []
    said.come("x", 30)
    assert said.take() == ["1 more time: x", "line x"]
    said.come("x", 70)
    assert said.take() == ["line x"]
    said.come("x", 79)
    said.come("x", 80)
    assert said.take() == ["1 more time: x", "line x"]


def test_pauses_grow_to_ten_minutes() -> None:
    said = Said()
    said.come("x", 0)
    ends = 0.0
    for length in (10, 20, 40, 80, 160, 320, 600, 600):
        ends += length
        said.come("x", ends - 0.1)
        said.take()
        said.filter.say_due_counts()
        assert said.take() == []
        said.now_s = ends
        said.filter.say_due_counts()
        assert said.take() == ["1 more time: x"]
    said.now_s = ends + 600
    said.filter.say_due_counts()
    said.come("x", ends + 600)
    assert said.take() == ["line x"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("closed after 3 requests", "closed after 1,204 requests", True),
        ("took 3 ms", "took 4 ms", False),
        ("3; x", "4; x", True),
        ("node 3", "node 4", True),
        ("h:9092 closed", "h:9093 closed", False),
        ("a b", "a c", False),
    ],
)
def test_counts_in_lines_make_no_difference(one: str, other: str, same: bool) -> None:
    said = Said()
    said.come(one, 0)
    said.come(other, 1)
    assert said.take() == [f"line {one}", f"line {other}"][: 1 if same else 2]


def test_the_oldest_line_is_said_where_there_are_too_many() -> None:
    said = Said()
    for letter in range(1000):
        said.come(f"t{letter}", 0)
    said.come("t0", 1)
    said.take()
    said.come("one more", 2)
    assert said.take() == ["1 more time: t0", "line one more"]
    said.come("t1", 3)
    said.filter.finish()
    assert said.take() == ["1 more time: t1"]
    said.filter.finish()
    assert said.take() == []
