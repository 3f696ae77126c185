"""Real clients through the proxy, at brokers whose own addresses they cannot resolve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from tests.broker.clients.session import Step, run
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.broker.plays import family
from tests.proxy.hidden import Behind, HiddenCluster, ProxyProcess, port_base

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]


@pytest.fixture(scope="module")
def cluster() -> Iterator[HiddenCluster]:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    with HiddenCluster(Options(nodes=3, listeners=("INTERNAL", "PLAINTEXT"), class_archive=True)) as started:
        yield started


@pytest.fixture(scope="module")
def proxy(cluster: HiddenCluster) -> Iterator[ProxyProcess]:
    with ProxyProcess(["-b", cluster.bootstrap().partition(",")[0], *cluster.dial_map], port_base(3)) as started:
        yield started
    assert started.code == 0, started.said
    assert "defect" not in started.said
    assert "Error" not in started.said


@pytest.mark.parametrize(
    "client",
    ["java-4.4.0", "librdkafka", *(pytest.param(each, marks=pytest.mark.full) for each in ("aiokafka", "python"))],
)
def test_topics_records_groups_transactions_and_admin_work(proxy: ProxyProcess, client: str) -> None:
    found = family(cast(Cluster, Behind(proxy.bootstrap)), client, prefix=f"{client}-")
    assert len(found) == (80 if client == "python" else 100)


def test_every_node_has_a_listener_of_its_own(cluster: HiddenCluster, proxy: ProxyProcess) -> None:
    base = int(proxy.bootstrap.partition(":")[2])
    rows = [line.split() for line in proxy.log.splitlines() if line[:1] in "123"]
    expected = [
        [str(node.id), f"kafka-{node.id}.invalid:{node.ports['PLAINTEXT']}", f"127.0.0.1:{base + 1 + node.id}"]
        for node in cluster.nodes
    ]
    assert rows == expected


def test_leaders_that_move_are_found_through_the_proxy(cluster: HiddenCluster, proxy: ProxyProcess) -> None:
    """A node stops and starts; addresses of new leaders in answers (KIP-951) are rewritten too."""
    made: list[Step] = [("create", {"topics": {"moving": 3}, "replicas": 3})]
    run("librdkafka", proxy.bootstrap, [*made, ("produce", {"topic": "moving", "count": 20})])
    cluster.stop_node(3)
    run("java-4.4.0", proxy.bootstrap, [("produce", {"topic": "moving", "count": 20})])
    cluster.start_node(3)
    read = run("java-4.4.0", proxy.bootstrap, [("consume", {"topics": ["moving"], "group": "movers", "count": 40})])
    assert len(read[0]["result"]) == 40
