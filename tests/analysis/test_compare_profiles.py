"""Two profiles made by hand in; each border of effect, number and chance at which a difference is told, and its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import comb, erfc, sqrt
from random import Random
from typing import Any

import pytest

from decoders.analysis.differences import compare_profiles as compared
from decoders.analysis.differences.compare_profiles import ALPHA, CHANGES, compare_profiles, find_significant_by_holm
from decoders.analysis.differences.traffic_profile import MeasuredValues, TrafficProfile
from decoders.analysis.percentiles import bin_number_of, value_of_bin
from decoders.analysis.time_slices import SHIFT_MIN

MS = 10**6
Things = Mapping[tuple[str, ...], Mapping[int, int]]


def profile(
    things: Things, measured: Mapping[tuple[str, ...], Sequence[tuple[int, int]]] | None = None
) -> TrafficProfile:
    """A profile of 40 wide slices; things by slice, values with their slices."""
    made = TrafficProfile()
    made.first, made.last, made.count, made.shift = 0, (160 << SHIFT_MIN) - 1, 1, SHIFT_MIN
    made.things = {thing: dict(slices) for thing, slices in things.items()}
    for key, values in (measured or {}).items():
        made.measured[key] = MeasuredValues()
        for value, at in values:
            made.measured[key].add(value, at)
    return made


def everywhere(times: int = 1) -> dict[int, int]:
    return dict.fromkeys(range(160), times)


# New and gone.


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize(
    ("thing", "keys"),
    [
        (("client", "b"), {"client_id": "b"}),
        (("topic", "t"), {"topic": "t"}),
        (("group", "g"), {"group": "g"}),
        (("api", "a", "Fetch"), {"client_id": "a", "api": "Fetch"}),
        (("error", "a", "Fetch", "E"), {"client_id": "a", "api": "Fetch", "error": "E"}),
    ],
)
def test_a_thing_of_one_side_alone(thing: tuple[str, ...], keys: dict[str, str], gone: bool) -> None:
    """Seen in so many of 160 slices of a side, the chance is that all these are of this side."""
    for seen in (1, 5, 6, 160):
        base: Things = {("client", "a"): everywhere()}
        sides = [profile(base), profile({**base, thing: dict.fromkeys(range(seen), 3)})]
        (row,) = compare_profiles(*(reversed(sides) if gone else sides))
        p = comb(160, seen) / comb(320, seen)
        assert {**row, **keys} == row
        assert row["change"] == f"{'gone' if gone else 'new'}-{thing[0]}"
        assert (row["count_before"], row["count_after"]) == ((3 * seen, 0) if gone else (0, 3 * seen))
        assert row["p"] == float(f"{p:.2g}")
        assert row["significant"] == (p <= ALPHA)
        assert [row[key] for key in ("metric", "unit", "before", "after", "ratio", "delta", "broker")] == [None] * 7


def test_sides_of_other_lengths_and_widths() -> None:
    """The slices of both get the width of the wider; of a longer side a thing is seen by chance more often."""
    base: Things = {("client", "a"): everywhere()}
    more: Things = {**base, ("topic", "t"): dict.fromkeys(range(0, 20, 2), 1)}
    for wider in (False, True):
        sides = [profile(base), profile(more)]
        sides[0].last = (480 << SHIFT_MIN) - 1
        if wider:
            sides[0].widen_slices(SHIFT_MIN + 1)
        own, other, seen = (80, 240, 10) if wider else (160, 480, 10)
        (row,) = compare_profiles(*sides)
        assert row["p"] == float(f"{comb(own, seen) / comb(own + other, seen):.2g}")
        (row,) = compare_profiles(*reversed([profile(base), profile(more)]))
        assert row["p"] == float(f"{comb(160, 10) / comb(320, 10):.2g}")
        assert {side.shift for side in sides} == {SHIFT_MIN + wider}
    sides[1].widen_slices(SHIFT_MIN + 3)
    compare_profiles(*sides)
    assert {side.shift for side in sides} == {SHIFT_MIN + 3}


def test_of_a_client_that_is_new_its_apis_are_not_told_and_versions_never() -> None:
    base: Things = {("client", "a"): everywhere()}
    more: Things = {
        ("client", "b"): everywhere(),
        ("api", "b", "Fetch"): everywhere(),
        ("version", "b", "Fetch", "1"): everywhere(),
    }
    assert [row["change"] for row in compare_profiles(profile(base), profile({**base, **more}))] == ["new-client"]


def test_without_exchanges_on_a_side_nothing_differs() -> None:
    things: Things = {("client", "a"): everywhere()}
    assert compare_profiles(profile(things), TrafficProfile()) == []
    assert compare_profiles(TrafficProfile(), profile(things)) == []


def test_other_names_than_before_are_told_without_a_test() -> None:
    def side(*names: tuple[str, ...]) -> TrafficProfile:
        return profile({("client", "a"): everywhere(), **{name: {0: 2, 1: 1} for name in names}})

    before = side(("software", "a", "java 3"), ("acks", "a", "Produce", "1"), ("version", "a", "Fetch", "11"))
    after = side(
        *(("software", "a", "java 4"), ("acks", "a", "Produce", "all")),
        *(("version", "a", "Fetch", "13"), ("version", "a", "Fetch", "12")),
    )
    rows = compare_profiles(before, after)
    told = [(row["change"], row["client_id"], row["api"], row["before"], row["after"]) for row in rows]
    assert told == [
        ("new-version", "a", None, "java 3", "java 4"),
        ("new-acks", "a", "Produce", "1", "all"),
        ("new-api-version", "a", "Fetch", "11", "12, 13"),
    ]
    assert [(row["count_before"], row["count_after"], row["p"], row["significant"]) for row in rows] == [
        (3, 3, 0, True),
        (3, 3, 0, True),
        (3, 6, 0, True),
    ]
    both = side(("version", "a", "Fetch", "11"), ("version", "a", "Fetch", "12"))
    assert compare_profiles(side(("version", "a", "Fetch", "11")), both) == []  # one of those before is still used


# How large, how fast, how often.

LATENCY: tuple[str, ...] = ("client", "a", "Fetch", "latency")
SIZE: tuple[str, ...] = ("client", "a", "Fetch", "request_size")


def values_in(slices: int, count: int, value: int) -> list[tuple[int, int]]:
    """So many values in so many wide slices."""
    return [(value, 4 * (number % slices)) for number in range(count)]


@pytest.mark.parametrize(
    ("slices", "count", "told"), [(8, 20, True), (7, 20, False), (8, 19, False), (40, 200, True), (8, 200, True)]
)
def test_few_values_or_slices_say_nothing(slices: int, count: int, told: bool) -> None:
    for few_first in (False, True):
        few = {SIZE: values_in(slices, count, 100 if few_first else 1000)}
        many = {SIZE: values_in(40, 400, 1000 if few_first else 100)}
        sides = [profile({}, few), profile({}, many)] if few_first else [profile({}, many), profile({}, few)]
        rows = compare_profiles(*sides)
        assert bool(rows) == told
        if rows:
            (row,) = rows
            first, last = (value_of_bin(bin_number_of(value)) for value in (100, 1000))
            assert (row["change"], row["metric"], row["unit"]) == ("larger", "request_size", "bytes")
            assert (row["client_id"], row["broker"], row["api"]) == ("a", None, "Fetch")
            assert (row["before"], row["after"], row["ratio"]) == (first, last, float(f"{last / first:.4g}"))
            assert row["delta"] == 1
            assert (row["count_before"], row["count_after"]) == ((count, 400) if few_first else (400, count))


@pytest.mark.parametrize(
    ("key", "before", "after", "change"),
    [
        (("client", "a", "Fetch", "latency"), 10 * MS, 30 * MS, "slower"),
        (("broker", "b:1", "Fetch", "latency"), 30 * MS, 10 * MS, "faster"),
        (("client", "a", "Fetch", "response_size"), 1000, 4000, "larger"),
        (("client", "a", "Fetch", "response_size"), 4000, 1000, "smaller"),
    ],
)
def test_words_for_more_and_less(key: tuple[str, ...], before: int, after: int, change: str) -> None:
    (row,) = compare_profiles(*(profile({}, {key: values_in(40, 80, value)}) for value in (before, after)))
    assert (row["change"], row["delta"]) == (change, 1 if after > before else -1)
    assert (row["client_id"], row["broker"]) == ((key[1], None) if key[0] == "client" else (None, key[1]))
    assert row["unit"] == ("ns" if key[3] == "latency" else "bytes")


def test_the_median_is_told() -> None:
    half = [(100 if number % 2 else 2000, 4 * (number // 2 % 40)) for number in range(160)]
    (row,) = compare_profiles(profile({}, {SIZE: half}), profile({}, {SIZE: values_in(40, 160, 9000)}))
    assert row["before"] == value_of_bin(bin_number_of(100))


@pytest.mark.parametrize(
    ("metric", "low", "high", "far"),
    [
        ("latency", MS, MS * 3 // 2, True),
        ("latency", MS, MS * 3 // 2 - 1, False),
        ("latency", 500_000, MS, True),
        ("latency", 500_000, MS - 1, False),
        ("request_size", 128, 160, True),
        ("request_size", 128, 159, False),
        ("request_size", 129, 161, False),
        ("request_size", 100, 131, False),
        ("response_size", 128, 160, True),
        ("response_size", 100, 131, False),
        ("rate", 1, 2, True),
        ("rate", 1, 1.99, False),
        ("rate", 0, 0, True),
    ],
)
def test_the_least_effect(metric: str, low: float, high: float, far: bool) -> None:
    assert (
        compared._is_difference_large([low, high], metric) == compared._is_difference_large([high, low], metric) == far
    )


def test_a_rate_is_that_of_whole_slices() -> None:
    """The first and the last slice do not count for it; a wide slice is four narrow ones."""
    api = ("api", "a", "Fetch")
    before = {at: 100 if at in (0, 159) else 1 for at in range(160)}
    rows = compare_profiles(profile({api: before}), profile({api: everywhere(3)}))
    (row,) = rows
    width = (4 << SHIFT_MIN) / 1e9
    assert (row["change"], row["client_id"], row["api"], row["metric"]) == ("busier", "a", "Fetch", "rate")
    assert (row["before"], row["after"], row["ratio"]) == (round(4 / width, 3), round(12 / width, 3), 3)
    assert (row["unit"], row["delta"], row["count_before"], row["count_after"]) == ("exchanges/s", 1, 358, 480)
    (row,) = compare_profiles(profile({api: everywhere(3)}), profile({api: everywhere(1)}))
    assert (row["change"], row["delta"], row["ratio"]) == ("quieter", -1, 0.3333)
    assert compare_profiles(profile({api: everywhere(2)}), profile({api: everywhere(3)})) == []
    # Where one side has none between its first and its last slice there is no ratio; and few say nothing.
    assert compare_profiles(profile({api: {0: 99}}), profile({api: everywhere(3)})) == []
    assert compare_profiles(profile({api: dict.fromkeys(range(70, 89), 1)}), profile({api: everywhere(3)})) == []


@pytest.mark.parametrize(
    ("one", "other", "steady"),
    [
        ([0, 0, 2, 2], [4, 4, 4, 4], True),
        ([0, 0, 2, 2], [3.9, 3.9, 3.9, 3.9], False),
        ([4, 4, 4, 4], [0, 0, 2, 2], True),
        ([3.9, 3.9, 3.9, 3.9], [2, 2, 0, 0], False),
        ([1, 2, 3], [1, 2, 3], False),
        ([5, 5, 5], [5, 5, 5], True),
    ],
)
def test_a_trend_of_a_side_is_no_change(one: list[float], other: list[float], steady: bool) -> None:
    assert compared._is_difference_beyond_drift(one, other) == steady


@pytest.mark.parametrize(("slices", "each", "told"), [(10, 2, True), (8, 3, True), (7, 3, False)])
def test_few_slices_say_nothing_of_rates(slices: int, each: int, told: bool) -> None:
    """Two of the slices are not whole."""
    api = ("api", "a", "Fetch")
    sides = []
    for times in (1, 4):
        side = profile({api: {4 * number: each * times for number in range(slices)}})
        side.last = (4 * slices << SHIFT_MIN) - 1
        sides.append(side)
    assert bool(compare_profiles(*sides)) == told
    few = profile({api: {4 * number: 1 if number < 9 else 10 for number in range(10)}})
    few.last = sides[0].last = (40 << SHIFT_MIN) - 1
    assert [row["count_before"] for row in compare_profiles(few, profile({api: everywhere(90)}))] in ([], [19])


def test_a_trend_of_rates_is_told_by_the_ratio_of_means() -> None:
    assert compared._is_difference_beyond_drift([1, 1, 2, 2], [4.3, 4.3, 4.3, 4.3], ratio=True)
    assert not compared._is_difference_beyond_drift([1, 1, 2, 2], [4.2, 4.2, 4.2, 4.2], ratio=True)
    assert compared._is_difference_beyond_drift([0, 0, 0, 0], [1, 1, 1, 1], ratio=True)
    assert not compared._is_difference_beyond_drift([1, 2, 2], [1.1, 1.1, 1.1, 1.1, 1.1], ratio=True)
    assert compared._is_difference_beyond_drift([1, 1, 1], [1.01, 1.01, 1.01, 1.01, 1.01], ratio=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [([1, 2, 2, 5], [2, 3, 4, 4, 4]), ([1, 1, 1], [1, 1, 2]), ([1, 2, 3], [4, 5, 6]), ([7, 7], [7, 7])],
)
def test_the_rank_sum_is_that_of_mann_and_whitney(one: list[int], other: list[int]) -> None:
    """U by pairs; its spread with the correction for ties, as in the books."""
    u = sum((own > its) + 0.5 * (own == its) for own in one for its in other)
    both, size = [*one, *other], len(one) + len(other)
    ties = sum(both.count(value) ** 3 - both.count(value) for value in set(both))
    spread = len(one) * len(other) / 12 * ((size + 1) - ties / (size * (size - 1)))
    away = max(abs(u - len(one) * len(other) / 2) - 0.5, 0)
    expected = erfc(away / sqrt(2 * spread)) if spread > 0 else 1
    assert compared.compute_rank_sum_p(one, other) == pytest.approx(expected, rel=1e-12)


# The tests.


def test_cliffs_delta_is_the_share_of_pairs() -> None:
    rng = Random(5)
    for _ in range(20):
        sides = [[rng.randrange(6) for _ in range(rng.randrange(1, 9))] for _ in range(2)]
        pairs = [*product(*sides)]
        delta = sum((later > own) - (later < own) for own, later in pairs) / len(pairs)
        bins = [{value: side.count(value) for value in side} for side in sides]
        assert compared._compute_cliffs_delta(*bins) == pytest.approx(delta)
        assert compared._compute_cliffs_delta_of_lists(*sides) == pytest.approx(delta)


def test_significance_of_many_tests_at_the_very_border() -> None:
    assert find_significant_by_holm([]) == []
    assert find_significant_by_holm([0.01]) == [True]
    assert find_significant_by_holm([0.0101]) == [False]
    assert find_significant_by_holm([0.01, 0.005]) == [True, True]
    assert find_significant_by_holm([0.01, 0.0051]) == [False, False]
    assert find_significant_by_holm([0, 0.01]) == [True, True]
    assert find_significant_by_holm([0.02, 0.061, 0.0, 0.5], alpha=0.12) == [True, False, True, False]


@pytest.mark.parametrize(("value", "digits", "rounded"), [(0.012345, 2, 0.012), (1234.5678, 4, 1235.0), (2, 4, 2.0)])
def test_significant_digits(value: float, digits: int, rounded: float) -> None:
    assert compared._round_to_significant_digits(value, digits) == rounded


# The order of rows, and what is told once.


def row(change: str = "slower", **about: Any) -> dict[str, Any]:
    usual = {"metric": "latency", "api": "Fetch", "ratio": 2.0, "delta": 1.0, "significant": True, "p": 0.0}
    return compared._make_difference_row(change, **usual | about)


@pytest.mark.parametrize(
    ("client", "broker", "metric", "told"),
    [
        ((80, 80), (100, 100), "latency", ["b"]),
        ((79, 80), (100, 100), "latency", ["a", "b"]),
        ((80, 79), (100, 100), "latency", ["a", "b"]),
        ((101, 100), (100, 100), "latency", ["a", "b"]),
        ((100, 100), (100, 100), "latency", ["b"]),
        ((80, 80), (100, 100), "request_size", ["a"]),
        ((79, 80), (100, 100), "request_size", ["a", "b"]),
    ],
)
def test_what_is_true_of_a_broker_and_its_only_client_is_told_once(
    client: tuple[int, int], broker: tuple[int, int], metric: str, told: list[str]
) -> None:
    change = "slower" if metric == "latency" else "larger"
    rows = [
        row(change, metric=metric, client_id="a", count_before=client[0], count_after=client[1]),
        row(change, metric=metric, broker="b", count_before=broker[0], count_after=broker[1]),
    ]
    for order in (rows, rows[::-1]):
        kept = [each["client_id"] or each["broker"] for each in compared._drop_repeated_rows(order)]
        assert sorted(kept) == told
    others = [rows[0], rows[1] | {"api": "Produce"}]
    assert len([*compared._drop_repeated_rows(others)]) == 2


def test_the_gravest_come_first_then_the_largest_effect() -> None:
    rows = [
        row(client_id="d", significant=False, ratio=100.0),
        row("gone-error", error="E", count_before=5, ratio=None, metric=None),
        row(client_id="c", ratio=4.0, delta=0.5),
        row(client_id="b", ratio=3.0, delta=1.0),
        row(client_id="a", ratio=0.25, delta=-1.0),
        row("new-client", client_id="z", count_after=1, ratio=None, metric=None),
        row("gone-client", client_id="y", count_before=2, ratio=None, metric=None),
        row("new-client", client_id="x", count_before=1, count_after=1, ratio=None, metric=None),
        row("new-error", error="F", ratio=None, metric=None),
    ]
    ordered = sorted(rows, key=compared._rank_difference_row)
    assert [each["client_id"] or each["error"] for each in ordered] == ["F", "x", "y", "z", "a", "b", "c", "E", "d"]
    assert len(set(CHANGES)) == len(CHANGES) == 19


def test_values_that_may_be_chance_are_not_told_but_what_is_new_is() -> None:
    base: Things = {("client", "a"): everywhere()}
    before = profile(base, {LATENCY: values_in(8, 20, 10 * MS)})
    after = profile({**base, ("topic", "t"): {0: 1}}, {LATENCY: values_in(8, 20, 30 * MS)})
    assert [(each["change"], each["significant"]) for each in compare_profiles(before, after)] == [
        ("slower", True),
        ("new-topic", False),
    ]
    rising = [(10 * MS << at // 4, at) for at in range(32) for _ in range(2)]
    trend = profile(base, {LATENCY: rising})
    assert compare_profiles(profile(base, {LATENCY: values_in(8, 64, 10 * MS)}), trend) == []
