"""Exchanges in, a portrait of each topic out: who does what with it, its partitions, what is written, who lags.

Leaders and ids are those of the latest answer; ends of partitions and commits are those of
analysis/groups/partition_offsets_and_lag.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.groups.partition_offsets_and_lag import NOTHING, GroupOffsets, offset_paths
from decoders.analysis.portraits.client_and_broker_portraits import (
    Names,
    Portrait,
    Portraits,
    groups_of,
    make_latency_columns,
    sender_and_api,
    topic_use_of_api,
    topics_of,
    versions_used,
)
from decoders.analysis.portraits.topic_schemas import TopicSchemas
from decoders.analysis.read_dimension_values import client_of, software_of
from decoders.analysis.sum_amounts_by_key import TopicBatches
from decoders.errors import Malformed
from decoders.exchanges.topic_and_node_names import NULL_ID
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at
from decoders.filters.read_partitions_and_records import record_and_topic_paths
from decoders.limits import GROUPS_MAX, PARTITIONS_KEPT_MAX
from decoders.protocol_facts.api_keys import METADATA, PRODUCE
from decoders.records.summarize_records import read_batch_heads
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.primitive_types import format_uuid
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side

__all__ = ["TopicPortraits"]

_NS: Final = 1_000_000_000
_PARTITION: Final = ("partition_index", "leader_id", "error_code")
_METADATA: Final = (
    *(f"topics[].{name}" for name in ("name", "topic_id", "error_code")),
    *(f"topics[].partitions[].{name}" for name in _PARTITION),
)


class Written:
    """What producers wrote to a topic: its batches, when first and last, and how much to each partition.

    `partitions`: number → [batches, records, bytes].
    """

    __slots__ = ("batches", "first", "last", "partitions")

    def __init__(self) -> None:
        self.batches = TopicBatches()
        self.first = self.last = 0
        self.partitions: dict[int, list[int]] = {}

    def extend_time(self, first: int, last: int) -> None:
        """Extend the time of the writes to cover a write, or several, from `first` to `last`, in ns."""
        self.first = min(self.first or first, first)
        self.last = max(self.last, last)

    def count_batches(self, number: int, batches: int, records: int, size: int) -> None:
        """Add to the amounts of a partition; partitions beyond PARTITIONS_KEPT_MAX are not kept."""
        if number not in self.partitions and len(self.partitions) >= PARTITIONS_KEPT_MAX:
            return
        its = self.partitions.setdefault(number, [0, 0, 0])
        its[0], its[1], its[2] = its[0] + batches, its[1] + records, its[2] + size

    def add_amounts(self, other: Written) -> None:
        """Add the amounts of `other`, without its partitions."""
        self.batches.merge(other.batches)
        if other.last:
            self.extend_time(other.first, other.last)

    def merge(self, other: Written) -> None:
        """Add what `other` has of the same topic."""
        self.add_amounts(other)
        for number, amounts in other.partitions.items():
            self.count_batches(number, *amounts)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.batches.state(), self.first, self.last, self.partitions]

    @classmethod
    def make_resumed(cls, state: object) -> Written:
        """What was written, from its `state`. Raises DecodeError."""
        made = cls()
        batches, made.first, made.last, partitions = state_fields(state, list, int, int, dict)
        made.batches = TopicBatches.make_resumed(batches)
        for number, amounts in partitions.items():
            if not isinstance(number, int):
                raise Malformed("a partition without a number")
            made.partitions[number] = list(state_fields(amounts, int, int, int))
        return made

    def row(self) -> Row | None:
        """The numbers of all writes; rates are over the time from the first to the last write, null below a second."""
        if not self.batches.batches:
            return None
        found = self.batches.row()
        seconds = (self.last - self.first) / _NS
        rates = {"records": self.batches.records, "bytes": self.batches.size}
        return {
            **{name: found[name] for name in ("batches", "records", "bytes", "codecs")},
            **{f"{name}_per_s": amount / seconds if seconds >= 1 else None for name, amount in rates.items()},
            **{name: found[name] for name in ("records_per_batch", "bytes_per_batch", "bytes_p50", "bytes_p99")},
            "bytes_max": found["bytes_max"],
        }


class TopicPortraits(Portraits):
    """Portraits of topics and their partitions.

    Leaders, ids, ends and commits are learnt from all exchanges: a caller that calls `learn` for exchanges that filters
    leave out has to call it for all. `offsets` are those of another fold of the same exchanges, which learns and merges
    them.
    """

    noun = "topics"

    def __init__(self, offsets: GroupOffsets | None = None) -> None:
        super().__init__()
        # The schemas of keys and values, where these are to be decoded, which costs more than all else.
        self._values: RecordValueReader | None = None
        self._schemas = TopicSchemas()
        self._written: dict[str, Written] = {}
        self._written_to_others = Written()
        # Topic → when its id was told last, and the id; partition → when its leader was told last, and the leader's
        # node id (-1: none).
        self._ids: dict[str, tuple[int, str]] = {}
        self._leaders: dict[tuple[str, int], tuple[int, int]] = {}
        self._offsets = GroupOffsets() if offsets is None else offsets
        self._learns_offsets = offsets is None
        self._learns = False

    def set_value_reader(self, reader: RecordValueReader) -> None:
        """Decode keys and values, so that rows have `schemas`."""
        self._values = reader

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names of topics and groups, of records, offsets and leaders."""
        leaders = frozenset(_METADATA) if api_key == METADATA and side == "response" else frozenset()
        found = super().needs(api_key, side) | offset_paths(api_key, side) | leaders
        return found if self._values is None else found.union(record_and_topic_paths(api_key, side))

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, and learn from it."""
        super().add(exchange)
        if exchange.api_key == PRODUCE:
            self._count_batches_written(exchange)
        if self._values is not None:
            self._schemas.add(exchange, self._values)
        if not self._learns and (self.counted_apart or exchange.api_key not in TOPIC_ARRAYS):
            self._learn_leaders_and_ids(exchange)  # of the others no partitions are kept

    def drop_data_beside_portrait(self, key: tuple[str, ...]) -> None:
        """Add what was written to a topic to what was written to the others."""
        self._schemas.drop_topic(key[0])
        written = self._written.pop(key[0], None)
        if written is not None:
            self._written_to_others.add_amounts(written)

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange says of partitions, whether or not it counts."""
        self._learns = True
        self._learn_leaders_and_ids(exchange)

    def _learn_leaders_and_ids(self, exchange: Exchange) -> None:
        if exchange.api_key is None:
            return
        exchange._read_sides()
        if self._learns_offsets:
            self._offsets.learn(exchange)
        if exchange.api_key != METADATA:
            return
        time_ns = exchange.response_ns or exchange.time_ns
        for element in structs_at(exchange.view("response"), "topics"):
            topic = topic_of_element(exchange, element)
            if topic is None or element.get("error_code"):
                continue
            identity = element.get("topic_id")
            if identity is not None and identity != NULL_ID and (topic in self._ids or len(self._ids) < GROUPS_MAX):
                told = (time_ns, format_uuid(identity.bytes))
                self._ids[topic] = max(self._ids.get(topic, told), told)
            for part in structs_at(element, "partitions"):
                if part.get("partition_index") is None:
                    continue  # an answer that ends in the middle
                place = topic, int(part["partition_index"])
                leader = (time_ns, part.get("leader_id", NOTHING))
                if place in self._leaders or len(self._leaders) < PARTITIONS_KEPT_MAX:
                    self._leaders[place] = max(self._leaders.get(place, leader), leader)

    def _count_batches_written(self, exchange: Exchange) -> None:
        """Count the batches of a Produce that were not refused."""
        asked, answered = TOPIC_ARRAYS[PRODUCE]
        refused = {
            (topic_of_element(exchange, element), part.get(answered.number))
            for element, part in partitions_in(exchange.view(answered.side), answered)
            if part.get(answered.error)
        }
        for element, part in partitions_in(exchange.view(asked.side), asked):
            topic, number = topic_of_element(exchange, element), part.get(asked.number)
            if topic is None or number is None or (topic, number) in refused:
                continue
            heads = list(read_batch_heads(part.get(asked.records), exchange.request_raw))
            if not heads:
                continue
            its = self._written.get(topic)
            if its is None and (topic,) not in self._found:  # left out by another topic of the same exchange
                its = self._written_to_others
            elif its is None:
                its = self._written[topic] = Written()
            its.extend_time(exchange.time_ns, exchange.time_ns)
            records, size = sum(head.records for head in heads), sum(head.size for head in heads)
            its.count_batches(number, len(heads), records, size)
            batches = its.batches
            batches.batches += len(heads)
            batches.records += records
            batches.size += size
            for head in heads:
                batches.codecs[head.codec] += 1
                batches.sizes.add_value(head.size)
                batches.counts.add_value(head.records)

    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[str]]:
        """Each topic."""
        return [(topic,) for topic in topics_of(exchange)]

    def names_of_exchange(self, exchange: Exchange) -> Names:
        """The client (by what it does), the API, the software and the groups of the exchange."""
        software = exchange.client_software
        client = client_of(exchange.client_id, exchange.connection_info.client)
        name = software_of(software["name"], software["version"]) if software else None
        names = [
            (topic_use_of_api(exchange.api_key), client),
            ("apis", f"{exchange._api_reader.name} {exchange.api_version}"),
        ]
        names += [("software", name)] if name else []
        return names + [("groups", group) for group in groups_of(exchange)]

    def key_of_alike_exchanges(self, exchange: Exchange) -> tuple[Any, ...]:
        """Connection, client, API, and the topics and groups."""
        return (*sender_and_api(exchange), *topics_of(exchange), None, *groups_of(exchange))

    def merge(self, other: Self) -> None:
        """Add the counts of `other`."""
        for topic, its in other._written.items():
            self._written.setdefault(topic, Written()).merge(its)
        self._written_to_others.add_amounts(other._written_to_others)
        self._schemas.merge(other._schemas)
        super().merge(other)
        for name, told in other._ids.items():
            self._ids[name] = max(self._ids.get(name, told), told)
        for place, leader in other._leaders.items():
            self._leaders[place] = max(self._leaders.get(place, leader), leader)
        if self._learns_offsets:
            self._offsets.merge(other._offsets)

    def export(self) -> bytes:
        """The state, for `resume`."""
        written = [[topic, its.state()] for topic, its in self._written.items()]
        told = [list(self._ids.items()), list(self._leaders.items())]
        offsets = self._offsets.export() if self._learns_offsets else b""
        return pack(
            [
                super().export(),
                written,
                self._written_to_others.state(),
                *told,
                offsets,
                self._learns,
                self._schemas.state(),
            ]
        )

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        kinds = (bytes, list, list, list, list, bytes, bool, list)
        portraits, written, others, ids, leaders, offsets, self._learns, schemas = state_fields(unpack(state), *kinds)
        self._schemas = TopicSchemas.make_resumed(schemas)
        super().resume(portraits)
        self._written_to_others = Written.make_resumed(others)
        if self._learns_offsets:
            self._offsets.resume(offsets)
        for item in written:
            topic, its = state_fields(item, str, list)
            self._written[topic] = Written.make_resumed(its)
        for item in ids:
            topic, told = state_fields(item, str, tuple)
            time_ns, identity = state_fields(told, int, str)
            self._ids[topic] = time_ns, identity
        for item in leaders:
            place, told = state_fields(item, tuple, tuple)
            (name, number), (time_ns, leader) = state_fields(place, str, int), state_fields(told, int, int)
            self._leaders[name, number] = time_ns, leader

    def rows(self) -> list[Row]:
        """A row for each topic, those with the most exchanges first."""
        found, others, count = self.choose_portraits()
        partitions: dict[str, set[int]] = {}
        for topic, number in (*self._leaders, *self._offsets.ends):
            partitions.setdefault(topic, set()).add(number)
        for topic, its in self._written.items():
            partitions.setdefault(topic, set()).update(its.partitions)
        lags = self._lag_by_topic_and_group()
        rows = [
            self._make_topic_row(
                topic, portrait, sorted(partitions.get(topic, ())), lags.get(topic, {}), self._written.get(topic)
            )
            for (topic,), portrait in sorted(found.items())
        ]
        rows.sort(key=lambda row: -row["count"])
        if count:
            written = Written()
            written.add_amounts(self._written_to_others)
            for topic, its in self._written.items():
                if (topic,) not in found:
                    written.add_amounts(its)
            rows.append(self._make_topic_row(None, others, [], {}, written) | {"others": count})
        return rows

    def _lag_by_topic_and_group(self) -> dict[str, dict[str, int]]:
        """Topic → group → records from its commits to the ends, of the partitions where both are known."""
        found: dict[str, dict[str, int]] = {}
        for (group, topic, number), commit in sorted(self._offsets.commits.items()):
            _, committed = self._offsets.latest_commit(commit)
            end = self._offsets.ends.get((topic, number))
            if committed != NOTHING and end is not None:
                its = found.setdefault(topic, {})
                its[group] = its.get(group, 0) + max(end.latest_end()[1] - committed, 0)
        return found

    def _make_topic_row(
        self, topic: str | None, portrait: Portrait, numbers: list[int], lags: dict[str, int], written: Written | None
    ) -> Row:
        cut = {*portrait.cut, *(("partitions",) if self._offsets.left_out else ())}
        return {
            "topic": topic,
            "topic_id": None if topic is None or topic not in self._ids else self._ids[topic][1],
            **{facet: portrait.names_of_facet(facet) for facet in ("writes", "reads", "administers", "asks", "groups")},
            "partitions": [self._make_partition_row(topic or "", number, written) for number in numbers],
            "written": written.row() if written is not None else None,
            "lag": lags,
            **({} if self._values is None else {"schemas": self._schemas.rows_of(topic)}),
            "apis": versions_used(portrait),
            **make_latency_columns(portrait.statistics),
            "first": format_rfc3339(portrait.first),
            "last": format_rfc3339(portrait.last),
            **({"cut": sorted(cut)} if cut else {}),
        }

    def _make_partition_row(self, topic: str, number: int, written: Written | None) -> Row:
        leader = self._leaders.get((topic, number))
        end = self._offsets.ends.get((topic, number))
        last = end.latest_end()[1] if end is not None else NOTHING
        amounts: Any = written.partitions.get(number, (0, 0, 0)) if written is not None else (0, 0, 0)
        return {
            "partition": number,
            "leader": leader[1] if leader is not None and leader[1] >= 0 else None,
            "high_watermark": None if last == NOTHING else last,
            **dict(zip(("batches", "records", "bytes"), amounts, strict=True)),
        }
