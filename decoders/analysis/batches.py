"""Sizes of record batches in, how large those of each topic are out: batches, bytes, records, codecs."""

from __future__ import annotations

from collections import Counter

from decoders.analysis.fold import Row, in_order
from decoders.analysis.group import Group
from decoders.analysis.slices import added
from decoders.errors import LimitExceeded
from decoders.limits import GROUPS_MAX
from decoders.wire.state import fields, pack, unpack

Key = tuple[str | None, str | None]


class Batches:
    """What is known of the batches of one topic: `sizes` and `counts` are distributions of bytes and records.

    `codecs` are those of rows of the table, with commas where a row has several.
    """

    __slots__ = ("batches", "codecs", "counts", "records", "size", "sizes")

    def __init__(self, batches: int = 0, records: int = 0, size: int = 0) -> None:
        self.batches, self.records, self.size = batches, records, size
        self.codecs: Counter[str] = Counter()
        self.sizes = Group()
        self.counts = Group()

    def merge(self, other: Batches) -> None:
        """Take in another."""
        self.batches += other.batches
        self.records += other.records
        self.size += other.size
        self.codecs.update(other.codecs)
        self.sizes.merge(other.sizes, 0, added)
        self.counts.merge(other.counts, 0, added)

    def state(self) -> list[object]:
        """What is handed over."""
        amounts = [self.batches, self.records, self.size]
        return [amounts, dict(self.codecs), self.sizes.state(), self.counts.state()]

    @classmethod
    def of(cls, state: object) -> Batches:
        """Those of a state. Raises DecodeError."""
        amounts, codecs, sizes, counts = fields(state, list, dict, list, list)
        made = cls(*fields(amounts, int, int, int))
        for item in codecs.items():
            fields(item, str, int)
        made.codecs, made.sizes, made.counts = Counter(codecs), Group.of(sizes), Group.of(counts)
        return made

    def row(self) -> Row:
        """The numbers of the topic."""
        ordered = sorted(self.codecs.items(), key=lambda item: (-item[1], item[0]))
        row: Row = {
            "batches": self.batches,
            "records": self.records,
            "bytes": self.size,
            "codecs": dict(ordered),
            "records_per_batch": self.records / self.batches,
            "bytes_per_batch": self.size / self.batches,
            "bytes_per_record": self.size / self.records if self.records else None,
        }
        for name, group in (("bytes", self.sizes), ("records", self.counts)):
            row |= {f"{name}_{key}": value for key, value in (*group.percentiles().items(), ("max", group.high))}
        return row


class BatchSizes:
    """How large batches are by API and topic. Where a row has several batches, all of them count with their mean."""

    def __init__(self) -> None:
        self._found: dict[Key, Batches] = {}

    def take(self, key: Key, batches: Batches) -> None:
        """Take in batches of an API and a topic, which are this fold's from now on. Raises LimitExceeded."""
        before = self._found.get(key)
        if before is not None:
            before.merge(batches)
        elif len(self._found) >= GROUPS_MAX:
            raise LimitExceeded(f"more than {GROUPS_MAX:,} groups by api, topic")
        else:
            self._found[key] = batches

    def merge(self, other: BatchSizes) -> None:
        """Take in what another has counted, which stays as it is. Raises LimitExceeded."""
        for key, batches in other._found.items():
            self.take(key, Batches.of(batches.state()))

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([[key, batches.state()] for key, batches in self._found.items()])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        (items,) = fields([unpack(state)], list)
        for item in items:
            key, batches = fields(item, tuple, list)
            api, topic = fields(key, str | None, str | None)
            self.take((api, topic), Batches.of(batches))

    def rows(self) -> list[Row]:
        """A row for each API and topic, in that order."""
        return [{"api": api, "topic": topic, **its.row()} for (api, topic), its in in_order(self._found)]
