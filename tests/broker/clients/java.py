"""Apache Kafka's own Java client, any release from 0.8.2.2 on, inside this process (JPype, one JVM a process)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

from tests.broker.clients import java_admin, steps
from tests.broker.jars import client_jars

_BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
_UNBYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def _map(values: Mapping[str, Any]) -> Any:
    made = jpype.JClass("java.util.HashMap")()
    for key, value in values.items():
        made.put(key, str(value))
    return made


def _list(values: list[Any]) -> Any:
    made = jpype.JClass("java.util.ArrayList")()
    for value in values:
        made.add(value)
    return made


def _bytes(data: bytes | None) -> Any:
    return None if data is None else jpype.JArray(jpype.JByte)(data)


def _producer(bootstrap: str, properties: dict[str, str], **more: Any) -> Any:
    settings = {"bootstrap.servers": bootstrap, "key.serializer": _BYTES, "value.serializer": _BYTES}
    return jpype.JClass("org.apache.kafka.clients.producer.KafkaProducer")(_map({**settings, **properties, **more}))


def _record(topic: str, partition: int | None, key: Any, value: Any, headers: list[tuple[str, bytes]]) -> Any:
    kind = jpype.JClass("org.apache.kafka.clients.producer.ProducerRecord")
    where = None if partition is None else jpype.JInt(partition)
    made = kind(topic, jpype.JObject(where, "java.lang.Integer"), _bytes(key), _bytes(value))
    for name, data in headers:
        made.headers().add(name, _bytes(data))
    return made


def produce(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    count: int = 10,
    size: int = 0,
    first: int = 0,
    partition: int | None = None,
    headers: dict[str, str] | None = None,
    null_keys: bool = False,
    tombstones: bool = False,
    batches: int = 1,
    config: Mapping[str, str] | None = None,
) -> int:
    """Send `count` records in `batches` rounds, each flushed; gives how many were acknowledged."""
    producer = _producer(bootstrap, properties, **(config or {}))
    done = 0
    marks = [(name, value.encode()) for name, value in (headers or {}).items()]
    waiting = []
    made = steps.values(count, size, first)
    for number, (key, value) in enumerate(made):
        sent = _record(topic, partition, None if null_keys else key, None if tombstones else value, marks)
        waiting.append(producer.send(sent))
        if (number + 1) % max(1, count // batches) == 0 or number + 1 == count:
            for future in waiting:
                done += _settled(future)
            waiting = []
    producer.close()
    return done


def produce_in_turn(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    count: int = 5,
    rounds: int = 5,
    every: float = 0.0,
    config: Mapping[str, str] | None = None,
) -> int:
    """Send batches of `count` records with one producer, one to each topic a round; gives how many were acknowledged.

    `every`: seconds between two rounds.
    """
    producer = _producer(bootstrap, properties, **(config or {}))
    done = 0
    for number in range(rounds):
        for topic in topics:
            made = steps.values(count, 0, number * count)
            waiting = [producer.send(_record(topic, None, key, topic.encode() + value, [])) for key, value in made]
            producer.flush()
            done += sum(map(_settled, waiting))
        time.sleep(every)
    producer.close()
    return done


def _settled(future: Any) -> int:
    try:
        future.get()
    except jpype.JException:
        return 0
    return 1


def _consumer(bootstrap: str, properties: dict[str, str], config: Mapping[str, str]) -> Any:
    settings = {"bootstrap.servers": bootstrap, "key.deserializer": _UNBYTES, "value.deserializer": _UNBYTES}
    kind = jpype.JClass("org.apache.kafka.clients.consumer.KafkaConsumer")
    return kind(_map({**settings, "auto.offset.reset": "earliest", **properties, **config}))


def _poll(consumer: Any, milliseconds: int) -> list[Any]:
    try:
        found = consumer.poll(jpype.JClass("java.time.Duration").ofMillis(milliseconds))
    except TypeError:
        found = consumer.poll(jpype.JLong(milliseconds))
    return list(found)


def _read(found: Any) -> dict[str, Any]:
    headers = []
    if hasattr(found, "headers"):
        headers = [(str(h.key()), None if h.value() is None else bytes(h.value())) for h in found.headers()]
    key, value = found.key(), found.value()
    return steps.record(
        str(found.topic()),
        int(found.partition()),
        int(found.offset()),
        int(found.timestamp()) if hasattr(found, "timestamp") else -1,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
        headers,
    )


def consume(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    group: str | None = None,
    count: int = 10,
    polls: int = 60,
    partitions: list[int] | None = None,
    commit: bool = True,
    keep: bool = True,
    config: Mapping[str, str] | None = None,
) -> list[dict[str, Any]] | int:
    """Read until `count` records came or after `polls` polls of half a second; gives the records (or their number)."""
    settings = {"group.id": group} if group else {}
    if not group:
        settings["enable.auto.commit"] = "false"
    consumer = _consumer(bootstrap, properties, {**settings, **(config or {})})
    if partitions is None:
        consumer.subscribe(_list(topics))
    else:
        place = jpype.JClass("org.apache.kafka.common.TopicPartition")
        consumer.assign(_list([place(topics[0], number) for number in partitions]))
        if not group:
            _to_beginning(consumer)
    found = steps.Found(count, polls, keep=keep)
    while found.wants_more():
        found.add(_read(each) for each in _poll(consumer, 500))
    if group and commit:
        _commit(consumer)
    consumer.close()
    return found.answer()


def _commit(consumer: Any) -> None:
    """Commit the offsets that were read; a group in a rebalance may refuse that, which is no failure of the client."""
    try:
        consumer.commitSync()
    except jpype.JException as error:
        if error.getClass().getSimpleName() not in ("RebalanceInProgressException", "CommitFailedException"):
            raise


def _to_beginning(consumer: Any) -> None:
    try:
        consumer.seekToBeginning(consumer.assignment())
    except TypeError:
        # 0.9 takes partitions one by one.
        consumer.seekToBeginning(*consumer.assignment())


def share(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    group: str,
    count: int = 10,
    polls: int = 60,
    release: int = 0,
    config: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Read as a member of a share group, acknowledging each record; the first `release` records are given back once."""
    settings = {"bootstrap.servers": bootstrap, "key.deserializer": _UNBYTES, "value.deserializer": _UNBYTES}
    settings |= {"group.id": group, "share.acknowledgement.mode": "explicit"}
    kinds = jpype.JClass("org.apache.kafka.clients.consumer.AcknowledgeType")
    consumer = jpype.JClass("org.apache.kafka.clients.consumer.KafkaShareConsumer")(
        _map({**settings, **properties, **(config or {})})
    )
    consumer.subscribe(_list(topics))
    found: list[dict[str, Any]] = []
    for _ in range(polls):
        for each in consumer.poll(jpype.JClass("java.time.Duration").ofMillis(500)):
            given_back = release > 0
            release -= 1
            consumer.acknowledge(each, kinds.RELEASE if given_back else kinds.ACCEPT)
            if not given_back:
                found.append(_read(each))
        consumer.commitSync()
        if len(found) >= count:
            break
    consumer.close()
    return found


def transact(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    id: str,
    count: int = 5,
    ends: list[str] | None = None,
    group: str | None = None,
    tell: bool = False,
    config: Mapping[str, str] | None = None,
) -> int | list[str]:
    """One transaction per word of `ends` (`commit`, `abort`, `leave`: open), with the group's offsets if one is named.

    `tell`: gives the outcome of each.
    """
    producer = _producer(bootstrap, properties, **{"transactional.id": id, **(config or {})})
    producer.initTransactions()

    def play(number: int, end: str) -> None:
        producer.beginTransaction()
        for key, value in steps.values(count, 0, number * count):
            producer.send(_record(topic, None, key, value, []))
        if group:
            _offsets(producer, topic, group)
        if end == "leave":
            producer.flush()
            time.sleep(600)  # until the process is killed
        producer.commitTransaction() if end == "commit" else producer.abortTransaction()

    failures = (jpype.JException,) if tell else ()
    done = steps.transactions(ends or ["commit"], play, producer.abortTransaction, failures)
    producer.close()
    return done if tell else len(done)


def _offsets(producer: Any, topic: str, group: str) -> None:
    place = jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, 0)
    offset = jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")(jpype.JLong(1))
    offsets = jpype.JClass("java.util.HashMap")()
    offsets.put(place, offset)
    try:
        member = jpype.JClass("org.apache.kafka.clients.consumer.ConsumerGroupMetadata")(group)
        producer.sendOffsetsToTransaction(offsets, member)
    except TypeError:
        producer.sendOffsetsToTransaction(offsets, group)


def partitions_for(bootstrap: str, properties: dict[str, str], *, topic: str) -> int:
    """Ask a producer for a topic's partitions (Metadata)."""
    producer = _producer(bootstrap, properties)
    count = len(producer.partitionsFor(topic))
    producer.close()
    return count


def offsets(bootstrap: str, properties: dict[str, str], *, topic: str, partition: int = 0) -> int:
    """Beginning, end and time offsets of a partition (ListOffsets); gives the end offset."""
    consumer = _consumer(bootstrap, properties, {"enable.auto.commit": "false"})
    place = jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, partition)
    if not hasattr(consumer, "endOffsets"):
        consumer.assign(_list([place]))
        try:
            consumer.seekToEnd(_list([place]))
        except TypeError:
            # 0.9 takes partitions one by one.
            consumer.seekToEnd(place)
        return int(consumer.position(place))
    times = jpype.JClass("java.util.HashMap")()
    times.put(place, jpype.JClass("java.lang.Long")(1))
    consumer.offsetsForTimes(times)
    consumer.beginningOffsets(_list([place]))
    end = int(consumer.endOffsets(_list([place])).get(place))
    consumer.close()
    return end


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "produce": produce,
    "produce_in_turn": produce_in_turn,
    "consume": consume,
    "share": share,
    "transact": transact,
    "partitions_for": partitions_for,
    "offsets": offsets,
    **java_admin.FUNCTIONS,
}


if __name__ == "__main__":
    small = ("-Xmx256m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    jars = [str(jar) for jar in client_jars(sys.argv[3])]
    works = steps.sessions(sys.argv[1])
    first = next(works)
    jpype.startJVM(*small, *first["properties"].get("jvm.flags", "").split(), classpath=jars)
    sys.exit(steps.main(FUNCTIONS, sys.argv[1:], chain([first], works)))
