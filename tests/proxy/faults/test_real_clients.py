"""Real clients under faults, before a broker: what their documentation promises, shown by reading the topic afterwards.

Idempotent producers lose nothing and write nothing twice, transactions are whole, groups read all. The topic is read
from the broker itself, past the proxy.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count as numbers
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.clients.session import ClientFailed, Step, run
from tests.broker.clients.steps import values
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import missing_tools
from tests.broker.options import Options
from tests.proxy.hidden import ProxyProcess, port_base

pytestmark = [
    *(pytest.mark.broker, needs_brokers, pytest.mark.full),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of a client's own
]

COUNT: Final = 60
WAIT_S: Final = 60.0
VALUES: Final = [b"order %03d" % number for number in range(COUNT)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    problem = missing_tools()
    if problem:
        pytest.skip(problem)
    with Cluster(Options(nodes=1, listeners=("PLAINTEXT",), class_archive=True)) as started:
        yield started


_NUMBERS: Final = numbers(1)


@pytest.fixture
def topic(cluster: Cluster) -> str:
    name = f"faults-{next(_NUMBERS)}"
    run("librdkafka", cluster.bootstrap(), [("create", {"topics": {name: 1}, "replicas": 1})])
    return name


def read(cluster: Cluster, topic: str) -> list[bytes]:
    """All that is committed in the topic, past the proxy."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap(),
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is not None:
            break
        if message is not None:
            found.append(message.value() or b"")
    consumer.close()
    return found


def by_librdkafka(bootstrap: str, topic: str) -> None:
    from confluent_kafka import Producer

    words = {"enable.idempotence": True, "linger.ms": 0, "retry.backoff.ms": 20, "socket.timeout.ms": 10_000}
    producer = Producer({"bootstrap.servers": bootstrap, **words})
    failed: list[Any] = []
    for number, value in enumerate(VALUES):
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
        if number % 4 == 3:
            producer.flush(WAIT_S)
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def by_kafka_python(bootstrap: str, topic: str) -> None:
    from kafka import KafkaProducer  # type: ignore[import-untyped]  # it ships no types

    producer = KafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, acks="all", retry_backoff_ms=20, request_timeout_ms=10_000
    )
    sent = []
    for number, value in enumerate(VALUES):
        sent.append(producer.send(topic, value))
        if number % 4 == 3:
            producer.flush(WAIT_S)
    for each in sent:
        each.get(WAIT_S)
    producer.close()


def by_aiokafka(bootstrap: str, topic: str) -> None:
    async def produce() -> None:
        from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]  # neither

        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, retry_backoff_ms=20, request_timeout_ms=10_000
        )
        async with producer:
            waiting = []
            for number, value in enumerate(VALUES):
                waiting.append(await producer.send(topic, value))
                if number % 4 == 3:
                    await asyncio.gather(*waiting)
                    waiting.clear()
            await asyncio.gather(*waiting)

    asyncio.run(asyncio.wait_for(produce(), 2 * WAIT_S))


PRODUCERS: Final[dict[str, Callable[[str, str], None]]] = {
    "librdkafka": by_librdkafka,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}
# What is done to producers that are promised neither losses nor duplicates.
PRODUCED: Final = (
    "error NOT_LEADER_OR_FOLLOWER, every 4, when api == Produce",
    "error REQUEST_TIMED_OUT after, every 4, when api == Produce",
    "lose answer then close, every 5, when api == Produce",
    "delay 30ms±20ms, when api == Produce",
    "throttle 50ms mute, every 4, when api == Produce",
    "close, every 5, when api == Produce",
    "reset, every 5, when api == Produce",
    "cut 9, every 5, when api == Produce",
    "slice 7, when api == Produce",
    "slow 2kB, every 5, when api == Produce",
    "refuse, first 2",
    "leader -1, first 2",
    "no such topic, first 2, when api == Metadata",
)
PRESETS: Final = ("rolling-restart", "leader-election", "slow-broker", "lost-acks", "auth-expiry", "flaky-network")
ROWS: Final = [
    *((["--fault", rule], list(PRODUCERS)[number % 3]) for number, rule in enumerate(PRODUCED)),
    *((["--faults", f"preset:{name}"], list(PRODUCERS)[number % 3]) for number, name in enumerate(PRESETS)),
]


@pytest.mark.parametrize(("words", "client"), ROWS, ids=[f"{words[1]} {client}" for words, client in ROWS])
def test_an_idempotent_producer_loses_nothing_and_writes_nothing_twice(
    cluster: Cluster, topic: str, words: list[str], client: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with ProxyProcess(["-b", cluster.bootstrap(), "-o", "ndjson", "--seed", "3", *words], port_base(1), out) as proxy:
        PRODUCERS[client](proxy.bootstrap, topic)
    assert proxy.code == 0, proxy.said
    assert read(cluster, topic) == VALUES
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    hits = Counter(row["fault"]["rule"] for row in rows if "fault" in row)
    assert hits or "refuse" in words[1], proxy.said
    assert "defect" not in proxy.said


@pytest.mark.parametrize("words", [["--faults", "preset:lost-acks"], ["--faults", "preset:rolling-restart"]], ids=str)
def test_transactions_are_whole(cluster: Cluster, topic: str, words: list[str]) -> None:
    from confluent_kafka import KafkaException, Producer

    committed: list[bytes] = []
    with ProxyProcess(["-b", cluster.bootstrap(), "--no-log", "--seed", "3", *words], port_base(1)) as proxy:
        settings = {"bootstrap.servers": proxy.bootstrap, "transactional.id": topic, "retry.backoff.ms": 20}
        producer = Producer(settings)
        producer.init_transactions(WAIT_S)
        for number in range(8):
            values = [b"%d-%d" % (number, part) for part in range(5)]
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value)
            try:
                if number % 3 == 2:
                    producer.flush(WAIT_S)
                    producer.abort_transaction(WAIT_S)
                else:
                    producer.commit_transaction(WAIT_S)
                    committed += values
            except KafkaException as failure:
                if not failure.args[0].txn_requires_abort():
                    raise
                producer.abort_transaction(WAIT_S)
        del producer
    assert len(committed) >= 15
    assert read(cluster, topic) == committed


@pytest.mark.parametrize("preset", ["rebalance-storm", "flaky-network", "slow-broker"])
def test_a_group_reads_all(cluster: Cluster, topic: str, preset: str) -> None:
    from confluent_kafka import Consumer

    by_librdkafka(cluster.bootstrap(), topic)
    words = ["-b", cluster.bootstrap(), "--no-log", "--seed", "3", "--faults", f"preset:{preset}"]
    with ProxyProcess(words, port_base(1)) as proxy:
        consumer = Consumer(
            {
                "bootstrap.servers": proxy.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
                "session.timeout.ms": 6000,
            }
        )
        consumer.subscribe([topic])
        found: set[bytes] = set()
        deadline = time.monotonic() + WAIT_S
        while len(found) < COUNT and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                found.add(message.value() or b"")
        consumer.close()
    assert found == set(VALUES)


CONSUMED: Final = (
    "empty fetch, first 1",
    "error OFFSET_NOT_AVAILABLE, first 2, when api == Fetch",
    "lose answer then close, first 2, when api == Fetch",
)


@pytest.mark.parametrize("rule", CONSUMED)
@pytest.mark.parametrize("client", ["java-4.4.0", "librdkafka"])
def test_a_consumer_gets_over_bad_fetches(cluster: Cluster, topic: str, rule: str, client: str) -> None:
    by_librdkafka(cluster.bootstrap(), topic)
    with ProxyProcess(["-b", cluster.bootstrap(), "--no-log", "--fault", rule], port_base(1)) as proxy:
        found = run(client, proxy.bootstrap, [("consume", {"topics": [topic], "group": topic, "count": COUNT})])
    assert len(found[0]["result"]) >= COUNT
    assert "hit 0 of" not in proxy.said, proxy.said


def test_java_says_that_a_batch_is_corrupt(cluster: Cluster, topic: str) -> None:
    by_librdkafka(cluster.bootstrap(), topic)
    with ProxyProcess(["-b", cluster.bootstrap(), "--no-log", "--fault", "corrupt records"], port_base(1)) as proxy:
        steps: list[Step] = [("consume", {"topics": [topic], "group": topic, "count": COUNT})]
        with pytest.raises(ClientFailed, match=r"(?i)corrupt|crc|invalid"):
            run("java-4.4.0", proxy.bootstrap, steps)


def test_java_that_is_idempotent_loses_nothing(cluster: Cluster, topic: str) -> None:
    """With lost answers and leaders that moved: Java's producers are idempotent without being asked."""
    rules = (
        "lose answer then close, every 4, when api == Produce",
        "error NOT_LEADER_OR_FOLLOWER, every 5, when api == Produce",
    )
    words = [word for rule in rules for word in ("--fault", rule)]
    with ProxyProcess(["-b", cluster.bootstrap(), "--no-log", *words], port_base(1)) as proxy:
        run("java-4.4.0", proxy.bootstrap, [("produce", {"topic": topic, "count": COUNT, "batches": 20})])
    found = read(cluster, topic)
    assert found == [value for _, value in values(COUNT, 0)]
    assert "hit 0 of" not in proxy.said, proxy.said
