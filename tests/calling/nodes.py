"""`kw call` run on a cluster under its own client id, and the nodes that got the request, by their request logs."""

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
_PASSING = {14, 15, 16, 78}  # errors of coordinators, and of a leader that does not know its high watermark yet


class Calls:
    """Calls on one cluster; all other methods are about the last call."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.outcome = Outcome(0, "", "")
        self.client_id = ""

    def __call__(self, *words: str, listener: str = "PLAINTEXT") -> list[Any]:
        """Run `kw call WORDS…`; the records printed, none if the output is not JSON."""
        self.client_id = f"kw-{next(_NUMBERS)}"
        controllers = [f"127.0.0.1:{node.ports['CONTROLLER']}" for node in self.cluster.nodes if node.controller]
        where = ["-b", self.cluster.bootstrap()]
        if listener == "CONTROLLER":
            where = ["--bootstrap-controller", ",".join(controllers)]
        self.outcome = kw("call", *words, *where, "--client-id", self.client_id)
        return [orjson.loads(line) for line in self.outcome.out.splitlines() if line.startswith("{")]

    def done(self, *words: str, listener: str = "PLAINTEXT") -> list[Any]:
        """Run a call that must succeed and write nothing on standard error; the records printed."""
        records = self(*words, listener=listener)
        assert (self.outcome.code, self.outcome.err) == (0, ""), self.outcome
        return records

    def settled(self, *words: str) -> None:
        """Run a call again until no answer says that a coordinator or leader is too new to answer."""
        until = time.monotonic() + 20
        while any(error["code"] in _PASSING for record in self(*words) for error in record["errors"]):
            assert time.monotonic() < until, self.outcome
            time.sleep(0.1)

    def while_sleeping(self, act: Callable[[], None], *words: str) -> list[Any]:
        """Run a call, with `act` in place of each sleep of it; the records printed."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kwcli.calling.run_call.CallRun.sleep", staticmethod(lambda _format_deadline: act()))
            return self(*words)

    def received(self, key: int, *, count: int = 1) -> list[tuple[int, Entry]]:
        """The requests of this API by node id, from the nodes' logs, without requests that a broker forwarded."""
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
        """The ids of the nodes that got requests of this API."""
        return [number for number, _ in self.received(key, count=count)]


def leaders(calls: Calls, topic: str) -> dict[int, int]:
    """The leaders of a topic's partitions, from Metadata."""
    (record,) = calls.done("Metadata", f"topics[].name={topic}")
    (found,) = record["response"]["topics"]
    return {row["partition_index"]: row["leader_id"] for row in sorted(found["partitions"], key=_number)}


def coordinator(calls: Calls, key: str, kind: int) -> int:
    """The node id in the answer of FindCoordinator, once it has one."""
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
