"""Real clients of all families under every fault keep their promises, as the topics show afterwards.

The rows are in `client_rows`. One broker serves all families.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count as numbers
from pathlib import Path
from typing import Any, Final

import pytest

from tests.broker.clients.sasl import sasl
from tests.broker.clients.session import LongSession, Step
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.proxy.faults import judged
from tests.proxy.faults.client_rows import DIFFERENCES, FAMILIES, FAULTS, LATE, PROMISES, Fault, Play, promise

pytestmark = [
    *(pytest.mark.broker, needs_brokers, pytest.mark.full),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # a client's own warnings
]

COUNT: Final = 40
# Records of each transaction.
PART: Final = 5
ENDS: Final = ["commit", "abort", "commit", "commit"]
IDEMPOTENT: Final = {"enable.idempotence": "true", "acks": "all"}
# For kafkajs, which sends heartbeats only between fetches.
FETCHES: Final = {"fetch.max.wait.ms": "200"}
MEMBER: Final = {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
FILLED: Final = "filled"
# The listeners without and with a login.
LISTENERS: Final = ("PLAINTEXT", "SASL_PLAINTEXT")
_NUMBERS: Final = numbers(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    with Cluster(Options(nodes=1, listeners=LISTENERS, class_archive=True)) as started:
        judged.make_topics(started, [FILLED])
        judged.fill(started, FILLED, COUNT)
        yield started


def properties(family: str, fault: Fault) -> dict[str, str]:
    """The client's properties for a fault."""
    made = sasl(family, "PLAIN", "admin") if fault.secured else {}
    if family == "go":  # after an error it waits five seconds before it asks for the leader again
        made["retry.backoff.ms"] = "100"
    if fault.quick:
        made["socket.timeout.ms" if family == "librdkafka" else "request.timeout.ms"] = "3000"
    return made


def step(play: Play, topic: str, family: str, fault: Fault) -> Step:
    """The step that a client plays."""
    if play == "produce":
        return play, {"topic": topic, "count": COUNT, "batches": 10, "config": IDEMPOTENT}
    if play == "transact":
        return play, {"topic": topic, "id": topic, "count": PART, "ends": ENDS, "tell": True}
    work: dict[str, Any] = {"topics": [FILLED], "group": topic, "count": COUNT, "config": MEMBER}
    if family == "node":
        work["config"] = MEMBER | FETCHES
    return play, {**work, "count": COUNT + 1, "polls": 12} if fault.stays else work


def problem(cluster: Cluster, topic: str, row: Any, result: Any, failure: str) -> str:
    """The promise that was not kept; "" if all were."""
    if failure and (not row.says or not re.search(row.says, failure)):
        return failure[-800:]
    if not failure and row.promise == "gives up":
        return f"did not say {row.says!r}: {result}"
    promised = PROMISES[row.play] if row.promise == "may give up" and not failure else row.promise
    if row.play == "consume":
        found, there = judged.orders_of(result or []), set(range(COUNT))
        kept = {"reads nothing": not found, "may read less": found <= there}.get(row.promise, found == there)
        return "" if failure or kept else f"read only {sorted(found)}"
    written = judged.read(cluster, topic)
    if row.play == "transact":
        outcomes = result or []
        if promised == "all end as asked" and outcomes != ENDS and row.promise != "may give up":
            return f"the transactions ended otherwise: {outcomes}"
        return judged.whole(written, outcomes, ENDS, PART)
    if promised == "exactly once":
        return "" if (result, written) == (COUNT, list(range(COUNT))) else f"{result} acknowledged, {written} written"
    if promised == "at least once":
        return "" if set(written) == set(range(COUNT)) else f"{result} acknowledged, {written} written"
    return "" if len(set(written)) == len(written) else f"twice: {written}"


class World:
    """A family at work: a proxy in front of each listener, and a client that goes from fault to fault."""

    def __init__(self, cluster: Cluster, family: str, folder: Path) -> None:
        self.cluster = cluster
        self.family = family
        self.client = LongSession(family)
        self.outputs = {name: folder / f"{name}.ndjson" for name in LISTENERS}
        self.proxies = {name: judged.FaultyProxy(cluster.bootstrap(name), self.outputs[name]) for name in LISTENERS}


@pytest.fixture(scope="module", params=FAMILIES)
def world(
    cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Each family in turn; at the end, the log and the last lines must have all the hits."""
    made = World(cluster, request.param, tmp_path_factory.mktemp(request.param))
    with ExitStack() as stack:
        for proxy in made.proxies.values():
            stack.enter_context(proxy)
        stack.callback(made.client.end)
        yield made
    for name, proxy in made.proxies.items():
        assert (proxy.code, "defect" in proxy.said) == (0, False), proxy.said
        assert judged.hits_by_rows(made.outputs[name]) == judged.hits_by_lines(proxy.said), proxy.said


@pytest.mark.parametrize("fault", FAULTS)
def test_clients_do_what_they_promise(world: World, fault: str) -> None:
    its = FAULTS[fault]
    number = next(_NUMBERS)
    topics = {play: f"{play}-{number}" for play in its.plays}
    judged.make_topics(world.cluster, [topics[play] for play in its.plays if play != "consume"])
    proxy = world.proxies[LISTENERS[its.secured]]
    steps = [step(play, topic, world.family, its) for play, topic in topics.items()]
    proxy.begin(its.rules)
    # The wait for a client that may wait forever is short.
    late = any(LATE in promise(fault, world.family, play).says for play in topics)
    told = judged.play(world.client, proxy.bootstrap, steps, properties(world.family, its), 30 if late else 75)
    hits = proxy.end()
    wrong = []
    for (play, topic), (result, failure) in zip(topics.items(), told, strict=True):
        found = problem(world.cluster, topic, promise(fault, world.family, play), result, failure)
        if found:
            wrong.append(f"{play}: {found}")
    assert not wrong, "\n".join([*wrong, str(hits)])
    assert (any if its.preset else all)(hits.values()), hits


def test_every_difference_is_of_a_row() -> None:
    """Every difference belongs to a fault, a play and a family, and has a reason."""
    for row in DIFFERENCES:
        assert row.play in FAULTS[row.fault].plays
        assert any(family.startswith(row.family) for family in FAMILIES)
        assert row.why
        assert (row.promise in ("gives up", "may give up")) == bool(row.says)
