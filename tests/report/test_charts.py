"""The shapes and marks of charts, point by point."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.report.svg_charts import (
    _draw_lines_on_log_scale,
    _draw_path,
    _draw_stacked_columns,
    _format_time_of_slice,
    _round_up_to_1_2_or_5,
    _Series,
)


def rounded(marks: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(round(value, 3), round(y, 1)) for value, y in marks]


@pytest.mark.parametrize(
    ("values", "marks", "path"),
    [
        ([1.0, None, 10.0], [(1, 184), (2, 130.4), (5, 59.6), (10, 6)], "M166.7 184.0M833.3 6.0"),
        ([0.5, 300.0], [(0.1, 184), (1, 139.5), (10, 95), (100, 50.5), (1000, 6)], "M250.0 152.9L750.0 29.3"),
        ([1.0], [(1, 184), (2, 130.4), (5, 59.6), (10, 6)], "M500.0 184.0"),
        ([0.2, 0.9], [(0.1, 184), (0.2, 130.4), (0.5, 59.6), (1, 6)], "M250.0 130.4L750.0 14.1"),
    ],
)
def test_lines_are_on_a_logarithmic_scale(
    values: list[float | None], marks: list[tuple[float, float]], path: str
) -> None:
    found, shapes = _draw_lines_on_log_scale([_Series("a", values, 3)])
    assert rounded(found) == marks
    assert f'<path class="line s3" d="{path}"/>' in shapes


def test_nothing_is_drawn_without_values() -> None:
    assert _draw_lines_on_log_scale([_Series("a", [None, None], 1)]) == ([], "")
    assert _draw_stacked_columns([_Series("a", [0, 0], 1)]) == ([], "")


def test_the_first_line_is_drawn_last() -> None:
    _, shapes = _draw_lines_on_log_scale([_Series("a", [1.0], 1), _Series("b", [2.0], 2)])
    assert [shapes.index(f"line s{color}") for color in (2, 1)] == sorted(
        shapes.index(f"line s{color}") for color in (1, 2)
    )


@pytest.mark.parametrize(
    ("values", "joined", "path"),
    [
        ([1, 2, None, 3], True, "M5.0 1.0L15.0 2.0M35.0 3.0"),
        ([1, 2, None, 3], False, "M5.0 1.0h0M15.0 2.0h0M35.0 3.0h0"),
        ([None], True, ""),
    ],
)
def test_a_line_has_gaps_where_there_is_no_value(values: list[Any], joined: bool, path: str) -> None:
    assert _draw_path(values, 10, float, joined=joined) == path


def test_columns_stand_on_each_other() -> None:
    marks, shapes = _draw_stacked_columns([_Series("a", [1, 0, 3], 1), _Series("b", [1, 2, 0], 2)])
    assert rounded(marks) == [(0, 184), (1, 124.7), (2, 65.3), (3, 6)]
    assert shapes == (
        '<path class="f1" d="M20.0 124.7h293.3V184.0h-293.3zM686.7 6.0h293.3V184.0h-293.3z"/>'
        '<path class="f2" d="M20.0 65.3h293.3V124.7h-293.3zM353.3 65.3h293.3V184.0h-293.3z"/>'
    )


@pytest.mark.parametrize(
    ("step", "nice"),
    [(0.1, 1), (1, 1), (1.1, 2), (2, 2), (2.1, 5), (5, 5), (5.1, 10), (10, 10), (11, 20), (499, 500), (501, 1000)],
)
def test_marks_are_at_round_numbers(step: float, nice: float) -> None:
    assert _round_up_to_1_2_or_5(step) == nice


@pytest.mark.parametrize(
    ("bucket_s", "last", "clock"),
    [
        (1, "2026-11-21T23:00:00.000000Z", "03:04:05"),
        (0.5, "2026-11-21T23:00:00.000000Z", "03:04:05"),
        (0.25, "2026-11-21T23:00:00.000000Z", "03:04:05.123"),
        (60, "2026-11-22T01:00:00.000000Z", "11-21 03:04:05"),
    ],
)
def test_a_slice_has_its_time_and_its_day_where_there_are_several(bucket_s: float, last: str, clock: str) -> None:
    report: Any = {"bucket_s": bucket_s, "first": "2026-11-21T03:00:00.000000Z", "last": last}
    assert _format_time_of_slice("2026-11-21T03:04:05.123456Z", report) == clock
