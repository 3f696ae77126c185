"""Scenes of errors of single codes, of consequences and of clusters, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import METADATA, OFFSET_COMMIT
from tests.analysis.scenes import Scene

CONSUMER_GROUP_HEARTBEAT: Final = 68
METADATA_TOO_LARGE, LISTENER_NOT_FOUND, UNRELEASED_INSTANCE = 12, 72, 111


def held_instance(times: int, *, holder_until: float = 0, hosts: tuple[str, str] = ("10.0.0.1", "10.0.0.2")) -> Scene:
    """A static member that is refused from 20 s on; `holder_until`: another one with its id is heard up to then."""
    scene = Scene()

    def beat(at: float, member: str, host: str, code: int = 0, epoch: int = 1) -> None:
        asked = {"group_id": "billing", "member_id": member, "member_epoch": 0 if code else 1, "instance_id": "desk-1"}
        scene.ask(
            at,
            (CONSUMER_GROUP_HEARTBEAT, 1),
            asked,
            {"error_code": code, "member_id": member, "member_epoch": 0 if code else epoch},
            client=f"desk-{member}",
            host=host,
        )

    second = 0.0
    while second < holder_until:
        beat(second, "a", hosts[0])
        second += 3
    for number in range(times):
        beat(20 + 2 * number, "b", hosts[1], UNRELEASED_INSTANCE)
    return scene


def large_notes(times: int, size: int = 5000) -> Scene:
    """Commits whose metadata are longer than the broker takes."""
    scene = Scene()
    for number in range(times):
        part = {
            "partition_index": 0,
            "committed_offset": number,
            "committed_metadata": "\udcff" * (size // 2) + "x" * (size - size // 2),
        }
        asked = {"group_id": "billing", "member_id": "m", "generation_id_or_member_epoch": 1}
        asked["topics"] = [{"name": "orders", "partitions": [part]}]
        done = {
            "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": METADATA_TOO_LARGE}]}]
        }
        scene.ask(number, (OFFSET_COMMIT, 7), asked, done)
    return scene


def listeners(times: int, code: int = LISTENER_NOT_FOUND) -> Scene:
    """Metadata of a partition whose only replica is on a node that has no listener of this name."""
    part: dict[str, Any] = {"error_code": code, "partition_index": 0, "leader_id": -1 if code else 3}
    part |= {"replica_nodes": [3], "isr_nodes": [3]}
    answer = {
        "brokers": [{"node_id": 1, "host": "10.0.0.9", "port": 9092}],
        "topics": [{"name": "orders", "partitions": [part]}],
    }
    scene = Scene()
    for number in range(times):
        scene.ask(number, (METADATA, 9), {"topics": [{"name": "orders"}]}, answer)
    return scene


FURTHER_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("answered-with-error", held_instance(8, holder_until=60), "error"),
        "group billing, instance desk-1: UNRELEASED_INSTANCE_ID (ConsumerGroupHeartbeat): desk-a at 10.0.0.1 has it",
    ),
    (
        *("answered-with-error", held_instance(8, holder_until=10, hosts=("10.0.0.2", "10.0.0.2")), "error"),
        "instance desk-1: UNRELEASED_INSTANCE_ID (ConsumerGroupHeartbeat): desk-a at 10.0.0.2 had it, last heard at"
        " 14:13:29 UTC, 11s before",
    ),
    ("answered-with-error", held_instance(8), "error", "group billing, instance desk-1: UNRELEASED_INSTANCE_ID (Con"),
    (
        *("answered-with-error", large_notes(5), "warning"),
        "topic orders: OFFSET_METADATA_TOO_LARGE (OffsetCommit): the text that it stores with an offset has 5.0kB",
    ),
    (
        *("answered-with-error", listeners(5), "warning"),
        "topic orders: LISTENER_NOT_FOUND (Metadata): node 3 has no listener with the name of that at 10.0.0.9:9092",
    ),
]
FURTHER_BESIDES: Final[dict[str, set[str]]] = {}
FURTHER_NEAR: Final[list[tuple[str, Scene]]] = [
    ("partition-offline", listeners(5)),  # it has a leader
]
