"""A row in, whether the tables want it out: the filter of the run, and its first and last moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwcli.pipeline.tables.needs import TableNeeds
from kwcli.selection import select

if TYPE_CHECKING:
    from decoders.exchanges.ended import Ended
    from decoders.exchanges.exchange import Settled
    from kwcli.pipeline.work import JobSpec

__all__ = ["Choice"]


class Choice:
    """What a run asks for; `needs` is what its engine has to read of bodies. Raises Failure for what is no filter."""

    def __init__(self, spec: JobSpec) -> None:
        self._filter = select(spec.filter)
        self._since_ns = spec.since_ns
        self._until_ns = spec.until_ns
        self.everything = self._filter.everything and spec.since_ns is None and spec.until_ns is None
        self.needs = TableNeeds(spec.tables, None if self._filter.everything else self._filter.needs)

    def wants(self, row: Settled) -> bool:
        """Whether an exchange, or a run of bytes that is none, is wanted: it began in that time; a filter asks for
        exchanges.
        """
        if self._since_ns is not None and row.time_ns < self._since_ns:
            return False
        if self._until_ns is not None and row.time_ns >= self._until_ns:
            return False
        return self._filter.everything or (row.kind == "exchange" and self._filter.matches(row))

    def wants_connection(self, ended: Ended) -> bool:
        """Whether a connection is wanted: some of it was in that time. A filter asks nothing of it."""
        if self._since_ns is not None and ended.last_ns < self._since_ns:
            return False
        return self._until_ns is None or ended.time_ns < self._until_ns
