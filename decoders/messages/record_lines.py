"""Bytes of NDJSON in, the exchanges and skipped runs of its lines out: what kw wrote is read again.

One record a line, also inside of one array (`-o json`), whose lines end in commas. A line that is no record is told
with its number and passed over. A line is held whole, up to a limit; what is longer is passed over as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, NamedTuple

import orjson

from decoders.errors import DecodeError
from decoders.exchanges.exchange import Settled
from decoders.limits import RECORD_LINE_MAX
from decoders.messages.from_record import FromRecords
from decoders.wire.pack import fields, pack, unpack
from decoders.wire.text import in_bytes

# What stands around records: blanks, ends of lines, and the signs of an array.
_ARRAY: Final = b"[], \t\r"
# Lines whose faults are told one by one; of more only their number.
TOLD_MAX: Final = 3
# What a line says that says nothing.
BLANK: Final = object()


class LineProblem(NamedTuple):
    """What is wrong with a line; lines count from 1."""

    line: int
    text: str


class LineReader(ABC):
    """Reads the lines of one input, and counts: `lines` all, `found` records, `broken` those that are none.

    `problems` are the first faults, `otherwise` is said of an input of which no line can be read. What a line says is
    for those that derive from this.
    """

    otherwise = "neither a capture nor exchanges that kw wrote, one a line"

    def __init__(self) -> None:
        self.problems: list[LineProblem] = []
        self.broken = 0
        self.found = 0
        self.lines = 0
        self.begun = self.at = 0  # where the line begins that has ended last, and where the next one does
        self._records = FromRecords()
        self._parts: list[bytes] = []
        self._held = 0  # bytes of the line that has begun
        self._is_long = False

    def feed(self, data: bytes) -> list[Settled]:
        """The records of the lines that end in this piece."""
        found: list[Settled] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._hold(piece)
            self._end_line(found)
        self._hold(rest)
        return found

    def finish(self) -> list[Settled]:
        """The record of a last line without an end."""
        found: list[Settled] = []
        if self._held:
            self._end_line(found, whole=False)
        return found

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > RECORD_LINE_MAX:
            self._parts = []
            self._is_long = True
        elif piece:
            self._parts.append(piece)

    def _end_line(self, found: list[Settled], *, whole: bool = True) -> None:
        self.lines += 1
        line, size, is_long = b"".join(self._parts), self._held, self._is_long
        self.begun, self.at = self.at, self.at + size + whole
        self._parts, self._held, self._is_long = [], 0, False
        if is_long:
            self._tell(f"{in_bytes(size)}, more than a record has")
            return
        if self.lines == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            record = self.record(line)
            if record is not BLANK:
                found.append(self.settled(self._records.read(record)))
                self.found += 1
        except orjson.JSONDecodeError as problem:
            why = f"no JSON ({problem.msg} at column {problem.colno})"
            self._tell(why if whole else "cut off inside a record")
        except DecodeError as problem:
            self._tell(problem.text)

    def settled(self, row: Settled) -> Settled:
        """The row of the line that begins at byte `begun`."""
        return row

    def export(self) -> bytes:
        """The state between two pieces, for `resume`; faults and what was found are not in it."""
        return pack([self.lines, self.at, b"".join(self._parts), self._held, self._is_long])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        self.lines, self.at, part, self._held, self._is_long = fields(unpack(state), int, int, bytes, int, bool)
        self._parts = [part] if part else []

    @property
    def waiting(self) -> int:
        """Bytes of a line that has not ended."""
        return self._held

    @abstractmethod
    def record(self, line: bytes) -> Any:
        """The exchange record of a line, BLANK where it has none and need not.

        Raises JSONDecodeError, or DecodeError where it should have one.
        """

    def _tell(self, text: str) -> None:
        self.broken += 1
        if len(self.problems) < TOLD_MAX:
            self.problems.append(LineProblem(self.lines, text))


class RecordLines(LineReader):
    """Lines that kw wrote."""

    def record(self, line: bytes) -> Any:
        """The value that the line is; blank lines are none."""
        line = line.strip(_ARRAY)  # no record begins or ends with these
        return orjson.loads(line) if line else BLANK
