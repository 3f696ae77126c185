"""What the tables read of bodies: the needs of the engine that makes their rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from decoders.analysis.contents import HOLDERS, RECORDS, WAITS, throttle_needs
from decoders.analysis.dimensions import needs_of
from decoders.apis.keys import FETCH, SHARE_FETCH
from decoders.exchanges.needs import Needs
from decoders.exchanges.sessions import PATHS
from decoders.schema.model import Side
from kwcli.pipeline.tables import places

_WAITING: Final = frozenset({FETCH, SHARE_FETCH})
_NONE: Final[frozenset[str]] = frozenset()


class TableNeeds(Needs):
    """The paths that the columns of these tables come from; `more` are those of a filter."""

    def __init__(self, tables: Collection[str], more: Callable[[int, Side], frozenset[str]] | None = None) -> None:
        super().__init__()
        self._rows = bool({"exchanges", "topic_partitions"} & set(tables))
        self._partitions = "topic_partitions" in tables
        self._more = more

    def of(self, key: int, side: Side) -> frozenset[str]:
        """The paths wanted of a side of an API."""
        more = self._more(key, side) if self._more is not None else _NONE
        if not self._rows:
            return more
        wanted = needs_of(("topic", "group"), key, side) | throttle_needs(key, side) | WAITS.of(key, side)
        wanted |= frozenset(PATHS.get((key, side), ()))
        if key in _WAITING and side == "request":
            wanted |= {"min_bytes"}
        if self._partitions:
            wanted |= places.paths(key, side)
        if key in HOLDERS:
            wanted |= RECORDS.of(key, side)
        return wanted | more
