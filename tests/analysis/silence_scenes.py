"""Scenes of brokers that answer nobody or are gone, and of requests that wait to the end: for test_doctor.py."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from decoders.protocol_facts.api_keys import FETCH, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, METADATA, PRODUCE
from tests.analysis.scenes import Scene

_OTHER: Final = "10.0.0.8:9092"
_NODES: Final = [{"node_id": 1, "host": "10.0.0.9", "port": 9092}, {"node_id": 2, "host": "10.0.0.8", "port": 9092}]
_BEAT: Final = {"group_id": "billing"}


def _listing(
    at: float, scene: Scene, *, lacks: bool = False, took: float = 0.001, isr: tuple[int, ...] = (1, 2)
) -> Scene:
    """A Metadata answer of node 1 with the two nodes, or without the second."""
    part = {"partition_index": 0, "leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": list(isr)}
    answer = {"brokers": _NODES[:1] if lacks else _NODES, "topics": [{"name": "orders", "partitions": [part]}]}
    return scene.ask(at, (METADATA, 9), {}, answer, client="monitor", took=took)


def waiting(
    *clients: str,
    took: float = 20,
    what: tuple[int, int] = (HEARTBEAT, 3),
    body: dict[str, Any] | None = None,
    others: tuple[float, ...] = (),
    end: float = 40,
) -> Scene:
    """Requests of clients that node 2 answers late (inf: never), and those of another client, at once."""
    scene = _listing(0, Scene())
    for at in (0.5, *others):
        scene.ask(at, (HEARTBEAT, 3), _BEAT, {}, client="other", host="10.0.0.3", broker=_OTHER)
    for number, client in enumerate(clients):
        asked = _BEAT if body is None else body
        scene.ask(2, what, asked, {}, client=client, host=f"10.0.0.{number + 4}", broker=_OTHER, took=took)
    return _listing(end, scene)


def refused(*times: float, answered: tuple[float, ...] = (0.5,), at_address: str = _OTHER) -> Scene:
    """Node 2 answers at some times, maybe at an address that is not advertised, and refuses connections at others."""
    scene = _listing(0, Scene())
    for at in answered:
        scene.ask(at, (HEARTBEAT, 3), _BEAT, {}, client="app", broker=at_address)
    for at in times:
        scene.knock(at, _OTHER)
    return _listing(30, scene)


def listener_gone(first: str, second: str, client: str) -> Scene:
    """A node refuses connections where it advertises, and answers at a listener that it does not advertise."""
    nodes = [{"node_id": 1, "host": first, "port": 9092}, {"node_id": 2, "host": second, "port": 9092}]
    one, two = (f"[{host}]" if ":" in host else host for host in (first, second))
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": []}, host=client, broker=f"{one}:9092")
    scene.ask(0.5, (HEARTBEAT, 3), _BEAT, {}, host=client, broker=f"{two}:9092")
    for at in (2, 6, 10, 14):
        scene.knock(at, f"{two}:9092", host=client)
    scene.ask(20, (HEARTBEAT, 3), _BEAT, {}, host=client, broker=f"{two}:9093")
    return scene.ask(30, (METADATA, 9), {}, {"brokers": nodes, "topics": []}, host=client, broker=f"{one}:9092")


def two_went_away() -> Scene:
    """Nodes 2 and 3 answer once, then refuse connections; node 1 answers to the end."""
    third = {"node_id": 3, "host": "10.0.0.7", "port": 9092}
    answer = {"brokers": [*_NODES, third], "topics": []}
    scene = Scene().ask(0, (METADATA, 9), {}, answer, client="monitor")
    for broker in (_OTHER, "10.0.0.7:9092"):
        scene.ask(0.5, (HEARTBEAT, 3), _BEAT, {}, client="app", broker=broker)
        for number in range(8):
            scene.knock(2 + 2 * number, broker)
    return scene.ask(40, (METADATA, 9), {}, answer, client="monitor")


def pending(what: tuple[int, int], body: dict[str, Any], waited: float) -> Scene:
    """A request that node 1 does not answer up to the end of the capture."""
    scene = _listing(0, Scene())
    scene.ask(40 - waited, what, body, {}, client="shop", host="10.0.0.4", took=inf)
    return _listing(40, scene)


def alone(*, refused: int = 0) -> Scene:
    """Node 2 goes away with the only replica of clicks-0; orders-0 has another one, and is written, or not."""
    scene = _listing(0, Scene())
    for at in (10, 20, 30):
        parts = [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": [1]}]
        lost = [{"partition_index": 0, "leader_id": -1, "replica_nodes": [2], "isr_nodes": []}]
        topics = [{"name": "orders", "partitions": parts}, {"name": "clicks", "error_code": 0, "partitions": lost}]
        scene.ask(at, (METADATA, 9), {}, {"brokers": _NODES[:1], "topics": topics}, client="monitor")
        answer = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "error_code": refused}]}]}
        scene.ask(at + 1, (PRODUCE, 9), _WRITE, answer, client="shop", host="10.0.0.4")
    return scene


_WRITE: Final = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": None}]}]}
_JOIN: Final = {"group_id": "billing", "member_id": "", "protocol_type": "consumer", "protocols": []}
_POLL: Final = {"max_wait_ms": 60_000, "topics": []}


def member_lost(*, leaves: bool = False, timeout: int = 45_000, again: str = "") -> Scene:
    """A member that is heard until 4 s, and a JoinGroup that waits from 6 s to 40 s, maybe its own (`again`)."""
    member = {"group_id": "billing", "member_id": "m-1"}
    joined = {"generation_id": 1, "member_id": "m-1", "leader": "m-1", "protocol_name": "range", "members": []}
    scene = _listing(0, Scene()).ask(
        1, (JOIN_GROUP, 5), {**_JOIN, "session_timeout_ms": timeout}, joined, client="shop"
    )
    scene.ask(4, (HEARTBEAT, 3), {**member, "generation_id": 1}, {}, client="shop")
    if leaves:
        scene.ask(5, (LEAVE_GROUP, 3), {"group_id": "billing", "members": [{"member_id": "m-1"}]}, {}, client="shop")
    scene.ask(6, (JOIN_GROUP, 5), {**_JOIN, "member_id": again}, {}, client="shop", line=1, took=inf)
    return _listing(40, scene)


SILENCE_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("broker-gone", alone(), "error"),
        "brokers no longer list it; the only replica of clicks-0, and one of orders-0 is there",
    ),
    ("partition-offline", alone(), "error", "clicks-0 without a leader: its only replica is on node 2"),
    ("under-replicated", alone(), "warning", "orders-0 under-replicated: node 2 is not in sync"),
    ("under-replicated", alone(refused=19), "warning", "orders-0 with too few replicas in sync: node 2 is not in sync"),
    (
        *("broker-silent", waiting("shop", "till"), "warning"),
        "node 2 (10.0.0.8:9092) answered nobody for more than 21s, while requests of 2 clients waited for it",
    ),
    (
        *("broker-silent", waiting("shop", "till", took=inf), "error"),
        "answered nobody for more than 39s, to the end of the capture, while requests of 2 clients waited for it",
    ),
    (
        *("broker-down", refused(1, 5, 9, 13), "error"),
        "node 2 (10.0.0.8:9092) went away: it refuses connections and answers nothing any more",
    ),
    (
        *("requests-pending", pending((PRODUCE, 9), _WRITE, 20), "warning"),
        "Produce of shop to orders still waits for 10.0.0.9:9092 at the end of the capture, after 20s",
    ),
    (
        *("requests-pending", member_lost(), "warning"),
        "at the end of the capture, after 34s; a member of shop was heard last at 14:13:24 UTC and did not leave",
    ),
    (
        *("requests-pending", pending((JOIN_GROUP, 5), _JOIN, 35), "warning"),
        "JoinGroup of shop in group billing still waits for 10.0.0.9:9092 at the end of the capture, after 35s",
    ),
]
_GONE: Final = ("broker-gone", "partition-offline", "under-replicated")
SILENCE_BESIDES: Final[dict[str, set[str]]] = {
    "broker-silent": {"requests-pending"},
    "broker-down": {"no-connection"},
    **{what: {*_GONE, "replicas-missing"} for what in _GONE},
}
SILENCE_NEAR: Final[list[tuple[str, Scene]]] = [
    ("broker-silent", waiting("shop")),  # its own network may be to blame
    ("broker-silent", waiting("shop", "till", took=8)),
    ("broker-silent", waiting()),  # idle
    ("broker-silent", waiting("shop", "till", what=(FETCH, 11), body=_POLL)),
    ("broker-silent", waiting("shop", "till", what=(JOIN_GROUP, 5), body=_JOIN)),
    ("broker-silent", waiting("shop", "till", others=(8, 15))),
    ("broker-silent", waiting("shop", "till", took=inf, end=8)),
    ("broker-silent", waiting("shop", "till", took=inf).knock(5, _OTHER)),  # it does not run
    ("broker-down", refused(1, 5, 9, 13, answered=(0.5, 20))),
    ("broker-down", refused(1, 5, 9, 13, answered=())),
    ("broker-down", refused(1, 2, 3)),
    ("broker-down", listener_gone("10.0.0.9", "10.0.0.8", "10.0.0.1")),
    ("broker-down", listener_gone("fd00::9", "fd00::8", "fd00::1")),
    ("broker-down", refused(1, 5, 9, 13, at_address="10.0.0.8:9093")),  # the advertised address is wrong
    ("requests-pending", pending((PRODUCE, 9), _WRITE, 5)),
    ("requests-pending", pending((JOIN_GROUP, 5), _JOIN, 12)),
    ("requests-pending", pending((FETCH, 11), _POLL, 35)),
]
# A list of brokers that was asked for at 10 s and came at 18 s.
LATE_LISTING: Final = _listing(
    30, _listing(10, _listing(0, Scene()), lacks=True, took=8, isr=(1,)), lacks=True, isr=(1,)
)
