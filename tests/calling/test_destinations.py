"""Which nodes a request goes to, and in which words that is said: each way to find them, without a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

import pytest

from decoders.apis import api
from decoders.schema.api_declaration import Versions
from kwcli.calling.request_destinations import NodeTarget, RequestRouter
from kwcli.net.cluster_client import ClusterClient
from kwcli.run_environment import Exit, Failure

QUORUM: Final = {55: Versions(0, 1)}
TOPIC: Final = "AAAAAAAAAAAAAAAAAAAAAQ"


class Cluster:
    """A cluster of nodes 1 to 3; node 1 is the controller, and serves what has no other node."""

    def __init__(self, *, controllers: bool = False, kraft: bool = True, seconds: float = 8.0) -> None:
        self.config = SimpleNamespace(controllers=controllers)
        self.left_s = seconds
        self.deadline = SimpleNamespace(seconds=seconds, left=lambda: self.left_s)
        self.dead: frozenset[int] = frozenset()
        self.spare: list[float] = []
        self.nodes: tuple[int, ...] = (3, 1, 2)
        versions = QUORUM if kraft else {}
        self._links = {
            number: SimpleNamespace(node_id=number, address=(f"k{number}", 9092), versions=versions)
            for number in range(1, 8)
        }
        self._any = SimpleNamespace(node_id=None, address=("::1", 9092), versions=versions)

    def connect_to_any(self) -> Any:
        return self._any

    def connect_to_node(self, number: int, *, spare_s: float = 0.0) -> Any:
        self.spare.append(spare_s)
        if number in self.dead:
            raise Failure(f"node {number} is dead")
        return self._links[number]

    def connect_to_controller(self) -> tuple[Any, str]:
        return self._links[1], "the active controller"

    def connect_to_coordinator(self, _kind: str, key: str) -> Any:
        return self._links[{"g": 2, "h": 3}.get(key, 1)]

    def connect_to_leader(self, _topic: str, partition: int) -> Any:
        return self._links.get(partition)

    def find_leaders(self, partitions: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return {(topic, number): number for topic, number in partitions if number in self._links}

    def find_topic_name(self, identity: UUID) -> str | None:
        return "orders" if identity.int == 1 else None

    def list_nodes(self, *, fresh: bool) -> Iterable[int]:
        assert fresh
        return self.nodes


def find(
    name: str,
    body: Mapping[str, Any],
    *,
    node: str | None = None,
    split: bool = False,
    version: int | None = None,
    cluster: Cluster | None = None,
) -> list[tuple[int | None, Mapping[str, Any], str, bool]]:
    """(node id, body, why, whether it was looked up) of each destination."""
    its = api(name)
    target = None if node is None else NodeTarget.parse(node)
    router = RequestRouter(cast(ClusterClient, cluster or Cluster()), its, target, split=split)
    found = router.find_destinations(its.versions.high if version is None else version, body)
    return [(each.connection.node_id, each.body, each.why, each.looked_up) for each in found]


def fetch(*partitions: int) -> dict[str, Any]:
    return {"topics": [{"topic": "orders", "partitions": [{"partition": number} for number in partitions]}]}


BROKER: Final = {"resources": [{"resource_type": 4, "resource_name": "2", "configs": []}]}
ALL: Final = {"resources": [{"resource_type": 2, "resource_name": "orders", "configs": []}]}


@pytest.mark.parametrize(
    ("name", "body", "node", "found"),
    [
        ("Metadata", {}, None, [(None, "", False)]),
        ("ListGroups", {}, None, [(1, "", False), (2, "", False), (3, "", False)]),
        ("CreateTopics", {}, None, [(1, "the active controller", False)]),
        ("DescribeConfigs", BROKER, None, [(2, "broker 2", True)]),
        ("DescribeConfigs", ALL, None, [(None, "", True)]),
        ("IncrementalAlterConfigs", ALL, None, [(1, "the active controller", True)]),
        ("Heartbeat", {"group_id": "g"}, None, [(2, "coordinator of group g", True)]),
        ("Heartbeat", {"group_id": ""}, None, [(None, "", False)]),
        ("Metadata", {}, "any", [(None, "", False)]),
        ("Metadata", {}, "2", [(2, "", False)]),
        ("Metadata", {}, "3,2", [(3, "", False), (2, "", False)]),
        ("Metadata", {}, "all", [(1, "", False), (2, "", False), (3, "", False)]),
        (
            "Metadata",
            {},
            "controller",
            [(1, "any broker (the controller itself: --bootstrap-controller)", False)],
        ),
        ("CreateTopics", {}, "controller", [(1, "the active controller", False)]),
        ("Metadata", {}, "coordinator:h", [(3, "coordinator of group h", True)]),
        ("Metadata", {}, "txn:x", [(1, "coordinator of transaction x", True)]),
        ("Metadata", {}, "leader:orders-3", [(3, "leader of orders[3]", True)]),
    ],
)
def test_a_request_goes_to_the_node_that_serves_it(
    name: str, body: Mapping[str, Any], node: str | None, found: list[tuple[int | None, str, bool]]
) -> None:
    assert find(name, body, node=node) == [(number, body, why, looked_up) for number, why, looked_up in found]


@pytest.mark.parametrize(
    ("name", "body", "number"),
    [("CreateTopics", {}, 1), ("IncrementalAlterConfigs", ALL, 1), ("DescribeConfigs", BROKER, None)],
)
def test_of_controllers_the_active_one_changes_what_is_to_be_changed(
    name: str, body: Mapping[str, Any], number: int | None
) -> None:
    assert [each[0] for each in find(name, body, cluster=Cluster(controllers=True))] == [number]


@pytest.mark.parametrize(("controllers", "kraft"), [(True, True), (False, False), (True, False)])
def test_the_controller_itself_is_looked_up(controllers: bool, kraft: bool) -> None:
    cluster = Cluster(controllers=controllers, kraft=kraft)
    assert find("CreateTopics", {}, cluster=cluster) == [(1, {}, "the active controller", True)]


def test_each_leader_gets_its_partitions_if_the_request_may_be_split() -> None:
    body = {"topics": [{"topic": "orders", "partitions": [{"partition": number} for number in (1, 2, 1, 99)]}]}
    assert find("Fetch", body, split=True, version=12) == [
        (1, fetch(1, 1), "leader of orders[1]", True),
        (2, fetch(2), "leader of orders[2]", True),
        (None, fetch(99), "nobody leads orders[99]", True),
    ]
    assert find("Fetch", fetch(2), version=12) == [(2, fetch(2), "leader of orders[2]", True)]


def test_topic_ids_are_turned_into_names() -> None:
    other = "AAAAAAAAAAAAAAAAAAAAAg"
    body = {
        "topics": [
            {"topic_id": TOPIC, "partitions": [{"partition": 1}]},
            {"topic_id": other, "partitions": [{"partition": 1}]},
            {"topic_id": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": [{"partition": 2}]},
        ]
    }
    assert [(each[0], each[2]) for each in find("Fetch", body, split=True)] == [
        (1, "leader of orders[1]"),
        (None, f"nobody leads {other}[1]"),
    ]


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        (
            "Fetch",
            fetch(1, 2, 2),
            "the request spans 2 leaders: node 1 k1:9092 (orders[1]), "
            "node 2 k2:9092 (orders[2]); --split sends each its share",
        ),
        (
            "Fetch",
            fetch(1, 99),
            "the request spans 2 leaders: node 1 k1:9092 (orders[1]), "
            "[::1]:9092 (orders[99]); --split sends each its share",
        ),
        (
            "DescribeGroups",
            {"groups": ["g", "a", "b", "c", "d"]},
            "the request spans 2 coordinators: node 2 k2:9092 (g), node 1 k1:9092 (a, b, c and 1 more); "
            "--split sends each its share",
        ),
        (
            "DescribeConfigs",
            {"resources": [BROKER["resources"][0], {"resource_type": 4, "resource_name": "x"}]},
            "'x' is no broker id: configurations of brokers are named by broker id",
        ),
    ],
)
def test_a_request_that_no_single_node_serves_is_an_error(name: str, body: Mapping[str, Any], error: str) -> None:
    with pytest.raises(Failure) as failure:
        find(name, body, version=12 if name == "Fetch" else None)
    assert (failure.value.text, failure.value.code) == (error, Exit.USAGE)


def test_an_unknown_partition_has_no_leader() -> None:
    with pytest.raises(Failure) as failure:
        find("Metadata", {}, node="leader:orders-99")
    assert failure.value.text == "the cluster has no partition orders[99]"


def test_dead_nodes_are_problems_while_others_answer() -> None:
    cluster = Cluster()
    cluster.dead = frozenset({1, 3})
    router = RequestRouter(cast(ClusterClient, cluster), api("ListGroups"), None, split=False)
    assert [each.connection.node_id for each in router.find_destinations(0, {})] == [2]
    assert [problem.text for problem in router.problems] == ["node 1 is dead", "node 3 is dead"]
    # A quarter of the time is for answers; a node that is not the last leaves half of the rest.
    assert cluster.spare == [5.0, 5.0, 2.0]
    cluster.dead = frozenset({1, 2, 3})
    with pytest.raises(Failure, match="node 1 is dead"):
        router.find_destinations(0, {})
    cluster.nodes = ()
    with pytest.raises(Failure, match="the cluster names no node"):
        router.find_destinations(0, {})
    assert router.problems == []


@pytest.mark.parametrize(("left_s", "is_late"), [(2.0, True), (2.1, False)])
def test_nodes_are_left_out_where_no_time_is_left(left_s: float, is_late: bool) -> None:
    cluster = Cluster()
    cluster.left_s = left_s
    router = RequestRouter(cast(ClusterClient, cluster), api("ListGroups"), None, split=False)
    if not is_late:
        assert len(router.find_destinations(0, {})) == 3
        return
    with pytest.raises(Failure) as failure:
        router.find_destinations(0, {})
    assert failure.value.text == "no time is left to connect to 3 nodes of 3; give a longer --timeout"
    assert failure.value.code == Exit.TIMEOUT
