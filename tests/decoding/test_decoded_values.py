"""`kw decode --records`: keys and values of records in single messages, decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import Record, encode_request, encode_response
from decoders.records.encode_batches import encode_batch
from tests.cli.worlds import kw
from tests.reading.captures_with_values import FETCH, ORDER, PRODUCE, framed, prefixed

BATCH = encode_batch([Record(0, 5, b"k", prefixed(17)), Record(1, 5, prefixed(18), b"plain")])
ASKED = {"topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": BATCH}]}]}
REQUEST = framed(encode_request(PRODUCE, 8, {"acks": 1, "timeout_ms": 1, **ASKED}, correlation_id=1)).hex()
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAKQ"
ANSWER = {"responses": [{"topic_id": TOPIC_ID, "partitions": [{"partition_index": 0, "records": BATCH}]}]}
RESPONSE = framed(encode_response(FETCH, 13, ANSWER, correlation_id=1)).hex()
SAID = {"id": 41, "customer": "Ann"}


@pytest.fixture
def schemas(tmp_path: Path) -> str:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "ids.json").write_text('{"17": "order.avsc"}')
    return str(tmp_path)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ((REQUEST,), ("topic_data", "partition_data")),
        ((RESPONSE, "--response", "--api", "Fetch", "--version", "13"), ("responses", "partitions")),
    ],
)
def test_records_of_messages_are_decoded(words: tuple[str, ...], path: tuple[str, str], schemas: str) -> None:
    outcome = kw("decode", *words, "--records", "--schemas", schemas, "-o", "ndjson")
    body: Any = json.loads(outcome.out)["body"]
    first, second = body[path[0]][0][path[1]][0]["records"][0]["records"]
    assert (first["value_decoded"]["value"], first["value"]) == (SAID, {"base64": "AAAAABFSBkFubg=="})
    assert (second["key_decoded"]["missing_schema"], second["value"]) == (True, "plain")
    assert "1 value with a schema that was not seen (id 18): --schemas DIR" in outcome.err
    text = kw("decode", *words, "--records", "--schemas", schemas, "-o", "text")
    assert 'avro #17 shop.Order {"id":41,"customer":"Ann"}' in text.out
    raw = kw("decode", *words, "--records", "--raw-values", "-o", "ndjson")
    assert ("_decoded" in raw.out, raw.err) == (False, "")


def test_a_proxy_says_that_its_log_asks_no_registry() -> None:
    words = ("proxy", "-b", "127.0.0.1:1", "-X", "schema.registry.url=http://127.0.0.1:1", "--check")
    assert "the log asks no schema registry" in kw(*words, "--records").err
    assert "the log asks no schema registry" not in kw(*words).err
