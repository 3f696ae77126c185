"""Scenes of clients that harm themselves or others by what they do in time, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from math import inf
from typing import Any, Final
from uuid import UUID

from decoders.protocol_facts.api_keys import (
    END_TXN,
    FETCH,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    WRITE_TXN_MARKERS,
)
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.identity_scenes import commit
from tests.analysis.record_scenes import batch_of, put
from tests.analysis.refusal_scenes import committed_at
from tests.analysis.scenes import BEGUN, MS, NS, Scene

INVALID_EPOCH, CONSUMER_GROUP_HEARTBEAT, CREATE_ACLS = 47, 68, 30
Parts = tuple[int, ...] | None


def write(at: float, scene: Scene, client: str, code: int = 0, **more: Any) -> Scene:
    """A batch that a transactional producer writes, whose broker adds the partition (KIP-890)."""
    part = {"index": 0, "records": batch_of(2)}
    asked = {"transactional_id": client, "acks": -1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
    answer = {"index": 0, "error_code": code, "base_offset": -1 if code else 10}
    answers = {"responses": [{"name": "orders", "partition_responses": [answer]}]}
    return scene.ask(at, (PRODUCE, 9), asked, answers, client=client, **more)


def late_commits(
    *spans: float, timeout_ms: int = 4000, marked: bool = True, commits_before: bool = False, soon: bool = False
) -> Scene:
    """Transactions that write for so many seconds, and abort at once when the last batch is refused for that.

    `marked`: the coordinator's abort markers are captured; `commits_before`: the producer commits and begins another
    transaction in the second in which it is refused; `soon`: it writes in the second in which it starts, too.
    """
    scene, at, name = Scene(), 0.1, {"transactional_id": "settle"}
    for number, span in enumerate(spans):
        begun = name | {"transaction_timeout_ms": timeout_ms, "producer_id": -1, "producer_epoch": -1}
        started = {"producer_id": 7, "producer_epoch": 2 * number}
        scene.ask(at, (INIT_PRODUCER_ID, 3), begun, started, client="settle")
        if soon:
            write(at + 0.1, scene, "settle")
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


PICKS: Final = UUID(int=77)


def beat(at: float, scene: Scene, client: str, epoch: int, owned: Parts = None, told: Parts = None) -> Scene:
    """A heartbeat of a member: the partitions that it says it owns, and those that it is told to own."""

    def rows(part: Parts) -> list[dict[str, Any]] | None:
        some = [{"topic_id": PICKS, "partitions": [*part]}] if part else []
        return None if part is None else some

    asked = {"group_id": "picking", "member_id": f"m-{client}", "member_epoch": epoch, "topic_partitions": rows(owned)}
    given = None if told is None else {"topic_partitions": rows(told)}
    answer = {"member_id": f"m-{client}", "member_epoch": max(epoch, 1), "assignment": given}
    return scene.ask(at, (CONSUMER_GROUP_HEARTBEAT, 1), asked, answer, client=client)


def slow_revocation(
    *, confirms: float = inf, leaves: float = inf, until: float = 35, second: bool = True, reads: float = 8
) -> Scene:
    """A member that owns all partitions is told at 20 s to give up half of them, as a second member has come.

    `confirms`, `leaves`: when it says that it owns the other half alone, when it leaves; `reads`: until when it reads.
    """
    scene = Scene()
    topic = {"name": "picks", "topic_id": PICKS, "partitions": []}
    scene.ask(0, (METADATA, 12), {}, {"topics": [topic]}, client="picker-1")
    beat(1, scene, "picker-1", 0, (), (0, 1, 2, 3))
    beat(1.1, scene, "picker-1", 2, (0, 1, 2, 3))
    for second_ in range(2, round(reads)):
        part = {"partition_index": 0, "error_code": 0, "high_watermark": 5, "records": b""}
        asked = {"topics": [{"topic": "picks", "partitions": [{"partition": 0, "fetch_offset": 5}]}]}
        answer = {"responses": [{"topic": "picks", "partitions": [part]}]}
        scene.ask(second_, (FETCH, 11), asked, answer, client="picker-1", took=0.5, line=1)
    if second:
        beat(18, scene, "picker-2", 0, (), ())
    at = 5.0
    while at <= until:
        if at > leaves:
            beat(at, scene, "picker-1", -1)
            leaves, confirms = inf, -inf
        elif confirms > -inf:
            given = at > confirms
            beat(at, scene, "picker-1", 2, (0, 1) if given else None, (0, 1) if at == 20 else None)
            confirms = inf if given else confirms
        if second and at >= 20:
            beat(at + 1, scene, "picker-2", 3)
        at += 5
    return scene


def many_partitions() -> Scene:
    """A member with 600 partitions of each of two topics, which it says and is told in another order."""
    scene = Scene()
    topics = [{"topic_id": UUID(int=number), "partitions": [*range(600)]} for number in (5, 6)]
    asked: dict[str, Any] = {"group_id": "picking", "member_id": "m", "member_epoch": 0, "topic_partitions": []}
    answer: dict[str, Any] = {"member_id": "m", "member_epoch": 1, "assignment": {"topic_partitions": topics}}
    scene.ask(1, (CONSUMER_GROUP_HEARTBEAT, 1), asked, answer)
    for at in range(2, 60, 5):
        asked |= {"member_epoch": 1, "topic_partitions": topics[::-1] if at == 2 else None}
        scene.ask(at, (CONSUMER_GROUP_HEARTBEAT, 1), asked, answer | {"assignment": None})
    return scene


def stamped(stamp: int, *, batches: int = 20, step: int = 5, appended: bool = False, reads: bool = False) -> Scene:
    """Batches with a timestamp that is so many units (ms, s) after 1970, one a second.

    `step`: by how much the log's begin goes on each second; `appended`: the broker gives its own time; `reads`: a
    consumer comes every 8 s, finds its position gone, and asks where the log begins.
    """
    scene = Scene()
    for at in range(batches):
        records = [Record(at * 5 + number, stamp + at, None, b"x") for number in range(5)]
        part = {"index": 0, "records": encode_batch(records, Batch())}
        asked = {"acks": -1, "topic_data": [{"name": "meters", "partition_data": [part]}]}
        answer = {"index": 0, "base_offset": at * 5, "log_start_offset": max(at - 2, 0) * step}
        answer["log_append_time_ms"] = BEGUN // MS + at * 1000 if appended else -1
        scene.ask(
            at, (PRODUCE, 8), asked, {"responses": [{"name": "meters", "partition_responses": [answer]}]}, client="gw"
        )
    for number, at in enumerate([0, *range(5, batches, 8)] if reads else []):
        begin, position = max(at - 2, 0) * step, max(at - 8, 0) * step + 2
        part = {"partition_index": 0, "error_code": 1, "high_watermark": -1, "records": b""}
        wanted = {"topics": [{"topic": "meters", "partitions": [{"partition": 0, "fetch_offset": position}]}]}
        answers: dict[str, Any] = {"responses": [{"topic": "meters", "partitions": [part]}]}
        if number:
            scene.ask(at + 0.1, (FETCH, 11), wanted, answers, client="tariff")
        listed = {"topics": [{"name": "meters", "partitions": [{"partition_index": 0, "timestamp": -2}]}]}
        found = {"topics": [{"name": "meters", "partitions": [{"partition_index": 0, "offset": begin}]}]}
        scene.ask(at + 0.2, (LIST_OFFSETS, 5), listed, found, client="tariff")
    return scene


def shared_quota(small: int, large: int, *, name: str = "rdkafka", hosts: int = 2, waits: int = 900) -> Scene:
    """Programs on hosts that write batches of so many records each second, and are throttled from 5 s on."""
    scene = Scene()
    for at in range(15):
        for number, records in enumerate((small, large)[:hosts]):
            part = {"index": 0, "records": batch_of(records)}
            asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
            answers: dict[str, Any] = {"responses": [{"name": "orders", "partition_responses": [{"index": 0}]}]}
            answers["throttle_time_ms"] = waits if at >= 5 else 0
            if at >= 4 or not number:
                host = f"10.0.0.{number + 1}"
                scene.ask(at + number / 10, (PRODUCE, 8), asked, answers, client=name, host=host, line=number)
    return scene


def new_compression(*, version: int = 8, reads: float = 10, codec: str = "zstd", until: int = 40) -> Scene:
    """A producer that compresses otherwise from 10 s on, and a member that fetches up to a time and commits on.

    Another client reads all.
    """
    scene = Scene()
    for second in range(until):
        its = codec if second >= 10 else "lz4"
        put(scene, second, batch_of(50, codec=its), second * 50, client="intake")
        data = batch_of(50, first=second * 50, codec=its)
        part = {"partition_index": 0, "high_watermark": (second + 1) * 50, "records": data}
        asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": second * 50}]}]}
        answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
        if second <= reads:
            scene.ask(second + 0.5, (FETCH, version), asked, answer, client="indexer")
        scene.ask(second + 0.5, (FETCH, 11), asked, answer, client="stats")
        commit(second + 0.6, scene, "indexer", 0, topics=committed_at(50 * min(second, round(reads))))
    return scene


def denied(name: str, *, kind: int = 4, permission: int = 2, principal: str = "User:*", code: int = 29) -> Scene:
    """A topic that is written, until an operator makes an access rule: its name, kind of pattern, permission."""
    scene = Scene()
    rule = {"resource_type": 2, "resource_name": name, "resource_pattern_type": kind, "principal": principal}
    rule |= {"host": "*", "operation": 4, "permission_type": permission}
    scene.ask(9.5, (CREATE_ACLS, 3), {"creations": [rule]}, {"results": [{"error_code": 0}]}, client="ops")
    for at in range(25):
        part = {"index": 0, "records": batch_of(2)}
        asked = {"acks": -1, "topic_data": [{"name": "orders-eu", "partition_data": [part]}]}
        answer = {"index": 0, "error_code": code if at >= 10 else 0, "base_offset": -1 if at >= 10 else at * 2}
        answers = {"responses": [{"name": "orders-eu", "partition_responses": [answer]}]}
        scene.ask(at, (PRODUCE, 8), asked, answers, client="shop")
    return scene


CLIENT_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("transaction-expired", late_commits(1, 8.2, 8.2), "error"),
        "a transaction of settle was open for more than 7s, its transaction.timeout.ms is 4s: its coordinator aborted"
        " it at 14:13:31 UTC, and Produce is refused with INVALID_PRODUCER_EPOCH",
    ),
    (
        *("transaction-expired", late_commits(1, 4.3, soon=True), "error"),
        "was open for more than 4s, its transaction.timeout.ms is 4s: its coordinator aborted it at 14:13:31 UTC, and",
    ),
    (
        *("transaction-expired", late_commits(8.2, marked=False), "error"),
        "its transaction.timeout.ms is 4s: Produce is refused with INVALID_PRODUCER_EPOCH",
    ),
    (
        *("revocation-pending", slow_revocation(), "error"),
        "picker-1 does not give up picks-2, picks-3 of group picking: told so at 14:13:40 UTC, it has not confirmed it"
        " to the end, for 14s; it has fetched nothing since 14:13:27 UTC, while its heartbeats go on; picker-2 has no"
        " partition, since 14:13:38 UTC",
    ),
    (
        *("timestamps-early", stamped(BEGUN // NS), "error"),
        "records that gw writes to meters have timestamps of 1970-01-21: 1790000019 is the time of the capture in"
        " seconds, not in milliseconds; the log of meters-0 began at 0, and 19s later at 85",
    ),
    ("timestamps-early", stamped(BEGUN // NS, step=0), "warning", "gw writes to meters have timestamps of 1970-01-21:"),
    ("timestamps-early", stamped(631_152_000_000), "error", "gw writes to meters have timestamps of 1990-01-01; the"),
    (
        *("timestamps-early", stamped(BEGUN // NS, reads=True), "error"),
        "1790000019 is the time of the capture in seconds",
    ),
    (
        *("offset-out-of-range", stamped(BEGUN // MS, batches=22, reads=True), "error"),
        "the position 67 of partition 0 is before the begin of the log, 95: retention",
    ),
    (
        *("throttled", shared_quota(1, 200), "warning"),
        "10.0.0.9:9092 throttles rdkafka for up to 900ms; 10.0.0.2, 10.0.0.1 have this client id, and so likely one"
        " quota: 10.0.0.2 had 23.4kB in these requests, since 14:13:24 UTC, and 10.0.0.1 with 1.2kB waits for up to",
    ),
    (
        *("throttled", shared_quota(100, 200, name="shop"), "warning"),
        "10.0.0.9:9092 throttles shop for up to 900ms; 10.0.0.2, 10.0.0.1 have this client id, and so likely one q",
    ),
    ("throttled", shared_quota(100, 0, hosts=1, name="shop"), "warning", "throttles shop: 9s in all, 900ms at most"),
    (
        *("codec-too-new", new_compression(), "error"),
        "indexer gets batches of orders compressed with zstd, and asks with Fetch 8: zstd needs Fetch 10; it has"
        " fetched nothing since 14:13:30 UTC, and is there to the end; intake writes them since 14:13:30 UTC, and",
    ),
    ("codec-too-new", new_compression(reads=11, until=16), "warning", "Fetch 10; intake writes them since 14:13:30"),
    ("codec-too-new", new_compression(reads=40), "note", "; it reads on behind them; intake writes them since"),
    (
        *("group-behind", new_compression(version=11), "warning"),
        "group billing stands still on orders: indexer fetches nothing since 14:13:30 UTC, while 50.0 records a second"
        " are written; it is 1,500 behind at the end",
    ),
    (
        *("access-denied", denied("orders"), "error"),
        "topic orders-eu is denied to shop: TOPIC_AUTHORIZATION_FAILED; ops set the denial WRITE on orders* of User:*"
        " at 14:13:29 UTC, 500ms before",
    ),
    ("revocation-pending", slow_revocation(second=False, reads=34), "warning", "confirmed it to the end, for 14s"),
]
CLIENT_BESIDES: Final[dict[str, set[str]]] = {
    "timestamps-early": {"offset-out-of-range"},
    "codec-too-new": {"group-behind"},
}
CLIENT_NEAR: Final[list[tuple[str, Scene]]] = [
    ("transaction-expired", late_commits(3, 2, 3)),
    ("transaction-expired", late_commits(1, 4.3, soon=True, marked=False)),
    ("throttled", shared_quota(1, 200, waits=40)),
    ("codec-too-new", new_compression(codec="gzip")),
    ("codec-too-new", new_compression(version=11)),
    ("timestamps-early", stamped(BEGUN // NS, appended=True)),
    ("timestamps-early", stamped(BEGUN // MS - 9 * 365 * 86_400_000)),  # records of nine years ago are copied
    ("timestamps-early", stamped(631_152_000_000, batches=2)),
    ("revocation-pending", slow_revocation(confirms=29)),
    ("revocation-pending", many_partitions()),
    ("revocation-pending", slow_revocation(leaves=24)),
    ("revocation-pending", slow_revocation(until=29)),
    ("transaction-expired", late_commits(8.2, commits_before=True, marked=False)),
]
