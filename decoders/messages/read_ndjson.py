"""Bytes of NDJSON that kw wrote in, the exchanges and skipped runs of its lines out.

There is one record a line, also inside of one array (`-o json`), whose lines end in commas. A line that is no record,
or does not fit the published schema (record.schema.json), is reported with its number and passed over: no other module
meets a value of a type it does not expect, or a number or time that no column holds. A line is held whole, up to a
limit; a longer line is passed over as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any, Final

import orjson

from decoders.errors import DecodeError, LimitExceeded, Malformed
from decoders.exchanges.exchange import Settled
from decoders.limits import LINE_NESTING_MAX, RECORD_LINE_MAX
from decoders.messages.exchange_from_json import KINDS, FromRecords
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import has_at_most_levels
from decoders.schema.json_schema_validator import Check, compile_json_schema
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.state_serialization import pack, state_fields, unpack

# The bytes around records: blanks, ends of lines, and the signs of an array.
_ARRAY: Final = b"[], \t\r"
# The most faulty lines that are reported one by one; further ones are only counted.
TOLD_MAX: Final = 3
# The result of `record` for a line without a record.
BLANK: Final = object()


@cache
def compile_record_checks() -> Mapping[str, Check]:
    """The checks of the records that stand for exchanges, by their kind, made from the schema that ships with kw."""
    root = orjson.loads(get_data("decoders.messages", "record.schema.json") or b"")
    return {kind: compile_json_schema(root["$defs"][kind], root) for kind in KINDS}


def check_exchange_record(record: Any) -> None:
    """Check a record by the published schema. Raises Malformed, with the first path that does not fit."""
    kind = record.get("kind") if isinstance(record, dict) else None
    check = compile_record_checks().get(kind) if isinstance(kind, str) else None
    misfit = check(record) if check is not None else None  # its reader refuses other kinds
    if misfit is not None:
        raise Malformed(f"no exchange record: {misfit.sentence}")


def check_nesting_of_line(line: bytes, record: Any) -> None:
    """Check that a line's record can be written again. Raises LimitExceeded where it nests too deep."""
    if line.count(b"[") + line.count(b"{") > LINE_NESTING_MAX and not has_at_most_levels(record, LINE_NESTING_MAX):
        raise LimitExceeded(f"more than {LINE_NESTING_MAX} arrays and objects inside each other")


class LineProblem(NamedTuple):
    """What is wrong with a line; lines count from 1."""

    line: int
    text: str


class LineReader(ABC):
    """Reads the lines of one input, and counts them: `lines` all, `found` records, `broken` lines that are none.

    `problems` are the first faults; `otherwise` describes an input of which no line can be read. Subclasses read the
    record of a line (`record`).
    """

    otherwise = "neither a capture nor NDJSON of kw"

    def __init__(self) -> None:
        self.problems: list[LineProblem] = []
        self.broken = 0
        self.found = 0
        self.lines = 0
        self.begun = self.at = 0  # the offsets of the last line that has ended, and of the next one
        self._records = FromRecords()
        self._parts: list[bytes] = []
        self._held = 0  # bytes of the line that has begun
        self._is_long = False

    def feed(self, data: bytes) -> list[Settled]:
        """The records of the lines that end in this piece."""
        found: list[Settled] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._hold_part_of_line(piece)
            self._end_line(found)
        self._hold_part_of_line(rest)
        return found

    def finish(self) -> list[Settled]:
        """The record of a last line without an end."""
        found: list[Settled] = []
        if self._held:
            self._end_line(found, whole=False)
        return found

    def _hold_part_of_line(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > RECORD_LINE_MAX:
            self._parts = []
            self._is_long = True
        elif piece:
            self._parts.append(piece)

    def _end_line(self, rows: list[Settled], *, whole: bool = True) -> None:
        self.lines += 1
        line, size, is_long = b"".join(self._parts), self._held, self._is_long
        self.begun, self.at = self.at, self.at + size + whole
        self._parts, self._held, self._is_long = [], 0, False
        if is_long:
            self._report_problem(f"a line of {format_bytes(size)} is longer than any record")
            return
        if self.lines == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            record = self.parse_line(line)
            if record is not BLANK:
                check_nesting_of_line(line, record)
                check_exchange_record(record)
                rows.append(self.finish_row(self._records.read(record)))
                self.found += 1
        except orjson.JSONDecodeError as problem:
            why = f"no JSON ({problem.msg} at column {problem.colno})"
            self._report_problem(why if whole else "cut off inside a record")
        except DecodeError as problem:
            self._report_problem(problem.text)

    def finish_row(self, row: Settled) -> Settled:
        """The row of a line, which begins at byte `begun`; subclasses may change it."""
        return row

    def export(self) -> bytes:
        """The state between two pieces, for `resume`; faults and the number of records are not in it."""
        return pack([self.lines, self.at, b"".join(self._parts), self._held, self._is_long])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self.lines, self.at, part, self._held, self._is_long = state_fields(unpack(state), int, int, bytes, int, bool)
        self._parts = [part] if part else []

    @property
    def waiting(self) -> int:
        """Bytes of a line that has not ended."""
        return self._held

    @abstractmethod
    def parse_line(self, line: bytes) -> Any:
        """The exchange record of a line; BLANK for a line that need not have one.

        Raises JSONDecodeError, or DecodeError where a record is missing or wrong.
        """

    def _report_problem(self, text: str) -> None:
        self.broken += 1
        if len(self.problems) < TOLD_MAX:
            self.problems.append(LineProblem(self.lines, text))


class RecordLines(LineReader):
    """Reads lines that kw wrote."""

    def parse_line(self, line: bytes) -> Any:
        """The JSON value of a line; BLANK for a blank line."""
        line = line.strip(_ARRAY)  # no record begins or ends with these
        return orjson.loads(line) if line else BLANK
