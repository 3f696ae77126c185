"""What the tasks of a Spark job are told (pickled to every worker), and what they tell of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwcli.pipeline.local import Job
    from kwcli.pipeline.pieces import Problem
    from kwcli.pipeline.store.staging import Staging
    from kwcli.pipeline.tables.write import Written
    from kwcli.pipeline.tally import Tally

__all__ = ["Order", "ReadReport", "WriteReport"]


class Order(NamedTuple):
    """A run over captures, and where its tasks write.

    With `raw` the first stage decodes nothing: the reference that everything else is compared with.
    """

    job: Job
    staging: Staging
    raw: bool


class ReadReport(NamedTuple):
    """One split was read: bytes of capture, counts of packets, what was wrong, facts for other connections."""

    split: int
    size: int
    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    facts: tuple[bytes, ...]


class WriteReport(NamedTuple):
    """One task has written its tables."""

    files: tuple[Written, ...]
    tally: Tally
