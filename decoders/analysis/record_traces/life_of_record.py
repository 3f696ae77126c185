"""The index and a record's partition and offset in; its life out: what happened to it, in the order of time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.resent_batches import make_evidence_row, set_file_name_in_evidence
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.analysis.record_traces.partition_tables import (
    NONE,
    UNACKNOWLEDGED,
    Commit,
    ConnectionEnds,
    Identity,
    LoggedBatch,
    PartitionTables,
    Position,
    Read,
    ShareDelivery,
    TransactionEnd,
    Write,
    identity_of_batch,
)
from decoders.analysis.record_traces.reader_groups import ReaderGroup, ReaderGroups
from decoders.limits import RECORDS_TRACED_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.record_contents import RecordContents
    from decoders.analysis.record_traces.record_index import RecordIndex, TopicPartition

__all__ = ["LivesOfRecords"]

_MS: Final = 1_000_000


def find_names_of_topic_ids(index: RecordIndex) -> dict[str, str]:
    """The names of topic ids: those that were told, and those of topics whose batches are the same."""
    known = dict(index.topic_names)
    nameless = [
        where for where in index.partitions if where[0] not in known and _has_reads_alone(index.partitions[where])
    ]
    if nameless:
        known |= _names_by_equal_batches(index, nameless)
    return known


def _tables_by_topic(index: RecordIndex, known: Mapping[str, str]) -> dict[TopicPartition, list[PartitionTables]]:
    """The tables of each partition, with what stands under the id of a topic under its name where that is known."""
    found: defaultdict[TopicPartition, list[PartitionTables]] = defaultdict(list)
    for (topic, number), tables in sorted(index.partitions.items()):
        found[known.get(topic, topic), number].append(tables)
    return found


def _has_reads_alone(tables: PartitionTables) -> bool:
    return not len(tables.writes) and bool(len(tables.batches))


def _names_by_equal_batches(index: RecordIndex, nameless: Iterable[TopicPartition]) -> dict[str, str]:
    """Names of topic ids whose batches are, offset by offset and with the same checksums, those of a named topic."""
    written: dict[tuple[int, int, int], set[str]] = defaultdict(set)
    for (topic, number), tables in index.partitions.items():
        for write in tables.writes:
            if write.first >= 0 and write.crc >= 0:
                written[number, write.first, write.crc].add(topic)
    found: dict[str, set[str]] = defaultdict(set)
    for topic, number in nameless:
        for batch in index.partitions[topic, number].batches:
            found[topic] |= written.get((number, batch.first, batch.crc), set())
    return {topic: next(iter(names)) for topic, names in found.items() if len(names) == 1 and topic not in names}


class _Event(NamedTuple):
    """Something that happened to a record; `row` has what its row has besides time and evidence."""

    time: int
    order: int
    row: dict[str, Any]
    evidence: tuple[int, int, int, int]


# Events of the same time, in this order.
_ORDER: Final = {
    name: number
    for number, name in enumerate(
        (
            "produced",
            "replicated",
            "transaction_committed",
            "transaction_aborted",
            "read",
            "dropped",
            "acquired",
            "committed",
            *("accepted", "released", "rejected", "renewed"),
            "expired",
            "absent",
        )
    )
}


# Type of a member's acknowledgement in a share group → the event; 0 says of an offset that there is no record.
_ACKNOWLEDGED: Final = {1: "accepted", 2: "released", 3: "rejected", 4: "renewed"}
# By what a record comes to a reader, and how the reader is done with it.
_READS: Final = frozenset({"read", "acquired"})
_COMMITS: Final = frozenset({"committed", "accepted"})


class _PartitionRows:
    """The rows of a partition, in order."""

    def __init__(self, tables: Sequence[PartitionTables], absent: Mapping[int, int]) -> None:
        self.writes: list[Write] = sorted(chain.from_iterable(each.writes for each in tables))
        self.reads: list[Read] = sorted(chain.from_iterable(each.reads for each in tables))
        self.batches: list[LoggedBatch] = sorted({*chain.from_iterable(each.batches for each in tables)})
        self.markers = {*chain.from_iterable(each.markers for each in tables)}
        self.absent = absent
        self.commits: defaultdict[int, list[Commit]] = defaultdict(list)
        for commit in sorted(chain.from_iterable(each.commits for each in tables)):
            if commit.code == 0:
                self.commits[commit.group].append(commit)
        self.positions: defaultdict[int, list[Position]] = defaultdict(list)
        for position in sorted(chain.from_iterable(each.positions for each in tables)):
            self.positions[position.group].append(position)
        self.deliveries: list[ShareDelivery] = sorted(chain.from_iterable(each.deliveries for each in tables))
        self.starts = sorted(chain.from_iterable(each.starts for each in tables))
        self.by_identity: defaultdict[Identity, list[Write]] = defaultdict(list)
        for write in self.writes:
            identity = identity_of_batch(write)
            if identity is not None:
                self.by_identity[identity].append(write)


class LivesOfRecords:
    """Answers for the records of one index."""

    def __init__(self, index: RecordIndex, file_names: Sequence[str] = ()) -> None:
        self._index = index
        self._file_names = file_names
        # Of records that are not asked for.
        self.contents_of_others: dict[tuple[str, int, int], RecordContents] = {}
        self.names = find_names_of_topic_ids(index)
        self.tables = _tables_by_topic(index, self.names)
        self._latest: tuple[TopicPartition, _PartitionRows] | None = None  # those of all would take a GB
        self._clients: dict[int, tuple[str, str]] = {}
        self._groups = ReaderGroups(index.histories, self._committers())
        self._aborted: defaultdict[TopicPartition, set[tuple[int, int]]] = defaultdict(set)
        self._ends: defaultdict[int, list[TransactionEnd]] = defaultdict(list)
        for end in sorted(index.ends):
            self._ends[end.producer].append(end)

    def _committers(self) -> Iterator[tuple[str, tuple[str, str], TopicPartition]]:
        value_of = self._index.values.value_of_number
        columns = "group", "sender", "member", "generation"
        for where, several in self.tables.items():
            rows = chain.from_iterable(each.commits.select_columns(*columns) for each in several)
            for group, sender in {(row[0], row[1]) for row in rows if row[2] >= 0 or row[3] < 0}:
                yield value_of(group), self.client_of(sender), where

    def connection_ends_of(self, sender: int) -> ConnectionEnds:
        """The two ends of a connection."""
        found: ConnectionEnds = self._index.values.value_of_number(sender)
        return found

    def client_of(self, sender: int) -> tuple[str, str]:
        """The client of a connection: its client id, or else its host; and its host."""
        found = self._clients.get(sender)
        if found is None:
            ends = self.connection_ends_of(sender)
            found = self._clients[sender] = client_of(ends.client_id, ends.client), host_of(ends.client)
        return found

    def client_id_of(self, sender: int) -> str | None:
        """The client id on a connection."""
        return self.connection_ends_of(sender).client_id

    def text_of_number(self, number: int) -> str:
        """The text that has a number in rows."""
        return str(self._index.values.value_of_number(number))

    def group_of_read(
        self, sender: int, where: TopicPartition, time_ns: int, asked_ns: int | None = None
    ) -> ReaderGroup | None:
        """For which group the client of a connection reads a partition at a time, what it asked for at `asked_ns`."""
        return self._groups.find_group(self.client_of(sender), where, time_ns, asked_ns)

    def is_reader_sent_to_follower(self, sender: int, where: TopicPartition) -> bool:
        """Whether a leader has told the client of a connection to read a partition from another node (KIP-392)."""
        ends = self.connection_ends_of(sender)
        its = ends.client_id, host_of(ends.client)
        names = self._names_of_topic(where[0])
        return any(
            (client_id, host) == its and topic in names and number == where[1]
            for client_id, host, topic, number, _ in self._index.preferred
        )

    def _names_of_topic(self, topic: str) -> set[str]:
        """The name of a topic, and the ids that it has."""
        return {topic, *(identity for identity, name in self.names.items() if name == topic)}

    @staticmethod
    def format_time(time_ns: int) -> str:
        """A time of a row as answers have it."""
        return format_rfc3339(time_ns)

    def evidence_of(self, row: Any) -> Row:
        """The exchange of a row, as rows of answers have it."""
        ends = self.connection_ends_of(row.sender)
        numbers = (None if each < 0 else each for each in (row.correlation, row.packet, row.packet_end))
        evidence: Any = (row.time, ends.connection, ends.client, ends.broker, *numbers, ends.file)
        return make_evidence_row(
            set_file_name_in_evidence(evidence, self._file_names) if self._file_names else evidence
        )

    def rows_of_partition(self, where: TopicPartition) -> _PartitionRows:
        """The rows of a partition; those of the latest one are kept."""
        if self._latest is not None and self._latest[0] == where:
            return self._latest[1]
        absent: dict[int, int] = {}
        for name in self._names_of_topic(where[0]):
            absent |= self._index.found.absent.get((name, where[1]), {})
            self._aborted[where] |= self._index.aborted.get((name, where[1]), set())
        found = _PartitionRows(self.tables.get(where, ()), absent)
        self._latest = where, found
        return found

    def list_offsets_seen(self, where: TopicPartition, first: int, last: int) -> list[int]:
        """The offsets from `first` to `last` that something in the capture is about, in order."""
        partition = self.rows_of_partition(where)
        found: set[int] = set()
        spans = [(write.first, write.first + write.records) for write in partition.writes if write.first >= 0]
        spans += [(read.first, read.end) for read in partition.reads]
        spans += [(batch.first, batch.last + 1) for batch in partition.batches]
        spans += [(each.first, each.end) for each in partition.deliveries]
        for low, high in sorted({*spans}):
            found.update(range(max(low, first), min(high, last + 1)))
            if len(found) > RECORDS_TRACED_MAX:
                break
        if any(first < each.offset for each in partition.starts):
            found.add(first)
        return sorted(found)

    def find_reads_by_consumers(
        self, where: TopicPartition, offset: int
    ) -> Iterator[tuple[int, tuple[str | None, str]]]:
        """When consumers got a record, with the client id and host of each; followers are none."""
        partition = self.rows_of_partition(where)
        its: list[tuple[int, Read | ShareDelivery]] = [
            (read.answered, read)
            for read in partition.reads
            if read.first <= offset < read.end and read.replica < 0 <= read.answered
        ]
        its += [
            (each.time, each) for each in partition.deliveries if each.kind == NONE and each.first <= offset < each.end
        ]
        for time, row in its:
            ends = self.connection_ends_of(row.sender)
            yield time, (ends.client_id, host_of(ends.client))

    # One record.

    def make_row(self, where: TopicPartition, offset: int) -> Row:
        """The row of a record that has an offset."""
        partition = self.rows_of_partition(where)
        writes = self._find_tries(partition, offset)
        return self._make_life_row(where, offset, partition, writes)

    def make_rows_without_offset(self, where: TopicPartition) -> Iterator[Row]:
        """Rows for batches with records that are asked for, of which nothing tells the offset."""
        partition = self.rows_of_partition(where)
        its = {*map(identity_of_batch, partition.batches)}
        asked = self._index.list_asked_batches_without_offset(where[1], self._names_of_topic(where[0]))
        for identity, tries in partition.by_identity.items():
            if identity not in its and (asked is None or identity in asked) and all(write.first < 0 for write in tries):
                yield self._make_life_row(where, None, partition, tries)

    def _find_tries(self, partition: _PartitionRows, offset: int) -> list[Write]:
        """All tries to write the batch of a record: those given its offset, and those known again by their batch."""
        placed = [write for write in partition.writes if 0 <= write.first <= offset < write.first + write.records]
        its: set[Identity | None] = {identity_of_batch(write) for write in placed}
        at = bisect_right(partition.batches, offset, key=lambda batch: batch.first) - 1
        if at >= 0 and partition.batches[at].last >= offset:
            its.add(identity_of_batch(partition.batches[at]))
        found = {*placed, *(write for one in its if one is not None for write in partition.by_identity.get(one, ()))}
        return sorted(found)

    def _make_life_row(
        self, where: TopicPartition, offset: int | None, partition: _PartitionRows, writes: list[Write]
    ) -> Row:
        index = None if offset is None else _index_in_batch(partition, writes, offset)
        events = [self._event_of_write(write, offset, index) for write in writes]
        began = min((write.time for write in writes), default=None)
        if offset is not None:
            events += self._events_of_reads(where, partition, offset)
            events += self._events_of_commits(partition, offset)
            events += self._events_of_deliveries(partition, offset)
            events += self._events_of_loss(partition, offset)
        transaction = self._find_transaction(where, partition, offset, writes, events)
        events.sort(key=lambda event: (event.time, event.order, repr(event.row)))
        contents = None if offset is None else self._find_contents(where, offset)
        accepted = next((write for write in writes if write.first >= 0 or write.code == _DUPLICATE), None)
        return {
            "topic": where[0],
            "partition": where[1],
            "offset": offset,
            "timestamp": None
            if contents is None or contents.timestamp is None
            else format_timestamp_ms(contents.timestamp),
            "key": None if contents is None else contents.key,
            "value_size": None if contents is None else contents.value_size,
            "headers": [] if contents is None else [{"key": key, "value": held} for key, held in contents.headers],
            "produced_by": self.connection_ends_of(writes[0].sender).client_id if writes else None,
            "produced": None if began is None else format_rfc3339(began),
            "acknowledged": None if accepted is None or accepted.answered < 0 else format_rfc3339(accepted.answered),
            "tries": len(writes),
            "transaction": transaction,
            "read_by": self._make_reader_rows(events, began),
            "downstream_of": None,
            "events": [self._make_event_row(event, began) for event in events],
            "not_in_capture": list(_list_unseen_parts_of_life(where, offset, writes, events)),
        }

    def _find_contents(self, where: TopicPartition, offset: int) -> RecordContents | None:
        index, place = self._index, (*where, offset)
        found = index.found.contents.get(place) or self.contents_of_others.get(place)
        if found is None:
            names = (identity for identity, name in self.names.items() if name == where[0])
            found = next(filter(None, (index.found.contents.get((name, where[1], offset)) for name in names)), None)
        return found

    def _make_event(self, kind: str, time: int, row: Any, **fields: Any) -> _Event:
        its = row.sender, row.correlation, row.packet, row.packet_end
        return _Event(time, _ORDER[kind], {"event": kind, **fields}, its)

    def _event_of_write(self, write: Write, offset: int | None, index: int | None) -> _Event:
        error = error_name(write.code) if write.code > 0 else None
        why = None
        if write.code == UNACKNOWLEDGED:
            why = "no answer was wanted (acks=0)"
        elif write.code < 0:
            why = "not answered"
        elif write.first >= 0 and index is not None and write.first + index != offset:
            why = f"the same batch, at another offset: {write.first + index}"
        return self._make_event(
            "produced",
            write.time,
            write,
            offset=None if write.first < 0 else write.first,
            records=write.records,
            bytes=write.size,
            codec=self._index.values.value_of_number(write.codec),
            acks=write.acks,
            took_ms=None if write.answered < 0 else (write.answered - write.time) / _MS,
            producer_id=None if write.producer < 0 else write.producer,
            producer_epoch=None if write.producer < 0 else write.epoch,
            sequence=None if write.producer < 0 or write.sequence < 0 else write.sequence,
            error=error,
            why=why,
        )

    def _events_of_reads(self, where: TopicPartition, partition: _PartitionRows, offset: int) -> list[_Event]:
        absent = partition.absent.get(offset)
        covering = [
            read
            for read in partition.reads
            if read.first <= offset < read.end and (absent is None or max(read.time, read.answered) < absent)
        ]
        found = []
        followers: set[int] = set()
        last: dict[Any, tuple[Read, ReaderGroup | None]] = {}
        for read in covering:
            if read.replica >= 0:
                if read.replica not in followers:
                    followers.add(read.replica)
                    time = read.answered if read.answered >= 0 else read.time
                    found.append(self._make_event("replicated", time, read, node_of_follower=read.replica))
                continue
            client = self.client_of(read.sender)
            time = read.answered if read.answered >= 0 else read.time
            group = self._groups.find_group(client, where, time, read.time)
            key = group.group if group is not None else client
            before = last.get(key)
            why = None if before is None else self._explain_repeated_read(partition, offset, before, (read, group))
            has_left = group is not None and group.has_left
            if has_left:
                why = "the member had left the group by then"
            else:
                last[key] = read, group
            found.append(
                self._make_event(
                    "dropped" if has_left else "read",
                    time,
                    read,
                    group=None if group is None else group.group,
                    generation=None if group is None else group.generation,
                    member_id=None if group is None else group.member,
                    again=before is not None,
                    offset=read.first,
                    records=read.end - read.first,
                    took_ms=None if read.answered < 0 else (read.answered - read.time) / _MS,
                    from_follower=self._is_read_from_follower(read, where),
                    why=why,
                )
            )
        return found

    def _is_read_from_follower(self, read: Read, where: TopicPartition) -> bool:
        """Whether the leader had told the client to read from this node (KIP-392)."""
        ends = self.connection_ends_of(read.sender)
        node = self._index.nodes.get(ends.broker)
        names = [where[0], *(identity for identity, name in self.names.items() if name == where[0])]
        host = host_of(ends.client)
        return node is not None and any(
            (ends.client_id, host, name, where[1], node) in self._index.preferred for name in names
        )

    def _explain_repeated_read(
        self,
        partition: _PartitionRows,
        offset: int,
        before: tuple[Read, ReaderGroup | None],
        now: tuple[Read, ReaderGroup | None],
    ) -> str:
        """Why a record is read again, as far as the capture shows it."""
        (earlier, old), (read, new) = before, now
        told = None
        if new is not None:
            number = self._index.values.intern_value(new.group)
            its = [
                each
                for each in partition.positions.get(number, ())
                if earlier.time <= each.answered <= read.answered and each.offset <= offset
            ]
            told = its[-1] if its else None
        position = "" if told is None else _format_position(told.offset)
        if old is not None and new is not None and None not in (old.generation, new.generation):
            if old.generation != new.generation:
                return "; ".join(filter(None, ("after a rebalance", position)))
            if old.member != new.member:
                return "; ".join(filter(None, ("another member reads it", position)))
        if told is not None:
            return f"began anew: {position}"
        if earlier.sender == read.sender:
            return f"went back to offset {read.position:,} by itself (a seek)" if read.position >= 0 else "went back"
        return "on another connection: the answer before may not have come"

    def _events_of_commits(self, partition: _PartitionRows, offset: int) -> Iterator[_Event]:
        """The first commit of each group that covers the record."""
        value_of = self._index.values.value_of_number
        for number, commits in partition.commits.items():
            first = next((commit for commit in commits if commit.offset > offset), None)
            if first is not None:
                yield self._make_event(
                    "committed",
                    first.answered if first.answered >= 0 else first.time,
                    first,
                    group=value_of(number),
                    generation=None if first.generation < 0 else first.generation,
                    member_id=value_of(first.member),
                    offset=first.offset,
                    transaction=value_of(first.transaction),
                )

    def _events_of_deliveries(self, partition: _PartitionRows, offset: int) -> Iterator[_Event]:
        """What members of share groups did with the record."""
        value_of = self._index.values.value_of_number
        held: dict[int, int] = {}  # group → member that acquired it last
        for each in partition.deliveries:
            kind = "acquired" if each.kind == NONE else _ACKNOWLEDGED.get(each.kind)
            if not each.first <= offset < each.end or kind is None:
                continue
            named = {"group": value_of(each.group), "member_id": value_of(each.member)}
            if each.kind != NONE:
                error = error_name(each.code) if each.code > 0 else None
                yield self._make_event(kind, each.time, each, **named, error=error)
                if each.code == 0 and kind != "renewed":
                    held.pop(each.group, None)
                continue
            why = None if each.group not in held else "the lock before had ended: nobody had acknowledged it"
            held[each.group] = each.member
            yield self._make_event(kind, each.time, each, **named, deliveries=each.deliveries, why=why)

    def _events_of_loss(self, partition: _PartitionRows, offset: int) -> Iterator[_Event]:
        """What the capture shows of a record that the log has no longer."""
        start = next((each for each in partition.starts if each.offset > offset), None)
        if start is not None:
            yield self._make_event("expired", start.time, start, offset=start.offset)
        time = partition.absent.get(offset)
        if time is None:
            return
        read = next(
            (
                each
                for each in partition.reads
                if each.first <= offset < each.end and max(each.answered, each.time) >= time
            ),
            None,
        )
        if read is not None:
            marker = any(at == offset for _, at in partition.markers)
            why = "a marker that ends a transaction has this offset" if marker else "compacted away, or never written"
            yield self._make_event("absent", time, read, why=why)

    def _find_transaction(
        self,
        where: TopicPartition,
        partition: _PartitionRows,
        offset: int | None,
        writes: list[Write],
        events: list[_Event],
    ) -> Row | None:
        """The transaction of a record, with an event for its end; None where it has none, as far as is known."""
        write = next((write for write in writes if write.transaction >= 0), None)
        producer = write.producer if write is not None else NONE
        if write is None and offset is not None:
            at = bisect_right(partition.batches, offset, key=lambda batch: batch.first) - 1
            if at >= 0 and partition.batches[at].last >= offset:
                producer = partition.batches[at].producer
        if producer < 0:
            return None
        aborted = offset is not None and self._is_aborted(where, partition, producer, offset)
        if write is None and not aborted:
            return None
        name = None if write is None else self._index.values.value_of_number(write.transaction)
        outcome = "aborted" if aborted else None
        if write is not None:
            since = max(each.time for each in writes)
            end = next((end for end in self._ends.get(producer, ()) if end.time >= since), None)
            if end is not None:
                outcome = "committed" if end.committed else "aborted"
                time = end.answered if end.answered >= 0 else end.time
                events.append(self._make_event(f"transaction_{outcome}", time, end, transaction=name))
        return {"id": name, "producer_id": producer, "outcome": outcome}

    def _is_aborted(self, where: TopicPartition, partition: _PartitionRows, producer: int, offset: int) -> bool:
        """Whether answers to Fetch say that the transaction with this record was aborted.

        A transaction begins at its first offset and goes on to the next marker of its producer.
        """
        markers = sorted(at for its, at in partition.markers if its == producer)
        for its, first in self._aborted[where]:
            if its == producer and first <= offset:
                at = bisect_left(markers, first)
                if at == len(markers) or markers[at] > offset:
                    return True
        return False

    # Rows.

    def _make_reader_rows(self, events: Iterable[_Event], began: int | None) -> list[Row]:
        """A row for each group, or client without a group, that read or committed the record."""
        found: dict[tuple[str | None, str | None], dict[str, Any]] = {}
        for event in sorted(events, key=lambda event: event.time):
            its = event.row
            if its["event"] not in _READS | _COMMITS or its.get("error"):
                continue
            client, _ = self.client_of(event.evidence[0])
            group = its["group"]
            key = (group, None) if group is not None else (None, client)
            row = found.setdefault(
                key,
                {"group": group, "clients": [], "reads": 0, "first": None, "last": None, "age_ms": None}
                | {"committed": None, "commit_age_ms": None},
            )
            age = None if began is None else (event.time - began) / _MS
            if client not in row["clients"]:
                row["clients"].append(client)
            if its["event"] in _COMMITS:
                row["committed"], row["commit_age_ms"] = format_rfc3339(event.time), age
                continue
            row["reads"] += 1
            row["last"] = format_rfc3339(event.time)
            if row["first"] is None:
                row["first"], row["age_ms"] = row["last"], age
        return sorted(found.values(), key=lambda row: (row["first"] or row["committed"], row["group"] or ""))

    def _make_event_row(self, event: _Event, began: int | None) -> Row:
        sender, correlation, packet, packet_end = event.evidence
        ends = self.connection_ends_of(sender)
        numbers = (None if each < 0 else each for each in (correlation, packet, packet_end))
        evidence = (event.time, ends.connection, ends.client, ends.broker, *numbers, ends.file)
        if self._file_names:
            evidence = set_file_name_in_evidence(evidence, self._file_names)  # type: ignore[arg-type]  # of these types
        row = make_evidence_row(evidence)  # type: ignore[arg-type]  # of these types
        del row["time"]
        return {
            "time": format_rfc3339(event.time),
            "age_ms": None if began is None else (event.time - began) / _MS,
            "event": event.row["event"],
            "client_id": ends.client_id,
            "node_id": self._index.nodes.get(ends.broker),
            **{name: value for name, value in event.row.items() if name != "event"},
            "evidence": [row],
        }


def _index_in_batch(partition: _PartitionRows, writes: Iterable[Write], offset: int) -> int | None:
    """Which record of its batch a record is, from 0 on; None where no batch is known that has its offset."""
    for write in writes:
        if 0 <= write.first <= offset < write.first + write.records:
            return offset - write.first
    at = bisect_right(partition.batches, offset, key=lambda batch: batch.first) - 1
    return None if at < 0 or partition.batches[at].last < offset else offset - partition.batches[at].first


# DUPLICATE_SEQUENCE_NUMBER: the batch was written by an earlier try.
_DUPLICATE: Final = 46


def format_timestamp_ms(timestamp: int) -> str:
    """A time stamp of a record, in ms since 1970, as RFC 3339; its number where it is no time of this age."""
    try:
        return format_rfc3339(timestamp * _MS)
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def _format_position(offset: int) -> str:
    return "nothing was committed" if offset < 0 else f"offset {offset:,} was committed"


def _list_unseen_parts_of_life(
    where: TopicPartition, offset: int | None, writes: list[Write], events: list[_Event]
) -> Iterator[str]:
    """What a life lacks, in so many words."""
    kinds = {event.row["event"] for event in events}
    place = f"{where[0]}/{where[1]}"
    if not writes:
        yield "the Produce that wrote it"
    elif all(write.code < 0 and write.code != UNACKNOWLEDGED for write in writes):
        yield "an answer to its Produce"
    if offset is None:
        yield "its offset"
        return
    if not kinds & _READS:
        yield f"a consumer's Fetch of {place} that got offset {offset:,}"
    committed = {event.row["group"] for event in events if event.row["event"] == "committed"}
    read = {event.row["group"] for event in events if event.row["event"] == "read"} - {None}
    for group in sorted(read - committed):
        yield f"a commit of group {group} beyond offset {offset:,}"
    settled = [event.row for event in events if event.row["event"] in ("accepted", "rejected")]
    done = {row["group"] for row in settled if row["error"] is None}
    acquired = {event.row["group"] for event in events if event.row["event"] == "acquired"}
    for group in sorted(acquired - done):
        yield f"an acknowledgement of share group {group} that ends it"
    if any(event.row["event"] == "read" and event.row["group"] is None for event in events):
        yield "the group of some readers, if they have one"
