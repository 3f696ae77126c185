"""tour.pcapng: a small shop on three 4.3.1 nodes, six client families, and the things that go wrong in one minute."""

from __future__ import annotations

import time

from captures.make.stage import record
from tests.broker.clients.session import Step, run, start
from tests.broker.cluster import Cluster
from tests.broker.options import Options


def warm_up(cluster: Cluster) -> None:
    """Let the brokers make their own topics (offsets, transactions) first; the capture then begins without errors."""
    steps: list[Step] = [
        ("create", {"topics": {"warm": 1}}),
        ("transact", {"topic": "warm", "id": "warm", "count": 1}),
        ("consume", {"topics": ["warm"], "group": "warm", "count": 1, "polls": 20}),
        ("delete", {"topics": ["warm"]}),
    ]
    run("librdkafka", cluster.bootstrap(), steps)
    time.sleep(3)


def play(cluster: Cluster) -> None:
    """Create, produce, consume, rebalance, fail: each client does one thing, in the order of a story."""
    place = cluster.bootstrap()
    topics: list[Step] = [
        ("create", {"topics": {"orders": 3}, "replicas": 3}),
        ("create", {"topics": {"payments": 1, "metrics": 2}, "replicas": 2}),
        ("create", {"topics": {"orders": 3}, "replicas": 3}),
    ]
    run("librdkafka", place, topics, {"client.id": "admin"})
    orders = {"topic": "orders", "count": 412, "batches": 2, "headers": {"trace": "4bf92f35"}}
    run("librdkafka", place, [("produce", orders)], {"client.id": "checkout-7", "compression.type": "zstd"})
    run(
        "python",
        place,
        [("produce", {"topic": "metrics", "count": 3, "config": {"acks": "0"}})],
        {"client.id": "sensor-3"},
    )
    run("node", place, [("produce", {"topic": "orders", "count": 8, "first": 500})], {"client.id": "web-1"})
    _rebalance(place)
    paid = {"topic": "payments", "id": "ledger", "count": 2, "ends": ["commit", "abort"]}
    run("java-4.4.0", place, [("transact", paid)], {"client.id": "ledger"})
    read = {"topics": ["payments"], "group": "audit", "count": 2, "config": {"isolation.level": "read_committed"}}
    run("librdkafka", place, [("consume", read)], {"client.id": "audit-1"})
    new = {"topics": ["payments"], "group": "fraud", "count": 2, "config": {"group.protocol": "consumer"}}
    run("java-4.4.0", place, [("consume", new)], {"client.id": "fraud-1", "isolation.level": "read_committed"})
    lost = {"topic": "order", "count": 1, "config": {"message.timeout.ms": "300"}}
    run("librdkafka", place, [("produce", lost)], {"client.id": "checkout-8"})
    run("go", place, [("produce", {"topic": "metrics", "count": 5})], {"client.id": "sensor-4", "acks": "1"})
    # A client of 2015: Kafka 4 closes the connection on its requests.
    old = {"topics": ["orders"], "group": "report", "count": 1, "polls": 3, "commit": False}
    report = start("java-0.9.0.1", place, [("consume", old)], {"client.id": "report-1", "reconnect.backoff.ms": "2000"})
    time.sleep(4)
    report.kill()
    keep = {"kind": "TOPIC", "name": "orders", "values": {"retention.ms": "86400000"}}
    run("java-4.4.0", place, [("configure", keep), ("delete", {"topics": ["metrics"]})], {"client.id": "admin"})


def _rebalance(place: str) -> None:
    """billing-1 reads, billing-2 joins and crashes: the group rebalances, a request stays without its answer."""
    one = {"topics": ["orders"], "group": "billing", "count": 10_000, "polls": 40}
    first = start("aiokafka", place, [("consume", one)], {"client.id": "billing-1"})
    time.sleep(2.2)
    quick = {"partition.assignment.strategy": "roundrobin", "session.timeout.ms": "6000"}
    second = start("librdkafka", place, [("consume", one)], {"client.id": "billing-2", **quick})
    time.sleep(2.5)
    second.kill()
    time.sleep(1)
    first.kill()


if __name__ == "__main__":
    options = Options(
        nodes=3,
        first_port=9092,
        listeners=("INTERNAL", "PLAINTEXT"),
        properties={"auto.create.topics.enable": "false"},
    )
    record("tour.pcapng", options, play, listeners=["PLAINTEXT"], from_start=False, before=warm_up)
