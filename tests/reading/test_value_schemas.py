"""Keys and values of records are shown decoded, with schemas that the capture itself has, before or after a value."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import Record
from decoders.messages.decode_record_values import RecordValueReader
from decoders.records.records_as_json import records_json, records_json_noting_encodings
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from decoders.values.value_decoder import ValueDecoder
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import FilteredRowSink
from kwcli.run_environment import Environment
from tests.cli.worlds import kw, world
from tests.reading.captures_with_values import (
    BOB,
    ORDER,
    HandMadeCapture,
    http_answer,
    http_get,
    http_post,
    prefixed,
    schemas_record,
)

DECODED = {"id": 41, "customer": "Ann"}
TEXT = json.dumps(ORDER)
VALUES = [Record(0, 5, b"k", prefixed(17)), Record(1, 5, b"k", b'{"a":{"b":[{"c":3}]}}'), Record(2, 5, b"k", b"plain")]


def shown(*words: str, env: Environment | None = None) -> list[dict[str, Any]]:
    """The records that a run shows, in order."""
    rows = map(json.loads, kw(*words, "--records", env=env).out.splitlines())
    return [record for row in rows for record in _records_in(row)]


def _records_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        found = [value] if "offset" in value and "headers" in value else []
        return found + [record for each in value.values() for record in _records_in(each)]
    return [record for each in value for record in _records_in(each)] if isinstance(value, list) else []


def orders(*words: str, env: Environment | None = None) -> list[Any]:
    """The decoded form of the values with a schema that a run shows."""
    found = [record.get("value_decoded") for record in shown(*words, env=env)]
    return [each for each in found if each and each["schema_id"] is not None]


LEARNT: dict[str, Any] = {
    "_schemas": lambda: HandMadeCapture().fetch("_schemas", schemas_record(17)),
    "_schemas, produced": lambda: HandMadeCapture().produce("_schemas", schemas_record(17)),
    "by id": lambda: HandMadeCapture().http((http_get("/schemas/ids/17?x=1"), http_answer({"schema": TEXT}))),
    "in chunks": lambda: HandMadeCapture().http(
        (http_get("/apis/ccompat/v7/schemas/ids/17"), http_answer({"schema": TEXT}, how="chunked"))
    ),
    "by subject": lambda: HandMadeCapture().http(
        (http_get("/subjects/orders-value/versions/latest"), http_answer({"id": 17, "version": 1, "schema": TEXT}))
    ),
    "registered": lambda: HandMadeCapture().http(
        (http_get("/subjects"), http_answer([], how="gzip")),
        (http_post("/subjects/orders-value/versions", {"schema": TEXT}), http_answer({"id": 17})),
    ),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("how", LEARNT)
def test_schemas_are_learnt_from_the_capture(how: str, after: bool, tmp_path: Path) -> None:
    capture = LEARNT[how]()
    if after:
        learnt, capture = capture, HandMadeCapture().produce("orders", *VALUES)
        capture.add_packets_of(learnt)
    else:
        capture.produce("orders", *VALUES)
    (found,) = orders("sniff", capture.write(tmp_path / "a.pcap"))
    assert found["schema_from"]["kind"] == "capture"
    assert isinstance(found["schema_from"].pop("packet"), int)
    assert found == {
        "format": "avro",
        "schema_id": 17,
        "name": "shop.Order",
        "schema_from": {"kind": "capture"},
        "value": DECODED,
    }


def test_bytes_stay_beside_and_raw_values_are_bytes_alone(tmp_path: Path) -> None:
    name = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES).write(tmp_path / "a.pcap")
    records = [each for each in shown("sniff", name) if each["key"] == "k"]
    assert [each["value"] for each in records] == [{"base64": "AAAAABFSBkFubg=="}, VALUES[1].value.decode(), "plain"]  # type: ignore[union-attr]
    assert records[1]["value_decoded"]["value"] == {"a": {"b": [{"c": 3}]}}
    assert "value_decoded" not in records[2]
    assert "key_decoded" not in records[0]
    bare = [each for each in shown("sniff", name, "--raw-values") if each["key"] == "k"]
    assert bare == [{name: each for name, each in record.items() if name != "value_decoded"} for record in records]


def test_text_has_a_line_for_each_value(tmp_path: Path) -> None:
    name = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES).write(tmp_path / "a.pcap")
    for words in (("--records",), ("--records", "-v")):
        out = kw("sniff", name, "-o", "text", *words).out
        assert 'avro #17 shop.Order {"id":41,"customer":"Ann"}' in out
        assert '{"a":{"b":[{"c":3}]}}' in out


def test_records_read_again_have_the_lines_of_captures(tmp_path: Path) -> None:
    capture = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES)
    capture.produce("orders", Record(3, 5, prefixed(17, BOB), prefixed(18)))
    name = capture.write(tmp_path / "a.pcap")
    for made, words in {"decoded": (), "bytes": ("--raw-values",)}.items():
        again = tmp_path / f"{made}.ndjson"
        again.write_text(kw("sniff", name, "--records", *words).out)
        for more in (("--records",), ("--records", "-v"), ("--records", "-v", "--raw-values")):
            expected = kw("sniff", name, "-o", "text", *more)
            found = kw("sniff", str(again), "-o", "text", *more)
            assert found.out == expected.out
            assert ("1 value with a schema" in found.err) == ("1 value with a schema" in expected.err)
    strange = json.loads((tmp_path / "decoded.ndjson").read_text().splitlines()[1])
    record = strange["request"]["topic_data"][0]["partition_data"][0]["records"][0]["records"][0]
    for decoded in (7, {"format": "mine"}):
        record["value_decoded"] = decoded
        (tmp_path / "own.ndjson").write_text(json.dumps(strange) + "\n")
        assert "orders" in kw("sniff", str(tmp_path / "own.ndjson"), "-o", "text", "--records", "-v").out


COLUMNS: dict[str, list[Any]] = {
    "value.customer": ["Ann", "Bob"],
    "value.id": [41, 42],
    "schema_id": [17, 17],
    "value_format": ["avro,json", "avro"],
}


def test_columns_have_what_values_hold(tmp_path: Path) -> None:
    """The schema comes after the values; each cell has a value once."""
    capture = HandMadeCapture().produce("orders", *VALUES).produce("orders", Record(0, 5, None, prefixed(17, BOB)))
    capture.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    name = capture.write(tmp_path / "a.pcap")
    words = ("-o", "csv", "--columns", ",".join(["value", "value_decoded", *COLUMNS]), "-f", "topic == orders")
    for more in ((), ("--jobs", "2")):
        rows = list(csv.DictReader(io.StringIO(kw("sniff", name, *words, *more).out)))
        for word, cells in COLUMNS.items():
            assert [row[word] for row in rows] == list(map(str, cells)), word
        assert json.loads(rows[1]["value"]) == {"base64": "AAAAABFUBkJvYg=="}
        shown = json.loads(rows[1]["value_decoded"])
        assert (shown["name"], shown["value"]) == ("shop.Order", {"id": 42, "customer": "Bob"})
        assert [each["format"] for each in json.loads(f"[{rows[0]['value_decoded']}]")] == ["avro", "json"]
    assert "Bob" in kw("sniff", name, "-o", "fields", "-e", "value.customer").out
    table = kw("sniff", name, "-o", "table", "--columns", "time,value.customer").out
    assert "Ann" in table
    found = kw("sniff", name, "-o", "ndjson", "-f", "value_decoded ~ 'Bob'").out.splitlines()
    assert len(found) == 1


def test_columns_count_a_missing_schema_once(tmp_path: Path) -> None:
    name = HandMadeCapture().produce("orders", *VALUES).write(tmp_path / "a.pcap")
    run = kw("sniff", name, "-o", "csv", "--columns", "value.customer,value.id,schema_id", "-f", "not value.id == 7")
    assert "1 value with a schema that was not seen (id 17)" in run.err


class SlowPipe(io.BytesIO):
    """Standard input that gives some packets at a time."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(100 if size is None or size < 0 else min(size, 100))


def test_pipes_hold_nothing_back_and_say_what_would_help() -> None:
    capture = HandMadeCapture().produce("orders", *VALUES, Record(3, 5, None, prefixed(18))).produce("orders", *VALUES)
    capture.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    capture.produce("orders", Record(0, 5, None, prefixed(17, BOB)))
    env = world()
    env.stdin = SlowPipe(capture.data())
    found = orders("sniff", "-", env=env)
    assert [each.get("missing_schema") for each in found] == [True, True, True, None]
    assert found[0]["value"] is None
    assert found[-1]["value"]["customer"] == "Bob"
    env = world()
    env.stdin = SlowPipe(capture.data())
    run = kw("sniff", "-", "--records", "-o", "text", env=env)
    assert "3 values with a schema that was not seen (ids 17, 18): --schemas DIR" in run.err
    assert "Ann" not in run.err
    assert "#17 (guessed) (schema not seen yet) base64:AAAAABFSBkFubg==" in run.out


def test_files_without_such_values_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = ReadingRun.open_captures

    def open_captures(*words: Any) -> Any:
        opened.append(words)
        return real(*words)

    monkeypatch.setattr(ReadingRun, "open_captures", open_captures)
    whole = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES)
    orders("sniff", whole.write(tmp_path / "a.pcap"))
    assert len(opened) == 1
    orders("sniff", HandMadeCapture().produce("orders", *VALUES).write(tmp_path / "b.pcap"))
    assert len(opened) == 3


def test_workers_show_values_of_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the reader of a pipe learns after the workers began, they would not know."""
    shared: list[Any] = []
    monkeypatch.setattr(FilteredRowSink, "start_render_jobs", lambda _sink, *words: shared.append(words))
    capture = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES)
    name = capture.write(tmp_path / "a.pcap")
    for words, count in ((("-", "--records"), 0), (("-",), 1), ((name, "--records"), 2)):
        env = world(capture.data())
        kw("sniff", *words, "--jobs", "2", env=env)
        assert len(shared) == count, words


def test_ids_of_two_registries_are_a_guess(tmp_path: Path) -> None:
    other = {**ORDER, "name": "Other"}
    capture = HandMadeCapture().fetch("_schemas", schemas_record(17))
    capture.http((http_get("/schemas/ids/17", "elsewhere:8081"), http_answer({"schema": json.dumps(other)})))
    capture.produce("orders", *VALUES)
    (found,) = orders("sniff", capture.write(tmp_path / "a.pcap"))
    assert found["guessed"] is True


def test_a_schema_says_its_file_where_there_are_several(tmp_path: Path) -> None:
    first = HandMadeCapture().produce("orders", *VALUES).write(tmp_path / "a.pcap")
    second = HandMadeCapture().fetch("_schemas", schemas_record(17)).write(tmp_path / "b.pcap")
    found = orders("sniff", first, second)
    assert found[0]["value"] == DECODED


def test_filters_look_into_values(tmp_path: Path) -> None:
    capture = (
        HandMadeCapture().produce("orders", *VALUES).produce("orders", Record(0, 5, b'{"id":7}', prefixed(17, BOB)))
    )
    capture.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    name = capture.write(tmp_path / "a.pcap")

    def passing(text: str) -> list[int]:
        rows = kw("sniff", name, "-f", f"topic == orders and ({text})").out.splitlines()
        return [json.loads(row)["packets"]["request"][0] for row in rows]

    first, second = passing("api == Produce")
    for text, packets in {
        "value.customer == Bob": [second],
        "value.id > 41": [second],
        "value.id >= 41": [first, second],
        "key.id == 7": [second],
        "value.a.b[].c == 3": [first],
        "value.a.b[1].c == 3": [],
        "value.customer ~ '^A'": [first],
        "value.customer": [first, second],
        "schema_id == 17": [first, second],
        "schema_id == 18": [],
        "value_format == json": [first],
        "key_format == json": [second],
        "value_format in (avro, json) and not value.id == 42": [first],
    }.items():
        assert passing(text) == packets, text


def test_decoders_are_loaded_for_values_with_a_form_alone(tmp_path: Path) -> None:
    plain = [Record(0, 5, b"k", b"plain", (("trace", b"7"),)), Record(1, 5, b"\0\0\0\0\0\0\0\7", b"\xff\xfe\x04")]
    names = [
        HandMadeCapture().produce("orders", *rows).write(tmp_path / f"{len(rows)}.pcap") for rows in (VALUES, plain)
    ]
    heavy = ("decoders.values.value_decoder", "decoders.filters", "h11")
    script = (
        "import sys; from kwcli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('decoders.values' in sys.modules, *[each in sys.modules for each in {heavy}])"
    )
    for name, words, loaded in (
        (names[0], ["--records"], [True, True, False, False]),
        (names[1], ["--records"], [True, False, False, False]),
        (names[0], [], [False] * 4),
        (names[0], ["-v"], [False] * 4),
    ):
        run = subprocess.run(
            [sys.executable, "-c", script, "sniff", name, "-o", "text", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.splitlines()[-1] == " ".join(map(str, loaded))


def test_a_scrubbed_capture_has_neither_values_nor_schemas(tmp_path: Path) -> None:
    capture = HandMadeCapture().http((http_get("/schemas/ids/17"), http_answer({"schema": TEXT})))
    capture.fetch("_schemas", schemas_record(17)).produce("orders", *VALUES)
    name, made = capture.write(tmp_path / "a.pcap"), str(tmp_path / "b.pcapng")
    assert [each["value"] for each in orders("sniff", name)] == [DECODED]
    assert kw("scrub", name, made).code == 0
    data = Path(made).read_bytes()
    assert not [word for word in (b"Ann", b"shop", b"customer", b"registry", b"orders", b"plain") if word in data]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "order.avsc").write_text(TEXT)
    (tmp_path / "s" / "ids.json").write_text('{"17": "order.avsc"}')
    records = shown("sniff", made, "--schemas", str(tmp_path / "s"))
    assert len(records) == len(VALUES) + 1
    assert not [record for record in records if "value_decoded" in record or "key_decoded" in record]


def test_records_with_decoded_values_are_read_again(tmp_path: Path) -> None:
    capture = HandMadeCapture().fetch("_schemas", schemas_record(17)).produce("orders", *VALUES)
    lines = kw("sniff", capture.write(tmp_path / "a.pcap"), "--records").out
    (tmp_path / "a.ndjson").write_text(lines)
    assert kw("sniff", str(tmp_path / "a.ndjson"), "--records").out == lines
    (body,) = (json.loads(line)["request"] for line in lines.splitlines() if '"Produce"' in line)
    (batch,) = body["topic_data"][0]["partition_data"][0]["records"]
    assert "value_decoded" in batch["records"][0]
    encoded = kw("encode", "produce", "8", env=world(json.dumps(body).encode()))
    assert VALUES[0].value is not None
    assert VALUES[0].value.hex() in encoded.out


@pytest.mark.parametrize("output", ["ndjson", "json", "yaml"])
def test_records_that_were_written_as_bytes_are_decoded_when_they_are_read_again(output: str, tmp_path: Path) -> None:
    capture = HandMadeCapture().produce("orders", *VALUES)
    name = capture.write(tmp_path / "a.pcap")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "order.avsc").write_text(TEXT)
    (tmp_path / "s" / "ids.json").write_text('{"17": "order.avsc"}')
    words = ("--records", "-o", output, "--schemas", str(tmp_path / "s"))
    (tmp_path / "a.ndjson").write_text(kw("sniff", name, "--records", "--raw-values", "-o", "ndjson").out)
    again = kw("sniff", str(tmp_path / "a.ndjson"), *words).out
    assert again == kw("sniff", name, *words).out
    assert again.count("value_decoded") == 2
    raw = kw("sniff", str(tmp_path / "a.ndjson"), "--records", "--raw-values", "-o", output).out
    assert "_decoded" not in raw


@st.composite
def _batches(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """The rows of a batch: mostly plain text, as in most topics."""
    plain = st.text("aZ7-_.\u00e9\u0664", max_size=6).map(str.encode)
    data = st.one_of(st.none(), plain, st.text(max_size=4).map(str.encode), st.binary(max_size=9), st.just(b'{"a":1}'))
    field = plain if draw(st.booleans()) else data
    headers = st.lists(st.tuples(st.just("ce_type"), plain), max_size=draw(st.integers(0, 1))).map(tuple)
    return draw(st.lists(st.tuples(st.just(0), st.just(0), field, field, headers, st.none()), max_size=9))


@pytest.mark.parametrize("make", [records_json, records_json_noting_encodings])
@given(rows=_batches(), with_files=st.booleans())
def test_a_look_at_a_batch_passes_over_what_decodes_to_nothing(
    make: Callable[[Iterator[Any]], list[dict[str, Any]]], rows: list[tuple[Any, ...]], with_files: bool
) -> None:
    reader = RecordValueReader()
    if with_files:
        reader.store.add_schema(RegisteredSchema("AVRO", '"string"', SchemaOrigin("file"), subject="t-value"))
    shown, full = make(iter(rows)), ValueDecoder(reader.store)
    expected = [
        dict(record)
        | {
            f"{field}_decoded": found.to_json()
            for field, data in (("key", row[2]), ("value", row[3]))
            if (found := full.decode(data, row[4], topic="t", is_key=field == "key")) is not None
        }
        for record, row in zip(records_json(iter(rows)), rows, strict=True)
    ]
    reader.change_records(shown, "t")
    assert shown == expected


def test_plain_batches_take_no_call_for_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 0, None, b"plain", (), None), (1, 0, b"key", b"", (), None), (2, 0, b"7", b"\xc3\xa9", (), None)]
    calls: list[object] = []
    monkeypatch.setattr(RecordValueReader, "decode_json", lambda *words: calls.append(words))
    RecordValueReader().change_records(records_json(iter(rows)), "t")
    assert calls == []
    RecordValueReader().change_records(records_json(iter([*rows, (3, 0, None, b"{}", (), None)])), "t")
    assert len(calls) == 1


def test_closing_lines_name_fingerprints(tmp_path: Path) -> None:
    single = HandMadeCapture().produce(
        "orders", *(Record(at, 5, None, b"\xc3\x01abcdefgh\x52\x06Ann") for at in (0, 1))
    )
    fingerprint = "fingerprint 6162636465666768"
    words = (single.write(tmp_path / "a.pcap"), "--records")
    assert f"2 values with a schema that was not seen ({fingerprint}): " in kw("sniff", *words).err
    single.produce("orders", Record(0, 5, None, prefixed(17)))
    words = (single.write(tmp_path / "a.pcap"), "--records")
    told = f"3 values with a schema that was not seen (id 17, {fingerprint}): --schemas DIR"
    assert told in kw("sniff", *words).err
    assert told in kw("pipeline", "run", *words, "--bodies", "--out", str(tmp_path / "out")).err
