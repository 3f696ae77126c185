"""Releases that an advisory affects: which of those that a version stands for, at the borders, and in words."""

from __future__ import annotations

import pytest

from decoders.protocol_facts.advisories import (
    ADVISORIES,
    ReleaseRange,
    classify_overlap,
    format_affected_releases,
    parse_release_numbers,
)


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("3.4.0", "3.4.0", "none"),
        ("3.4.9", "3.4.9", "none"),
        ("3.5.0", "3.5.0", "all"),
        ("3.5.1", "3.8.9", "all"),
        ("3.5.0", "3.9.1", "all"),
        ("3.9.1", "3.9.1", "all"),
        ("3.9.2", "3.9.2", "none"),
        ("3.4.0", "3.5.0", "some"),
        ("3.9.1", "3.9.2", "some"),
        ("3.4.0", "4.0.0", "some"),
        ("3.9.2", "4.0.0", "none"),
        ("3.10.0", "3.10.0", "none"),  # as numbers, not as texts
    ],
)
def test_both_ends_of_a_span_are_in_it(first: str, last: str, found: str) -> None:
    release = ReleaseRange(parse_release_numbers(first), parse_release_numbers(last))
    assert classify_overlap(release, "3.5.0", "3.9.1") == found


def test_words_for_spans_are_in_their_order() -> None:
    some = ADVISORIES[0]
    changed = some._replace(
        affected=(("4.0.0", "4.0.1"), ("2.8.0", "3.9.1"), ("3.10.0", "3.10.0")), doubtful=(("0", "2.7.2", "why"),)
    )
    assert format_affected_releases(changed) == "up to 2.7.2, 2.8.0–3.9.1, 3.10.0, 4.0.0–4.0.1"
    for each in ADVISORIES:
        spans = [*each.affected, *((first, last) for first, last, _ in each.doubtful)]
        assert format_affected_releases(each).count(", ") == len(spans) - 1
