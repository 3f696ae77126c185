"""What the report counts, as two literal tables: folds over each table of the pipeline, the columns that they read.

The second round knows how long the time is and what matters most: it keeps that over time, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from decoders.analysis.batches import BatchSizes
from decoders.analysis.slowest import Slowest
from decoders.analysis.statistics import Statistics
from decoders.analysis.tally import Tally, sums
from decoders.analysis.versions import ClientVersions
from decoders.errors import LimitExceeded
from decoders.wire.state import fields, pack, unpack
from kwcli.pipeline.report import counting, listing
from kwcli.pipeline.report.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa

# Dimensions that latencies are given by.
BY: Final = ("api", "client", "topic", "broker")
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


class Counted(NamedTuple):
    """One fold: the table it is over, how it is made and told of a batch, the columns that it reads."""

    table: str
    make: Callable[[], Any]
    tell: Callable[[Any, Rows], None]
    columns: tuple[str, ...]


def _statistics(by: tuple[str, ...], metric: str, bucket_ns: int = NS, only: frozenset[Any] | None = None) -> Counted:
    columns = (*counting.COLUMNS, *counting.METRIC_COLUMNS[metric], *(name for word in by for name in _OF[word]))
    make = partial(Statistics, by, metric, bucket_ns=bucket_ns)
    return Counted("exchanges", make, partial(counting.count, only=only), columns)


def _tally(table: str, by: tuple[str, ...], amounts: tuple[str, ...] = (), columns: tuple[str, ...] = ()) -> Counted:
    return Counted(table, partial(Tally, by, sums("count", *amounts)), listing.tally_rows, (*(columns or by), *amounts))


_TRAFFIC: Final = tuple(
    f"{side}_{what}"
    for what in ("packets", "bytes", "gaps", "missing", "retransmissions")
    for side in ("client", "server")
)
FIRST: Final[dict[str, Counted]] = {
    "all": _statistics((), "latency"),
    **{f"latency {name}": _statistics((name,), "latency") for name in BY},
    "errors": _statistics(("api", "error"), "errors"),
    **{f"throttle {name}": _statistics((name,), "throttle") for name in ("client", "api")},
    "slowest": Counted(
        "exchanges", partial(Slowest, SLOWEST, listing.WHERE), listing.list_slowest, listing.SLOWEST_COLUMNS
    ),
    "versions": Counted(
        *("exchanges", ClientVersions, listing.list_versions),
        ("time_ns", "client", "client_id", "client_software_name", "client_software_version", "api_key", "api_version"),
    ),
    "batches": Counted("topic_partitions", BatchSizes, listing.count_batches, listing.BATCH_COLUMNS),
    "connections": _tally("connections", ("kafka", "closed", "opened"), (*_TRAFFIC, "exchanges")),
    "clients": _tally(
        "connections", ("kafka", "client"), (*_TRAFFIC, "exchanges"), columns=("kafka", "client", "client_id")
    ),
    "foreign": _tally("connections", ("kafka", "broker", "reason", "detail")),
    "skipped": _tally("skipped", ("reason", "direction"), ("size",)),
}


def second(bucket_ns: int, matters: Mapping[str, Iterable[Any]]) -> dict[str, Counted]:
    """The folds over time: of all, and of those values of a dimension that matter."""
    return {
        "time": _statistics(("time",), "latency", bucket_ns),
        **{
            f"time {name}": _statistics(("time", name), "latency", bucket_ns, frozenset(values))
            for name, values in matters.items()
        },
    }


class Folds:
    """Folds over one table. One that has too many groups is given up, and `full` says why."""

    def __init__(self, counted: Mapping[str, Counted], table: str) -> None:
        self._counted = {name: each for name, each in counted.items() if each.table == table}
        self.found: dict[str, Any] = {name: each.make() for name, each in self._counted.items()}
        self.full: dict[str, str] = {}
        self.rows = 0

    def __bool__(self) -> bool:
        return bool(self._counted)

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys(name for each in self._counted.values() for name in each.columns))

    def count(self, batch: pa.RecordBatch) -> None:
        """Tell all of a batch."""
        rows = Rows(batch)
        self.rows += rows.size
        for name, fold in list(self.found.items()):
            self._guarded(name, partial(self._counted[name].tell, fold, rows))

    def merge(self, other: Self) -> None:
        """Take in what another has counted."""
        self.rows += other.rows
        for name, text in other.full.items():
            self._give_up(name, text)
        for name, fold in list(self.found.items()):
            self._guarded(name, partial(fold.merge, other.found[name]))

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self.rows, self.full, {name: fold.export() for name, fold in self.found.items()}])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        self.rows, full, states = fields(unpack(state), int, dict, dict)
        for name, text in full.items():
            self._give_up(name, text)
        for name, fold in list(self.found.items()):
            self._guarded(name, partial(fold.resume, states[name]))

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except LimitExceeded as problem:
            self._give_up(name, problem.text)

    def _give_up(self, name: str, text: str) -> None:
        self.full.setdefault(name, text)
        self.found.pop(name, None)
