"""What the tasks of a Spark job are told (pickled to every worker), and what they tell of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwcli.pipeline.pieces import Problem
    from kwcli.pipeline.store.staging import Staging
    from kwcli.pipeline.tables.write import Written
    from kwcli.pipeline.tally import RunCounts
    from kwcli.pipeline.work import JobSpec

__all__ = ["Order", "ReadReport", "WriteReport"]


class Order(NamedTuple):
    """A run over captures in at most `most` splits (which are in the notes), and where its tasks write.

    With `raw` the first stage decodes nothing: the reference that everything else is compared with.
    """

    spec: JobSpec
    most: int
    staging: Staging
    raw: bool


class ReadReport(NamedTuple):
    """One split was read: bytes of capture, counts of packets, what was wrong, facts for other connections.

    `rows` are those in its pool.
    """

    split: int
    size: int
    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    facts: tuple[bytes, ...]
    rows: int


class WriteReport(NamedTuple):
    """One task has written its tables. `rows` are those that it found in pools."""

    files: tuple[Written, ...]
    tally: RunCounts
    rows: int
