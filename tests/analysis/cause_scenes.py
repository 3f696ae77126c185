"""Scenes of errors and waits whose cause several exchanges show together, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from decoders.protocol_facts.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_GROUPS,
    DELETE_TOPICS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
)
from tests.analysis.identity_scenes import commit, join
from tests.analysis.record_scenes import batch_of, get, put
from tests.analysis.scenes import FIN, RST, Scene

NOT_LEADER, NOT_COORDINATOR, NOT_CONTROLLER, INVALID_MAPPING, UNKNOWN_PRODUCER = 6, 16, 41, 49, 59
INVALID_STATE: Final = 121
OTHER: Final = "10.0.0.8:9093"
NODES: Final = [{"node_id": 2, "host": "10.0.0.9", "port": 9092}, {"node_id": 3, "host": "10.0.0.8", "port": 9093}]


def write(
    at: float, scene: Scene, code: int, *, name: str | None = None, leader: int = -1, version: int = 10, **how: Any
) -> Scene:
    """A Produce that is answered with a code, and with the leader and its address where the code says who it is not."""
    asked: dict[str, Any] = {"acks": -1, "transactional_id": name}
    asked["topic_data"] = [{"name": "orders", "partition_data": [{"index": 1, "records": batch_of(1)}]}]
    part: dict[str, Any] = {"index": 1, "error_code": code, "base_offset": -1 if code else round(at * 10)}
    answer: dict[str, Any] = {"responses": [{"name": "orders", "partition_responses": [part]}]}
    if leader >= 0 and version >= 10:
        part["current_leader"] = {"leader_id": leader, "leader_epoch": 0}
        answer["node_endpoints"] = [node for node in NODES if node["node_id"] == leader]
    return scene.ask(at, (PRODUCE, version), asked, answer, **how)


def idle_producer(
    *pauses: float, code: int = INVALID_MAPPING, name: str | None = "payout", anew: bool = False, taken: bool = False
) -> Scene:
    """A producer that writes twice, then after each pause, refused; `anew`: it begins anew; `taken`: another does."""
    scene, at = Scene(), 1.0
    begun = {"transactional_id": name, "transaction_timeout_ms": 4000, "producer_id": -1, "producer_epoch": -1}
    scene.ask(0, (INIT_PRODUCER_ID, 3), begun, {"producer_id": 7, "producer_epoch": 0}, client="batch")
    for _ in range(2):
        write(at, scene, 0, name=name, client="batch")
        if name is not None:
            scene.ask(at + 0.2, (END_TXN, 1), {"transactional_id": name, "committed": True}, {}, client="batch")
        at += 1
    if taken:
        scene.ask(at, (INIT_PRODUCER_ID, 3), begun, {"producer_id": 8, "producer_epoch": 0}, client="other-batch")
    for pause in pauses:
        at += pause
        write(at, scene, code, name=name, client="batch")
    if anew:
        scene.ask(at + 1, (INIT_PRODUCER_ID, 3), begun, {"producer_id": 9, "producer_epoch": 0}, client="batch")
        write(at + 2, scene, 0, name=name, client="batch")
    return scene.ask(at + 20, (HEARTBEAT, 3), {}, {}, client="other")


def wrong_node(
    seconds: int, *, leader: int = 2, version: int = 10, epochs: tuple[int, ...] = (4,), asks: bool = True
) -> Scene:
    """Batches for a partition whose leader is node 2 by the metadata, refused at its address; others go to node 3.

    `leader`: whom the refusals name; `epochs`: of the leader in the metadata, the last one up to the end.
    """
    scene = Scene()
    for second in range(seconds):
        epoch = epochs[min(second, len(epochs) - 1)]
        parts = [
            {"partition_index": 0, "leader_id": 3, "leader_epoch": 1, "replica_nodes": [3], "isr_nodes": [3]},
            {"partition_index": 1, "leader_id": 2, "leader_epoch": epoch, "replica_nodes": [2], "isr_nodes": [2]},
        ]
        listed = {"brokers": NODES, "topics": [{"name": "orders", "partitions": parts}], "controller_id": 2}
        if asks or not second:
            scene.ask(second, (METADATA, 9), {}, listed, client="partner")
        write(second + 0.3, scene, NOT_LEADER, leader=leader, version=version, client="partner")
        write(second + 0.6, scene, 0, client="inside", broker=OTHER)
    return scene


def wrong_coordinator(seconds: int, *, moved: bool = False, served: bool = False) -> Scene:
    """Joins at the address that each look-up names, refused by a node that is not the coordinator."""
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": NODES, "topics": []}, client="mail")
    for second in range(seconds):
        node = NODES[1 if moved and second > 1 else 0]
        scene.ask(second + 0.2, (FIND_COORDINATOR, 2), {"key": "billing"}, {"error_code": 0, **node}, client="mail")
        asked = {"group_id": "billing", "member_id": "m", "protocol_type": "consumer", "protocols": []}
        code = 0 if served and second % 2 else NOT_COORDINATOR
        scene.ask(second + 0.4, (JOIN_GROUP, 5), asked, {"error_code": code, "generation_id": 1}, client="mail")
    return scene


def wrong_controller(seconds: int, *, moved: bool = False) -> Scene:
    """Topics to create, refused at the address of the node that the metadata name as the controller."""
    scene = Scene()
    for second in range(seconds):
        listed = {"brokers": NODES, "topics": [], "controller_id": 3 if moved and second > 1 else 2}
        scene.ask(second, (METADATA, 9), {}, listed, client="ops")
        refused = {"topics": [{"name": "new", "error_code": NOT_CONTROLLER}]}
        scene.ask(second + 0.5, (CREATE_TOPICS, 4), {"topics": [{"name": "new"}]}, refused, client="ops")
    return scene


def share(
    *ages: float,
    lock_ms: int = 4000,
    in_fetch: bool = False,
    refused: bool = True,
    done: bool = False,
    deliveries: int = 3,
    asked_twice: bool = False,
) -> Scene:
    """A member of a share group that acknowledges records so many seconds after it got them, and is refused.

    `in_fetch`: with the next ShareFetch; `done`: it acknowledges others in time at the end; `asked_twice`: the refused
    ones again at once.
    """
    identity, at = UUID(int=7), 1.0
    parts = [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}]
    listed = {"topics": [{"name": "thumbs", "topic_id": identity, "partitions": parts}]}
    scene = Scene().ask(0, (METADATA, 12), {}, listed, client="worker")
    its: dict[str, Any] = {"group_id": "thumbs-group", "member_id": "m"}

    def answer(code: int, *acquired: dict[str, int]) -> dict[str, Any]:
        part = {"partition_index": 0, "acknowledge_error_code": code, "records": b"", "acquired_records": [*acquired]}
        return {
            "acquisition_lock_timeout_ms": lock_ms,
            "responses": [{"topic_id": identity, "partitions": [part]}],
        }

    def acknowledge(at: float, first: int, code: int) -> None:
        batches = [{"first_offset": first, "last_offset": first + 7, "acknowledge_types": [1]}]
        asked = its | {"topics": [{"topic_id": identity, "partitions": [{"acknowledgement_batches": batches}]}]}
        key, said = SHARE_ACKNOWLEDGE, {"responses": [{"topic_id": identity, "partitions": [{"error_code": code}]}]}
        if in_fetch:
            key, said = SHARE_FETCH, answer(code)
        scene.ask(at, (key, 1), asked, said, client="worker")

    for number, age in enumerate((*ages, 1.0) if done else ages):
        acquired = {"first_offset": 8 * number, "last_offset": 8 * number + 7, "delivery_count": deliveries}
        scene.ask(at, (SHARE_FETCH, 1), its, answer(0, acquired), client="worker")
        acknowledge(at + age, 8 * number, INVALID_STATE if refused and number < len(ages) else 0)
        if asked_twice:
            acknowledge(at + age + 0.1, 8 * number, INVALID_STATE)
        at += age + 0.5
    return scene


def held_long(
    *ages: float, released: bool = False, renewed: bool = False, gone: bool = False, lock_ms: int = 5000
) -> Scene:
    """A member of a share group that holds records for so long, and another one that gets them when the lock has ended.

    `released`: it gives them back at once; `renewed`: it renews the lock; `gone`: it does nothing more.
    """
    identity, at = UUID(int=7), 1.0
    parts = [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}]
    listed = {"topics": [{"name": "thumbs", "topic_id": identity, "partitions": parts}]}
    scene = Scene().ask(0, (METADATA, 12), {}, listed, client="slow")

    def get_records(at: float, client: str, first: int, count: int) -> None:
        acquired = {"first_offset": first, "last_offset": first + 9, "delivery_count": count}
        part = {"partition_index": 0, "records": b"", "acquired_records": [acquired]}
        answer = {"acquisition_lock_timeout_ms": lock_ms, "responses": [{"topic_id": identity, "partitions": [part]}]}
        scene.ask(at, (SHARE_FETCH, 2), {"group_id": "mailer", "member_id": client}, answer, client=client)

    def acknowledge(at: float, client: str, first: int, kind: int) -> None:
        batches = [{"first_offset": first, "last_offset": first + 9, "acknowledge_types": [kind]}]
        asked = {"topic_id": identity, "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}]}
        done = {"topic_id": identity, "partitions": [{"partition_index": 0}]}
        request = {"group_id": "mailer", "member_id": client, "topics": [asked]}
        answer = {"acquisition_lock_timeout_ms": lock_ms, "responses": [done]}
        scene.ask(at, (SHARE_ACKNOWLEDGE, 2), request, answer, client=client)

    for number, age in enumerate(ages):
        first, again = 10 * number, at + max(age, 5.0) + 0.2
        get_records(at, "slow", first, 1)
        if released or renewed:
            acknowledge(at + 1, "slow", first, 2 if released else 4)
        if age > lock_ms / 1000 or released:
            get_records(again if age > 5 else at + age + 0.2, "quick", first, 2)
        if not (gone or released):
            acknowledge(at + age + 0.5, "slow", first, 1)
        at += age + 1
    return scene


def moved(
    seconds: int,
    *,
    throttle: int | None = 10_000,
    removed: bool = False,
    ends: bool = False,
    cancelled: bool = False,
    behind: tuple[int, ...] = (),
) -> Scene:
    """A move of orders-0 to node 2 that is listed each 4 s, under a throttle, while some 20 kB/s are written.

    `behind`: how many records the new replica is behind, each second, the last one up to the end.
    """
    scene = Scene()
    for at, value in ((0, throttle), *(((2, None),) if removed else ())):
        configs: list[dict[str, Any]] = [
            {"name": f"{side}.replication.throttled.rate", "value": str(value)} for side in ("leader", "follower")
        ]
        for config in configs:
            config |= {"config_operation": 1, "value": None} if value is None else {"config_operation": 0}
        node: dict[str, Any] = {"resource_type": 4, "resource_name": "2"}
        done = {"responses": [node | {"error_code": 0}]}
        scene.ask(at, (INCREMENTAL_ALTER_CONFIGS, 1), {"resources": [node | {"configs": configs}]}, done, client="ops")
    place = {"partition_index": 0, "replicas": [2]}
    scene.ask(1, (45, 0), {"topics": [{"name": "orders", "partitions": [place]}]}, {}, client="ops")
    going = {"partition_index": 0, "replicas": [1, 2], "adding_replicas": [2], "removing_replicas": [1]}
    for second in range(2, seconds):
        put(scene, second, batch_of(20, text="x" * 1000, first=0), 20 * second, client="clicks")
        if behind:
            _follow(scene, second + 0.5, behind[min(second, len(behind)) - 1])
        if not second % 4:
            over = ends and second > seconds - 5
            topics = [] if over else [{"name": "orders", "partitions": [going]}]
            scene.ask(second + 0.2, (46, 0), {"topics": None}, {"topics": topics}, client="ops")
    if cancelled:
        stopped = {"topics": [{"name": "orders", "partitions": [place | {"replicas": None}]}]}
        scene.ask(seconds, (45, 0), stopped, {}, client="ops")
    return scene


def _follow(scene: Scene, at: float, behind: int) -> None:
    """A Fetch of the new replica, so many records behind the high watermark."""
    wanted = {"partition": 0, "fetch_offset": 100_000 - behind}
    asked = {"replica_id": 2, "max_wait_ms": 500, "topics": [{"topic": "orders", "partitions": [wanted]}]}
    part = {"partition_index": 0, "high_watermark": 100_000, "records": b""}
    answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
    scene.ask(at, (FETCH, 11), asked, answer, client="broker-2-fetcher-0", host="10.0.0.8")


def outdated(times: int, *, least: int = 3, news: int = 0) -> Scene:
    """New connections whose first request is a Produce of a version that is not served, each ended at once.

    The next ones end by a reset; `news`: others of the host then end on ApiVersions.
    """
    served = ((PRODUCE, least), (FETCH, 4), (HEARTBEAT, 0), (API_VERSIONS, 0))
    versions = {"api_keys": [{"api_key": key, "min_version": low, "max_version": 13} for key, low in served]}
    scene = Scene().ask(0, (API_VERSIONS, 3), {"client_software_name": "kw"}, versions, client="shop", line=90)
    for number in range(times + news):
        how: dict[str, Any] = {"line": number, "took": 0.001, "ends": RST if number % 2 else FIN}
        if number < times:
            scene.ask(1 + number / 2, (PRODUCE, 2), {"acks": -1, "topic_data": []}, client="bridge", **how)
        else:
            scene.ask(1 + number / 2, (API_VERSIONS, 3), {"client_software_name": "kw"}, client="new", **how)
    return scene.ask(1 + times + news, (HEARTBEAT, 3), {"group_id": "g"}, {}, client="shop", line=90)


def logged_out(
    times: int, *, lifetime_ms: int = 8000, pause: float = 9, scene: Scene | None = None, **who: Any
) -> Scene:
    """Batches on connections with a login of this lifetime, closed after a pause, and sent again on the next one."""
    scene, at = scene or Scene(), 0.0
    for number in range(times):
        who["line"] = number
        scene.ask(at, (SASL_HANDSHAKE, 1), {"mechanism": "PLAIN"}, {"mechanisms": ["PLAIN"]}, **who)
        scene.ask(at + 0.1, (SASL_AUTHENTICATE, 1), {"auth_bytes": b""}, {"session_lifetime_ms": lifetime_ms}, **who)
        if number:
            put(scene, at + 0.2, batch_of(1, text=f"{number - 1}-"), number, **who)
        at += pause
        put(scene, at, batch_of(1, text=f"{number}-"), number, took=0.01, ends=FIN, **who)
        at += 0.1
    return scene


def not_completed(times: int, *, api: int = INIT_PRODUCER_ID, served: bool = False, over: bool = False) -> Scene:
    """Requests of a transactional id each 2 s, whose last transaction is still being completed; `served`: now and then.

    `over`: the last one succeeds.
    """
    scene = Scene()
    for number in range(times):
        code = 0 if (served and number % 3 == 1) or (over and number == times - 1) else 51
        asked: dict[str, Any] = {"transactional_id": "tx", "transaction_timeout_ms": 60_000}
        answer: dict[str, Any] = {"error_code": code}
        if api == ADD_PARTITIONS_TO_TXN:
            topics = [{"name": "orders", "partitions": [0]}]
            asked = {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": topics}
            its = [{"partition_index": 0, "partition_error_code": code}]
            answer = {"results_by_topic_v3_and_below": [{"name": "orders", "results_by_partition": its}]}
        scene.ask(number * 2, (api, 3), asked, answer, client="pay")
    return scene


def completed_soon(times: int, *, ends: bool = True) -> Scene:
    """A transaction each 20 s; all but the first begin at the second try, 20 ms later, as the one before is ending.

    `ends`: else the first one is never completed.
    """
    scene = Scene()
    topics = [{"name": "orders", "partitions": [0]}]
    for number in range(times):
        for at, code in ((0, 51), (0.02, 0 if ends else 51)) if number else ((0, 0),):
            asked = {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": topics}
            its = [{"partition_index": 0, "partition_error_code": code}]
            answer = {"results_by_topic_v3_and_below": [{"name": "orders", "results_by_partition": its}]}
            scene.ask(number * 20 + at, (ADD_PARTITIONS_TO_TXN, 3), asked, answer, client="pay")
        if ends or not number:
            scene.ask(number * 20 + 0.1, (END_TXN, 3), {"transactional_id": "tx", "committed": True}, {}, client="pay")
    return scene


def commits(times: int, *, records: int = 1, every: float = 0.02) -> Scene:
    """A member that reads and commits so many records at a time."""
    scene = get(join(0, Scene(), "mail"), 0.5, 0, times, client="mail", newest=times)
    for number in range(times):
        parts = [{"partition_index": 0, "committed_offset": number * records}]
        commit(1 + number * every, scene, "mail", 0, topics=[{"name": "orders", "partitions": parts}])
    return scene


def producer_ids(times: int, *, every: float = 0.2, name: str | None = None, hosts: int = 1) -> Scene:
    """A client that asks for a producer id again and again, or on so many `hosts` in turn."""
    scene = Scene()
    for number in range(times):
        asked = {"transactional_id": name, "transaction_timeout_ms": 60_000}
        host = f"10.0.0.{1 + number % hosts}"
        scene.ask(number * every, (INIT_PRODUCER_ID, 3), asked, {"producer_id": number}, client="web", host=host)
    return scene


def full_group() -> Scene:
    """A member that a group with three members does not take."""
    scene = Scene()
    for number in range(3):
        join(number, scene, f"worker-{number}", member_id=f"m-{number}")
    for number in range(8):
        join(4 + 2 * number, scene, "worker-9", code=81)
    return scene


def made_again() -> Scene:
    """Fetches of a topic by the id that it had before it was deleted and made again."""
    deleted = {"responses": [{"name": "orders", "error_code": 0}]}
    scene = Scene().ask(0, (DELETE_TOPICS, 4), {"topic_names": ["orders"]}, deleted, client="ops")
    for number in range(8):
        get(scene, 1 + 2 * number, 5, 5, client="mail", error=103)
    return scene


def registered_twice() -> Scene:
    """A broker whose node id another one has."""
    scene = Scene()
    for number in range(8):
        asked = {"broker_id": 3, "cluster_id": "kw"}
        scene.ask(2 * number, (62, 0), asked, {"error_code": 101}, client="broker-3", host="10.0.0.7")
    return scene


def fenced(seconds: int, *, caught_up: bool = False, over: bool = False, stops: bool = False) -> Scene:
    """Heartbeats of a broker that its controller keeps fenced; `over`: not the last ones; `stops`: it wants to stop."""
    scene = Scene()
    for second in range(0, seconds, 2):
        asked = {"broker_id": 3, "want_fence": False, "want_shut_down": stops}
        is_fenced = not (over and second > seconds - 5)
        answer = {"is_caught_up": caught_up, "is_fenced": is_fenced}
        scene.ask(second, (63, 0), asked, answer, client="broker-3", host="10.0.0.7")
    return scene


def fenced_at_starts(*begins: int, until: int = 640, lasts: int = 4, longer: int = 0) -> Scene:
    """Heartbeats of a broker that starts at these times, and is fenced for a few seconds at each start.

    `longer`: for as many more at the last one.
    """
    scene = Scene()
    for second in range(begins[0], until, 2):
        asked = {"broker_id": 3, "want_fence": False, "want_shut_down": False}
        is_fenced = any(begin <= second < begin + lasts + longer * (begin == begins[-1]) for begin in begins)
        answer = {"is_caught_up": True, "is_fenced": is_fenced}
        scene.ask(second, (63, 0), asked, answer, client="broker-3", host="10.0.0.7")
    return scene


def pending_offsets(times: int) -> Scene:
    """A transaction that has committed offsets of a group, and a member that may not know them before it ends."""
    name = {"transactional_id": "tx", "group_id": "billing"}
    scene = Scene().ask(0, (25, 3), name, {}, client="settle")
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
    done = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": 0}]}]}
    scene.ask(0.5, (28, 3), name | {"topics": topics}, done, client="settle")
    for number in range(times):
        asked = {
            "group_id": "billing",
            "require_stable": True,
            "topics": [{"name": "orders", "partition_indexes": [0]}],
        }
        said = {"topics": [], "error_code": 88}
        scene.ask(1 + 2 * number, (9, 7), asked, said, client="mail")
    return scene


def living_group() -> Scene:
    """A group that somebody wants to delete while it has a member."""
    scene = join(0, Scene(), "worker-0")
    for number in range(4):
        refused = {"results": [{"group_id": "billing", "error_code": 68}]}
        scene.ask(1 + number, (DELETE_GROUPS, 1), {"groups_names": ["billing"]}, refused, client="ops")
    return scene


CAUSE_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("producer-forgotten", idle_producer(20), "error"),
        "batch (transactional id payout) was idle for 20s, and its coordinator has forgotten its producer id: Produce"
        " is refused with INVALID_PRODUCER_ID_MAPPING, and it has written nothing since, for 20s",
    ),
    ("producer-forgotten", idle_producer(20, 8, 8), "error", "batch (transactional id payout) was idle for 20s"),
    ("producer-forgotten", idle_producer(20, anew=True), "warning", "; later it began anew"),
    (
        *("producer-forgotten", idle_producer(30, code=UNKNOWN_PRODUCER, name=None), "error"),
        "batch (topic orders) was idle for 30s, and the leader has forgotten its producer id: Produce is refused with"
        " UNKNOWN_PRODUCER_ID, and it has written nothing since, for 20s",
    ),
    (
        *("other-node-answers", wrong_node(6), "error"),
        "10.0.0.9:9092 is the address of node 2, and another node answers there: NOT_LEADER_OR_FOLLOWER (Produce) for"
        " orders-1 each time; the answers themselves name node 2 at 10.0.0.9:9092 as the leader",
    ),
    (
        *("other-node-answers", wrong_node(8, version=8), "error"),
        "NOT_LEADER_OR_FOLLOWER (Produce) for orders each time; the client has asked for metadata meanwhile, and no",
    ),
    (
        *("other-node-answers", wrong_coordinator(8), "error"),
        "10.0.0.9:9092 is the address of node 2, and another node answers there: NOT_COORDINATOR (JoinGroup) for group"
        " billing each time; each look-up names 10.0.0.9:9092 as the coordinator's address, also since",
    ),
    (
        *("other-node-answers", wrong_controller(8), "error"),
        "NOT_CONTROLLER (CreateTopics) for new each time; the metadata name node 2 as the controller, before and since",
    ),
    (
        *("share-lock-ended", share(12, 12, 12), "error"),
        "worker (share group thumbs-group) acknowledges records of thumbs 12s after getting them, and their lock ends"
        " after 4s: INVALID_RECORD_STATE (ShareAcknowledge); records are delivered up to 3 times; none was",
    ),
    ("share-lock-ended", share(40, 35, lock_ms=0, deliveries=1), "error", "35s to 40s after getting them, and their"),
    ("share-lock-ended", share(12, 12, in_fetch=True), "error", "after 4s: INVALID_RECORD_STATE (ShareFetch); records"),
    (
        "share-lock-ended",
        share(12, 12, done=True),
        "warning",
        "INVALID_RECORD_STATE (ShareAcknowledge); records are",
    ),
    (
        *("share-lock-ended", held_long(8, 8, 9), "warning"),
        "slow (share group mailer) holds records of thumbs for longer than their lock lasts, 5s: quick got 30 of them"
        " again, after 8.2s to 9.2s; it acknowledges them 8.5s to 9.5s after getting them, and no error says that",
    ),
    ("share-lock-ended", held_long(6), "note", "quick got 10 of them again, after 6.2s; it acknowledges them 6.5s"),
    (
        *("move-stalled", moved(40), "warning"),
        "the move of orders-0 to node 2 has not ended after 35s: the replication throttle (10.0kB/s, set by ops at"
        " 14:13:20 UTC) is lower than what is written there (2",
    ),
    (
        *("move-stalled", moved(40, throttle=None, behind=(20_000, 30_000)), "warning"),
        "the move of orders-0 to node 2 has not ended after 35s: node 2 is 30,000 records behind in orders-0, and was",
    ),
    (
        "version-refused",
        outdated(12),
        "error",
        "Produce 2 of bridge is not served by 10.0.0.9:9092, 12 times, every 500ms",
    ),
    ("entry-closed", outdated(0, news=4), "error", "10.0.0.9:9092 closes new connections of 10.0.0.1 (new) at once"),
    ("entry-closed", outdated(4, news=4), "error", "10.0.0.9:9092 closes new connections of 10.0.0.1 (new) at once"),
    (
        *("transaction-stuck", not_completed(15), "error"),
        "the last transaction of tx (pay) is not completed: CONCURRENT_TRANSACTIONS (InitProducerId) for 28s",
    ),
    ("transaction-stuck", not_completed(15, api=ADD_PARTITIONS_TO_TXN), "error", "the last transaction of tx (pay)"),
    ("transaction-stuck", completed_soon(15, ends=False), "error", "the last transaction of tx (pay) is not completed"),
    ("transaction-stuck", not_completed(15, over=True), "warning", "the last transaction of tx (pay) is not completed"),
    ("commits-frequent", commits(600), "note", "group billing commits 50 times a second on orders, after 1.0 records"),
    ("producer-ids-frequent", producer_ids(60), "warning", "web asks for 5.1 producer ids a second: likely it makes"),
    ("producer-ids-frequent", producer_ids(120, hosts=2), "warning", "web asks for 5.0 producer ids a second: likely"),
    (
        *("answered-with-error", full_group(), "error"),
        "group billing: GROUP_MAX_SIZE_REACHED (JoinGroup): it has 3 members (worker-0, worker-1, worker-2)",
    ),
    (
        *("answered-with-error", made_again(), "error"),
        "topic orders: INCONSISTENT_TOPIC_ID (Fetch): ops deleted it at 14:13:20 UTC, and it was made again",
    ),
    (
        *("answered-with-error", registered_twice(), "error"),
        "client broker-3: DUPLICATE_BROKER_REGISTRATION (BrokerRegistration), 8 times, every 2s: it asks for node.id=3",
    ),
    (
        "login-expired",
        logged_out(5),
        "warning",
        "app does not log in again: 10.0.0.9:9092 closes 5 of its connections,",
    ),
    ("sent-twice", logged_out(5, lifetime_ms=0), "warning", "app sent 4 batches to orders again without idempotence"),
    (
        "broker-fenced",
        fenced(40),
        "error",
        "node 3 runs and its controller keeps it fenced for 38s: it has not",
    ),
    ("broker-fenced", fenced(40, over=True, caught_up=True), "warning", "fenced for 34s: it has caught up with the"),
    ("broker-fenced", fenced_at_starts(0, lasts=40), "warning", "fenced for 38s: it has caught up with the"),
    # A long time beside a short one.
    ("broker-fenced", fenced_at_starts(0, 100, longer=60), "warning", "fenced for 62s: it has caught up with the"),
    ("broker-fenced", fenced_at_starts(0, 100, longer=60, until=162), "error", "fenced for 60s: it has caught up with"),
    (
        *("answered-with-error", pending_offsets(8), "error"),
        "group billing: UNSTABLE_OFFSET_COMMIT (OffsetFetch): offsets wait for the end of the transaction of tx",
    ),
    (
        *("answered-with-error", living_group(), "warning"),
        "group billing: NON_EMPTY_GROUP (DeleteGroups): it has 1 member (worker-0)",
    ),
]
CAUSE_BESIDES: Final[dict[str, set[str]]] = {
    "move-stalled": {"follower-behind"},
    "entry-closed": {"version-refused"},
    "sent-twice": {"timed-out", "unanswered"},
}
CAUSE_NEAR: Final[list[tuple[str, Scene]]] = [
    ("producer-forgotten", idle_producer(2)),
    ("producer-forgotten", idle_producer(20, taken=True)),  # another one has a new id for it
    ("other-node-answers", wrong_node(6, leader=3)),  # it says who the leader is
    ("other-node-answers", wrong_node(3)),  # the leader knows it in a moment
    ("other-node-answers", wrong_node(8, version=8, epochs=(4, 4, 4, 5))),
    ("other-node-answers", wrong_node(8, version=8, asks=False)),
    ("other-node-answers", wrong_coordinator(8, moved=True)),
    ("other-node-answers", wrong_coordinator(8, served=True)),
    ("other-node-answers", wrong_controller(8, moved=True)),
    ("transaction-stuck", not_completed(5)),
    ("broker-fenced", fenced(10)),
    ("broker-fenced", fenced(40, stops=True)),
    ("broker-fenced", fenced_at_starts(0, 600)),  # two starts, of a few seconds each
    ("broker-fenced", fenced_at_starts(0, 300, 600)),
    ("broker-fenced", fenced_at_starts(0, 60, until=64)),  # it is fenced at the end again
    ("transaction-stuck", not_completed(15, served=True)),
    ("transaction-stuck", completed_soon(30)),
    ("commits-frequent", commits(600, records=50)),
    ("commits-frequent", commits(600, every=0.1)),
    ("producer-ids-frequent", producer_ids(60, name="tx")),
    ("producer-ids-frequent", producer_ids(60, every=4)),
    ("producer-ids-frequent", producer_ids(60, hosts=60)),  # all hosts of a program start anew
    ("producer-ids-frequent", producer_ids(90, every=1, hosts=45)),
    ("sent-twice", logged_out(5)),  # no first try was handled
    ("entry-closed", outdated(12)),
    ("share-lock-ended", share(2, 2, 2)),
    ("share-lock-ended", share(12, 12, refused=False)),
    ("share-lock-ended", held_long(4, 4, 4)),
    ("share-lock-ended", held_long(8, 8, 8, released=True)),
    ("share-lock-ended", held_long(5.5, 5.5, 5.5, renewed=True)),
    ("share-lock-ended", held_long(8, gone=True)),
    ("share-lock-ended", share(2, 2, 2, asked_twice=True)),
    ("move-stalled", moved(40, ends=True)),
    ("move-stalled", moved(40, throttle=100_000)),
    ("move-stalled", moved(40, removed=True)),
    ("move-stalled", moved(40, cancelled=True)),
    ("move-stalled", moved(15)),
    ("move-stalled", moved(40, throttle=None, behind=(*range(60_000, 0, -2000),))),  # it comes nearer
]
