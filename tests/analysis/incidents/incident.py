"""One incident: the function that makes it happen, and the finding that names its cause."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaException

from tests.analysis.faults.actors import Actor, rd
from tests.broker.cluster import Cluster
from tests.broker.namespace import NetworkNamespace

__all__ = ["HURRY", "Incident", "IncidentActor"]

# Clients give up soon, so that an incident is over soon.
HURRY: Final[dict[str, Any]] = {
    "message.timeout.ms": 4000,
    "retry.backoff.ms": 300,
    "log_level": 0,
    "reconnect.backoff.ms": 500,
    "reconnect.backoff.max.ms": 1000,
}


class IncidentActor(Actor):
    """Clients of a cluster, control over its nodes, and over its network where it has one of its own."""

    def __init__(self, cluster: Cluster, topic: str, network: NetworkNamespace | None = None) -> None:
        super().__init__(cluster.bootstrap(), topic)
        self.cluster = cluster
        self._network = network

    @property
    def network(self) -> NetworkNamespace:
        assert self._network is not None
        return self._network

    def create_on(self, *replicas: int, **config: str) -> None:
        """Create the topic with one partition, whose replicas are on these nodes, the leader first."""
        asking = rd.AdminClient(self._settings())
        wanted = rd.NewTopic(self.topic, 1, replica_assignment=[list(replicas)], config=config)
        asking.create_topics([wanted])[self.topic].result(20)

    def try_to_write(self, count: int, settings: dict[str, Any], size: int = 100) -> None:
        """Write records, each by itself, whatever comes of it."""
        producer = self.producer(**HURRY | settings)
        for number in range(count):
            with suppress(KafkaException):  # what the client knows to be refused
                producer.produce(self.topic, bytes(size), key=str(number))
            producer.flush(5)


@dataclass(frozen=True)
class Incident:
    """What happens by `act`; the first finding has this id, and `words` in its title."""

    name: str
    first: str
    words: str
    act: Callable[[IncidentActor], None]
    # The topic is there before the recording begins.
    topic: bool = True
