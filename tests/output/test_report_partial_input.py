"""The words for an answer that was made of a part of its inputs."""

from __future__ import annotations

import pytest

from kwcli.output.report_partial_input import (
    add_partial_to_rows,
    describe_full_index,
    describe_judged_part,
    describe_partial_run,
)
from kwcli.reading.run_coverage import PartialRun, RunCoverage


@pytest.mark.parametrize(
    ("partial", "text"),
    [
        (PartialRun("interrupted", 70_000_000, None), "interrupted after 70.0MB; the rest is not read"),
        (PartialRun("interrupted", 0, 2000), "interrupted at 0 % (0B of 2.0kB); the rest is not read"),
        (PartialRun("limit", 1, 2000), "ended by --limit at less than 1 % (1B of 2.0kB); the rest is not read"),
        (PartialRun("limit", 20, 2000), "ended by --limit at 1 % (20B of 2.0kB); the rest is not read"),
        (PartialRun("limit", 1999, 2000), "ended by --limit at 99 % (2.0kB of 2.0kB); the rest is not read"),
        (PartialRun("limit", 2000, 2000), "ended by --limit; the rest is not counted"),
        (PartialRun("interrupted", 2001, 2000), "interrupted; the rest is not counted"),
    ],
)
def test_a_sentence_says_how_far_the_input_was_read(partial: PartialRun, text: str) -> None:
    assert describe_partial_run(partial) == text


def test_each_row_has_the_part_as_its_last_value() -> None:
    partial = PartialRun("limit", 20, 2000)
    assert list(add_partial_to_rows([{"a": 1}], None, as_text=True)) == [{"a": 1}]
    assert list(add_partial_to_rows([{"a": 1}], partial, as_text=True)) == [
        {"a": 1, "partial": "ended by --limit at 1 % (20B of 2.0kB)"}
    ]
    assert list(add_partial_to_rows([{"a": 1}, {}], partial, as_text=False)) == [
        {"a": 1, "partial": {"why": "limit", "read": 20, "of": 2000}},
        {"partial": {"why": "limit", "read": 20, "of": 2000}},
    ]


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        (RunCoverage(None, 17, 472, filtered=True), "judged by 17 of 472 exchanges"),
        (RunCoverage(None, 0, 1, filtered=True), "judged by 0 of 1 exchange"),
        (RunCoverage(None, 1000, 2000, filtered=True), "judged by 1,000 of 2,000 exchanges"),
        (RunCoverage(None, 17, 17, filtered=True), ""),
        (RunCoverage(None, 17, 472), ""),
        (RunCoverage(PartialRun("limit", 1), 17, 472), "judged by 17 of 472 exchanges"),
        (RunCoverage(PartialRun("interrupted", 1), 17, 472), ""),
    ],
)
def test_a_sentence_says_how_many_exchanges_were_judged(coverage: RunCoverage, text: str) -> None:
    assert describe_judged_part(coverage) == text


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        ({"batch": 1}, "1 batch is"),
        ({"commit": 1, "batch": 2000}, "2,000 batches and 1 commit are"),
        (
            {"delivery": 3, "written record": 5, "read": 4, "marker": 0},
            "5 written records, 4 reads and 3 deliveries are",
        ),
    ],
)
def test_what_there_was_no_room_for_is_named(left_out: dict[str, int], text: str) -> None:
    why = "beyond what kw keeps, and left out: ask for less, by --topic, --since or --until"
    assert describe_full_index(left_out) == [f"{text} {why}"]


def test_nothing_is_said_where_there_was_room() -> None:
    assert describe_full_index({}) == describe_full_index({"batch": 0}) == []
