"""`kw sniff -i lo` on a busy cluster: its live output agrees with the brokers' request log."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.broker.plays import family
from tests.broker.requestlog import read_logs
from tests.oracle.log_match import compare
from tests.oracle.log_records import compare_records
from tests.oracle.log_sniff import sniff
from tests.waiting import until

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.broker
@pytest.mark.long
@needs_brokers
@pytest.mark.skipif(sys.platform != "linux", reason="the loopback interface has another name elsewhere")
def test_a_live_capture_agrees_with_the_log(tmp_path: Path) -> None:
    cluster = Cluster(Options(request_log=True, class_archive=True), folder=tmp_path / "cluster")
    ports = " or ".join(f"tcp port {port}" for port in cluster.ports)
    command = [
        sys.executable,
        "-m",
        "kwcli.main",
        "sniff",
        "-i",
        "lo",
        "--bpf",
        ports,
        "-w",
        str(tmp_path / "kept.pcapng"),
    ]
    command += ["-o", "ndjson", "--records", "--reveal-secrets"]
    lines, said = tmp_path / "lines.ndjson", tmp_path / "said.txt"
    with lines.open("wb") as out, said.open("wb") as err:
        live = subprocess.Popen(command, cwd=_ROOT, stdout=out, stderr=err)
    try:
        until(lambda: b"listening on lo" in said.read_bytes())
        with cluster:
            read = family(cluster, "librdkafka")
            # Rows come as they settle.
            until(lambda: lines.read_bytes().count(b"\n") > 50)
        sizes = [-1, lines.stat().st_size]
        while sizes[-1] != sizes[-2]:
            time.sleep(3.0)
            sizes.append(lines.stat().st_size)
        live.send_signal(signal.SIGINT)
        code = live.wait(20)
    finally:
        live.kill()
        live.wait()
    assert code == 130, said.read_text()
    found = [orjson.loads(line) for line in lines.read_bytes().splitlines()]
    result = compare(found, read_logs(cluster.request_logs))
    assert result.problems == [], said.read_text()
    assert result.counts["exchanges"] > 50
    assert compare_records(found, read) == ([], len(read))
    # A capture of the same packets gives the same rows.
    again = sniff(tmp_path / "kept.pcapng")
    assert [each["correlation_id"] for each in again] == [each["correlation_id"] for each in found]
