"""Records of bytes in, in any order; the records in the order of their bytes out, with few of them in memory."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, Final

from decoders.capture.merge_captures import file_index_of_packet

__all__ = ["BY_FILE", "BY_PACKET", "PacketRecords", "SortedRecords"]

# The beginning of records by packet: the packet's file, its number (which has the file too), the kind.
BY_PACKET: Final = Struct(">IQB")
BY_FILE: Final = Struct(">I")
_NEVER: Final = 1 << 64

# Bytes of records, each with its cost in Python, that are held before they go to a file.
_HELD_MAX: Final = 48 << 20
_COST: Final = 64
_PIECE: Final = 1 << 16
_SIZE: Final = 4


class SortedRecords:
    """Takes records, then reads them in order; `records_with_prefix` reads those with a prefix. Prefixes have one size.

    Sorted runs go to unnamed temporary files (in TMPDIR), which are merged into one when the first record is read.
    """

    def __init__(self, prefix_size: int, held_max: int = _HELD_MAX) -> None:
        self._prefix_size = prefix_size
        self._held_max = held_max
        self._records: list[bytes] = []
        self._held = 0
        self._runs: list[IO[bytes]] = []
        self._sorted = False
        self._places: dict[bytes, int] = {}  # offset of each prefix in the merged file
        self.count = 0

    def add(self, record: bytes) -> None:
        """Take a record. Raises OSError where there is no room for it."""
        self._records.append(record)
        self.count += 1
        self._held += len(record) + _COST
        if self._held >= self._held_max:
            self._records.sort()
            self._runs.append(_write_records_file(iter(self._records)))
            self._records, self._held = [], 0

    def __iter__(self) -> Iterator[bytes]:
        """All records, in order."""
        self._sort_records()
        if self._runs:
            return _read_records(self._runs[0], 0)
        return iter(self._records)

    def records_with_prefix(self, prefix: bytes) -> Iterator[bytes]:
        """The records with this prefix, in order."""
        self._sort_records()
        records: Iterator[bytes]
        if not self._runs:
            records = islice(self._records, bisect_left(self._records, prefix), None)
        elif prefix in self._places:
            records = _read_records(self._runs[0], self._places[prefix])
        else:
            return
        for record in records:
            if not record.startswith(prefix):
                return
            yield record

    def close(self) -> None:
        """Drop all records and close the files."""
        self._records = []
        for run in self._runs:
            run.close()

    def _sort_records(self) -> None:
        if self._sorted:
            return
        self._sorted = True
        self._records.sort()
        if not self._runs:
            return
        runs = [_read_records(run, 0) for run in self._runs]
        merged = _write_records_file(heapq.merge(*runs, self._records), self._places, self._prefix_size)
        for run in self._runs:
            run.close()
        self._runs, self._records = [merged], []


class PacketRecords:
    """Records by packet, taken in the order of the packets of each file."""

    def __init__(self, records: SortedRecords) -> None:
        self._records = records
        self._cursors: dict[int, _Cursor] = {}

    def take_records(self, packet: int) -> list[bytes]:
        """The records of a packet; those of earlier packets in its file are passed over."""
        file = file_index_of_packet(packet)
        cursor = self._cursors.get(file)
        if cursor is None:
            cursor = self._cursors[file] = _Cursor(self._records.records_with_prefix(BY_FILE.pack(file)))
        return cursor.take_records(packet) if cursor.packet <= packet else []


class _Cursor:
    """The records of one file."""

    def __init__(self, records: Iterator[bytes]) -> None:
        self._records = records
        self._next = b""
        self.packet = 0
        self._advance_to_next_record()

    def _advance_to_next_record(self) -> None:
        self._next = next(self._records, b"")
        self.packet = BY_PACKET.unpack_from(self._next)[1] if self._next else _NEVER

    def take_records(self, packet: int) -> list[bytes]:
        """The records of a packet."""
        found: list[bytes] = []
        while self.packet <= packet:
            if self.packet == packet:
                found.append(self._next)
            self._advance_to_next_record()
        return found


def _write_records_file(
    records: Iterator[bytes], places: dict[bytes, int] | None = None, prefix_size: int = 0
) -> IO[bytes]:
    """A file of records, each after its size; `places` takes the offset of each prefix."""
    file = TemporaryFile("w+b")  # noqa: SIM115  # until `close`
    try:
        at = 0
        for record in records:
            if places is not None:
                places.setdefault(record[:prefix_size], at)
            file.write(len(record).to_bytes(_SIZE, "big") + record)
            at += _SIZE + len(record)
        file.flush()
    except BaseException:
        file.close()
        raise
    return file


def _read_records(file: IO[bytes], at: int) -> Iterator[bytes]:
    """The records from an offset on; several iterators may read one file, each at its own offset."""
    held = b""
    begin = 0
    while True:
        left = len(held) - begin
        size = int.from_bytes(held[begin : begin + _SIZE], "big") if left >= _SIZE else 0
        if left < _SIZE or left < _SIZE + size:
            file.seek(at)
            piece = file.read(max(_PIECE, size))
            if not piece:
                return
            at += len(piece)
            held, begin = held[begin:] + piece, 0
            continue
        yield held[begin + _SIZE : begin + _SIZE + size]
        begin += _SIZE + size
