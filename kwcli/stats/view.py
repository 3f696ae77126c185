"""Exchanges in, statistics out when they end: the renderer of `kw stats`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.analysis.slowest import Slowest
from decoders.analysis.statistics import Statistics
from decoders.errors import LimitExceeded
from kwcli.exits import Failure
from kwcli.sniffing import SniffView
from kwcli.stats.asked import Asked, ordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.analysis.fold import Fold, Row
    from decoders.exchanges.exchange import Settled
    from decoders.schema.model import Side
    from kwcli.config import Settings
    from kwcli.render import Write

# Format → module under kwcli.stats, and the function in it.
FORMATS: Final = {
    "text": ("text", "text"),
    "table": ("plain", "table"),
    "ndjson": ("plain", "ndjson"),
    "json": ("plain", "json"),
    "csv": ("plain", "csv"),
}


class Counted(NamedTuple):
    """What there is to show: rows in their order, the time slices of each, the slowest exchanges.

    `span`: the first and the last slice of all, and the width of one in ns.
    """

    asked: Asked
    rows: list[Row]
    slices: list[dict[int, int]]
    span: tuple[int, int, int]
    slowest: list[Row]


class Stats:
    """Counts, and at the end writes."""

    shows_skipped = False

    def __init__(self, asked: Asked, settings: Settings, write: Write) -> None:
        self.errors = self.undecoded = 0
        self._asked = asked
        self._settings = settings
        self._write = write
        self._statistics = statistics(asked, settings)
        self._slowest = Slowest(asked.slowest)
        self._folds: list[Fold] = [self._statistics, *([self._slowest] if asked.slowest else [])]

    def write(self, rows: list[Settled]) -> None:
        """Count the rows."""
        adds: list[Callable[[Any], None]] = [fold.add for fold in self._folds]
        try:
            for row in rows:
                if row.kind == "exchange":
                    for add in adds:
                        add(row)
                    if row.error_codes:
                        self.errors += 1
                    if row.failed and row.outcome == "complete":
                        self.undecoded += 1
        except LimitExceeded as problem:
            raise Failure(f"{problem.text}: fewer dimensions or a longer --bucket make fewer") from None

    def notice(self, rows: list[Settled]) -> None:
        """Rates are those of the whole capture."""
        times = [row.time_ns for row in rows if row.kind == "exchange"]
        if times:
            self._statistics.cover(min(times), max(times))

    def close(self) -> None:
        """Write what was counted."""
        found = list(zip(self._statistics.rows(), (group for _, group in self._statistics.found()), strict=True))
        found = ordered(found, self._asked.sort, lambda item: dict(item[0]))
        module, name = FORMATS[self._settings.format]
        show = getattr(import_module(f"kwcli.stats.{module}"), name)
        counted = Counted(
            self._asked,
            [row for row, _ in found],
            [group.slices for _, group in found],
            self._statistics.slices(),
            self._slowest.rows(),
        )
        self._write(show(counted, self._settings).encode("utf-8", "backslashreplace"))


def statistics(asked: Asked, settings: Settings) -> Statistics:
    """The fold; what went on over time is kept only where it is shown."""
    over_time = settings.format == "text" and "time" not in asked.by
    return Statistics(asked.by, asked.metric, bucket_ns=asked.bucket_ns, over_time=over_time)


def view(asked: Asked, settings: Settings) -> SniffView:
    """What `Sniffing` needs to count instead of showing."""
    fold, slowest = statistics(asked, settings), Slowest(asked.slowest)

    def needs(key: int, side: Side) -> frozenset[str]:
        return fold.needs(key, side) | (slowest.needs(key, side) if asked.slowest else frozenset())

    return SniffView(needs, lambda write: Stats(asked, settings, write))
