"""Findings on a real broker: each row does something wrong on purpose; its capture shows that and little else."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import pack, unpack
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, admin

from decoders import decode_response, encode_request
from decoders.apis.keys import FETCH, FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, METADATA, SYNC_GROUP
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.cli.worlds import kw

pytestmark = [pytest.mark.broker, pytest.mark.full, needs_brokers]

# The stubs of this module lack half of what it has.
rd: Any = admin
VALUE: Final = bytes(range(256)) * 4
PLAIN_SIZE: Final = 20 << 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = Options(class_archive=True, properties={"auto.create.topics.enable": "false"})
    with Cluster(options, tmp_path_factory.mktemp("faults")) as cluster:
        yield cluster


class Actor:
    """Clients of one scene, and a topic of its own."""

    def __init__(self, place: str, topic: str) -> None:
        self.place = place
        self.topic = topic

    def create(self, partitions: int = 1, name: str | None = None) -> None:
        asking = rd.AdminClient(self._settings())  # it has to live until the answer is there
        (made,) = asking.create_topics([rd.NewTopic(name or self.topic, partitions, 1)]).values()
        made.result(20)

    def producer(self, **settings: Any) -> Producer:
        return Producer(self._settings(**settings))

    def consumer(self, **settings: Any) -> Consumer:
        usual = {"group.id": f"readers-of-{self.topic}", "auto.offset.reset": "earliest"}
        return Consumer(self._settings(**(usual | settings)))

    def _settings(self, **settings: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.place, "client.id": "shop", **settings}

    def write(self, count: int, size: int = 100, **settings: Any) -> None:
        producer = self.producer(**settings)
        for number in range(count):
            while True:
                with suppress(BufferError):
                    producer.produce(self.topic, VALUE[:size], key=str(number))
                    break
                producer.poll(0.05)
        producer.flush(30)


def _one_record_a_batch(actor: Actor) -> None:
    producer = actor.producer(**{"linger.ms": 0, "batch.num.messages": 1})
    for _ in range(2000):
        producer.produce(actor.topic, b"x")
    producer.flush(60)


def _uncompressed(actor: Actor) -> None:
    actor.write(PLAIN_SIZE // 1000, 1000)


def _one_key(actor: Actor) -> None:
    producer = actor.producer()
    for number in range(PLAIN_SIZE // 1000):
        producer.produce(actor.topic, VALUE[:1000], key="one" if number % 10 else str(number))
        if not number % 1000:
            producer.flush(10)
    producer.flush(30)


def _clock_ahead(actor: Actor) -> None:
    producer = actor.producer()
    producer.produce(actor.topic, b"x", timestamp=int(time.time() * 1000) + 300_000)
    producer.flush(10)


def _topic_misspelt(actor: Actor) -> None:
    producer = actor.producer(**{"message.timeout.ms": 5000, "topic.metadata.refresh.interval.ms": 500})
    producer.list_topics(timeout=10)
    producer.produce(f"{actor.topic}s", b"x")
    producer.flush(8)


def _slow_reader(actor: Actor) -> None:
    few = {"fetch.max.bytes": 2000, "message.max.bytes": 2000, "max.partition.fetch.bytes": 2000}
    writer = actor.producer(**{"linger.ms": 20, "compression.type": "lz4", "batch.num.messages": 10})
    reader = actor.consumer(**{"client.id": "slow", "queued.min.messages": 1, **few})
    reader.subscribe([actor.topic])
    end = time.monotonic() + 25
    while time.monotonic() < end:
        for number in range(1500):
            writer.produce(actor.topic, VALUE[:100], key=str(number))
        writer.flush(10)
        reader.poll(0.5)
    reader.close()


def _aborts(actor: Actor) -> None:
    producer = actor.producer(**{"transactional.id": "ledger"})
    producer.init_transactions(20)
    for _ in range(8):
        producer.begin_transaction()
        producer.produce(actor.topic, b"x")
        producer.flush(10)
        producer.abort_transaction(10)


def _fenced(actor: Actor) -> None:
    first, second = (actor.producer(**{"transactional.id": "ledger-2"}) for _ in range(2))
    first.init_transactions(20)
    first.begin_transaction()
    first.produce(actor.topic, b"x")
    first.flush(10)
    second.init_transactions(20)
    with suppress(KafkaException):
        first.produce(actor.topic, b"y")
        first.flush(10)
        first.commit_transaction(10)


def _storm(actor: Actor) -> None:
    """A member that changes its mind: each new list of topics is a rebalance of the whole group."""
    actor.create(name=f"{actor.topic}-2")
    steady, moody = (actor.consumer(**{"client.id": name}) for name in ("steady", "moody"))
    steady.subscribe([actor.topic])
    end = time.monotonic() + 20
    for number in range(1000):
        if time.monotonic() > end:
            break
        moody.subscribe([actor.topic] if number % 2 else [actor.topic, f"{actor.topic}-2"])
        for _ in range(20):
            steady.poll(0.05)
            moody.poll(0.05)
    steady.close()
    moody.close()


def _held_back(actor: Actor) -> None:
    writer = actor.producer()
    reader = actor.consumer(**{"fetch.min.bytes": 1_000_000, "fetch.wait.max.ms": 200})
    reader.subscribe([actor.topic])
    end = time.monotonic() + 15
    while time.monotonic() < end:
        writer.produce(actor.topic, b"x")
        writer.flush(5)
        reader.poll(0.1)
    reader.close()


class RawClient:
    """A client that does what no library would: it speaks by hand, does not read, or goes without a word."""

    def __init__(self, place: str, *, buffer: int = 0) -> None:
        host, _, port = place.rpartition(":")
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect((host, int(port)))
        self._asked = 0

    def send(self, key: int, version: int, body: dict[str, Any]) -> None:
        self._asked += 1
        frame = encode_request(key, version, body, correlation_id=self._asked, client_id="raw")
        self.socket.sendall(pack(">i", len(frame)) + frame)

    def ask(self, key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
        self.send(key, version, body)
        (size,) = unpack(">i", self._read(4))
        return decode_response(self._read(size), key, version).body

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece
            data += piece
        return data

    def reset(self) -> None:
        """End with RST, without FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        self.socket.close()


def _cut_when_idle(actor: Actor) -> None:
    clients = [RawClient(actor.place) for _ in range(3)]
    for client in clients:
        client.ask(METADATA, 9, {"topics": []})
    time.sleep(22)
    for client in clients:
        client.reset()


def _takes_nothing(actor: Actor) -> None:
    actor.write(20_000, 1000, **{"compression.type": "none"})
    client = RawClient(actor.place, buffer=4096)
    client.ask(METADATA, 9, {"topics": []})
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 50 << 20}
    asked = {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 50 << 20}
    client.send(FETCH, 4, asked | {"topics": [{"topic": actor.topic, "partitions": [part]}]})
    time.sleep(6)
    client.socket.close()


def _silent_member(actor: Actor) -> None:
    name = f"members-of-{actor.topic}"
    client = RawClient(actor.place)
    while client.ask(FIND_COORDINATOR, 2, {"key": name})["error_code"]:
        time.sleep(0.5)
    asked = {"group_id": name, "session_timeout_ms": 9000, "rebalance_timeout_ms": 9000, "protocol_type": "consumer"}
    asked |= {"protocols": [{"name": "range", "metadata": b""}]}
    member = client.ask(JOIN_GROUP, 4, asked | {"member_id": ""})["member_id"]
    joined = client.ask(JOIN_GROUP, 4, asked | {"member_id": member})
    its = {"group_id": name, "generation_id": joined["generation_id"], "member_id": member}
    client.ask(SYNC_GROUP, 2, its | {"assignments": [{"member_id": member, "assignment": b""}]})
    for pause in (1, 1, 8.2, 1):
        time.sleep(pause)
        assert client.ask(HEARTBEAT, 2, its)["error_code"] == 0
    client.socket.close()


def _reads_again(actor: Actor) -> None:
    actor.write(3000)
    client = RawClient(actor.place)
    asked = {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 50 << 20}
    for _ in range(3):
        part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 50 << 20}
        client.ask(FETCH, 4, asked | {"topics": [{"topic": actor.topic, "partitions": [part]}]})
    client.socket.close()


# Finding, how many partitions its topic has, what is done, what may be found besides.
ROWS: Final[list[tuple[str, int, Callable[[Actor], None], set[str]]]] = [
    ("small-batches", 1, _one_record_a_batch, set()),
    ("no-compression", 1, _uncompressed, set()),
    ("skew", 6, _one_key, {"no-compression"}),
    ("clock-ahead", 1, _clock_ahead, set()),
    ("topic-unknown", 1, _topic_misspelt, set()),
    ("lag-growing", 1, _slow_reader, set()),
    ("transactions-abort", 1, _aborts, set()),
    ("producer-fenced", 1, _fenced, set()),
    ("rebalance-storm", 2, _storm, set()),
    ("fetch-waits", 1, _held_back, set()),
    ("idle-cut", 1, _cut_when_idle, set()),
    ("zero-window", 1, _takes_nothing, {"unanswered"}),
    ("heartbeats-late", 1, _silent_member, set()),
    ("read-again", 1, _reads_again, set()),
]


@pytest.mark.parametrize(("finding", "partitions", "act", "besides"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_wrong_is_found(
    cluster: Cluster, finding: str, partitions: int, act: Callable[[Actor], None], besides: set[str], tmp_path: Path
) -> None:
    file, place = tmp_path / "fault.pcap", cluster.bootstrap()
    actor = Actor(place, finding)
    with Recorder(file, [int(place.rpartition(":")[2])]):
        actor.create(partitions)
        act(actor)
    rows = [json.loads(line) for line in kw("doctor", str(file), "-o", "ndjson").out.splitlines()]
    told = [(row["severity"], row["id"], row["title"]) for row in rows]
    assert finding in {row["id"] for row in rows}, told
    others = {row["id"] for row in rows if row["severity"] != "note"} - {finding, "capture-begins-late"}
    assert others <= besides, told
