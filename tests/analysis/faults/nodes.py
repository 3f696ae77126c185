"""Faults of three brokers and a controller: nodes that hang or slow down, producers that hurry or wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from decoders.protocol_facts.api_keys import METADATA
from tests.analysis.faults.actors import Actor, Fault, RawClient, rd
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.waiting import until

# A node that hangs is out of sync after a second, and fenced after four; leaders move back soon.
QUICK: Final = {
    "replica.lag.time.max.ms": "1000",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "leader.imbalance.check.interval.seconds": "1",
    "leader.imbalance.per.broker.percentage": "0",
    "replica.fetch.max.bytes": "100000",
    "replica.fetch.response.max.bytes": "100000",
}


class BrokersAndController(Cluster):
    """Three brokers and a separate controller, which goes on when a broker hangs."""

    def _list_controller_numbers(self) -> list[int]:
        return [101]


NODES: Final = Options(
    nodes=3, listeners=("INTERNAL", "PLAINTEXT"), class_archive=True, roles="separate", properties=QUICK
)


class NodesActor(Actor):
    """Clients, and control over the nodes of their cluster."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        super().__init__(cluster.bootstrap(), topic)
        self.cluster = cluster


def _follower(actor: NodesActor) -> int:
    """A node that does not lead the topic's only partition."""
    leader = actor.leader()
    return next(node.id for node in actor.cluster.nodes if node.broker and node.id != leader)


def _hang(actor: NodesActor, number: int, seconds: float) -> None:
    actor.cluster.pause_node(number)
    time.sleep(seconds)
    actor.cluster.unpause_node(number)


@contextmanager
def _witness(actor: NodesActor, but: int) -> Iterator[Callable[[], int]]:
    """A function for the leader of the topic's only partition, as a node other than `but` knows it."""
    node = next(node for node in actor.cluster.nodes if node.broker and node.id != but)
    client = RawClient(f"127.0.0.1:{node.ports['PLAINTEXT']}")

    def leader() -> int:
        answer = client.ask(METADATA, 9, {"topics": [{"name": actor.topic}]})
        return int(answer["topics"][0]["partitions"][0]["leader_id"])

    with client.socket:
        yield leader


def _in_and_out_of_sync(actor: NodesActor) -> None:
    follower = _follower(actor)
    with actor.writing():
        for _ in range(6):
            _hang(actor, follower, 2.5)
            time.sleep(2.5)


def _out_of_sync(actor: NodesActor) -> None:
    follower = _follower(actor)
    with actor.writing():
        time.sleep(2)
        actor.cluster.pause_node(follower)
        time.sleep(3.2)  # only its leader has noticed: the node is not fenced yet


def _too_few_in_sync(actor: NodesActor) -> None:
    """A topic with min.insync.replicas 3 that has two replicas in sync."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "admin"})
    wanted = rd.ConfigEntry("min.insync.replicas", "3", incremental_operation=rd.AlterConfigOpType.SET)
    topic = rd.ConfigResource(rd.ConfigResource.Type.TOPIC, actor.topic, incremental_configs=[wanted])
    asking.incremental_alter_configs([topic])[topic].result(20)
    actor.cluster.pause_node(_follower(actor))
    actor.write(5, acks=1)
    time.sleep(2.5)  # until the leader has noticed which replicas are behind
    producer = actor.producer(**{"message.timeout.ms": 3000})
    producer.produce(actor.topic, b"x")
    producer.flush(5)


def _behind(actor: NodesActor) -> None:
    follower = _follower(actor)
    with actor.writing(count=1000, acks=1):
        _hang(actor, follower, 3)
        time.sleep(5)


def _only_replica_hangs(actor: NodesActor) -> None:
    """The node of the topic's only replica hangs, until another node says that the partition has no leader."""
    home = actor.leader()
    with _witness(actor, home) as leader:
        actor.cluster.pause_node(home)
        until(lambda: leader() == -1, pause=1)


def _leaders_hang(actor: NodesActor) -> None:
    quick = {"request.timeout.ms": 2000, "socket.timeout.ms": 2500}
    home = actor.leader()
    # A node that has hung still believes for a while that it leads.
    with actor.writing(count=5, **quick), _witness(actor, home) as leader:
        for _ in range(6):
            actor.cluster.pause_node(home)
            until(lambda: leader() != home, pause=1)
            actor.cluster.unpause_node(home)
            until(lambda: leader() == home, pause=1)
        time.sleep(1)


def _one_is_slow(actor: NodesActor) -> None:
    slow, over = actor.leader(), Event()

    def stop_and_go() -> None:
        while not over.wait(0.05):
            _hang(actor, slow, 0.17)

    thread = Thread(target=stop_and_go)
    thread.start()
    with actor.writing(every_s=0.1, count=30, acks=1, **{"linger.ms": 5}):
        time.sleep(60)
    over.set()
    thread.join()


def _answers_lost(*, idempotent: bool) -> Callable[[NodesActor], None]:
    """The leader hangs, the producer gives up waiting and sends again; the leader then finds the batch twice."""

    def act(actor: NodesActor) -> None:
        leader = actor.leader()
        with actor.writing(
            count=5,
            **{"socket.timeout.ms": 1000, "linger.ms": 5, "enable.idempotence": idempotent, "batch.num.messages": 5},
        ):
            for _ in range(3):
                _hang(actor, leader, 3)
                time.sleep(3)

    return act


PLAIN: Final = {"enable.idempotence": False, "linger.ms": 0, "batch.num.messages": 20}


def _many_under_way(actor: NodesActor) -> None:
    actor.write(8_000, 200, **PLAIN | {"max.in.flight": 50})


def _one_under_way(actor: NodesActor) -> None:
    actor.write(10_000, 200, **PLAIN | {"max.in.flight": 1})


# Findings that come with nodes that hang.
HANG: Final = {
    *("isr-flapping", "isr-shrunk", "under-replicated", "follower-behind", "leader-moved", "no-connection"),
    # A process that hangs does not read.
    *("zero-window", "unanswered", "timed-out", "coordinator-moved", "sent-again", "sent-twice", "written-twice"),
}
NODE_FAULTS: Final[tuple[Fault[NodesActor], ...]] = (
    Fault("many-in-flight", _many_under_way, replicas=3, besides={"zero-window"}),
    Fault("one-in-flight", _one_under_way, replicas=3),
    Fault("slow-broker", _one_is_slow, partitions=3, besides={"zero-window"}),
    Fault("isr-flapping", _in_and_out_of_sync, replicas=3, besides=HANG),
    Fault("follower-behind", _behind, replicas=3, besides=HANG),
    Fault("isr-shrunk", _out_of_sync, replicas=3, besides=HANG),
    Fault("replicas-missing", _too_few_in_sync, replicas=3, besides=HANG),
    Fault("partition-offline", _only_replica_hangs, besides=HANG | {"leader-missing"}),
    Fault("sent-twice", _answers_lost(idempotent=False), besides=HANG),
    Fault("sent-again", _answers_lost(idempotent=True), besides=HANG),
    Fault("leaders-move", _leaders_hang, replicas=3, besides=HANG),
)
