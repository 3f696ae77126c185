"""Exchanges in, their records as JSON out: one a line, or one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.messages.exchange_json import to_json_dict
from decoders.wire.deferred_json import make_json_pieces
from kwcli.output.write_values_in_any_format import JsonWriter

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

# orjson refuses integers beyond 64 bits by itself; the record has none.
OPTIONS: Final = orjson.OPT_APPEND_NEWLINE
# Lines that are joined at once: orjson leaves up to 8 kB of room after each, which thousands of them would keep.
LINES_MAX: Final = 64


class _RecordRenderer:
    """Base of the renderers of records: counts the exchanges shown by what their records say."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        self._write = write
        self._options = settings.make_record_options()
        self.errors = self.expected = self.undecoded = self.remarks = 0

    def _count_exchange_with_errors(self, errors: list[dict[str, Any]]) -> None:
        expected = all("expected" in error for error in errors)
        self.expected += expected
        self.errors += not expected

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Do nothing: the format needs nothing from rows that are not shown."""

    def close(self) -> None:
        """Do nothing: lines need no end."""


class Ndjson(_RecordRenderer):
    """The NDJSON renderer: one object a line."""

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        options = self._options
        dumps = orjson.dumps
        for start in range(0, len(rows), LINES_MAX):
            lines: list[bytes] = []
            for row in rows[start : start + LINES_MAX]:
                record = to_json_dict(row, options)
                if row.kind == "exchange":
                    if record["errors"]:
                        self._count_exchange_with_errors(record["errors"])
                    if record["status"] == "undecoded":
                        self.undecoded += 1
                    if "remarks" in record:
                        self.remarks += len(record["remarks"])
                try:
                    lines.append(dumps(record, None, OPTIONS))
                except TypeError:  # parts of it are deferred
                    self._write(b"".join(lines))
                    lines.clear()
                    for piece in make_json_pieces(record):
                        self._write(piece)
                    self._write(b"\n")
            self._write(b"".join(lines))


class Json(_RecordRenderer):
    """The JSON renderer: one array, written as it grows and closed however the run ends."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(settings, write)
        self._writer = JsonWriter(write, lines=False)

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        for row in rows:
            record = to_json_dict(row, self._options)
            if record.get("errors"):
                self._count_exchange_with_errors(record["errors"])
            self.undecoded += record.get("status") == "undecoded"
            self.remarks += len(record.get("remarks", ()))
            self._writer.add(record)

    def close(self) -> None:
        """End the array."""
        self._writer.close()
