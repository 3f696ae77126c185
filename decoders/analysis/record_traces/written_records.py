"""Batches of Produce requests in; the records with headers out, to find those that were made from another one.

Theory of operation. What is asked for is known only once its record was found, which may be late, so each written
record with headers that may be links is kept, up to RECORDS_WITH_HEADERS_MAX: with its writer, its place, and what an
answer shows of it. A header that more than one in four records of a topic has with the same value tells nothing: it is
the name of a source, a version, a tenant.

A record that is made from another one was written by a client that had read before, which most producers of a capture
never do. So where exchanges come in the order of time, records of such clients alone are kept, and batches of others
are not read. Where they come in parts (those of a worker, of stored exchanges), a reader may be told later: then all
are kept until there is no room. The first HEADERS_SAMPLED of each topic are kept in any case, which tell what many
records have. What is passed over counts as left out where it is told later that its writer had read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import replica_id_of_fetch
from decoders.analysis.groups.partition_offsets_and_lag import TopicPartition
from decoders.analysis.read_dimension_values import host_of
from decoders.analysis.record_traces.record_contents import HEADERS, RecordContents, read_record_rows
from decoders.analysis.record_traces.record_links import TRACE_PARENT, RecordLink
from decoders.limits import HEADERS_SAMPLED, RECORDS_WITH_HEADERS_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.summarize_records import BatchHead

__all__ = ["RecordsByLink", "WrittenRecord", "WrittenRecords"]


# Readers that are known again before their names are looked up.
_READERS_MAX: Final = 1024


class WrittenRecord(NamedTuple):
    """A record that was accepted at an offset: when its request was sent (ns), by which client id and address."""

    time: int
    client_id: str | None
    client: str
    topic: str
    partition: int
    offset: int
    contents: RecordContents


class WrittenRecords:
    """The records with headers that were written; `in_order`: exchanges of captures come in the order of time."""

    def __init__(self, *, in_order: bool = False) -> None:
        self.records: list[WrittenRecord] = []
        self._in_order = in_order
        self._has_readers_only = False
        self._kept_of_topic: Counter[str] = Counter()
        # Client ids and hosts that fetch, and when each was first answered, in ns.
        self._readers: dict[str, int] = {}
        self._first_of_reader: dict[tuple[str, str | None], int] = {}  # by address and client id: is not noted again
        # Client id and host of writers that had not read → how many records were passed over, and the time of the last.
        self._passed_over: dict[tuple[str | None, str], list[int]] = {}
        self._left_out = 0

    @property
    def left_out(self) -> int:
        """How many records of clients that had read there was no room for, or that was known too late."""
        return self._left_out + sum(
            count for its, (count, last) in self._passed_over.items() if self._had_read(*its, last)
        )

    def note_reader(self, exchange: Exchange) -> None:
        """Note a client that was answered a Fetch; followers are none."""
        request, time_ns = exchange._request_view, exchange.response_ns
        client, client_id = exchange.connection_info.client, exchange.client_id
        if time_ns is None or self._first_of_reader.get((client, client_id), time_ns + 1) <= time_ns:
            return  # most have been noted
        if isinstance(request, dict) and replica_id_of_fetch(request) < 0:
            self._note_reader(_make_reader_key_of_host(host_of(client)), time_ns)
            if client_id is not None:
                self._note_reader(client_id, time_ns)
            if len(self._first_of_reader) < _READERS_MAX:
                self._first_of_reader[client, client_id] = time_ns

    def _note_reader(self, name: str, time_ns: int) -> None:
        known = self._readers.get(name)
        if known is None or time_ns < known:
            self._readers[name] = time_ns

    def _had_read(self, client_id: str | None, host: str, time_ns: int) -> bool:
        """Whether a client had read before a time, as far as it is known."""
        first_ns = self._readers.get(_make_reader_key_of_host(host))
        if first_ns is not None and first_ns < time_ns:
            return True
        first_ns = None if client_id is None else self._readers.get(client_id)
        return first_ns is not None and first_ns < time_ns

    def add_batch(self, exchange: Exchange, where: TopicPartition, records: Any, head: BatchHead, first: int) -> None:
        """Add the records of a batch of a Produce that was accepted at the offset `first`."""
        its = exchange.time_ns, exchange.client_id, exchange.connection_info.client
        if self._has_room_or_counts_left_out(where[0], *its, head.records, self._in_order and exchange.record is None):
            first -= head.base_offset
            for row in read_record_rows(records, exchange.request_raw, head):
                contents = RecordContents.from_row(row) if row[HEADERS] else None
                if contents is not None and contents.links:
                    self._keep_record(WrittenRecord(*its, *where, first + row[0], contents))

    def _keep_record(self, record: WrittenRecord) -> None:
        if self._has_room_or_counts_left_out(record.topic, record.time, record.client_id, record.client, 1):
            self.records.append(record)
            self._kept_of_topic[record.topic] += 1

    def _has_room_or_counts_left_out(
        self, topic: str, time_ns: int, client_id: str | None, client: str, records: int, in_order: bool = False
    ) -> bool:
        """Whether there is room for a record of a client; where not, counts so many, which may have headers."""
        if not self._has_readers_only and not in_order:
            if len(self.records) < RECORDS_WITH_HEADERS_MAX:
                return True
            its, self.records, self._has_readers_only = self.records, [], True
            self._kept_of_topic.clear()
            for record in its:
                self._keep_record(record)
        host, room = host_of(client), len(self.records) < RECORDS_WITH_HEADERS_MAX
        if (room and self._kept_of_topic[topic] < HEADERS_SAMPLED) or self._had_read(client_id, host, time_ns):
            self._left_out += 0 if room else records
            return room
        self._count_left_out_records((client_id, host), time_ns, records)
        return False

    def _count_left_out_records(self, writer: tuple[str | None, str], time_ns: int, records: int) -> None:
        its = self._passed_over.get(writer)
        if its is None:
            self._passed_over[writer] = [records, time_ns]
        else:
            its[0] += records
            if time_ns > its[1]:
                its[1] = time_ns

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self._left_out += other._left_out
        self._has_readers_only = self._in_order = False
        for name, time_ns in other._readers.items():
            self._note_reader(name, time_ns)
        for writer, (count, last) in other._passed_over.items():
            self._count_left_out_records(writer, last, count)
        for record in other.records:
            self._keep_record(record)

    def state(self) -> list[object]:
        """The state as built-in values, for `resume_state`."""
        records = [[*each[:-1], each.contents.state()] for each in self.records]
        passed_over = [[*writer, *its] for writer, its in self._passed_over.items()]
        return [records, self._has_readers_only, self._readers, passed_over, self._left_out]

    def resume_state(self, state: object) -> None:
        """Restore a `state`. Raises DecodeError."""
        records, only, readers, passed_over, left_out = state_fields(state, list, bool, dict, list, int)
        for pair in readers.items():
            self._note_reader(*state_fields(pair, str, int))
        for each in records:
            *its, contents = state_fields(each, int, str | None, str, str, int, int, list)
            time, client_id, client, topic, number, offset = its
            place = topic, number, offset
            self._keep_record(WrittenRecord(time, client_id, client, *place, RecordContents.make_resumed(contents)))
        for each in passed_over:
            client_id, host, count, last = state_fields(each, str | None, str, int, int)
            self._count_left_out_records((client_id, host), last, count)
        self._has_readers_only, self._left_out = only, left_out


def _make_reader_key_of_host(host: str) -> str:
    """A host as a name that no client id is."""
    return f"\0{host}"


class RecordsByLink:
    """Written records by their links, and which links tell a record from others; `names`: of topic ids."""

    def __init__(self, records: Iterable[WrittenRecord], names: Mapping[str, str]) -> None:
        self._by_link: defaultdict[RecordLink, list[WrittenRecord]] = defaultdict(list)
        self._totals: Counter[tuple[str, str]] = Counter()
        self._alike: Counter[tuple[str, RecordLink]] = Counter()
        seen: set[tuple[str, int, int]] = set()
        for record in sorted(records, key=lambda each: (*each[3:6], each.time)):
            topic = names.get(record.topic, record.topic)
            place = topic, record.partition, record.offset
            if place in seen:  # sent again, or captured twice
                continue
            seen.add(place)
            for link in record.contents.links:
                self._by_link[link].append(record._replace(topic=topic))
                self._totals[topic, link[0]] += 1
                self._alike[topic, link] += 1

    def find_records_with_link(self, link: RecordLink, topic: str) -> list[WrittenRecord]:
        """The written records that have a link of a record of this topic; none where it is no mark of few."""
        found = self._by_link.get(link, [])
        if link[0] == TRACE_PARENT:
            return found
        if self._totals[topic, link[0]] > 1:
            return found if self._is_rare_link(topic, link) else []
        return [each for each in found if self._is_rare_link(each.topic, link)]

    def _is_rare_link(self, topic: str, link: RecordLink) -> bool:
        alike = self._alike[topic, link]
        return alike <= 1 or 4 * alike <= self._totals[topic, link[0]]
