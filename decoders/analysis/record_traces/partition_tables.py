"""Rows of integers in, tables of them out that take 8 bytes a number; and the table of texts that numbers stand for.

A capture has as many rows as batches and fetches, so they are no objects: a table is an array, of which all but the
last ROWS_PACKED rows are compressed, and a text is the number that it has among the values of the index. Rows come in
any order, and from several parts of a capture.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self

from lz4.block import compress, decompress  # type: ignore[import-untyped]  # lz4 ships no types

from decoders.analysis.doctor.resent_batches import find_packets
from decoders.errors import Malformed
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import ConnectionInfo, Exchange

__all__ = [
    *("COLUMNS_OF_VALUES", "NONE", "UNACKNOWLEDGED", "UNANSWERED", "identity_of_batch", "make_batch_identity"),
    *(
        "LoggedBatch",
        "Commit",
        "ConnectionEnds",
        "Identity",
        "ShareDelivery",
        "ExchangeSources",
        "InternedValues",
        "LogStart",
        "PartitionTables",
        "Position",
        "Read",
        "Table",
    ),
    *("RecordHash", "TransactionEnd", "Wanted", "Write", "read_items_by_partition", "read_pair"),
]

# A number that is not known, or a text that is not there.
NONE: Final = -1
# Codes of a write or commit, where the answer has no error code: none came, none was wanted.
UNANSWERED: Final = -1
UNACKNOWLEDGED: Final = -2
# Connections whose number is remembered between their exchanges.
_SENDERS_MAX: Final = 1024


class Write(NamedTuple):
    """One try to write a batch. Times in ns; `first` is the offset of its first record, `code` the error code.

    `sender`, `codec`, `transaction`: numbers of values. `log_append_ms`: the time that the broker gave its records.
    """

    time: int
    answered: int
    first: int
    records: int
    code: int
    sender: int
    correlation: int
    packet: int
    packet_end: int
    size: int
    producer: int
    epoch: int
    sequence: int
    crc: int
    newest_ms: int
    acks: int
    codec: int
    transaction: int


class Read(NamedTuple):
    """Offsets from `first` to below `end` that a Fetch got, whose `position` was where it wanted to go on.

    `replica`: the node id of the follower that fetched. `committed`: the reader wants committed records alone.
    """

    time: int
    answered: int
    position: int
    first: int
    end: int
    sender: int
    correlation: int
    packet: int
    packet_end: int
    replica: int
    committed: int


class Commit(NamedTuple):
    """An offset that a group committed; of a transaction where `transaction` is the number of its id."""

    time: int
    answered: int
    offset: int
    code: int
    sender: int
    correlation: int
    packet: int
    packet_end: int
    group: int
    generation: int
    member: int
    transaction: int


class Position(NamedTuple):
    """The offset from which a group's member begins, as the coordinator told it; NONE: it has committed none."""

    time: int
    answered: int
    offset: int
    sender: int
    correlation: int
    packet: int
    packet_end: int
    group: int


class LogStart(NamedTuple):
    """The first offset of a log, as told; `outside`: a reader wanted to go on there, which was out of range."""

    time: int
    offset: int
    outside: int
    sender: int
    correlation: int
    packet: int
    packet_end: int


class LoggedBatch(NamedTuple):
    """A batch as a log has it, from a Fetch: `first` and `last` offset, and how it is known again."""

    first: int
    last: int
    records: int
    size: int
    producer: int
    epoch: int
    sequence: int
    crc: int
    newest_ms: int


class ShareDelivery(NamedTuple):
    """What a member of a share group did with the records from `first` to below `end`.

    `kind`: the type of its acknowledgement (2 releases, 3 rejects, 4 renews), NONE: it acquired them, for the
    `deliveries`th time. `code`: the error code of the acknowledgement.
    """

    time: int
    first: int
    end: int
    kind: int
    deliveries: int
    code: int
    sender: int
    correlation: int
    packet: int
    packet_end: int
    group: int
    member: int


class RecordHash(NamedTuple):
    """A record of a producer without idempotence: its offset, a hash of key, value and create time, and its Produce."""

    offset: int
    hash: int
    time: int
    sender: int
    correlation: int
    packet: int
    packet_end: int


class Wanted(NamedTuple):
    """The offset that a consumer wants next, where that is not what it wanted before.

    `seen`: it was answered, or its answer broke off with the connection, so that the consumer has not got it.
    """

    time: int
    position: int
    seen: int
    sender: int
    correlation: int
    packet: int
    packet_end: int


class TransactionEnd(NamedTuple):
    """The end of a transaction; `transaction`: the number of its id, NONE where a marker is all that was seen."""

    time: int
    answered: int
    producer: int
    epoch: int
    committed: int
    transaction: int
    sender: int
    correlation: int
    packet: int
    packet_end: int


# By what a batch is known again: producer id, epoch and sequence; without them checksum, size and newest time stamp.
Identity = tuple[int, int, int, int]


def identity_of_batch(batch: Write | LoggedBatch) -> Identity | None:
    """By what a batch is known again; None where nothing is known."""
    return make_batch_identity(batch.size, batch.producer, batch.epoch, batch.sequence, batch.crc, batch.newest_ms)


def make_batch_identity(
    size: int, producer: int, epoch: int, sequence: int, crc: int, newest_ms: int
) -> Identity | None:
    """By what the batch with these numbers is known again; None where nothing is known."""
    if producer >= 0 and sequence >= 0:
        return 0, producer, epoch, sequence
    return None if crc < 0 else (1, crc, size, newest_ms)


# The tables of a partition, and the columns that are numbers of values.
_TABLES: Final[dict[str, type[Any]]] = {
    "writes": Write,
    "reads": Read,
    "commits": Commit,
    "positions": Position,
    "starts": LogStart,
    "batches": LoggedBatch,
    "fingerprints": RecordHash,
    "wanted": Wanted,
    "deliveries": ShareDelivery,
}
COLUMNS_OF_VALUES: Final = frozenset({"sender", "codec", "transaction", "group", "member"})


# Rows that are compressed at a time: LZ4 takes 1 ns a byte, and leaves two fifths of them.
_ROWS_PACKED: Final = 512


class Table:
    """Rows of one kind."""

    __slots__ = ("_cells", "_full", "_kind", "_packed", "_width")

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._width = len(kind._fields)
        self._full = _ROWS_PACKED * self._width
        self._packed: list[bytes] = []  # of _full cells each, before those in _cells
        self._cells = array("q")

    def __len__(self) -> int:
        return len(self._packed) * _ROWS_PACKED + len(self._cells) // self._width

    def add_row(self, row: tuple[int, ...]) -> None:
        """Add a row."""
        cells = self._cells
        cells.extend(row)
        if len(cells) >= self._full:
            self._pack_cells()

    def _pack_cells(self) -> None:
        """Compress full blocks of the cells."""
        cells, full = self._cells, self._full
        for at in range(0, len(cells) - full + 1, full):
            self._packed.append(compress(cells[at : at + full].tobytes()))
        del cells[: len(cells) // full * full]

    def _iterate_blocks(self) -> Iterator[array[int]]:
        """The cells, block by block."""
        for packed in self._packed:
            yield array("q", decompress(packed))
        yield self._cells

    def __iter__(self) -> Iterator[Any]:
        make = self._kind._make
        for cells in self._iterate_blocks():
            yield from map(make, zip(*[iter(cells)] * self._width, strict=True))

    def select_columns(self, *names: str) -> Iterator[tuple[int, ...]]:
        """These columns of each row: a fifth of the time of whole rows."""
        columns = [self._kind._fields.index(name) for name in names]
        for cells in self._iterate_blocks():
            yield from zip(*[cells[number :: self._width] for number in columns], strict=True)

    def add_rows_of(self, other: Self, numbers_here: list[int]) -> None:
        """Add the rows of another table, whose values have these numbers here."""
        columns = [number for number, name in enumerate(self._kind._fields) if name in COLUMNS_OF_VALUES]
        for block in other._iterate_blocks():
            for row in zip(*[iter(block)] * self._width, strict=True):
                cells = list(row)
                for number in columns:
                    if cells[number] >= 0:
                        cells[number] = numbers_here[cells[number]]
                self._cells.extend(cells)
            self._pack_cells()

    def state(self) -> bytes:
        """The state as bytes, big-endian."""
        found = []
        for block in self._iterate_blocks():
            cells = array("q", block)
            if _LITTLE:
                cells.byteswap()
            found.append(cells.tobytes())
        return b"".join(found)

    def resume_state(self, state: bytes, most: int) -> None:
        """Restore a `state`, whose values have numbers below `most`. Raises DecodeError."""
        if len(state) % (8 * self._width):
            raise Malformed("a table that ends in the middle of a row")
        self._cells.frombytes(state)
        if _LITTLE:
            self._cells.byteswap()
        for number, name in enumerate(self._kind._fields):
            if name in COLUMNS_OF_VALUES and max(self._cells[number :: self._width], default=NONE) >= most:
                raise Malformed("a table with a number that no value has")
        self._pack_cells()


def read_pair(value: object) -> tuple[int, int]:
    """Two integers of a state. Raises DecodeError."""
    first, second = state_fields(value, int, int)
    return first, second


def read_items_by_partition(items: Iterable[object], kind: type) -> Iterator[tuple[tuple[str, int], Any]]:
    """Partition and value of each item of a state. Raises DecodeError."""
    for item in items:
        where, its = state_fields(item, tuple, kind)
        topic, number = state_fields(where, str, int)
        yield (topic, number), its


_LITTLE: Final = array("H", [1]).tobytes() == b"\x01\x00"


class PartitionTables:
    """The tables of one partition.

    `begun`: where the batches of the log begin. `told`: first offset of the log → when it was told first, in ns.
    `markers`: producer id and offset of the control batches, which end transactions.
    """

    __slots__ = (*_TABLES, "begun", "markers", "told", "wants")

    writes: Table
    reads: Table
    commits: Table
    positions: Table
    starts: Table
    batches: Table
    fingerprints: Table
    wanted: Table
    deliveries: Table

    def __init__(self) -> None:
        for name, kind in _TABLES.items():
            setattr(self, name, Table(kind))
        self.begun: set[int] = set()
        self.told: dict[int, int] = {}
        self.markers: set[tuple[int, int]] = set()
        self.wants: dict[int, tuple[int, int]] = {}  # number of a connection → position and `seen` of its latest row

    def note_first_log_start(self, start: int, time_ns: int) -> bool:
        """Whether this is the first time that a log is known to begin at an offset above 0; notes the time."""
        if start <= 0 or self.told.get(start, time_ns + 1) <= time_ns:
            return False
        self.told[start] = time_ns
        return True

    def _tables(self) -> list[Table]:
        return [getattr(self, name) for name in _TABLES]

    def count_rows(self) -> int:
        """How many rows the tables have together."""
        return sum(map(len, self._tables()))

    def merge(self, other: Self, numbers_here: list[int]) -> None:
        """Add the rows of `other`, whose values have these numbers here."""
        for mine, its in zip(self._tables(), other._tables(), strict=True):
            mine.add_rows_of(its, numbers_here)
        self.begun |= other.begun
        self.markers |= other.markers
        for start, time_ns in other.told.items():
            self.told[start] = min(self.told.get(start, time_ns), time_ns)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [[table.state() for table in self._tables()], sorted(self.begun), self.told, sorted(self.markers)]

    @classmethod
    def make_resumed(cls, state: object, most: int) -> Self:
        """Tables from their `state`, whose values have numbers below `most`. Raises DecodeError."""
        made = cls()
        tables, begun, told, markers = state_fields(state, list, list, dict, list)
        for table, its in zip(made._tables(), state_fields(tables, *[bytes] * len(_TABLES)), strict=True):
            table.resume_state(its, most)
        made.begun = set(state_fields(begun, *[int] * len(begun)))
        made.told = dict(map(read_pair, told.items()))
        made.markers = set(map(read_pair, markers))
        return made


class ConnectionEnds(NamedTuple):
    """The two ends of a connection: the client's id and address, the broker's, its number, and its file where named."""

    client_id: str | None
    client: str
    broker: str
    connection: int
    file: str | None


class InternedValues:
    """Values that rows refer to by the numbers that they have here: texts, and the ends of connections."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def intern_value(self, value: Any) -> int:
        """The number of a value; NONE for None."""
        if value is None:
            return NONE
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found

    def value_of_number(self, number: int) -> Any:
        """The value that has a number; None for NONE."""
        return None if number < 0 else self.values[number]

    def merge(self, other: Self) -> list[int]:
        """Add the values of `other`; returns the numbers that they have here, in their order there."""
        return [self.intern_value(value) for value in other.values]

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [list(value) if isinstance(value, tuple) else value for value in self.values]

    @classmethod
    def make_resumed(cls, state: Iterable[object]) -> Self:
        """Values from their `state`. Raises DecodeError."""
        made = cls()
        for value in state:
            if isinstance(value, list):
                value = ConnectionEnds(*state_fields(value, str | None, str, str, int, str | None))
            elif not isinstance(value, str):
                raise Malformed("a value that is no text")
            if made.intern_value(value) != len(made.values) - 1:
                raise Malformed("a value with two numbers")
        return made


class ExchangeSources:
    """Where rows come from: of an exchange the number of its connection among values, and its own numbers."""

    def __init__(self, values: InternedValues) -> None:
        self._values = values
        self._senders: dict[ConnectionInfo, tuple[str | None, str | None, int]] = {}

    def make_source_numbers(self, exchange: Exchange) -> tuple[int, int, int, int]:
        """The number of the exchange's connection, its correlation id, first and last packet."""
        first, last, file = find_packets(exchange)
        info, client_id, correlation = exchange.connection_info, exchange.client_id, exchange.correlation_id
        known = self._senders.get(info)
        if known is None or known[0] != client_id or known[1] != file:
            if len(self._senders) >= _SENDERS_MAX:
                self._senders.clear()
            ends = ConnectionEnds(client_id, info.client, info.broker, info.number, file)
            sender = self._values.intern_value(ends)
            known = self._senders[info] = client_id, file, sender
        return (
            known[2],
            NONE if correlation is None else correlation,
            NONE if first is None else first,
            NONE if last is None else last,
        )
