"""What the screen asks the searcher, and what it is answered: values that go from one process to another.

A question is asked under a number; its answer comes in parts until the screen gives the number up.

| question | answer |
| --- | --- |
| `FindRows` | `RowsFound`: the numbers of the rows that a filter lets through, with their times |
| `SortRows` | `RowsSorted`: the numbers of all of them so far, in an order of `--sort` |
| `FindCauses` | `CausesFound`: the findings of the doctor |
| `CountTop` | `TopCounted`: rates, errors and latencies by client, API, topic |
| `ExportRows` | `RowsExported`: the file that was written |
"""

from __future__ import annotations

from typing import Any, Final

from decoders.named_tuple import NamedTuple

__all__ = [
    *("ENDINGS", "TOP_DIMENSIONS", "CausesFound", "CountTop", "ExportRows", "FindCauses", "FindRows", "Forget"),
    *("RowsExported", "RowsFound", "RowsSorted", "SortRows", "TopCounted"),
]

# What rows are counted by, in the order in which a key goes through them.
TOP_DIMENSIONS: Final = ("client_id", "api", "topic", "broker")
# The end of a file's name → the format of `-o` that is written.
ENDINGS: Final = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "json",
    ".yaml": "yaml",
    ".csv": "csv",
    ".hex": "hex",
    ".txt": "text",
}


class FindRows(NamedTuple):
    """A question: the rows that a filter lets through; `times`: also when they began and were answered."""

    number: int
    text: str
    times: bool = False


class Forget(NamedTuple):
    """The message that the answer to a question is no longer wanted."""

    number: int


class RowsFound(NamedTuple):
    """A part of an answer: the rows found (unsigned, 64 bits each), of all rows before `until`.

    `times`: for each row, when its request and its response began in ns since 1970; 0 where a side is not there.
    `failures`: API → the name of its first error, "unanswered" or "undecoded" → rows; where the filter is for errors.
    """

    number: int
    rows: bytes
    until: int
    times: bytes = b""
    failures: dict[str, dict[str, int]] | None = None


class SortRows(NamedTuple):
    """A question: the rows that a filter lets through, all without one, in an order: a word of `--sort`, or `gap`."""

    number: int
    text: str
    order: str


class RowsSorted(NamedTuple):
    """An answer, of all rows before `until`: the rows in their order (unsigned, 64 bits each).

    `gaps`: in the order `gap`, how long before each of these rows none of them went on, in ns (signed, 64 bits each).
    """

    number: int
    rows: bytes
    until: int
    gaps: bytes = b""


class FindCauses(NamedTuple):
    """A question: what is wrong, and why."""

    number: int


class CausesFound(NamedTuple):
    """An answer, of all rows before `until`: rows as `kw doctor -o ndjson` has them, worst first."""

    number: int
    rows: list[dict[str, Any]]
    until: int


class CountTop(NamedTuple):
    """A question: who asks most, how long it takes, what fails; `window`: of the last minute or two alone."""

    number: int
    by: str
    window: bool = False


class TopCounted(NamedTuple):
    """An answer: rows as `kw stats` has them, the busiest first, each with its latencies by time slice."""

    number: int
    by: str
    rows: list[tuple[dict[str, Any], dict[int, int]]]
    span: tuple[int, int, int]
    slowest: list[dict[str, Any]]
    until: int


class ExportRows(NamedTuple):
    """A question: write the rows that a filter lets through, up to the row `until`, or the row `row` alone."""

    number: int
    path: str
    format: str
    text: str
    until: int
    row: int | None = None


class RowsExported(NamedTuple):
    """The answer: how many rows are in the file, or why there is none."""

    number: int
    path: str
    rows: int
    problem: str = ""
