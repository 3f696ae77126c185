"""Answers about decoded keys and values: statistics by schema and form, the schemas of topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders import Record, read_exchanges
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.messages.decode_record_values import RecordValueReader
from kwcli.output.renderers import WantedPaths
from tests.analysis.test_portraits import SCHEMA
from tests.cli.worlds import kw
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed, schemas_record


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """Three Produces: of two schemas and plain JSON, of a key with a schema, of plain text; a schema comes after."""
    made = HandMadeCapture().produce(
        "orders",
        Record(0, 5, b"k", prefixed(17)),
        Record(1, 5, b"k", prefixed(18)),
        Record(2, 5, b"k", prefixed(17)),
        Record(3, 5, b"k", b'{"a":1}'),
    )
    made.produce("orders", Record(4, 5, prefixed(17), b"plain")).produce("logs", Record(0, 5, None, b"plain"))
    made.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    return made.write(tmp_path / "a.pcap")


def rows(*words: str) -> list[dict[str, Any]]:
    """The rows of an answer."""
    return [json.loads(line) for line in kw(*words, "-o", "ndjson").out.splitlines()]


@pytest.mark.parametrize(
    ("by", "counts"),
    [
        ("schema_id", {(None,): 1, ("17",): 2, ("18",): 1}),
        ("value_format", {(None,): 2, ("avro",): 1, ("json",): 1, ("unknown",): 1}),
        ("partition,schema_id", {("logs", 0, None): 1, ("orders", 0, "17"): 2, ("orders", 0, "18"): 1}),
    ],
)
def test_statistics_by_schema_and_form(capture: str, by: str, counts: dict[Any, int]) -> None:
    found = rows("stats", capture, "--by", by, "--api", "produce")
    names = by.replace("partition", "topic,partition").split(",")
    assert {tuple(row[name] for name in names): row["count"] for row in found} == counts


def test_statistics_use_schemas_of_files(capture: str, tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "ids.json").write_text('{"18": "order.avsc"}')
    words = ("stats", capture, "--by", "value_format", "--schemas", str(tmp_path))
    assert "unknown" not in {row["value_format"] for row in rows(*words)}
    assert "schema that was not seen" not in kw(*words).err
    assert "1 value with a schema that was not seen (id 18)" in kw(*words[:-2]).err
    filtered = ("stats", capture, "-f", "value.customer == Ann", "--by", "client")
    assert [row["count"] for row in rows(*filtered, *words[-2:])] == [1]


# Part, format, id and name of schemas of `orders`, in how many records.
SCHEMAS = [
    ("value", "avro", 17, "shop.Order", 2),
    ("value", None, None, None, 1),
    ("value", "json", None, None, 1),
    ("value", "unknown", 18, None, 1),
    ("key", None, None, None, 4),
    ("key", "avro", 17, "shop.Order", 1),
]


def test_topics_have_their_schemas_with_shares(capture: str) -> None:
    found = {row["topic"]: row for row in rows("topics", capture, "--values")}
    for row in found.values():
        SCHEMA.validate(row)
    schemas = found["orders"]["schemas"]
    assert [
        tuple(each[name] for name in ("part", "format", "schema_id", "name", "records")) for each in schemas
    ] == SCHEMAS
    assert [each["share"] for each in schemas] == [0.4, 0.2, 0.2, 0.2, 0.8, 0.2]
    assert "schemas" not in rows("topics", capture)[0]
    assert "value avro #17 shop.Order 40 %" in kw("topics", capture, "orders", "--values", "-o", "text").out
    assert "value avro #17 shop.Order 40 %" in kw("topics", capture, "orders", "--values", "-o", "csv").out
    assert "value avro #17 shop.Order 40 %" in kw("topics", capture, "--values", "-o", "text").out
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({**found["orders"], "schemas": [{}]})


def test_portraits_of_schemas_are_merged_and_resumed(capture: str) -> None:
    def make() -> TopicPortraits:
        made = TopicPortraits()
        made.set_value_reader(RecordValueReader())
        return made

    whole, first, second = make(), make(), make()
    with Path(capture).open("rb") as file:
        for number, exchange in enumerate(read_exchanges(file, needs=WantedPaths(whole.needs))):
            whole.add(exchange)
            (first, second)[number % 2].add(exchange)
    resumed = make()
    resumed.resume(first.export())
    resumed.merge(second)
    assert resumed.rows() == whole.rows()
    assert resumed.export() != make().export()
    assert [row["schemas"][0]["records"] for row in whole.rows() if row["topic"] == "orders"] == [2]


def test_values_without_a_schema_count_once_for_two_dimensions(capture: str) -> None:
    said = kw("stats", capture, "--by", "value_format,schema_id").err
    assert "1 value with a schema that was not seen (id 18)" in said


def test_a_report_has_the_schemas_of_topics_and_findings_about_them(capture: str) -> None:
    plain, asked = (json.loads(kw("report", capture, *words, "-o", "json").out) for words in ((), ("--values",)))
    (orders,) = (row for row in asked["topics"] if row["topic"] == "orders")
    (portrait,) = (row for row in rows("topics", capture, "--values") if row["topic"] == "orders")
    assert orders["schemas"] == portrait["schemas"] != []
    assert [row for row in plain["topics"] if "schemas" in row] == []
    found = {row["id"] for row in rows("doctor", capture, "--values", "--fail-on", "never") if row["kind"] == "finding"}
    assert {row["id"] for row in asked["findings"]} == found
    shown = kw("report", capture, "--values", "-o", "md").out
    assert ("| schemas |" in shown, r"value avro \#17 shop.Order 40 %" in shown) == (True, True)
    assert "| schemas |" not in kw("report", capture, "-o", "md").out
