"""Scenes of refused requests whose cause other exchanges show, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    METADATA,
    PRODUCE,
    SASL_HANDSHAKE,
)
from tests.analysis.identity_scenes import commit, join
from tests.analysis.record_scenes import batch_of
from tests.analysis.scenes import Scene

UNKNOWN_MEMBER, SESSION_TIMEOUT, INVALID_EPOCH, NO_MECHANISM, INVALID_RECORD = 25, 26, 47, 33, 87
NO_MEMBER: Final = {"member_id": "", "generation_id_or_member_epoch": -1}


def look_ups(times: int, *, every: float = 2, found: bool = False, kind: int = 0, brokers: int = 1) -> Scene:
    """Look-ups of a coordinator that nobody gets; `found`: that of another group is there."""
    scene = Scene()
    nodes = [{"node_id": number, "host": "10.0.0.9", "port": 9091 + number} for number in range(1, brokers + 1)]
    scene.ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": []}, client="other")
    for number in range(times):
        for name in ("billing", "mail"):
            refused = {
                "error_code": 15,
                "error_message": "The coordinator is not available.",
                "node_id": -1,
                "host": "",
            }
            asked = {"key": name, "key_type": kind}
            scene.ask(1 + number * every, (FIND_COORDINATOR, 2), asked, refused, client=f"{name}-1")
    if found:
        scene.ask(1, (FIND_COORDINATOR, 2), {"key": "dash"}, {"node_id": 1, "host": "10.0.0.9", "port": 9092})
    return scene


def foreign_commits(times: int, *, joins: bool = False, **more: Any) -> Scene:
    """Commits without a member id for a group that has a member."""
    scene = join(0, Scene(), "mail-1")
    if joins:
        join(0.5, scene, "replay")
    for number in range(times):
        commit(1 + 2 * number, scene, "replay", UNKNOWN_MEMBER, **NO_MEMBER | more)
        commit(1.5 + 2 * number, scene, "mail-1", 0)
    return scene


def transactions(*spans: float, timeout_ms: int = 4000, taken_by: str = "") -> Scene:
    """Transactions that are open for so many seconds, and refused at their end if that is longer than the time-out."""
    scene, at, name = Scene(), 0.0, {"transactional_id": "tx"}
    for number, span in enumerate(spans):
        begun = {"transaction_timeout_ms": timeout_ms, "producer_id": -1, "producer_epoch": -1}
        scene.ask(
            at, (INIT_PRODUCER_ID, 3), name | begun, {"producer_id": 7, "producer_epoch": number}, client="settle"
        )
        adds = {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": [{"name": "orders", "partitions": [0]}]}
        scene.ask(at + 1.5, (ADD_PARTITIONS_TO_TXN, 1), adds, {}, client="settle")
        if taken_by:
            asked = name | begun
            scene.ask(at + 2, (INIT_PRODUCER_ID, 3), asked, {"producer_id": 7}, client=taken_by, host="10.0.0.3")
        code = INVALID_EPOCH if span * 1000 > timeout_ms else 0
        scene.ask(at + 1.5 + span, (END_TXN, 1), name | {"committed": True}, {"error_code": code}, client="settle")
        at += 5 + span
    return scene.ask(at + 30, (HEARTBEAT, 3), {}, {}, client="other")


def zstd_read(version: int, *, codec: str = "zstd", again: int = 1) -> Scene:
    """Fetches of a version that get batches with a codec, each so many times, after somebody has set it."""
    configs = [{"name": "compression.type", "config_operation": 0, "value": codec}]
    changed = {"resource_type": 2, "resource_name": "orders"}
    done: dict[str, Any] = {"responses": [changed | {"error_code": 0}]}
    scene = Scene().ask(
        0, (INCREMENTAL_ALTER_CONFIGS, 1), {"resources": [changed | {"configs": configs}]}, done, client="terraform"
    )
    for number in range(12 * again):
        first = number // again * 500
        data = batch_of(500, first=first, codec=codec)
        part = {"partition_index": 0, "error_code": 0, "high_watermark": first + 500, "records": data}
        asked = {
            "max_wait_ms": 500,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": first}]}],
        }
        answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
        scene.ask(1 + number / 10, (FETCH, version), asked, answer, client="export")
    return scene


def mechanisms(*asked: str, offered: tuple[str, ...] = ("SCRAM-SHA-512",)) -> Scene:
    """Handshakes that each ask for a mechanism, on a connection of its own."""
    scene = Scene()
    for number, name in enumerate(asked):
        code = 0 if name in offered else NO_MECHANISM
        answer = {"error_code": code, "mechanisms": [*offered]}
        scene.ask(2 * number, (SASL_HANDSHAKE, 1), {"mechanism": name}, answer, line=number)
    return scene


def session_timeouts(*asked: int, most: int = 60_000, every: float = 4) -> Scene:
    """Joins that each ask for a session time-out."""
    scene = Scene()
    for number, timeout in enumerate(asked):
        code = SESSION_TIMEOUT if timeout > most else 0
        join(every * number, scene, "invoicing-1", code=code, session_timeout_ms=timeout)
    return scene


def keyless_records(
    times: int, *, changed: float | None = 0.9, others: bool = True, code: int = INVALID_RECORD
) -> Scene:
    """Records that a broker refuses, and says why, after somebody changed the topic's configs."""
    scene = Scene()
    data = batch_of(1)
    asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": data}]}]}

    def part(code: int, words: str | None = None) -> dict[str, Any]:
        told = [{"batch_index": 0, "batch_index_error_message": words}] if words else []
        its = {"index": 0, "error_code": code, "record_errors": told, "error_message": "One or more" if words else None}
        return {"responses": [{"name": "orders", "partition_responses": [its]}]}

    scene.ask(0, (PRODUCE, 8), asked, part(0), client="crm")
    if changed is not None:
        resource = {"resource_type": 2, "resource_name": "orders"}
        configs = [{"name": "cleanup.policy", "config_operation": 0, "value": "compact"}]
        configs.append({"name": "secret.of.a.plugin", "config_operation": 0, "value": "hunter2"})
        wanted = {"resources": [resource | {"configs": configs}]}
        done: dict[str, Any] = {"responses": [resource | {"error_code": 0}]}
        scene.ask(changed, (INCREMENTAL_ALTER_CONFIGS, 1), wanted, done, client="terraform")
    for number in range(times):
        scene.ask(1 + number, (PRODUCE, 8), asked, part(code, "no key given"), client="crm")
        if others:
            scene.ask(1.5 + number, (PRODUCE, 8), asked, part(0), client="shop", line=1)
    return scene


REFUSAL_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("coordinator-never", look_ups(8), "error"),
        "no group gets a coordinator: COORDINATOR_NOT_AVAILABLE (FindCoordinator) on each look-up (billing, mail):"
        " likely __consumer_offsets wants more replicas than the 1 broker of the cluster can hold",
    ),
    (
        *("coordinator-never", look_ups(8, kind=1, brokers=3), "error"),
        "no transactional id gets a coordinator: COORDINATOR_NOT_AVAILABLE (FindCoordinator) on each look-up (billing",
    ),
    (
        *("not-a-member", foreign_commits(4), "error"),
        "replay cannot commit for group billing: UNKNOWN_MEMBER_ID (OffsetCommit), as it is no member of it (members"
        " are mail-1)",
    ),
    ("not-a-member", foreign_commits(2), "warning", "replay cannot commit for group billing"),
    (
        *("transaction-expired", transactions(1, 9, 9), "error"),
        "a transaction of tx (settle) was open for more than 8s, its transaction.timeout.ms is 4s: EndTxn is"
        " refused with INVALID_PRODUCER_EPOCH",
    ),
    ("transaction-expired", transactions(9), "error", "a transaction of tx (settle) was open for more than 8s"),
    ("transaction-expired", transactions(9, 1, 1), "warning", "a transaction of tx (settle) was open for more than 8"),
    (
        *("codec-too-new", zstd_read(4), "warning"),
        "export gets batches of orders compressed with zstd, and asks with Fetch 4: zstd needs Fetch 10; terraform set"
        " compression.type=zstd at ",
    ),
    ("codec-too-new", zstd_read(4, again=3), "error", "; it fetches the same records again and again; terraform set "),
    (
        *("login-failed", mechanisms("SCRAM-SHA-512", "PLAIN", "PLAIN", "PLAIN"), "error"),
        "logins of app fail with UNSUPPORTED_SASL_MECHANISM: it asks for sasl.mechanism=PLAIN, the broker offers"
        " SCRAM-SHA-512; SCRAM-SHA-512 was taken before, last at ",
    ),
    (
        *("answered-with-error", session_timeouts(45_000, *[180_000] * 4), "error"),
        "group billing: INVALID_SESSION_TIMEOUT (JoinGroup): invoicing-1 asks for session.timeout.ms=180000; 45000 was"
        " taken before, last at ",
    ),
    ("answered-with-error", session_timeouts(*[180_000] * 4, every=1), "warning", "group billing: INVALID_SESSION_TIM"),
    (
        *("records-refused", keyless_records(4), "error"),
        'topic orders: INVALID_RECORD (Produce): "no key given"; terraform set cleanup.policy=compact, changed'
        " secret.of.a.plugin at 14:13:20 UTC, 100ms before",
    ),
]
REFUSAL_BESIDES: Final[dict[str, set[str]]] = {}
REFUSAL_NEAR: Final[list[tuple[str, Scene]]] = [
    ("coordinator-never", look_ups(8, found=True)),
    ("coordinator-never", look_ups(5)),  # 8 s: the topic is being made
    ("not-a-member", foreign_commits(4, member_id="m", generation_id_or_member_epoch=3)),
    ("not-a-member", foreign_commits(4, joins=True)),
    ("transaction-expired", transactions(1, 1)),
    ("transaction-expired", transactions(9, taken_by="other-settle")),
    ("transaction-expired", transactions(4.2)),  # by the second it is not known
    ("codec-too-new", zstd_read(10)),
    ("codec-too-new", zstd_read(4, codec="gzip")),
]
