"""`kw call` run on a cluster with a client id of its own, and the brokers' request logs asked who got the request."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.broker.cluster import Cluster
from tests.broker.requestlog import Entry, read_log
from tests.cli.worlds import Outcome, kw

_NUMBERS = itertools.count(1)
_SETTLE_S = 30.0
_PASSING = {14, 15, 16, 78}  # of coordinators; of a leader that does not know yet how far the others are


class Calls:
    """Calls on one cluster; the other methods are about the last one."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.outcome = Outcome(0, "", "")
        self.client_id = ""

    def __call__(self, *words: str, listener: str = "PLAINTEXT") -> list[Any]:
        """Run `kw call WORDS…`; the records printed, none where the output is no JSON."""
        self.client_id = f"kw-{next(_NUMBERS)}"
        controllers = [f"127.0.0.1:{node.ports['CONTROLLER']}" for node in self.cluster.nodes if node.controller]
        where = ["-b", self.cluster.bootstrap()]
        if listener == "CONTROLLER":
            where = ["--bootstrap-controller", ",".join(controllers)]
        self.outcome = kw("call", *words, *where, "--client-id", self.client_id)
        return [orjson.loads(line) for line in self.outcome.out.splitlines() if line.startswith("{")]

    def done(self, *words: str, listener: str = "PLAINTEXT") -> list[Any]:
        """The same for a call that has to succeed without a word."""
        records = self(*words, listener=listener)
        assert (self.outcome.code, self.outcome.err) == (0, ""), self.outcome
        return records

    def settled(self, *words: str) -> None:
        """The same until the answer is none of a coordinator, or a leader, that has just become one."""
        until = time.monotonic() + 20
        while any(error["code"] in _PASSING for record in self(*words) for error in record["errors"]):
            assert time.monotonic() < until, self.outcome
            time.sleep(0.1)

    def while_sleeping(self, act: Callable[[], None], *words: str) -> list[Any]:
        """The same, and whenever the call sleeps `act` is done."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kwcli.calling.run.CallRun.sleep", staticmethod(lambda _seconds: act()))
            return self(*words)

    def received(self, key: int, *, count: int = 1) -> list[tuple[int, Entry]]:
        """Who got requests of this API, by the nodes' logs; those that a broker forwarded are not among them."""
        until = time.monotonic() + _SETTLE_S
        while True:
            found = [
                (node.id, entry)
                for node in self.cluster.nodes
                for entry in read_log(node.folder / "requests.log")
                if (entry.client_id, entry.api_key, entry.forwarded) == (self.client_id, key, False)
            ]
            if len(found) >= count or time.monotonic() > until:
                return found
            time.sleep(0.02)

    def nodes(self, key: int, *, count: int = 1) -> list[int]:
        """Their ids."""
        return [number for number, _ in self.received(key, count=count)]


def leaders(calls: Calls, topic: str) -> dict[int, int]:
    """Partition → leader, as Metadata says."""
    (record,) = calls.done("Metadata", f"topics[].name={topic}")
    (found,) = record["response"]["topics"]
    return {row["partition_index"]: row["leader_id"] for row in sorted(found["partitions"], key=_number)}


def coordinator(calls: Calls, key: str, kind: int) -> int:
    """The node id that FindCoordinator says, when it knows."""
    until = time.monotonic() + 20
    while True:
        (record,) = calls("FindCoordinator", f"coordinator_keys[]={key}", f"key_type={kind}")
        (found,) = record["response"]["coordinators"]
        if not found["error_code"] or time.monotonic() > until:
            assert found["error_code"] == 0
            return int(found["node_id"])
        time.sleep(0.1)


def _number(row: Any) -> int:
    return int(row["partition_index"])
