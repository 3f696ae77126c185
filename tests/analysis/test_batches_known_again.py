"""Batches in which a question found nothing are known again, and no answer is another for that."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from decoders.analysis.record_traces import asked_records, misrouted_values
from decoders.analysis.record_traces.asked_records import RecordCondition, parse_asked_records
from decoders.analysis.record_traces.misrouted_values import MisroutedValues
from decoders.analysis.record_traces.record_contents import BatchesWithoutFinds, read_record_rows
from decoders.analysis.record_traces.record_faults import MisroutedRecords
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.decode_record_values import RecordValueReader
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from decoders.records.summarize_records import BatchHead, read_batch_heads
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from kwcli.output.renderers import WantedPaths
from tests.analysis.record_scenes import put
from tests.analysis.scenes import Scene
from tests.analysis.test_misrouted_values import SUBJECTS, fold_exchanges, reader_of
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.reading.captures_with_values import prefixed
from tests.sampling import sampled

VALUES = sorted(f"values/{file.name}" for file in (FOLDER / "values").glob("*.pcap*"))
ORDER = '{"type":"record","name":"Order","fields":[{"name":"order","type":"long"}]}'
FRAMED = b"\0\0\0\0\x11\x06"  # id 17, order 3
PACKED = gzip.compress(FRAMED, mtime=0)


def make_batch(values: Sequence[bytes], **fields: Any) -> bytes:
    base = fields.setdefault("base_offset", 0)
    return encode_batch([Record(base + at, 5, b"k", value) for at, value in enumerate(values)], Batch(**fields))


def head_of(batch: bytes) -> BatchHead:
    (head,) = read_batch_heads((0, len(batch)), batch, verify_checksums=False)
    return head


def find_in(asked: RecordCondition, topic: str, batch: bytes) -> list[int]:
    return asked.list_passing_offsets(topic, (0, len(batch)), batch, head_of(batch))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The base offsets of batches whose records were read."""
    found: list[int] = []

    def note_and_read(records: Any, raw: Any, head: Any) -> Any:
        found.append(head.base_offset)
        return read_record_rows(records, raw, head)

    for module in (asked_records, misrouted_values):
        monkeypatch.setattr(module, "read_record_rows", note_and_read)
    return found


def ask(question: str, reader: RecordValueReader | None = None) -> RecordCondition:
    asked = parse_asked_records(question)
    assert isinstance(asked, RecordCondition)
    asked.set_value_reader(reader)
    return asked


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_batch_in_which_nothing_was_found_is_read_once(read: list[int], codec: str) -> None:
    asked = ask("value.order == 3")
    for base in (0, 70):
        assert find_in(asked, "t", make_batch([b'{"order":[4]}'], base_offset=base, codec=codec)) == []
    assert find_in(asked, "t", make_batch([b'{"order":[4]}'], partition_leader_epoch=8, codec=codec)) == []
    assert read == [0]
    assert find_in(asked, "other", make_batch([b'{"order":[4]}'], base_offset=1, codec=codec)) == []
    assert find_in(asked, "t", make_batch([b'{"order":[5]}'], base_offset=2, codec=codec)) == []
    for base in (3, 4):
        assert find_in(asked, "t", make_batch([b"{}", b'{"order":3}'], base_offset=base, codec=codec)) == [base + 1]
    assert read == [0, 1, 2, 3, 4]


def test_what_the_header_says_of_records_is_part_of_a_batch() -> None:
    asked, plain = ask("value.order == 3"), make_batch([b'{"order":3}'])
    control = bytearray(plain)
    control[22] |= 0x20
    assert find_in(asked, "t", bytes(control)) == []
    assert find_in(asked, "t", plain) == [0]


def test_each_batch_with_a_foreign_schema_is_listed() -> None:
    scene, data = Scene(), encode_batch([Record(0, 5, b"k", prefixed(19))])
    for at in range(3):
        put(scene, at, data, 10 * at, client="shop")
    reader = reader_of(*SUBJECTS)
    found = fold_exchanges(scene.exchanges(MisroutedRecords(reader)), reader)
    assert [row["offset"] for row in found.rows()] == [0, 10, 20]


SCHEMA_HEADERS = (("__value_schema_id", b"\0\0\0\0\x11"),)


CLOUD_EVENTS = (("content-type", b"application/cloudevents"),)
HEADERS = ((), (("n", b"1"),), SCHEMA_HEADERS, CLOUD_EVENTS)
JSON_VALUES = (b'{"order":3}', b'["x"]', b'"x"', b" {}")


@pytest.mark.parametrize("headers", HEADERS)
@pytest.mark.parametrize("value", [*JSON_VALUES, b"", b"\x06", FRAMED, b"text", b"Z", PACKED, None])
def test_no_schema_of_a_value_is_passed_over(value: bytes | None, headers: tuple[tuple[str, bytes], ...]) -> None:
    reader = RecordValueReader()
    for _ in range(2):
        found = reader.decode(value, headers, "t", is_key=False)
        known = found is not None and not found.missing_schema and found.error is None
        schema = None if found is None or not known or found.schema_id is None else str(found.schema_id)
        assert MisroutedValues(reader)._find_schema_id("t", (0, 5, b"k", value, headers, None)) == schema
        add_schema(reader)


def test_values_by_schemas_of_files_have_these() -> None:
    reader = RecordValueReader()
    reader.store.add_schema(RegisteredSchema("AVRO", '"string"', SchemaOrigin("file"), 17, subject="t-value"))
    assert reader.has_schemas_of_unmarked_values
    assert MisroutedValues(reader)._may_name_schema(b"text", ())


def add_schema(reader: RecordValueReader) -> None:
    reader.store.add_schema(RegisteredSchema("AVRO", ORDER, SchemaOrigin("capture", 1), 17, subject="t-value"))


def test_schemas_that_come_later_are_asked_again(read: list[int]) -> None:
    reader = RecordValueReader()
    asked, batch = ask("value.order == 3", reader), make_batch([FRAMED])
    assert find_in(asked, "t", batch) == find_in(asked, "t", batch) == []
    assert read == [0, 0]  # a registry may know the schema by now
    add_schema(reader)
    assert find_in(asked, "t", batch) == [0]


def test_all_are_read_again_where_a_schema_came(read: list[int]) -> None:
    reader = RecordValueReader()
    asked, batch = ask("value.order == 3", reader), make_batch([b'{"order":[4]}'])
    for _ in range(2):
        find_in(asked, "t", batch)
    add_schema(reader)
    for _ in range(2):
        find_in(asked, "t", batch)
    assert read == [0, 0]


def test_a_schema_that_comes_while_a_batch_is_read_counts() -> None:
    reader = RecordValueReader()
    known, batch = BatchesWithoutFinds(reader), make_batch([b"x"])
    name = known.identify_batch("t", batch, head_of(batch))
    add_schema(reader)
    known.add(name)
    assert name not in known


def list_exchanges(name: str, fold: RecordTraces | MisroutedRecords) -> list[Exchange]:
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(fold.needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def answer_twice(name: str, make: Callable[[], RecordTraces | MisroutedRecords]) -> list[list[Any]]:
    """The rows of a capture that is read twice over: with batches known again and looked at, and without."""
    exchanges, answers = list_exchanges(name, make()) * 2, []
    for knows in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not knows:
                patch.setattr(BatchesWithoutFinds, "add", lambda *_: None)
                patch.setattr(asked_records, "make_batch_test", lambda *_, **__: None)
                patch.setattr(RecordCondition, "may_hold_asked", lambda *_: True)
            fold = make()
            for each in exchanges:
                fold.add(each)
            answers.append(fold.rows())
    return answers


@pytest.mark.parametrize("name", sampled([*CLEAN, *VALUES], 5))
def test_captures_are_answered_alike(name: str) -> None:
    def make_traces(question: str) -> RecordTraces:
        return RecordTraces(ask(question, RecordValueReader()))

    makes: list[Callable[[], RecordTraces | MisroutedRecords]] = [lambda: MisroutedRecords(RecordValueReader())]
    for question in ("value ~ '[13]'", "key == customer-3", "value.order == 3", "value.id > 2"):
        makes.append(partial(make_traces, question))
    for make in makes:
        known, read_all = answer_twice(name, make)
        assert known == read_all
