"""Records of one batch that would take much room: read as they are written, from rows to JSON-ready dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from decoders.errors import DecodeError
from decoders.limits import PIECE, VALUE_WHOLE_MAX
from decoders.records.model import Budget, Form, Row
from decoders.wire.deferred import DeferredList, DeferredText

Failures = list[DecodeError]
# Gives the rows before a failure, which goes to the list.
Open = Callable[[Failures], Iterator[Row]]
# Rows made into dicts together, and about what one record has in JSON besides its bytes.
_ROWS: Final = 128
_RECORD: Final = 100


class DeferredRecords(DeferredList):
    """The first `take` of `count` records; how many were left out, and what is wrong with the next, stands beside."""

    __slots__ = ("_began", "_budget", "_count", "_failures", "_form", "_given", "_open", "_take")

    def __init__(self, open_rows: Open, take: int, count: int, budget: Budget, form: Form) -> None:
        self._open = open_rows
        self._take = take
        self._count = count
        self._budget = budget
        self._form = form
        self._began: tuple[int, int] | None = None
        self._given = 0
        self._failures: Failures = []

    def chunks(self) -> Iterator[list[Any]]:
        """Some records at a time, long values deferred."""
        budget = self._budget
        if self._began is None:
            self._began = budget.headers, budget.shown
        budget.headers, budget.shown = self._began
        self._given = 0
        self._failures = []
        chunk: list[Row] = []
        size = 0
        rows = self._open(self._failures)
        # All are read to their end, where something may be wrong behind the last one.
        for row in rows if self._take == self._count else islice(rows, self._take):
            its = _size(row)
            budget.shown -= its + _RECORD
            if budget.shown < 0:
                break
            self._given += 1
            if its > VALUE_WHOLE_MAX:
                if chunk:
                    yield self._form(iter(chunk))
                yield [self._long(row)]
                chunk, size = [], 0
                continue
            chunk.append(row)
            size += its
            if size > PIECE or len(chunk) == _ROWS:
                yield self._form(iter(chunk))
                chunk, size = [], 0
        if chunk:
            yield self._form(iter(chunk))

    def beside(self) -> dict[str, Any]:
        """The failure, or else how many records were left out."""
        if self._failures:
            return {"error": {"reason": self._failures[0].reason, "text": self._failures[0].text}}
        left = self._count - self._given
        return {"records_cut": left} if left else {}

    def _long(self, row: Row) -> dict[str, Any]:
        """The dict of a record with much in it; the form says of a key or value whether it is hidden."""
        offset, timestamp, key, value, headers, control = row
        short = _short(key), _short(value)
        names = tuple((name, _short(held)) for name, held in headers)
        shown: dict[str, Any] = self._form(iter([(offset, timestamp, *short, names, control)]))[0]
        if key is not None and short[0] is None:
            shown["key"] = DeferredText(key)
        if value is not None and short[1] is None:
            shown["value"] = self._hidden(value) or DeferredText(value)
        if control is not None and value is not None and short[1] is None:
            shown["control_record"]["value"] = DeferredText(value)
        for entry, (_, held), (_, kept) in zip(shown["headers"], headers, names, strict=True):
            if held is not None and kept is None:
                entry["value"] = DeferredText(held)
        return shown

    def _hidden(self, value: bytes) -> Any:
        """What stands for a value that the form does not show."""
        (shown,) = self._form(iter([(0, 0, None, value[:PIECE], (), None)]))
        hidden = isinstance(shown["value"], dict) and "redacted" in shown["value"]
        return {"redacted": len(value)} if hidden else None


def _size(row: Row) -> int:
    """The bytes in a record."""
    _, _, key, value, headers, _ = row
    size = (len(key) if key else 0) + (len(value) if value else 0)
    if headers:
        size += sum(len(name) + (len(held) if held else 0) + 20 for name, held in headers)
    return size


def _short(data: bytes | None) -> bytes | None:
    """The bytes, None where they are long."""
    return None if data is None or len(data) > PIECE else data
