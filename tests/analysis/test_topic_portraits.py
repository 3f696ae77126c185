"""A script of what happens to two topics in, all of their rows out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from decoders.analysis.portraits.topic_portraits import TopicPortraits, Written
from decoders.errors import Malformed
from decoders.protocol_facts.api_keys import METADATA, PRODUCE
from tests.analysis.record_scenes import batch_of, commit, get, put
from tests.analysis.scenes import FIN, Scene

NO_ID = UUID(int=0)
ANSWERED = {
    "count": 0,
    "errors": 0,
    "error_codes": {},
    "unanswered": 0,
    "undecoded": 0,
    "p50": 1.0,
    "p99": 1.0,
    "max": 1.0,
}


def tell(scene: Scene, at: float, topic: str, number: int, leaders: dict[int, int], error: int = 0) -> None:
    """An answer to Metadata: a topic, its id, and the leaders of its partitions."""
    parts = [{"partition_index": part, "leader_id": leader} for part, leader in leaders.items()]
    its = {"name": topic, "topic_id": UUID(int=number), "error_code": error, "partitions": parts}
    scene.ask(at, (METADATA, 12), {}, {"topics": [its]})


def story() -> Scene:
    scene = Scene()
    tell(scene, 0, "audit", 0, {0: -1})
    tell(scene, 0.5, "orders", 1, {0: 1, 1: 2})
    tell(scene, 1, "orders", 2, {1: 3})
    tell(scene, 2, "orders", 3, {1: 4}, error=5)
    put(scene, 3, batch_of(3) + batch_of(2, first=3), 0, client="w1")
    put(scene, 4.5, batch_of(1), 5, number=1, client="w2")
    put(scene, 5, batch_of(1), 0, topic="audit")
    refused = {"index": 1, "error_code": 6, "base_offset": -1}
    asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 1, "records": batch_of(9)}]}]}
    answer = {"responses": [{"name": "orders", "partition_responses": [refused]}]}
    scene.ask(5.5, (PRODUCE, 8), asked, answer, client="w2")
    get(scene, 6, 0, 5)
    commit(scene, 7, 3)
    scene.ask(8, (METADATA, 12), {"topics": [{"topic_id": NO_ID, "name": "orders"}]}, None, ends=FIN)
    return scene


def rows(scene: Scene, *, learn: bool = False) -> list[dict[str, Any]]:
    portraits = TopicPortraits()
    exchanges = scene.exchanges(portraits)
    for each in exchanges:
        if learn:
            portraits.learn(each)
        portraits.add(each)
    again = TopicPortraits()
    again.resume(portraits.export())
    assert again.rows() == portraits.rows()
    whole = TopicPortraits()
    for each in reversed(exchanges):
        part = TopicPortraits()
        part.add(each)
        whole.merge(part)
    assert whole.rows() == portraits.rows()
    return portraits.rows()


@pytest.mark.parametrize("learn", [False, True])
def test_all_that_is_told_of_topics(learn: bool) -> None:
    orders, audit = rows(story(), learn=learn)
    assert orders == {
        "topic": "orders",
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAg",
        "writes": ["w1", "w2"],
        "reads": ["reader"],
        "administers": [],
        "asks": ["app", "reader"],
        "groups": ["billing"],
        "partitions": [
            {"partition": 0, "leader": 1, "high_watermark": 30, "batches": 2, "records": 5, "bytes": 167},
            {"partition": 1, "leader": 3, "high_watermark": 6, "batches": 1, "records": 1, "bytes": 70},
        ],
        "written": {
            "batches": 3,
            "records": 6,
            "bytes": 237,
            "codecs": {"none": 3},
            "records_per_s": 4.0,
            "bytes_per_s": 158.0,
            "records_per_batch": 2.0,
            "bytes_per_batch": 79.0,
            "bytes_p50": 79,
            "bytes_p99": 88,
            "bytes_max": 88,
        },
        "lag": {"billing": 27},
        "apis": {"Fetch": [11], "Metadata": [12], "OffsetCommit": [7], "Produce": [8]},
        **ANSWERED | {"count": 9, "errors": 2, "unanswered": 1},
        "error_codes": {"LEADER_NOT_AVAILABLE": 1, "NOT_LEADER_OR_FOLLOWER": 1},
        "request_bytes": 0,
        "response_bytes": 0,
        "first": "2026-09-21T14:13:20.500000Z",
        "last": "2026-09-21T14:13:28.000000Z",
    } | {name: orders[name] for name in ("request_bytes", "response_bytes")}
    assert audit == {
        "topic": "audit",
        "topic_id": None,
        "writes": ["app"],
        "reads": [],
        "administers": [],
        "asks": ["app"],
        "groups": [],
        "partitions": [{"partition": 0, "leader": None, "high_watermark": 1, "batches": 1, "records": 1, "bytes": 70}],
        "written": {
            "batches": 1,
            "records": 1,
            "bytes": 70,
            "codecs": {"none": 1},
            "records_per_s": None,
            "bytes_per_s": None,
            "records_per_batch": 1.0,
            "bytes_per_batch": 70.0,
            "bytes_p50": 70,
            "bytes_p99": 70,
            "bytes_max": 70,
        },
        "lag": {},
        "apis": {"Metadata": [12], "Produce": [8]},
        **ANSWERED | {"count": 2},
        "request_bytes": 0,
        "response_bytes": 0,
        "first": "2026-09-21T14:13:20.000000Z",
        "last": "2026-09-21T14:13:25.000000Z",
    } | {name: audit[name] for name in ("request_bytes", "response_bytes")}


def test_rates_are_told_from_a_second_on() -> None:
    for apart, rate in ((999_999_999, None), (1_000_000_000, 6.0), (2_000_000_000, 3.0)):
        written = Written()
        written.batches.batches, written.batches.records, written.batches.size = 1, 6, 60
        written.extend_time(5, 5)
        written.extend_time(5 + apart, 5 + apart)
        written.extend_time(7, 8)
        row = written.row()
        assert row is not None
        assert (row["records_per_s"], row["bytes_per_s"]) == (rate, None if rate is None else 10 * rate)
    assert Written().row() is None


def test_what_is_written_is_joined() -> None:
    one, other = Written(), Written()
    one.extend_time(10, 20)
    other.extend_time(5, 15)
    one.count_batches(0, 1, 2, 3)
    other.count_batches(0, 10, 20, 30)
    other.count_batches(1, 1, 1, 1)
    one.merge(other)
    one.merge(Written())
    assert (one.first, one.last, one.partitions) == (5, 20, {0: [11, 22, 33], 1: [1, 1, 1]})
    one.add_amounts(other)
    assert one.partitions[0] == [11, 22, 33]
    assert Written.make_resumed(one.state()).state() == one.state()
    with pytest.raises(Malformed):
        Written.make_resumed([one.batches.state(), 1, 2, {"0": [1, 1, 1]}])
