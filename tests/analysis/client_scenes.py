"""Scenes of clients that harm themselves or others by what they do in time, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import (
    END_TXN,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    PRODUCE,
    WRITE_TXN_MARKERS,
)
from tests.analysis.record_scenes import batch_of
from tests.analysis.scenes import Scene

INVALID_EPOCH: Final = 47


def write(at: float, scene: Scene, client: str, code: int = 0, **more: Any) -> Scene:
    """A batch that a transactional producer writes, whose broker adds the partition (KIP-890)."""
    part = {"index": 0, "records": batch_of(2)}
    asked = {"transactional_id": client, "acks": -1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
    answer = {"index": 0, "error_code": code, "base_offset": -1 if code else 10}
    answers = {"responses": [{"name": "orders", "partition_responses": [answer]}]}
    return scene.ask(at, (PRODUCE, 9), asked, answers, client=client, **more)


def late_commits(*spans: float, timeout_ms: int = 4000, marked: bool = True, commits_before: bool = False) -> Scene:
    """Transactions that write for so many seconds, and abort at once when the last batch is refused for that.

    `marked`: the coordinator's abort markers are captured; `commits_before`: the producer commits and begins another
    transaction in the second in which it is refused.
    """
    scene, at, name = Scene(), 0.1, {"transactional_id": "settle"}
    for number, span in enumerate(spans):
        begun = name | {"transaction_timeout_ms": timeout_ms, "producer_id": -1, "producer_epoch": -1}
        started = {"producer_id": 7, "producer_epoch": 2 * number}
        scene.ask(at, (INIT_PRODUCER_ID, 3), begun, started, client="settle")
        write(at + 1.1, scene, "settle")
        refused = span * 1000 > timeout_ms
        if refused and marked:
            topics = [{"name": "orders", "partition_indexes": [0]}]
            marker = {"producer_id": 7, "producer_epoch": 2 * number + 1, "transaction_result": False, "topics": topics}
            asked = {"markers": [marker]}
            scene.ask(at + 1.2 + timeout_ms / 1000, (WRITE_TXN_MARKERS, 1), asked, {"markers": []}, client="broker-1")
        if refused and commits_before:
            ended = name | {"producer_id": 7, "producer_epoch": 2 * number, "committed": True}
            scene.ask(at + 1.1 + span - 0.1, (END_TXN, 1), ended, {}, client="settle")
            write(at + 1.1 + span - 0.05, scene, "settle")
        write(at + 1.1 + span, scene, "settle", INVALID_EPOCH if refused else 0)
        ended = name | {"producer_id": 7, "producer_epoch": 2 * number, "committed": not refused}
        scene.ask(at + 1.11 + span, (END_TXN, 1), ended, {}, client="settle")
        at += 5 + span
    return scene.ask(at + 30, (HEARTBEAT, 3), {}, {}, client="other")


CLIENT_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("transaction-expired", late_commits(1, 8.2, 8.2), "error"),
        "a transaction of settle was open for more than 7s, its transaction.timeout.ms is 4s: its coordinator aborted"
        " it at 14:13:31 UTC, and Produce is refused with INVALID_PRODUCER_EPOCH",
    ),
    (
        *("transaction-expired", late_commits(8.2, marked=False), "error"),
        "its transaction.timeout.ms is 4s: Produce is refused with INVALID_PRODUCER_EPOCH",
    ),
]
CLIENT_BESIDES: Final[dict[str, set[str]]] = {}
CLIENT_NEAR: Final[list[tuple[str, Scene]]] = [
    ("transaction-expired", late_commits(3, 2, 3)),
    ("transaction-expired", late_commits(8.2, commits_before=True, marked=False)),
]
