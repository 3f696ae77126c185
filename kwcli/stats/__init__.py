"""What `kw stats` does: captures in, one row for each group of exchanges out. Here: the words of its options."""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple

BY: Final = (
    *("api", "version", "client", "client_id", "address", "software", "library", "user", "mechanism", "broker"),
    *("connection", "topic", "partition", "group", "error", "file", "time"),
)
# Times that a broker's request log states.
SERVER_TIMES: Final = ("total", "queue", "local", "remote", "response_queue", "send")
METRICS: Final = ("latency", "bytes", "errors", "records", "throttle", *SERVER_TIMES)
# What rows may be sorted by: their columns, `bytes` (of both sides) and `name`.
SORTS: Final = (
    *("count", "rate", "errors", "unanswered", "undecoded", "values", "sum", "min", "p50", "p90", "p95", "p99", "max"),
    *("bytes", "request_bytes", "response_bytes", "waited", "waited_ms", "batches", "record_bytes", "name"),
)
BUCKET_MS: Final = 10_000.0


class StatsOptions(NamedTuple):
    """What is counted and how it is shown; `sort` None: by the most important column of the metric."""

    by: tuple[str, ...] = ("api",)
    metric: str = "latency"
    bucket_ms: float | None = None
    sort: str | None = None
    top: int | None = None
    slowest: int | None = None

    @property
    def bucket_ns(self) -> int:
        """The length of a time bucket in ns."""
        return round((BUCKET_MS if self.bucket_ms is None else self.bucket_ms) * 1e6)
