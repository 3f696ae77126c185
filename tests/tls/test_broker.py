"""A real broker with TLS listeners: requests of kw, recorded and decrypted with the key log that kw wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import Missing, tls_agent
from tests.broker.options import Options
from tests.broker.recorder import Recorder

pytestmark = [pytest.mark.broker, needs_brokers]

KW: Final = [sys.executable, "-m", "kwcli.main"]
CALLS: Final = (
    ["Metadata"],
    ["ApiVersions"],
    ["CreateTopics", "topics[0].name=of-LISTENER", "topics[0].num_partitions=2", "topics[0].replication_factor=1"],
    ["DescribeCluster"],
    ["ListGroups"],
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One node with TLS listeners, with and without a login."""
    with Cluster(Options(listeners=("PLAINTEXT", "SSL", "SASL_SSL"), class_archive=True)) as started:
        yield started


def run(words: list[str], keys: Path | None = None) -> list[dict[str, Any]]:
    """The rows that kw prints."""
    env = {**os.environ, **({"SSLKEYLOGFILE": str(keys)} if keys else {})}
    done = subprocess.run([*KW, *words, "-o", "ndjson"], capture_output=True, text=True, check=True, env=env)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("listener", ["SASL_SSL", "SSL"])
def test_what_kw_sent_is_read_again(cluster: Cluster, tmp_path: Path, listener: str) -> None:
    port = cluster.nodes[0].ports[listener]
    words = ["-b", f"127.0.0.1:{port}", "-X", f"security.protocol={listener}"]
    words += ["-X", f"ssl.ca.location={cluster.folder}/tls/ca.pem"]
    if listener == "SASL_SSL":
        words += ["-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=alice", "-X", "sasl.password=alice-secret"]
    capture, keys = tmp_path / "tls.pcap", tmp_path / "keys.log"
    sent: list[dict[str, Any]] = []
    with Recorder(capture, [port]):
        for call in CALLS:
            sent += run(["call", *(word.replace("LISTENER", listener) for word in call), *words], keys)
    rows = run(["sniff", str(capture), "--keylog", str(keys)])
    assert {row["tls"]["version"] for row in rows} == {"1.3"}
    assert {row["status"] for row in rows} == {"complete"}
    read = {(row["client"], row["correlation_id"], row["api"]): row for row in rows}
    same = ("api_version", "client_id", "request_size", "response_size", "errors", "request", "response", "broker")
    assert len(sent) >= len(CALLS)
    for row in sent:
        found = read[row["client"], row["correlation_id"], row["api"]]
        assert {name: found[name] for name in same} == {name: row[name] for name in same}
    if listener == "SASL_SSL":
        assert "SaslAuthenticate" in {row["api"] for row in rows}
        assert "alice-secret" not in json.dumps(rows)


@pytest.mark.full
def test_an_agent_attached_to_a_running_broker_logs_the_keys_of_new_connections(tmp_path: Path) -> None:
    """The recipe of `kw help tls`: by the broker's PID, with its own Java, while clients are served."""
    try:
        agent = tls_agent()
    except Missing as missing:
        pytest.skip(str(missing))
    keys = tmp_path / "keys.log"
    with Cluster(Options(listeners=("PLAINTEXT", "SSL"), class_archive=True)) as cluster:
        port = cluster.nodes[0].ports["SSL"]
        words = ["-b", f"127.0.0.1:{port}", "-X", "security.protocol=SSL"]
        words += ["-X", f"ssl.ca.location={cluster.folder}/tls/ca.pem"]
        assert run(["call", "Metadata", *words])
        command = ["java", "-jar", str(agent), str(cluster._processes[1].pid), str(keys)]
        attached = subprocess.run(command, capture_output=True, text=True, check=False)
        assert attached.returncode == 0, attached.stderr + attached.stdout
        capture = tmp_path / "tls.pcap"
        with Recorder(capture, [port]):
            sent = [row for call in CALLS[:2] for row in run(["call", *call, *words])]
    rows = run(["sniff", str(capture), "--keylog", str(keys)])
    read = {(row["client"], row["correlation_id"], row["api"]): row for row in rows}
    assert {row["tls"]["version"] for row in rows} == {"1.3"}
    assert [read[row["client"], row["correlation_id"], row["api"]]["response"] for row in sent] == [
        row["response"] for row in sent
    ]
    assert keys.stat().st_size > 0
