"""A batch of a table in, folds that counted it out: by column what `add` does row by row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.analysis.percentiles import bin_edges, bin_number_of
from decoders.analysis.slowest_exchanges import NAMES
from decoders.analysis.statistics import GroupStatistics
from decoders.analysis.sum_amounts_by_key import TopicBatches
from decoders.analysis.time_slices import add_amounts
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from kwcli.pipeline.report.numpy_group_by import (
    LISTS,
    BatchColumns,
    CodedColumn,
    Numbers,
    combine_columns_to_tuples,
    count_by_group,
    greatest_by_group,
    least_by_group,
    number_distinct_values,
    sum_by_group,
)

if TYPE_CHECKING:
    from decoders.analysis.read_dimension_values import Key
    from decoders.analysis.slowest_exchanges import Slowest
    from decoders.analysis.statistics import Statistics
    from decoders.analysis.sum_amounts_by_key import BatchSizes, ClientVersions, Tally
    from decoders.analysis.time_slices import Join

NS_PER_MS: Final = 1_000_000
# The columns that each metric is counted from.
METRIC_COLUMNS: Final = {
    "latency": ("request_end_ns", "response_ns", "waited_ns"),
    "bytes": (),
    "errors": (),
    "throttle": ("throttle_time_ms",),
}
COLUMNS: Final = (
    *("time_ns", "status", "request_size", "response_size", "envelope"),
    *("error_codes", "error_topics", "error_expected"),
)


class MeasuredRows(NamedTuple):
    """The metric's values of some rows: `where` says which of these rows have one."""

    where: Any
    values: Numbers


def feed_statistics(statistics: Statistics, rows: BatchColumns, only: frozenset[Any] | None = None) -> None:
    """Count a batch; with `only` just the groups whose last dimension is one of its values. Raises LimitExceeded."""
    if not rows.size:
        return
    times = rows.convert_to_integers("time_ns")
    first, last = int(times.min()), int(times.max())
    statistics.extend_time(first, last)
    picked, groups = _number_groups_of_rows(statistics, rows, only)
    size = len(groups.values)
    made = [GroupStatistics() for _ in range(size)]
    found = _count_rows_and_sizes_of_groups(rows, picked, groups, made)
    if rows.count_list_elements("error_codes").any():
        _count_error_codes_of_groups(statistics, rows, picked, groups, made, found)
    measured = _measure_rows(statistics.metric, rows, picked, found)
    if statistics.metric == "latency":
        _count_waits_of_groups(rows, picked, groups, made)
    _add_measured_rows(groups, made, measured)
    shift = statistics.slice_span()[2].bit_length() - 1
    if statistics.over_time:
        _set_values_of_time_slices(groups, made, measured, times[picked] >> shift, METRICS[statistics.metric].join)
    statistics.add_groups(zip(groups.values, made, strict=True), first, last, shift)


def _number_groups_of_rows(
    statistics: Statistics, rows: BatchColumns, only: frozenset[Any] | None
) -> tuple[Numbers, CodedColumn]:
    """The rows that count, and the group key of each; a row that is about several values is there for each of them."""
    picked = np.arange(rows.size, dtype=np.int64)
    lists = [name for name in statistics.by if name in LISTS]
    if len(lists) > 1:
        raise ValueError("a table is grouped by one list of values at a time")
    values = None
    if lists:
        picked, values = rows.flatten_lists(LISTS[lists[0]])
    parts: list[CodedColumn] = []
    for name in statistics.by:
        if name in LISTS:
            assert values is not None
            parts.append(values)
        elif name == "time":
            parts.append(_number_time_buckets(rows.convert_to_integers("time_ns")[picked], statistics.bucket_ns))
        else:
            parts.append(rows.make_dimension_column(name).select_rows(picked))
    if only is not None:
        wanted = np.array([value in only for value in parts[-1].values] or [False])
        kept = np.flatnonzero(wanted[parts[-1].numbers])
        picked, parts = picked[kept], [part.select_rows(kept) for part in parts]
    return picked, combine_columns_to_tuples(parts, len(picked))


def _number_time_buckets(times: Numbers, width: int) -> CodedColumn:
    if not len(times):
        return CodedColumn(times, [])
    begun = times // width
    low = int(begun.min())
    different, places = number_distinct_values(begun - low, int(begun.max()) - low + 1)
    return CodedColumn(places, [(number + low) * width for number in different.tolist()])


def _count_rows_and_sizes_of_groups(
    rows: BatchColumns, picked: Numbers, groups: CodedColumn, made: list[GroupStatistics]
) -> Numbers:
    """Set the counts and sizes of the groups; the result has a 0 for each row, to count its error codes in."""
    numbers, size = groups.numbers, len(made)
    status = {
        name: np.bincount(numbers[rows.mask_value("status", name)[picked]], minlength=size).tolist()
        for name in ("unanswered", "undecoded")
    }
    sent, got = (sum_by_group(numbers, _get_frame_sizes(rows, side)[picked], size) for side in ("request", "response"))
    for at, each in enumerate(count_by_group(numbers, size)):
        group = made[at]
        group.count = each
        group.unanswered, group.undecoded = status["unanswered"][at], status["undecoded"][at]
        group.request_bytes, group.response_bytes = sent[at], got[at]
    return np.zeros(len(picked), np.int64)


def _count_error_codes_of_groups(
    statistics: Statistics,
    rows: BatchColumns,
    picked: Numbers,
    groups: CodedColumn,
    made: list[GroupStatistics],
    found: Numbers,
) -> None:
    """Count error codes: a topic's group counts codes about it or about no topic, an error's group that error only."""
    by = statistics.by
    topic = by.index("topic") if "topic" in by else None
    error = by.index("error") if "error" in by else None
    failed = rows.count_list_elements("error_codes") > 0
    at = np.flatnonzero(failed[picked])
    which, places = np.unique(picked[at], return_inverse=True)
    codes = rows.column("error_codes").take(which).to_pylist()
    topics = rows.column("error_topics").take(which).to_pylist() if topic is not None else [None] * len(codes)
    for row, place, number in zip(at.tolist(), places.tolist(), groups.numbers[at].tolist(), strict=True):
        some, group = codes[place], made[number]
        if topic is not None or error is not None:
            key = groups.values[number]
            its = topics[place] or [None] * len(some)
            some = [
                code
                for code, about in zip(some, its, strict=True)
                if _is_error_of_group(code, about, key, topic, error)
            ]
        if some:
            group.failed += 1
            group.codes.update(some)
            found[row] = len(some)


def _is_error_of_group(code: int, its: str | None, key: Key, topic: int | None, error: int | None) -> bool:
    if topic is not None and key[topic] is not None and its is not None and its != key[topic]:
        return False
    return error is None or error_name(code) == key[error]


def _measure_rows(metric: str, rows: BatchColumns, picked: Numbers, found: Numbers) -> MeasuredRows:
    if metric == "errors":
        return MeasuredRows(found > 0, found)
    if metric == "bytes":
        values = (_get_frame_sizes(rows, "request") + _get_frame_sizes(rows, "response"))[picked]
        return MeasuredRows(np.ones(len(picked), np.bool_), values)
    if metric == "throttle":
        values = rows.convert_to_integers("throttle_time_ms")[picked] * NS_PER_MS
        return MeasuredRows(values > 0, values)
    where = _mask_rows_with_own_latency(rows)
    return MeasuredRows(
        where[picked], (rows.convert_to_integers("response_ns") - rows.convert_to_integers("request_end_ns"))[picked]
    )


def _get_frame_sizes(rows: BatchColumns, side: str) -> Numbers:
    """The sizes of the requests or responses; 0 for those inside an Envelope, which are in the Envelope's size."""
    sizes: Numbers = rows.convert_to_integers(f"{side}_size") * ~rows.mask_present("envelope")
    return sizes


def _mask_rows_with_own_latency(rows: BatchColumns) -> Any:
    """The rows that have a latency of their own."""
    paired = rows.mask_present("request_end_ns") & rows.mask_present("response_ns")
    return paired & ~rows.mask_present("waited_ns") & ~rows.mask_present("envelope")


def _count_waits_of_groups(
    rows: BatchColumns, picked: Numbers, groups: CodedColumn, made: list[GroupStatistics]
) -> None:
    waits = np.flatnonzero(rows.mask_present("waited_ns")[picked])
    if not len(waits):
        return
    numbers = groups.numbers[waits]
    waited = sum_by_group(numbers, rows.convert_to_integers("waited_ns")[picked][waits], len(made))
    for group, times, total in zip(made, count_by_group(numbers, len(made)), waited, strict=True):
        group.waited, group.waited_ns = times, total


def sort_into_bins(values: Numbers) -> CodedColumn:
    """The bin of each value, numbered as by `bin_number_of`."""
    table = np.array(bin_edges(), np.int64)
    size = np.abs(values)
    number = np.searchsorted(table, size, "right") * np.sign(values)
    least_of_all = values == np.iinfo(np.int64).min  # has no absolute value
    if least_of_all.any():
        number[least_of_all] = bin_number_of(int(np.iinfo(np.int64).min))
    low = int(number.min()) if len(number) else 0
    different, places = number_distinct_values(number - low, int(number.max()) - low + 1 if len(number) else 1)
    return CodedColumn(places, [each + low for each in different.tolist()])


def add_to_measures(
    groups: CodedColumn, made: list[GroupStatistics], values: Numbers, weights: Numbers | None = None
) -> None:
    """Add values, each `weights` times, to the measures of their rows' groups."""
    if not len(values):
        return
    binned = sort_into_bins(values)
    size, width = len(made), len(binned.values)
    pairs, places = number_distinct_values(groups.numbers * width + binned.numbers, size * width)
    each = sum_by_group(places, weights, len(pairs)) if weights is not None else count_by_group(places, len(pairs))
    found: list[Counter[int]] = [Counter() for _ in made]
    for pair, times in zip(pairs.tolist(), each, strict=True):
        found[pair // width][binned.values[pair % width]] = times
    totals = sum_by_group(groups.numbers, values if weights is None else values * weights, size)
    lows, highs = least_by_group(groups.numbers, values, size), greatest_by_group(groups.numbers, values, size)
    for group, its, total, low, high in zip(made, found, totals, lows, highs, strict=True):
        if its:
            group.add_binned_values(its, total, low, high)


def _add_measured_rows(groups: CodedColumn, made: list[GroupStatistics], measured: MeasuredRows) -> None:
    rows = np.flatnonzero(measured.where)
    add_to_measures(groups.select_rows(rows), made, measured.values[rows])


def _set_values_of_time_slices(
    groups: CodedColumn, made: list[GroupStatistics], measured: MeasuredRows, slices: Numbers, join: Join
) -> None:
    """Set the value of each group in each time slice."""
    rows = np.flatnonzero(measured.where)
    if not len(rows):
        return
    numbers, values, slices = groups.numbers[rows], measured.values[rows], slices[rows]
    low, width = int(slices.min()), int(slices.max()) - int(slices.min()) + 1
    pairs, places = number_distinct_values(numbers * width + slices - low, len(made) * width)
    joined = (sum_by_group if join is add_amounts else greatest_by_group)(places, values, len(pairs))
    for pair, value in zip(pairs.tolist(), joined, strict=True):
        made[pair // width].slices[pair % width + low] = value


# Folds besides statistics

WHERE: Final = ("point", "source_file")
SLOWEST_COLUMNS: Final = (
    *("time_ns", "request_end_ns", "response_ns", "client", "broker", "connection_began_ns", "place"),
    *("api_key", "api", "api_version", "correlation_id", "client_id", "request_size", "response_size"),
    *("request_packet", "request_packet_end", "response_packet", "response_packet_end", *WHERE),
)
BATCH_COLUMNS: Final = ("api", "topic", "topic_id", "batches", "records", "bytes", "codec")
USES: Final = ("address", "client_id", "client_software_name", "client_software_version", "api_key", "api_version")


def feed_slowest(slowest: Slowest, rows: BatchColumns) -> None:
    """Add the exchanges that took longest, and all that took as long as the last of them."""
    where = _mask_rows_with_own_latency(rows)
    took = (rows.convert_to_integers("response_ns") - rows.convert_to_integers("request_end_ns"))[where]
    if not len(took) or not slowest.most:
        return
    bar = np.partition(took, -slowest.most)[-slowest.most] if len(took) > slowest.most else took.min()
    at = np.flatnonzero(where)[took >= bar]
    columns = {name: pc.take(rows.column(name), at).to_pylist() for name in SLOWEST_COLUMNS}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        latency = row["response_ns"] - row["request_end_ns"]
        where = (row["client"], row["broker"], row["connection_began_ns"], row["place"], row["time_ns"])
        packets = [_get_packets_of_side(row, side) for side in ("request", "response")]
        values_of_names = {**row, "time": row["time_ns"], "latency_ms": latency, "packets": packets}
        slowest.add_kept_values(latency, where, tuple(values_of_names[name] for name in (*NAMES, *slowest.more)))


def _get_packets_of_side(row: dict[str, Any], side: str) -> list[int] | None:
    """The first and the last packet of a request or response; None where the table has none."""
    first: int | None = row[f"{side}_packet"]
    return None if first is None else [first, row[f"{side}_packet_end"]]


def feed_versions(versions: ClientVersions, rows: BatchColumns) -> None:
    """Count which client used which version of which API."""
    at = np.flatnonzero(rows.mask_present("api_key") & rows.mask_present("api_version"))
    groups = combine_columns_to_tuples([rows.make_dimension_column(name).select_rows(at) for name in USES], len(at))
    times, size = rows.convert_to_integers("time_ns")[at], len(groups.values)
    firsts, lasts = least_by_group(groups.numbers, times, size), greatest_by_group(groups.numbers, times, size)
    for key, *amounts in zip(groups.values, count_by_group(groups.numbers, size), firsts, lasts, strict=True):
        versions.join_amounts(key, amounts)


def tally_rows(tally: Tally, rows: BatchColumns) -> None:
    """Count the rows of each key, and add up their amounts."""
    groups = combine_columns_to_tuples([rows.make_dimension_column(name) for name in tally.by], rows.size)
    size = len(groups.values)
    _, *names = tally.amounts
    columns = [sum_by_group(groups.numbers, rows.convert_to_integers(name), size) for name in names]
    for key, *amounts in zip(groups.values, count_by_group(groups.numbers, size), *columns, strict=True):
        tally.join_amounts(key, amounts)


def count_record_batches(found: BatchSizes, rows: BatchColumns) -> None:
    """Count the record batches of each API and topic."""
    at = np.flatnonzero(rows.convert_to_integers("batches") > 0)
    groups = combine_columns_to_tuples(
        [rows.get_coded_column(name).select_rows(at) for name in ("api", "topic", "topic_id")], len(at)
    )
    size = len(groups.values)
    batches, records, amount = (rows.convert_to_integers(name)[at] for name in ("batches", "records", "bytes"))
    columns = [sum_by_group(groups.numbers, column, size) for column in (batches, records, amount)]
    made = [TopicBatches(*amounts) for amounts in zip(*columns, strict=True)]
    add_to_measures(groups, [its.sizes for its in made], _compute_average_per_batch(amount, batches), batches)
    add_to_measures(groups, [its.counts for its in made], _compute_average_per_batch(records, batches), batches)
    codecs = combine_columns_to_tuples(
        [CodedColumn(groups.numbers, list(range(size))), rows.get_coded_column("codec").select_rows(at)], len(at)
    )
    times = sum_by_group(codecs.numbers, batches, len(codecs.values))
    for (group, codec), its_batches in zip(codecs.values, times, strict=True):
        made[group].codecs[codec or "unknown"] += its_batches
    for (api, topic, topic_id), its in zip(groups.values, made, strict=True):
        found.add_batches((api, topic or topic_id), its)


def _compute_average_per_batch(amount: Numbers, batches: Numbers) -> Numbers:
    """The average amount of one batch in each row, rounded."""
    found: Numbers = (amount + batches // 2) // batches
    return found
