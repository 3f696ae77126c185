"""FetchSnapshot hands out pieces of a file: a piece that does not begin with a batch is not read as one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from decoders.exchanges.exchange import Exchange
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from tests.broker.clients.batches import batch
from tests.exchanges.talks import request, response, run, segments

FETCH_SNAPSHOT = 59


def shown(piece: bytes, *, records: bool) -> list[dict[str, Any]]:
    """The batches that the record shows for a piece."""
    partition = {"index": 0, "size": 1000, "position": 0, "unaligned_records": piece}
    answer = {"topics": [{"name": "__cluster_metadata", "partitions": [partition]}]}
    turns = [(True, request(FETCH_SNAPSHOT, 1, 1, "a", {})), (False, response(FETCH_SNAPSHOT, 1, 1, answer))]
    (found,) = run(segments(turns, Random(1)))
    assert isinstance(found, Exchange)
    record = to_json_dict(found, Options(records=records))
    assert record["status"] == "complete"
    batches: list[dict[str, Any]] = record["response"]["topics"][0]["partitions"][0]["unaligned_records"]
    return batches


@pytest.mark.parametrize("records", [False, True])
def test_a_piece_that_begins_with_a_batch_is_read(records: bool) -> None:
    whole = batch(b"one") + batch(b"two") * 3
    found = shown(whole[:-5], records=records)
    assert [each["crc"] for each in found] == ["ok", "ok", "ok", "unchecked"]
    assert [each["truncated"] for each in found] == [False, False, False, True]
    assert sum(each["size"] for each in found) == len(whole) - 5


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("at", [1, 7, 16, 30, 60])
def test_a_piece_from_the_middle_is_bytes(at: int, records: bool) -> None:
    piece = (batch(b"one") * 4)[at:]
    (found,) = shown(piece, records=records)
    assert found["error"]["reason"] == "unaligned"
    assert (found["size"], found["crc"], found["base_offset"], found["codec"]) == (len(piece), "unchecked", None, None)
    assert ("records" in found) == records
    assert shown(b"", records=records) == []
