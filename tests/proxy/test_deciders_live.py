"""`--as-kafka`, `--script`, `--fault` on one proxy: a real client at a real broker, and who decided each exchange."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.clients.session import Step, run
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.mock.running import SocketClient
from tests.proxy.hidden import ProxyProcess, port_base

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.full]

# A script that refuses the first FindCoordinator, and prints each exchange that it sees.
SCRIPT: Final = """\
from kwcli.proxy.scripts import on

seen = []


@on("FindCoordinator")
def request(exchange):
    seen.append(exchange.correlation_id)
    print(f"script: {exchange.api} {exchange.api_version}", flush=True)
    if len(seen) == 1:
        exchange.fail("COORDINATOR_NOT_AVAILABLE")


@on("Produce")
def request_to_write(exchange):
    print(f"script: {exchange.api} {exchange.api_version}", flush=True)
    exchange.request["timeout_ms"] = 4321
"""
FAULT: Final = "error COORDINATOR_LOAD_IN_PROGRESS, first 1, when api == FindCoordinator"
# The rule sees the request as the script has changed it.
SLOW: Final = "delay 20ms, when api == Produce and request.timeout_ms == 4321"
COUNT: Final = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    with Cluster(Options(version="3.9.1", class_archive=True)) as started:
        yield started


def test_the_release_decides_first_then_the_script_then_faults(cluster: Cluster, tmp_path: Path) -> None:
    script, output, topic = tmp_path / "s.py", tmp_path / "out.ndjson", "decided"
    script.write_text(SCRIPT)
    words = ["-b", cluster.bootstrap(), "--as-kafka", "2.8", "--script", str(script), "-o", "ndjson"]
    with ProxyProcess([*words, "--fault", FAULT, "--fault", SLOW], port_base(1), output) as proxy:
        steps: list[Step] = [
            ("create", {"topics": {topic: 1}}),
            ("produce", {"topic": topic, "count": COUNT}),
            ("consume", {"topics": [topic], "group": topic, "count": COUNT}),
        ]
        assert len(run("librdkafka", proxy.bootstrap, steps)[-1]["result"]) == COUNT
        # An API that 2.8 did not serve: neither the script nor a rule sees it.
        client = SocketClient(int(proxy.bootstrap.rpartition(":")[2]), "newer")
        with pytest.raises(AssertionError, match="has closed"):
            client.ask("Produce", 11, {"acks": -1, "timeout_ms": 1000, "topic_data": []})
        client.close()
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    asked = [row for row in rows if row["api"] == "FindCoordinator"]
    assert [decided(row) for row in asked[:2]] == [
        ("COORDINATOR_NOT_AVAILABLE", ["script answered"]),
        ("COORDINATOR_LOAD_IN_PROGRESS", ["error COORDINATOR_LOAD_IN_PROGRESS"]),
    ]
    assert all(decided(row)[1] == [] for row in asked[2:])  # the broker's answers
    wrote = [row for row in rows if row["api"] == "Produce" and row["status"] == "complete"]
    assert [decided(row) for row in wrote] == [("", ["script changed", "delay 20ms"])] * len(wrote)
    (refused,) = (row for row in rows if row["api_version"] == 11 and row["api"] == "Produce")
    assert (refused["status"], decided(refused)) == ("unanswered", ("", []))
    lines = proxy.said.splitlines()
    assert "kw: client newer (127.0.0.1) could not work: Produce 11 (0 to 9 are served)" in lines
    assert lines.count("script: FindCoordinator 2") == len(asked)
    assert lines.count("script: Produce 9") == len(wrote) >= 1
    assert "script: Produce 11" not in lines
    assert "kw: fault 1 (error COORDINATOR_LOAD_IN_PROGRESS): hit 1 of 1 exchange" in lines
    seen = len(asked) + len(wrote)
    told = f"{seen} exchanges seen, 1 answered, {len(wrote)} changed"
    assert f"kw: script {script}: {told}" in lines


def decided(row: dict[str, Any]) -> tuple[str, list[str]]:
    """The error of an exchange, and the deciders that changed it."""
    fault = row.get("fault")
    error = row["errors"][0]["name"] if row["errors"] else ""
    return error, [each["action"] for each in (fault, *fault.get("more", ()))] if fault else []
