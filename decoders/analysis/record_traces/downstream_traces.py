"""The fold of `kw trace --downstream`: as that of `kw trace`, and on to what readers of a record wrote after it.

Theory of operation. Nothing on the wire says from what a record was made. What says it is in the record: a header that
its consumer has handed on (record_links.py). So a record follows from another one where a client that has read that one
(the same client id, or the same host) later wrote it, with a header of the same name and value. Records that are found
are followed on in the same way, up to DOWNSTREAM_STEPS_MAX rounds. Each is told once, as made from the record that its
writer had read last: where all programs have one host, each of them has read what any of them has read.

The index has all rows, not only those of the records asked for; what their headers are is noted as always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from decoders.analysis.exchange_facts import FETCHES
from decoders.analysis.read_dimension_values import host_of
from decoders.analysis.record_traces.asked_records import AskedRecords
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_index import RecordIndex
from decoders.analysis.record_traces.record_links import RecordLink
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.analysis.record_traces.written_records import RecordsByLink, WrittenRecord, WrittenRecords
from decoders.limits import DOWNSTREAM_STEPS_MAX, RECORDS_TRACED_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange

__all__ = ["DownstreamTraces"]

_Place = tuple[str, int, int]


class _Source(NamedTuple):
    """From which record one follows: when its writer had read it (ns), and by which headers."""

    read: int
    place: _Place
    headers: tuple[str, ...]


class _Step(NamedTuple):
    """A record, and from which it follows: by which headers, read when by its writer (ns), how many steps on."""

    place: _Place
    source: _Place
    headers: tuple[str, ...]
    read: int
    steps: int


class DownstreamTraces(RecordTraces):
    """The lives of the records that a question asks for, and of those that their readers wrote after them."""

    def __init__(self, asked: AskedRecords, *, in_order: bool = False) -> None:
        """`in_order`: exchanges of captures are added in the order of time, and states are merged behind them."""
        super().__init__(asked)
        self._written = WrittenRecords(in_order=in_order)
        self.index = RecordIndex(asked, keeps_all=True, observe_write=self._written.add_batch)

    @property
    def left_out(self) -> Counter[str]:
        """As of the index, with the written records that there was no room for."""
        return self.index.left_out + Counter({"written record": self._written.left_out})

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of offsets, and the records that it writes."""
        super().add(exchange)
        if exchange.api_key in FETCHES:
            self._written.note_reader(exchange)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        super().merge(other)
        self._written.merge(other._written)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([super().export(), self._written.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        traces, written = state_fields(unpack(state), bytes, list)
        super().resume(traces)
        self._written.resume_state(written)

    def rows(self) -> list[Row]:
        """A row for each record that is asked for, then for those that follow from them, by the number of steps."""
        lives = LivesOfRecords(self.index, self.file_names)
        rows = self.make_rows(lives)
        by_link = RecordsByLink(self._written.records, lives.names)
        asked = [(row["topic"], row["partition"], row["offset"]) for row in rows if row["offset"] is not None]
        contents = {place: self.index.found.contents.get(place) for place in asked}
        for (topic, *rest), its in self.index.found.contents.items():
            contents.setdefault((lives.names.get(topic, topic), rest[0], rest[1]), its)
        links = {place: its.links for place, its in contents.items() if its is not None}
        for step, record in _follow_links_downstream(lives, by_link, asked, links, RECORDS_TRACED_MAX - len(rows)):
            topic, number, offset = step.place
            lives.contents_of_others[step.place] = record.contents
            source = dict(zip(("topic", "partition", "offset"), step.source, strict=True))
            ground = {"headers": list(step.headers), "read": format_rfc3339(step.read), "steps": step.steps}
            rows.append({**lives.make_row((topic, number), offset), "downstream_of": source | ground})
        return rows


def _follow_links_downstream(
    lives: LivesOfRecords,
    by_link: RecordsByLink,
    asked: list[_Place],
    links: dict[_Place, tuple[RecordLink, ...]],
    room: int,
) -> Iterator[tuple[_Step, WrittenRecord]]:
    """The records that follow from those asked for, by the number of steps, then in the order of time."""
    first, found, sources = set(asked), dict[_Place, tuple[_Source, WrittenRecord]](), list(asked)
    for _ in range(DOWNSTREAM_STEPS_MAX):
        new: list[_Place] = []
        for source in sources:
            for record, headers, read in _find_records_made_from(lives, by_link, source, links.get(source, ())):
                place, its = (record.topic, record.partition, record.offset), _Source(read, source, headers)
                if place in found:
                    found[place] = max(found[place][0], its), record
                elif place not in first and len(found) < room:
                    found[place] = its, record
                    links[place] = record.contents.links
                    new.append(place)
        sources = new
    steps = dict.fromkeys(asked, 0)
    told = []
    for place, (its, record) in sorted(found.items(), key=lambda item: (item[1][1].time, item[0])):
        steps[place] = steps.get(its.place, 0) + 1
        told.append((_Step(place, its.place, its.headers, its.read, steps[place]), record))
    yield from sorted(told, key=lambda each: each[0].steps)


def _find_records_made_from(
    lives: LivesOfRecords, by_link: RecordsByLink, source: _Place, links: tuple[RecordLink, ...]
) -> Iterator[tuple[WrittenRecord, tuple[str, ...], int]]:
    """The records that were made from one: each with the names of the equal headers, and when its writer had read."""
    found: dict[_Place, tuple[WrittenRecord, list[str]]] = {}
    for link in links:
        for record in by_link.find_records_with_link(link, source[0]):
            place = record.topic, record.partition, record.offset
            found.setdefault(place, (record, []))[1].append(link[0])
    if not found:
        return
    reads = list(lives.find_reads_by_consumers((source[0], source[1]), source[2]))
    for record, names in found.values():
        read = max((time for time, its in reads if time < record.time and _is_same_client(its, record)), default=None)
        if read is not None:
            yield record, tuple(sorted(set(names))), read


def _is_same_client(reader: tuple[str | None, str], writer: WrittenRecord) -> bool:
    """Whether client id and address of a reader are, in one of them, those of a writer."""
    return reader[1] == host_of(writer.client) or (reader[0] is not None and reader[0] == writer.client_id)
