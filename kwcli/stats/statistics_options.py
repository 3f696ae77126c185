"""Words of the command line in, the checked options of `kw stats` out: dimensions, metric, time bucket, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.run_environment import Exit, Failure
from kwcli.stats import SORTS, StatsOptions

# Words that people may use for dimensions → the dimension.
SPELLINGS: Final = {word: name for name, row in DIMENSION_ROWS.items() for word in row.spellings.split()}
# Words that people may use for columns → the column.
SORT_SPELLINGS: Final = {
    "latency": "p99",
    "requests": "count",
    "exchanges": "count",
    "size": "bytes",
    "total": "sum",
    "error": "errors",
    "sent": "request_bytes",
    "got": "response_bytes",
    "median": "p50",
    "time": "name",
}
# Columns that rows have with one metric only → the metric.
_OF_METRIC: Final = {column: name for name, metric in METRICS.items() for column in metric.own}


def parse_options(words: StatsOptions) -> StatsOptions:
    """The options with all words replaced by their meaning, and defaults filled in. Raises Failure (usage)."""
    names = list(dict.fromkeys(_parse_dimension(word) for word in words.by))
    if words.bucket_ms is not None and "time" not in names:
        names.insert(0, "time")
    if "partition" in names and "topic" not in names:
        names.insert(names.index("partition"), "topic")
    names = names or (["topic", "group"] if METRICS[words.metric].of_records else ["api"])
    _check_dimensions_of_records(words.metric, names)
    if words.bucket_ns < 1:
        raise Failure("--bucket: give a length above 0, for example 10s", Exit.USAGE)
    sort = (
        ("name" if "time" in names else METRICS[words.metric].sort)
        if words.sort is None
        else _parse_sort_column(words.sort, names)
    )
    needs = _OF_METRIC.get(sort, words.metric)
    if needs != words.metric:
        raise Failure(f"--sort {sort} goes with --metric {needs}", Exit.USAGE)
    return words._replace(by=tuple(names), sort=sort)


def _check_dimensions_of_records(metric: str, names: Sequence[str]) -> None:
    """Check that ages of records are counted by what records have. Raises Failure (usage)."""
    wrong = [name for name in names if not DIMENSION_ROWS[name].of_records]
    if METRICS[metric].of_records and wrong:
        known = ", ".join(name for name, row in DIMENSION_ROWS.items() if row.of_records)
        raise Failure(f"--by {wrong[0]}: --metric {metric} is of records, which have {known}", Exit.USAGE)


def _parse_dimension(word: str) -> str:
    folded = word.lower().replace("-", "_")
    name = SPELLINGS.get(folded, folded)
    if name not in DIMENSION_ROWS:
        known = ", ".join(DIMENSION_ROWS)
        raise Failure(
            f"--by: there is no dimension {word:.40}{did_you_mean(word, DIMENSION_ROWS)}; there are {known}", Exit.USAGE
        )
    return name


def _parse_sort_column(word: str, by: Sequence[str]) -> str:
    """The column to sort by; `name`, the order of the dimensions, where the word is the first dimension."""
    folded = word.lower().replace("-", "_")
    folded = SORT_SPELLINGS.get(folded, folded)
    if SPELLINGS.get(folded, folded) == by[0]:
        return "name"
    if folded not in SORTS:
        known = ", ".join(SORTS)
        raise Failure(
            f"--sort: there is no column {word:.40}{did_you_mean(word, SORTS)}; there are {known}", Exit.USAGE
        )
    return folded


def sort_rows(rows: Sequence[Any], sort: str, row_of: Callable[[Any], dict[str, Any]]) -> list[Any]:
    """The rows sorted by a column, greatest first, rows without a value last; by `name` they stay as they are."""
    if sort == "name":
        return list(rows)

    def make_sort_key(item: Any) -> tuple[bool, Any]:
        row = row_of(item)
        value = (row["request_bytes"] or 0) + (row["response_bytes"] or 0) if sort == "bytes" else row[sort]
        return (value is not None, value or 0)

    return sorted(rows, key=make_sort_key, reverse=True)
