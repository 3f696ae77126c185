"""What `kw stats` does: captures in, one row for each group of exchanges out. Here: the words of its options."""

from __future__ import annotations

from typing import Final

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS, PERCENTS
from decoders.named_tuple import NamedTuple

BY: Final = tuple(DIMENSION_ROWS)
# What rows may be sorted by: their columns, `bytes` (of both sides) and `name`.
SORTS: Final = (
    *("count", "rate", "errors", "unanswered", "undecoded", "values", "sum", "min"),
    *(*(f"p{percent}" for percent in PERCENTS), "max", "bytes", "request_bytes", "response_bytes"),
    *(*(name for metric in METRICS.values() for name in metric.own), "name"),
)
BUCKET_MS: Final = 10_000.0


class StatsOptions(NamedTuple):
    """What is counted and how it is shown; without `by` and `sort`, as fits the metric."""

    by: tuple[str, ...] = ()
    metric: str = "latency"
    bucket_ms: float | None = None
    sort: str | None = None
    top: int | None = None
    slowest: int | None = None

    @property
    def reads_values(self) -> bool:
        """Whether a dimension is about decoded keys and values."""
        return any(DIMENSION_ROWS[name].of_values for name in self.by)

    @property
    def bucket_ns(self) -> int:
        """The length of a time bucket in ns."""
        return round((BUCKET_MS if self.bucket_ms is None else self.bucket_ms) * 1e6)
