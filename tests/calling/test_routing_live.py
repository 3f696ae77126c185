"""Every routing rule on three nodes reaches the node that the brokers' request logs name, also after things moved.

Each test first asks the cluster for the state that it expects, so that tests may run in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.calling.nodes import Calls, coordinator, leaders
from tests.cli.worlds import kw

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

PRODUCE, FETCH, LIST_OFFSETS, METADATA, DESCRIBE_GROUPS, LIST_GROUPS, CREATE_TOPICS, INIT_PRODUCER_ID = (
    0,
    1,
    2,
    3,
    15,
    16,
    19,
    22,
)
DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS, DESCRIBE_QUORUM, DESCRIBE_CLUSTER, READ_SHARE_SUMMARY = 32, 44, 55, 60, 87
LEDGER = ["transactional_id=ledger", "transaction_timeout_ms=60000"]


@pytest.fixture(scope="module")
def calls() -> Iterator[Calls]:
    with Cluster(Options(nodes=3, request_log=True, class_archive=True)) as cluster:
        calls = Calls(cluster)
        words = ["topics[].name=orders"]
        for partition, replicas in enumerate(("[1,2]", "[2,3]", "[3,1]")):
            at = f"topics[0].assignments[{partition}]"
            words += [f"{at}.partition_index={partition}", f"{at}.broker_ids:={replicas}"]
        calls.done("CreateTopics", *words)
        for words in (["DescribeGroups", "groups[]=billing"], ["InitProducerId", *LEDGER]):
            calls.settled(*words)  # coordinators take a moment to start
        yield calls


def offsets(*partitions: int) -> list[str]:
    """The words of a ListOffsets request."""
    words = ["topics[].name=orders"]
    return words + [f"topics[0].partitions[{at}].partition_index={one}" for at, one in enumerate(partitions)]


@pytest.mark.parametrize("partition", [0, 1, 2])
def test_a_request_about_a_partition_goes_to_its_leader(calls: Calls, partition: int) -> None:
    leader = leaders(calls, "orders")[partition]
    calls.done("ListOffsets", *offsets(partition))
    assert calls.nodes(LIST_OFFSETS) == [leader]


def test_a_topic_that_goes_by_its_id_is_looked_up(calls: Calls) -> None:
    (record,) = calls.done("Metadata", "topics[].name=orders")
    found = record["response"]["topics"][0]
    led = {row["partition_index"]: row["leader_id"] for row in found["partitions"]}
    part = "topics[0].partitions[0]"
    words = [f"topics[].topic_id={found['topic_id']}", f"{part}.partition=2", f"{part}.fetch_offset=0"]
    (record,) = calls.done("Fetch", *words, f"{part}.partition_max_bytes=1000")
    assert record["api_version"] >= 13
    assert record["topic_names"] == {found["topic_id"]: "orders"}  # learnt by the look-up
    assert calls.nodes(FETCH) == [led[2]]


def test_a_request_that_spans_leaders_is_refused_before_anything_is_sent(calls: Calls) -> None:
    assert calls("ListOffsets", *offsets(0, 1, 2)) == []
    assert calls.outcome.code == 2
    assert "the request spans " in calls.outcome.err
    assert "orders[1]" in calls.outcome.err
    assert calls.nodes(LIST_OFFSETS, count=0) == []


def test_split_sends_each_leader_its_share(calls: Calls) -> None:
    led = leaders(calls, "orders")
    records = calls.done("ListOffsets", *offsets(2, 0, 1), "--split")
    assert len(records) == len(set(led.values()))
    shares = {
        node: sorted(part["partitionIndex"] for topic in entry.request["topics"] for part in topic["partitions"])
        for node, entry in calls.received(LIST_OFFSETS, count=len(records))
    }
    assert shares == {node: [part for part in led if led[part] == node] for node in set(led.values())}


def test_records_by_hand_go_to_the_leaders_of_their_partitions(calls: Calls) -> None:
    words = ["topic=orders", *(word for part in range(3) for word in (f"partition={part}", f"value=of {part}"))]
    led = leaders(calls, "orders")
    records = calls.done("produce", *words)
    shares = {
        node: sorted(part["index"] for topic in entry.request["topicData"] for part in topic["partitionData"])
        for node, entry in calls.received(PRODUCE, count=len(records))
    }
    assert shares == {node: [part for part in led if led[part] == node] for node in set(led.values())}
    records = calls.done("fetch", "topic=orders", "partition=all", "offset=latest-1", "--records", "--split")
    found = [part for record in records for part in record["response"]["responses"][0]["partitions"]]
    assert {part["partition_index"]: part["records"][-1]["records"][-1]["value"] for part in found} == {
        part: f"of {part}" for part in range(3)
    }


def test_a_request_about_a_group_goes_to_its_coordinator(calls: Calls) -> None:
    calls.settled("DescribeGroups", "groups[]=billing")
    expected = coordinator(calls, "billing", 0)
    calls("DescribeGroups", "groups[]=billing")
    assert calls.nodes(DESCRIBE_GROUPS) == [expected]


def test_a_request_about_a_transaction_goes_to_its_coordinator(calls: Calls) -> None:
    calls.settled("InitProducerId", *LEDGER)
    expected = coordinator(calls, "ledger", 1)
    calls.done("InitProducerId", *LEDGER)
    assert calls.nodes(INIT_PRODUCER_ID) == [expected]


def test_a_request_about_a_share_goes_to_its_coordinator(calls: Calls) -> None:
    (record,) = calls.done("Metadata", "topics[].name=orders")
    topic = record["response"]["topics"][0]["topic_id"]
    part = "topics[].partitions[]"
    words = ["ReadShareGroupStateSummary", "group_id=carts", f"topics[].topic_id={topic}"]
    words += [f"{part}.partition=0", f"{part}.leader_epoch=0"]
    calls.settled(*words)
    expected = coordinator(calls, f"carts:{topic}:0", 2)
    calls(*words)
    assert calls.nodes(READ_SHARE_SUMMARY) == [expected]


@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_brokers_configuration_is_asked_of_that_broker(calls: Calls, node: int) -> None:
    calls.done("DescribeConfigs", "resources[].resource_type=4", f"resources[].resource_name={node}")
    assert calls.nodes(DESCRIBE_CONFIGS) == [node]


def test_what_each_broker_knows_only_of_itself_is_asked_of_all(calls: Calls) -> None:
    calls.done("ListGroups")
    assert calls.nodes(LIST_GROUPS, count=3) == [1, 2, 3]


@pytest.mark.parametrize("api", ["CreateTopics", "DescribeQuorum"])
def test_what_is_for_the_controller_any_kraft_broker_forwards_and_that_is_said(calls: Calls, api: str) -> None:
    key = {"CreateTopics": CREATE_TOPICS, "DescribeQuorum": DESCRIBE_QUORUM}[api]
    calls.done(api, "--example", "-o", "text", "--only", "request")
    assert "forwards to the active controller (KRaft)" in calls.outcome.out
    assert calls.nodes(key) == [1]  # the first server in -b


@pytest.mark.parametrize(
    ("named", "reached"),
    [
        ("2", lambda _: [2]),
        ("any", lambda _: [1]),
        ("controller", lambda _: [1]),
        ("all", lambda _: [1, 2, 3]),
        ("coordinator:billing", lambda calls: [coordinator(calls, "billing", 0)]),
        ("txn:ledger", lambda calls: [coordinator(calls, "ledger", 1)]),
        ("leader:orders-1", lambda calls: [leaders(calls, "orders")[1]]),
    ],
)
def test_a_node_may_be_named(calls: Calls, named: str, reached: Callable[[Calls], list[int]]) -> None:
    expected = reached(calls)
    calls.done("DescribeCluster", "--node", named)
    assert calls.nodes(DESCRIBE_CLUSTER, count=len(expected)) == expected


def test_a_node_that_there_is_not_is_said_with_those_there_are(calls: Calls) -> None:
    assert calls("DescribeCluster", "--node", "9") == []
    assert (calls.outcome.code, calls.outcome.err) == (1, "kw: the cluster has no node 9 (it has 1, 2, 3)\n")


def test_a_leader_that_moved_is_found(calls: Calls) -> None:
    before = leaders(calls, "orders")[1]
    other = {2: 3, 3: 2}[before]
    move(calls, 1, [other, before])
    calls("ListOffsets", *offsets(1))
    assert calls.outcome.code == 0
    assert set(calls.nodes(LIST_OFFSETS)) == {other}


def test_a_leader_that_moves_meanwhile_is_looked_up_again_and_the_request_sent_once_more(calls: Calls) -> None:
    """The second round of a ping goes to the node that was the leader in the first one."""
    before = leaders(calls, "orders")[0]
    other = {1: 2, 2: 1}[before]
    records = calls.while_sleeping(
        lambda: move(calls, 0, [other, before]), "ListOffsets", *offsets(0), "--repeat", "2", "--interval", "1ms"
    )
    errors = [[error["name"] for error in record["errors"]] for record in records]
    assert errors == [[], ["NOT_LEADER_OR_FOLLOWER"], []]
    assert f"is not the leader (NOT_LEADER_OR_FOLLOWER): sent once more, to node {other} " in calls.outcome.err
    assert calls.outcome.code == 0
    assert sorted(calls.nodes(LIST_OFFSETS, count=3)) == sorted([before, before, other])


def test_the_active_controller_is_found_on_controller_listeners_and_after_it_has_gone(calls: Calls) -> None:
    before = active_controller(calls)
    calls.done("DescribeQuorum", listener="CONTROLLER")
    assert calls.nodes(DESCRIBE_QUORUM) == [before]
    words = ["resources[].resource_type=4", "resources[].resource_name=1", "validate_only:=true"]
    calls.done("IncrementalAlterConfigs", *words, listener="CONTROLLER")
    assert calls.nodes(INCREMENTAL_ALTER_CONFIGS) == [before]
    calls.done("DescribeCluster", "endpoint_type=2", "--node", "2", listener="CONTROLLER")
    assert calls.nodes(DESCRIBE_CLUSTER, count=2) == [1, 2]  # the first node was asked for the list of nodes
    calls.cluster.stop_node(before)
    try:
        deadline = time.monotonic() + 30
        while not calls("DescribeQuorum", listener="CONTROLLER") or calls.outcome.code:
            assert time.monotonic() < deadline, calls.outcome
        assert calls.nodes(DESCRIBE_QUORUM)[-1] != before
        led = leaders(calls, "orders")
        assert before not in led.values()
        calls.settled("ListOffsets", *offsets(1))
        assert calls.outcome.code == 0
        assert set(calls.nodes(LIST_OFFSETS)) == {led[1]}
    finally:
        calls.cluster.start_node(before)


def test_a_coordinator_that_moved_is_found(calls: Calls) -> None:
    before = coordinator(calls, "billing", 0)
    calls.cluster.stop_node(before)
    try:
        calls.settled("DescribeGroups", "groups[]=billing")
        after = coordinator(calls, "billing", 0)
        calls("DescribeGroups", "groups[]=billing")
        assert calls.nodes(DESCRIBE_GROUPS) == [after]
        assert after != before
        calls.settled("InitProducerId", *LEDGER)
        expected = coordinator(calls, "ledger", 1)
        calls.done("InitProducerId", *LEDGER)
        assert calls.nodes(INIT_PRODUCER_ID) == [expected]
    finally:
        calls.cluster.start_node(before)


def test_a_controllers_address_for_a_brokers_is_explained(calls: Calls) -> None:
    port = calls.cluster.nodes[0].ports["CONTROLLER"]
    outcome = kw("call", "DescribeCluster", "--node", "2", "-b", f"127.0.0.1:{port}")
    assert outcome.code == 1
    assert "does not offer Metadata, which kw needs; is it a controller? --bootstrap-controller" in outcome.err


def active_controller(calls: Calls) -> int:
    """The active controller's id, once every running controller names the same one."""
    until = time.monotonic() + 20
    while True:
        records = calls("DescribeCluster", "endpoint_type=2", "--node", "all", listener="CONTROLLER")
        said = {record["response"]["controller_id"] for record in records}
        if (len(said) == 1 and min(said) > 0) or time.monotonic() > until:
            (found,) = said
            return int(found)
        time.sleep(0.1)


def move(calls: Calls, partition: int, replicas: list[int]) -> None:
    """Give a partition another order of replicas and elect the first of them."""
    mine = Calls(calls.cluster)
    words = ["topics[].name=orders", f"topics[].partitions[].partition_index={partition}"]
    mine.done("AlterPartitionReassignments", *words, f"topics[0].partitions[0].replicas:={replicas}")
    deadline = time.monotonic() + 30
    while not agreed(mine, partition, replicas[0]):
        assert time.monotonic() < deadline
        mine("ElectLeaders", "topic_partitions[].topic=orders", f"topic_partitions[].partitions[]={partition}")
        time.sleep(0.1)
    mine.settled("ListOffsets", *offsets(partition))


def agreed(calls: Calls, partition: int, leader: int) -> bool:
    """Whether this node is the leader in every node's Metadata."""
    records = calls("Metadata", "topics[].name=orders", "--node", "all")
    rows = [row for record in records for topic in record["response"]["topics"] for row in topic["partitions"]]
    return {row["leader_id"] for row in rows if row["partition_index"] == partition} == {leader}
