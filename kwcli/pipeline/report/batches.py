"""Batches of `topic_partitions` in, how large the record batches of each topic are out: bytes, records, codecs."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from decoders.analysis.fold import Row
from decoders.analysis.group import Group
from decoders.analysis.sketch import percentile
from decoders.analysis.slices import added
from decoders.errors import LimitExceeded
from decoders.limits import GROUPS_MAX
from decoders.wire.state import fields, pack, unpack
from kwcli.pipeline.report.coded import Coded, Numbers, combined, sums
from kwcli.pipeline.report.counting import gather
from kwcli.pipeline.report.rows import Rows

COLUMNS: Final = ("api", "topic", "topic_id", "batches", "records", "bytes", "codec")
PERCENTS: Final = (50, 90, 99)


class BatchSizes:
    """How large batches are by API and topic. Where a row has several batches, all of them count with their mean."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str | None, str | None], _Batches] = {}

    def count(self, rows: Rows) -> None:
        """Count a batch of rows. Raises LimitExceeded when there are too many topics."""
        at = np.flatnonzero(rows.integers("batches") > 0)
        groups = combined([rows.coded(name).at(at) for name in ("api", "topic", "topic_id")], len(at))
        size = len(groups.values)
        batches, records, amount = (rows.integers(name)[at] for name in ("batches", "records", "bytes"))
        made = [_Batches() for _ in range(size)]
        total = [sums(groups.numbers, column, size) for column in (batches, records, amount)]
        for its, *values in zip(made, *total, strict=True):
            its.batches, its.records, its.size = values
        gather(groups, [its.sizes for its in made], _each(amount, batches), batches)
        gather(groups, [its.counts for its in made], _each(records, batches), batches)
        codecs = combined([Coded(groups.numbers, list(range(size))), rows.coded("codec").at(at)], len(at))
        for (group, codec), its_batches in zip(
            codecs.values, sums(codecs.numbers, batches, len(codecs.values)), strict=True
        ):
            made[group].codecs[codec or ""] += its_batches
        for (api, topic, topic_id), its in zip(groups.values, made, strict=True):
            self._take((api, topic or topic_id), its)

    def _take(self, key: tuple[str | None, str | None], its: _Batches) -> None:
        before = self._groups.get(key)
        if before is not None:
            before.merge(its)
            return
        if len(self._groups) >= GROUPS_MAX:
            raise LimitExceeded(f"more than {GROUPS_MAX:,} groups by api, topic")
        self._groups[key] = its

    def merge(self, other: BatchSizes) -> None:
        """Take in what another has counted. Raises LimitExceeded."""
        for key, its in other._groups.items():
            self._take(key, _Batches.of(its.state()))

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([[key, its.state()] for key, its in self._groups.items()])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        (items,) = fields([unpack(state)], list)
        for item in items:
            key, its = fields(item, tuple, list)
            api, topic = fields(key, str | None, str | None)
            self._take((api, topic), _Batches.of(its))

    def rows(self) -> list[Row]:
        """A row for each API and topic, in that order."""
        ordered = sorted(self._groups.items(), key=lambda item: [(part is not None, part) for part in item[0]])
        return [{"api": api, "topic": topic, **its.row()} for (api, topic), its in ordered]


class _Batches:
    """What is known of the batches of one topic: `sizes` and `counts` are distributions of bytes and records."""

    __slots__ = ("batches", "codecs", "counts", "records", "size", "sizes")

    def __init__(self) -> None:
        self.batches = self.records = self.size = 0
        self.codecs: Counter[str] = Counter()
        self.sizes = Group()
        self.counts = Group()

    def merge(self, other: _Batches) -> None:
        self.batches += other.batches
        self.records += other.records
        self.size += other.size
        self.codecs.update(other.codecs)
        self.sizes.merge(other.sizes, 0, added)
        self.counts.merge(other.counts, 0, added)

    def state(self) -> list[object]:
        amounts = [self.batches, self.records, self.size]
        return [amounts, dict(self.codecs), self.sizes.state(), self.counts.state()]

    @classmethod
    def of(cls, state: object) -> _Batches:
        made = cls()
        amounts, codecs, sizes, records = fields(state, list, dict, list, list)
        made.batches, made.records, made.size = fields(amounts, int, int, int)
        for item in codecs.items():
            fields(item, str, int)
        made.codecs, made.sizes, made.counts = Counter(codecs), Group.of(sizes), Group.of(records)
        return made

    def row(self) -> Row:
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
            row |= _distribution(name, group)
        return row


def _distribution(name: str, group: Group) -> dict[str, Any]:
    bins = group.bins()
    found = {f"{name}_p{percent}": percentile(bins, percent, group.low, group.high) for percent in PERCENTS}
    return found | {f"{name}_max": group.high}


def _each(amount: Numbers, batches: Numbers) -> Numbers:
    """What one batch of a row has on average, rounded."""
    found: Numbers = (amount + batches // 2) // batches
    return found
