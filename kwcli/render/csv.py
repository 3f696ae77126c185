"""Exchanges in, the scalar keys of their records as CSV out (RFC 4180, a header line first)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from decoders.exchanges.record import SCALARS, SCHEMA

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.config import Settings
    from kwcli.render import Write


class Csv:
    """A line for each row."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:  # noqa: ARG002  # every renderer takes both
        self._write = write
        self._header = True
        self.errors = self.undecoded = 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        if self._header:
            self._header = False
            lines.writerow(SCALARS)
        for row in rows:
            if row.kind == "exchange":
                self.errors += bool(row.errors)
                self.undecoded += row.status == "undecoded"
        lines.writerows([_cell(row, name) for name in SCALARS] for row in rows)
        self._write(text.getvalue().encode("utf-8", "backslashreplace"))

    def notice(self, rows: list[Settled]) -> None:
        """Nothing is learnt."""

    def close(self) -> None:
        """A table without rows still has its header."""
        if self._header:
            self.write([])


def _cell(row: Settled, name: str) -> Any:
    return SCHEMA if name == "schema" else getattr(row, name, None)
