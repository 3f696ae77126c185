"""`kw call produce --schema`: values are JSON that a schema encodes; `kw call fetch --values` gives the JSON back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kwcli.calling.records.print_records import RecordLineWriter, RecordValueWriter
from kwcli.output.short_texts import find_zone, palette
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.net.test_schema_registry import home, registry
from tests.reading.captures_with_values import ANN, ORDER, prefixed

VALUE = json.dumps({"id": 41, "customer": "Ann"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "orders-value.avsc").write_text(json.dumps(ORDER))
    return tmp_path


def fields(*words: str) -> Any:
    """The decoded value of the one record that a dry run would send."""
    run = kw("call", "produce", "topic=orders", f"value:={VALUE}", *words, "--dry-run", "-o", "ndjson", "--records")
    assert run.code == 0, run.err
    (batch,) = json.loads(run.out)["request"]["topic_data"][0]["partition_data"][0]["records"]
    return batch["records"][0]


def test_a_file_gives_the_body_and_an_id_beside_it_the_prefix(folder: Path) -> None:
    file = str(folder / "order.avsc")
    assert fields("--schema", file)["value"] == {"base64": "UgZBbm4="}
    (folder / "ids.json").write_text('{"17": "order.avsc", "18": "elsewhere.avsc"}')
    found = fields("--schema", file)
    assert found["value"] == {"base64": "AAAAABFSBkFubg=="}
    assert found["value_decoded"]["value"] == json.loads(VALUE)


def test_subjects_and_ids_are_those_of_schemas_and_of_a_registry(folder: Path) -> None:
    assert fields("--schema", "orders-value", "--schemas", str(folder))["value"] == {"base64": "UgZBbm4="}
    rows = {
        "/schemas/ids/17": {"schema": json.dumps(ORDER)},
        "/subjects/o%2Fv/versions/latest": {"subject": "o/v", "version": 2, "id": 19, "schema": json.dumps(ORDER)},
    }
    with registry(rows) as double:
        for name, schema_id in (("17", 17), ("o/v", 19)):
            words = ("--schema", name, "-X", f"schema.registry.url={double.url}")
            run = kw(
                *("call", "produce", "topic=x", f"value:={VALUE}", "value:=null", "--dry-run", "-o", "ndjson"),
                *("--records", *words),
                env=home(folder),
            )
            (batch,) = json.loads(run.out)["request"]["topic_data"][0]["partition_data"][0]["records"]
            first, second = batch["records"]
            assert first["value_decoded"]["schema_id"] == schema_id
            assert second["value"] is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("value=plain",), "value of record 1 is no JSON"),
        (
            ('value:={"id":1,"customer":"secret"}', 'value:={"id":"secret","customer":""}'),
            "value of record 2 does not fit",
        ),
        ((), "--schema is for records to produce"),
    ],
    ids=["no JSON", "misfit", "no record"],
)
def test_what_does_not_fit_is_told_without_the_value(words: tuple[str, ...], text: str, folder: Path) -> None:
    api = ("produce", "topic=x") if words else ("metadata",)
    run = kw("call", *api, *words, "--schema", str(folder / "order.avsc"), "--dry-run")
    assert run.code == Exit.USAGE
    assert text in run.err
    assert "secret" not in run.err
    assert "no schema of that name" in kw("call", "produce", "topic=x", "value=1", "--schema", "9", "--dry-run").err


def exchange(record: Mapping[str, Any]) -> dict[str, Any]:
    """An exchange record of a Fetch with one record."""
    whole = {"offset": 0, "timestamp": 5, "key": "k", "headers": [], **record}
    batch = {"base_offset": 0, "last_offset": 0, "control": False, "truncated": False, "records": [whole]}
    part = {"partition_index": 0, "error_code": 0, "high_watermark": 1, "records": [batch]}
    asked = {"topics": [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0}]}]}
    return {"request": asked, "response": {"responses": [{"topic": "t", "partitions": [part]}]}}


AVRO = {"format": "avro", "schema_id": 17, "name": "shop.Order", "schema_from": None, "value": json.loads(VALUE)}
JSON = {**AVRO, "format": "json", "schema_id": None, "name": None, "value": {"a": 1}}
BYTES = {"base64": "AAAAABFSBkFubg=="}


@pytest.mark.parametrize(
    ("record", "text", "row", "line"),
    [
        (
            {"value": BYTES, "value_decoded": AVRO},
            b'{"id":41,"customer":"Ann"}\n',
            {"id": 41, "customer": "Ann"},
            'avro #17 shop.Order {"id":41,"customer":"Ann"}',
        ),
        ({"value": '{"a": 1}', "value_decoded": JSON}, b'{"a": 1}\n', '{"a": 1}', '{"a": 1}'),
        (
            {"value": BYTES, "value_decoded": {**AVRO, "value": None, "error": "byte 7"}},
            prefixed(17, ANN) + b"\n",
            BYTES,
            "avro #17 shop.Order (byte 7) base64:AAAAABFSBkFubg==",
        ),
    ],
    ids=["avro", "json", "error"],
)
def test_fetched_values_are_printed_decoded(record: dict[str, Any], text: bytes, row: Any, line: str) -> None:
    for form, expected in (("text", text), ("ndjson", json.dumps(row, separators=(",", ":")).encode() + b"\n")):
        out: list[bytes] = []
        list(RecordValueWriter(out.append, form, None).write_records(exchange(record)))
        assert b"".join(out) == expected
    out = []
    list(RecordLineWriter(out.append, find_zone(""), palette(False)).write_records(exchange(record)))
    assert b"".join(out).decode().endswith(f"  k → {line}\n")
