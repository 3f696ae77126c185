"""What an engine is to make of captures, which goes to every worker of Spark; and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections import Counter

    from kwcli.pipeline.pieces import Problem
    from kwcli.pipeline.tables.write import Written
    from kwcli.pipeline.tally import RunCounts

__all__ = ["EngineResult", "JobSpec", "Progress"]

# Bytes read and splits done, now and then.
Progress = Callable[[int, int], None]


class JobSpec(NamedTuple):
    """What is wanted of captures. `files` are their names by the number in packets.

    Times are in nanoseconds since 1970, `until_ns` not included.
    """

    files: tuple[str, ...]
    tables: tuple[str, ...]
    ports: frozenset[int] | None = None
    filter: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    bodies: bool = False
    reveal_secrets: bool = False


class EngineResult(NamedTuple):
    """The files of the tables, what is in them, the counts of all readers, what was wrong with captures, bytes read."""

    written: list[Written]
    tally: RunCounts
    counts: Counter[str]
    problems: list[Problem]
    taken: int
