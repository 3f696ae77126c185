"""Ends of connections in, rows out that say of them what no other row says: for filters that ask for connections."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from decoders.exchanges.exchange import Skipped
from decoders.wire.format_and_escape_text import describe_duration

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Row, Settled

__all__ = [
    "ENDS_OF_CONNECTIONS",
    "EndRowsByTime",
    "is_row_of_ports",
    "make_rows_of_end",
    "replace_connection_ends_by_rows",
]

# The reasons of rows that say of a connection how it began or ended, and stand for no bytes.
ENDS_OF_CONNECTIONS: Final = frozenset({"empty", "reset", "closed", "zero_window"})
_SORTED_AT_ONCE: Final = 50_000
_MS: Final = 1_000_000
_ENDS: Final = {
    "fin": "closed (FIN) {after} later",
    "rst": "reset (RST) {after} later",
    "idle": "its last packet {after} later",
    "capture_end": "its last packet {after} later, not closed by the end of the capture",
}


def replace_connection_ends_by_rows(rows: Iterable[Row]) -> list[Settled]:
    """The rows, with those of `make_rows_of_end` in the place of each end of a connection."""
    return [found for row in rows for found in (make_rows_of_end(row) if row.kind == "connection" else [row])]


class EndRowsByTime:
    """Rows of the ends of connections, to be put between rows that come in the order of their times.

    Ends need only be roughly in order: so many at once are sorted.
    """

    def __init__(self, ends: Iterator[Ended]) -> None:
        self._rows = _sort_rows_of_ends(ends)
        self._next = next(self._rows, None)

    def insert_end_rows_by_time(self, rows: Iterable[Settled]) -> list[Settled]:
        """The rows, with those of ends before the first row that is later."""
        found: list[Settled] = []
        for row in rows:
            found += self._take_rows_until(row.time_ns)
            found.append(row)
        return found

    def take_remaining_rows(self) -> list[Settled]:
        """The rows of ends that are left."""
        return [*self._take_rows_until(None)]

    def _take_rows_until(self, time_ns: int | None) -> Iterator[Skipped]:
        while self._next is not None and (time_ns is None or self._next.time_ns <= time_ns):
            yield self._next
            self._next = next(self._rows, None)


def _sort_rows_of_ends(ends: Iterator[Ended]) -> Iterator[Skipped]:
    while at_once := [*islice(ends, _SORTED_AT_ONCE)]:
        yield from sorted((row for ended in at_once for row in make_rows_of_end(ended)), key=attrgetter("time_ns"))


def is_row_of_ports(row: Row, ports: Container[int]) -> bool:
    """Whether a row is of a connection to one of these ports; it is not if all of a connection was skipped for them."""
    if row.kind == "connection":
        return int(row.connection_info.broker.rpartition(":")[2] or 0) in ports
    return row.kind == "exchange" or row.reason != "not_kafka"


def make_rows_of_end(ended: Ended) -> Iterator[Skipped]:
    """Rows that stand for no bytes: for a connection without any, a TCP window of 0, a reset, an end without Kafka."""
    info = ended.connection_info
    if not (ended.client_bytes or ended.server_bytes):
        yield Skipped(info, None, 0, "empty", _describe_empty_connection(ended), ended.time_ns)
        return
    for whose, shut_ns in (("client", ended.client_shut_ns), ("broker", ended.server_shut_ns)):
        if shut_ns:
            text = f"the TCP window of the {whose}'s side was 0 for {describe_duration(shut_ns / _MS)} at least"
            yield Skipped(info, None, 0, "zero_window", text, ended.last_ns)
    if ended.how == "rst":
        yield Skipped(info, None, 0, "reset", _describe_reset(ended), ended.last_ns)
    elif ended.how == "fin" and not ended.kafka:
        yield Skipped(info, None, 0, "closed", f"closed (FIN) {_describe_age(ended)}", ended.last_ns)


def _describe_empty_connection(ended: Ended) -> str:
    after = describe_duration((ended.last_ns - ended.time_ns) / _MS)
    if ended.entry == "refused":
        return f"SYN, refused (RST) {after} later"
    if ended.entry == "silent":
        again = f", {ended.client_packets - 1} more in {after}" if ended.client_packets > 1 else ""
        return f"SYN{again}, not answered"
    if ended.entry == "unheard":
        return (
            f"SYN, answered (SYN-ACK), both {ended.client_packets - 1} times more in {after}: the answers are not heard"
        )
    begun = "opened" if ended.opened else "begun before the capture"
    return f"{begun}, no byte, {_ENDS[ended.how].format(after=after)}"


def _describe_reset(ended: Ended) -> str:
    for whose, quiet_ns in (("client", ended.client_quiet_ns), ("broker", ended.server_quiet_ns)):
        if quiet_ns:
            quiet = describe_duration(quiet_ns / _MS)
            return f"reset (RST) from the {whose}'s side, which had sent nothing for {quiet}"
    return f"reset (RST) {_describe_age(ended)}"


def _describe_age(ended: Ended) -> str:
    return f"{describe_duration((ended.last_ns - ended.time_ns) / _MS)} after its first packet"
