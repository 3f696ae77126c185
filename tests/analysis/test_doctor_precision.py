"""Precision and recall of findings over the captures that ship: contents listed by hand, against what is reported.

A capture's row counts findings by severity and kind. `python -m pytest -s` on this file prints the table of figures.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.doctor.finding_kinds import FINDINGS
from kwcli.run_environment import Exit
from tests.analysis.attack_scenes import ATTACK_SCENES
from tests.analysis.cause_scenes import CAUSE_SCENES
from tests.analysis.client_scenes import CLIENT_SCENES
from tests.analysis.cluster_scenes import CLUSTER_SCENES
from tests.analysis.faults.actors import Fault
from tests.analysis.faults.clients import CLIENT_FAULTS
from tests.analysis.faults.links import LINK_FAULTS
from tests.analysis.faults.nodes import NODE_FAULTS
from tests.analysis.incidents.brokers import BROKER_INCIDENTS
from tests.analysis.incidents.clients import CLIENT_INCIDENTS
from tests.analysis.incidents.recording import NETWORK_INCIDENTS
from tests.analysis.network_scenes import NETWORK_SCENES
from tests.analysis.reading_scenes import READING_SCENES
from tests.analysis.record_scenes import RECORD_SCENES
from tests.analysis.silence_scenes import SILENCE_SCENES
from tests.analysis.topology_scenes import TOPOLOGY_SCENES
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "doctor.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))

TRUTH: Final[dict[str, dict[str, int]]] = {
    "first-steps.pcapng": {
        "note answered-with-error": 6,
        "note coordinator-moved": 4,
        "note no-connection": 1,
        "note switched-off": 1,
    },
    "old-clients.pcap.gz": {
        "warning connection-churn": 1,
        "warning old-format": 2,
        "note answered-with-error": 1,
        "note coordinator-moved": 3,
    },
    "sasl-framed.pcapng": {
        "error login-failed": 2,
        "warning login-failed": 1,
        "note already-there": 1,
        "note coordinator-moved": 2,
    },
    "sasl-gssapi.pcap.gz": {"warning old-format": 2, "note coordinator-moved": 1},
    "sasl-raw.pcap": {"warning connection-churn": 1, "warning old-format": 2, "note coordinator-moved": 1},
    "share-groups.pcapng": {
        "note answered-with-error": 7,
        "note coordinator-moved": 5,
        "note no-connection": 1,
        "note switched-off": 1,
    },
    "telemetry.pcapng": {"note coordinator-moved": 1},
    "three-nodes.pcapng.zst": {
        "warning controller-moved": 1,
        "warning election": 1,
        "warning leader-moved": 2,
        "warning no-connection": 2,
        "note already-there": 2,
        "note answered-with-error": 2,
        "note controller-moved": 1,
        "note coordinator-moved": 3,
        "note leader-moved": 6,
        "note no-connection": 4,
        "note topic-unknown": 1,
        "note under-replicated": 1,
    },
    "tour.pcapng": {
        "error topic-unknown": 1,
        "error version-refused": 1,
        "note already-there": 1,
        "note answered-with-error": 1,
    },
    "zookeeper-cluster.pcap.gz": {
        "warning controller-moved": 1,
        "warning no-connection": 2,
        "warning old-format": 1,
        "warning under-replicated": 1,
        "note coordinator-moved": 1,
        "note leader-moved": 2,
        "note no-connection": 1,
        "note topic-unknown": 2,
    },
    "tls/librdkafka-jsse.pcap": {"warning capture": 1},
    "faults/access-denied.pcap.zst": {"warning access-denied": 1},
    "faults/advertised-elsewhere.pcap.zst": {"note advertised-elsewhere": 1},
    "faults/advertised-loopback.pcap.zst": {"error advertised-loopback": 1},
    "faults/advertised-wildcard.pcap.zst": {"error advertised-wildcard": 1, "note request-odd": 1},
    "faults/broker-failed.pcap.zst": {"warning broker-failed": 1},
    "faults/clock-ahead.pcap.zst": {"warning clock-ahead": 1},
    "faults/fetch-sessions-lost.pcap.zst": {"warning fetch-sessions-lost": 1},
    "faults/heartbeats-late.pcap.zst": {"warning heartbeats-late": 1, "note coordinator-moved": 1},
    "faults/idle-cut.pcap.zst": {"warning idle-cut": 1},
    "faults/isr-flapping.pcap.zst": {
        "warning follower-behind": 1,
        "warning isr-flapping": 1,
        "note capture-begins-late": 1,
    },
    "faults/isr-shrunk.pcap.zst": {"warning isr-shrunk": 1, "note capture-begins-late": 1},
    "faults/leaders-move.pcap.zst": {
        "warning broker-back": 1,
        "warning isr-flapping": 1,
        "warning leader-moved": 2,
        "warning leaders-move": 1,
        "warning timed-out": 1,
        "warning unanswered": 2,
        "note capture-begins-late": 1,
        "note leader-moved": 3,
        "note sent-again": 1,
        "note under-replicated": 1,
    },
    "faults/member-fenced.pcap.zst": {"note member-fenced": 1},
    "faults/metadata-storm.pcap.zst": {"warning metadata-storm": 1},
    "faults/no-connection.pcap.zst": {"warning no-connection": 1},
    "faults/offset-out-of-range.pcap.zst": {"warning offset-out-of-range": 1, "note coordinator-moved": 1},
    "faults/partition-offline.pcap.zst": {
        "error broker-gone": 1,
        "error partition-offline": 1,
        "warning leader-missing": 1,
        "note capture-begins-late": 1,
    },
    "faults/producer-fenced.pcap.zst": {"note answered-with-error": 1, "note producer-fenced": 1},
    "faults/quota-exceeded.pcap.zst": {"warning throttled": 1, "note quota-exceeded": 1},
    "faults/records-corrupt.pcap.zst": {"error records-corrupt": 1, "warning records-refused": 1},
    "faults/replicas-missing.pcap.zst": {
        "error replicas-missing": 1,
        "warning isr-shrunk": 1,
        "warning under-replicated": 1,
        "note capture-begins-late": 1,
    },
    "faults/retransmissions.pcap.zst": {"warning retransmissions": 1, "note many-in-flight": 1},
    "faults/sent-again.pcap.zst": {"note capture-begins-late": 1, "note coordinator-moved": 1, "note sent-again": 1},
    "faults/sent-twice.pcap.zst": {
        "warning sent-twice": 1,
        "warning unanswered": 1,
        "warning written-twice": 1,
        "note capture-begins-late": 1,
    },
    "faults/lz4-refused.pcap.zst": {"error lz4-refused": 1, "warning broker-failed": 1},
    "faults/sequence-reused.pcap.zst": {"error sequence-reused": 1, "note coordinator-moved": 1},
    "faults/sequence-broken.pcap.zst": {"warning sequence-broken": 1, "note coordinator-moved": 1},
    "faults/slow-broker.pcap.zst": {"warning slow-broker": 1, "note capture-begins-late": 1},
    "faults/telemetry-refused.pcap.zst": {"note telemetry-refused": 1},
    "faults/throttled.pcap.zst": {"warning throttled": 1},
    "faults/too-large.pcap.zst": {"warning too-large": 1},
    "faults/proxy-head-refused.pcap.zst": {"error proxy-head-refused": 1, "warning unanswered": 1},
    "faults/broker-back.pcap.zst": {
        "warning broker-back": 1,
        "warning replicas-missing": 1,
        "note under-replicated": 1,
    },
    "faults/broker-gone.pcap.zst": {"error broker-gone": 1, "warning under-replicated": 1},
    "faults/busiest-client.pcap.zst": {"note busiest-client": 1},
    "faults/fetch-sessions-unused.pcap.zst": {"warning fetch-sessions-unused": 1},
    "faults/fetch-loop.pcap.zst": {"warning fetch-loop": 1},
    "faults/poll-stopped.pcap.zst": {"warning poll-stopped": 1},
    "faults/answer-odd.pcap.zst": {"warning answer-odd": 1},
    "faults/answers-misplaced.pcap.zst": {"error answers-misplaced": 1},
    "faults/login-expired.pcap.zst": {"warning login-expired": 1},
    "faults/login-missing.pcap.zst": {"error login-missing": 1},
    "faults/not-kafka.pcap.zst": {"warning not-kafka": 1},
    "faults/plaintext-to-tls.pcap.zst": {"error plaintext-to-tls": 1},
    "faults/request-closed.pcap.zst": {"error request-closed": 1},
    "faults/request-odd.pcap.zst": {"note request-odd": 1},
    "faults/tls-to-plaintext.pcap.zst": {"error tls-to-plaintext": 1},
    "faults/versions-closed.pcap.zst": {"error versions-closed": 1},
    "faults/commit-lost.pcap.zst": {"warning commit-lost": 1},
    "faults/timestamp-refused.pcap.zst": {"warning clock-behind": 1, "note timestamp-refused": 1},
    "faults/transaction-hangs.pcap.zst": {"warning transaction-hangs": 1, "note coordinator-moved": 2},
    "faults/transactions-abort.pcap.zst": {
        "warning transactions-abort": 1,
        "note answered-with-error": 1,
        "note coordinator-moved": 2,
    },
}
# Findings of a look at a live cluster (tests/cli/test_live_doctor.py).
LIVE: Final = {
    *("controller-clock", "controller-silent", "feature-behind", "not-looked-at", "releases-differ", "unreachable")
}
# Attacks, what only a fault of minutes brings, and records that were passed: scenes alone show them.
STAGED: Final = {
    *(
        "start-repeated",
        "coordinator-never",
        "codec-too-new",
        "members-idle",
        "fetch-abandoned",
        "join-abandoned",
        "keys-apart",
    ),
    *(
        {
            row[0]
            for row in (
                *ATTACK_SCENES,
                *CAUSE_SCENES,
                *CLIENT_SCENES,
                *CLUSTER_SCENES,
                *RECORD_SCENES,
                *SILENCE_SCENES,
                *NETWORK_SCENES,
                *TOPOLOGY_SCENES,
                *READING_SCENES,
            )
        }
        - {"written-twice"}
    ),
}
FAULTS: Final = sorted(f"faults/{file.name}" for file in (FOLDER / "faults").iterdir())


@cache
def told(name: str) -> list[dict[str, Any]]:
    """The rows of `kw doctor` on a capture, each valid by its schema."""
    outcome = kw("doctor", str(FOLDER / name), "-o", "ndjson")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert outcome.code == (Exit.FINDINGS if any(row["severity"] == "error" for row in rows) else Exit.DONE)
    for row in rows:
        SCHEMA.validate(row)
        assert row["meaning"]
        assert row["remedy"] or row["id"].startswith("capture")
        assert "{" not in row["title"] + row["meaning"]
    return rows


def counted(name: str) -> Counter[str]:
    """The number of findings of each severity and kind in a capture."""
    return Counter(f"{row['severity']} {row['id']}" for row in told(name))


def test_each_capture_has_its_row() -> None:
    assert set(TRUTH) == {*CLEAN, *FAULTS, "tls/librdkafka-jsse.pcap"}
    assert {kind.split()[1] for row in TRUTH.values() for kind in row} <= set(FINDINGS)


@pytest.mark.parametrize("name", TRUTH)
def test_what_is_told_is_there_and_what_is_there_is_told(name: str) -> None:
    assert counted(name) == TRUTH[name]


@pytest.mark.parametrize("name", FAULTS)
def test_a_capture_of_a_fault_shows_it(name: str) -> None:
    assert name.removeprefix("faults/").removesuffix(".pcap.zst") in {row["id"] for row in told(name)}


def shown_findings() -> set[str]:
    """The findings that a capture or a fault shows."""
    shown = {kind.split()[1] for row in TRUTH.values() for kind in row}
    faults: tuple[Fault[Any], ...] = (*CLIENT_FAULTS, *LINK_FAULTS, *NODE_FAULTS)
    incidents = (*CLIENT_INCIDENTS, *BROKER_INCIDENTS, *NETWORK_INCIDENTS)
    return shown | {fault.finding for fault in faults} | {incident.first for incident in incidents}


def test_each_finding_has_a_capture_that_shows_it() -> None:
    without = sorted(set(FINDINGS) - shown_findings() - LIVE - STAGED - {"left-out"})
    assert without == [], f"findings without a row in TRUTH (here) or in tests/analysis/faults: {without}"
    assert not shown_findings() & LIVE


def test_precision_and_recall_of_every_finding() -> None:
    found: dict[str, list[int]] = {}
    for name, truth in TRUTH.items():
        rows = counted(name)
        for kind in {*truth, *rows}:
            figures = found.setdefault(kind.split()[1], [0, 0, 0])
            figures[0] += min(rows[kind], truth.get(kind, 0))
            figures[1] += rows[kind]
            figures[2] += truth.get(kind, 0)
    lines = [f"\n{'finding':22} {'right':>5} {'told':>5} {'there':>5} {'precision':>9} {'recall':>6}"]
    for kind, (right, rows_told, there) in sorted(found.items()):
        precision, recall = right / max(rows_told, 1), right / max(there, 1)
        lines.append(f"{kind:22} {right:5} {rows_told:5} {there:5} {precision:9.2f} {recall:6.2f}")
    sys.stdout.write("\n".join(lines) + "\n")
    assert all(right == rows_told == there for right, rows_told, there in found.values())
