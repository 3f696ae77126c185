"""Answers about decoded keys and values: statistics by schema and form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import Record
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
