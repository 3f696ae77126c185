"""Looks at the bytes of whole batches: they lose no record that passes, and tell most batches from those with one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.analysis.record_traces.asked_records import RecordCondition, parse_asked_records
from decoders.analysis.record_traces.record_contents import read_record_rows
from decoders.filters import parse
from decoders.filters.record_predicates import make_batch_test, make_record_test
from decoders.messages.decode_record_values import RecordValueReader
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from decoders.records.scan_first_bytes_of_keys_and_values import HAS_HEADERS, combine_first_byte_classes
from decoders.records.summarize_records import read_batch_heads
from decoders.values.values_that_may_be_encoded import _HEADERS_OF_FORMS, may_have_header_of_form
from tests.filters.test_record_predicates import objects, texts

Headers = tuple[tuple[str, bytes | None], ...]
LONG = b"y" * 20_000


def make_batch(*records: tuple[bytes | None, bytes | None, Headers], **fields: Any) -> bytes:
    """A batch with records of these keys, values and headers."""
    return encode_batch([Record(at, 5, *each) for at, each in enumerate(records)], Batch(**fields))


def may_match(question: str, batch: bytes, reader: RecordValueReader | None = None) -> bool:
    """What the look at a batch says, between other bytes."""
    asked = parse(question)
    test = make_batch_test(asked.node)
    assert test is not None
    asked.set_value_reader(reader)
    return test(b'{"order":3}' + batch + b'{"order":3}', 11, 11 + len(batch))


@pytest.mark.parametrize(
    ("question", "passed_over", "looked_at"),
    [
        (
            "value.order == 3",
            (b'{"order":4}', b"text", b"", None, b"[4]", LONG, b'{"x":"' + LONG + b'"}', b'"order":3'),
            (b'{"order":3}', b'{"order":[4]}', b'\0{"order":4}', b" {}", b'{"\\u006frder":4}', b'{"payload":4}'),
        ),
        (
            "value.order == 3 and key == k",
            (b'{"order":4}', b"k", b"\x02kxx"),
            (b'{"order":3,"key":"\x02k"}',),
        ),
    ],
)
def test_batches_without_a_value_that_passes_are_passed_over(
    question: str, passed_over: tuple[bytes | None, ...], looked_at: tuple[bytes, ...]
) -> None:
    plain: Headers = (("n", b"\0"),)
    for value in passed_over:
        for at in range(3):
            records = [(b"x", b"text", plain), (None, None, ()), (b"", b"", ())]
            records[at] = b"y", value, records[at][2]
            assert not may_match(question, make_batch(*records)), value
    for value in looked_at:
        for at in range(3):
            records = [(b"x", b'{"order":9}', plain), (None, None, ()), (LONG, LONG, ())]
            records[at] = None, value, records[at][2]
            assert may_match(question, make_batch(*records)), value
            if not question.endswith("k"):
                swapped = [(value, key, headers) for key, value, headers in records]
                assert may_match(question.replace("value", "key"), make_batch(*swapped)), value


def test_names_of_headers_and_schemas_of_files_are_heeded() -> None:
    for name in sorted(_HEADERS_OF_FORMS):
        batch = make_batch((b"k", b"text", ()), (b"k", b"text", (("n", b"1"), (name, b"1"))))
        assert may_match("value.order == 3", batch), name
        assert may_have_header_of_form(batch, 0, len(batch))
        assert not may_have_header_of_form(batch, 0, 61)
    reader = RecordValueReader()
    reader.store.has_files = True
    assert may_match("value.order == 3", make_batch((b"k", b"text", ())), reader)


def test_a_value_behind_a_key_that_seems_to_hold_it_is_found() -> None:
    # With the size of the value, 20, as a bracket: a text "({" stands behind the name in the key.
    assert may_match("value.order == 3", make_batch((b'"order":"', b'{"order":3,"pad":12}', ())))


@pytest.mark.parametrize("damage", [b"\x01", b"\x7f", b"\xff", b"\xff\xff\xff\xff\xff\xff"])
def test_records_that_are_no_plain_ones_are_looked_at(damage: bytes) -> None:
    records = make_batch((b"k", b"text", ()))[61:]
    classes = bytes(256)
    assert combine_first_byte_classes(records, 0, len(records), classes, of_keys=False) == 0
    assert combine_first_byte_classes(damage + records[1:], 0, len(records), classes, of_keys=False) == -1
    assert combine_first_byte_classes(records[:-1] + b"\x02", 0, len(records), classes, of_keys=True) == HAS_HEADERS
    for stop in range(1, len(records)):
        assert combine_first_byte_classes(records, 0, stop, classes, of_keys=False) == -1
        assert combine_first_byte_classes(records[:stop], 0, len(records), classes, of_keys=False) == -1


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, b"", b"k", b'{"order":3}', b'"order":"', b'"order":']),
            st.one_of(objects(texts).map(str.encode), st.sampled_from([None, b"", b"text", b'{"order":3}', b"\x06"])),
            st.sampled_from([(), (), (("n", b"1"),), (("order", b'{"order":3}'), ("n", None))]),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["value.order == 3", "value.a.order > 2", "key.order == 3", "value.order == 3 or key == k"]),
    st.one_of(st.none(), st.tuples(st.integers(0, 200), st.integers(0, 255))),
    st.integers(0, 3),
)
def test_looks_at_batches_lose_nothing(
    records: list[tuple[Any, Any, Any]], question: str, damage: tuple[int, int] | None, missing: int
) -> None:
    batch = bytearray(make_batch(*records))
    del batch[len(batch) - missing :]
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    if damage is not None:
        at, byte = damage
        batch[61 + at % (len(batch) - 61)] = byte
    raw = bytes(batch)
    passes = make_record_test(parse(question).node)
    found = [
        row
        for head in read_batch_heads((0, len(raw)), raw, verify_checksums=False)
        for row in read_record_rows((0, len(raw)), raw, head)
        if passes("t", row)
    ]
    assert may_match(question, raw) or not found


def ask(question: str) -> RecordCondition:
    asked = parse_asked_records(question)
    assert isinstance(asked, RecordCondition)
    return asked


@pytest.mark.parametrize("question", ["value.order == 3", "key == k", "value_format == avro"])
def test_fields_with_markers_cut_batches_or_no_bytes_are_looked_at(question: str) -> None:
    plain, control = make_batch((b"n", b"text", ())), make_batch((b"n", b"text", ()), producer_id=7)
    looked_at: list[tuple[Any, bytes | None]] = [([], b""), ((0, 1), None)]
    for data in (control, plain + control, plain + plain[:-1], plain + plain[:20], plain[:16] + b"\1" + plain[17:]):
        looked_at.append(((1, len(data)), b"-" + data))
    for records, raw in looked_at:
        asked = ask(question)
        asked.list_passing_offsets("t", (0, len(plain)), plain, *read_batch_heads((0, len(plain)), plain))
        assert asked.may_hold_asked("t", records, raw)
        assert not asked.may_hold_asked("t", (3, 2 * len(plain)), b"---" + plain + plain)
        assert not asked.may_hold_asked("t", (0, 0), b"")


def test_batches_of_a_field_are_known_again() -> None:
    asked, packed = ask("value.order == 3"), make_batch((b"k", b"text", ()), codec="gzip")
    for topic in ("t", "other"):
        assert asked.may_hold_asked(topic, (0, len(packed)), packed)
        assert (
            asked.list_passing_offsets(topic, (0, len(packed)), packed, *read_batch_heads((0, len(packed)), packed))
            == []
        )
        assert not asked.may_hold_asked(topic, (0, len(packed)), packed)
