"""Produce requests in; the records with headers that they wrote out, to find those that were made from another one.

Theory of operation. What is asked for is known only once its record was found, which may be late, so each written
record with headers that may be links is kept, up to RECORDS_WITH_HEADERS_MAX: with its writer, its place, and what an
answer shows of it. A header that more than one in four records of a topic has with the same value tells nothing: it is
the name of a source, a version, a tenant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.record_traces.record_contents import RecordContents, read_record_rows
from decoders.analysis.record_traces.record_links import TRACE_PARENT, RecordLink
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in
from decoders.limits import RECORDS_WITH_HEADERS_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.keys import PRODUCE
from decoders.records.summarize_records import read_batch_heads
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["RecordsByLink", "WrittenRecord", "WrittenRecords"]


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
    """The records with headers that were written; `left_out` counts those that there was no room for."""

    def __init__(self) -> None:
        self.records: list[WrittenRecord] = []
        self.left_out = 0

    def add(self, exchange: Exchange) -> None:
        """Add the records of a Produce that were accepted at an offset."""
        asked, answered = TOPIC_ARRAYS[PRODUCE]
        firsts: dict[tuple[str, int], int] = {}
        for element, part in partitions_in(exchange.view("response"), answered):
            topic, number = topic_of_element(exchange, element), part.get(answered.number)
            if topic is not None and number is not None and not part.get(answered.error):
                firsts[topic, number] = part.get(answered.offset, -1)
        for element, part in partitions_in(exchange.view("request"), asked):
            topic, number = topic_of_element(exchange, element), part.get(asked.number)
            if topic is None or number is None:
                continue
            first = firsts.get((topic, number), -1)
            records = part.get(asked.records)
            for head in read_batch_heads(records, exchange.request_raw) if first >= 0 else ():
                if len(self.records) >= RECORDS_WITH_HEADERS_MAX:
                    self.left_out += head.records  # which may have headers
                    continue
                for row in read_record_rows(records, exchange.request_raw, head):
                    self._add_record(exchange, topic, number, first + row[0] - head.base_offset, row)
                first += max(head.offset_count, 1)

    def _add_record(self, exchange: Exchange, topic: str, number: int, offset: int, row: Any) -> None:
        contents = RecordContents.from_row(row)
        if contents.links:
            its = exchange.time_ns, exchange.client_id, exchange.connection_info.client
            self._keep_record(WrittenRecord(*its, topic, number, offset, contents))

    def _keep_record(self, record: WrittenRecord) -> None:
        if len(self.records) < RECORDS_WITH_HEADERS_MAX:
            self.records.append(record)
        else:
            self.left_out += 1

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self.left_out += other.left_out
        for record in other.records:
            self._keep_record(record)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [[[*each[:-1], each.contents.state()] for each in self.records], self.left_out]

    @classmethod
    def make_resumed(cls, state: object) -> Self:
        """Records from their `state`. Raises DecodeError."""
        made = cls()
        records, made.left_out = state_fields(state, list, int)
        for each in records:
            *its, contents = state_fields(each, int, str | None, str, str, int, int, list)
            time, client_id, client, topic, number, offset = its
            place = topic, number, offset
            made._keep_record(WrittenRecord(time, client_id, client, *place, RecordContents.make_resumed(contents)))
        return made


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

    def find_with(self, link: RecordLink, topic: str) -> list[WrittenRecord]:
        """The written records that have a link of a record of this topic; none where it is no mark of few."""
        found = self._by_link.get(link, [])
        if link[0] == TRACE_PARENT:
            return found
        if self._totals[topic, link[0]] > 1:
            return found if self._is_mark_of_few(topic, link) else []
        return [each for each in found if self._is_mark_of_few(each.topic, link)]

    def _is_mark_of_few(self, topic: str, link: RecordLink) -> bool:
        alike = self._alike[topic, link]
        return alike <= 1 or 4 * alike <= self._totals[topic, link[0]]
