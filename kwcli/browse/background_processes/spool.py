"""Settled rows in, compressed blocks of them in an unnamed file out; and the rows of any block again.

A block is a few hundred rows as `RowPacker` packs them, frames included, so that a row takes no memory until it is
shown. Compressed captures have no random access, pipes and live traffic neither: the spool stands in for all of them.
It is as large as SPOOL_SIZE at most. When it is full, it begins anew where `wraps`, and the oldest blocks are gone;
else `SpoolFull` is raised, and what is in it stays.
"""

from __future__ import annotations

import os
import pickle
from array import array
from bisect import bisect_right
from collections import OrderedDict
from io import BytesIO
from struct import Struct
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final
from zlib import crc32

import zstandard

from decoders.exchanges.body_reader import ApiReaders, Needs
from decoders.exchanges.exchange import Ended
from decoders.exchanges.topic_and_node_names import NodeIds, Topics
from decoders.messages.exchange_serialization import NewTopicNames, RowPacker, RowUnpacker, add_topic_names
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled

__all__ = ["BLOCK_ROWS", "SPOOL_SIZE", "BlockLost", "NewBlock", "Spool", "SpoolFull", "SpoolWriter", "SpooledRows"]

# The most bytes of the spool on disk: compressed, about a fifth of the traffic of most captures.
SPOOL_SIZE: Final = 4 << 30
# A block ends with so many rows, or bytes of frames.
BLOCK_ROWS: Final = 256
BLOCK_SIZE: Final = 1 << 20
# Blocks that are kept unpacked: what a screen shows, and what is around it.
_KEPT: Final = 8
# Before each block: its number, the size of what follows, its checksum.
_HEAD: Final = Struct("<QQI")


class SpoolFull(Exception):
    """The spool takes no further block."""


class BlockLost(Exception):
    """A block is no longer in the spool: later ones took its place."""


class NewBlock(NamedTuple):
    """Where a block is, how many rows and exchanges it has, and names first seen in it.

    `lost`: blocks, from the first, now gone.
    """

    place: int
    size: int
    rows: int
    exchanges: int
    topics: NewTopicNames
    nodes: dict[str, int]
    lost: int


class Spool:
    """The file; the processes that are forked share it."""

    def __init__(self, capacity: int = SPOOL_SIZE) -> None:
        self.capacity = capacity
        with TemporaryFile() as file:
            self._file = os.dup(file.fileno())

    def write_at(self, place: int, data: bytes) -> None:
        """Write bytes at a place."""
        left = memoryview(data)
        while left:
            written = os.pwrite(self._file, left, place)
            place, left = place + written, left[written:]

    def read_at(self, place: int, size: int) -> bytes:
        """The bytes at a place."""
        return os.pread(self._file, size, place)

    def close(self) -> None:
        """Close the file, which is gone then."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        self.close()


class SpoolWriter:
    """Packs rows into blocks, and says of each block where it is."""

    def __init__(self, spool: Spool, topics: Topics, *, wraps: bool) -> None:
        self._spool = spool
        self._topics = topics
        self._known = 0  # names of topics that have been said
        self._wraps = wraps
        self._at = 0
        self._number = 0
        self._kept: list[tuple[int, int]] = []  # places and ends of the blocks that are there
        self._compressor = zstandard.ZstdCompressor(level=1)
        self.nodes = NodeIds()
        self._said_nodes: dict[str, int] = {}
        self._begin_block()

    def _begin_block(self) -> None:
        self._frames = BytesIO()
        self._packer = RowPacker(self._frames.write)
        self._exchanges = 0
        self._ended: list[tuple[tuple[int, str, str, int], list[object]]] = []

    @property
    def is_block_whole(self) -> bool:
        """Whether the block is as large as blocks become."""
        return self._packer.count >= BLOCK_ROWS or self._frames.tell() >= BLOCK_SIZE

    @property
    def waiting(self) -> int:
        """The rows, and ends of connections, that are in no block yet."""
        return self._packer.count + len(self._ended)

    def add_row(self, row: Settled) -> None:
        """Add a row to the block."""
        self._packer.add((row,))
        self._exchanges += row.kind == "exchange"

    def add_connection_end(self, ended: Ended) -> None:
        """Add the end of a connection to the block."""
        info = ended.connection_info
        self._ended.append(((info.number, info.client, info.broker, info.began_ns), ended.export()))

    def write_block(self) -> NewBlock:
        """Write the block and begin another one. Raises SpoolFull."""
        rows, exchanges = self._packer.count, self._exchanges
        packed = self._packer.finish()
        data = self._compressor.compress(pickle.dumps((packed, self._ended, self._frames.getvalue()), 5))
        data = _HEAD.pack(self._number, len(data), crc32(data)) + data
        lost = self._place_next_block(len(data))
        self._spool.write_at(self._at, data)
        place = self._at
        self._kept.append((place, place + len(data)))
        self._at += len(data)
        self._number += 1
        self._begin_block()
        names = list(self._topics.names.items())[self._known :] if len(self._topics.names) > self._known else []
        self._known += len(names)
        nodes = {address: node for address, node in self.nodes.items() if self._said_nodes.get(address) != node}
        self._said_nodes.update(nodes)
        named = [(identity, name) for identity, (name, _) in names]
        return NewBlock(place, len(data), rows, exchanges, named, nodes, lost)

    def _place_next_block(self, size: int) -> int:
        """Set the place of the next block; returns how many blocks it overwrites."""
        lost = 0
        if self._at + size > self._spool.capacity:
            if not self._wraps or size > self._spool.capacity:
                raise SpoolFull
            while lost < len(self._kept) and self._kept[lost][0] >= self._at:  # of the lap before
                lost += 1
            self._at = 0
        while lost < len(self._kept) and self._kept[lost][0] < self._at + size and self._kept[lost][1] > self._at:
            lost += 1
        del self._kept[:lost]
        return lost


class SpooledRows:
    """The rows of all blocks known so far, by their number: 0 for the first that was settled.

    `needs`: the fields of bodies that views of the rows hold.
    """

    def __init__(self, spool: Spool, needs: Needs) -> None:
        self._spool = spool
        self._places = array("Q")
        self._sizes = array("Q")
        self._begins = array("Q", [0])  # the number of the first row of each block, and of the next one
        self._exchanges = array("Q", [0])  # how many are before each block, and before the next one
        self._needs = needs
        self._api_readers = ApiReaders(needs)
        self._kept: OrderedDict[int, list[Settled]] = OrderedDict()
        self._decompressor = zstandard.ZstdDecompressor()
        self.topics = Topics()
        self.nodes = NodeIds()
        self.first_block = 0  # that is still in the spool

    def set_needed_fields(self, needs: Needs) -> None:
        """Have views of the rows hold these fields of bodies from now on."""
        self._needs, self._api_readers = needs, ApiReaders(needs)
        self._kept.clear()

    def add_block(self, block: NewBlock) -> None:
        """Add a block that was written."""
        self._places.append(block.place)
        self._sizes.append(block.size)
        self._begins.append(self._begins[-1] + block.rows)
        self._exchanges.append(self._exchanges[-1] + block.exchanges)
        add_topic_names(self.topics, block.topics)
        self.nodes.update(block.nodes)
        self.first_block += block.lost

    @property
    def blocks(self) -> int:
        """How many blocks were written."""
        return len(self._places)

    @property
    def first(self) -> int:
        """The number of the first row that is still there."""
        return self._begins[self.first_block]

    @property
    def end(self) -> int:
        """The number behind that of the last row."""
        return self._begins[-1]

    @property
    def kept_exchanges(self) -> int:
        """How many of the rows that are still there are exchanges."""
        return self._exchanges[-1] - self._exchanges[self.first_block]

    def find_first_time_ns(self) -> int:
        """The time of the first row that is still there; 0 where there is none."""
        try:
            return self.find_row(self.first).time_ns
        except (BlockLost, IndexError):
            return 0

    def first_row_of_block(self, block: int) -> int:
        """The number of the first row of a block."""
        return self._begins[block]

    def find_row(self, number: int) -> Settled:
        """A row. Raises BlockLost where it is no longer there."""
        block = bisect_right(self._begins, number) - 1
        while block and self._begins[block] > number:
            block -= 1
        rows = self._kept.get(block)
        if rows is None:
            rows = self._kept[block] = self.unpack_block(block)[0]
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(block)
        return rows[number - self._begins[block]]

    def unpack_block(self, block: int, api_readers: ApiReaders | None = None) -> tuple[list[Settled], list[Ended]]:
        """The rows of a block, and the connections that ended in it; `api_readers` read other fields of bodies.

        Raises BlockLost.
        """
        if not self.first_block <= block < len(self._places):
            raise BlockLost
        data = self._spool.read_at(self._places[block], self._sizes[block])
        number, size, checksum = _HEAD.unpack_from(data)
        if number != block or size != len(data) - _HEAD.size or crc32(data[_HEAD.size :]) != checksum:
            raise BlockLost  # overwritten, which is about to be told
        packed, ended, frames = pickle.loads(self._decompressor.decompress(data[_HEAD.size :]))
        unpacker = RowUnpacker(packed, BytesIO(frames), api_readers or self._api_readers, self.topics)
        rows = unpacker.unpack(self._begins[block + 1] - self._begins[block])
        return rows, [self._make_ended(info, state) for info, state in ended]

    def _make_ended(self, info: tuple[int, str, str, int], state: list[object]) -> Ended:
        from decoders.exchanges.exchange import ConnectionInfo

        return Ended.make_resumed(ConnectionInfo(*info, self.topics), state)

    def names_of_kind(self, what: str) -> set[str]:
        """The names of a kind that the traffic has told: `topics`, `nodes`; others are not known here."""
        if what == "topics":
            return {name for name, _ in self.topics.names.values()}
        return {str(node) for node in self.nodes.values()} if what == "nodes" else set()
