"""Exchanges in, an index out of who wrote, read and committed which offsets: all answers about records start from it.

Theory of operation. Nothing on the wire follows a record: a Produce names no offset before it is answered, a Fetch
names no group, a commit names no record. But all of them are about offsets of a partition, and so the index has for
each partition tables of ranges of offsets, with times and connections:

```
Produce, answered     ─► writes     first, count, producer id, sequence, checksum ┐
Fetch, answered       ─► reads      first, end, reader or follower                │
                      ─► batches    of the log: what is known again of a write    ├─► by topic and partition
OffsetCommit, Txn…    ─► commits    group, generation, member, offset             │
OffsetFetch           ─► positions  where a member begins                         │
ShareFetch, …         ─► deliveries a member of a share group has, or has done     │
Fetch, DeleteRecords  ─► starts     the first offset that there still is          ┘
EndTxn, markers       ─► ends of transactions, by producer id
JoinGroup, SyncGroup… ─► which client had which partition in which generation (groups/group_histories.py)
Metadata              ─► names of topic ids, node ids of brokers
```

Whatever is asked is put together at the end, in `rows()` of the answers, so that exchanges may come in any order and
from several parts of a capture. With a question (asked_records.py) only the rows that concern it are kept; without one,
a row for each batch, fetch and commit in the tables that an answer needs, up to ROWS_INDEXED_MAX; `left_out` counts
more.

A topic that an exchange names by its id alone stands under its id until some exchange has told the name. Where none
does, a batch that was written under a name and read under an id, at the same offset with the same checksum, tells it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import replica_id_of_fetch, topic_of_element
from decoders.analysis.groups.group_events import EVENT_APIS, group_events_of
from decoders.analysis.groups.group_histories import GroupHistories
from decoders.analysis.groups.partition_offsets_and_lag import TopicPartition
from decoders.analysis.groups.share_deliveries import list_acknowledged_ranges
from decoders.analysis.record_traces.asked_records import AskedOffsets, AskedProducer, AskedRecords, RecordCondition
from decoders.analysis.record_traces.found_records import TOPIC_ID_LENGTH, FoundRecords
from decoders.analysis.record_traces.partition_tables import (
    NONE,
    UNACKNOWLEDGED,
    UNANSWERED,
    ExchangeSources,
    Identity,
    InternedValues,
    PartitionTables,
    TransactionEnd,
    read_items_by_partition,
    read_pair,
)
from decoders.analysis.record_traces.paths_read_by_record_index import OTHER_PATHS
from decoders.analysis.record_traces.record_contents import hash_record, read_record_rows
from decoders.exchanges.topic_and_node_names import NODE_LISTS, TOPIC_ID_SOURCES, TOPICS_MAX, NodeIds, values_at_path
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at, topic_array_paths
from decoders.limits import PARTITIONS_KEPT_MAX, ROWS_INDEXED_MAX, VALUES_MAX
from decoders.protocol_facts.api_keys import (
    DELETE_RECORDS,
    END_TXN,
    FETCH,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
)
from decoders.records.summarize_records import BatchHead, read_batch_heads
from decoders.wire.primitive_types import format_uuid
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["KEPT_FOR_AGES", "KEPT_FOR_LIVES", "RecordIndex", "TopicPartition"]

_OUT_OF_RANGE: Final = 1
# Called for each batch that was accepted: its exchange, partition, records field and header, and its first offset.
ObserveWrite = Callable[["Exchange", "TopicPartition", Any, "BatchHead", int], None]
KEPT_FOR_LIVES: Final = frozenset({"writes", "reads", "batches", "commits", "positions", "starts", "deliveries"})
KEPT_FOR_AGES: Final = frozenset({"writes", "batches", "reads", "commits"})
_OF_GROUPS: Final = frozenset({"reads", "wanted"})
# The APIs that tell names of topics, ids of nodes and members of groups.
_TELLING: Final = frozenset({*EVENT_APIS, *NODE_LISTS, *TOPIC_ID_SOURCES})


class RecordIndex:
    """The index of one run. `asked`: keep only what concerns these records, unless `keeps_all`; None: keep all.

    `kept`: the tables of partitions (partition_tables.py) that the answer needs; without those of readers, groups are
    not learnt either.
    """

    def __init__(
        self,
        asked: AskedRecords | None = None,
        *,
        keeps_all: bool = False,
        kept: frozenset[str] = KEPT_FOR_LIVES,
        observe_write: ObserveWrite | None = None,
    ) -> None:
        self._question = asked
        self._keeps_all = keeps_all  # the records that are asked for are noted all the same
        self.asked = None if keeps_all else asked
        self._notes_ends = isinstance(asked, AskedOffsets)  # what else may have been meant
        # Asked of records fields before anything else is read of an exchange.
        self._condition = self.asked if isinstance(self.asked, RecordCondition) else None
        self._observe_write = observe_write
        self._kept = kept
        self._keeps_batches = "batches" in kept
        # For ages, batches whose writes have their offsets say nothing, nor do commits but for who commits.
        self._is_for_ages = kept == KEPT_FOR_AGES
        self._begins_with_writes = self._is_for_ages or keeps_all
        self._committers: set[tuple[str, int, int, int]] = set()
        self._keeps_fingerprints = "fingerprints" in kept
        self._keeps_groups = not kept.isdisjoint(_OF_GROUPS)
        self._keeps_positions = not kept.isdisjoint({"reads", "starts", "wanted"})
        self._keeps_reads = "reads" in kept
        self._keeps_starts = "starts" in kept
        self._keeps_wanted = "wanted" in kept
        self._readers = {key: read for key, (read, tables) in _READERS.items() if not kept.isdisjoint(tables)}
        self.values = InternedValues()
        self._sources = ExchangeSources(self.values)
        self.partitions: dict[TopicPartition, PartitionTables] = {}
        self.histories = GroupHistories()
        self.nodes = NodeIds()
        self.topic_names: dict[str, str] = {}  # id → name
        self.ends: list[TransactionEnd] = []
        self.found = FoundRecords(asked)
        # Partition → producer id and first offset of transactions that answers to Fetch say to be aborted.
        self.aborted: dict[TopicPartition, set[tuple[int, int]]] = {}
        # Reader (client id, host), partition, and the node from which its leader told it to read.
        self.preferred: set[tuple[str | None, str, str, int, int]] = set()
        self._left_out: Counter[str] = Counter()
        self._rows = 0
        self._learns = False

    @property
    def left_out(self) -> Counter[str]:
        """How many rows and records the index had no room for, by what they are about: one of it, as a noun."""
        return self._left_out + Counter({"matching record": self.found.left_out})

    def list_asked_batches_without_offset(self, number: int, names: Iterable[str]) -> set[Identity] | None:
        """The batches of a partition with records asked for that have no offset; None: all of the index are such."""
        if not self._keeps_all:
            return None
        return {one for name in names for one in self.found.without_offset.get((name, number), ())}

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that are read of a side of an API."""
        found: set[str] = set()
        if api_key in self._readers:
            unread = (api_key, side) == (FETCH, "request") and not self._keeps_positions
            unread |= self._is_for_ages and side == "response" and api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
            found |= frozenset() if unread else topic_array_paths(api_key, side)
            found.update(OTHER_PATHS.get((api_key, side), ()))
        events = EVENT_APIS.get(api_key)
        if events is not None and self._keeps_groups:
            found.update(events.request if side == "request" else events.response)
        for source in TOPIC_ID_SOURCES.get(api_key, ()):
            if source.side == side:
                found |= {f"{source.path}.{source.name}", f"{source.path}.{source.id}"}
        if api_key in NODE_LISTS and side == "response":
            found.add("brokers")
        return frozenset(found)

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of offsets, and learn from it."""
        key = exchange.api_key
        if key is None:
            return
        if not exchange._looked:
            exchange._read_sides()
        if key in _TELLING and not self._learns:
            self._learn_names_and_groups(exchange, key)
        read = self._readers.get(key)
        if read is not None:
            read(self, exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn names and members of groups from an exchange, whether or not it counts.

        A caller that calls `learn` for exchanges that filters leave out has to call it for all.
        """
        self._learns = True
        if exchange.api_key in _TELLING:
            exchange._read_sides()
            self._learn_names_and_groups(exchange, exchange.api_key)

    def _learn_names_and_groups(self, exchange: Exchange, key: int) -> None:
        if key in EVENT_APIS and self._keeps_groups:
            for group, said in group_events_of(exchange):
                self.histories.add_event(group, said, exchange)
        if key in NODE_LISTS and isinstance(exchange._response_view, dict):
            self.nodes.add_brokers(exchange._response_view)
        for source in TOPIC_ID_SOURCES.get(key, ()):
            for entry in values_at_path(exchange.view(source.side), source.path):
                identity, name = entry.get(source.id), entry.get(source.name)
                if name and identity and identity.int and len(self.topic_names) < TOPICS_MAX:
                    self.topic_names.setdefault(format_uuid(identity.bytes), name)

    # Rows.

    def _tables_of_partition(self, where: TopicPartition) -> PartitionTables:
        found = self.partitions.get(where)
        if found is None:
            found = PartitionTables()
            if len(self.partitions) < PARTITIONS_KEPT_MAX:
                self.partitions[where] = found
            else:
                self._left_out["partition"] += 1
        return found

    def _admit_row(self, noun: str) -> bool:
        """Whether one more row may be kept, which is then counted; the noun is what it is about."""
        if self._rows >= ROWS_INDEXED_MAX:
            self._left_out[noun] += 1
            return False
        self._rows += 1
        return True

    def _topic_asked_about(self, exchange: Exchange, element: Any) -> str | None:
        """The topic of an element by name or id; None where the question is about another one."""
        topic = topic_of_element(exchange, element)
        asked = self.asked
        if topic is None or asked.__class__ is not AskedOffsets:
            return topic
        assert isinstance(asked, AskedOffsets)
        if topic == asked.topic:
            return topic
        identity = element.get("topic_id")
        if identity is None or not identity.int:
            return topic if self.topic_names.get(asked.topic) == topic else None
        text = format_uuid(identity.bytes)
        return topic if text in (topic, asked.topic) else None  # its name may be told later

    def _is_asked_about(self, number: int | None) -> bool:
        """Whether a partition may have records that are asked for."""
        asked = self.asked
        return number is not None and (not isinstance(asked, AskedOffsets) or asked.partition == number)

    def _list_partitions(self, exchange: Exchange, array: Any) -> list[tuple[str, int, dict[str, Any]]]:
        """Topic, number and struct of each partition of an array that is asked about."""
        if isinstance(self.asked, AskedOffsets):
            return list(self._iterate_asked_partitions(exchange, array))
        view = exchange._request_view if array.side == "request" else exchange._response_view
        number, partitions, found = array.number, array.partitions, []
        for element in structs_at(view, array.topics):
            topic = element.get("name") or element.get("topic")
            if topic.__class__ is not str:
                topic = topic_of_element(exchange, element)
            if topic is not None:
                parts = element.get(partitions)
                for part in parts if parts.__class__ is list else structs_at(element, partitions):
                    if isinstance(part, dict) and (its := part.get(number)) is not None:
                        found.append((topic, its, part))
        return found

    def _iterate_asked_partitions(self, exchange: Exchange, array: Any) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Those of the partition that is asked about; the others are noted."""
        for element in structs_at(exchange.view(array.side), array.topics):
            topic = self._topic_asked_about(exchange, element)
            if topic is None:
                self.found.note_end_of_partition((topic_of_element(exchange, element) or "", NONE), NONE)
                continue
            for part in structs_at(element, array.partitions):
                number = part.get(array.number)
                if number is None:
                    continue
                if self._is_asked_about(number):
                    yield topic, number, part
                else:
                    self.found.note_end_of_partition((topic, number), NONE)

    # What each API says.

    def _add_writes(self, exchange: Exchange) -> None:
        """Add the batches of a Produce."""
        asked, answered = TOPIC_ARRAYS[PRODUCE]
        condition, raw = self._condition, exchange.request_raw
        parts = self._list_partitions(exchange, asked)
        if condition is not None and not any(
            condition.may_hold_asked(topic, part.get(asked.records), raw) for topic, _, part in parts
        ):
            return
        answers = {(topic, number): part for topic, number, part in self._list_partitions(exchange, answered)}
        request = exchange._request_view if isinstance(exchange._request_view, dict) else {}
        acks = int(request.get("acks") or 0)
        no_answer = UNACKNOWLEDGED if exchange.outcome == "no_response_expected" else UNANSWERED
        source: tuple[int, int, int, int] | None = None
        answered_ns = NONE if exchange.response_ns is None else exchange.response_ns
        transaction = self.values.intern_value(request.get("transactional_id"))
        for topic, number, part in parts:
            where = topic, number
            answer = answers.get(where, {})
            code, first = answer.get(answered.error, no_answer), answer.get(answered.offset, NONE)
            if code:
                first = NONE
            records = part.get(asked.records)
            for head in read_batch_heads(records, raw, verify_checksums=False):
                count = max(head.offset_count, 1)
                asked_for = self._question is None or self._note_asked_write(exchange, where, records, head, first)
                if (asked_for or self._keeps_all) and self._admit_row("batch"):
                    source = source or self._sources.make_source_numbers(exchange)
                    row = (exchange.time_ns, answered_ns, first, count, code, *source, head.size, head.producer_id)
                    rest = (head.producer_epoch, head.base_sequence, NONE if head.crc is None else head.crc)
                    newest = NONE if head.max_timestamp is None else head.max_timestamp
                    codec = self.values.intern_value(head.codec)
                    self._tables_of_partition(where).writes.add_row((*row, *rest, newest, acks, codec, transaction))
                    if self._keeps_fingerprints and first >= 0 and head.producer_id < 0:
                        self._add_fingerprints(exchange, where, records, head, first, source)
                if first >= 0:
                    if self._begins_with_writes:
                        self._tables_of_partition(where).begun.add(first)
                    if self._observe_write is not None:
                        self._observe_write(exchange, where, records, head, first)
                    first += count
                    if self._notes_ends:
                        self.found.note_end_of_partition(where, first)

    def _add_fingerprints(
        self,
        exchange: Exchange,
        where: TopicPartition,
        records: Any,
        head: BatchHead,
        first: int,
        source: tuple[int, int, int, int],
    ) -> None:
        """Add a fingerprint of each record of a batch that was written from the offset `first` on."""
        table = self._tables_of_partition(where).fingerprints
        time_ns, first = exchange.time_ns, first - head.base_offset
        for row in read_record_rows(records, exchange.request_raw, head):
            if row[1] is not None and self._admit_row("record"):  # magic 0 has no create time
                table.add_row((first + row[0], hash_record(row), time_ns, *source))

    def _note_asked_write(
        self, exchange: Exchange, where: TopicPartition, records: Any, head: BatchHead, first: int
    ) -> bool:
        """Whether a batch of a Produce has, or may have, records that are asked for; notes which these are."""
        asked, count = self._question, max(head.offset_count, 1)
        assert asked is not None
        if self._keeps_all and not self.found.may_hold_asked(where):
            return False
        if isinstance(asked, AskedOffsets):
            if first >= 0 and (first > asked.last or first + count <= asked.first):
                return False
            if first >= 0:
                self.found.note_asked_contents(exchange, where, records, head, first)
            return True  # without an offset, it may be a try to write the records asked for
        if isinstance(asked, AskedProducer):
            if head.producer_id != asked.producer_id:
                return False
            its = range(min(count, head.size if head.codec == "none" else VALUES_MAX))  # a header may say what it will
            found = [number for number in its if asked.sequence in (None, head.base_sequence + number)]
        else:
            offsets = asked.list_passing_offsets(where[0], records, exchange.request_raw, head)
            found = [offset - head.base_offset for offset in offsets]
        if found and first >= 0:
            self.found.note_matches(where, [first + number for number in found])
            self.found.note_asked_contents(exchange, where, records, head, first)
        elif found and self._keeps_all:
            self.found.note_matching_batch_without_offset(where, head)
        return bool(found)

    def _add_reads(self, exchange: Exchange) -> None:
        """Add what a Fetch got, and where logs begin."""
        given, condition, raw = TOPIC_ARRAYS[FETCH][1], self._condition, exchange.response_raw
        request = exchange._request_view if isinstance(exchange._request_view, dict) else {}
        replica = replica_id_of_fetch(request)
        times = exchange.time_ns, NONE if exchange.response_ns is None else exchange.response_ns
        positions: dict[TopicPartition, int] | None = None
        source: tuple[int, int, int, int] | None = None
        if self._keeps_wanted and replica < 0:
            positions = self._read_positions(exchange)
            self._add_wanted_offsets(exchange, positions)
        for topic, number, part in self._list_partitions(exchange, given):
            where, error = (topic, number), part.get(given.error)
            records = None if exchange.reason == "incomplete" else part.get(given.records)  # nobody got half an answer
            if self._keeps_starts and (error == _OUT_OF_RANGE or part.get("log_start_offset", 0) > 0):
                positions = self._read_positions(exchange) if positions is None else positions
                self._add_log_start(exchange, where, part, positions.get(where, NONE))
            preferred = part.get("preferred_read_replica", NONE)
            if preferred is not None and preferred >= 0:
                client = exchange.connection_info.client.rpartition(":")[0]
                self.preferred.add((exchange.client_id, client, topic, number, preferred))
            if not records or error or (condition is not None and not condition.may_hold_asked(topic, records, raw)):
                continue
            heads = list(read_batch_heads(records, raw, verify_checksums=False))
            if not heads:
                continue
            for head in heads:
                if head.base_sequence < 0 <= head.producer_id and self._keeps_reads and self._admit_row("marker"):
                    self._tables_of_partition(where).markers.add((head.producer_id, head.base_offset))
            positions = self._read_positions(exchange) if positions is None else positions
            position = positions.get(where, NONE)
            first, end = max(heads[0].base_offset, position), heads[-1].last_offset + 1
            if self._notes_ends:
                self.found.note_end_of_partition(where, end)
            if end <= first:
                continue
            asked_for = self._note_asked_read(exchange, where, records, heads, (first, end))
            if (asked_for or self._keeps_all) and self._keeps_reads and self._admit_row("read"):
                source = source or self._sources.make_source_numbers(exchange)
                committed = int(request.get("isolation_level") or 0)
                row = (*times, position, first, end, *source, replica, committed)
                self._tables_of_partition(where).reads.add_row(row)
                if part.get("aborted_transactions"):
                    self._note_aborted_transactions(where, part, end)

    def _read_positions(self, exchange: Exchange) -> dict[TopicPartition, int]:
        """Where a Fetch reads each of its partitions; none where the answer needs no positions."""
        wanted = TOPIC_ARRAYS[FETCH][0]
        parts = self._list_partitions(exchange, wanted) if self._keeps_positions else ()
        return {(topic, number): part.get(wanted.offset, NONE) for topic, number, part in parts}

    def _add_wanted_offsets(self, exchange: Exchange, positions: dict[TopicPartition, int]) -> None:
        """Add what a consumer wants next of partitions, where that, or whether it is seen what it got, is new."""
        answered = isinstance(exchange._response_view, dict) and not exchange._failed and exchange.response_ns
        seen = int(bool(answered) or exchange.reason == "incomplete")
        source = self._sources.make_source_numbers(exchange)
        for where, position in positions.items():
            tables = self._tables_of_partition(where)
            if tables.wants.get(source[0]) != (position, seen) and self._admit_row("position"):
                tables.wants[source[0]] = position, seen
                tables.wanted.add_row((exchange.time_ns, position, seen, *source))

    def _note_aborted_transactions(self, where: TopicPartition, part: dict[str, Any], end: int) -> None:
        for row in structs_at(part, "aborted_transactions"):
            producer, first = row.get("producer_id"), row.get("first_offset")
            if producer is not None and first is not None and first < end and self._admit_row("aborted transaction"):
                self.aborted.setdefault(where, set()).add((producer, first))

    def _note_asked_read(
        self, exchange: Exchange, where: TopicPartition, records: Any, heads: list[BatchHead], span: tuple[int, int]
    ) -> bool:
        """Whether a Fetch got records that are asked for; notes these, and the batches that they are in."""
        asked = self._question
        first, end = span
        if asked is None or self._keeps_all:
            if self._keeps_batches or len(where[0]) == TOPIC_ID_LENGTH:  # which the batches may name
                self._add_batches(where, heads)
            if asked is None:
                return True
            if not self.found.may_hold_asked(where):
                return False
        if isinstance(asked, AskedOffsets):
            low, high = max(asked.first, first), min(asked.last + 1, end)
            if low >= high:
                return False
            self.found.note_missing_offsets(exchange, where, records, heads, (low, high))
        inside = self.found.note_asked_batches(exchange, where, records, heads, first)
        self._add_batches(where, inside)
        return bool(inside) or isinstance(asked, AskedOffsets)

    def _add_batches(self, where: TopicPartition, heads: list[BatchHead]) -> None:
        """Add batches of a log, each once; a batch is known by the offset where it begins."""
        tables = self._tables_of_partition(where)
        begun = tables.begun
        for head in heads:
            base, last, newest, crc = head.base_offset, head.last_offset, head.max_timestamp, head.crc
            if base not in begun and self._admit_row("batch"):
                begun.add(base)
                its = base, last, head.records, head.size, head.producer_id, head.producer_epoch, head.base_sequence
                tables.batches.add_row((*its, NONE if crc is None else crc, NONE if newest is None else newest))

    def _add_log_start(self, exchange: Exchange, where: TopicPartition, part: dict[str, Any], position: int) -> None:
        """Add where a log begins, where that is new, or a position that was outside of the log."""
        tables = self._tables_of_partition(where)
        outside = position if part.get("error_code") == _OUT_OF_RANGE else NONE
        start = part.get("log_start_offset", NONE)
        time_ns = exchange.response_ns or exchange.time_ns
        if (outside >= 0 or tables.note_first_log_start(start, time_ns)) and self._admit_row("log start"):
            tables.starts.add_row((time_ns, start, outside, *self._sources.make_source_numbers(exchange)))

    def _add_deliveries(self, exchange: Exchange) -> None:
        """Add what a member of a share group acquired and acknowledged."""
        request, key = exchange._request_view, exchange.api_key
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or not isinstance(request, dict) or key is None:
            return
        asked, answered = TOPIC_ARRAYS[key]
        error = "acknowledge_error_code" if key == SHARE_FETCH else answered.error
        numbers = self.values.intern_value(group), self.values.intern_value(request.get("member_id") or None)
        codes: dict[TopicPartition, int] = {}
        source = self._sources.make_source_numbers(exchange)

        def add_row(where: TopicPartition, time_ns: int, span: tuple[int, int], *rest: int) -> None:
            if self._is_span_asked_for(*span) and self._admit_row("delivery"):
                row = (time_ns, span[0], span[1] + 1, *rest, *source, *numbers)
                self._tables_of_partition(where).deliveries.add_row(row)

        for topic, number, part in self._list_partitions(exchange, answered):
            codes[topic, number] = int(part.get(error) or 0)
            records = part.get(answered.records) if answered.records else None
            heads = list(read_batch_heads(records, exchange.response_raw, verify_checksums=False)) if records else []
            if heads:
                self.found.note_end_of_partition((topic, number), heads[-1].last_offset + 1)
                inside = self.found.note_asked_batches(exchange, (topic, number), records, heads, heads[0].base_offset)
                self._add_batches((topic, number), heads if self._keeps_all else inside)
            for row in structs_at(part, "acquired_records"):
                span, count = (row.get("first_offset", NONE), row.get("last_offset", NONE)), row.get("delivery_count")
                add_row((topic, number), exchange.response_ns or exchange.time_ns, span, NONE, int(count or 0), 0)
        for topic, number, part in self._list_partitions(exchange, asked):
            for batch in structs_at(part, "acknowledgement_batches"):
                for kind, *ends in list_acknowledged_ranges(batch):
                    code = codes.get((topic, number), UNANSWERED)
                    add_row((topic, number), exchange.time_ns, (ends[0], ends[1]), kind, 0, code)

    def _is_span_asked_for(self, first: int, last: int) -> bool:
        asked = self.asked
        return not isinstance(asked, AskedOffsets) or (first <= asked.last and last >= asked.first)

    def _add_log_starts_after_deletion(self, exchange: Exchange) -> None:
        """Add where logs begin once DeleteRecords was answered."""
        _, answered = TOPIC_ARRAYS[DELETE_RECORDS]
        for topic, number, part in self._list_partitions(exchange, answered):
            if not part.get(answered.error):
                start = {"log_start_offset": part.get("low_watermark", NONE)}
                self._add_log_start(exchange, (topic, number), start, NONE)

    def _add_commits(self, exchange: Exchange) -> None:
        """Add the offsets that an OffsetCommit or TxnOffsetCommit commits."""
        request = exchange._request_view
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or not isinstance(request, dict) or exchange.api_key is None:
            return
        asked, answered = TOPIC_ARRAYS[exchange.api_key]
        codes = {
            (topic, number): part.get(answered.error)
            for topic, number, part in self._list_partitions(exchange, answered)
        }
        values = self.values
        named = (
            values.intern_value(group),
            int(request.get("generation_id_or_member_epoch", NONE)),
            values.intern_value(request.get("member_id") or None),
            values.intern_value(request.get("transactional_id")),
        )
        source = self._sources.make_source_numbers(exchange)
        answered_ns = NONE if exchange.response_ns is None else exchange.response_ns
        for topic, number, part in self._list_partitions(exchange, asked):
            if self._is_for_ages:
                committer = topic, number, named[0], source[0]
                if committer in self._committers:
                    continue
                self._committers.add(committer)
            offset = int(part.get(asked.offset, NONE))
            if isinstance(self.asked, AskedOffsets) and offset <= self.asked.first:
                continue
            code = int(codes.get((topic, number), UNANSWERED) or 0)
            if self._admit_row("commit"):
                self._tables_of_partition((topic, number)).commits.add_row(
                    (exchange.time_ns, answered_ns, offset, code, *source, *named)
                )

    def _add_fetched_offsets(self, exchange: Exchange) -> None:
        """Add where a group's members begin, from an answer to OffsetFetch."""
        request, response = exchange._request_view, exchange._response_view
        if not isinstance(request, dict) or not isinstance(response, dict):
            return
        answered = TOPIC_ARRAYS[OFFSET_FETCH][-1]
        if "groups" in response:
            whole: Any = structs_at(response, "groups")
        else:
            whole = ({**response, "group_id": request.get("group_id")},)
        source: tuple[int, int, int, int] | None = None
        times = exchange.time_ns, NONE if exchange.response_ns is None else exchange.response_ns
        for row in whole:
            group = row.get("group_id")
            for element, part in partitions_in(row, answered):
                number = part.get(answered.number)
                topic = self._topic_asked_about(exchange, element) if self._is_asked_about(number) else None
                if (
                    not group
                    or topic is None
                    or part.get(answered.error)
                    or row.get("error_code")
                    or not self._admit_row("position")
                ):
                    continue
                source = source or self._sources.make_source_numbers(exchange)
                offset = max(part.get(answered.offset, NONE), NONE)
                self._tables_of_partition((topic, int(number or 0))).positions.add_row(
                    (*times, offset, *source, self.values.intern_value(group))
                )

    def _add_transaction_end(self, exchange: Exchange) -> None:
        """Add the end of a transaction that a producer asks for, where it was not refused."""
        request, response = exchange._request_view, exchange._response_view
        if not isinstance(request, dict) or (isinstance(response, dict) and response.get("error_code")):
            return
        if request.get("producer_id") is not None:
            self._keep_transaction_end(
                exchange, request, bool(request.get("committed")), request.get("transactional_id")
            )

    def _add_transaction_markers(self, exchange: Exchange) -> None:
        """Add the ends of transactions that a coordinator has written."""
        for row in structs_at(exchange._request_view, "markers"):
            if row.get("producer_id") is not None:
                self._keep_transaction_end(exchange, row, bool(row.get("transaction_result")), None)

    def _keep_transaction_end(
        self, exchange: Exchange, row: dict[str, Any], committed: bool, transaction: str | None
    ) -> None:
        asked = self.asked
        if isinstance(asked, AskedProducer) and asked.producer_id != row["producer_id"]:
            return
        if self._admit_row("transaction end"):
            answered = NONE if exchange.response_ns is None else exchange.response_ns
            number = self.values.intern_value(transaction)
            its = (exchange.time_ns, answered, row["producer_id"], int(row.get("producer_epoch") or 0), int(committed))
            self.ends.append(TransactionEnd(*its, number, *self._sources.make_source_numbers(exchange)))

    # The state.

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        numbers = self.values.merge(other.values)
        for where, tables in other.partitions.items():
            self._tables_of_partition(where).merge(tables, numbers)
        self._rows += other._rows
        self._left_out += other._left_out
        self.found.merge(other.found)
        self.histories.merge(other.histories)
        self.nodes.update(other.nodes)
        for identity, name in other.topic_names.items():
            self.topic_names.setdefault(identity, name)
        for end in other.ends:
            transaction = numbers[end.transaction] if end.transaction >= 0 else NONE
            self.ends.append(end._replace(transaction=transaction, sender=numbers[end.sender]))
        for where, aborted in other.aborted.items():
            self.aborted.setdefault(where, set()).update(aborted)
        self.preferred |= other.preferred

    def state(self) -> list[object]:
        """The state as built-in values, for `resume_state`."""
        return [
            self.values.state(),
            [[where, tables.state()] for where, tables in self.partitions.items()],
            self.histories.state(),
            dict(self.nodes),
            self.topic_names,
            [tuple(end) for end in self.ends],
            self.found.state(),
            [[where, sorted(pairs)] for where, pairs in self.aborted.items()],
            sorted(self.preferred, key=repr),
            dict(self._left_out),
            self._rows,
            self._learns,
        ]

    def resume_state(self, state: object) -> None:
        """Restore a `state` of an index with the same question. Raises DecodeError."""
        kinds = (list, list, list, dict, dict, *[list] * 4, dict, int, bool)
        values, partitions, histories, nodes, names, ends, found, aborted, preferred, *rest = state_fields(
            state, *kinds
        )
        left_out, self._rows, self._learns = rest
        for pair in left_out.items():
            noun, count = state_fields(pair, str, int)
            self._left_out[noun] = count
        self.found.resume_state(found)
        self.values = InternedValues.make_resumed(values)
        self._sources = ExchangeSources(self.values)
        for where, its in read_items_by_partition(partitions, list):
            self.partitions[where] = PartitionTables.make_resumed(its, len(self.values.values))
        self.histories = GroupHistories.make_resumed(histories)
        for address, node in nodes.items():
            name, number = state_fields((address, node), str, int)
            self.nodes[name] = number
        for pair in names.items():
            identity, name = state_fields(pair, str, str)
            self.topic_names[identity] = name
        self.ends = [TransactionEnd(*state_fields(end, *[int] * len(TransactionEnd._fields))) for end in ends]
        for where, pairs in read_items_by_partition(aborted, list):
            self.aborted[where] = set(map(read_pair, pairs))
        for each in preferred:
            client_id, host, topic, number, node = state_fields(each, str | None, str, str, int, int)
            self.preferred.add((client_id, host, topic, number, node))


# What reads an API, and the tables that it fills.
_READERS: Final[dict[int, tuple[Callable[[RecordIndex, Exchange], None], tuple[str, ...]]]] = {
    PRODUCE: (RecordIndex._add_writes, ("writes",)),
    FETCH: (RecordIndex._add_reads, ("reads", "batches", "starts", "wanted")),
    OFFSET_COMMIT: (RecordIndex._add_commits, ("commits",)),
    TXN_OFFSET_COMMIT: (RecordIndex._add_commits, ("commits",)),
    OFFSET_FETCH: (RecordIndex._add_fetched_offsets, ("positions",)),
    DELETE_RECORDS: (RecordIndex._add_log_starts_after_deletion, ("starts",)),
    SHARE_FETCH: (RecordIndex._add_deliveries, ("deliveries",)),
    SHARE_ACKNOWLEDGE: (RecordIndex._add_deliveries, ("deliveries",)),
    END_TXN: (RecordIndex._add_transaction_end, ("reads",)),
    WRITE_TXN_MARKERS: (RecordIndex._add_transaction_markers, ("reads",)),
}
