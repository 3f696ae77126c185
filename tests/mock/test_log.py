"""Produce, Fetch and offset requests at a mocked broker, in old and new versions, with sessions and waiting."""

from __future__ import annotations

import pytest

from decoders import Batch, Record, decode_records
from decoders.records.encode_batches import encode_batch
from tests.mock.stage import TOPIC, Stage, batch, only_partition, values, wanted, written

ALL_IDS = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1}


@pytest.mark.parametrize("version", [3, 7, 9, 12])
def test_what_is_produced_is_fetched(version: int) -> None:
    stage = Stage()
    client = stage.client()
    assert only_partition(client.ask("Produce", written(batch(b"a", b"b")), version))["base_offset"] == 0
    assert only_partition(client.ask("Produce", written(batch(b"c")), version))["base_offset"] == 2
    row = only_partition(client.ask("Fetch", wanted(0), 12))
    assert values(row["records"]) == [b"a", b"b", b"c"]
    assert (row["high_watermark"], row["last_stable_offset"], row["log_start_offset"]) == (3, 3, 0)
    assert values(only_partition(client.ask("Fetch", wanted(2), 12))["records"]) == [b"c"]


def test_topic_ids_name_topics() -> None:
    stage = Stage()
    client = stage.client()
    rows = [{"index": 0, "records": batch(b"a")}]
    body = {"acks": -1, "timeout_ms": 1, "topic_data": [{"topic_id": stage.topic_id, "partition_data": rows}]}
    answer = client.ask("Produce", body, 13)
    assert answer["responses"][0]["topic_id"] == stage.topic_id
    asked = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]
    topics = [{"topic_id": stage.topic_id, "partitions": asked}]
    answer = client.ask("Fetch", {**ALL_IDS, "topics": topics}, 18)
    assert answer["responses"][0]["topic_id"] == stage.topic_id
    assert values(only_partition(answer)["records"]) == [b"a"]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (11, 2)])
def test_old_clients_get_records_in_their_format(version: int, magic: int) -> None:
    client = Stage().client()
    client.ask("Produce", written(batch(b"a", b"b", codec="zstd")), 9)
    row = only_partition(client.ask("Fetch", wanted(0), version))
    found = decode_records(row["records"])
    assert {each.magic for each in found} == {magic}
    assert {each.codec for each in found} == ({"zstd"} if version >= 10 else {"none"})
    assert values(row["records"]) == [b"a", b"b"]
    assert [record.offset for each in found for record in each.records or ()] == [0, 1]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_clients_write_records_in_their_format(magic: int) -> None:
    from decoders import Record
    from decoders.records.encode_batches import encode_batch
    from decoders.records.record_and_batch import Batch

    stamp = 5 if magic else None
    data = encode_batch([Record(0, stamp, b"k", b"a"), Record(1, stamp, b"k", b"b")], Batch(magic=magic))
    client = Stage().client()
    assert only_partition(client.ask("Produce", written(data), magic))["base_offset"] == 0
    assert values(only_partition(client.ask("Fetch", wanted(0), 12))["records"]) == [b"a", b"b"]


def test_what_is_wrong_with_a_write_is_said() -> None:
    stage = Stage()
    client = stage.client()
    broken = bytearray(batch(b"abc"))
    broken[-2] ^= 1
    assert only_partition(client.ask("Produce", written(bytes(broken)), 9))["error_code"] == 2
    assert only_partition(client.ask("Produce", written(b"xyz"), 9))["error_code"] == 2
    assert only_partition(client.ask("Produce", written(batch(b"a"), partition=1), 9))["error_code"] == 6
    assert only_partition(client.ask("Produce", written(batch(b"a"), partition=7), 9))["error_code"] == 3
    assert only_partition(client.ask("Produce", written(batch(b"a"), topic="none"), 9))["error_code"] == 3
    assert only_partition(client.ask("Produce", written(batch(b"a"), acks=2), 9))["error_code"] == 21
    assert stage.cluster.topics[TOPIC].logs[0].end == 0


def test_acks_0_is_not_answered_and_closes_on_errors() -> None:
    stage = Stage()
    client = stage.client()
    assert client.ask("Produce", written(batch(b"a"), acks=0), 9) is None
    assert client.connection.closed is None
    assert stage.cluster.topics[TOPIC].logs[0].end == 1
    assert client.ask("Produce", written(batch(b"a"), acks=0, partition=7), 9) is None
    assert client.connection.closed is not None


def test_a_batch_that_is_sent_again_is_written_once() -> None:
    stage = Stage()
    client = stage.client()
    said = {"producer_id": 5, "producer_epoch": 0}
    offsets = []
    for sequence in (0, 2, 0, 2):
        data = batch(b"a", b"b", base_sequence=sequence, **said)
        offsets.append(only_partition(client.ask("Produce", written(data), 9))["base_offset"])
    assert offsets == [0, 2, 0, 2]
    gap = only_partition(client.ask("Produce", written(batch(b"x", base_sequence=9, **said)), 9))
    assert gap["error_code"] == 45
    fresh = batch(b"x", producer_id=5, producer_epoch=1, base_sequence=0)
    assert only_partition(client.ask("Produce", written(fresh), 9))["base_offset"] == 4
    old = batch(b"x", producer_id=5, producer_epoch=0, base_sequence=4)
    assert only_partition(client.ask("Produce", written(old), 9))["error_code"] == 47


def test_a_fetch_waits_for_records_or_its_time() -> None:
    stage = Stage()
    reader, writer = stage.client(), stage.client()
    assert reader.ask("Fetch", wanted(0, max_wait_ms=500), 12) is None
    writer.ask("Produce", written(batch(b"a")), 9)
    answer = reader.read()
    assert answer is not None
    assert values(only_partition(answer)["records"]) == [b"a"]
    assert reader.ask("Fetch", wanted(1, max_wait_ms=500), 12) is None
    stage.advance_time(499)
    assert reader.read() is None
    stage.advance_time(1)
    answer = reader.read()
    assert answer is not None
    assert only_partition(answer)["records"] == b""


def test_requests_behind_one_that_waits_keep_their_order() -> None:
    stage = Stage()
    reader = stage.client()
    assert reader.ask("Fetch", wanted(0, max_wait_ms=500), 12) is None
    assert reader.ask("Metadata", {"topics": None}, 12) is None
    stage.client().ask("Produce", written(batch(b"a")), 9)
    first, second = reader.read(), reader.read()
    assert first is not None
    assert second is not None
    assert values(only_partition(first)["records"]) == [b"a"]
    assert [row["node_id"] for row in second["brokers"]] == [1, 2]


def test_incremental_sessions_tell_only_what_is_new() -> None:
    stage = Stage()
    stage.cluster.topics[TOPIC].leaders[1] = 1
    client = stage.client()
    client.ask("Produce", written(batch(b"a")), 9)
    rows = [{"partition": number, "fetch_offset": 0, "partition_max_bytes": 1000} for number in (0, 1)]
    opening = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": 0, "topics": [{"topic": TOPIC, "partitions": rows}]}
    answer = client.ask("Fetch", opening, 12)
    session = answer["session_id"]
    assert session > 0
    assert [row["partition_index"] for row in answer["responses"][0]["partitions"]] == [0, 1]
    more = {"max_wait_ms": 0, "min_bytes": 1, "session_id": session, "topics": []}
    read = [{"topic": TOPIC, "partitions": [{"partition": 0, "fetch_offset": 1, "partition_max_bytes": 1000}]}]
    assert (
        client.ask("Fetch", {**more, "session_epoch": 1, "topics": read}, 12)["responses"][0]["partitions"][0][
            "records"
        ]
        == b""
    )
    assert client.ask("Fetch", {**more, "session_epoch": 2}, 12)["responses"] == []
    client.ask("Produce", written(batch(b"b"), partition=1), 9)
    assert values(only_partition(client.ask("Fetch", {**more, "session_epoch": 3}, 12))["records"]) == [b"b"]
    assert client.ask("Fetch", {**more, "session_epoch": 9}, 12)["error_code"] == 71
    gone = [{"topic": TOPIC, "partitions": [1]}]
    assert client.ask("Fetch", {**more, "session_epoch": 4, "forgotten_topics_data": gone}, 12)["responses"] == []
    assert client.ask("Fetch", {**more, "session_id": session + 1, "session_epoch": 1}, 12)["error_code"] == 70


def test_a_fetch_without_a_session_leaves_those_of_others() -> None:
    stage = Stage()
    first, other = stage.client(), stage.client()
    opened = first.ask("Fetch", wanted(0, session_epoch=0, max_wait_ms=0), 12)["session_id"]
    for version in (4, 12):
        assert other.ask("Fetch", wanted(0, max_wait_ms=0), version)["responses"]
    going_on = {"max_wait_ms": 0, "min_bytes": 1, "session_id": opened, "session_epoch": 1, "topics": []}
    assert first.ask("Fetch", going_on, 12)["error_code"] == 0


def test_offsets_of_times() -> None:
    client = Stage().client()
    client.ask("Produce", written(batch(b"a", b"b", b"c")), 9)  # at 5000, 5001, 5002

    def offset(timestamp: int, version: int = 7) -> tuple[int, int]:
        rows = [{"partition_index": 0, "timestamp": timestamp}]
        row = only_partition(client.ask("ListOffsets", {"topics": [{"name": TOPIC, "partitions": rows}]}, version))
        return row["offset"], row["timestamp"]

    assert [offset(time)[0] for time in (-2, -1, 0, 5001, 5003)] == [0, 3, 0, 1, -1]
    assert offset(-3, 8) == (2, 5002)
    assert only_partition(client.ask("Fetch", wanted(9), 12))["error_code"] == 1
    rows = [{"partition_index": 0, "timestamp": -1}]
    old = client.ask("ListOffsets", {"topics": [{"name": TOPIC, "partitions": rows}]}, 0)
    assert only_partition(old)["old_style_offsets"] == [3]


def test_a_batch_takes_as_many_offsets_as_it_has_records_wherever_its_own_begin() -> None:
    client = Stage().client()
    data = encode_batch([Record(7 + number, 5000, None, b"a") for number in range(2)], Batch(base_offset=7))
    for base in (0, 2, 4):
        assert only_partition(client.ask("Produce", written(data), 9))["base_offset"] == base
