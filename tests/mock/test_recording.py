"""A recording becomes a cluster: nodes, topics, records, offsets and errors; hostile bytes cost one connection."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import encode_request, read_exchanges
from decoders.apis import NAMES, api
from decoders.frames.frames_of_gapless_connections import SIZE
from decoders.messages.exchange_from_json import FromRecords
from decoders.mocking.cluster_from_recording import READ, RecordedCluster, RedactedRecording
from decoders.mocking.cluster_state import MockCluster
from decoders.mocking.handler_table import HANDLERS, SERVED, make_brokers
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.mock.stage import TOPIC, Stage, batch, framed, only_partition, values, wanted, written

TOUR: Final = str(Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng")


@pytest.fixture(scope="module")
def recorded() -> RecordedCluster:
    recording = RecordedCluster()
    with open(TOUR, "rb") as file:
        for row in read_exchanges(file):
            if row.kind == "exchange":
                recording.add(row)
    return recording


def test_the_tour_becomes_its_cluster(recorded: RecordedCluster) -> None:
    nodes = recorded.list_nodes()
    assert [(node.id, node.host, node.port) for node in nodes] == [
        (1, "127.0.0.1", 9092),
        (2, "127.0.0.1", 9093),
        (3, "127.0.0.1", 9094),
    ]
    cluster = recorded.build_cluster(nodes)
    held = {name: [(log.start, log.end) for log in topic.logs] for name, topic in cluster.topics.items()}
    assert held == {"orders": [(0, 171), (0, 124), (0, 125)], "metrics": [(1, 3), (2, 5)], "payments": [(0, 3)]}
    assert cluster.absent == {"order"}
    assert not cluster.auto_create
    assert recorded.unplaced == 2
    assert cluster.offsets == {}  # none was committed when the recording began


def test_the_same_cluster_comes_of_records_that_kw_wrote(recorded: RecordedCluster) -> None:
    again = RecordedCluster()
    reader = FromRecords()
    outcome = kw("sniff", TOUR, "-o", "ndjson", "--records")
    for line in outcome.out.splitlines():
        row = reader.read(json.loads(line))
        if row.kind == "exchange":
            again.add(row)
    one, other = recorded.build_cluster(recorded.list_nodes()), again.build_cluster(again.list_nodes())
    assert list(one.topics) == list(other.topics)
    for name, topic in one.topics.items():
        assert topic.id == other.topics[name].id
        assert [log.end for log in topic.logs] == [log.end for log in other.topics[name].logs]
        for mine, theirs in zip(topic.logs, other.topics[name].logs, strict=True):
            assert [values(each.data) for each in mine.batches] == [values(each.data) for each in theirs.batches]


def test_a_recording_without_its_records_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tour.ndjson"
    path.write_text(kw("sniff", TOUR, "-o", "ndjson").out)
    outcome = kw("mock", str(path))
    assert outcome.code == Exit.FAILURE
    assert "the recording lacks records that the mock needs" in outcome.err
    assert "--records" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    empty = tmp_path / "empty.ndjson"
    empty.write_text("")
    assert kw("mock", str(empty)).code == Exit.FAILURE
    assert kw("mock", str(tmp_path / "none.pcap")).code == Exit.FAILURE
    assert kw("mock", TOUR, "--bind", "0.0.0.0").code == Exit.USAGE


def record(recording: RecordedCluster, name: str, version: int, response: dict[str, Any], topic: str) -> None:
    """Add a request of client `test` and its response to a recording."""
    from decoders.exchanges.exchange import ConnectionInfo, Exchange
    from decoders.exchanges.topic_and_node_names import Topics

    row = Exchange()
    row.connection_info = ConnectionInfo(1, "127.0.0.1:5", "127.0.0.1:9092", 0, Topics())
    row.api_key, row.api_version, row.client_id = api(name).key, version, "test"
    row.outcome = "complete"
    row.request_raw, row.response_raw = b"request", b"response"
    row._looked, row._failed = True, None
    row._values = {"request": {"topics": [{"name": topic}]}, "response": response}
    recording.add(row)


def test_recorded_errors_are_given_once_each_and_not_when_calm() -> None:
    stage = Stage()
    recording = RecordedCluster()
    broker = {"node_id": 1, "host": "h", "port": 1, "rack": None}
    row = {"error_code": 0, "name": TOPIC, "partitions": [{"partition_index": 0, "leader_id": 1}]}
    failed = {"error_code": 29, "name": TOPIC, "partitions": []}
    for topic in (row, failed, failed):
        record(recording, "Metadata", 9, {"brokers": [broker], "topics": [topic]}, TOPIC)
    for calm, expected in ((False, [29, 29, 0, 0]), (True, [0, 0, 0, 0])):
        stage.cluster = recording.build_cluster(recording.list_nodes(), calm=calm)
        stage.brokers = make_brokers(stage.cluster)
        client = stage.client()
        found = [client.ask("Metadata", {"topics": [{"name": TOPIC}]}, 9)["topics"][0]["error_code"] for _ in range(4)]
        assert found == expected
    other = Stage.client(stage, 1, "another")
    assert other.ask("Metadata", {"topics": [{"name": TOPIC}]}, 9)["topics"][0]["error_code"] == 0


@pytest.mark.parametrize("version", [0, 1, 4, 9, 12, 13])
def test_metadata_in_any_version(version: int) -> None:
    client = Stage(auto_create=False).client()
    asked = {"topics": [{"name": TOPIC}, {"name": "none"}]}
    rows = client.ask("Metadata", asked, version)["topics"]
    assert [(row["name"], row["error_code"], len(row["partitions"])) for row in rows] == [(TOPIC, 0, 2), ("none", 3, 0)]


def test_every_api_answers_in_every_version_that_is_told() -> None:
    """The default request of each API and version gets an answer that decodes, or the connection is closed."""
    stage = Stage()
    table = stage.client().ask("ApiVersions", {"client_software_name": "x", "client_software_version": "1"}, 3)
    told = {row["api_key"]: (row["min_version"], row["max_version"]) for row in table["api_keys"]}
    assert told == {key: api(key).versions for key in SERVED}
    silent = []
    for key, (least, most) in told.items():
        for version in range(least, most + 1):
            client = stage.client()
            body = {"client_software_name": "x", "client_software_version": "1"} if key == 18 and version > 2 else {}
            client.send(api(key).name, version, body)
            if client.read() is None:
                silent.append((api(key).name, version))
    assert {name for name, _ in silent} == {"Produce"}  # its default is acks=0


def test_apis_that_such_brokers_lack_close_and_strange_versions_are_told() -> None:
    stage = Stage()
    lacking = sorted(set(NAMES) - set(SERVED))
    assert lacking
    for key in lacking:
        client = stage.client()
        client.send(api(key).name, None, {})
        assert client.connection.closed is not None
    client = stage.client()
    stage.brokers.feed(client.connection, framed(bytes.fromhex("0012 0063 00000007 ffff")), 0)
    answer = client.connection.take_output()
    assert answer[4:10] == bytes.fromhex("00000007 0023")
    assert client.connection.closed is None


def test_tables_name_apis_that_there_are() -> None:
    assert set(HANDLERS) | READ <= set(NAMES)


def test_bytes_in_pieces_are_answered_the_same() -> None:
    answers = []
    for size in (1, 3, 1000):
        stage = Stage()
        client = stage.client()
        data = b"".join(
            framed(encode_request(api(name).key, version, body, correlation_id=number))
            for number, (name, version, body) in enumerate(
                [
                    ("Metadata", 9, {"topics": None}),
                    ("Produce", 9, written(batch(b"a"))),
                    ("Fetch", 12, wanted(0)),
                ]
            )
        )
        for at in range(0, len(data), size):
            stage.brokers.feed(client.connection, data[at : at + size], stage.now_ms)
        answers.append(client.connection.take_output())
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) > 100


def test_a_client_that_does_not_read_is_not_answered() -> None:
    stage = Stage()
    client = stage.client()
    client.connection.blocked = True
    assert client.ask("Metadata", {"topics": None}, 9) is None
    for _ in range(2000):
        client.send("Metadata", 9, {"topics": None})
    assert client.connection.is_full
    stage.brokers.unblock_connection(client.connection, stage.now_ms)
    assert not client.connection.is_full
    assert client.read() is not None


REQUESTS: Final = [
    encode_request(api(name).key, version, body)
    for name, version, body in (
        ("Metadata", 12, {"topics": [{"name": TOPIC}]}),
        ("Produce", 9, written(batch(b"a", b"b", codec="gzip"))),
        ("Fetch", 12, wanted(0)),
        ("JoinGroup", 5, {"group_id": "g", "session_timeout_ms": 9, "protocols": [{"name": "a", "metadata": b""}]}),
        ("ConsumerGroupHeartbeat", 1, {"group_id": "g", "subscribed_topic_names": [TOPIC], "topic_partitions": []}),
        ("OffsetFetch", 8, {"groups": [{"group_id": "g", "topics": None}]}),
        ("InitProducerId", 4, {"transactional_id": "t", "transaction_timeout_ms": 9}),
        ("CreateTopics", 7, {"topics": [{"name": "n", "num_partitions": 2, "replication_factor": 1}]}),
        ("LeaveGroup", 4, {"group_id": "g", "members": [{"member_id": "m"}]}),
        ("SaslHandshake", 1, {"mechanism": "PLAIN"}),
    )
]


@given(st.integers(0, 2**32))
def test_hostile_bytes_cost_only_their_connection(seed: int) -> None:
    chance = random.Random(seed)
    stage = Stage()
    good = stage.client()
    for _ in range(5):
        bad = stage.brokers.connect(1, "127.0.0.1:6")
        frame = bytearray(chance.choice(REQUESTS))
        for _ in range(chance.randrange(1, 6)):
            frame[chance.randrange(len(frame))] = chance.randrange(256)
        data = bytes(frame[: chance.randrange(1, len(frame) + 1)])
        stage.brokers.feed(bad, SIZE.pack(len(data)) + data + chance.randbytes(chance.randrange(9)), stage.now_ms)
    stage.advance_time(10)
    assert good.ask("Metadata", {"topics": None}, 9)["brokers"]


def test_frames_that_are_none_close() -> None:
    stage = Stage()
    for data in (b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01", SIZE.pack(-1), SIZE.pack(3) + b"abc"):
        connection = stage.brokers.connect(1, "127.0.0.1:7")
        stage.brokers.feed(connection, data, 0)
        assert connection.closed is not None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.mocking.cluster_state.MOCK_HELD_MAX", 10_000)
    stage = Stage()
    client = stage.client()
    codes = [only_partition(client.ask("Produce", written(batch(b"x" * 1000)), 9))["error_code"] for _ in range(12)]
    assert codes[0] == 0
    assert codes[-1] == 44
    (note,) = stage.cluster.notes
    assert re.search("refuses more", note)


def test_clusters_start_alike(recorded: RecordedCluster) -> None:
    one, other = (recorded.build_cluster(recorded.list_nodes()) for _ in range(2))
    assert isinstance(one, MockCluster)
    for topic in one.topics.values():
        topic.logs[0].extend_with_empty_batch(topic.logs[0].end + 5)
    assert [log.end for log in other.topics["orders"].logs] == [171, 124, 125]


def test_a_redacted_body_is_refused() -> None:
    rows = [
        json.loads(line) for line in kw("sniff", TOUR, "-o", "ndjson", "--records", "--api", "produce").out.splitlines()
    ]
    (batches,) = (row["records"] for row in rows[0]["request"]["topic_data"][0]["partition_data"][:1])
    batches[0]["records"][0]["value"] = {"redacted": 5}
    read = FromRecords().read(rows[0])
    assert read.kind == "exchange"
    with pytest.raises(RedactedRecording, match="redacted"):
        RecordedCluster().add(read)
