"""Plays of clients on a cluster: one function a play, for the captures that ship and for the log oracle.

A play gives the records that its consumers read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from decoders.apis import KEYS, api
from tests.broker.clients.everything import DEADLY, Speaker, offered
from tests.broker.clients.sasl import sasl
from tests.broker.clients.session import ClientFailed, Results, Step, run, start
from tests.broker.cluster import Cluster
from tests.broker.options import PASSWORDS

__all__ = [
    "CODECS",
    "QUICK_SHARE",
    "SHORT_SESSIONS",
    "SMALL_SEGMENTS",
    "Play",
    "a_little_of_everything",
    "at_once",
    "authenticate",
    "authenticate_again",
    "authenticate_raw",
    "everything",
    "everything_authenticated",
    "family",
    "family_steps",
    "in_turn",
    "nodes_come_and_go",
    "read_of",
    "record_sets",
    "refused",
    "share_groups",
    "two_old_clients",
]

Play = Callable[[Cluster], Results]

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
# Codecs that a family can write without further libraries.
_WRITES: Final = {"node": ("none", "gzip"), "python": ("none", "gzip", "lz4", "zstd")}
_OLDEST: Final = ("java-0.8.2.2", "java-0.9.0.1", "java-0.10.2.2", "java-0.11.0.3", "java-1.0.2")


def family(cluster: Cluster, client: str, *, listener: str = "PLAINTEXT", prefix: str = "") -> Results:
    """Everything that one client family can do here; gives the records that it read."""
    return read_of(family_steps(cluster, client, listener=listener, prefix=prefix))


def family_steps(
    cluster: Cluster,
    client: str,
    *,
    listener: str = "PLAINTEXT",
    prefix: str = "",
    properties: Mapping[str, str] | None = None,
) -> Results:
    """Topics, every codec and acks, a group, transactions, admin calls; gives the result of every step."""
    place = cluster.bootstrap(listener)
    orders, payments = f"{prefix}orders", f"{prefix}payments"
    name = client.partition("-")[0]
    steps: list[Step] = []
    if client.startswith("java-0"):
        run("librdkafka", place, [("create", {"topics": {orders: 3, payments: 1}})])
    else:
        steps.append(("create", {"topics": {orders: 3, payments: 1}}))
    for codec in _codecs(client):
        steps.append(("produce", {"topic": orders, "count": 20, "config": {"compression.type": codec}}))
    for acks in ("0", "1"):
        plain = {"acks": acks, **({"enable.idempotence": "false"} if _knows_idempotence(client) else {})}
        steps.append(("produce", {"topic": payments, "count": 3, "config": plain}))
    if not client.startswith("java-0.8"):
        steps.append(("consume", {"topics": [orders], "group": f"{prefix}billing", "count": 20 * len(_codecs(client))}))
    if not client.startswith(("java-0.8", "java-0.9", "java-0.10")):
        ends = {"ends": ["commit", "abort"], "count": 5}
        steps.append(("transact", {"topic": payments, "id": f"{prefix}checkout-7", **ends}))
    if name in ("java", "librdkafka") and not client.startswith("java-0"):
        steps.append(("administer", {"topic": orders, "group": f"{prefix}billing"}))
    if name == "java" and not client.startswith("java-0.8"):
        steps.append(("offsets", {"topic": orders}))
    return run(client, place, steps, {"client.id": f"{name}-1", **(properties or {})})


def read_of(results: Results) -> Results:
    """The records in the results of steps that consume."""
    found = [each["result"] for each in results if each["step"] in ("consume", "share")]
    return [record for records in found if isinstance(records, list) for record in records]


def _codecs(client: str) -> Sequence[str]:
    if client.startswith(("java-0", "java-1", "java-2.0")):
        return CODECS[:4]
    return _WRITES.get(client.partition("-")[0], CODECS)


def _knows_idempotence(client: str) -> bool:
    return not client.startswith(("java-0.8", "java-0.9", "java-0.10", "node", "go"))


def in_turn(cluster: Cluster, clients: Sequence[str] = _OLDEST) -> Results:
    """Clients one after the other, each with topics of its own (the default: from before flexible versions)."""
    found = []
    for number, client in enumerate(clients):
        found += family(cluster, client, prefix=f"y{number}-")
    return found


def share_groups(cluster: Cluster) -> Results:
    """A share group of two members; one record is given back and delivered again."""
    place = cluster.bootstrap()
    steps: list[Step] = [("create", {"topics": {"parcels": 2}}), ("produce", {"topic": "parcels", "count": 20})]
    run("librdkafka", place, steps, {"client.id": "warehouse"})
    # Otherwise a new share group starts at the end of its topics.
    early = {"kind": "GROUP", "name": "packers", "values": {"share.auto.offset.reset": "earliest"}}
    run("java-4.4.0", place, [("configure", early)], {"client.id": "admin"})
    work = {"topics": ["parcels"], "group": "packers", "count": 10, "polls": 16, "release": 1}
    members = [start("java-4.4.0", place, [("share", work)], {"client.id": f"packer-{n}"}) for n in (1, 2)]
    found = [record for member in members for record in read_of(member.finish())]
    run("java-4.4.0", place, [("administer", {"topic": "parcels", "group": "packers"})], {"client.id": "admin"})
    return found


def authenticate(cluster: Cluster, listener: str = "SASL_PLAINTEXT") -> Results:
    """Framed SASL: every mechanism, several families, a wrong password, an unknown mechanism."""
    place = cluster.bootstrap(listener)
    steps: list[Step] = [
        ("create", {"topics": {"orders": 2}}),
        ("produce", {"topic": "orders", "count": 5}),
        ("consume", {"topics": ["orders"], "group": "billing", "count": 5, "polls": 10}),
    ]
    found = []
    for client in ("java-4.4.0", "librdkafka", "aiokafka", "python", "go", "node"):
        mechanisms = ["PLAIN", "SCRAM-SHA-256"]
        if client == "librdkafka" or client.startswith("java"):
            mechanisms += ["SCRAM-SHA-512", "OAUTHBEARER"]
        for mechanism in mechanisms:
            wanted = steps if mechanism == "PLAIN" else steps[1:2]
            found += read_of(run(client, place, wanted, sasl(client, mechanism, "admin", protocol=listener)))
    for client in ("java-4.4.0", "librdkafka"):
        for mechanism in ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-1"):
            _refused(client, place, sasl(client, mechanism, password="wrong", protocol=listener))
    return found


def authenticate_raw(cluster: Cluster, clients: Sequence[str] = ("java-0.10.2.2", "java-0.11.0.3")) -> Results:
    """SASL of clients before SaslAuthenticate: bare tokens with a size field."""
    place = cluster.bootstrap("SASL_PLAINTEXT")
    found = []
    admin = sasl("librdkafka", "PLAIN", "admin")
    run("librdkafka", place, [("create", {"topics": {"orders": 2}})], admin)
    for client in clients:
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            steps: list[Step] = [("produce", {"topic": "orders", "count": 5})]
            if mechanism != "PLAIN":
                steps.append(("consume", {"topics": ["orders"], "group": "billing", "count": 5, "polls": 10}))
            found += read_of(run(client, place, steps, sasl(client, mechanism, "admin")))
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            _refused(client, place, sasl(client, mechanism, password="wrong"))
    return found


def _refused(client: str, place: str, properties: dict[str, str]) -> None:
    """A client whose login is refused; the time that it tries is bounded."""
    bounds = {"message.timeout.ms": "1500"} if client == "librdkafka" else {"max.block.ms": "1500"}
    session = start(client, place, [("produce", {"topic": "orders", "count": 1})], {**properties, **bounds})
    try:
        session.finish(timeout_s=15)
    except ClientFailed:
        return


def nodes_come_and_go(cluster: Cluster, *, transactions: bool = True) -> Results:
    """Replicated topics while each node in turn is stopped or crashes and comes back."""
    place = cluster.bootstrap()
    first: list[Step] = [
        ("create", {"topics": {"orders": 3, "payments": 1}, "replicas": 3}),
        ("produce", {"topic": "orders", "count": 50, "batches": 5}),
    ]
    run("librdkafka", place, first)
    steady = {"topic": "orders", "count": 60, "batches": 60, "config": {"linger.ms": "100"}}
    busy = start("librdkafka", place, [("produce", steady)], {"client.id": "checkout-7"})
    cluster.stop_node(3)
    cluster.start_node(3)
    cluster.kill_node(2)
    time.sleep(3)
    cluster.start_node(2)
    busy.finish()
    last: list[Step] = []
    if transactions:
        last.append(("transact", {"topic": "payments", "id": "ledger", "ends": ["commit", "abort"]}))
    last += [
        ("consume", {"topics": ["orders"], "group": "billing", "count": 110, "polls": 20}),
        ("delete", {"topics": ["payments"]}),
    ]
    return read_of(run("librdkafka", place, last))


def at_once(cluster: Cluster) -> Results:
    """Several families at the same time on the same topics and in the same group."""
    place = cluster.bootstrap()
    run("librdkafka", place, [("create", {"topics": {"orders": 6, "payments": 2}})])
    sessions = []
    for number, client in enumerate(("java-4.4.0", "librdkafka", "aiokafka", "python", "go", "java-2.8.2")):
        # The only codec that all of these families read.
        gzip = {"compression.type": "gzip"}
        made = {"topic": "orders", "count": 200, "first": number * 1000, "size": 300, "config": gzip}
        read = {
            "topics": ["orders"],
            "group": "billing" if number % 2 else f"group-{number}",
            "count": 400,
            "polls": 12,
        }
        sessions.append(start(client, place, [("produce", made), ("consume", read)], {"client.id": f"shop-{number}"}))
    return [record for session in sessions for record in read_of(session.finish())]


def authenticate_again(cluster: Cluster) -> Results:
    """Sessions that end after three seconds: clients authenticate again on the same connection."""
    place = cluster.bootstrap("SASL_PLAINTEXT")
    found: Results = []
    for client in ("java-4.4.0", "librdkafka", "python"):
        topic = f"orders-{client.partition('-')[0]}"
        steps: list[Step] = [
            ("create", {"topics": {topic: 1}}),
            ("produce", {"topic": topic, "count": 5}),
            ("consume", {"topics": [topic], "group": "billing", "count": 50, "polls": 18}),
        ]
        found += read_of(run(client, place, steps, sasl(client, "PLAIN", "admin")))
    return found


def everything(cluster: Cluster) -> Results:
    """Every API and version that each kind of listener offers, with bodies of many kinds."""
    run("librdkafka", cluster.bootstrap(), [("create", {"topics": {"orders": 2}})])
    for listener, port in cluster.nodes[0].ports.items():
        speaker = Speaker(cluster.options.host, port, cluster.cluster_id, seed=port)
        speaker.speak(offered(cluster.options.host, port), skip=DEADLY, rounds=4)
        if not cluster.is_node_running(cluster.nodes[0].id):
            raise RuntimeError(f"the node ended on {listener}")
    return []


def everything_authenticated(cluster: Cluster) -> Results:
    """Every API and version through a listener with SASL, as a user with few rights, then as one with all rights."""
    node = cluster.nodes[0]
    port = node.ports["SASL_PLAINTEXT"]
    admin = sasl("librdkafka", "PLAIN", "admin")
    run("librdkafka", cluster.bootstrap("SASL_PLAINTEXT"), [("create", {"topics": {"orders": 2}})], admin)
    versions = offered(cluster.options.host, port)
    for user in ("bob", "admin"):
        credentials = (user, PASSWORDS[user])
        speaker = Speaker(cluster.options.host, port, cluster.cluster_id, credentials=credentials)
        speaker.speak(versions, skip=DEADLY, rounds=2)
    return []


def refused(cluster: Cluster) -> Results:
    """Requests on which brokers close the connection: unknown versions and APIs, impossible sizes, bodies cut short."""
    place = cluster.bootstrap()
    run("librdkafka", place, [("create", {"topics": {"orders": 2}})])
    host, port = cluster.options.host, cluster.nodes[0].ports["PLAINTEXT"]
    known = offered(host, port)
    speaker = Speaker(host, port, cluster.cluster_id)
    for key in KEYS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            low, high = known.get(key, (0, -1))
            if not low <= version <= high:
                speaker.send(key, version)
    speaker.send(3, 12)
    for data in (
        b"\0\0\0\x08\x7f\xff\0\0\0\0\0\1",
        b"\0\0\0\x0a\0\3\0\x0c\0\0\0\1\0\5",
        b"\x7f\xff\xff\xff",
        b"\xff" * 8,
    ):
        speaker.raw(data)
    return family(cluster, "librdkafka", prefix="after-")


def record_sets(cluster: Cluster) -> Results:
    """Big and tiny batches, headers, null keys, tombstones, compaction, log-append time, a record too large."""
    place = cluster.bootstrap()
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "500"}
    compacted["delete.retention.ms"] = "60000"
    steps: list[Step] = [
        ("create", {"topics": {"orders": 1}, "config": {"message.timestamp.type": "LogAppendTime"}}),
        ("create", {"topics": {"customers": 1}, "config": compacted}),
        ("create", {"topics": {"photos": 1}, "config": {"max.message.bytes": "3000000"}}),
        ("produce", {"topic": "orders", "count": 2000, "batches": 4, "config": {"compression.type": "zstd"}}),
        ("produce", {"topic": "orders", "count": 30, "batches": 30, "headers": {"trace": "4bf9", "empty": ""}}),
        ("produce", {"topic": "orders", "count": 20, "null_keys": True, "config": {"compression.type": "lz4"}}),
        ("produce", {"topic": "photos", "count": 6, "size": 900_000, "config": {"message.max.bytes": "2000000"}}),
    ]
    for number in range(6):
        keyed = {"topic": "customers", "count": 60, "first": number, "tombstones": number == 4}
        steps.append(("produce", {**keyed, "config": {"compression.type": CODECS[number % 5]}}))
        steps.append(("sleep", {"seconds": 0.6}))
    run("librdkafka", place, steps)
    huge: list[Step] = [("produce", {"topic": "orders", "count": 1, "size": 1_500_000})]
    run("java-4.4.0", place, huge, {"max.request.size": "3000000"})
    time.sleep(4)
    reading: list[Step] = [
        ("consume", {"topics": ["orders"], "group": "billing", "count": 2050}),
        ("consume", {"topics": ["customers"], "group": "billing", "count": 1000, "polls": 8}),
        ("consume", {"topics": ["photos"], "group": "billing", "count": 6, "polls": 20}),
    ]
    found = read_of(run("java-4.4.0", place, reading))
    return found + read_of(run("librdkafka", place, [(name, {**more, "group": "again"}) for name, more in reading]))


def a_little_of_everything(cluster: Cluster) -> Results:
    """A short play: librdkafka and the newest Java client, one after the other."""
    return family(cluster, "librdkafka", prefix="rd-") + family(cluster, "java-4.4.0", prefix="new-")


def two_old_clients(cluster: Cluster) -> Results:
    """The oldest Java client that consumes, and one from just before flexible versions."""
    return in_turn(cluster, ("java-0.9.0.1", "java-2.3.1"))


# Properties of clusters that some plays need.
QUICK_SHARE: Final = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
}
SHORT_SESSIONS: Final = {"listener.name.sasl_plaintext.plain.connections.max.reauth.ms": "3000"}
SMALL_SEGMENTS: Final = {"log.cleaner.backoff.ms": "500", "log.retention.check.interval.ms": "500"}
