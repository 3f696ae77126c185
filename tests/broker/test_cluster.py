"""The cluster starter itself: it answers, keeps its log, survives a restart, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificate

from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import is_kafka_answering
from kwcli.playground.tls_certificates import write_tls_certificates
from tests.broker.clients.everything import offered
from tests.broker.cluster import Cluster, StartFailed
from tests.broker.fixture import cluster, needs_brokers
from tests.broker.options import Options
from tests.broker.requestlog import parse_line, read_logs
from tests.waiting import until

__all__ = ["cluster"]

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

_ROOT = Path(__file__).resolve().parents[2]
_CRASH = """
import os, sys
from tests.broker.cluster import Cluster
started = Cluster().__enter__()
print(started._processes[1].pid, started.folder, flush=True)
sys.stdin.read(1)
"""


def _process_of_ours(code: str) -> subprocess.Popen[str]:
    """A Python process that runs this code until it is terminated or reads the end of its input."""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_cluster_answers_what_its_release_speaks(cluster: Cluster) -> None:
    port = cluster.nodes[0].ports["PLAINTEXT"]
    assert is_kafka_answering("127.0.0.1", port)
    versions = offered("127.0.0.1", port)
    assert versions[0] == (0, 13)
    assert 4 not in versions


def test_a_node_may_stop_crash_and_come_back(tmp_path: Path) -> None:
    # The controller registers no broker under an id that it believes alive.
    soon = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    options = Options(version="3.9.1", request_log=True, class_archive=True, properties=soon)
    with Cluster(options, folder=tmp_path / "cluster") as started:
        port = started.nodes[0].ports["PLAINTEXT"]
        started.stop_node(1)
        assert not is_kafka_answering("127.0.0.1", port, timeout_s=0.5)
        started.start_node(1)
        started.kill_node(1)
        assert not started.is_node_running(1)
        started.start_node(1)
        assert is_kafka_answering("127.0.0.1", port)
        pid = started._processes[1].pid
    assert _gone(pid)
    entries = read_logs(started.request_logs)
    assert {"API_VERSIONS", "BROKER_REGISTRATION"} <= {entry.api for entry in entries}
    assert all(entry.broker.startswith("127.0.0.1:") for entry in entries)


def test_a_node_that_cannot_start_says_why() -> None:
    with pytest.raises(StartFailed, match=r"no\.such\.Class"):
        Cluster(Options(properties={"metric.reporters": "no.such.Class"})).__enter__()


def test_a_crash_of_ours_ends_the_brokers() -> None:
    with _process_of_ours(_CRASH) as ours:
        assert ours.stdout is not None
        pid, folder = ours.stdout.readline().split()
        assert not _gone(int(pid))
        ours.send_signal(signal.SIGKILL)
    until(lambda: _gone(int(pid)), seconds=30)
    subprocess.run(["rm", "-rf", folder], check=True)


def test_free_ports_are_a_row_and_free() -> None:
    ports = find_free_ports(20)
    assert ports == list(range(ports[0], ports[0] + 20))
    assert not any(is_kafka_answering("127.0.0.1", port, timeout_s=0.2) for port in ports)


def test_a_row_of_ports_does_not_reach_into_those_of_another_process() -> None:
    with pytest.raises(OSError, match="400 ports in a row are more than the 399 of one process"):
        find_free_ports(400)
    code = (  # in a new process: brokers of other tests use this one's slice of ports
        "import sys; from kwcli.playground.free_ports import *\n"
        "print(*find_free_ports(302), flush=True); sys.stdin.read()"
    )
    with _process_of_ours(code) as other:
        assert other.stdout is not None
        ports = [int(port) for port in other.stdout.readline().split()]
    assert ports == list(range(ports[0], ports[0] + 302))


def test_ports_of_another_process_are_not_taken() -> None:
    """No process is given a port that another one was given: a broker stopped for a while must find its port free."""
    code = (
        "import sys; from kwcli.playground.free_ports import *;"
        "print(*(find_free_ports(10)[0] for _ in range(50)), flush=True); sys.stdin.read()"
    )
    ours = {find_free_ports(10)[0] for _ in range(50)}
    with ExitStack() as stack:
        for other in [stack.enter_context(_process_of_ours(code)) for _ in range(3)]:
            assert other.stdout is not None
            taken = {int(port) for port in other.stdout.readline().split()}
            assert taken
            assert not taken & ours
            ours |= taken


def test_certificates_are_made(tmp_path: Path) -> None:
    write_tls_certificates(tmp_path)
    authority = load_pem_x509_certificate((tmp_path / "ca.pem").read_bytes())
    for name in ("broker", "client"):
        certificate = load_pem_x509_certificate((tmp_path / f"{name}.crt").read_bytes())
        certificate.verify_directly_issued_by(authority)
        assert certificate.not_valid_before_utc < datetime.now(UTC) < certificate.not_valid_after_utc
        assert "PRIVATE KEY" in (tmp_path / f"{name}.pem").read_text()


def test_a_line_of_the_log_is_read_with_its_ends() -> None:
    line = (
        '2026-11-21T16:48:28.249 Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":18,'
        '"requestApiVersion":3,"correlationId":1,"clientId":"a","requestApiKeyName":"API_VERSIONS"},"request":{},'
        '"response":"","connection":"0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:34684-2-5"}'
    )
    entry = parse_line(line)
    assert entry is not None
    assert (entry.client, entry.broker) == ("[::1]:34684", "[::1]:9092")
    assert (entry.api_key, entry.api_version, entry.correlation_id, entry.client_id) == (18, 3, 1, "a")
    assert parse_line("2026-11-21T16:48:28.249 INFO something else") is None
    for torn in ("2026-11-21T16", '2026-11-21T16:48:27.999 Completed request:{"isForw'):
        assert parse_line(torn + line) == entry, "its writer was killed"
