"""Words of the command line in, what is to be counted out: dimensions, metric, time bucket, order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from decoders.analysis.dimensions import DIMENSIONS
from kwcli.env import Exit, Failure
from kwcli.spelling import did_you_mean

# Words that people may use for dimensions, and the dimension.
SPELLINGS: Final = {
    "api_version": "version",
    "clients": "client",
    "topics": "topic",
    "bucket": "time",
    "host": "address",
}
# What matters most of each metric.
_MATTERS: Final = {"latency": "p99", "bytes": "sum", "errors": "errors", "records": "sum", "throttle": "sum"}
BUCKET_NS: Final = 10 * 10**9


class StatsOptions(NamedTuple):
    """What is to be counted and how it is shown."""

    by: tuple[str, ...]
    metric: str
    bucket_ns: int
    sort: str
    slowest: int


def check_options(
    by: Iterable[str], metric: str, bucket_ms: float | None, sort: str | None, slowest: int
) -> StatsOptions:
    """Check the words. Failure (usage) says what is wrong."""
    names = list(dict.fromkeys(_dimension(word) for word in by))
    if bucket_ms is not None and "time" not in names:
        names.insert(0, "time")
    names = names or ["api"]
    bucket_ns = BUCKET_NS if bucket_ms is None else round(bucket_ms * 1e6)
    if bucket_ns < 1:
        raise Failure("--bucket: a bucket takes some time, for example 10s", Exit.USAGE)
    if sort == "waited" and metric != "latency":
        raise Failure("--sort waited goes with --metric latency", Exit.USAGE)
    return StatsOptions(
        tuple(names), metric, bucket_ns, sort or ("name" if "time" in names else _MATTERS[metric]), slowest
    )


def _dimension(word: str) -> str:
    folded = word.lower().replace("-", "_")
    name = SPELLINGS.get(folded, folded)
    if name not in DIMENSIONS:
        known = ", ".join(DIMENSIONS)
        raise Failure(
            f"--by: there is no dimension {word:.40}{did_you_mean(word, DIMENSIONS)}; there are {known}", Exit.USAGE
        )
    return name


def sort_rows(rows: Sequence[Any], sort: str, row_of: Callable[[Any], dict[str, Any]]) -> list[Any]:
    """The rows, greatest first, those without such a value last; equal ones, and all for `name`, stay as they are."""
    if sort == "name":
        return list(rows)

    def rank(item: Any) -> tuple[bool, Any]:
        row = row_of(item)
        value = row["request_bytes"] + row["response_bytes"] if sort == "bytes" else row[sort]
        return (value is not None, value or 0)

    return sorted(rows, key=rank, reverse=True)
