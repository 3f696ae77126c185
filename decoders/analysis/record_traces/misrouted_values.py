"""Produce requests and answers to Fetch in; records with a foreign schema (values/schema_subjects.py) out, run by run.

Theory of operation. Which topic a schema is registered for is often told after the values. So runs of records of a
batch with one schema are kept until their topic is known to have the schema, up to VALUE_RUNS_MAX of a topic and a
schema. What is read was often written before the capture began; records that were seen both times, or are read again,
are one run: the one that was written, or was read first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.doctor.resent_batches import (
    Evidence,
    make_evidence_of_exchange,
    make_evidence_row,
    read_evidence,
    set_file_name_in_evidence,
)
from decoders.analysis.exchange_facts import FETCHES, topic_of_element
from decoders.analysis.record_traces.record_contents import HEADERS, VALUE, BatchesWithoutFinds, read_record_rows
from decoders.exchanges.topic_arrays import RECORD_ARRAYS, TOPIC_ARRAYS, TopicArray, partitions_in, structs_at
from decoders.limits import GROUPS_MAX, VALUE_RUNS_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.records.batch_layout import SIZE
from decoders.records.scan_first_bytes_of_keys_and_values import HAS_HEADERS, combine_first_byte_classes
from decoders.records.summarize_records import read_batch_heads
from decoders.values.schema_subjects import SchemaSubject, find_misrouted_values, list_subjects, subject_of_values
from decoders.values.values_that_may_be_encoded import FIRST_BYTES, has_header_of_form, may_have_header_of_form
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.records.summarize_records import BatchHead

__all__ = ["MisroutedValues"]


_FIRST_OF_JSON: Final = frozenset(b'{["')
# 1 for each first byte of a value that may name a schema.
_MAY_NAME_SCHEMA: Final = bytes(byte in FIRST_BYTES and byte not in _FIRST_OF_JSON for byte in range(256))


class _Run(NamedTuple):
    """Records with one schema, one behind the other in a batch; `offset` -1: not known; `is_read`: by a Fetch."""

    is_read: bool
    time: int
    topic: str
    partition: int
    offset: int
    records: int
    schema: str
    client_id: str | None
    evidence: Evidence


class MisroutedValues:
    """Runs of values that may be misrouted."""

    def __init__(self, reader: RecordValueReader) -> None:
        self._reader = reader
        self._without_schemas = BatchesWithoutFinds(reader)
        # By topic and schema, then by partition and offset (where it is known, else by exchange).
        self._runs: dict[tuple[str, str], dict[tuple[Any, ...], _Run]] = {}
        self._beyond: Counter[tuple[str, str]] = Counter()
        self._told: set[SchemaSubject] = set()
        # Topic and schema → whether it is registered for the topic, as it was known after so many changes of the store.
        self._own: dict[tuple[str, str], tuple[bool, int]] = {}

    @property
    def left_out(self) -> int:
        """How many records that are likely misrouted there was no room for."""
        return sum(self._beyond[key] for key in self._find_misrouted_schemas())

    def add(self, exchange: Exchange) -> None:
        """Add the values of a Produce that was not refused, or of an answer to Fetch."""
        key = exchange.api_key
        if key != PRODUCE and key not in FETCHES:
            return
        array = RECORD_ARRAYS[key]
        raw = exchange.raw(array.side)
        firsts: dict[tuple[str, int], int | None] = {}
        for where, records in self._list_records_fields_by_partition(exchange, array):
            if self._without_schemas.may_have_matches(where[0], records, raw, None, self._may_batch_name_schema):
                if key == PRODUCE:
                    firsts = firsts or self._read_first_offsets(exchange)
                    first = firsts.get(where, -1)
                    if first is not None:
                        self._add_records(exchange, where, records, first)
                else:
                    self._add_records(exchange, where, records, None)

    def _list_records_fields_by_partition(
        self, exchange: Exchange, array: TopicArray
    ) -> list[tuple[tuple[str, int], Any]]:
        """Each partition with its records field, if it has one with bytes."""
        found = []
        for element in structs_at(exchange.view(array.side), array.topics):
            topic = topic_of_element(exchange, element)
            for part in structs_at(element, array.partitions):
                number, records = part.get(array.number), part.get(array.records)
                if records and topic is not None and number is not None:
                    found.append(((topic, number), records))
        return found

    def _read_first_offsets(self, exchange: Exchange) -> dict[tuple[str, int], int | None]:
        """The first offset of what a Produce wrote, by partition: -1 where it is not told, None where it was refused.

        Empty where there is no answer.
        """
        firsts: dict[tuple[str, int], int | None] = {}
        answered = TOPIC_ARRAYS[PRODUCE][1]
        for element, part in partitions_in(exchange.view("response"), answered):
            topic, number = topic_of_element(exchange, element), part.get(answered.number)
            if topic is not None and number is not None:
                firsts[topic, number] = None if part.get(answered.error) else part.get(answered.offset, -1)
        return firsts

    def _add_records(self, exchange: Exchange, where: tuple[str, int], records: Any, first: int | None) -> None:
        """Add the runs of batches that were written from the offset `first` on (-1: not known); None: were read."""
        raw = exchange.response_raw if first is None else exchange.request_raw
        for head in read_batch_heads(records, raw, verify_checksums=False):
            for schema, several in groupby(
                self._list_schema_ids(where[0], records, raw, head), key=lambda each: each[1]
            ):
                run = [at for at, _ in several]
                offset = run[0] if first is None else -1 if first < 0 else first + run[0] - head.base_offset
                if schema is not None:
                    self._add_run(exchange, where, offset, len(run), schema, is_read=first is None)
            if first is not None and first >= 0:
                first += max(head.offset_count, 1)

    def _may_batch_name_schema(self, raw: bytes, at: int, stop: int) -> bool:
        """Whether a value of a plain batch may have the id of a schema, as `_may_name_schema` says of each."""
        if self._reader.has_schemas_of_unmarked_values:
            return True
        found = combine_first_byte_classes(raw, at + SIZE, stop, _MAY_NAME_SCHEMA, of_keys=False)
        return bool(found & 1) or (found & HAS_HEADERS > 0 and may_have_header_of_form(raw, at, stop))

    def _list_schema_ids(
        self, topic: str, records: Any, raw: bytes | None, head: BatchHead
    ) -> list[tuple[int, str | None]]:
        """The offset of each record of a batch, as the batch has it, and the id of its schema; none where no id is."""
        known_by = self._without_schemas.identify_batch(topic, raw, head)
        if known_by in self._without_schemas:
            return []
        found = [(row[0], self._find_schema_id(topic, row)) for row in read_record_rows(records, raw, head)]
        if all(schema is None for _, schema in found):
            self._without_schemas.add(known_by)
        return found

    def _find_schema_id(self, topic: str, row: Any) -> str | None:
        """The id of the schema that a value is decoded with; None where there is none."""
        value = row[VALUE]
        if value.__class__ is bytes and not self._may_name_schema(value, row[HEADERS]):
            return None
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        headers = [(name, held.encode() if isinstance(held, str) else held) for name, held in row[HEADERS]]
        found = self._reader.decode(data, headers, topic, is_key=False)
        if found is None or found.schema_id is None or found.missing_schema or found.error is not None:
            return None
        return str(found.schema_id)

    def _may_name_schema(self, value: bytes, headers: Sequence[tuple[str, bytes | None]]) -> bool:
        """Whether a value may have the id of a schema: JSON and text have none, but where a header names one."""
        if self._reader.has_schemas_of_unmarked_values:
            return True
        if headers and has_header_of_form(headers):
            return True
        return bool(value) and value[0] in FIRST_BYTES and value[0] not in _FIRST_OF_JSON

    def _add_run(
        self, exchange: Exchange, where: tuple[str, int], offset: int, records: int, schema: str, *, is_read: bool
    ) -> None:
        topic, number = where
        if self._is_registered_for(topic, schema):
            self._runs.pop((topic, schema), None)
            return
        client_id = None if is_read else exchange.client_id
        its = exchange.time_ns, topic, number, offset, records, schema, client_id
        self._keep_run(_Run(is_read, *its, make_evidence_of_exchange(exchange)))

    def _is_registered_for(self, topic: str, schema: str) -> bool:
        """Whether a schema is known to be of a topic's own subject."""
        store, known = self._reader.store, self._own.get((topic, schema))
        if known is None or not (known[0] or known[1] == store.changes):
            subject = subject_of_values(topic)
            told = list_subjects(store, [(topic, schema)])
            known = any(each[:2] == (schema, subject) for each in told), store.changes
            if len(self._own) < GROUPS_MAX:
                self._own[topic, schema] = known
        return known[0]

    def _keep_run(self, run: _Run) -> None:
        key = run.topic, run.schema
        its = self._runs.get(key)
        if its is None and len(self._runs) < GROUPS_MAX:
            its = self._runs[key] = {}
        place = (run.partition, run.offset) if run.offset >= 0 else (run.partition, -1, run.time, run.evidence)
        if its is not None and (place in its or len(its) < VALUE_RUNS_MAX):
            its[place] = min(its.get(place, run), run, key=_sort_key_of_run)
        else:
            self._beyond[key] += run.records

    def _list_subjects(self) -> set[SchemaSubject]:
        self._told.update(list_subjects(self._reader.store, self._runs))
        return self._told

    def _find_misrouted_schemas(self) -> dict[tuple[str, str], str]:
        return find_misrouted_values(self._list_subjects(), self._runs)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self._beyond += other._beyond
        self._told |= other._list_subjects()
        for run in other._iterate_runs():
            self._keep_run(run)

    def _iterate_runs(self) -> Iterator[_Run]:
        return chain.from_iterable(its.values() for its in self._runs.values())

    def state(self) -> list[object]:
        """The state as built-in values, for `resume_state`."""
        runs = [list(each) for each in self._iterate_runs()]
        return [runs, sorted(self._list_subjects(), key=repr), [[*key, count] for key, count in self._beyond.items()]]

    def resume_state(self, state: object) -> None:
        """Restore a `state`. Raises DecodeError."""
        runs, told, beyond = state_fields(state, list, list, list)
        for each in runs:
            *its, evidence = state_fields(each, bool, int, str, int, int, int, str, str | None, tuple)
            is_read, time, topic, number, offset, records, schema, client_id = its
            where = topic, number, offset
            self._keep_run(_Run(is_read, time, *where, records, schema, client_id, read_evidence(evidence)))
        for each in told:
            identity, subject, registry = state_fields(each, str, str, str | None)
            self._told.add((identity, subject, registry))
        for each in beyond:
            topic, schema, count = state_fields(each, str, str, int)
            self._beyond[topic, schema] += count

    def rows(self, file_names: Sequence[str]) -> Iterator[Row]:
        """A row for each run that is likely misrouted, in the order of time."""
        foreign = self._find_misrouted_schemas()
        runs = chain.from_iterable(self._runs[key].values() for key in foreign)
        for run in sorted(runs, key=lambda each: (each[1:7], repr(each))):
            other = foreign[run.topic, run.schema]
            seen = "; its Produce is not in the capture" if run.is_read else ""
            evidence = set_file_name_in_evidence(run.evidence, file_names) if file_names else run.evidence
            yield {
                "topic": run.topic,
                "partition": run.partition,
                "offset": None if run.offset < 0 else run.offset,
                "records": run.records,
                "rightful_topic": other,
                "rightful_partition": None,
                "client_id": run.client_id,
                "producer_id": None,
                "producer_epoch": None,
                "sequence": None,
                "time": format_rfc3339(run.time),
                "sure": False,
                "why": f"likely: the schema of the value, {run.schema}, is registered for {other} alone{seen}",
                "evidence": [make_evidence_row(evidence)],
            }


def _sort_key_of_run(run: _Run) -> tuple[Any, ...]:
    """Of two runs at one place, the one that was written, or was seen first."""
    return (*run[:7], repr(run))
