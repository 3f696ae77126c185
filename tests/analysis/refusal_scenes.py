"""Scenes of refused requests whose cause other exchanges show, and near ones: rows for test_doctor.py."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from decoders.embedded import encode_embedded
from decoders.protocol_facts.api_keys import (
    ADD_PARTITIONS_TO_TXN,
    CREATE_TOPICS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    PRODUCE,
    SASL_HANDSHAKE,
    SYNC_GROUP,
)
from tests.analysis.identity_scenes import commit, join
from tests.analysis.record_scenes import batch_of, get, put
from tests.analysis.scenes import FIN, Scene

UNKNOWN_MEMBER, SESSION_TIMEOUT, INVALID_EPOCH, NO_MECHANISM, INVALID_RECORD = 25, 26, 47, 33, 87
NO_MEMBER: Final = {"member_id": "", "generation_id_or_member_epoch": -1}


def look_ups(
    times: int,
    *,
    every: float = 2,
    found: bool = False,
    kind: int = 0,
    brokers: int = 1,
    replicas: tuple[int, ...] = (),
    made: str = "",
) -> Scene:
    """Look-ups of a coordinator that nobody gets; `found`: that of another group is there; `replicas`: of a topic.

    `made`: the broker asks the controller for this topic, and is refused.
    """
    scene = Scene()
    nodes = [{"node_id": number, "host": "10.0.0.9", "port": 9091 + number} for number in range(1, brokers + 1)]
    part = {"partition_index": 0, "leader_id": 1, "replica_nodes": [*replicas], "isr_nodes": [1]}
    topics = [{"name": "orders", "partitions": [part]}] if replicas else []
    scene.ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": topics}, client="other")
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
        if made:
            its = {"name": made, "error_code": 38, "error_message": "3 times cannot be reached: 1 broker is there"}
            scene.ask(1.1 + number * every, (CREATE_TOPICS, 5), {"topics": [{"name": made}]}, {"topics": [its]}, line=9)
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


# Two of three brokers are down: the topic of coordinators has replicas there.
COORDINATORS_DOWN: Final = look_ups(8, replicas=(1, 2, 3))


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


def refused_batches(code: int, *, version: int = 3, codec: str = "zstd", every: float = 4) -> Scene:
    """Batches that are refused with a code."""
    scene = Scene()
    for number in range(4):
        data = batch_of(200 + number, codec=codec)
        asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": data}]}]}
        part = {"index": 0, "error_code": code}
        answer = {"responses": [{"name": "orders", "partition_responses": [part]}]}
        scene.ask(number * every, (PRODUCE, version), asked, answer, client="feed")
    return scene


def subscribed(*topics: tuple[str, ...], apart: bool = False) -> Scene:
    """Members of a group that ask for these topics, and are heard for 10 s; `apart`: one after the other."""
    scene = Scene()
    for number, its in enumerate(topics):
        begin = number * (30 if apart else 1)
        wanted = encode_embedded("ConsumerProtocolSubscription", 0, {"topics": [*its]})
        asked: dict[str, Any] = {"group_id": "workers", "member_id": f"m-{number}", "protocol_type": "consumer"}
        asked |= {"session_timeout_ms": 6000, "protocols": [{"name": "range", "metadata": wanted}]}
        answer = {"generation_id": number + 1, "member_id": f"m-{number}"}
        scene.ask(begin, (JOIN_GROUP, 5), asked, answer, client=f"app-{number}")
        for second in range(1, 11):
            beat = {"group_id": "workers", "member_id": f"m-{number}"}
            scene.ask(begin + second, (HEARTBEAT, 3), beat, {}, client=f"app-{number}")
    return scene


def take_turns() -> Scene:
    """Two programs that run one after the other in one group, the first one twice."""
    scene = subscribed(("orders",))
    for number, (client, topic) in enumerate((("app-1", "mail"), ("app-0", "orders")), 1):
        wanted = encode_embedded("ConsumerProtocolSubscription", 0, {"topics": [topic]})
        its: dict[str, Any] = {"group_id": "workers", "member_id": f"m-{number}"}
        asked = its | {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": wanted}]}
        answer = {"generation_id": number + 1, "member_id": f"m-{number}"}
        scene.ask(30 * number, (JOIN_GROUP, 5), asked, answer, client=client)
        for second in range(1, 11):
            scene.ask(30 * number + second, (HEARTBEAT, 3), its, {}, client=client)
    return scene


def bursts(times: int) -> Scene:
    """10,000 records each 20 s, which the group has committed 3 s later; the capture ends 1 s after the last ones."""
    scene, end = Scene(), 0
    for number in range(times):
        for part in range(20):
            at = number * 20 + part / 50
            data = batch_of(500, first=end)
            put(scene, at, batch_of(500), end)
            get(scene, at + 0.005, end, end + 500, client="mail", newest=end + 500)
            end += len(data) and 500
        if number < times - 1:
            for later in (3, 15):
                commit(number * 20 + later, scene, "mail", 0, topics=committed_at(end))
    return scene.ask(times * 20 - 19, (HEARTBEAT, 3), {"group_id": "billing", "member_id": "m"}, {}, client="mail")


def restarted_member() -> Scene:
    """The member with the only partition dies and comes back as another one; the idle one has taken its place."""
    scene = Scene()
    for member, client, times, count in (
        ("m-0", "a", (0, 15), 1),
        ("m-1", "b", (0, 60), 0),
        ("m-1", "b", (16, 60), 1),
        ("m-2", "a", (20, 60), 0),
    ):
        rows = [{"topic": "orders", "partitions": [0]}] if count else []
        given = encode_embedded("ConsumerProtocolAssignment", 0, {"assigned_partitions": rows})
        its: dict[str, Any] = {"group_id": "workers", "member_id": member}
        scene.ask(times[0], (SYNC_GROUP, 3), its, {"assignment": given}, client=client)
        for second in range(times[0] + 1, times[1], 2):
            scene.ask(second + 0.3, (HEARTBEAT, 3), its, {}, client=client)
    return scene


def assigned(*counts: int, seconds: int = 12, then: int | None = None) -> Scene:
    """Members that get so many partitions, and are heard for some seconds; the first gets `then` later."""
    scene = Scene()
    for number, count in enumerate(counts):
        for at, its in [(0.0, count)] + ([(6.0, then)] if then is not None and not number else []):
            rows = [{"topic": "orders", "partitions": [*range(its)]}] if its else []
            given = encode_embedded("ConsumerProtocolAssignment", 0, {"assigned_partitions": rows})
            asked = {"group_id": "workers", "member_id": f"m-{number}"}
            scene.ask(at, (SYNC_GROUP, 3), asked, {"assignment": given}, client=f"app-{number}")
        for second in range(1, seconds + 1, 2):
            beat = {"group_id": "workers", "member_id": f"m-{number}"}
            scene.ask(second, (HEARTBEAT, 3), beat, {}, client=f"app-{number}")
    return scene


def slow_group(committed: int, *, written: int = 100, seconds: int = 30) -> Scene:
    """A group that commits so many records a second of those that are written, and fetches them all."""
    scene = Scene()
    for second in range(seconds):
        put(scene, second, batch_of(written), second * written)
        asked = {
            "max_wait_ms": 500,
            "topics": [{"topic": "orders", "partitions": [{"fetch_offset": second * written}]}],
        }
        data = batch_of(written, first=second * written)
        part = {"partition_index": 0, "high_watermark": (second + 1) * written, "records": data}
        answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
        scene.ask(second + 0.5, (FETCH, 11), asked, answer, client="mail")
        commit(second + 0.6, scene, "mail", 0, topics=committed_at(committed * second))
    return scene


def committed_at(offset: int) -> list[dict[str, Any]]:
    """The topics of a commit."""
    return [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": offset}]}]


def reset_by_tool(*, who: str = "ops", begins: int = 50, joins: bool = False) -> Scene:
    """A member reads up to 300, somebody sets the group's offset to 50, and the member begins at `begins`."""
    scene = join(0, Scene(), "mail")
    get(scene, 1, 0, 300, client="mail")
    if joins:
        join(2, scene, who)
    commit(3, scene, who, 0, **NO_MEMBER | {"topics": committed_at(50)})
    return _fetch_offset(5, join(4, scene, "mail"), "mail", begins)


def _fetch_offset(at: float, scene: Scene, client: str, offset: int, *, line: int = 0) -> Scene:
    parts = [{"partition_index": 0, "committed_offset": offset}]
    wanted = {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0]}]}
    return scene.ask(
        *(at, (OFFSET_FETCH, 5), wanted, {"topics": [{"name": "orders", "partitions": parts}]}),
        client=client,
        line=line,
    )


def without_position(
    *, looks: bool = False, fetches: bool = False, outside: bool = False, seconds: int = 10, nodes: int = 0
) -> Scene:
    """A member without a committed offset, or with one outside of the log; `looks`: for the begin of the log.

    `nodes`: so many are listed, of which the capture has the first.
    """
    scene = _fetch_offset(1, join(0, Scene(), "strict"), "strict", 10 if outside else -1)
    if nodes:
        listed = [{"node_id": number, "host": f"10.0.0.{10 - number}", "port": 9092} for number in range(1, nodes + 1)]
        scene.ask(1.2, (METADATA, 9), {}, {"brokers": listed, "topics": []}, client="strict")
    if outside:
        get(scene, 1.5, 10, 10, client="strict", error=1)
    if looks:
        asked = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -2}]}]}
        parts = [{"partition_index": 0, "offset": 0}]
        scene.ask(2, (LIST_OFFSETS, 5), asked, {"topics": [{"name": "orders", "partitions": parts}]}, client="strict")
    for second in range(3, 3 + seconds):
        scene.ask(second, (HEARTBEAT, 3), {"group_id": "billing", "member_id": "m"}, {}, client="strict")
        if fetches:
            get(scene, second + 0.5, 0, 0, client="strict")
    return scene


def silent_member(*, pause: float = 12) -> Scene:
    """A member that is not heard for a while, and not known then."""
    scene = join(0, Scene(), "pod-0", session_timeout_ms=6000)
    beat = {"group_id": "billing", "member_id": "m"}
    scene.ask(2, (HEARTBEAT, 3), beat, {}, client="pod-0")
    for number in range(4):
        scene.ask(3 + pause + number, (HEARTBEAT, 3), beat, {"error_code": UNKNOWN_MEMBER}, client="pod-0")
    return scene


def copied_offset(
    offset: int, *, starts: int = 4, first: int = 0, other: bool = True, until: float = 60, set_by: str = ""
) -> Scene:
    """A member that starts each 4 s at a committed offset that is not in the log; another one reads on meanwhile.

    `first`: where the other one begins; `until`: when it reads last.
    """
    scene = Scene()
    if set_by:
        commit(0.5, scene, set_by, 0, **NO_MEMBER | {"topics": committed_at(offset)})
    for at in range(0, 60, 5):
        if other and at <= until:
            get(scene, at, first + at, first + at + 5, client="audit", newest=first + at + 5)
    for number in range(starts):
        at = 10 + 4 * number
        join(at, scene, "settle", line=number + 1)
        _fetch_offset(at + 0.1, scene, "settle", offset, line=number + 1)
        get(scene, at + 0.2, offset, offset, client="settle", error=1, line=number + 1)
    return scene


def refused_position(position: int, *ends: tuple[float, int]) -> Scene:
    """A reader without a group whose position is outside of the log from 10 s on; the log's end as listed at times."""
    scene = Scene()
    for at, offset in ends:
        asked = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
        parts = [{"partition_index": 0, "offset": offset, "timestamp": -1}]
        scene.ask(
            at, (LIST_OFFSETS, 5), asked, {"topics": [{"name": "orders", "partitions": parts}]}, client="exporter"
        )
    for number in range(4):
        get(scene, 10 + 4 * number, position, position, client="reader", error=1, line=number + 1)
    return scene


def abandoned(
    *gaps: float,
    wait_ms: int = 15_000,
    took: float = 5,
    answered: bool = False,
    ended: bool = True,
    reads: bool = False,
    late: bool = False,
    joins: bool = False,
) -> Scene:
    """Fetches that wait, each on a connection of its own so many seconds after the one before, and end without answer.

    `answered`: one more Fetch gets records; `ended`: the connections end; `reads`: it got records before; `late`: the
    broker answers when the time is over; `joins`: they are no Fetches, but JoinGroups.
    """
    scene = join(0, Scene(), "report")
    if reads:
        get(scene, 0.5, 0, 10, client="report", newest=10, line=99)
    at = 1.0
    for number, gap in enumerate((*gaps, 0.0)):
        asked: dict[str, Any] = {"max_wait_ms": wait_ms, "min_bytes": 1_000_000}
        asked["topics"] = [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 0}]}]
        how: dict[str, Any] = {"took": took, "ends": FIN} if ended else {"took": inf}
        how = {"took": wait_ms / 1000} if late else how
        if joins:
            its = {"group_id": "billing", "protocol_type": "consumer", "rebalance_timeout_ms": wait_ms}
            said = {"generation_id": number, "member_id": "m"}
            scene.ask(at, (JOIN_GROUP, 5), its, said, client="report", line=number, **how)
        else:
            scene.ask(at, (FETCH, 11), asked, {}, client="report", line=number, **how)
        at += gap
    if answered:
        get(scene, at, 0, 10, client="report", newest=10, line=98)
    return scene.ask(at + 9, (HEARTBEAT, 3), {"group_id": "g"}, {}, client="other")


REFUSAL_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("coordinator-never", look_ups(8), "error"),
        "no group gets a coordinator: COORDINATOR_NOT_AVAILABLE (FindCoordinator) on each look-up (billing, mail):"
        " likely __consumer_offsets wants more replicas than the 1 broker of the cluster can hold",
    ),
    (
        *("coordinator-never", look_ups(8, made="__consumer_offsets"), "error"),
        "each look-up (billing, mail): __consumer_offsets cannot be made, as its CreateTopics is refused with"
        ' INVALID_REPLICATION_FACTOR: "3 times cannot be reached: 1 broker is there"',
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
        *("codec-too-new", zstd_read(4), "note"),
        "export gets batches of orders compressed with zstd, and asks with Fetch 4: zstd needs Fetch 10; it reads"
        " on behind them; terraform set compression.type=zstd at ",
    ),
    ("codec-too-new", zstd_read(4, again=3), "error", "; it fetches the same records again and again; terraform set "),
    (
        *("login-failed", mechanisms("SCRAM-SHA-512", "PLAIN", "PLAIN", "PLAIN"), "error"),
        "logins of app fail with UNSUPPORTED_SASL_MECHANISM: it asks for sasl.mechanism=PLAIN, the broker offers"
        " SCRAM-SHA-512; SCRAM-SHA-512 was taken before, last at ",
    ),
    (
        *("answered-with-error", session_timeouts(45_000, *[180_000] * 4), "error"),
        "group billing: INVALID_SESSION_TIMEOUT (JoinGroup), 4 times, every 4s: invoicing-1 asks for"
        " session.timeout.ms=180000; 45000 was taken before, last at ",
    ),
    ("answered-with-error", session_timeouts(*[180_000] * 4, every=1), "warning", "group billing: INVALID_SESSION_TIM"),
    (
        *("answered-with-error", refused_batches(76), "error"),
        "topic orders: UNSUPPORTED_COMPRESSION_TYPE (Produce): batches with zstd in Produce 3 (zstd needs 7)",
    ),
    (
        *("too-large", refused_batches(10, codec="none"), "error"),
        "topic orders: MESSAGE_TOO_LARGE (Produce): batches of 2",
    ),
    (
        *("group-mixed", subscribed(("orders",), ("mail", "calls")), "warning"),
        "group workers is shared by programs that read different topics: app-0 (topic orders) and app-1 (topic calls,"
        " mail)",
    ),
    (
        "members-idle",
        assigned(2, 0, 0),
        "note",
        "2 of 3 members of group workers have no partition; the group has 2 in",
    ),
    (
        "members-idle",
        restarted_member(),
        "note",
        "1 of 2 members of group workers has no partition; the group has 1 in",
    ),
    (
        *("group-behind", slow_group(20), "warning"),
        "group billing falls behind on orders: it commits 20.0 records a second, 100.0 are written; it is 2,420 behind",
    ),
    (
        *("offsets-set", reset_by_tool(), "warning"),
        "ops set the offset of orders-0 in group billing to 50 at 14:13:23 UTC, and members began there, though they"
        " have read up to 300",
    ),
    (
        *("position-missing", without_position(nodes=1), "error"),
        "strict in group billing reads nothing of orders-0: the group has no committed offset there, and it looks",
    ),
    (
        *("position-missing", without_position(outside=True), "error"),
        "strict in group billing reads nothing of orders-0: its position is outside of the log, and it looks for no",
    ),
    (
        *("offset-out-of-range", copied_offset(50_000), "error"),
        "topic orders: OFFSET_OUT_OF_RANGE (Fetch): the committed offset 50,000 of group billing in partition 0 is"
        " behind the end of the log, at most 60; it was committed before the capture; settle has joined 4 times and got"
        " no record of the topic",
    ),
    (
        *("offset-out-of-range", copied_offset(50_000, set_by="copier"), "error"),
        "is behind the end of the log, at most 60; copier committed it at 14:13:20 UTC, without being a member; settle",
    ),
    (
        *("offset-out-of-range", copied_offset(20, first=1000), "error"),
        "the committed offset 20 of group billing in partition 0 is not behind the end of the log, at least 1,000, so",
    ),
    (
        *("fetch-abandoned", abandoned(5.5, 5.2, 5.6, 5.5), "error"),
        "report (group billing) gets nothing of orders: it gives up each Fetch, 5 times, and sends the next on a new"
        " connection within 5.2s, though it lets the broker wait for 15000 ms (fetch.max.wait.ms) until there are 1",
    ),
    (
        *("fetch-abandoned", abandoned(6.5, 6.2, 6.6, 6.5, wait_ms=20_000, late=True), "error"),
        "it gives up each Fetch, 5 times, and sends the next on a new connection within 6.2s, though it lets",
    ),
    (
        *("join-abandoned", abandoned(30, 30.2, 30.1, wait_ms=60_000, late=True, joins=True), "error"),
        "report (group billing) does not get into its group: it gives up each JoinGroup, 4 times, and sends the",
    ),
    (
        "join-abandoned",
        abandoned(30, 30.2, 30.1, wait_ms=60_000, took=29, joins=True),
        "error",
        "report (group billing)",
    ),
    ("fetch-abandoned", abandoned(5.5, 5.2, 5.6, reads=True), "error", "report (group billing) gets nothing of orders"),
    (
        *("member-fenced", silent_member(), "warning"),
        "group billing: UNKNOWN_MEMBER_ID (Heartbeat): pod-0 was not heard for 12s, and its session times out after 6s",
    ),
    (
        *("records-refused", keyless_records(4), "error"),
        'topic orders: INVALID_RECORD (Produce): "no key given"; terraform set cleanup.policy=compact, changed'
        " secret.of.a.plugin at 14:13:20 UTC, 100ms before",
    ),
]
REFUSAL_BESIDES: Final[dict[str, set[str]]] = {
    "position-missing": {"offset-out-of-range"},
    "member-fenced": {"heartbeats-late"},
    "offset-out-of-range": {"offsets-set"},
}
REFUSAL_NEAR: Final[list[tuple[str, Scene]]] = [
    ("coordinator-never", look_ups(8, found=True)),
    ("answered-with-error", look_ups(8, made="__consumer_offsets")),  # it is why there is no coordinator
    ("coordinator-never", look_ups(5)),  # 8 s: the topic is being made
    ("not-a-member", foreign_commits(4, member_id="m", generation_id_or_member_epoch=3)),
    ("not-a-member", foreign_commits(4, joins=True)),
    ("transaction-expired", transactions(1, 1)),
    ("transaction-expired", transactions(9, taken_by="other-settle")),
    ("transaction-expired", transactions(4.2)),  # by the second it is not known
    ("codec-too-new", zstd_read(10)),
    ("codec-too-new", zstd_read(4, codec="gzip")),
    ("group-mixed", subscribed(("orders", "mail"), ("orders",))),
    ("group-mixed", subscribed(("orders",), ("mail",), apart=True)),
    ("members-idle", assigned(1, 1)),
    ("members-idle", assigned(0, 0)),
    ("members-idle", assigned(0, 2, then=1)),
    ("members-idle", assigned(2, 0, seconds=6)),
    ("group-behind", slow_group(80)),
    ("group-behind", slow_group(20, seconds=9)),
    ("offsets-set", reset_by_tool(begins=300)),
    ("offsets-set", reset_by_tool(who="mail")),
    ("offsets-set", reset_by_tool(joins=True)),
    ("fetch-abandoned", abandoned(5.5, 5.2)),
    ("fetch-abandoned", abandoned(5.5, 5.2, 5.6, answered=True)),
    ("fetch-abandoned", abandoned(0.1, 0.1, 0.1, ended=False)),  # several at the end of the capture
    ("fetch-abandoned", abandoned(5.5, 60, 9, 300)),  # restarts
    ("fetch-abandoned", abandoned(21, 21, 21, 21, wait_ms=20_000, late=True)),  # each is answered before the next
    ("join-abandoned", abandoned(70, 70, 70, wait_ms=60_000, late=True, joins=True)),
    ("fetch-abandoned", abandoned(5.5, 5.2, 5.6, wait_ms=500)),
    ("position-missing", without_position(looks=True)),
    ("position-missing", without_position(fetches=True)),
    ("position-missing", without_position(outside=True, fetches=True)),
    ("position-missing", without_position(seconds=2)),
    ("position-missing", without_position(nodes=2)),  # it may read from the other one
    ("group-mixed", take_turns()),
    ("group-behind", bursts(3)),
    ("members-idle", assigned(2, 0).ask(40, (HEARTBEAT, 3), {"group_id": "g"}, {}, client="other")),  # it is gone
]
