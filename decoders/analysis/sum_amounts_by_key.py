"""Keys and amounts in, one row for each key out: the plain fold; also versions by client, sizes of record batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.fold_interface import Row, sort_by_key
from decoders.analysis.read_dimension_values import host_of
from decoders.analysis.statistics import GroupStatistics
from decoders.analysis.time_slices import Join, add_amounts
from decoders.apis import NAMES, api
from decoders.errors import LimitExceeded, Malformed
from decoders.limits import GROUPS_MAX
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

# The type of a part of a key.
_PART: Final = str | int | None


class Tally:
    """Amounts by key. `by` names the parts of a key; `amounts` has the join of two amounts by name.

    `noun` is what keys are called in the error that there are too many.
    """

    def __init__(self, by: Sequence[str], amounts: Mapping[str, Join], noun: str = "") -> None:
        self.by = tuple(by)
        self.amounts = dict(amounts)
        self._noun = noun or f"groups by {', '.join(self.by)}"
        self._found: dict[tuple[Any, ...], list[int]] = {}

    def join_amounts(self, key: tuple[Any, ...], amounts: Sequence[int]) -> None:
        """Join amounts into those of a key. Raises LimitExceeded when there are too many keys."""
        before = self._found.get(key)
        if before is not None:
            for at, (join, amount) in enumerate(zip(self.amounts.values(), amounts, strict=True)):
                before[at] = join(before[at], amount)
        elif len(self._found) >= GROUPS_MAX:
            raise LimitExceeded(f"more than {GROUPS_MAX:,} {self._noun}")
        else:
            self._found[key] = list(amounts)

    def merge(self, other: Self) -> None:
        """Add the amounts of `other`. Raises LimitExceeded and ValueError."""
        if self._list_parameters() != other._list_parameters():
            raise ValueError("tallies of different keys or amounts do not merge")
        for key, amounts in other._found.items():
            self.join_amounts(key, amounts)

    def _list_parameters(self) -> list[object]:
        return [list(self.by), list(self.amounts)]

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._list_parameters(), list(self._found.items())])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        parameters, items = state_fields(unpack(state), list, list)
        if parameters != self._list_parameters():
            raise Malformed("the state of a tally of other keys or amounts")
        for item in items:
            key, amounts = state_fields(item, tuple, list)
            self.join_amounts(
                tuple(state_fields(key, *(_PART for _ in self.by))),
                list(state_fields(amounts, *(int for _ in self.amounts))),
            )

    def rows(self) -> list[Row]:
        """A row for each key, in their order: its parts and amounts."""
        names = (*self.by, *self.amounts)
        return [dict(zip(names, (*key, *amounts), strict=True)) for key, amounts in sort_by_key(self._found)]


def make_sum_joins(*names: str) -> dict[str, Join]:
    """The `amounts` of a tally that are all added up."""
    return dict.fromkeys(names, add_amounts)


# Versions that clients use


USE: Final = ("address", "client_id", "software", "software_version", "api_key", "api_version")


class ClientVersions(Tally):
    """How often each client (address without port, client id, software) used each version of an API, and when."""

    def __init__(self) -> None:
        super().__init__(USE, {"count": add_amounts, "first": min, "last": max}, "versions of APIs used by clients")

    def needs(self, api_key: int, side: Side) -> frozenset[str]:  # noqa: ARG002  # as all folds have it
        """No paths: no body is read."""
        return frozenset()

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; one without API and version counts nowhere."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return
        software = exchange.client_software
        name, its = (software["name"], software["version"]) if software else (None, None)
        use = (host_of(exchange.connection_info.client), exchange.client_id, name, its, key, version)
        self.join_amounts(use, (1, exchange.time_ns, exchange.time_ns))

    def rows(self) -> list[Row]:
        """A row for each client, API and version, in that order."""
        return [_make_client_version_row(row) for row in super().rows()]


def _make_client_version_row(row: Row) -> Row:
    number = row["api_key"]
    return {
        **{name: row[name] for name in USE[:5]},
        "api": api(number).name if number in NAMES else f"UNKNOWN({number})",
        **{name: row[name] for name in ("api_version", "count")},
        **{name: format_rfc3339(row[name]) for name in ("first", "last")},
    }


# Sizes of record batches


Key = tuple[str | None, str | None]


class TopicBatches:
    """What is known of the batches of one topic: `sizes` and `counts` are distributions of bytes and records.

    `codecs` are those of rows of the table, with commas where a row has several.
    """

    __slots__ = ("batches", "codecs", "counts", "records", "size", "sizes")

    def __init__(self, batches: int = 0, records: int = 0, size: int = 0) -> None:
        self.batches, self.records, self.size = batches, records, size
        self.codecs: Counter[str] = Counter()
        self.sizes = GroupStatistics()
        self.counts = GroupStatistics()

    def merge(self, other: TopicBatches) -> None:
        """Add the counts of `other`."""
        self.batches += other.batches
        self.records += other.records
        self.size += other.size
        self.codecs.update(other.codecs)
        self.sizes.merge(other.sizes, 0, add_amounts)
        self.counts.merge(other.counts, 0, add_amounts)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        amounts = [self.batches, self.records, self.size]
        return [amounts, dict(self.codecs), self.sizes.state(), self.counts.state()]

    @classmethod
    def make_resumed(cls, state: object) -> TopicBatches:
        """The batches of a topic from their `state`. Raises DecodeError."""
        amounts, codecs, sizes, counts = state_fields(state, list, dict, list, list)
        made = cls(*state_fields(amounts, int, int, int))
        for item in codecs.items():
            state_fields(item, str, int)
        made.codecs, made.sizes, made.counts = (
            Counter(codecs),
            GroupStatistics.make_resumed(sizes),
            GroupStatistics.make_resumed(counts),
        )
        return made

    def row(self) -> Row:
        """The numbers of the topic, as keys of its row."""
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
        self._found: dict[Key, TopicBatches] = {}

    def add_batches(self, key: Key, batches: TopicBatches) -> None:
        """Add batches of an API and a topic. The fold may keep and change `batches`. Raises LimitExceeded."""
        before = self._found.get(key)
        if before is not None:
            before.merge(batches)
        elif len(self._found) >= GROUPS_MAX:
            raise LimitExceeded(f"more than {GROUPS_MAX:,} groups by api, topic")
        else:
            self._found[key] = batches

    def merge(self, other: BatchSizes) -> None:
        """Add the batches of `other`, which stays unchanged. Raises LimitExceeded."""
        for key, batches in other._found.items():
            self.add_batches(key, TopicBatches.make_resumed(batches.state()))

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([[key, batches.state()] for key, batches in self._found.items()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        (items,) = state_fields([unpack(state)], list)
        for item in items:
            key, batches = state_fields(item, tuple, list)
            api, topic = state_fields(key, str | None, str | None)
            self.add_batches((api, topic), TopicBatches.make_resumed(batches))

    def rows(self) -> list[Row]:
        """A row for each API and topic, in that order."""
        return [{"api": api, "topic": topic, **its.row()} for (api, topic), its in sort_by_key(self._found)]
