"""Scenes of topics that nobody meant to create, of racks, Streams groups and lost records: for test_doctor.py."""

from __future__ import annotations

from struct import pack
from typing import Any, Final

from decoders import encode_request, encode_response
from decoders.protocol_facts.api_keys import CREATE_TOPICS, DELETE_TOPICS, ENVELOPE, FETCH, HEARTBEAT, METADATA, PRODUCE
from decoders.records.summarize_records import load_crc32c
from tests.analysis.record_scenes import batch_of
from tests.analysis.scenes import BROKER, Scene

STREAMS_BEAT: Final = (88, 0)
NODES: Final = [
    {"node_id": 1, "host": "10.0.0.9", "port": 9092, "rack": "use1-az1"},
    {"node_id": 2, "host": "10.0.0.8", "port": 9092, "rack": "use1-az2"},
]


def list_topic(
    at: float, scene: Scene, name: str, partitions: int, *, code: int = 0, allows: bool = True, **how: Any
) -> Scene:
    """A client asks for the metadata of a topic; with a code, it is missing."""
    parts = [
        {"partition_index": number, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
        for number in range(partitions)
    ]
    topics = [{"error_code": code, "name": name, "partitions": parts}]
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": allows}
    return scene.ask(at, (METADATA, 9), asked, {"brokers": NODES, "topics": topics}, **how)


def created(
    name: str = "ordres",
    *,
    allows: bool = True,
    deleted: bool = False,
    lasts: float = 0.1,
    by: str = "",
    refused: int = 0,
    forwarded: bool = False,
) -> Scene:
    """A topic that is missing, and there after a while; `by`: who has created it; `deleted`: it was there before.

    `forwarded`: the broker is seen to create it for the client, with the partitions that its settings say.
    """
    scene = list_topic(0, Scene(), "orders", 6, client="shop")
    list_topic(0.5, scene, "payments", 2, client="shop")
    if deleted:
        list_topic(1, scene, name, 6, client="shop")
        scene.ask(9.9, (DELETE_TOPICS, 5), {"topic_names": [name]}, {"responses": [{"name": name}]}, client="ops")
    list_topic(10, scene, name, 0, code=3, allows=allows, client="shop")
    if lasts > 1:
        list_topic(10 + lasts - 0.1, scene, name, 0, code=3, allows=allows, client="shop")
    if by:
        made = {"topics": [{"name": name, "num_partitions": 1, "replication_factor": 1}]}
        scene.ask(10.05, (CREATE_TOPICS, 5), made, {"topics": [{"name": name, "error_code": 0}]}, client=by)
    if forwarded:
        made = {"topics": [{"name": name, "num_partitions": 1, "replication_factor": -1}]}
        answer = {"topics": [{"name": name, "error_code": 0}]}
        asked = encode_request(CREATE_TOPICS, 7, made, correlation_id=1, client_id="shop")
        envelope = {"request_data": asked, "request_principal": None, "client_host_address": bytes((10, 0, 0, 1))}
        data = encode_response(CREATE_TOPICS, 7, answer, correlation_id=1)
        scene.ask(10.02, (ENVELOPE, 0), envelope, {"response_data": data, "error_code": 0}, client="1", host="10.0.0.9")
        scene._orphans += 1  # the request in the envelope is an exchange of its own
    list_topic(10 + lasts, scene, name, 1, client="shop")
    for number in range(refused):
        made = {"topics": [{"name": name, "num_partitions": 6, "replication_factor": 1}]}
        answer = {"topics": [{"name": name, "error_code": 36}]}
        scene.ask(11 + number, (CREATE_TOPICS, 5), made, answer, client="ops")
    return list_topic(20, scene, name, 1, client="shop")


def streams(seconds: int, code: int, detail: str = "", *, over: bool = False) -> Scene:
    """Heartbeats of a Streams client, answered with a state; `over`: not the later half."""
    scene = Scene()
    for second in range(0, seconds, 5):
        status = [] if over and second > seconds // 2 else [{"status_code": code, "status_detail": detail}]
        asked = {"group_id": "enrich", "member_id": "m", "member_epoch": 3}
        answer = {"member_id": "m", "member_epoch": 3, "status": status}
        scene.ask(second, STREAMS_BEAT, asked, answer, client="enrich-1")
    return scene


def racks(rack: str, *, named: bool = True, broker: str = BROKER) -> Scene:
    """A consumer in a rack; `named`: brokers say theirs; `broker`: the one it reads from."""
    nodes = NODES if named else [node | {"rack": None} for node in NODES]
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": []})
    for second in range(1, 4):
        asked = {"replica_id": -1, "rack_id": rack, "topics": [], "max_wait_ms": 500, "min_bytes": 1}
        scene.ask(second, (FETCH, 12), asked, {"responses": []}, client="mail", broker=broker, took=0.5)
    return scene


def put(
    at: float, scene: Scene, first: int, records: int, offset: int, *, data: bytes | None = None, **how: Any
) -> Scene:
    """A batch of records with values of its own, accepted at an offset; `data`: another batch."""
    batch = data or batch_of(records, text=f"order {first}-", at_ms=first)
    asked = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
    parts = [{"index": 0, "error_code": 0, "base_offset": offset}]
    answer = {"responses": [{"name": "orders", "partition_responses": parts}]}
    return scene.ask(at, (PRODUCE, 9), asked, answer, client="shop", **how)


def stepped_back(to: int, *, anew: bool = False, other: str = "", cluster: str = "", records: int = 2) -> Scene:
    """Batches at offsets 100 to 107, then others from an offset on, by the same broker or another of a cluster."""
    scene = Scene()
    for number in range(4):
        put(1 + number, scene, 2 * number, 2, 100 + 2 * number)
    if anew:
        scene.ask(6, (DELETE_TOPICS, 5), {"topic_names": ["orders"]}, {"responses": [{"name": "orders"}]}, client="ops")
    for name, broker in ((cluster, "10.0.0.9:9092"), ("one", other)) if cluster else ():
        scene.ask(7, (METADATA, 9), {}, {"brokers": NODES, "cluster_id": name, "topics": []}, broker=broker)
    put(20, scene, 50, records, to, broker=other or BROKER)
    return scene.ask(30, (HEARTBEAT, 3), {}, {}, client="other")


def sent_twice() -> Scene:
    """A batch that is answered twice with its offset, while another one comes in between."""
    scene = put(1, Scene(), 0, 2, 100)
    put(2, scene, 2, 2, 102)
    return put(3, scene, 0, 2, 100)


def made_again(before: int, now: int, later: int) -> Scene:
    """A topic that is deleted and created again, with so many partitions before, then, and later."""
    scene = Scene()
    for at in (1, 2):
        list_topic(at, scene, "audit", before, client="shop")
    scene.ask(9.9, (DELETE_TOPICS, 5), {"topic_names": ["audit"]}, {"responses": [{"name": "audit"}]}, client="ops")
    list_topic(10, scene, "audit", 0, code=3, client="shop")
    for at in range(11, 19):
        list_topic(at, scene, "audit", now if at < 15 else later, client="shop")
    return scene


def listed_by_others(*, cluster: bool = False) -> Scene:
    """A topic that is there, and that a broker which has just started, or one of another cluster, does not know."""
    scene = Scene()
    for second in range(0, 20, 4):
        list_topic(second, scene, "orders", 6, client="shop")
    for at in (9, 9.5):
        broker, client = ("10.9.0.8:9092", "billing") if cluster else ("10.0.0.8:9092", "shop")
        list_topic(at, scene, "orders", 0, code=3, broker=broker, client=client)
    return scene


def begun_anew() -> Scene:
    """A topic that somebody deletes and creates on a connection that is not in the capture: its offsets begin at 0."""
    scene = Scene()
    for number in range(4):
        put(1 + number, scene, 2 * number, 2, 10 + 2 * number)
    for number in range(10):
        put(20 + number, scene, 50 + 2 * number, 2, 2 * number)
    return scene


def of_new_cluster() -> Scene:
    """Batches of a topic of a cluster, and of one with its name of the cluster that is at this address later."""
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": NODES, "cluster_id": "one", "topics": []})
    for number in range(4):
        put(1 + number, scene, 2 * number, 2, 100 + 2 * number)
    scene.ask(15, (METADATA, 9), {}, {"brokers": NODES, "cluster_id": "two", "topics": []})
    for number in range(4):
        put(20 + number, scene, 50 + 2 * number, 2, 101 + 2 * number)
    return scene


def always_at(offset: int) -> Scene:
    """Batches that are all answered with one offset."""
    scene = Scene()
    for number in range(8):
        put(1 + number, scene, 2 * number, 2, offset)
    return scene


def wide_batches() -> Scene:
    """Two batches that each take 2³¹ offsets, all but their first two of records that compaction has removed."""
    scene = Scene()
    for number in range(2):
        data = bytearray(batch_of(2, text=f"order {number}-"))
        data[23:27] = pack(">i", 2**31 - 1)
        data[17:21] = pack(">I", load_crc32c()(bytes(data[21:])))
        put(1 + 5 * number, scene, 0, 2, 100 + number, data=bytes(data))
    return scene


def damaged_header() -> Scene:
    """A batch that is answered with its offset, whose header says 128 offsets against its checksum."""
    scene, data = Scene(), bytearray(batch_of(2))
    data[23:27] = pack(">i", 127)
    put(1, scene, 0, 2, 100, data=bytes(data))
    return put(2, scene, 2, 2, 102)


TOPOLOGY_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        "topic-created-unasked",
        created(forwarded=True),
        "warning",
        "topic ordres did not exist: Metadata of shop created",
    ),
    (
        *("topic-created-unasked", created(), "warning"),
        "topic ordres did not exist: likely Metadata of shop created it at 14:13:30 UTC, with 1 partition; topic orders"
        " has nearly the same name",
    ),
    (
        "topic-created-unasked",
        created("audit"),
        "note",
        "topic audit did not exist: likely Metadata of shop created it",
    ),
    (
        *("topic-created-unasked", created("audit", deleted=True, refused=2), "warning"),
        "topic audit was deleted by ops at 14:13:29 UTC, and is there again: likely Metadata of shop created it at"
        " 14:13:30 UTC, with 1 partition (before: 6)",
    ),
    *(
        ("topic-created-unasked", made_again(before, now, later), "warning", f"UTC, with {now} partition")
        for before, now, later in ((1, 1, 1), (1, 1, 6), (6, 1, 12))
    ),
    (
        *("streams-not-ready", streams(40, 1, "Source topics orders are missing."), "error"),
        "Streams application enrich gets no work: MISSING_SOURCE_TOPICS for 35s (Source topics orders are missing.)",
    ),
    ("streams-not-ready", streams(40, 2), "error", "enrich gets no work: INCORRECTLY_PARTITIONED_TOPICS for 35s"),
    ("streams-not-ready", streams(5, 3), "note", "enrich gets no work: MISSING_INTERNAL_TOPICS"),
    ("streams-not-ready", streams(40, 1, over=True), "note", "MISSING_SOURCE_TOPICS for 20s"),
    ("streams-not-ready", streams(5, 4), "error", "SHUTDOWN_APPLICATION"),
    (
        "rack-unmatched",
        racks("us-east-1a"),
        "note",
        "client.rack of mail is us-east-1a, and brokers are in use1-az1, use",
    ),
    ("rack-unmatched", racks("us-east-1a", named=False), "note", "is us-east-1a, and no broker has a rack"),
    (
        *("acknowledged-lost", stepped_back(104), "error"),
        "topic orders lost records that were acknowledged: at least 2 of shop, in orders-0 from offset 104 on; other"
        " records have their offsets since 14:13:40 UTC",
    ),
    ("acknowledged-lost", stepped_back(103, records=4), "error", "at least 4 of shop, in orders-0 from offset 103 on"),
    (
        *("acknowledged-lost", stepped_back(104, other="10.0.0.8:9092", cluster="one"), "error"),
        "in orders-0 from offset 104 on; other records have",
    ),
    ("acknowledged-lost", wide_batches(), "error", "at least 2,147,483,647 of shop, in orders-0 from offset 101 on"),
]
TOPOLOGY_NEAR: Final[list[tuple[str, Scene]]] = [
    ("topic-created-unasked", created(allows=False)),
    ("topic-created-unasked", created(by="ops")),
    ("topic-created-unasked", created(lasts=9)),
    ("topic-created-unasked", list_topic(10, Scene(), "ordres", 0, code=3, client="shop")),
    ("streams-not-ready", streams(40, 0)),
    ("streams-not-ready", streams(40, 5)),
    ("rack-unmatched", racks("use1-az2")),
    ("rack-unmatched", racks("")),
    ("rack-unmatched", racks("eu-1a", broker="10.9.0.8:9092")),  # of a cluster that is not listed
    ("acknowledged-lost", stepped_back(108)),
    ("acknowledged-lost", put(21, stepped_back(104), 90, 2, 0)),
    ("acknowledged-lost", stepped_back(104, anew=True)),
    ("acknowledged-lost", stepped_back(104, other="10.0.0.8:9092")),
    ("acknowledged-lost", stepped_back(104, other="10.0.0.8:9092", cluster="two")),
    ("acknowledged-lost", sent_twice()),
    ("acknowledged-lost", damaged_header()),
    ("topic-created-unasked", listed_by_others()),
    ("topic-created-unasked", listed_by_others(cluster=True)),
    ("acknowledged-lost", begun_anew()),
    ("acknowledged-lost", of_new_cluster()),
    ("acknowledged-lost", always_at(104)),
]
TOPOLOGY_BESIDES: Final[dict[str, set[str]]] = {}
