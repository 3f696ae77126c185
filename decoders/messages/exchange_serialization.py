"""Settled rows in, built-in values out, and the rows again in another process of the same program.

Nearly all rows are exchanges of a known API version with a whole request and a whole response. Such a row is a struct
of numbers, its frames follow those of the rows before it, and values that many rows share (a connection with its client
and login, an API version) are sent once. All other rows are tuples, with their place among the rows.

Views and bodies are not sent: they are read from the frames again. The process that unpacks has API versions and names
of topics as the engine has them; names that were learnt since are sent separately (`NewTopicNames`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled, Skipped
from decoders.exchanges.exchange_attribute_table import SLOTS

if TYPE_CHECKING:
    from uuid import UUID

    from decoders.exchanges.body_reader import ApiReader, ApiReaders
    from decoders.exchanges.topic_and_node_names import Topics

__all__ = [
    "NewTopicNames",
    "PackedRows",
    "RowPacker",
    "RowUnpacker",
    "add_topic_names",
    "max_packed_size",
    "pack_new_topic_names",
]

# A usual exchange: its client and API version (places in tables), correlation id; times and packets of the first
# and the last byte of both sides; sizes and places of both; names of topics known.
_USUAL: Final = Struct("<16q")
_SKIPPED: Final = ("direction", "size", "reason", "detail", "time_ns", "until_ns", "packet")
_CONNECTION: Final = ("number", "client", "broker", "began_ns", "opened", "tls", "has_keys", "target", "via_address")

# Topic id and name, in the order learnt.
NewTopicNames = list[tuple["UUID", str]]
# What finish() gives: how many bytes the frames have, and the numbers after them; `Exchange.extra` of usual rows, and
# all other rows, each with how many rows are before it; the tables of clients, connections and API versions.
PackedRows = tuple[
    int, int, list[tuple[int, Any]], list[tuple[int, Any]], list[tuple[Any, ...]], list[tuple[Any, ...]], list[Any]
]


def pack_new_topic_names(topics: Topics, known: int) -> NewTopicNames:
    """The names of topics learnt after the first `known`."""
    if len(topics.names) == known:
        return []
    return [(identity, name) for identity, (name, _) in islice(topics.names.items(), known, None)]


def add_topic_names(topics: Topics, new_names: NewTopicNames) -> None:
    """Add the names of topics that another process has learnt."""
    for identity, name in new_names:
        topics.add(identity, name)


def max_packed_size(rows: Iterable[Settled]) -> int:
    """The most bytes that are written when these rows are packed."""
    size = 0
    for row in rows:
        if isinstance(row, Exchange):
            size += (row.request_size or 0) + (row.response_size or 0) + 8 + _USUAL.size
    return size


class MemoryFile(Protocol):
    """A file in memory from which rows are unpacked."""

    def seek(self, at: int, /) -> object:
        """Set the offset of the next read."""

    def read(self, size: int, /) -> bytes:
        """The next bytes."""


class RowPacker:
    """Packs a run of rows and keeps none of them; values that rows share are packed once for the run.

    `write` takes the frames of usual rows, one after the other, and at the end their numbers.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.count = 0
        self._write = write
        self._size = 0  # of the frames
        self._numbers = bytearray()
        self._extras: list[tuple[int, Any]] = []
        self._others: list[tuple[int, Any]] = []
        self._whos: list[tuple[Any, ...]] = []
        self._connections: list[tuple[Any, ...]] = []
        self._api_readers: list[Any] = []
        self._connection_of: dict[ConnectionInfo, int] = {}
        self._who_of: dict[ConnectionInfo, int] = {}
        self._number_of: dict[ApiReader, int] = {}

    def add(self, rows: Iterable[Settled]) -> None:
        """Pack rows, after those packed before."""
        for row in rows:
            if not isinstance(row, Exchange):
                values = [getattr(row, name) for name in _SKIPPED]
                self._others.append(
                    (self.count, ("skipped", self._find_or_add_connection_number(row.connection_info), values))
                )
            elif not self._add_usual_exchange(row):
                self._others.append((self.count, self._pack_unusual_exchange(row)))
            self.count += 1

    def _add_usual_exchange(self, row: Exchange) -> bool:
        """Pack an exchange if it is a usual one; returns whether it is."""
        request, response, api_reader = row.request_raw, row.response_raw, row._api_reader
        request_size, response_size = row.request_size, row.response_size
        if (
            row.outcome != "complete"
            or request is None
            or response is None
            or request_size is None
            or response_size is None
            or len(request) != request_size + 4
            or len(response) != response_size + 4
            or not api_reader.known
            or row.api_key != api_reader.key
            or row.api_version != api_reader.version
            or row.record is not None
        ):
            return False
        number = self._number_of.get(api_reader, -1)
        if number < 0:
            number = self._number_of[api_reader] = len(self._api_readers)
            self._api_readers.append((api_reader.key, api_reader.version))
        who = self._who_of.get(row.connection_info, -1)
        if who < 0 or not _has_same_client(self._whos[who], row):
            who = self._who_of[row.connection_info] = len(self._whos)
            self._whos.append(
                (
                    self._find_or_add_connection_number(row.connection_info),
                    row.client_id,
                    row.client_software,
                    row.login,
                )
            )
        self._numbers += _USUAL.pack(
            who,
            number,
            row.correlation_id,
            row.time_ns,
            row.request_end_ns,
            row.response_ns,
            row.response_end_ns,
            row.request_packet,
            row.request_packet_end,
            row.response_packet,
            row.response_packet_end,
            request_size,
            response_size,
            row.place,
            row.response_place,
            row._topics_known,
        )
        if row.extra is not None:
            self._extras.append((self.count, row.extra))
        self._write(request)
        self._write(response)
        self._size += len(request) + len(response)
        return True

    def _pack_unusual_exchange(self, row: Exchange) -> tuple[Any, ...]:
        if row.record is not None:
            return ("record", row._revealed, row.extra, row.place)
        values = {name: getattr(row, name) for name in SLOTS if hasattr(row, name)}
        return (
            "exchange",
            self._find_or_add_connection_number(row.connection_info),
            (row._api_reader.key, row._api_reader.version),
            values,
        )

    def _find_or_add_connection_number(self, info: ConnectionInfo) -> int:
        number = self._connection_of.get(info, -1)
        if number < 0:
            number = self._connection_of[info] = len(self._connections)
            self._connections.append(tuple([getattr(info, name) for name in _CONNECTION]))
        return number

    def finish(self) -> PackedRows:
        """Write the numbers; returns all that is not written, for RowUnpacker. No row may follow."""
        numbers = bytes(self._numbers)
        self._write(numbers)
        return self._size, len(numbers), self._extras, self._others, self._whos, self._connections, self._api_readers


def _has_same_client(packed_client: tuple[Any, ...], row: Exchange) -> bool:
    return (
        packed_client[1] == row.client_id and packed_client[2] is row.client_software and packed_client[3] is row.login
    )


class RowUnpacker:
    """Makes the rows of a RowPacker again, a few at a time, so that no memory is needed for all of them at once.

    `written` is the file that the packer wrote, at its begin; the numbers after the frames are read first.
    """

    def __init__(self, packed: PackedRows, written: MemoryFile, api_readers: ApiReaders, topics: Topics) -> None:
        size, numbers, extras, others, whos, connections, versions = packed
        written.seek(size)
        self._usual = _USUAL.iter_unpack(written.read(numbers))
        written.seek(0)
        self._read: Callable[[int], bytes] = written.read
        self._extras = extras
        self._others = others
        self._connections = [_make_connection_info(said, topics) for said in connections]
        self._whos: list[tuple[Any, ...]] = [(self._connections[place], *who) for place, *who in whos]
        self._versions = [api_readers.get_reader(key, version) for key, version in versions]
        self._api_readers = api_readers
        self._count = 0  # of the rows so far
        self._extra = self._other = 0  # of those, how many had `extra`, and how many were unusual

    def unpack(self, count: int) -> list[Settled]:
        """The next `count` rows; there have to be as many."""
        rows: list[Settled] = []
        read, whos, versions = self._read, self._whos, self._versions
        until = self._count + count
        while self._count < until:
            before = self._others[self._other][0] if self._other < len(self._others) else until
            said: tuple[Any, ...]
            for said in islice(self._usual, min(before, until) - self._count):
                exchange = Exchange()
                who = whos[said[0]]
                exchange.connection_info = who[0]
                exchange.client_id = who[1]
                exchange.client_software = who[2]
                exchange.login = who[3]
                api_reader = exchange._api_reader = versions[said[1]]
                exchange.api_key = api_reader.key
                exchange.api_version = api_reader.version
                exchange.outcome = "complete"
                exchange.extra = None
                exchange._looked = False
                exchange.correlation_id = said[2]
                exchange.time_ns = said[3]
                exchange.request_end_ns = said[4]
                exchange.response_ns = said[5]
                exchange.response_end_ns = said[6]
                exchange.request_packet = said[7]
                exchange.request_packet_end = said[8]
                exchange.response_packet = said[9]
                exchange.response_packet_end = said[10]
                exchange.request_size = said[11]
                exchange.response_size = said[12]
                exchange.place = said[13]
                exchange.response_place = said[14]
                exchange._topics_known = said[15]
                exchange.request_raw = read(said[11] + 4)
                exchange.response_raw = read(said[12] + 4)
                rows.append(exchange)
            self._count = min(before, until)
            if self._count < until:
                rows.append(_unpack_unusual_row(self._others[self._other][1], self._connections, self._api_readers))
                self._other += 1
                self._count += 1
        while self._extra < len(self._extras) and self._extras[self._extra][0] < until:
            place, extra = self._extras[self._extra]
            row = rows[place - until]
            assert isinstance(row, Exchange)
            row.extra = extra
            self._extra += 1
        return rows


def _make_connection_info(packed_info: tuple[Any, ...], topics: Topics) -> ConnectionInfo:
    number, client, broker, began_ns, opened, tls, has_keys, target, via_address = packed_info
    info = ConnectionInfo(number, client, broker, began_ns, topics)
    info.opened, info.tls = opened, tls
    info.has_keys, info.target, info.via_address = has_keys, target, via_address
    return info


def _unpack_unusual_row(packed_row: Any, connections: list[ConnectionInfo], api_readers: ApiReaders) -> Settled:
    if packed_row[0] == "skipped":
        return Skipped(connections[packed_row[1]], *packed_row[2])
    if packed_row[0] == "record":
        from decoders.messages.exchange_from_json import FromRecords

        row = FromRecords().read(packed_row[1])
        if isinstance(row, Exchange):
            row.extra, row.place = packed_row[2:]
        return row
    exchange = Exchange()
    exchange.connection_info = connections[packed_row[1]]
    key, version = packed_row[2]
    exchange._api_reader = (
        api_readers.unknown if key is None or version is None else api_readers.get_reader(key, version)
    )
    exchange._looked = False
    for name, value in packed_row[3].items():
        setattr(exchange, name, value)
    return exchange
