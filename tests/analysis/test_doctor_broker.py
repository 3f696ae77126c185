"""`kw doctor` on three healthy brokers: no finding when they are idle, no warning when they are busy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.clients.session import run, start
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.cli.worlds import kw

pytestmark = [pytest.mark.broker, pytest.mark.full, needs_brokers]

CLIENTS: Final = ("java-4.4.0", "java-2.8.2", "librdkafka", "aiokafka", "python", "go", "node")
MINUTES: Final = float(os.environ.get("KW_BUSY_MINUTES", "10"))
# One producer a round; more would be churn, which is a finding.
ROUND_S: Final = 30
RECORDS: Final = 20_000
# Settings for throughput from every library's handbook, under the Java client's names; other libraries know them too.
BATCHED: Final = {"compression.type": "gzip", "linger.ms": "20"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = Options(nodes=3, listeners=("INTERNAL", "PLAINTEXT"), class_archive=True, version="4.3.1")
    with Cluster(options, tmp_path_factory.mktemp("healthy")) as cluster:
        yield cluster


def _ports(cluster: Cluster) -> list[int]:
    """The ports of clients, brokers and controllers."""
    return [port for node in cluster.nodes for port in node.ports.values()]


def _findings(file: Path) -> list[dict[str, Any]]:
    """The findings in a capture, without the one that connections were open when it began."""
    rows = [json.loads(line) for line in kw("doctor", str(file), "-o", "ndjson").out.splitlines()]
    return [row for row in rows if row["id"] != "capture-begins-late"]


def test_a_quiet_cluster_has_no_findings(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "quiet.pcap"
    with Recorder(file, _ports(cluster)):
        time.sleep(30)
    assert sum(row["count"] for row in json.loads(kw("stats", str(file), "-o", "json").out)) > 100
    assert _findings(file) == []


def test_a_busy_cluster_has_no_warnings(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "busy.pcap"
    place = cluster.bootstrap()
    with Recorder(file, _ports(cluster)):
        topics = {f"orders-{client}": 3 for client in CLIENTS}
        run("librdkafka", place, [("create", {"topics": topics, "replicas": 3})], {"client.id": "setup"})
        end = time.monotonic() + 60 * MINUTES
        readers = []
        for client in CLIENTS:
            reads = {"topics": [f"orders-{client}"], "group": f"billing-{client}", "keep": False}
            work = {**reads, "count": 10**9, "polls": int(MINUTES * 120)}
            readers.append(start(client, place, [("consume", work)], {"client.id": f"billing-{client}"}))
        written = 0
        while time.monotonic() < end:
            began = time.monotonic()
            for client in CLIENTS:
                work = {"topic": f"orders-{client}", "count": RECORDS, "size": 400, "first": written, "config": BATCHED}
                run(client, place, [("produce", work)], {"client.id": f"shop-{client}"})
            written += RECORDS
            time.sleep(max(began + ROUND_S - time.monotonic(), 0))
        for reader in readers:
            reader.finish(120)
    assert [row for row in _findings(file) if row["severity"] != "note"] == []
