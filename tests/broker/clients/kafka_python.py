"""kafka-python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import kafka  # type: ignore[import-untyped]  # it has no types
from kafka import admin as kp_admin
from kafka.errors import KafkaError  # type: ignore[import-untyped]  # it has no types

from tests.broker.clients import steps


def create(bootstrap: str, properties: dict[str, str], *, topics: dict[str, int], replicas: int = 1) -> str:
    """CreateTopics."""
    client = kafka.KafkaAdminClient(bootstrap_servers=bootstrap, **steps.python_settings(properties))
    wanted = [kp_admin.NewTopic(name, count, replicas) for name, count in topics.items()]
    try:
        said = str(client.create_topics(wanted))
    except KafkaError as error:
        said = type(error).__name__
    client.close()
    return said


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
    batches: int = 1,
    config: Mapping[str, str] | None = None,
) -> int:
    """Send `count` records in `batches` rounds, each flushed; gives how many were acknowledged."""
    settings = {**properties, **(config or {})}
    acks: Any = settings.get("acks", "all")
    codec = settings.get("compression.type", "none")
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap,
        acks=acks if acks == "all" else int(acks),
        compression_type=None if codec == "none" else codec,
        enable_idempotence=settings.get("enable.idempotence", "false") == "true",
        **steps.python_settings(settings),
    )
    marks = [(name, value.encode()) for name, value in (headers or {}).items()]
    waiting = []
    for number, (key, value) in enumerate(steps.values(count, size, first)):
        waiting.append(producer.send(topic, value, key, partition=partition, headers=marks))
        if (number + 1) % max(1, count // batches) == 0:
            producer.flush(20)
    producer.flush(20)
    done = len([future for future in waiting if future.succeeded()])
    producer.close()
    return done


def consume(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    group: str | None = None,
    count: int = 10,
    polls: int = 60,
    keep: bool = True,
    config: Mapping[str, str] | None = None,
) -> list[dict[str, Any]] | int:
    """Read until `count` records came; gives the records (or their number)."""
    consumer = kafka.KafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **steps.python_settings({**properties, **(config or {})}),
    )
    found = steps.Found(count, polls, keep=keep)
    while found.wants_more():
        for each in consumer.poll(timeout_ms=500).values():
            found.add(map(_read, each))
    if group:
        consumer.commit()
    consumer.close()
    return found.answer()


def _read(message: Any) -> dict[str, Any]:
    place = (message.topic, message.partition, message.offset, message.timestamp)
    return steps.record(*place, message.key, message.value, list(message.headers))


def transact(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    id: str,
    count: int = 5,
    ends: list[str] | None = None,
    tell: bool = False,
) -> int | list[str]:
    """One transaction per word of `ends` (`commit` or `abort`); `tell`: gives the outcome of each."""
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=id, **steps.python_settings(properties)
    )
    producer.init_transactions()

    def play(number: int, end: str) -> None:
        producer.begin_transaction()
        for key, value in steps.values(count, 0, number * count):
            producer.send(topic, value, key)
        producer.flush(20)
        if end == "commit":
            producer.commit_transaction()
        else:
            producer.abort_transaction()

    failures = (KafkaError,) if tell else ()
    done = steps.transactions(ends or ["commit"], play, producer.abort_transaction, failures)
    producer.close()
    return done if tell else len(done)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "create": create,
    "produce": produce,
    "consume": consume,
    "transact": transact,
}

if __name__ == "__main__":
    sys.exit(steps.main(FUNCTIONS, sys.argv[1:]))
