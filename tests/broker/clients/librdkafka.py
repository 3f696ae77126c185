"""librdkafka through confluent-kafka."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
    admin,
)

from tests.broker.clients import steps

# The stubs of this module lack half of what it has.
rd: Any = admin


def create(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: dict[str, int],
    replicas: int = 1,
    config: dict[str, str] | None = None,
) -> str:
    """CreateTopics."""
    client = rd.AdminClient({"bootstrap.servers": bootstrap, **properties})
    wanted = [rd.NewTopic(name, count, replicas, config=config or {}) for name, count in topics.items()]
    return ",".join(_said(future) for future in client.create_topics(wanted).values())


def _said(future: Any) -> str:
    try:
        future.result(timeout=20)
    except KafkaException as error:
        return str(error.args[0].name())
    except TimeoutError:
        return "no answer"
    return "ok"


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
    producer = Producer({"bootstrap.servers": bootstrap, **properties, **(config or {})})
    settled: list[bool] = []
    where: dict[str, Any] = {} if partition is None else {"partition": partition}
    for number, (key, value) in enumerate(steps.values(count, size, first)):
        producer.produce(
            topic,
            None if tombstones else value,
            None if null_keys else key,
            headers=list((headers or {}).items()),
            on_delivery=lambda error, _: settled.append(error is None),
            **where,
        )
        if (number + 1) % max(1, count // batches) == 0:
            producer.flush(20)
    producer.flush(20)
    return sum(settled)


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
    """Read until `count` records came; gives the records (or their number)."""
    settings = {"group.id": group or "nobody", "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings, **properties, **(config or {})})
    if partitions is None:
        consumer.subscribe(topics)
    else:
        consumer.assign([TopicPartition(topics[0], number, 0) for number in partitions])
    found = steps.Found(count, polls, keep=keep)
    while found.wants_more():
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.add([_read(message)])
    if group and commit:
        _commit(consumer)
    consumer.close()
    return found.answer()


# Nothing was read, or the group is in a rebalance.
_NO_FAILURES: Final = frozenset({"_NO_OFFSET", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"})


def _commit(consumer: Consumer) -> None:
    """Commit the offsets that were read; a group in a rebalance may refuse that, which is no failure of the client."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() not in _NO_FAILURES:
            raise


def _read(message: Any) -> dict[str, Any]:
    kind, timestamp = message.timestamp()
    return steps.record(
        message.topic(),
        message.partition(),
        message.offset(),
        -1 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        message.key(),
        message.value(),
        message.headers() or [],
    )


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
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": id, **properties})
    producer.init_transactions(20)

    def play(number: int, end: str) -> None:
        producer.begin_transaction()
        for key, value in steps.values(count, 0, number * count):
            producer.produce(topic, value, key)
        if end == "commit":
            producer.commit_transaction(20)
        else:
            producer.flush(10)
            producer.abort_transaction(20)

    failures = (KafkaException,) if tell else ()
    done = steps.transactions(ends or ["commit"], play, lambda: producer.abort_transaction(20), failures)
    return done if tell else len(done)


def administer(bootstrap: str, properties: dict[str, str], *, topic: str, group: str = "billing") -> dict[str, str]:
    """Make the admin calls that librdkafka has; gives the outcome of each."""
    client = rd.AdminClient({"bootstrap.servers": bootstrap, **properties})
    resource = rd.ConfigResource(rd.ConfigResource.Type.TOPIC, topic)
    change = rd.ConfigEntry("retention.ms", "86400000", incremental_operation=rd.AlterConfigOpType.SET)
    altered = rd.ConfigResource(rd.ConfigResource.Type.TOPIC, topic, incremental_configs=[change])
    said = {
        "cluster": _said(client.describe_cluster()),
        "groups": _said(client.list_consumer_groups()),
        "offsets": _all(client.list_offsets({TopicPartition(topic, 0): rd.OffsetSpec.latest()})),
        "configs": _all(client.describe_configs([resource])),
        "set configs": _all(client.incremental_alter_configs([altered])),
        "group": _all(client.describe_consumer_groups([group])),
        "grow": _all(client.create_partitions([rd.NewPartitions(topic, 8)])),
        "delete records": _all(client.delete_records([TopicPartition(topic, 0, 1)])),
        "scram": _said(client.describe_user_scram_credentials()),
        "delete group": _all(client.delete_consumer_groups([group])),
    }
    client.list_topics(timeout=10)
    return said


def _all(futures: Mapping[Any, Any]) -> str:
    return ",".join(_said(future) for future in futures.values())


def delete(bootstrap: str, properties: dict[str, str], *, topics: list[str]) -> str:
    """DeleteTopics."""
    return _all(rd.AdminClient({"bootstrap.servers": bootstrap, **properties}).delete_topics(topics))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "create": create,
    "produce": produce,
    "consume": consume,
    "transact": transact,
    "administer": administer,
    "delete": delete,
}

if __name__ == "__main__":
    sys.exit(steps.main(FUNCTIONS, sys.argv[1:]))
