"""Clients of one broker that do something wrong on purpose."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event
from typing import Final

from confluent_kafka import KafkaException

from decoders.protocol_facts.api_keys import (
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    METADATA,
    PRODUCE,
    SYNC_GROUP,
)
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from tests.analysis.faults.actors import VALUE, Actor, Fault, RawClient
from tests.analysis.faults.refused import ALTER_CLIENT_QUOTAS, REFUSED
from tests.analysis.faults.values import VALUE_FAULTS

PLAIN_SIZE: Final = 20 << 20
# A transaction open for this long hangs, by the doctor's default and a little more.
HANGS_SECONDS: Final = 70


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
    """A member that keeps changing its subscription: each new list of topics is a rebalance of the whole group."""
    other = f"{actor.topic}-2"
    actor.create(name=other)
    steady, moody = (
        actor.consumer(**{"client.id": name, "heartbeat.interval.ms": 300}) for name in ("steady", "moody")
    )
    steady.subscribe([actor.topic])
    assigned = Event()
    for number in range(14):
        assigned.clear()
        moody.subscribe([actor.topic] if number % 2 else [actor.topic, other], on_assign=lambda *_: assigned.set())
        end = time.monotonic() + 30  # the first group of a cluster waits for its coordinator
        while not assigned.is_set():
            assert time.monotonic() < end
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
    asked = {
        "group_id": name,
        "session_timeout_ms": 15_000,
        "rebalance_timeout_ms": 15_000,
        "protocol_type": "consumer",
    }
    asked |= {"protocols": [{"name": "range", "metadata": b""}]}
    member = client.ask(JOIN_GROUP, 4, asked | {"member_id": ""})["member_id"]
    joined = client.ask(JOIN_GROUP, 4, asked | {"member_id": member})
    its = {"group_id": name, "generation_id": joined["generation_id"], "member_id": member}
    client.ask(SYNC_GROUP, 2, its | {"assignments": [{"member_id": member, "assignment": b""}]})
    for pause in (1, 1, 12, 1):
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


def _corrupt(actor: Actor) -> None:
    """A batch whose last byte changed after its checksum was made; a sound one before shows that the topic is there."""
    client = RawClient(actor.place)
    sound = encode_batch([Record(0, int(time.time() * 1000), None, b"as it was")])
    for records, code in ((sound, 0), (sound[:-1] + bytes([sound[-1] ^ 2]), 2)):
        part = {"index": 0, "records": records}
        asked = {"acks": -1, "timeout_ms": 5000, "topic_data": [{"name": actor.topic, "partition_data": [part]}]}
        answer = client.ask(PRODUCE, 7, asked)
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == code
    client.socket.close()


def _over_its_quota(actor: Actor) -> None:
    """A client writes ten times what its quota allows in a second."""
    client = RawClient(actor.place)
    entity = [{"entity_type": "client-id", "entity_name": "greedy"}]
    ops = [{"key": "producer_byte_rate", "value": 50_000.0, "remove": False}]
    asked = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    assert client.ask(ALTER_CLIENT_QUOTAS, 0, asked)["entries"][0]["error_code"] == 0
    client.socket.close()
    time.sleep(2)  # until the broker has applied it
    actor.write(1000, 1000, **{"client.id": "greedy"})


def _asks_for_metadata(actor: Actor) -> None:
    client = RawClient(actor.place)
    for _ in range(80):
        client.ask(METADATA, 9, {"topics": []})
        time.sleep(0.01)
    client.socket.close()


def _never_commits(actor: Actor) -> None:
    """A producer that begins a transaction and then stops, while another one goes on."""
    hung = actor.producer(**{"client.id": "hung", "transactional.id": "ledger-3", "transaction.timeout.ms": 300_000})
    hung.init_transactions(20)
    hung.begin_transaction()
    hung.produce(actor.topic, b"x")
    hung.flush(10)
    other = actor.producer()
    end = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < end:
        other.produce(actor.topic, b"x")
        other.flush(5)
        time.sleep(5)


def _one_huge_answer(actor: Actor) -> None:
    actor.write(40_000, 1000, **{"compression.type": "lz4", "linger.ms": 20})
    actor.write(PLAIN_SIZE * 2 // 1000, 1000, **{"compression.type": "none"})
    client = RawClient(actor.place)
    client.ask(METADATA, 9, {"topics": []})
    part = {"partition": 0, "fetch_offset": 40_000, "partition_max_bytes": 50 << 20}
    asked = {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 50 << 20}
    client.ask(FETCH, 4, asked | {"topics": [{"topic": actor.topic, "partitions": [part]}]})
    client.socket.close()


def _session_unknown(actor: Actor) -> None:
    """A client that continues fetch sessions unknown to the broker, as after evictions from its cache."""
    client = RawClient(actor.place)
    asked = {"replica_id": -1, "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20}
    for number in range(1, 13):
        answer = client.ask(FETCH, 7, asked | {"session_id": number, "session_epoch": 1, "topics": []})
        assert answer["error_code"] == 70
    client.socket.close()


CLIENT_FAULTS: Final[tuple[Fault[Actor], ...]] = (
    Fault("small-batches", _one_record_a_batch),
    Fault("no-compression", _uncompressed),
    Fault("skew", _one_key, partitions=6, besides={"no-compression"}),
    Fault("clock-ahead", _clock_ahead),
    Fault("topic-unknown", _topic_misspelt),
    Fault("lag-growing", _slow_reader),
    Fault("records-corrupt", _corrupt, besides={"records-refused"}),
    Fault("transactions-abort", _aborts),
    Fault("producer-fenced", _fenced),
    Fault("rebalance-storm", _storm, partitions=2),
    Fault("fetch-waits", _held_back),
    Fault("idle-cut", _cut_when_idle),
    Fault("zero-window", _takes_nothing, besides={"unanswered"}),
    Fault("heartbeats-late", _silent_member),
    Fault("read-again", _reads_again),
    Fault("throttled", _over_its_quota),
    Fault("metadata-storm", _asks_for_metadata),
    Fault("transaction-hangs", _never_commits),
    Fault("huge-frames", _one_huge_answer, besides={"no-compression"}),
    Fault("fetch-sessions-lost", _session_unknown),
    *REFUSED,
    *VALUE_FAULTS,
)
