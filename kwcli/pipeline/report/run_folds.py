"""The folds of the report, as two literal tables, and both rounds of counting, on this machine or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.analysis.sum_amounts_by_key import BatchSizes, ClientVersions, Tally, make_sum_joins
from decoders.errors import LimitExceeded
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import pack, state_fields, unpack
from kwcli.pipeline.report import feed_folds
from kwcli.pipeline.report.numpy_group_by import BatchColumns
from kwcli.pipeline.report.read_tables import NAMES, Tables, join_small_batches
from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
from kwcli.report.build_report import BY, FoldResults

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kwcli.terminal.progress import ProgressLine

SLOWEST: Final = 20
NS: Final = 10**9
# The columns of each dimension.
_OF: Final = {
    "api": ("api",),
    "client": ("client", "client_id"),
    "topic": ("topics",),
    "broker": ("broker",),
    "error": ("error_names",),
    "time": (),
}


class FoldPlan(NamedTuple):
    """One fold: the table it is over, how to make it and feed it a batch, the columns that it reads."""

    table: str
    make: Callable[[], Any]
    tell: Callable[[Any, BatchColumns], None]
    columns: tuple[str, ...]


def _statistics_plan(
    by: tuple[str, ...], metric: str, bucket_ns: int = NS, only: frozenset[Any] | None = None
) -> FoldPlan:
    columns = (*feed_folds.COLUMNS, *feed_folds.METRIC_COLUMNS[metric], *(name for word in by for name in _OF[word]))
    make = partial(Statistics, by, metric, bucket_ns=bucket_ns)
    return FoldPlan("exchanges", make, partial(feed_folds.feed_statistics, only=only), columns)


def _tally_plan(
    table: str, by: tuple[str, ...], amounts: tuple[str, ...] = (), columns: tuple[str, ...] = ()
) -> FoldPlan:
    return FoldPlan(
        table,
        partial(Tally, by, make_sum_joins("count", *amounts)),
        feed_folds.tally_rows,
        (*(columns or by), *amounts),
    )


_TRAFFIC: Final = tuple(
    f"{side}_{what}"
    for what in ("packets", "bytes", "gaps", "missing", "retransmissions")
    for side in ("client", "server")
)
FIRST: Final[dict[str, FoldPlan]] = {
    "all": _statistics_plan((), "latency"),
    **{f"latency {name}": _statistics_plan((name,), "latency") for name in BY},
    "errors": _statistics_plan(("api", "error"), "errors"),
    **{f"throttle {name}": _statistics_plan((name,), "throttle") for name in ("client", "api")},
    "slowest": FoldPlan(
        "exchanges", partial(Slowest, SLOWEST, feed_folds.WHERE), feed_folds.feed_slowest, feed_folds.SLOWEST_COLUMNS
    ),
    "versions": FoldPlan(
        *("exchanges", ClientVersions, feed_folds.feed_versions),
        ("time_ns", "client", "client_id", "client_software_name", "client_software_version", "api_key", "api_version"),
    ),
    "batches": FoldPlan("topic_partitions", BatchSizes, feed_folds.count_record_batches, feed_folds.BATCH_COLUMNS),
    "connections": _tally_plan("connections", ("kafka", "closed", "opened"), (*_TRAFFIC, "exchanges")),
    "clients": _tally_plan(
        "connections", ("kafka", "client"), (*_TRAFFIC, "exchanges"), columns=("kafka", "client", "client_id")
    ),
    "foreign": _tally_plan("connections", ("kafka", "broker", "reason", "detail")),
    "skipped": _tally_plan("skipped", ("reason", "direction"), ("size",)),
}


def plan_second_round(bucket_ns: int, matters: Mapping[str, Iterable[Any]]) -> dict[str, FoldPlan]:
    """The folds of the second round, over time: of all exchanges, and of the values of each dimension in `matters`."""
    return {
        "time": _statistics_plan(("time",), "latency", bucket_ns),
        **{
            f"time {name}": _statistics_plan(("time", name), "latency", bucket_ns, frozenset(values))
            for name, values in matters.items()
        },
    }


class Folds:
    """Folds over one table. A fold that has too many groups is given up, and `full` says why."""

    def __init__(self, counted: Mapping[str, FoldPlan], table: str) -> None:
        self._counted = {name: each for name, each in counted.items() if each.table == table}
        self.found: dict[str, Any] = {name: each.make() for name, each in self._counted.items()}
        self.full: dict[str, str] = {}
        self.rows = 0

    def __bool__(self) -> bool:
        return bool(self._counted)

    @property
    def columns(self) -> list[str]:
        """The columns that the folds read."""
        return list(dict.fromkeys(name for each in self._counted.values() for name in each.columns))

    def count_batch(self, batch: pa.RecordBatch) -> None:
        """Count a batch in all folds."""
        rows = BatchColumns(batch)
        self.rows += rows.size
        for name, fold in list(self.found.items()):
            self._drop_fold_on_error(name, partial(self._counted[name].tell, fold, rows))

    def merge(self, other: Self) -> None:
        """Add the counts of other folds over the table."""
        self.rows += other.rows
        for name, text in other.full.items():
            self._drop_fold(name, text)
        for name, fold in list(self.found.items()):
            self._drop_fold_on_error(name, partial(fold.merge, other.found[name]))

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self.rows, self.full, {name: fold.export() for name, fold in self.found.items()}])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        self.rows, full, states = state_fields(unpack(state), int, dict, dict)
        for name, text in full.items():
            self._drop_fold(name, text)
        for name, fold in list(self.found.items()):
            self._drop_fold_on_error(name, partial(fold.resume, states[name]))

    def _drop_fold_on_error(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except LimitExceeded as problem:
            self._drop_fold(name, problem.text)

    def _drop_fold(self, name: str, text: str) -> None:
        self.full.setdefault(name, text)
        self.found.pop(name, None)


# Both rounds of folds

# How many values of a dimension are kept over time: the slowest, and the busiest.
SLOW: Final = 10
BUSY: Final = 6
# At most so many buckets of time, each as long as one of these (in nanoseconds).
BUCKETS: Final = 60
_NICE: Final[tuple[int, ...]] = (
    *(10**unit * step for unit in range(6, 9) for step in (1, 2, 5)),
    *(10**9 * s for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200)),
    *(86_400 * 10**9 * days for days in (1, 2, 7, 30, 90, 365)),
)

RunFolds = Callable[[Mapping[str, FoldPlan], str], Folds]


def make_local_counter(tables: Tables, progress: ProgressLine | None = None) -> RunFolds:
    """The function that counts folds over a table on this machine."""
    rows = {name: rows for name, rows in tables.rows.items() if name in NAMES}
    done, exchanges = 0, 0
    if progress is not None:
        progress.set_total(sum(rows.values()) + rows.get("exchanges", 0))  # exchanges are read twice

    def run(counted: Mapping[str, FoldPlan], table: str) -> Folds:
        nonlocal done, exchanges
        folds = Folds(counted, table)
        for batch in tables.read_large_batches(table, folds.columns):
            folds.count_batch(batch)
            done += batch.num_rows
            exchanges = max(exchanges, folds.rows)
            if progress is not None:
                progress.show_progress(done, exchanges)
        return folds

    return run


def run_two_rounds(tables: Tables, run: RunFolds) -> FoldResults:
    """The results of both rounds of folds, over all tables that there are."""
    found: dict[str, Any] = {}
    full: dict[str, str] = {}
    rows: dict[str, int | None] = dict.fromkeys(NAMES)
    for table in NAMES:
        if table in tables:
            folds = run(FIRST, table)
            rows[table] = folds.rows
            found |= folds.found
            full |= folds.full
    bucket_ns = 10**9
    if rows["exchanges"]:
        bucket_ns = choose_bucket_width(found["all"].first_ns, found["all"].last_ns)
        matters = {
            name: _select_slow_and_busy_values(found[f"latency {name}"], name)
            for name in BY
            if f"latency {name}" in found
        }
        folds = run(plan_second_round(bucket_ns, matters), "exchanges")
        found |= folds.found
        full |= folds.full
    return FoldResults(found, full, rows, bucket_ns)


def choose_bucket_width(first_ns: int, last_ns: int) -> int:
    """The length of a bucket of time, so that there are not more than BUCKETS of them."""
    for width in _NICE:
        if last_ns // width - first_ns // width < BUCKETS:
            return width
    return last_ns - first_ns + 1


def _select_slow_and_busy_values(statistics: Any, name: str) -> set[Any]:
    rows = [row for row in statistics.rows() if "others" not in row]
    slow = sorted((row for row in rows if row["values"]), key=lambda row: row["p99"], reverse=True)[:SLOW]
    busy = sorted(rows, key=lambda row: row["count"], reverse=True)[:BUSY]
    return {row[name] for row in (*slow, *busy)}


# Counting by tasks of Spark, whose folds are merged here

_STATE = "state binary"


def make_spark_counter(spark: SparkSession, tables: Tables) -> RunFolds:
    """The function that counts folds over a table on Spark. Failure says in one line why a task failed."""

    def run(counted: Mapping[str, FoldPlan], table: str) -> Folds:
        whole = Folds(counted, table)
        if not tables.files[table]:
            return whole
        rows = tables.read_wire_by_spark(spark, table).select(*whole.columns)
        states = rows.mapInArrow(partial(fold_rows_of_task, counted, table), _STATE)
        try:
            found = states.collect()
        except Exception as problem:
            raise make_failure_of_exception(problem) from problem
        for row in found:
            part = Folds(counted, table)
            part.resume(bytes(row.state))
            whole.merge(part)
        return whole

    return run


def fold_rows_of_task(
    counted: Mapping[str, FoldPlan], table: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The work of one Spark task: its rows in, the state of its folds out."""
    folds = Folds(counted, table)
    for batch in join_small_batches(batches):
        folds.count_batch(batch)
    yield pa.RecordBatch.from_pydict({"state": pa.array([folds.export()], pa.binary())})
