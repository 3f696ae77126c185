"""What an engine shall make of captures, and what it has made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections import Counter

    from kwcli.pipeline.read.splits import Problem
    from kwcli.pipeline.tables.run_counts import RunCounts
    from kwcli.pipeline.tables.write_parquet import WrittenFile

__all__ = ["EngineResult", "JobSpec", "Progress"]

# Called now and then with the bytes read and the splits done.
Progress = Callable[[int, int], None]


class JobSpec(NamedTuple):
    """What an engine shall make of captures. `files` are the captures' names, by the file number in packet numbers.

    `key_logs` and `secret_captures` name the files that hold the keys of TLS connections: no key itself is in here.
    Times are in nanoseconds since 1970, `until_ns` not included. With `doctor` exchanges are read for findings, too.
    """

    files: tuple[str, ...]
    tables: tuple[str, ...]
    ports: frozenset[int] | None = None
    filter: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    bodies: bool = False
    reveal_secrets: bool = False
    key_logs: tuple[str, ...] = ()
    secret_captures: tuple[str, ...] = ()
    doctor: bool = False


class EngineResult(NamedTuple):
    """The files of the tables, the tally of their rows, the counts of all readers, problems of captures, bytes read."""

    written: list[WrittenFile]
    tally: RunCounts
    counts: Counter[str]
    problems: list[Problem]
    taken: int
