"""Plays of clients and clusters for recorded captures: one function a round, repeated until the capture is full.

A round is a few dozen sessions of some seconds, at most three at a time. Rounds differ by their number: in families,
codecs, sizes and logins.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tests.broker.clients.sasl import sasl
from tests.broker.clients.session import ClientFailed, Session, Step, run, start
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.plays import CODECS, family

__all__ = ["KINDS", "Stage"]


class Stage(NamedTuple):
    """A cluster, the play that is repeated on it, and the share of the capture that the play fills."""

    options: Options
    play: Callable[[Cluster, int], None]
    share: float = 1.0


_FAMILIES: Final = ("java-4.4.0", "librdkafka", "aiokafka", "python", "go", "node", "java-3.9.1", "java-2.8.2")
_OLDER: Final = ("java-0.9.0.1", "java-0.10.2.2", "java-0.11.0.3", "java-1.0.2", "java-2.8.2")
# Families whose `produce` can wait for every batch: many small requests.
_IN_BATCHES: Final = ("java", "librdkafka")
# Not every family reads and writes every codec.
_PLAIN: Final = {"node": ("none", "gzip"), "python": ("none", "gzip"), "aiokafka": ("none", "gzip")}
_SLOW_S: Final = 90.0


def _ended(sessions: Sequence[Session]) -> None:
    """Wait for clients; a client that failed has made traffic too."""
    for session in sessions:
        with suppress(ClientFailed, TimeoutError):
            session.finish(_SLOW_S)


def _codec(number: int, *clients: str) -> str:
    known = [_PLAIN.get(client.partition("-")[0], CODECS) for client in clients]
    both = [codec for codec in CODECS if all(codec in each for each in known)]
    return both[number % len(both)]


def _produce(client: str, topic: str, count: int, batch: int, size: int, codec: str) -> Step:
    work: dict[str, Any] = {"topic": topic, "count": count, "size": size, "config": {"compression.type": codec}}
    if client.startswith(_IN_BATCHES):
        work["batches"] = count // batch
    return ("produce", work)


def _pair(
    cluster: Cluster, number: int, producer: str, consumer: str, count: int, batch: int, size: int
) -> Iterator[Session]:
    """A consumer that waits on a topic and a producer that fills it; every third pair logs in."""
    listener = "SASL_PLAINTEXT" if number % 3 == 2 and "SASL_PLAINTEXT" in cluster.options.listeners else "PLAINTEXT"
    place = cluster.bootstrap(listener)
    topic = f"orders-{number}"
    run("librdkafka", cluster.bootstrap(), [("create", {"topics": {topic: 1 + number % 4}})])
    work = {"topics": [topic], "group": f"billing-{number}", "count": count, "polls": 40, "keep": False}
    codec = _codec(number, producer, consumer)
    plays: Mapping[str, list[Step]] = {
        consumer: [("consume", work)],
        producer: [
            _produce(producer, topic, count // 2, batch, size, codec),
            _produce(producer, topic, count - count // 2, batch * 4, size, codec),
        ],
    }
    for client, steps in plays.items():
        login = sasl(client, ("PLAIN", "SCRAM-SHA-256")[number % 2], "admin") if listener != "PLAINTEXT" else {}
        yield start(client, place, steps, {"client.id": f"{client.partition('-')[0]}-{number}", **login})


def families_at_work(cluster: Cluster, number: int) -> None:
    """Every family writes what another one reads; transactions, administration, share groups and Streams besides."""
    rng = random.Random(number)
    for turn, producer in enumerate(_FAMILIES):
        consumer = _FAMILIES[(turn + 1 + number % (len(_FAMILIES) - 1)) % len(_FAMILIES)]
        count = rng.choice((1000, 2000, 4000))
        _ended(list(_pair(cluster, number * 100 + turn, producer, consumer, count, 1, rng.choice((0, 100, 400)))))
    place, topic = cluster.bootstrap(), f"payments-{number}"
    ends = ["commit", "commit", "abort"] * 20
    paid: list[Step] = [
        ("create", {"topics": {topic: 2}}),
        ("transact", {"topic": topic, "id": f"ledger-{number}", "count": 3, "ends": ends}),
        ("administer", {"topic": topic, "group": f"billing-{number}"}),
    ]
    others = [start(client, place, paid) for client in ("java-4.4.0", "librdkafka")]
    _ended(others)
    copies = {"source": topic, "target": f"copies-{number}", "id": f"enrich-{number}", "seconds": 8}
    run("librdkafka", place, [("create", {"topics": {f"copies-{number}": 2}})])
    shared = {"topics": [topic], "group": f"packers-{number}", "count": 200, "polls": 10}
    others = [
        start("streams-4.3.1", place, [("copy", {**copies, "protocol": ("streams", "classic")[number % 2]})]),
        start("java-4.4.0", place, [("share", shared)]),
    ]
    _ended(others)


def older_families_at_work(cluster: Cluster, number: int) -> None:
    """Clients from before flexible versions, each with all it can do."""
    for turn, client in enumerate(_OLDER):
        with suppress(ClientFailed):
            family(cluster, client, prefix=f"y{number}-{turn}-")
        if not client.startswith("java-0.9"):
            _ended(list(_pair(cluster, number * 100 + turn, client, _OLDER[turn - 1], 2000, 1, 100)))


def nodes_fail(cluster: Cluster, number: int) -> None:
    """Producers, transactions and groups at three brokers, of which one crashes, one is stopped, and all come back."""
    place, topic = cluster.bootstrap(), f"orders-{number}"
    run("librdkafka", place, [("create", {"topics": {topic: 6}, "replicas": 3})])
    sessions = []
    for client in ("librdkafka", "java-4.4.0"):
        read = {"topics": [topic], "group": f"billing-{number}", "count": 15_000, "polls": 60, "keep": False}
        sessions.append(start(client, place, [("consume", read)], {"client.id": f"{client[:4]}-reader"}))
    for turn, client in enumerate(("librdkafka", "java-4.4.0", "go")):
        steady = [
            _produce(client, topic, 10_000, 2, 100, CODECS[(number + turn) % 5]),
            _produce(client, topic, 5000, 20, 400, CODECS[number % 5]),
        ]
        if client != "go":
            ends = {"id": f"ledger-{number}-{turn}", "ends": ["commit", "abort"] * 10}
            steady.append(("transact", {"topic": topic, **ends}))
        sessions.append(start(client, place, steady, {"client.id": f"{client[:4]}-writer"}))
    time.sleep(8)
    ids = [node.id for node in cluster.nodes]
    crashed, stopped = ids[number % 3], ids[(number + 1) % 3]
    cluster.kill_node(crashed)
    time.sleep(4)
    cluster.start_node(crashed)
    time.sleep(6)
    cluster.stop_node(stopped)
    cluster.start_node(stopped)
    _ended(sessions)


def many_small_records(cluster: Cluster, number: int) -> None:
    """Records of some dozen bytes, in batches of ten to a few hundred, in every codec; old message sets too."""
    writers = ("librdkafka", "java-4.4.0", "go", "librdkafka", "java-3.9.1")
    for turn, codec in enumerate(CODECS):
        topic = f"clicks-{number}-{codec}"
        client, reader = writers[(turn + number) % len(writers)], writers[(turn + number + 1) % len(writers)]
        count, batch = 20_000, (10, 20, 50)[(turn + number) % 3]
        make: list[Step] = [("create", {"topics": {topic: 2}})]
        if codec != "zstd":
            old = {"api.version.request": "false", "broker.version.fallback": "0.10.0"}
            make.append(_produce("librdkafka", topic, 2000, 20, 0, codec))
            run("librdkafka", cluster.bootstrap(), make, {**old, "client.id": "old"})
        else:
            run("librdkafka", cluster.bootstrap(), make)
        read = {"topics": [topic], "group": f"counters-{number}-{codec}", "count": count, "polls": 40, "keep": False}
        sessions = [
            start(reader, cluster.bootstrap(), [("consume", read)], {"client.id": f"counter-{turn}"}),
            start(
                client,
                cluster.bootstrap(),
                [_produce(client, topic, count, batch, 0, codec)],
                {"client.id": f"site-{turn}"},
            ),
        ]
        _ended(sessions)


_PORT: Final = 28092
_LISTENERS: Final = ("PLAINTEXT", "SASL_PLAINTEXT")
KINDS: Final[Mapping[str, tuple[Stage, ...]]] = {
    "clients": (
        Stage(Options(first_port=_PORT, listeners=_LISTENERS), families_at_work, 0.75),
        Stage(Options(first_port=_PORT, listeners=_LISTENERS, version="3.9.1"), older_families_at_work, 0.25),
    ),
    "brokers": (Stage(Options(first_port=_PORT, nodes=3, listeners=("INTERNAL", "PLAINTEXT")), nodes_fail),),
    "records": (Stage(Options(first_port=_PORT, version="3.9.1"), many_small_records),),
}
