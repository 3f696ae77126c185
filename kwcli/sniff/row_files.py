"""Rows whose packets have the number of their file in, rows with its name out; and what tables take of captures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from decoders.capture.merge import file_of, number_of
from kwcli.inputs import utf8_text

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Exchange, Row, Settled
    from decoders.filters import Filter
    from kwcli.env import Settings

__all__ = ["TableTaker", "name_files", "names_files", "number_in_file", "without_ends"]

# The attributes of an exchange that hold packets.
PACKETS: Final = ("request_packet", "request_packet_end", "response_packet", "response_packet_end")


class TableTaker(Protocol):
    """Takes what only tables have of captures: names of files, ends of connections."""

    def name_files(self, names: Sequence[str]) -> None:
        """Take the files, in the order of their numbers in packets (capture/merge.py); further ones may join them."""

    def end(self, ended: Ended) -> None:
        """Take the end of a connection."""


def names_files(settings: Settings, selection: Filter) -> bool:
    """Whether a column or the filter asks for the file of a row."""
    if "file" in selection.text and "file" in selection.names:
        return True
    if not settings.columns and settings.format not in ("csv", "table", "fields"):
        return False
    from kwcli.output.row_cells import asked_columns

    return "file" in asked_columns(settings)


def name_files(rows: Iterable[Settled], names: Sequence[str], *, count: bool = True) -> None:
    """Set the file of each exchange of a capture, and number its packets within that file."""
    for row in rows:
        if row.kind != "exchange" or row.record is not None:
            continue
        packet = row.request_packet or row.response_packet or 0
        row.extra = {**(row.extra or {}), "file": utf8_text(names[file_of(packet)])}
        if count:
            number_in_file(row)


def without_ends(rows: Iterable[Row], end: Callable[[Ended], None]) -> list[Settled]:
    """The exchanges and skipped bytes; `end` takes the ends of connections."""
    kept: list[Settled] = []
    for row in rows:
        if row.kind == "connection":
            end(row)
        else:
            kept.append(row)
    return kept


def number_in_file(row: Exchange) -> None:
    """Number the packets of an exchange within their file."""
    for name in PACKETS:
        number = getattr(row, name)
        if number:
            setattr(row, name, number_of(number))
