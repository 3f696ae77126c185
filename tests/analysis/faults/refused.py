"""Clients of one broker whose requests it refuses."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition

from decoders.protocol_facts.api_keys import PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.faults.actors import Actor, Fault, RawClient, rd
from tests.waiting import until

__all__ = ["ALTER_CLIENT_QUOTAS", "REFUSED"]

_CREATE_TOPICS: Final = 19
_INIT_PRODUCER_ID: Final = 22
ALTER_CLIENT_QUOTAS: Final = 49
_GET_TELEMETRY_SUBSCRIPTIONS: Final = 71
_PUSH_TELEMETRY: Final = 72


def _not_for_everybody(actor: Actor) -> None:
    """A client that no ACL names writes to a topic that has an ACL."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "security"})
    names = (rd.ResourceType.TOPIC, actor.topic, rd.ResourcePatternType.LITERAL)
    allowed = ("User:alice", "*", rd.AclOperation.WRITE, rd.AclPermissionType.ALLOW)
    (made,) = asking.create_acls([rd.AclBinding(*names, *allowed)]).values()
    made.result(20)
    time.sleep(2)  # until the broker has applied it
    failed: list[Any] = []
    producer = actor.producer(**{"message.timeout.ms": 5000})
    producer.produce(actor.topic, b"x", on_delivery=lambda error, _: failed.append(error))
    producer.flush(10)
    assert failed[0] is not None


def _larger_than_allowed(actor: Actor) -> None:
    failed: list[Any] = []
    producer = actor.producer(**{"message.max.bytes": 2_000_000})
    producer.produce(actor.topic, bytes(1_100_000), on_delivery=lambda error, _: failed.append(error))
    producer.flush(20)
    assert failed[0] is not None


def _behind_the_end(actor: Actor) -> None:
    """A reader with a position beyond the end of the topic, as if the topic was deleted and made again."""
    actor.write(10)
    reader = actor.consumer()
    reader.assign([TopicPartition(actor.topic, 0, 10_000)])
    until(lambda: reader.poll(0.1))
    reader.close()


def _one_name_for_two(actor: Actor) -> None:
    """Two static members (KIP-345) with the same id: the later one fences the first."""
    first, second = (actor.consumer(**{"client.id": name, "group.instance.id": "one"}) for name in ("first", "second"))
    first.subscribe([actor.topic])
    until(lambda: first.poll(0.1) or first.assignment())
    second.subscribe([actor.topic])
    until(lambda: second.poll(0.1) or second.assignment())
    with suppress(KafkaException):
        first.poll(10)
    first.close()
    second.close()


def _write_sequences(actor: Actor, *sequences: tuple[int, bytes, int]) -> None:
    """Write batches of one record as a producer that counts by itself: sequence, value, and the error code."""
    client = RawClient(actor.place)
    asked = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    while (producer := client.ask(_INIT_PRODUCER_ID, 0, asked))["error_code"]:
        time.sleep(0.5)
    for sequence, value, code in sequences:
        its = Batch(producer_id=producer["producer_id"], producer_epoch=0, base_sequence=sequence)
        records = encode_batch([Record(0, int(time.time() * 1000), None, value)], its)
        topic = {"name": actor.topic, "partition_data": [{"index": 0, "records": records}]}
        answer = client.ask(PRODUCE, 7, {"acks": -1, "timeout_ms": 5000, "topic_data": [topic]})
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == code
    client.socket.close()


def _a_sequence_left_out(actor: Actor) -> None:
    _write_sequences(actor, (0, b"x", 0), (5, b"x", 45))


def _a_sequence_twice(actor: Actor) -> None:
    _write_sequences(actor, *((number, b"%d" % number, 0) for number in range(4)), (2, b"other", 0), (4, b"4", 0))


def _too_many_topics(actor: Actor) -> None:
    """Topics with partitions by the hundred, where the quota allows one a second (KIP-599)."""
    client = RawClient(actor.place)
    entity = [{"entity_type": "client-id", "entity_name": "raw"}]
    ops = [{"key": "controller_mutation_rate", "value": 1.0, "remove": False}]
    asked = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    assert client.ask(ALTER_CLIENT_QUOTAS, 0, asked)["entries"][0]["error_code"] == 0
    time.sleep(2)  # until the controller has applied it
    for number, code in enumerate((0, 89)):
        topic = {"name": f"{actor.topic}-{number}", "num_partitions": 50, "replication_factor": 1}
        wanted = {"topics": [topic | {"assignments": [], "configs": []}], "timeout_ms": 10_000, "validate_only": False}
        assert client.ask(_CREATE_TOPICS, 6, wanted)["topics"][0]["error_code"] == code
    client.socket.close()


def _too_many_metrics(actor: Actor) -> None:
    """A push of client metrics (KIP-714) that is larger than telemetry.max.bytes."""
    client = RawClient(actor.place)
    its = client.ask(_GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": "00000000-0000-0000-0000-000000000000"})
    pushed = {name: its[name] for name in ("client_instance_id", "subscription_id")}
    pushed |= {"terminating": False, "compression_type": 0, "metrics": bytes(1_100_000)}
    assert client.ask(_PUSH_TELEMETRY, 0, pushed)["error_code"] == 118
    client.socket.close()


REFUSED: Final[tuple[Fault[Actor], ...]] = (
    Fault("access-denied", _not_for_everybody),
    Fault("too-large", _larger_than_allowed),
    Fault("offset-out-of-range", _behind_the_end),
    Fault("member-fenced", _one_name_for_two),
    Fault("sequence-broken", _a_sequence_left_out),
    Fault("sequence-reused", _a_sequence_twice),
    Fault("quota-exceeded", _too_many_topics, besides={"throttled"}),
    Fault("telemetry-refused", _too_many_metrics, partitions=0),
)
