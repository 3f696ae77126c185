"""Exchanges in, aligned columns out, the same for every exchange: for sorting and cutting with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kwcli.render.palette import palette
from kwcli.render.units import cells, cut
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.config import Settings
    from kwcli.render import Write

# Title, least width, whether numbers (to the right). What does not fit a terminal goes from the end of this list.
COLUMNS: Final[tuple[tuple[str, int, bool], ...]] = (
    ("time", 27, False),
    ("latency_ms", 10, True),
    ("client_id", 12, False),
    ("api", 18, False),
    ("version", 7, True),
    ("status", 10, False),
    ("errors", 8, False),
    ("client", 21, False),
    ("broker", 21, False),
    ("connection", 10, True),
    ("correlation_id", 14, True),
    ("request_size", 12, True),
    ("response_size", 13, True),
)


class ExchangeTable:
    """Widths are those of the first rows; a later cell that is wider pushes its own line."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        self._write = write
        self._width = settings.width
        self._palette = palette(settings.color)
        self._widths: list[int] | None = None
        self.errors = self.undecoded = 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        for row in rows:
            if row.kind == "exchange":
                self.errors += bool(row.errors)
                self.undecoded += row.status == "undecoded"
        lines = [_cells(row) for row in rows]
        if self._widths is None:
            if not lines:
                return
            self._begin(lines)
        assert self._widths is not None
        out = [self._line(line, self._widths) for line in lines]
        self._write("".join(out).encode("utf-8", "backslashreplace"))

    def _begin(self, lines: list[list[str]]) -> None:
        widths = [max(least, len(title)) for title, least, _ in COLUMNS]
        for line in lines:
            widths = [max(width, cells(cell)) for width, cell in zip(widths, line, strict=True)]
        if self._width is not None:
            while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > self._width:
                widths.pop()
        self._widths = widths
        title = self._line([title for title, _, _ in COLUMNS], widths).rstrip("\n")
        self._write(f"{self._palette.dim}{title}{self._palette.off}\n".encode())

    def _line(self, line: list[str], widths: list[int]) -> str:
        parts = []
        for cell, width, (_, _, right) in zip(line, widths, COLUMNS, strict=False):
            text = cut(cell, width) if self._width is not None else cell
            padding = " " * (width - cells(text))
            parts.append(padding + text if right else text + padding)
        return "  ".join(parts).rstrip() + "\n"

    def notice(self, rows: list[Settled]) -> None:
        """Nothing is learnt."""

    def close(self) -> None:
        """Nothing is owed."""


def _cells(row: Settled) -> list[str]:
    if row.kind == "exchange":
        latency = row.latency_ms
        values: tuple[object, ...] = (
            row.time,
            None if latency is None else f"{latency:.3f}",
            row.client_id,
            row.api or "SASL token",
            row.api_version,
            row.status,
            ",".join(dict.fromkeys(error.name for error in row.errors)) or None,
            row.client,
            row.broker,
            row.connection,
            row.correlation_id,
            row.request_size,
            row.response_size,
        )
    else:
        to = {"request": row.size, "response": None}.get(row.direction or "")
        back = row.size if to is None else None
        values = (
            *(row.time, None, None, "(skipped)", None, row.reason, None),
            *(row.client, row.broker, row.connection, None, to, back),
        )
    return ["–" if value is None else clean(str(value)) for value in values]
