"""Topics, producers and consumers of librdkafka for scenes: few requests, so that recordings stay small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition, admin

# The stubs of this module lack half of what it has.
_rd: Any = admin

__all__ = ["Headers", "create_topics", "read_records", "send_records"]

# The stubs are narrower than what the library takes and gives.
Headers = list[Any]
_TIMEOUT_S: Final = 30
_QUIET: Final = {"topic.metadata.refresh.interval.ms": "-1", "log_level": "2", "api.version.request": "true"}


def create_topics(bootstrap: str, *names: str) -> None:
    """Make topics of one partition."""
    client = _rd.AdminClient({"bootstrap.servers": bootstrap})
    for future in client.create_topics([_rd.NewTopic(name, 1, 1) for name in names]).values():
        future.result(timeout=_TIMEOUT_S)


def send_records(
    bootstrap: str, topic: str, records: Sequence[tuple[bytes | None, bytes | None, Headers]], client_id: str = "shop"
) -> None:
    """Send records (key, value, headers) in one batch."""
    failures: list[Any] = []
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "linger.ms": "200", **_QUIET})
    for key, value, headers in records:
        producer.produce(
            topic, value, key, partition=0, headers=headers, on_delivery=lambda error, _: failures.append(error)
        )
    producer.flush(_TIMEOUT_S)
    if failures != [None] * len(records):
        raise RuntimeError(f"not sent: {failures}")


def read_records(
    bootstrap: str, topic: str, count: int, client_id: str = "billing"
) -> list[tuple[bytes | None, bytes | None, Headers]]:
    """Read the first records of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "group.id": client_id,
            "enable.auto.commit": "false",
            "fetch.wait.max.ms": "100",
            **_QUIET,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, timeout=_TIMEOUT_S)
    consumer.close()
    if len(found) != count:
        raise RuntimeError(f"{len(found)} of {count} records of {topic} came")
    return [(each.key(), each.value(), list(each.headers() or [])) for each in found]
