"""A three-node cluster spread over hosts, read over ssh at 1, 2 and 8 of them: rows are those of captures on the spot.

The captures begin before the cluster does, and end some seconds after the last client; what the brokers say among
themselves goes on all the while, so only rows up to the end of the clients are compared.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.clients.session import Session
from tests.broker.fixture import needs_brokers
from tests.cli.worlds import kw
from tests.reading.hosts import Hosts, explain_missing_programs
from tests.reading.spread_cluster import PORTS, SpreadCluster
from tests.reading.test_live_hosts import CHANGED, count_tcpdumps, ended, sniff
from tests.reading.test_live_places import rows
from tests.waiting import until

_LACKING = explain_missing_programs()
pytestmark = [
    pytest.mark.full,
    pytest.mark.broker,
    needs_brokers,
    pytest.mark.skipif(_LACKING is not None, reason=_LACKING or ""),
]

WHAT: Final = f"portrange {PORTS[0]}-{PORTS[1]}"
NODES: Final = 3
# Longer than what a busy machine takes between two places that see one packet.
PATIENT: Final = ("--merge-delay", "15s")
COUNTS: Final = (1, 2, 8)  # of places
# Clients, each on the host with its number; all that a cluster of three has to say about: groups, transactions.
CLIENTS: Final[dict[int, tuple[str, list[tuple[str, dict[str, Any]]]]]] = {
    4: ("librdkafka", [("produce", {"topic": "orders", "count": 300, "batches": 30})]),
    5: ("aiokafka", [("produce", {"topic": "orders", "count": 100, "batches": 10})]),
    6: ("python", [("consume", {"topics": ["orders"], "group": "billing", "count": 400, "keep": False})]),
    7: ("librdkafka", [("transact", {"topic": "orders", "id": "ledger", "ends": ["commit", "abort", "commit"]})]),
    8: ("aiokafka", [("consume", {"topics": ["orders"], "group": "audit", "count": 400, "keep": False})]),
}


class Recorded:
    """What was read at each number of places, and captured on the spot of each host, up to the time `until_ns`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[int, tuple[list[dict[str, Any]], str]] = {}
        self.until = ""

    def file(self, number: int) -> Path:
        """The capture on the spot of a host; that of the router has number 0."""
        return self.folder / f"{number}.pcap"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("cluster")
    made = Recorded(folder)
    with ExitStack() as ending:
        hosts = ending.enter_context(Hosts(8, tmp_path_factory.mktemp("hosts")))
        spot = [
            hosts.start(number, *_tcpdump(number), "-w", str(made.file(number)), *WHAT.split()) for number in range(9)
        ]
        readers = {}
        for count in COUNTS:
            (folder / str(count)).mkdir()
            places = (f"b{number}={hosts.tcpdump(number, what=WHAT)}" for number in range(1, count + 1))
            readers[count] = sniff(hosts, folder / str(count), *places, more=PATIENT)
        until(lambda: count_tcpdumps(WHAT) >= 9 + sum(COUNTS))
        time.sleep(3)  # tcpdump listens a moment after it was started
        cluster = ending.enter_context(SpreadCluster(hosts, NODES, folder / "nodes"))
        _play(hosts, cluster)
        made.until = datetime.now(UTC).isoformat()
        time.sleep(5)
        for count, reader in readers.items():
            made.found[count] = ended(reader, folder / str(count))
        for process in spot:
            process.terminate()
            process.wait()
    return made


def _tcpdump(number: int) -> list[str]:
    """The router sees what it forwards twice: as it comes in, and as it goes out."""
    where = ["-i", "any", "-Q", "in"] if number == 0 else ["-i", "eth0"]
    return ["tcpdump", "-B", "65536", *where]


def _play(hosts: Hosts, cluster: SpreadCluster) -> None:
    bootstrap = cluster.bootstrap()
    create = ("create", {"topics": {"orders": 6}, "replicas": 3})
    _session(hosts, 4, "librdkafka", bootstrap, [create]).finish()
    playing = [_session(hosts, number, name, bootstrap, steps) for number, (name, steps) in CLIENTS.items()]
    for session in playing:
        session.finish()


def _session(
    hosts: Hosts, number: int, client: str, bootstrap: str, steps: list[tuple[str, dict[str, Any]]]
) -> Session:
    work = {"bootstrap": bootstrap, "properties": {}, "steps": steps}
    return Session(client, work, ("ip", "netns", "exec", hosts.name(number)))


def _texts(found: list[dict[str, Any]], until: str = "9") -> set[str]:
    """The rows that began before this time, without what depends on the place."""
    return {
        json.dumps({key: value for key, value in row.items() if key not in CHANGED.split()}, sort_keys=True)
        for row in found
        if row["time"] < until
    }


@pytest.mark.parametrize("count", COUNTS)
def test_rows_are_those_of_captures_on_the_spot(recorded: Recorded, count: int) -> None:
    found, said = recorded.found[count]
    expected = rows(kw("sniff", *(str(recorded.file(number)) for number in range(1, count + 1))).out)
    assert len(_texts(expected, recorded.until)) > 200 * min(count, NODES)
    assert _texts(found, recorded.until) <= _texts(expected), said
    assert _texts(expected, recorded.until) <= _texts(found), said


def test_rows_of_all_hosts_are_those_of_the_router(recorded: Recorded) -> None:
    """The router sees every packet once; the eight places see every packet at two of them."""
    found, said = recorded.found[8]
    expected = rows(kw("sniff", str(recorded.file(0))).out)
    assert _texts(found, recorded.until) <= _texts(expected), said
    assert _texts(expected, recorded.until) <= _texts(found), said


def test_each_row_of_two_hosts_has_a_latency_and_the_time_between_them(recorded: Recorded) -> None:
    found, said = recorded.found[8]
    complete = [row for row in found if row["status"] == "complete" and row["time"] < recorded.until]
    assert len(complete) > 600
    for row in complete:
        assert row["latency_ms"] >= row["network_ms"] >= 0, row
    assert {row["point"] for row in found} == {f"b{number}" for number in range(1, 9)}, said
    assert not re.search(r"ahead of|behind", said), said  # they share one clock
