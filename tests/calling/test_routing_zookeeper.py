"""On brokers with ZooKeeper only the active controller takes its requests: it is found, and found again."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kwcli.net.cluster_client import ClusterClient as Addressed
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.calling.nodes import Calls

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

CREATE_TOPICS = 19


@pytest.fixture(scope="module")
def calls() -> Iterator[Calls]:
    options = Options(version="3.9.1", mode="zookeeper", nodes=2, request_log=True, class_archive=True)
    with Cluster(options) as cluster:
        yield Calls(cluster)


def controller(calls: Calls) -> int:
    """The controller's id in Metadata, once there is one."""
    until = time.monotonic() + 20
    while True:
        records = calls("Metadata", "topics:=[]")
        number = records[0]["response"]["controller_id"] if records else -1
        if number >= 0 or time.monotonic() > until:
            return int(number)
        time.sleep(0.1)


def create(calls: Calls, name: str, *options: str) -> None:
    calls(
        "CreateTopics",
        f"topics[].name={name}",
        "topics[0].num_partitions=1",
        "topics[0].replication_factor=1",
        *options,
    )


def test_what_is_for_the_controller_goes_to_it(calls: Calls) -> None:
    expected = controller(calls)
    create(calls, "one")
    assert (calls.outcome.code, calls.outcome.err) == (0, "")
    assert calls.nodes(CREATE_TOPICS) == [expected]
    create(calls, "two", "-o", "text", "--only", "request")
    assert calls.outcome.out.startswith("→ CreateTopics 7 · ")
    assert f" · node {expected} 127.0.0.1:" in calls.outcome.out
    assert " · the active controller · connect " in calls.outcome.out


def test_a_node_that_is_no_longer_the_controller_says_so_and_the_right_one_gets_it(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look-up is made to give the other node, as Metadata of a broker with old knowledge would."""
    right = controller(calls)
    wrong = 3 - right
    look_up = Addressed._learn_nodes
    lies = iter([wrong])

    def old_news(self: Addressed, answer: dict[str, object]) -> None:
        look_up(self, {**answer, "controller_id": next(lies, answer["controller_id"])})

    monkeypatch.setattr(Addressed, "_learn_nodes", old_news)
    create(calls, "three")
    assert calls.outcome.code == 0
    assert f"is not the controller (NOT_CONTROLLER): sent once more, to node {right} " in calls.outcome.err
    assert sorted(calls.nodes(CREATE_TOPICS, count=2)) == [1, 2]
    assert [line.count('"NOT_CONTROLLER"') for line in calls.outcome.out.splitlines()] == [1, 0]


def test_after_the_controller_has_gone_the_next_one_gets_it(calls: Calls) -> None:
    before = controller(calls)
    calls.cluster.kill_node(before)
    try:
        until = time.monotonic() + 20
        while controller(calls) == before and time.monotonic() < until:
            time.sleep(0.1)
        create(calls, "four")
        assert calls.outcome.code == 0
        assert calls.nodes(CREATE_TOPICS) == [3 - before]
    finally:
        calls.cluster.start_node(before)
