"""librdkafka's mock cluster, for machines without Java: brokers inside this process that know the common APIs."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

from kwcli.env import Failure

__all__ = ["MockCluster"]

WAIT_S: Final = 5.0
# What the mock gives a topic that it hears of for the first time.
PARTITIONS: Final = 4


class MockCluster:
    """`nodes` mock brokers, alive as long as the `with` block. Raises Failure where confluent-kafka is missing."""

    def __init__(self, nodes: int) -> None:
        try:
            from confluent_kafka import Producer
        except ImportError:
            raise Failure(
                "a playground needs Java 17 (and Maven, or --jars FOLDER), or the mock: pip install 'kw[playground]'"
            ) from None
        settings = {"test.mock.num.brokers": nodes, "log_level": 0}
        self._producer: Any = Producer(settings)
        found = self._producer.list_topics(timeout=WAIT_S).brokers
        self.places = [(found[number].host, found[number].port) for number in sorted(found)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._producer = None

    def bootstrap(self) -> str:
        """`host:port,…` of all mock brokers."""
        return ",".join(f"{host}:{port}" for host, port in self.places)

    def make_topic(self, name: str) -> None:
        """The mock makes a topic when it is asked about it, with its own number of partitions."""
        self._producer.list_topics(name, timeout=WAIT_S)
