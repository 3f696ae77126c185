"""Scenes of answers that a client does not take, of partitions and nodes that come anew: for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import FETCH, HEARTBEAT, JOIN_GROUP, METADATA, OFFSET_COMMIT, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.scenes import Scene

_BEAT: Final = {"group_id": "billing"}
_NODES: Final = [{"node_id": 1, "host": "10.0.0.9", "port": 9092}]
_JOIN: Final = {"group_id": "mailers", "protocol_type": "consumer", "protocols": []}
_JOINED: Final = {"generation_id": 1, "member_id": "m", "leader": "m", "protocol_name": "range", "members": []}
CREATE_PARTITIONS: Final = 37
VOTE: Final = 52


def broken_off(times: int, *, offset: int = 80, moves: int = 0, size: int = 9000, alone: bool = False) -> Scene:
    """Fetches of one offset (each time `moves` later) on new connections, in whose answers the client closes.

    `alone`: the broker answers nobody else.
    """
    scene = Scene().ask(0, (HEARTBEAT, 3), _BEAT, {}, client="other")
    part = {"partition_index": 0, "error_code": 0, "high_watermark": 900, "records": bytes(size)}
    for number in range(times):
        asked: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 999_000}
        at = {"partition": 0, "fetch_offset": offset + moves * number, "partition_max_bytes": 1 << 20}
        asked["topics"] = [{"topic": "photos", "partitions": [at]}]
        answer = {"responses": [{"topic": "photos", "partitions": [part]}]}
        scene.ask(1 + number, (FETCH, 11), asked, answer, client="albums", line=number, refused_at=2000)
    return scene if alone else scene.ask(3.5, (HEARTBEAT, 3), _BEAT, {}, client="other")


def of_two_clusters(scene: Scene) -> Scene:
    """The same, where another cluster has a topic of this name, with two partitions."""
    topics = [{"name": "orders", "partitions": [{"partition_index": number} for number in range(2)]}]
    for at in range(0, 60, 10):
        scene.ask(at, (METADATA, 9), {}, {"topics": topics}, client="copy", broker="10.9.0.8:9092")
    return scene


def partitions_added(
    *,
    until: int = 30,
    counts: tuple[int, int] = (2, 3),
    written: int = 2,
    read: int = 0,
    by: str = "",
    joins: bool = True,
) -> Scene:
    """A topic that has more partitions from 5 s on, one of which is `written` from then on, and a member of a group.

    The member reads partition 0 each second, and `read` as well from 10 s on.
    """
    scene = Scene()
    if joins:
        scene.ask(0, (JOIN_GROUP, 5), {**_JOIN, "member_id": "m"}, _JOINED, client="mail")
    for second, count in enumerate(counts):
        parts = [
            {"partition_index": number, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
            for number in range(count)
        ]
        answer = {"brokers": _NODES, "topics": [{"name": "orders", "partitions": parts}]}
        scene.ask(0.1 + 5 * second, (METADATA, 9), {}, answer, client="shop")
    if by:
        asked = {"topics": [{"name": "orders", "count": counts[1]}], "timeout_ms": 1000}
        scene.ask(4, (CREATE_PARTITIONS, 2), asked, {"results": [{"name": "orders"}]}, client=by)
    for at in range(1, until):
        if at > 5:
            part = {"index": written, "records": encode_batch([Record(0, 0, None, b"%d" % at)], Batch())}
            topics = [{"name": "orders", "partition_data": [part]}]
            taken = [{"index": written, "error_code": 0, "base_offset": at}]
            answer = {"responses": [{"name": "orders", "partition_responses": taken}]}
            scene.ask(at, (PRODUCE, 8), {"acks": -1, "topic_data": topics}, answer, client="shop")
        places = {0, read if at > 10 else 0}
        asks = [{"partition": number, "fetch_offset": 5} for number in places]
        got = [{"partition_index": number, "error_code": 0, "high_watermark": 5, "records": b""} for number in places]
        request: dict[str, Any] = {
            "max_wait_ms": 500,
            "min_bytes": 1,
            "topics": [{"topic": "orders", "partitions": asks}],
        }
        scene.ask(
            at + 0.2, (FETCH, 11), request, {"responses": [{"topic": "orders", "partitions": got}]}, client="mail"
        )
    return scene


def second_member(scene: Scene, *, reads: int = 2, beats: bool = True, commits: bool = False) -> Scene:
    """A member that joined before the capture began: it `reads` a partition from 7 s on."""
    who: dict[str, Any] = {"client": "mail-2", "host": "10.0.0.3"}
    its = {"group_id": "mailers", "member_id": "m2"}
    asked: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1}
    asked["topics"] = [{"topic": "orders", "partitions": [{"partition": reads, "fetch_offset": 5}]}]
    got = [{"partition_index": reads, "error_code": 0, "high_watermark": 5, "records": b""}]
    offsets = [{"name": "orders", "partitions": [{"partition_index": reads, "committed_offset": 5}]}]
    taken = [{"name": "orders", "partitions": [{"partition_index": reads, "error_code": 0}]}]
    for at in range(7, 30):
        scene.ask(at + 0.3, (FETCH, 11), asked, {"responses": [{"topic": "orders", "partitions": got}]}, **who)
        if beats:
            scene.ask(at + 0.4, (HEARTBEAT, 3), {**its, "generation_id": 1}, {"error_code": 0}, **who)
        if commits:
            member = {**its, "generation_id_or_member_epoch": 1}
            scene.ask(at + 0.5, (OFFSET_COMMIT, 5), {**member, "topics": offsets}, {"topics": taken}, **who)
    return scene


def metadata_told_again(scene: Scene) -> Scene:
    """Another client that sees both counts of partitions, after the first one or before."""
    for second, count in ((2, 2), (6.5, 3), (8, 3)):
        parts = [{"partition_index": number, "leader_id": 1} for number in range(count)]
        answer = {"brokers": _NODES, "topics": [{"name": "orders", "partitions": parts}]}
        scene.ask(second, (METADATA, 9), {}, answer, client="other", host="10.0.0.7")
    # The first to ask is the last to be answered.
    return scene.ask(4.9, (METADATA, 9), {}, answer, client="slow", host="10.0.0.8", took=2)


def vote(scene: Scene, at: float, node: int, cluster: str, host: str, *, code: int = 0) -> Scene:
    """A node asks the controller on a host for its vote."""
    client, broker = f"raft-client-{node}", f"{host}:9093"
    return scene.ask(
        at, (VOTE, 0), {"cluster_id": cluster, "topics": []}, {"error_code": code}, client=client, broker=broker
    )


def formatted_anew(*, code: int = 104) -> Scene:
    """Node 3 asks the other two for their votes with a cluster id that they have not, and refuses the leader's vote."""
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": _NODES, "cluster_id": "A", "topics": []}, client="shop")
    for number in range(9):
        vote(scene, 1 + number, 3, "B", f"10.0.0.{8 + number % 2}", code=code)
        vote(scene, 1.5 + number, 1, "A", "10.0.0.7", code=code)
    return scene


def clusters_told(*answers: tuple[str, str, str], client_of: str = "") -> Scene:
    """Answers to Metadata, one each second: the broker's host, its cluster id, and the host that it lists as node 1.

    `client_of`: a letter of the name of each client that asks.
    """
    scene = Scene()
    for at, (host, cluster, node) in enumerate(answers):
        listed = {"brokers": [{"node_id": 1, "host": node, "port": 9092}], "cluster_id": cluster, "topics": []}
        client = f"shop-{client_of[at]}" if client_of else "shop"
        scene.ask(at, (METADATA, 9), {}, listed, client=client, broker=f"{host}:9092")
    return scene


def _at_one_address(cluster: str) -> tuple[str, str, str]:
    return "10.0.0.9", cluster, "10.0.0.9"


_LISTING: Final = ("10.0.0.9", "A", "10.0.0.8")
_MADE_ANEW: Final = (("10.0.0.9", "B", "10.0.0.8"), ("10.0.0.8", "B", "10.0.0.9"))


def restarts(*begins: float, down: float = 4, again: bool = True, starting: bool = False) -> Scene:
    """Node 1 answers twice a second, but for `down` seconds from each of these times on, in which it refuses.

    `again`: it is back between; `starting`: it refuses once more, a second after it was back.
    """
    nodes = [*_NODES, {"node_id": 2, "host": "10.0.0.8", "port": 9092}]
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": []}, client="mon", broker="10.0.0.8:9092")
    for half in range(2, 120):
        at = half / 2
        outage = next((begin for begin in begins if begin <= at < (begin + down if again else 60)), None)
        if outage is None:
            scene.ask(at, (HEARTBEAT, 3), _BEAT, {}, client="other", line=1 + int(sum(begin < at for begin in begins)))
        elif at == outage or half % 3 == 0:
            scene.knock(at, "10.0.0.9:9092")
    for begin in begins if starting else ():
        scene.knock(begin + down + 1.2, "10.0.0.9:9092")
    return scene.ask(62, (HEARTBEAT, 3), _BEAT, {}, client="mon", broker="10.0.0.8:9092")


def restarts_far_apart(*begins: float) -> Scene:
    """Node 1 answers for half a minute before each of these times and after the last one, and refuses at these."""
    scene = Scene()
    for line, begin in enumerate([*begins, begins[-1] + 45]):
        for at in range(6):
            answer = {"brokers": _NODES, "topics": []}
            scene.ask(begin - 35 + 5 * at, (METADATA, 9), {}, answer, client="mon", line=line)
    for begin in begins:
        scene.knock(begin, "10.0.0.9:9092").knock(begin + 2, "10.0.0.9:9092")
    return scene


CLUSTER_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("answer-too-large", broken_off(5), "error"),
        "albums closes the connection inside of each answer to its Fetch of photos-0 from offset 80 (9.1kB, 5 times)",
    ),
    (
        *("partitions-added", partitions_added(by="ops"), "warning"),
        "group mailers does not read orders-2, added by ops at 14:13:24 UTC (topic orders had 2 partitions, has 3),"
        " while shop writes there",
    ),
    ("partitions-added", partitions_added(), "warning", "does not read orders-2, added at 14:13:25 UTC"),
    ("partitions-added", second_member(partitions_added(), reads=1, commits=True), "warning", "does not read orders-2"),
    ("partitions-added", metadata_told_again(partitions_added()), "warning", "does not read orders-2"),
    (
        *("broker-restarts", restarts(10, 25, 48), "error"),
        "node 1 (10.0.0.9:9092) went away 3 times and came back: it refused connections from 14:13:30 for ",
    ),
    ("broker-restarts", restarts(10, 20, 30, starting=True), "warning", "went away 3 times and came back"),
    ("broker-restarts", restarts_far_apart(40, 340, 640), "error", "; it was up for 5 minutes in between"),
    # What was before a crash loop is none of it.
    ("broker-restarts", restarts_far_apart(40, 1840, 1940, 2040), "error", "went away 3 times and came back"),
    (
        *("cluster-mixed", formatted_anew(), "error"),
        "node 3 belongs to another cluster: its cluster id is B, that of the others A (nodes answer",
    ),
    (
        *("cluster-mixed", clusters_told(*map(_at_one_address, "ABA")), "error"),
        "node 1 (10.0.0.9:9092) belongs to another cluster: its cluster id is B, that of the others A (as its answers",
    ),
    (
        *("cluster-mixed", clusters_told(_LISTING, ("10.0.0.8", "B", "10.0.0.8"), _LISTING), "error"),
        "node 1 (10.0.0.8:9092) belongs to another cluster: its cluster id is B, that of the others A (as its answers",
    ),
    (
        *("cluster-anew", clusters_told(*map(_at_one_address, "AABB")), "warning"),
        "10.0.0.9:9092 has another cluster id since 14:13:22 UTC: B; it was A up to 14:13:21 UTC, and shop goes on",
    ),
]
CLUSTER_NEAR: Final[list[tuple[str, Scene]]] = [
    ("answer-too-large", broken_off(2)),  # programs end in the middle of an answer
    ("answer-too-large", broken_off(5, moves=1)),
    ("answer-too-large", broken_off(5, alone=True)),  # the broker may have ended
    ("partitions-added", partitions_added(read=2)),
    ("partitions-added", of_two_clusters(partitions_added(until=60))),
    ("partitions-added", partitions_added(until=12)),  # soon is soon enough
    ("partitions-added", partitions_added(written=0)),  # nobody writes there
    ("partitions-added", partitions_added(counts=(3, 3))),
    ("partitions-added", second_member(partitions_added())),
    ("partitions-added", second_member(partitions_added(), beats=False, commits=True)),
    # Who joins again knows what was added, and another member may have it.
    *(
        (
            "partitions-added",
            partitions_added().ask(8, (JOIN_GROUP, 5), {**_JOIN, "member_id": its}, _JOINED, client=who),
        )
        for its, who in (("m", "mail"), ("", "mail-3"))
    ),
    ("partitions-added", partitions_added(joins=False)),  # a client without a group reads what it wants
    ("broker-restarts", restarts(10, 40)),  # a planned restart, and another one
    ("broker-restarts", restarts(10, starting=True)),
    ("broker-restarts", restarts_far_apart(40, 1840, 3640)),  # planned restarts, one after the other
    ("broker-restarts", restarts_far_apart(40, 140, 1840, 1940)),
    ("broker-restarts", restarts(1, 20, 40)),  # the cluster starts
    ("broker-restarts", restarts(10, 12, 14, again=False)),
    ("cluster-mixed", formatted_anew(code=0)),
    ("cluster-mixed", formatted_anew(code=87)),
    # Two clusters that have nothing to do with each other.
    ("cluster-mixed", clusters_told(("10.0.0.9", "A", "10.0.0.9"), ("10.0.0.8", "B", "10.0.0.8"))),
    # Clusters made anew: of one node; of two; of two, of which one is asked before and the other one since.
    ("cluster-mixed", clusters_told(*map(_at_one_address, "AABB"))),
    ("cluster-mixed", clusters_told(_LISTING, ("10.0.0.8", "A", "10.0.0.9"), *_MADE_ANEW)),
    ("cluster-mixed", clusters_told(_LISTING, _MADE_ANEW[1])),
    ("cluster-mixed", clusters_told(_MADE_ANEW[1], _LISTING)),
    ("cluster-anew", clusters_told(*map(_at_one_address, "ABA"))),
    ("cluster-anew", clusters_told(*map(_at_one_address, "AAB"), client_of="AAB")),  # nobody goes on
]
