"""Answers to Fetch and DescribeProducers in, what holds the last stable offset of each partition out.

Readers of committed records get nothing from the last stable offset on. It is the first offset of the oldest open
transaction in the partition, or the high watermark where there is none. A Fetch tells both
offsets, whoever asks. Of each partition are kept: what was told last, the highest last stable offset that was below the
high watermark, and the producers of the batches that were read from there on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.groups.partition_offsets_and_lag import NOTHING, TopicPartition
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at, topic_array_paths
from decoders.limits import PARTITIONS_KEPT_MAX, UNSTABLE_BATCHES_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import DESCRIBE_PRODUCERS, FETCH
from decoders.records.summarize_records import read_batch_heads
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["ActiveProducer", "PartitionStability", "StableOffsets", "stable_offset_paths"]

_STABLE: Final = "last_stable_offset"


class ActiveProducer(NamedTuple):
    """A producer with an open transaction in a partition, as the partition's leader tells it (DescribeProducers)."""

    producer_id: int
    epoch: int
    coordinator_epoch: int
    first_offset: int


class PartitionStability:
    """The last stable offset of a partition.

    `latest`: (ns, last stable offset, high watermark, leader) as told last. `held`: (offset, first ns, last ns) of the
    highest last stable offset that was told to be below the high watermark. `batches`: base offset → (producer id,
    epoch) of batches read at or behind it. `producers`: (ns, leader, those with an open transaction), as told last.
    """

    __slots__ = ("batches", "held", "latest", "producers")

    def __init__(self) -> None:
        self.latest: tuple[int, int, int, str] = (0, NOTHING, NOTHING, "")
        self.held: tuple[int, int, int] = (NOTHING, 0, 0)
        self.batches: dict[int, tuple[int, int]] = {}
        self.producers: tuple[int, str, tuple[ActiveProducer, ...]] = (0, "", ())

    def last_reported_ns(self) -> int:
        """When it was told last, in ns."""
        return max(self.latest[0], self.producers[0])

    @property
    def is_held(self) -> bool:
        """Whether the last stable offset was below the high watermark when it was told last."""
        return self.latest[1] != NOTHING and self.latest[1] < self.latest[2] and self.latest[1] == self.held[0]

    def add_offsets(self, time_ns: int, stable: int, newest: int, leader: str) -> None:
        """Take the last stable offset and the high watermark of an answer."""
        self.latest = max(self.latest, (time_ns, stable, newest, leader))
        if stable < newest:
            self._note_held_offset((stable, time_ns, time_ns))

    def _note_held_offset(self, held: tuple[int, int, int]) -> None:
        offset, first, last = self.held
        if held[0] == offset:
            self.held = (offset, min(first, held[1]), max(last, held[2]))
        elif held[0] > offset:
            self.held = held
            self.batches = {base: its for base, its in self.batches.items() if base >= held[0]}

    def add_batch(self, base: int, producer: tuple[int, int]) -> None:
        """Take a batch that was read behind the last stable offset."""
        if base >= self.held[0] and (base in self.batches or len(self.batches) < UNSTABLE_BATCHES_MAX):
            self.batches[base] = max(self.batches.get(base, producer), producer)

    def merge(self, other: PartitionStability) -> None:
        """Add what `other` has of the same partition."""
        self.latest, self.producers = max(self.latest, other.latest), max(self.producers, other.producers)
        self._note_held_offset(other.held)
        for base, producer in other.batches.items():
            self.add_batch(base, producer)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        time_ns, leader, producers = self.producers
        active = [tuple(each) for each in producers]
        return [self.latest, self.held, list(self.batches.items()), [time_ns, leader, active]]

    @classmethod
    def make_resumed(cls, state: object) -> PartitionStability:
        """A partition from its `state`. Raises DecodeError."""
        made = cls()
        latest, held, batches, producers = state_fields(state, tuple, tuple, list, list)
        made.latest = tuple(state_fields(latest, int, int, int, str))
        made.held = tuple(state_fields(held, int, int, int))
        for item in batches:
            base, producer = state_fields(item, int, tuple)
            made.batches[base] = tuple(state_fields(producer, int, int))
        time_ns, leader, active = state_fields(producers, int, str, list)
        made.producers = time_ns, leader, tuple(ActiveProducer(*state_fields(each, *[int] * 4)) for each in active)
        return made


class StableOffsets:
    """The last stable offsets of all partitions; where there are too many, those told last."""

    def __init__(self) -> None:
        self.found: dict[TopicPartition, PartitionStability] = {}
        self.left_out = 0

    def learn(self, exchange: Exchange) -> list[TopicPartition]:
        """Learn from an exchange; returns the partitions that it says are held back."""
        if exchange.api_key == FETCH:
            return self._learn_from_fetch(exchange)
        return self._learn_from_producers(exchange) if exchange.api_key == DESCRIBE_PRODUCERS else []

    def _get_or_make_partition(self, where: TopicPartition) -> PartitionStability:
        its = self.found.get(where)
        if its is None:
            if len(self.found) >= PARTITIONS_KEPT_MAX:
                ranked = sorted(self.found, key=lambda each: self.found[each].last_reported_ns())
                gone = ranked[: (len(ranked) + 1) // 2]
                for each in gone:
                    del self.found[each]
                self.left_out += len(gone)
            its = self.found[where] = PartitionStability()
        return its

    def _learn_from_fetch(self, exchange: Exchange) -> list[TopicPartition]:
        array = TOPIC_ARRAYS[FETCH][1]
        time_ns, broker = exchange.response_ns or exchange.time_ns, exchange.connection_info.broker
        held = []
        for element, part in partitions_in(exchange.view("response"), array):
            stable, newest, number = part.get(_STABLE), part.get(array.watermark), part.get(array.number)
            if stable is None or newest is None or stable < 0 or newest < stable or part.get(array.error):
                continue
            topic = topic_of_element(exchange, element)
            if topic is None or not isinstance(number, int):
                continue
            its = self._get_or_make_partition((topic, number))
            its.add_offsets(time_ns, stable, newest, broker)
            if stable < newest:
                held.append((topic, number))
                for head in read_batch_heads(part.get(array.records), exchange.response_raw):
                    if head.base_offset >= stable and head.producer_id >= 0:
                        its.add_batch(head.base_offset, (head.producer_id, head.producer_epoch))
        return held

    def _learn_from_producers(self, exchange: Exchange) -> list[TopicPartition]:
        time_ns, broker = exchange.response_ns or exchange.time_ns, exchange.connection_info.broker
        held = []
        for where, part in _described_partitions(exchange):
            active = tuple(
                ActiveProducer(
                    each.get("producer_id", NOTHING),
                    each.get("producer_epoch", NOTHING),
                    each.get("coordinator_epoch", NOTHING),
                    each.get("current_txn_start_offset", NOTHING),
                )
                for each in structs_at(part, "active_producers")
                if each.get("current_txn_start_offset", NOTHING) >= 0
            )
            its = self._get_or_make_partition(where)
            its.producers = max(its.producers, (time_ns, broker, tuple(sorted(active))))
            if active:
                held.append(where)
        return held

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        self.left_out += other.left_out
        for where, its in other.found.items():
            self._get_or_make_partition(where).merge(its)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self.left_out, [[where, its.state()] for where, its in self.found.items()]])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self.left_out, found = state_fields(unpack(state), int, list)
        for item in found:
            where, its = state_fields(item, tuple, list)
            topic, number = state_fields(where, str, int)
            self.found[topic, number] = PartitionStability.make_resumed(its)


def _described_partitions(exchange: Exchange) -> Iterator[tuple[TopicPartition, Any]]:
    for topic in structs_at(exchange.view("response"), "topics"):
        for part in structs_at(topic, "partitions"):
            name, number = topic.get("name"), part.get("partition_index")
            if name and isinstance(number, int) and not part.get("error_code"):
                yield (str(name), number), part


def stable_offset_paths(api_key: int, side: Side) -> frozenset[str]:
    """The paths that `StableOffsets` reads of a side of an API."""
    if (api_key, side) == (FETCH, "response"):
        return topic_array_paths(FETCH, side) | {f"responses[].partitions[].{_STABLE}"}
    return frozenset(["topics"] if (api_key, side) == (DESCRIBE_PRODUCERS, "response") else [])
