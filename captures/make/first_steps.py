"""first-steps.pcapng: librdkafka and the Java client 4.4.0 on one 4.3.1 node, with the broker's request log."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.clients.session import Step, run
from tests.broker.cluster import Cluster
from tests.broker.options import Options


def play(cluster: Cluster) -> None:
    """Topics, every codec, groups of both protocols, a share group, transactions, admin calls, an unknown topic."""
    place = cluster.bootstrap()
    first: list[Step] = [("create", {"topics": {"orders": 3, "payments": 1}})]
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        first.append(("produce", {"topic": "orders", "count": 20, "config": {"compression.type": codec}}))
    first += [
        ("produce", {"topic": "orders", "count": 2, "config": {"acks": "0"}}),
        ("consume", {"topics": ["orders"], "group": "billing", "count": 100, "keep": False}),
        ("transact", {"topic": "payments", "id": "checkout-7", "ends": ["commit", "abort"]}),
    ]
    run("librdkafka", place, first, {"client.id": "checkout-7"})
    second: list[Step] = [
        ("produce", {"topic": "orders", "count": 5, "headers": {"trace": "4bf92f35"}, "config": {"acks": "1"}}),
        ("produce", {"topic": "payments", "count": 3, "config": {"acks": "0", "enable.idempotence": "false"}}),
        ("consume", {"topics": ["orders"], "group": "shipping", "count": 100, "keep": False}),
        (
            "consume",
            {
                "topics": ["payments"],
                "group": "ledger",
                "count": 5,
                "keep": False,
                "config": {"group.protocol": "consumer", "isolation.level": "read_committed"},
            },
        ),
        ("transact", {"topic": "payments", "id": "refund-2", "ends": ["commit", "abort"], "group": "ledger"}),
        ("administer", {"topic": "orders", "group": "billing"}),
    ]
    run("java-4.4.0", place, second, {"client.id": "shop"})


if __name__ == "__main__":
    record("first-steps.pcapng", Options(first_port=9092, request_log=True), play, log=True)
