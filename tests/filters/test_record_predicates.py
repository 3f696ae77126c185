"""Questions about one record: what a filter says of an exchange with that record alone, looks at JSON text or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.filters import parse
from decoders.filters.read_partitions_and_records import iterate_records_with_topic
from decoders.filters.record_predicates import make_record_test
from decoders.messages.decode_record_values import RecordValueReader
from decoders.records.record_and_batch import Row
from kwcli.output.renderers import WantedPaths
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.sampling import sampled

CAPTURES = [*CLEAN, *sorted(f"values/{file.name}" for file in (FOLDER / "values").glob("*.pcap*"))]

JSON_TEXTS = (
    *('{"order":3}', '{ "order" :\n\t3 }', '{"order":3.0}', '{"order":30e-1}', '{"order":0.3E1}', '{"order":"3"}'),
    *('{"order":"3.00"}', '{"\\u006frder":3}', '{"order":"\\u0033"}', '{"order":[2,3]}', '{"a":{"order":3}}'),
    *('{"order":3.00000000000000000001}', '{"order":4,"order":3}', '{"order":3,"order":4}', '[{"order":3}]', '"order"'),
    *('{"order":33}', '{"order":-3}', '{"order":4}', '{"orders":3}', '{"x":"\\"order\\":3"}', '{"order":true}'),
    *('{"order":"a/b"}', '{"order":"a\\/b"}', '{"order":"a\\u002fb"}', '{"order":0}', '{"order":-0}', '{"order":-0.0}'),
    *('{"order":"€"}', '{"order":"\\u20ac"}', '{"order":"a\\"b"}', '{"order":null}', '{"order":1}', '{"order":"+3"}'),
    *(
        '{"order":[{"order":3}]}',
        '{"order":999999999999999999999}',
        '{"order":1e18}',
        '{"order":"x3"}',
        "{}",
        '{"order":["x","3"]}',
        '{"order":',
        '{"order":"\u0663"}',  # digits of another script
        '{"order"\r\n:\r\n3}',
        '{"order":false,"a":"order\\":3"}',
    ),
    '{"schema":{"type":"struct","fields":[{"field":"order","type":"bytes",'
    '"name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}}]},"payload":{"order":"Aw=="}}',
    '{"specversion":"1.0","type":"t","source":"s","id":"1","data_base64":"eyJvcmRlciI6M30="}',
)
PLACES = ("value.order", "value.data.order", "value.a.order", "value.order.order", "value.order[0]", "value.order[1]")
WORDS = ("3", "3.0", "0", "1", "-3", "+3", '"3"', "true", "null", "€", "a/b", "'a\"b'", "1000000000000000000", "3ms")
QUESTIONS = (
    *(f"{place} == {word}" for place in PLACES for word in WORDS),
    *(f"{place} > 2" for place in PLACES),
    *("value.order >= 3", "value.order < 3", "value.order <= -3", "value.order >= 1", "value.order !~ '3'"),
    *("value.order like 'x*'", "value.order like True", "value.order ~ '^3$'", "value.order ~ 'N|x'"),
    *("value.order", "value.order in (2, 3)", "value.order like '*3*'", "value.order ~ '3'", "not value.order == 3"),
    *("value.order != 3", "value.order == 3 and value ~ '3'", "value.order == 3 or key == k", "value_format == json"),
    *("schema_id == 1", "key == k", "key != k", "key == null", "header.n == 1", "header.n == null", "value like '*3*'"),
    *(
        "value_decoded ~ 'order'",
        "key.order == 3",
        "value.order == 'x'",
        "key like '*on*'",
        "value.type == paid",
        "record.group == g",
        "(value.order == 3) and not (key == k)",
    ),
)


def passes_alone(question: str, topic: str | None, row: Row, reader: RecordValueReader | None = None) -> bool:
    """What the filter says of a Produce that has this record and no other."""
    made = Exchange()
    made.api_key, made.extra, made.request_raw = 0, None, None
    part = {"index": 0, "records": [{"records": [row]}]}
    made._request_view, made._response_view = {"topic_data": [{"name": topic, "partition_data": [part]}]}, None
    made._looked = True
    asked = parse(question)
    asked.set_value_reader(reader)
    return asked.matches(made)


def passes_as_record(question: str, topic: str | None, row: Row, reader: RecordValueReader | None = None) -> bool:
    asked = parse(question)
    test = make_record_test(asked.node)
    asked.set_value_reader(reader)
    return test(topic, row)


def make_rows(data: bytes) -> Iterator[Row]:
    """Records with these bytes as a value, or as a key, with a header and without."""
    yield 0, 1, b"k", data, (), None
    yield 0, 1, data, None, (("n", b"1"),), None
    yield 0, 1, None, data, (("n", None), ("content-type", b"application/cloudevents+json")), None
    yield 0, 1, None, b"text", (("ce_specversion", b"1.0"), ("ce_type", b"paid")), None
    yield 0, 1, None, data, (), {"type": "commit", "version": 0, "value": {}}


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_a_record_is_answered_as_an_exchange_with_it_alone(text: str) -> None:
    for row in make_rows(text.encode()):
        for question in QUESTIONS:
            assert passes_as_record(question, "t", row) == passes_alone(question, "t", row), (question, row)


def test_values_that_only_schemas_of_files_explain_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RecordValueReader()
    reader.store.has_files = True
    calls: list[bytes | None] = []
    monkeypatch.setattr(reader, "decode", lambda data, *_, **__: calls.append(data))
    passes_as_record("value.order == 3", "t", (0, 1, None, b"no JSON", (), None), reader)
    passes_as_record("value.order == 3", "t", (0, 1, None, b'{"a":1}', (), None), reader)
    assert calls == [b"no JSON", b'{"a":1}']


# A question, texts without a value that passes, and texts that are decoded: only by that may it be told what they have.
LOOKS = (
    (
        "value.order == 3",
        ('{"order":4}', '{"order":-3}', '{"order":33}', '{"order":"x"}', '{"order":3.5}', '{"order":null}', '{"a":3}'),
        (
            '{"order":3}',
            '{"order":3.0}',
            '{"order":30e-1}',
            '{"order":"3.0"}',
            '{"order":4,"order":3}',
            '{"order":[4]}',
        ),
    ),
    (
        "value.order > 1000",
        (
            '{"order":20.5}',
            '{"order"\n:\r\t1e3, "a":1001}',
            '{"xorder":1001}',
            '{"order":"999.9"}',
            '{"order":"x"}',
            '{"order":true}',
        ),
        ('{"order":1000.5}', '{"order":"1001"}', '{"order":99999999999999999999}', '{"order":-1,"a":{"order":1e4}}'),
    ),
    ("value.order <= -3", ('{"order":-2.5}', '{"order":false}', '{"order":"-2"}'), ('{"order":-3}', '{"order":"-4"}')),
    ("value.order >= 1", ('{"order":0.9}', '{"order":false}', '{"order":-0}'), ('{"order":true}', '{"order":1}')),
    ("value.a.order < 3", ('{"a":{"order":3}}', '{"order":"3"}', '{"a":[1]}'), ('{"order":2}', '{"a":[{"order":0}]}')),
    ("value.order == true", ('{"order":2}', '{"order":"x"}'), ('{"order":true}', '{"order":"true"}')),
    ("value.order != 3", ('{"order":4}', '{"order":"x"}'), ('{"order":3}',)),
    ("value.order in (3, x)", ('{"order":4}', '{"order":"xx"}'), ('{"order":"x"}',)),
    ("value.order like 'x*7'", ('{"order":"x8"}', '{"order":7}', '{"a":"x7"}'), ('{"order":"x7"}', '{"order":"\\n"}')),
    ("value.order ~ '^x+$'", ('{"order":"xy"}', '{"order":7}'), ('{"order":"xx"}', '{"order":{}}', '{"order":"x\\/"}')),
    ("value.order !~ '7'", ('{"order":"x"}', '{"order":6}'), ('{"order":17}',)),
)
ALWAYS_LOOKED_AT = (
    b'{"\\u006frder":9}',
    b'{"order":[9]}',
    b'\0{"order":9}',
    b" {}",
    b'{"order":"\xff"}',
    b'{"order":1-2}',
)


@pytest.mark.parametrize(("question", "passed_over", "looked_at"), LOOKS, ids=[look[0] for look in LOOKS])
def test_what_cannot_pass_is_not_decoded(
    question: str, passed_over: tuple[str, ...], looked_at: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes | None] = []
    monkeypatch.setattr(RecordValueReader, "decode", lambda _self, data, *_, **__: decoded.append(data))
    wanted = [*dict.fromkeys([*map(str.encode, looked_at), *ALWAYS_LOOKED_AT])]
    for data in (b"", b"text", b"[3]", b'"order"', *map(str.encode, passed_over), *wanted):
        passes_as_record(question, "t", (0, 1, None, data, (("n", b"1"),), None))
    assert list(dict.fromkeys(decoded)) == wanted


names = st.sampled_from(["order", "a", "no_1"])
leaves = st.one_of(
    st.sampled_from([0, 3, 3.0, -3, 33, "3", "3.0", "x", "x/y", 'q"', "€", True, False, None, 2**63, 0.3]),
    st.integers(-40, 40),
    st.text(max_size=3),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.dictionaries(
    names, st.recursive(leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2))
)


def escape_letters(text: str, chosen: str) -> str:
    """A JSON text with some of its letters as escapes, which may break the words true, false and null."""
    return "".join(f"\\u{ord(each):04x}" if each in chosen else each for each in text)


@given(
    values,
    st.lists(names, min_size=1, max_size=2),
    st.sampled_from(["3", "3.0", "-3", "0", "33", "'x'", "'x/y'", "€", "true", '"3"', "0.3", "9223372036854775808"]),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.sampled_from(["", "o", "ax"]),
)
def test_looks_lose_nothing(
    value: Any, path: list[str], word: str, ascii_only: bool, indent: int | None, chosen: str
) -> None:
    text = escape_letters(json.dumps(value, ensure_ascii=ascii_only, indent=indent), chosen)
    data = text.encode("utf-8", "surrogatepass")
    for question in (f"value.{'.'.join(path)} == {word}", f"value.{'.'.join(path)}"):
        row: Row = (0, 1, None, data, (), None)
        assert passes_as_record(question, "t", row) == passes_alone(question, "t", row)


numbers = st.one_of(
    st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,2})?([eE][+-]?[0-9])?", fullmatch=True),
    st.from_regex(r"-?[0-9]{15,45}(\.[0-9]{1,45})?", fullmatch=True),
    st.sampled_from(
        ["3", "-0", "-0.0", "3e0", "30E-1", "1e999", "2.9999999999999999999", "18446744073709551616", "03"]
    ),
)
quoted = st.one_of(
    numbers.map(lambda text: f'"{text}"'),
    st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(
        ['"order"', '"\\"order\\":3"', '"x\\/3"', '"x\\\\"', '"order\\":3"', '"\u0663"', '"\t3"', '"3', '"']
    ),
)
keys = st.sampled_from(['"order"', '"order"', '"a"', '"orders"', '"\\"order"', '"\\u006frder"', '"order\\""', "order"])
spaces = st.sampled_from(["", "", "", " ", "\n\t", "\r", "\u00a0", "\x0c"])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """The text of an object, which may have a key twice, and of which some are no JSON."""
    members = draw(st.lists(st.tuples(spaces, keys, spaces, spaces, inner, spaces), max_size=3))
    return f"{{{','.join(f'{a}{key}{b}:{c}{value}{d}' for a, key, b, c, value, d in members)}}}"


texts = st.recursive(
    st.one_of(numbers, numbers, quoted, st.sampled_from(["true", "false", "null", "NaN", "truer"])),
    lambda inner: objects(inner) | st.lists(inner, max_size=2).map(lambda parts: f"[{','.join(parts)}]"),
    max_leaves=4,
)
comparisons = st.one_of(
    st.tuples(
        st.sampled_from([">", "<", ">=", "<=", "==", "!="]),
        st.sampled_from(["3", "-3", "0", "2.5", "1", "1000", "-0.5", "18446744073709551616", "0.1", "3ms", "true"]),
    ),
    st.tuples(st.sampled_from(["like", "not like"]), st.sampled_from(["'*3*'", "3", "'x*'", "True", "'?'", "None"])),
    st.tuples(st.sampled_from(["~", "!~"]), st.sampled_from(["'3'", "'^3$'", "'x|N'", "'[0-9]e'", "'order'", "'-'"])),
)


@given(
    objects(texts),
    st.sampled_from(["order", "a.order", "order.order", "order[0]", "order[].order"]),
    st.lists(comparisons, min_size=3, max_size=3),
    st.sampled_from([b"", b"", b"", b"\xff", b"\xed\xa0\x80", b'"', b"\\", b"}"]),
    st.integers(0, 40),
)
def test_looks_lose_nothing_of_any_text(
    text: str, path: str, asked: list[tuple[str, str]], inserted: bytes, at: int
) -> None:
    whole = text.encode("utf-8", "surrogatepass")
    row: Row = (0, 1, None, whole[:at] + inserted + whole[at:], (), None)
    for sign, word in asked:
        question = f"value.{path} {sign} {word}"
        assert passes_as_record(question, "t", row) == passes_alone(question, "t", row), question


def list_records(name: str) -> list[tuple[str | None, Row]]:
    """The records of a capture, each once."""
    needs = parse("value.a == 1").needs
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    rows = {
        (topic, row[2], row[3], repr(row)): (topic, row)
        for each in found
        if isinstance(each, Exchange)
        for topic, row in iterate_records_with_topic(each)
    }
    return list(rows.values())


@pytest.mark.parametrize("name", sampled(CAPTURES, 3))
def test_records_of_captures_are_answered_as_exchanges_with_each_alone(name: str) -> None:
    records = list_records(name)
    questions = {"value.order == 3", "value.id > 1", "value_format == json", "value ~ 'a'", "key == null"}
    for _, row in records[:: max(len(records) // 10, 1)]:
        content = RecordValueReader().decode(row[3], row[4], "t", is_key=False) if row[5] is None else None
        for field, value in content.value.items() if content is not None and isinstance(content.value, dict) else ():
            if isinstance(value, str | int) and "'" not in str(value) and field.isidentifier():
                questions |= {f"value.{field} == '{value}'", f"value.{field} == {json.dumps(value)}", f"value.{field}"}
    passed = 0
    for question in sorted(questions):
        for topic, row in records[:: max(len(records) // 200, 1)]:
            alone = passes_alone(question, topic, row)
            passed += alone
            assert passes_as_record(question, topic, row) == alone, (question, row)
    assert passed or not records
