"""Tables in, the folds of both rounds out: on this machine, or as tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kwcli.pipeline.report.folds import BY, FIRST, Counted, Folds, second
from kwcli.pipeline.report.tables import NAMES, Tables

if TYPE_CHECKING:
    from kwcli.progress import Progress

# How many values of a dimension are kept over time: the slowest, and the busiest.
SLOW: Final = 10
BUSY: Final = 6
# About so many buckets of time, each as long as one of these (in seconds, then fractions of one).
BUCKETS: Final = 60
_NICE: Final[tuple[int, ...]] = (
    *(10**unit * step for unit in range(6, 9) for step in (1, 2, 5)),
    *(10**9 * s for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200)),
    *(86_400 * 10**9 * days for days in (1, 2, 7, 30, 90, 365)),
)

Run = Callable[[Mapping[str, Counted], str], Folds]


class Result(NamedTuple):
    """What was found: fold by name, why one was given up, rows of each table (None: there is no such table)."""

    found: dict[str, Any]
    full: dict[str, str]
    rows: dict[str, int | None]
    bucket_ns: int


def count_here(tables: Tables, progress: Progress | None = None) -> Run:
    """Counting on this machine."""
    rows = {name: rows for name, rows in tables.rows.items() if name in NAMES}
    done, exchanges = 0, 0
    if progress is not None:
        progress.expect(sum(rows.values()) + rows.get("exchanges", 0))  # which are read twice

    def run(counted: Mapping[str, Counted], table: str) -> Folds:
        nonlocal done, exchanges
        folds = Folds(counted, table)
        for batch in tables.batches(table, folds.columns):
            folds.count(batch)
            done += batch.num_rows
            exchanges = max(exchanges, folds.rows)
            if progress is not None:
                progress.show(done, exchanges)
        return folds

    return run


def count_all(tables: Tables, run: Run) -> Result:
    """Both rounds over all tables that there are."""
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
        bucket_ns = bucket(found["all"].first_ns, found["all"].last_ns)
        matters = {name: _matters(found[f"latency {name}"], name) for name in BY if f"latency {name}" in found}
        folds = run(second(bucket_ns, matters), "exchanges")
        found |= folds.found
        full |= folds.full
    return Result(found, full, rows, bucket_ns)


def bucket(first_ns: int, last_ns: int) -> int:
    """The length of a bucket of time, so that there are not more than BUCKETS of them."""
    for width in _NICE:
        if last_ns // width - first_ns // width < BUCKETS:
            return width
    return last_ns - first_ns + 1


def _matters(statistics: Any, name: str) -> set[Any]:
    rows = statistics.rows()
    slow = sorted((row for row in rows if row["values"]), key=lambda row: row["p99"], reverse=True)[:SLOW]
    busy = sorted(rows, key=lambda row: row["count"], reverse=True)[:BUSY]
    return {row[name] for row in (*slow, *busy)}
