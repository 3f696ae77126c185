"""Incidents of clients of one broker: logins, rights, versions, clocks, sizes, groups, transactions."""

from __future__ import annotations

import ssl
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from decoders.protocol_facts.api_keys import INIT_PRODUCER_ID, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.playground.tls_certificates import write_tls_certificates
from tests.analysis.faults.actors import RawClient, rd, write_unannounced_batch
from tests.analysis.faults.refused import ALTER_CLIENT_QUOTAS
from tests.analysis.incidents.changes import CHANGES
from tests.analysis.incidents.groups import GROUP_INCIDENTS
from tests.analysis.incidents.identities import IDENTITY_INCIDENTS
from tests.analysis.incidents.incident import HURRY, Incident, IncidentActor
from tests.broker.clients.session import start
from tests.waiting import until

__all__ = ["CLIENT_INCIDENTS", "REQUEST_MAX"]

# socket.request.max.bytes of the broker.
REQUEST_MAX: Final = 1_500_000
_SASL: Final = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}


def _other_authority(actor: IncidentActor) -> None:
    """A client that trusts another authority than the one that signed the broker's certificate."""
    folder = actor.cluster.folder / "other-tls"
    folder.mkdir(exist_ok=True)
    write_tls_certificates(folder)
    place = actor.cluster.bootstrap("SSL")
    trust = {"security.protocol": "SSL", "ssl.ca.location": str(folder / "ca.pem")}
    actor.try_to_write(1, {"bootstrap.servers": place, **trust})


def _old_certificates(actor: IncidentActor) -> None:
    """The same with a client of TLS 1.2, whose alert can be read."""
    folder = Path(actor.cluster.folder / "other-tls")
    folder.mkdir(exist_ok=True)
    write_tls_certificates(folder)
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    for _ in range(3):
        client = RawClient(actor.cluster.bootstrap("SSL"))
        with suppress(ssl.SSLError):
            context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        client.socket.close()
        time.sleep(0.5)


def _wrong_password(actor: IncidentActor) -> None:
    place = actor.cluster.bootstrap("SASL_PLAINTEXT")
    actor.try_to_write(1, {"bootstrap.servers": place, **_SASL, "sasl.password": "last-year"})


def _one_id_for_two(actor: IncidentActor) -> None:
    """Two consumers of one deployment with the same group.instance.id."""
    actor.write(20)
    members = [actor.consumer(**{"client.id": name, "group.instance.id": "reader-0"}) for name in ("pod-a", "pod-b")]
    for member in members:
        member.subscribe([actor.topic])
        until(lambda member=member: member.poll(0.1) or member.assignment())  # type: ignore[misc]
    with suppress(KafkaException):
        for _ in range(30):
            members[0].poll(0.1)
            members[1].poll(0.1)
    for member in members:
        member.close()


def _clock_of_tomorrow(actor: IncidentActor) -> None:
    """A machine whose clock is hours ahead: the broker refuses its records (message.timestamp.after.max.ms)."""
    producer = actor.producer(**HURRY)
    for number in range(5):
        producer.produce(actor.topic, b"x", timestamp=int(time.time() * 1000) + 5 * 3_600_000 + number)
        producer.flush(5)


def _clock_of_yesterday(actor: IncidentActor) -> None:
    """A machine whose clock is behind by more than the topic's message.timestamp.before.max.ms allows."""
    actor.create_on(1, **{"message.timestamp.before.max.ms": "3600000"})
    producer = actor.producer(**HURRY)
    for number in range(5):
        producer.produce(actor.topic, b"x", timestamp=int(time.time() * 1000) - 5 * 3_600_000 + number)
        producer.flush(5)


def _record_too_large(actor: IncidentActor) -> None:
    actor.try_to_write(3, {"message.max.bytes": 2_000_000, "compression.type": "none"}, 1_100_000)


def _request_too_large(actor: IncidentActor) -> None:
    """A request that is larger than socket.request.max.bytes: the broker closes the connection, each time."""
    actor.try_to_write(2, {"message.max.bytes": 4_000_000, "compression.type": "none"}, REQUEST_MAX + 100_000)


def _name_misspelt(actor: IncidentActor) -> None:
    producer = actor.producer(**HURRY)
    producer.list_topics(timeout=10)
    for _ in range(3):
        with suppress(KafkaException):
            producer.produce(f"{actor.topic}s", b"x")
        producer.flush(3)


def _no_right(actor: IncidentActor) -> None:
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "security"})
    names = (rd.ResourceType.TOPIC, actor.topic, rd.ResourcePatternType.LITERAL)
    allowed = ("User:bob", "*", rd.AclOperation.ALL, rd.AclPermissionType.ALLOW)
    (made,) = asking.create_acls([rd.AclBinding(*names, *allowed)]).values()
    made.result(20)
    time.sleep(1)  # until the broker has applied it
    actor.try_to_write(3, {})


def _greedy(actor: IncidentActor) -> None:
    client = RawClient(actor.place)
    entity = [{"entity_type": "client-id", "entity_name": "greedy"}]
    ops = [{"key": "producer_byte_rate", "value": 20_000.0, "remove": False}]
    asked = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    assert client.ask(ALTER_CLIENT_QUOTAS, 0, asked)["entries"][0]["error_code"] == 0
    client.socket.close()
    time.sleep(1)
    actor.write(600, 1000, **{"client.id": "greedy", "compression.type": "none", "batch.num.messages": 50})


def _stalled(actor: IncidentActor) -> None:
    """A consumer whose program works on one record for longer than max.poll.interval.ms."""
    actor.write(20)
    reader = actor.consumer(**{"session.timeout.ms": 3000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 3000})
    reader.subscribe([actor.topic])
    until(lambda: reader.poll(0.1))
    time.sleep(6)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        with suppress(KafkaException):
            reader.poll(0.2)
    reader.close()


def _twins(actor: IncidentActor) -> None:
    """Two processes with the same transactional.id."""
    first, second = (actor.producer(**{"client.id": each, "transactional.id": "ledger"}) for each in ("old", "new"))
    first.init_transactions(20)
    first.begin_transaction()
    first.produce(actor.topic, b"x")
    first.flush(10)
    second.init_transactions(20)
    with suppress(KafkaException):
        first.produce(actor.topic, b"y")
        first.flush(10)
        first.commit_transaction(10)
    second.begin_transaction()
    second.produce(actor.topic, b"z")
    second.commit_transaction(10)


def _never_ended(actor: IncidentActor) -> None:
    """A transaction that no coordinator knows: its batch is written without AddPartitionsToTxn, and never ended."""
    write_unannounced_batch(actor.place, actor.topic, "ledger-2")
    reader = actor.consumer(**{"client.id": "reader", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(actor.topic, 0, 0)])
    end = time.monotonic() + 14
    while time.monotonic() < end:
        actor.write(5)
        assert reader.poll(1) is None
    reader.close()


def _client_of_2016(actor: IncidentActor) -> None:
    """A Java client of 0.10.0, which asks for versions that Kafka 4 has no more, beside a new one."""
    actor.write(5)
    settings = {"retries": "3", "request.timeout.ms": "2000", "client.id": "till"}
    step = ("produce", {"topic": actor.topic, "count": 2, "config": settings})
    session = start("java-0.10.0.1", actor.place, [step])
    time.sleep(8)
    session.kill()


def _records_gone(actor: IncidentActor) -> None:
    """A consumer that was away for longer than the retention of its topic."""
    actor.write(200)
    settings = {"enable.auto.commit": False, "client.id": "nightly"}
    reader = actor.consumer(**settings)
    reader.subscribe([actor.topic])
    until(lambda: reader.poll(0.1))
    reader.commit(offsets=[TopicPartition(actor.topic, 0, 10)], asynchronous=False)
    reader.close()
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "retention"})
    asking.delete_records([TopicPartition(actor.topic, 0, 150)])[TopicPartition(actor.topic, 0)].result(20)
    late = actor.consumer(**settings)
    late.subscribe([actor.topic])
    until(lambda: late.poll(0.1))
    late.close()


def _topic_gone(actor: IncidentActor) -> None:
    """A topic that somebody deletes while it is read and written."""
    reader = actor.consumer(**{"topic.metadata.refresh.interval.ms": 1000, "client.id": "reader"})
    reader.subscribe([actor.topic])
    writer = actor.producer(**HURRY | {"client.id": "writer", "topic.metadata.refresh.interval.ms": 1000})
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "admin"})
    end, deleted = time.monotonic() + 9, False
    while time.monotonic() < end:
        with suppress(KafkaException):
            writer.produce(actor.topic, b"x")
        writer.flush(0.3)
        with suppress(KafkaException):
            reader.poll(0.2)
        if end - time.monotonic() < 6 and not deleted:
            deleted = True
            asking.delete_topics([actor.topic])[actor.topic].result(10)
    reader.close()


def _wrong_listener(actor: IncidentActor) -> None:
    client = RawClient(actor.cluster.bootstrap("SSL"))
    client.socket.close()
    actor.try_to_write(1, {"bootstrap.servers": actor.cluster.bootstrap("SSL")})


def _tls_on_plaintext(actor: IncidentActor) -> None:
    trust = {"security.protocol": "SSL", "ssl.ca.location": str(actor.cluster.folder / "tls" / "ca.pem")}
    actor.try_to_write(1, trust)


def _no_login(actor: IncidentActor) -> None:
    actor.try_to_write(1, {"bootstrap.servers": actor.cluster.bootstrap("SASL_PLAINTEXT")})


def _assigned_unread(actor: IncidentActor) -> None:
    """A consumer that pauses one of its two partitions and forgets it."""
    actor.write(200)
    reader = actor.consumer(**{"client.id": "half", "heartbeat.interval.ms": 500})

    def pause_the_second(consumer: Consumer, places: list[TopicPartition]) -> None:
        consumer.assign(places)
        consumer.pause(places[1:])

    reader.subscribe([actor.topic], on_assign=pause_the_second)
    end = time.monotonic() + 12
    while time.monotonic() < end:
        reader.poll(0.2)
    reader.close()


def _unknown_producer(actor: IncidentActor) -> None:
    """A program that keeps its producer id over a restart, and counts its batches from 0 again."""
    client = RawClient(actor.place)
    asked = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    while (producer := client.ask(INIT_PRODUCER_ID, 0, asked))["error_code"]:
        time.sleep(0.5)
    for restart in range(3):
        client = client if not restart else RawClient(actor.place)
        for sequence in range(8):
            its = Batch(producer_id=producer["producer_id"], producer_epoch=0, base_sequence=sequence)
            records = encode_batch([Record(0, int(time.time() * 1000), None, b"%d" % (10 * restart + sequence))], its)
            topic = {"name": actor.topic, "partition_data": [{"index": 0, "records": records}]}
            client.ask(PRODUCE, 7, {"acks": -1, "timeout_ms": 5000, "topic_data": [topic]})
        client.socket.close()


def _position_of_another_topic(actor: IncidentActor) -> None:
    """A topic that was made again while a reader kept its position."""
    actor.write(10)
    reader = actor.consumer(**{"client.id": "reader", "auto.offset.reset": "latest"})
    reader.assign([TopicPartition(actor.topic, 0, 5000)])
    for _ in range(5):
        reader.poll(0.5)
    reader.close()


CLIENT_INCIDENTS: Final = (
    Incident("wrong-truststore", "tls-refused", "certificate", _other_authority),
    Incident("wrong-truststore-tls12", "tls-refused", "unknown_ca", _old_certificates),
    Incident("wrong-password", "login-failed", "shop", _wrong_password),
    Incident("no-login", "login-missing", "after ApiVersions", _no_login),
    Incident("plaintext-to-tls-listener", "plaintext-to-tls", "speaks TLS", _wrong_listener),
    Incident("tls-to-plaintext-listener", "tls-to-plaintext", "speaks TLS", _tls_on_plaintext),
    Incident("two-members-with-one-id", "member-fenced", "FENCED_INSTANCE_ID", _one_id_for_two),
    Incident("clock-ahead", "clock-ahead", "ahead", _clock_of_tomorrow),
    Incident("clock-behind", "clock-behind", "behind", _clock_of_yesterday, topic=False),
    Incident("record-too-large", "too-large", "record-too-large", _record_too_large),
    Incident("request-too-large", "request-too-large", "1.6MB", _request_too_large),
    Incident("topic-misspelt", "topic-unknown", "topic-misspelts does not exist", _name_misspelt),
    Incident("no-right-to-write", "access-denied", "topic no-right-to-write", _no_right),
    Incident("over-its-quota", "throttled", "greedy", _greedy),
    Incident("poll-stalled", "poll-stopped", "shop", _stalled),
    Incident("transactional-twins", "producer-fenced", "ledger", _twins),
    Incident("transaction-without-end", "transaction-hangs", "transaction-without-end", _never_ended),
    Incident("client-of-2016", "version-refused", "Produce 2", _client_of_2016),
    Incident("records-expired", "offset-out-of-range", "retention", _records_gone),
    Incident("position-beyond-the-end", "offset-out-of-range", "end of the log", _position_of_another_topic),
    Incident("topic-deleted", "topic-unknown", "topic-deleted", _topic_gone),
    Incident("partition-paused", "assigned-unread", "partition-paused", _assigned_unread),
    Incident("sequence-begun-again", "sequence-restarted", "sequence-begun-again", _unknown_producer),
    *CHANGES,
    *IDENTITY_INCIDENTS,
    *GROUP_INCIDENTS,
)
