"""Two profiles of traffic in, a row for each difference out, the gravest kind first, then the largest effect.

Theory of operation. Two halves of one sound capture never are alike to the last number, so a difference has to pass:

- Effect size: a median that differs by half or more (a size by a quarter, a rate twofold), and by a least amount; and
  Cliff's delta, the share of pairs of values in which the later one is greater, less that in which it is smaller (-1 to
  1), beyond 0.474, which is called large (Romano and others, 2006).
- Significance: Mann and Whitney's U test, with the means (of logarithms) of some thirty time slices of each side as
  values, not the exchanges, which depend on each other; Fisher's exact test of the slices in which a thing was seen,
  for what is new or gone. Holm's correction holds for all tests of a comparison together: the chance that any of
  them is wrong is below ALPHA.
- Steadiness: within each side, the medians of its two halves differ less than two thirds of what the sides do. Else the
  traffic has a trend of its own, and its later part is no change.

What is too rare to be told from chance has `significant` false. That a client on both sides names another software, or
uses other versions of an API and none of the earlier, needs no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, erfc, log, sqrt
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.differences.traffic_profile import METRIC_UNITS, MeasuredValues, TrafficProfile
from decoders.analysis.percentiles import percentile, value_of_bin
from decoders.analysis.time_slices import add_amounts, join_slices
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["ALPHA", "CHANGES", "compare_profiles", "compute_rank_sum_p", "find_significant_by_holm"]

# The chance that any difference of a comparison is one by chance.
ALPHA: Final = 0.01
_DELTA_LEAST: Final = 0.474
# The least ratio of medians, and the least difference in the unit of the metric.
_RATIO_LEAST: Final = {"latency": 1.5, "request_size": 1.25, "response_size": 1.25, "rate": 2.0}
_AMOUNT_LEAST: Final = {"latency": 500_000, "request_size": 32, "response_size": 32, "rate": 0}
_STEADY: Final = 1.5
# Slices of a side for a test of values: joined from up to 128; fewer say nothing.
_SLICES_SHIFT: Final = 2
_SLICES_LEAST: Final = 8
_VALUES_LEAST: Final = 20
# A client with this share of a broker's values is nearly its only one.
_SHARE_OF_ALL: Final = 0.8

# The kinds of differences, the gravest first; those of values are one rank, ordered by their effect.
_RANKS: Final = (
    ("new-error",),
    ("gone-client", "new-client"),
    ("new-version", "new-acks"),
    ("gone-topic", "new-topic", "gone-group", "new-group"),
    ("gone-api", "new-api"),
    ("new-api-version",),
    ("slower", "faster", "larger", "smaller", "busier", "quieter"),
    ("gone-error",),
)
CHANGES: Final = tuple(change for rank in _RANKS for change in rank)
_RANK_OF: Final = {change: number for number, rank in enumerate(_RANKS) for change in rank}
# Metric → the words for more and for less of it.
_WORDS: Final = {
    "latency": ("slower", "faster"),
    "request_size": ("larger", "smaller"),
    "response_size": ("larger", "smaller"),
    "rate": ("busier", "quieter"),
}
_KINDS: Final = {"client": ("client_id",), "topic": ("topic",), "group": ("group",), "api": ("client_id", "api")}


class _TestedDifference(NamedTuple):
    """A test, and the difference that it is about: `row` is None where its effect is too small to be told.

    `p` is 0 where a difference needs no test; `steady`: it is no trend that goes on.
    """

    row: Row | None
    p: float
    steady: bool = True


def compare_profiles(before: TrafficProfile, after: TrafficProfile) -> list[Row]:
    """A row for each difference, those that may be chance last. Widens the slices of the profiles to one width."""
    shift = max(before.shift, after.shift)
    before.widen_slices(shift)
    after.widen_slices(shift)
    if not (before.count and after.count):
        return []
    found = [
        *_find_one_sided_things(before, after),
        *_compare_software_acks_and_versions(before, after),
        *_compare_measured_values(before, after),
    ]
    kept = find_significant_by_holm([each.p for each in found])
    rows = [
        {**each.row, "p": _round_to_significant_digits(each.p, 2), "significant": passed and each.steady}
        for each, passed in zip(found, kept, strict=True)
        if each.row is not None
    ]
    rows = [row for row in rows if row["significant"] or row["change"] in _PRESENCE]
    return sorted(_drop_repeated_rows(rows), key=_rank_difference_row)


def _drop_repeated_rows(rows: list[Row]) -> Iterator[Row]:
    """The rows without those that say the same of a broker and of its only client, or nearly, with an API.

    How fast answers come is the broker's, sizes are the client's.
    """
    sides: dict[tuple[str, ...], tuple[list[Row], list[Row]]] = {}
    for row in rows:
        if row["metric"]:
            sides.setdefault((row["api"], row["change"]), ([], []))[row["broker"] is None].append(row)
    for row in rows:
        is_client = row["broker"] is None
        if row["metric"] and is_client == (row["metric"] == "latency"):
            others = sides[row["api"], row["change"]][not is_client]
            if any(
                _makes_up_most_of_broker(row, other) if is_client else _makes_up_most_of_broker(other, row)
                for other in others
            ):
                continue
        yield row


def _makes_up_most_of_broker(client: Row, broker: Row) -> bool:
    """Whether nearly all values of a broker are those of a client, on both sides."""
    return client["metric"] == broker["metric"] and all(
        _SHARE_OF_ALL * broker[count] <= client[count] <= broker[count] for count in ("count_before", "count_after")
    )


_PRESENCE: Final = frozenset(f"{word}-{kind}" for word in ("new", "gone") for kind in (*_KINDS, "error"))


def _rank_difference_row(row: Row) -> tuple[Any, ...]:
    # The ratio, weighed by how many of the values are beyond those of the other side.
    effect = abs(log(row["ratio"]) * row["delta"]) if row["ratio"] else float(row["count_before"] + row["count_after"])
    names = [str(row[key]) for key in ("client_id", "broker", "api", "topic", "group", "error", "metric")]
    return not row["significant"], _RANK_OF[row["change"]], -effect, names


def _make_difference_row(change: str, **about: Any) -> Row:
    nothing: Row = dict.fromkeys(
        ("client_id", "broker", "api", "topic", "group", "error", "metric", "unit", "before", "after", "ratio", "delta")
    )
    return {"change": change, **nothing, "count_before": 0, "count_after": 0, **about}


# What is new or gone


def _find_one_sided_things(before: TrafficProfile, after: TrafficProfile) -> Iterator[_TestedDifference]:
    """Things of one side alone. Of a client that is, its APIs and errors are not told again."""
    clients = [{thing[1] for thing in side.things if thing[0] == "client"} for side in (before, after)]
    both = clients[0] & clients[1]
    spans = len(before.span()), len(after.span())
    for thing in sorted({*before.things} ^ {*after.things}):
        kind, *names = thing
        keys = _KINDS.get(kind) or (("client_id", "api", "error") if kind == "error" else ())
        if not keys or (kind == "api" and names[0] not in both):
            continue
        gone = thing in before.things
        slices = (before if gone else after).things[thing]
        p = _compute_fisher_p(len(slices), spans if gone else spans[::-1])
        counts = {
            "count_before": sum(slices.values()) if gone else 0,
            "count_after": 0 if gone else sum(slices.values()),
        }
        yield _TestedDifference(
            _make_difference_row(
                f"{'gone' if gone else 'new'}-{kind}", **dict(zip(keys, names, strict=True)), **counts
            ),
            p,
        )


def _compute_fisher_p(seen: int, spans: tuple[int, int]) -> float:
    """Fisher's exact test: the chance that all slices in which a thing was seen are of the first of two sides."""
    own, other = spans
    return comb(own, seen) / comb(own + other, seen)


def _compare_software_acks_and_versions(before: TrafficProfile, after: TrafficProfile) -> Iterator[_TestedDifference]:
    """Clients that name another software, ask for other acks, or use other versions of an API; none of those before."""
    for kind, change in (("software", "new-version"), ("acks", "new-acks"), ("version", "new-api-version")):
        sides = [_count_last_names_by_rest(side, kind) for side in (before, after)]
        for names in sorted(sides[0].keys() & sides[1].keys()):
            one, other = sides[0][names], sides[1][names]
            if one.keys() & other.keys():
                continue
            about = dict(zip(("client_id", "api"), names, strict=False))
            texts = {"before": ", ".join(sorted(one)), "after": ", ".join(sorted(other))}
            counts = {"count_before": sum(one.values()), "count_after": sum(other.values())}
            yield _TestedDifference(_make_difference_row(change, **about, **texts, **counts), 0.0)


def _count_last_names_by_rest(profile: TrafficProfile, kind: str) -> dict[tuple[str, ...], dict[str, int]]:
    """All names of a kind but the last → the last ones, with counts."""
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for (its_kind, *names), slices in profile.things.items():
        if its_kind == kind:
            found.setdefault(tuple(names[:-1]), {})[names[-1]] = sum(slices.values())
    return found


# How fast, how large, how often


def _compare_measured_values(before: TrafficProfile, after: TrafficProfile) -> Iterator[_TestedDifference]:
    for key in sorted(before.measured.keys() & after.measured.keys()):
        place, name, api, metric = key
        about = {"client_id" if place == "client" else "broker": name, "api": api}
        yield from _compare_metric(before.measured[key], after.measured[key], metric, about)
    for thing in sorted(before.things.keys() & after.things.keys()):
        if thing[0] == "api":
            yield from _compare_rates(thing, before, after)


def _compare_metric(
    before: MeasuredValues, after: MeasuredValues, metric: str, about: Mapping[str, str]
) -> Iterator[_TestedDifference]:
    """The difference of two lots of values, where its effect is large enough."""
    counts = [sum(side.bins.values()) for side in (before, after)]
    means = [_average_slices(side) for side in (before, after)]
    if min(counts) < _VALUES_LEAST or min(map(len, means)) < _SLICES_LEAST:
        return
    medians = [
        percentile(side.bins, 50, value_of_bin(min(side.bins)), value_of_bin(max(side.bins)))
        for side in (before, after)
    ]
    delta = _compute_cliffs_delta(before.bins, after.bins)
    p = compute_rank_sum_p(*means)
    if abs(delta) < _DELTA_LEAST or not _is_difference_large(medians, metric):
        yield _TestedDifference(None, p)
    else:
        yield _TestedDifference(
            _make_difference_row(
                _WORDS[metric][medians[1] < medians[0]],
                **about,
                metric=metric,
                unit=METRIC_UNITS[metric],
                before=medians[0],
                after=medians[1],
                ratio=_round_to_significant_digits(medians[1] / medians[0], 4) if medians[0] else None,
                delta=round(delta, 3),
                count_before=counts[0],
                count_after=counts[1],
            ),
            p,
            _is_difference_beyond_drift(*means),
        )


def _is_difference_large(medians: Sequence[float], metric: str) -> bool:
    low, high = min(medians), max(medians)
    return high >= low * _RATIO_LEAST[metric] and high - low >= _AMOUNT_LEAST[metric]


def _compare_rates(
    client_and_api: tuple[str, ...], before: TrafficProfile, after: TrafficProfile
) -> Iterator[_TestedDifference]:
    """The difference of how often a client sends an API, by the exchanges in each slice."""
    sides = [_count_by_slice(side.things[client_and_api], side.span()) for side in (before, after)]
    counts = [sum(side) for side in sides]
    if min(map(len, sides)) < _SLICES_LEAST or min(counts) < _VALUES_LEAST:
        return
    # The first and the last slice are not whole.
    sides = [side[1:-1] for side in sides]
    rates = [sum(side) / len(side) for side in sides]
    width = (1 << before.shift + _SLICES_SHIFT) / 1e9
    delta, p = _compute_cliffs_delta_of_lists(*sides), compute_rank_sum_p(*sides)
    if not min(rates) or abs(delta) < _DELTA_LEAST or not _is_difference_large(rates, "rate"):
        yield _TestedDifference(None, p)
        return
    yield _TestedDifference(
        _make_difference_row(
            _WORDS["rate"][rates[1] < rates[0]],
            client_id=client_and_api[1],
            api=client_and_api[2],
            metric="rate",
            unit="exchanges/s",
            before=round(rates[0] / width, 3),
            after=round(rates[1] / width, 3),
            ratio=_round_to_significant_digits(rates[1] / rates[0], 4),
            delta=round(delta, 3),
            count_before=round(counts[0]),
            count_after=round(counts[1]),
        ),
        p,
        _is_difference_beyond_drift(*sides, ratio=True),
    )


def _round_to_significant_digits(value: float, digits: int) -> float:
    """A number with so many significant digits."""
    return float(f"{value:.{digits}g}")


def _average_slices(values: MeasuredValues) -> list[float]:
    """The mean bin of each wide slice, in the order of time."""
    counts, sums = (join_slices(each, _SLICES_SHIFT, add_amounts) for each in (values.counts, values.sums))
    return [sums[at] / counts[at] for at in sorted(counts)]


def _count_by_slice(slices: Mapping[int, int], span: range) -> list[float]:
    """The count of each wide slice of a span, those without any as well."""
    wide = join_slices(dict(slices), _SLICES_SHIFT, add_amounts)
    return [float(wide.get(at, 0)) for at in range(span[0] >> _SLICES_SHIFT, (span[-1] >> _SLICES_SHIFT) + 1)]


def _is_difference_beyond_drift(one: Sequence[float], other: Sequence[float], *, ratio: bool = False) -> bool:
    """Whether two sides differ by clearly more than the halves of each; `ratio`: values are no logarithms yet."""

    def compute_middle(values: Sequence[float]) -> float:
        return log(max(sum(values) / len(values), 1e-9)) if ratio else median(values)

    between = abs(compute_middle(one) - compute_middle(other))
    within = max(
        abs(compute_middle(side[: len(side) // 2]) - compute_middle(side[len(side) // 2 :])) for side in (one, other)
    )
    return between >= _STEADY * within


def compute_rank_sum_p(one: Sequence[float], other: Sequence[float]) -> float:
    """Mann and Whitney's U test, two-sided, by the normal approximation with corrections for ties and continuity."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    ranks = ties = 0.0
    at = 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        size = end - at
        ties += size**3 - size
        ranks += (at + 1 + end) / 2 * sum(side == 0 for _, side in ranked[at:end])
        at = end
    first, second = len(one), len(other)
    total = first + second
    spread = first * second / 12 * (total + 1 - ties / (total * (total - 1)))
    if spread <= 0:
        return 1.0
    away = abs(ranks - first * (first + 1) / 2 - first * second / 2) - 0.5
    return erfc(max(away, 0) / sqrt(spread) / sqrt(2))


def _compute_cliffs_delta(before: Mapping[int, int], after: Mapping[int, int]) -> float:
    """Cliff's delta of values that are counted by bin; positive where the later ones are greater."""
    below = equal = 0
    smaller = 0
    for number in sorted(before.keys() | after.keys()):
        own, its = before.get(number, 0), after.get(number, 0)
        below += its * smaller
        equal += its * own
        smaller += own
    pairs = sum(before.values()) * sum(after.values())
    return (2 * below + equal) / pairs - 1


def _compute_cliffs_delta_of_lists(before: Sequence[float], after: Sequence[float]) -> float:
    more = sum((its > own) - (its < own) for own in before for its in after)
    return more / (len(before) * len(after))


def find_significant_by_holm(values: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """For each p value, whether it is significant among all of them (Holm, 1979); those of 0 are no tests."""
    tested = sorted((value, at) for at, value in enumerate(values) if value > 0)
    passed = [value == 0 for value in values]
    for rank, (value, at) in enumerate(tested):
        if value > alpha / (len(tested) - rank):
            break
        passed[at] = True
    return passed
