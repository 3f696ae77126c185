"""What `kw stats` does: captures in, one row for each group of exchanges out. Here: the words of its options."""

from __future__ import annotations

from typing import Final

BY: Final = (
    *("api", "version", "client", "client_id", "address", "software", "broker", "connection"),
    *("topic", "group", "error", "time"),
)
METRICS: Final = ("latency", "bytes", "errors", "records", "throttle")
SORTS: Final = ("count", "rate", "errors", "sum", "p50", "p90", "p99", "max", "bytes", "waited", "name")
