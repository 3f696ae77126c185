"""Scenes of records that groups do not read, or are not given again, and near ones: for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from decoders.protocol_facts.api_keys import (
    DESCRIBE_CONFIGS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
)
from tests.analysis.record_scenes import batch_of
from tests.analysis.scenes import Scene

ACCEPT, RELEASE, REJECT = 1, 2, 3
_LABELS: Final = UUID(int=7)
_GROUP_RESOURCE: Final = 32
CREATE_PARTITIONS: Final = 37


def _list_partitions(count: int, name: str, **more: Any) -> dict[str, Any]:
    parts = [
        {"partition_index": number, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]} for number in range(count)
    ]
    nodes = [{"node_id": 1, "host": "10.0.0.9", "port": 9092}]
    return {"brokers": nodes, "topics": [{"name": name, "partitions": parts, **more}]}


def _acquire(scene: Scene, at: float, offset: int, deliveries: int, client: str) -> None:
    acquired = {"first_offset": offset, "last_offset": offset, "delivery_count": deliveries}
    part = {"partition_index": 0, "records": b"", "acquired_records": [acquired]}
    answer = {"acquisition_lock_timeout_ms": 30_000, "responses": [{"topic_id": _LABELS, "partitions": [part]}]}
    scene.ask(at, (SHARE_FETCH, 2), {"group_id": "printers", "member_id": client}, answer, client=client)


def _acknowledge(scene: Scene, at: float, offset: int, kind: int, client: str) -> None:
    batches = [{"first_offset": offset, "last_offset": offset, "acknowledge_types": [kind]}]
    asked = [{"topic_id": _LABELS, "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}]}]
    done = [{"topic_id": _LABELS, "partitions": [{"partition_index": 0}]}]
    request = {"group_id": "printers", "member_id": client, "topics": asked}
    answer = {"acquisition_lock_timeout_ms": 30_000, "responses": done}
    scene.ask(at, (SHARE_ACKNOWLEDGE, 2), request, answer, client=client)


def shared(
    *kinds: int, poisoned: tuple[int, ...] = (4,), limit: int = 0, goes_on: float = 20, clients: str = "ab"
) -> Scene:
    """A share group whose members take records; those `poisoned` are delivered again after each of these answers.

    0 is no answer. `limit`: the one that an administrator looks up; others are delivered for as long as it `goes_on`.
    """
    scene = Scene().ask(0, (METADATA, 12), {}, _list_partitions(1, "labels", topic_id=_LABELS), client="a")
    if limit:
        configs = [{"name": "share.delivery.count.limit", "value": str(limit)}]
        result = {"resource_type": _GROUP_RESOURCE, "resource_name": "printers", "configs": configs}
        scene.ask(0.1, (DESCRIBE_CONFIGS, 4), {"resources": []}, {"results": [result]}, client="admin")
    for number, offset in enumerate(poisoned):
        for turn, kind in enumerate(kinds):
            at, client = 1 + number * 2 + turn * 0.2, clients[turn % len(clients)]
            _acquire(scene, at, offset, turn + 1, client)
            if kind:
                _acknowledge(scene, at + 0.1, offset, kind, client)
    begin = 1 + len(poisoned) * 2
    for turn in range(round(goes_on)):
        _acquire(scene, begin + turn, 100 + turn, 1, "a")
        _acknowledge(scene, begin + turn + 0.1, 100 + turn, ACCEPT, "a")
    return scene


def widened(
    *begins: int,
    committed: int = -1,
    old: int = 2,
    looks_up: bool = True,
    gets: int = 5,
    second: int = -1,
    start: int = 0,
) -> Scene:
    """A topic that gets partitions 2 and 3 at 5 s; a group begins them 10 s later, behind so many records.

    `old`: as many it had; `second`: another member gets records of partition 2 from there on; `start`: where the log
    begins.
    """
    scene = Scene().ask(0, (METADATA, 9), {}, _list_partitions(old, "orders"), client="mail")
    asked = {"topics": [{"name": "orders", "count": 4}]}
    scene.ask(5, (CREATE_PARTITIONS, 2), asked, {"results": [{"name": "orders"}]}, client="ops")
    scene.ask(15, (METADATA, 9), {}, _list_partitions(4, "orders"), client="mail")
    numbers = range(2, 2 + len(begins))

    def begin(at: float, client: str, numbers: Any, offsets: tuple[int, ...]) -> None:
        wanted = {"group_id": "mailers", "topics": [{"name": "orders", "partition_indexes": [*numbers]}]}
        parts = [{"partition_index": number, "committed_offset": committed} for number in numbers]
        answer: dict[str, Any] = {"topics": [{"name": "orders", "partitions": parts}]}
        scene.ask(at, (OFFSET_FETCH, 7), wanted, answer, client=client)
        if looks_up:
            parts = [{"partition_index": number, "timestamp": -2 if start else -1} for number in numbers]
            ends = [{"partition_index": number, "offset": its} for number, its in zip(numbers, offsets, strict=True)]
            answer = {"topics": [{"name": "orders", "partitions": ends}]}
            asked = {"replica_id": -1, "topics": [{"name": "orders", "partitions": parts}]}
            scene.ask(at + 0.1, (LIST_OFFSETS, 5), asked, answer, client=client)
        parts = [{"partition": number, "fetch_offset": its} for number, its in zip(numbers, offsets, strict=True)]
        got = [
            {
                "partition_index": number,
                "high_watermark": its + gets,
                "log_start_offset": start,
                "records": batch_of(gets, first=its),
            }
            for number, its in zip(numbers, offsets, strict=True)
        ]
        asked = {"max_wait_ms": 500, "topics": [{"topic": "orders", "partitions": parts}]}
        answer = {"responses": [{"topic": "orders", "partitions": got}]}
        scene.ask(at + 1, (FETCH, 11), asked, answer, client=client)

    begin(15.2, "mail", numbers, begins)
    if second >= 0:
        begin(18, "mail-2", [2], (second,))
    return scene


_FIVE: Final = (RELEASE,) * 5
READING_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("records-archived", shared(*_FIVE), "warning"),
        "share group printers loses a record of labels: delivered 5 times each within 900ms, given back each time by a,"
        " b, and not again since (labels/0@4)",
    ),
    (
        *("records-archived", shared(*_FIVE, poisoned=(4, 5, 9, 11)), "warning"),
        "loses 4 records of labels: delivered 5 times each within 900ms, given back each time by a, b, and not again"
        " since (labels/0@4, labels/0@5, labels/0@9 and 1 more)",
    ),
    ("records-archived", shared(RELEASE, RELEASE, limit=2), "warning", "delivered 2 times each within 300ms, given"),
    ("records-archived", shared(RELEASE, RELEASE, poisoned=(4, 5, 9)), "warning", "3 records of labels: delivered 2"),
    (
        *("records-archived", shared(RELEASE, RELEASE, 0, limit=3, goes_on=60), "warning"),
        "delivered 3 times each within 30.4s, not accepted by a, b, and not again since",
    ),
    (
        *("added-partitions-skipped", widened(25, 30), "warning"),
        "group mailers began orders-2, orders-3 behind their first records, 10.2s after they were added by ops at"
        " 14:13:25 UTC (topic orders had 2 partitions, has 4): up to 55 records are skipped",
    ),
    (
        *("added-partitions-skipped", widened(0, 30, looks_up=False), "warning"),
        "group mailers began orders-3 behind their first records, 10.2s after they were added by ops at",
    ),
]
READING_NEAR: Final[list[tuple[str, Scene]]] = [
    ("records-archived", shared(*_FIVE[:4])),  # it may come again
    ("records-archived", shared(*_FIVE[:4], ACCEPT)),
    ("records-archived", shared(*_FIVE[:4], REJECT)),  # its program says that it cannot be handled
    ("records-archived", shared(*_FIVE, goes_on=2)),  # the capture ends soon
    ("records-archived", shared(*_FIVE, limit=10)),
    ("records-archived", shared(*_FIVE[:4], 0)),  # it is still locked
    ("added-partitions-skipped", widened(0, 0)),
    ("added-partitions-skipped", widened(25, 30, old=4)),  # they were there before
    ("added-partitions-skipped", widened(25, 30, committed=25)),
    ("added-partitions-skipped", widened(25, start=25)),
    ("added-partitions-skipped", widened(25, second=0)),  # another member read the records before
]
