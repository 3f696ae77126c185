"""Statistics and a batch of `exchanges` in, the batch counted: by column what `Statistics.add` does row by row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from decoders.analysis.group import Group
from decoders.analysis.metrics import METRICS
from decoders.analysis.sketch import bin_of, edges
from decoders.analysis.slices import added
from decoders.apis.error_codes import error_name
from kwcli.pipeline.report.coded import Coded, Numbers, combined, compact, counts, greatest, least, sums
from kwcli.pipeline.report.rows import LISTS, Rows

if TYPE_CHECKING:
    from decoders.analysis.dimensions import Key
    from decoders.analysis.slices import Join
    from decoders.analysis.statistics import Statistics

NS_PER_MS: Final = 1_000_000
# What the table has for each metric that can be counted so.
METRIC_COLUMNS: Final = {
    "latency": ("request_end_ns", "response_ns", "waited_ns"),
    "bytes": (),
    "errors": (),
    "throttle": ("throttle_time_ms",),
}
COLUMNS: Final = ("time_ns", "status", "request_size", "response_size", "error_codes", "error_topics")


class Measured(NamedTuple):
    """Values of the metric, for some rows: `where` says which of them have one."""

    where: Any
    values: Numbers


def count(statistics: Statistics, rows: Rows, only: frozenset[Any] | None = None) -> None:
    """Count a batch; with `only` just the groups whose last dimension is one of these. Raises LimitExceeded."""
    if not rows.size:
        return
    times = rows.integers("time_ns")
    first, last = int(times.min()), int(times.max())
    statistics.cover(first, last)
    picked, groups = _grouped(statistics, rows, only)
    size = len(groups.values)
    made = [Group() for _ in range(size)]
    found = _outcomes(rows, picked, groups, made)
    if rows.lengths("error_codes").any():
        _errors(statistics, rows, picked, groups, made, found)
    measured = _measured(statistics.metric, rows, picked, found)
    if statistics.metric == "latency":
        _waits(rows, picked, groups, made)
    _measure(groups, made, measured)
    shift = statistics.slices()[2].bit_length() - 1
    if statistics.over_time:
        _place(groups, made, measured, times[picked] >> shift, METRICS[statistics.metric].join)
    statistics.take(zip(groups.values, made, strict=True), first, last, shift)


def _grouped(statistics: Statistics, rows: Rows, only: frozenset[Any] | None) -> tuple[Numbers, Coded]:
    """The rows that count (one that is about several values several times), and the key of each."""
    picked = np.arange(rows.size, dtype=np.int64)
    lists = [name for name in statistics.by if name in LISTS]
    if len(lists) > 1:
        raise ValueError("a table is grouped by one list of values at a time")
    values = None
    if lists:
        picked, values = rows.elements(LISTS[lists[0]])
    parts: list[Coded] = []
    for name in statistics.by:
        if name in LISTS:
            assert values is not None
            parts.append(values)
        elif name == "time":
            parts.append(_buckets(rows.integers("time_ns")[picked], statistics.bucket_ns))
        else:
            parts.append(rows.dimension(name).at(picked))
    if only is not None:
        wanted = np.array([value in only for value in parts[-1].values] or [False])
        kept = np.flatnonzero(wanted[parts[-1].numbers])
        picked, parts = picked[kept], [part.at(kept) for part in parts]
    return picked, combined(parts, len(picked))


def _buckets(times: Numbers, width: int) -> Coded:
    if not len(times):
        return Coded(times, [])
    begun = times // width
    low = int(begun.min())
    different, places = compact(begun - low, int(begun.max()) - low + 1)
    return Coded(places, [(number + low) * width for number in different.tolist()])


def _outcomes(rows: Rows, picked: Numbers, groups: Coded, made: list[Group]) -> Numbers:
    """Counts and sizes; gives zeros, for the error codes found in each row."""
    numbers, size = groups.numbers, len(made)
    status = {
        name: np.bincount(numbers[rows.is_value("status", name)[picked]], minlength=size).tolist()
        for name in ("unanswered", "undecoded")
    }
    sent, got = (sums(numbers, rows.integers(f"{side}_size")[picked], size) for side in ("request", "response"))
    for at, each in enumerate(counts(numbers, size)):
        group = made[at]
        group.count = each
        group.unanswered, group.undecoded = status["unanswered"][at], status["undecoded"][at]
        group.request_bytes, group.response_bytes = sent[at], got[at]
    return np.zeros(len(picked), np.int64)


def _errors(
    statistics: Statistics, rows: Rows, picked: Numbers, groups: Coded, made: list[Group], found: Numbers
) -> None:
    """Count error codes, in a group of a topic those of the topic and of none, in one of an error that one."""
    by = statistics.by
    topic = by.index("topic") if "topic" in by else None
    error = by.index("error") if "error" in by else None
    failed = rows.lengths("error_codes") > 0
    at = np.flatnonzero(failed[picked])
    which, places = np.unique(picked[at], return_inverse=True)
    codes = rows.column("error_codes").take(which).to_pylist()
    topics = rows.column("error_topics").take(which).to_pylist() if topic is not None else [None] * len(codes)
    for row, place, number in zip(at.tolist(), places.tolist(), groups.numbers[at].tolist(), strict=True):
        some, group = codes[place], made[number]
        if topic is not None or error is not None:
            key = groups.values[number]
            its = topics[place] or [None] * len(some)
            some = [code for code, about in zip(some, its, strict=True) if _counts(code, about, key, topic, error)]
        if some:
            group.failed += 1
            group.codes.update(some)
            found[row] = len(some)


def _counts(code: int, its: str | None, key: Key, topic: int | None, error: int | None) -> bool:
    if topic is not None and key[topic] is not None and its is not None and its != key[topic]:
        return False
    return error is None or error_name(code) == key[error]


def _measured(metric: str, rows: Rows, picked: Numbers, found: Numbers) -> Measured:
    if metric == "errors":
        return Measured(found > 0, found)
    if metric == "bytes":
        values = (rows.integers("request_size") + rows.integers("response_size"))[picked]
        return Measured(np.ones(len(picked), np.bool_), values)
    if metric == "throttle":
        values = rows.integers("throttle_time_ms")[picked] * NS_PER_MS
        return Measured(values > 0, values)
    where = rows.known("request_end_ns") & rows.known("response_ns") & ~rows.known("waited_ns")
    return Measured(where[picked], (rows.integers("response_ns") - rows.integers("request_end_ns"))[picked])


def _waits(rows: Rows, picked: Numbers, groups: Coded, made: list[Group]) -> None:
    waits = np.flatnonzero(rows.known("waited_ns")[picked])
    if not len(waits):
        return
    numbers = groups.numbers[waits]
    waited = sums(numbers, rows.integers("waited_ns")[picked][waits], len(made))
    for group, times, total in zip(made, counts(numbers, len(made)), waited, strict=True):
        group.waited, group.waited_ns = times, total


def bins(values: Numbers) -> Coded:
    """The bin of each value, as the sketch has them."""
    table = np.array(edges(), np.int64)
    size = np.abs(values)
    number = np.searchsorted(table, size, "right") * np.sign(values)
    least_of_all = values == np.iinfo(np.int64).min  # has no absolute value
    if least_of_all.any():
        number[least_of_all] = bin_of(int(np.iinfo(np.int64).min))
    low = int(number.min()) if len(number) else 0
    different, places = compact(number - low, int(number.max()) - low + 1 if len(number) else 1)
    return Coded(places, [each + low for each in different.tolist()])


def gather(groups: Coded, made: list[Group], values: Numbers, weights: Numbers | None = None) -> None:
    """Measure values, each `weights` times, for the groups of their rows."""
    if not len(values):
        return
    binned = bins(values)
    size, width = len(made), len(binned.values)
    pairs, places = compact(groups.numbers * width + binned.numbers, size * width)
    each = sums(places, weights, len(pairs)) if weights is not None else counts(places, len(pairs))
    found: list[Counter[int]] = [Counter() for _ in made]
    for pair, times in zip(pairs.tolist(), each, strict=True):
        found[pair // width][binned.values[pair % width]] = times
    totals = sums(groups.numbers, values if weights is None else values * weights, size)
    lows, highs = least(groups.numbers, values, size), greatest(groups.numbers, values, size)
    for group, its, total, low, high in zip(made, found, totals, lows, highs, strict=True):
        if its:
            group.gather(its, total, low, high)


def _measure(groups: Coded, made: list[Group], measured: Measured) -> None:
    rows = np.flatnonzero(measured.where)
    gather(groups.at(rows), made, measured.values[rows])


def _place(groups: Coded, made: list[Group], measured: Measured, slices: Numbers, join: Join) -> None:
    """What each group has in each time slice."""
    rows = np.flatnonzero(measured.where)
    if not len(rows):
        return
    numbers, values, slices = groups.numbers[rows], measured.values[rows], slices[rows]
    low, width = int(slices.min()), int(slices.max()) - int(slices.min()) + 1
    pairs, places = compact(numbers * width + slices - low, len(made) * width)
    joined = (sums if join is added else greatest)(places, values, len(pairs))
    for pair, value in zip(pairs.tolist(), joined, strict=True):
        made[pair // width].slices[pair % width + low] = value
