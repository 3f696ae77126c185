"""Scenes of shared names, refused protocols, changed passwords, deleted topics, and near ones: for test_doctor.py."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from json import dumps
from typing import Any, Final

from decoders.protocol_facts.api_keys import (
    ALTER_USER_SCRAM_CREDENTIALS,
    DELETE_TOPICS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEAVE_GROUP,
    METADATA,
    OFFSET_COMMIT,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.scenes import BEGUN, MS, NS, Scene

INVALID_EPOCH, INCONSISTENT, UNKNOWN_MEMBER, FENCED = 47, 23, 25, 82
GROUP: Final = "billing"


def transactional_ids(users: str, *, fenced: bool = True, hosts: bool = False) -> Scene:
    """Clients that take one transactional id in this order; whoever had it before is then fenced."""
    scene = Scene()
    for at, user in enumerate(users):
        name, host = ("ledger-a" if hosts else f"ledger-{user}"), f"10.0.0.{1 + ord(user) % 9}"
        scene.ask(at, (INIT_PRODUCER_ID, 1), {"transactional_id": "tx"}, {"producer_id": 7}, client=name, host=host)
        if at and fenced:
            name, host = "ledger-a" if hosts else f"ledger-{users[at - 1]}", f"10.0.0.{1 + ord(users[at - 1]) % 9}"
            ended = {"error_code": INVALID_EPOCH}
            scene.ask(at + 0.5, (END_TXN, 1), {"transactional_id": "tx"}, ended, client=name, host=host)
    return scene


def join(
    at: float,
    scene: Scene,
    client: str,
    *,
    code: int = 0,
    offers: tuple[str, ...] = ("range",),
    line: int = 0,
    **more: Any,
) -> Scene:
    """A JoinGroup of a member with these assignors."""
    protocols = [{"name": name, "metadata": b""} for name in offers]
    asked = {"group_id": GROUP, "member_id": "m", "protocol_type": "consumer", "protocols": protocols} | more
    answer = {"generation_id": -1 if code else 1, "member_id": "m", "error_code": code}
    return scene.ask(at, (JOIN_GROUP, 5), asked, answer, client=client, line=line)


def commit(at: float, scene: Scene, client: str, code: int, **more: Any) -> Scene:
    """A commit of the group that is answered with a code."""
    parts = [{"partition_index": 0, "committed_offset": 5}]
    asked = {"group_id": GROUP, "member_id": "m", "topics": [{"name": "orders", "partitions": parts}]} | more
    answer = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": code}]}]}
    return scene.ask(at, (OFFSET_COMMIT, 7), asked, answer, client=client)


def instances(users: str) -> Scene:
    """Members that take one group.instance.id in this order; whoever had it before is then fenced."""
    scene, its = Scene(), dict[str, Any](group_instance_id="billing-0")
    for at, user in enumerate(users):
        join(at, scene, f"pod-{user}", **its)
        if at:
            commit(at + 0.5, scene, f"pod-{users[at - 1]}", FENCED, **its)
    return scene


def refused_joins(times: int, *, then: int = INCONSISTENT) -> Scene:
    """A member with a foreign assignor that is refused, and at last answered with the code `then`."""
    scene = join(0, join(0, Scene(), "old"), "older", offers=("range", "roundrobin"))
    for at in range(times):
        join(1 + at, scene, "new", code=INCONSISTENT, offers=("cooperative-sticky",))
    return join(1 + times, scene, "new", code=then, offers=("cooperative-sticky",))


FIRST, ASKED = (b"n,,n=reports,r=abc", b"r=abcdef,s=QUJD,i=4096")
FINAL, DONE = (b"c=biws,r=abcdef,p=QUJD", b"v=QUJD")


def scram(at: float, scene: Scene, *, line: int, succeeds: bool) -> Scene:
    """A login with SCRAM on a connection of its own."""
    scene.ask(at, (SASL_HANDSHAKE, 1), {"mechanism": "SCRAM-SHA-256"}, {"mechanisms": ["SCRAM-SHA-256"]}, line=line)
    scene.ask(at + 0.1, (SASL_AUTHENTICATE, 1), {"auth_bytes": FIRST}, {"auth_bytes": ASKED}, line=line)
    answer = {"auth_bytes": DONE} if succeeds else {"error_code": 58, "error_message": "no"}
    return scene.ask(at + 0.2, (SASL_AUTHENTICATE, 1), {"auth_bytes": FINAL}, answer, line=line)


def logins(*succeed: bool, changed: float = 0, user: str = "reports", late: bool = False) -> Scene:
    """Logins every 2 s, a change of the user's credentials at `changed`; `late`: the first round of one more."""
    scene = Scene()
    for number, good in enumerate(succeed):
        scram(2 * number, scene, line=number, succeeds=good)
    if changed:
        answer = {"results": [{"user": user, "error_code": 0}]}
        scene.ask(changed, (ALTER_USER_SCRAM_CREDENTIALS, 0), {}, answer, client="vault")
    if late:
        at = 2.0 * len(succeed)
        scene.ask(at, (SASL_HANDSHAKE, 1), {"mechanism": "SCRAM-SHA-256"}, {"mechanisms": []}, line=99)
        scene.ask(at + 0.1, (SASL_AUTHENTICATE, 1), {"auth_bytes": FIRST}, {"auth_bytes": ASKED}, line=99)
    return scene.ask(99, (METADATA, 9), {}, {}, client="other")


def left_again(times: int, *, fails: bool = False) -> Scene:
    """A member that leaves its group every 10 s and comes back 3 s later."""
    scene = join(0, Scene(), "app", rebalance_timeout_ms=6000)
    for number in range(1, times + 1):
        scene.ask(10 * number, (LEAVE_GROUP, 1), {"group_id": GROUP, "member_id": "m"}, {})
        if fails:
            commit(10 * number + 2, scene, "app", UNKNOWN_MEMBER)
        join(10 * number + 3, scene, "app", rebalance_timeout_ms=6000)
    return scene


def deleted(*, at: float = 1, code: int = 0) -> Scene:
    """A topic that is asked for every second, by name and by id, and that somebody deletes, or may not delete."""
    part = {"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
    there, gone = {"name": "orders", "partitions": [part]}, {"name": "orders", "error_code": 3}
    scene = Scene()
    for second in range(6):
        answer = {"brokers": [], "topics": [there if second < 2 else gone]}
        scene.ask(second, (METADATA, 9), {"topics": [{"name": "orders"}]}, answer)
    wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 5}]}]}
    parts = [{"partition_index": 0, "error_code": 100}]
    for second in range(3):
        scene.ask(2.5 + second, (FETCH, 11), wanted, {"responses": [{"topic": "orders", "partitions": parts}]})
    answer = {"responses": [{"name": "orders", "error_code": code}]}
    return scene.ask(at, (DELETE_TOPICS, 4), {"topic_names": ["orders"]}, answer, client="tidy")


def refused_batches(times: int, *, stored: int = 0) -> Scene:
    """Batches that are each sent twice and refused, but for the second try of the first `stored`."""
    scene = Scene()
    for number in range(times):
        record = Record(0, BEGUN // MS, None, b"x" * (40 + number))
        batch = encode_batch([record], Batch(producer_id=7, producer_epoch=0, base_sequence=number))
        asked = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
        for again, code in enumerate((3, 0 if number < stored else 3)):
            parts = [{"index": 0, "error_code": code}]
            answer = {"responses": [{"name": "orders", "partition_responses": parts}]}
            scene.ask(number + again / 2, (PRODUCE, 8), asked, answer)
    return scene


def failing(*codes: int, every: float = 10, until: float = 0) -> Scene:
    """Fetches every so many seconds that are answered with these codes, and a foreign exchange at the end."""
    scene = Scene()
    for number, code in enumerate(codes):
        wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 5}]}]}
        part = {"partition_index": 0, "error_code": code, "high_watermark": -1 if code else 5}
        answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
        scene.ask(number * every, (FETCH, 11), wanted, answer)
    return scene.ask(until, (HEARTBEAT, 3), {}, {}, client="other") if until else scene


def coordinator(*, used: bool) -> Scene:
    """A coordinator that is not there at first, and is found then; `used`: the group is joined through it."""
    wanted = {"key": GROUP, "key_type": 0}
    refused = {"error_code": 15, "node_id": -1, "host": "", "port": -1}
    scene = Scene().ask(0, (FIND_COORDINATOR, 2), wanted, refused)
    scene.ask(1, (FIND_COORDINATOR, 2), wanted, {"node_id": 1, "host": "10.0.0.9", "port": 9092})
    if used:
        join(2, scene, "app")
    return scene.ask(30, (HEARTBEAT, 3), {}, {}, client="other")


SHARED: Final = "in turns: each fences the other ("


def bearer(expires_s: int) -> Scene:
    """Logins with a token, which the broker refuses."""
    head, body = (urlsafe_b64encode(dumps(part).encode()).rstrip(b"=") for part in ({}, {"sub": "s", "exp": expires_s}))
    token = b"n,,\x01auth=Bearer " + head + b"." + body + b".c2ln\x01\x01"
    scene = Scene()
    for at in range(0, 36, 3):
        scene.ask(at, (SASL_HANDSHAKE, 1), {"mechanism": "OAUTHBEARER"}, {"mechanisms": ["OAUTHBEARER"]}, line=at)
        for step, code in ((token, 0), (b"\x01", LOGIN_FAILED)):
            answer = {"error_code": code, "auth_bytes": b"" if code else b'{"status":"invalid_token"}'}
            scene.ask(at + 1 + bool(code), (SASL_AUTHENTICATE, 1), {"auth_bytes": step}, answer, line=at)
    return scene


LOGIN_FAILED: Final = 58

IDENTITY_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("login-failed", bearer(BEGUN // NS - 60), "error"),
        "logins of app (s) fail with SASL_AUTHENTICATION_FAILED, 12 times, every 3s: its token expired at 2026-",
    ),
    (
        *("name-shared", transactional_ids("abab"), "error"),
        f"transactional.id tx is used by ledger-a and ledger-b {SHARED}INVALID_PRODUCER_EPOCH)",
    ),
    (
        *("name-shared", transactional_ids("abab", hosts=True), "error"),
        f"transactional.id tx is used by ledger-a at 10.0.0.8 and ledger-a at 10.0.0.9 {SHARED}",
    ),
    (
        *("name-shared", instances("abab"), "error"),
        f"group.instance.id billing-0 of group billing is used by pod-a and pod-b {SHARED}FENCED_INSTANCE_ID)",
    ),
    ("member-fenced", instances("ab"), "note", "group billing, instance billing-0: FENCED_INSTANCE_ID (OffsetCommit)"),
    (
        *("member-fenced", commit(0, Scene(), "app", UNKNOWN_MEMBER), "note"),
        "group billing: UNKNOWN_MEMBER_ID (OffsetCommit)",
    ),
    (
        *("protocol-refused", refused_joins(4), "error"),
        "new cannot join group billing: INCONSISTENT_GROUP_PROTOCOL: it offers cooperative-sticky; members of the group"
        " offer range, roundrobin",
    ),
    ("protocol-refused", refused_joins(4, then=0), "warning", "new cannot join group billing: INCONSISTENT_GROUP_PROT"),
    (
        *("login-failed", logins(True, False, False, False, changed=1), "error"),
        "logins of app (reports) fail with SASL_AUTHENTICATION_FAILED: vault changed the credentials of reports at",
    ),
    (
        *("login-failed", logins(True, False, False, False), "error"),
        "logins of app (reports) fail with SASL_AUTHENTICATION_FAILED, and succeeded before",
    ),
    ("login-failed", logins(False, False, False, late=True), "error", "logins of app (reports) fail with SASL_AUTH"),
    ("login-failed", logins(False, False, False, True), "warning", "logins of app (reports) fail with SASL_AUTH"),
    (
        *("poll-stopped", left_again(3), "warning"),
        "app left group billing while it went on running, and came back 3s later each time on the same connection",
    ),
    ("topic-unknown", deleted(), "error", "topic orders does not exist: tidy deleted it at"),
]
IDENTITY_BESIDES: Final = {"name-shared": {"member-fenced", "producer-fenced"}, "login-failed": {"scram-in-clear"}}
IDENTITY_NEAR: Final[list[tuple[str, Scene]]] = [
    ("name-shared", transactional_ids("ab")),  # one takes the place of another
    ("name-shared", transactional_ids("aabb")),
    ("name-shared", transactional_ids("aaaa")),  # one that starts again
    ("name-shared", transactional_ids("abab", fenced=False)),  # handed over and back
    ("name-shared", instances("ab")),
    ("name-shared", instances("aab")),
    ("protocol-refused", join(0, Scene(), "app")),
    ("login-failed", logins(True, True)),
    ("sent-again", refused_batches(1)),
]
