"""Rarer plays: rebalances of many kinds, SASL among brokers, old protocol fallbacks, quotas, streams, snapshots."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Final

from tests.broker.clients.everything import Speaker
from tests.broker.clients.sasl import sasl
from tests.broker.clients.session import Results, Step, run, start
from tests.broker.cluster import Cluster
from tests.broker.plays import family, read_of

__all__ = [
    "QUICK_SNAPSHOTS",
    "beside_tls",
    "fall_back",
    "fetch_snapshots",
    "kerberos",
    "many_connections",
    "member_changes",
    "sasl_between_nodes",
    "snapshots",
    "streams",
    "telemetry",
    "throttled",
]

# A node that was down finds the log cut off behind a snapshot.
QUICK_SNAPSHOTS: Final = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.log.max.snapshot.interval.ms": "2000",
    "metadata.max.retention.bytes": "1000",
    "internal.metadata.log.segment.bytes": "4000",
    "internal.metadata.delete.delay.millis": "0",
    "metadata.log.segment.ms": "500",
}


def member_changes(cluster: Cluster) -> Results:
    """Groups whose members come, go and crash: eager, cooperative, static, of the new protocol, by pattern."""
    place = cluster.bootstrap()
    made: list[Step] = [
        ("create", {"topics": {"orders": 6, "payments": 3}}),
        ("produce", {"topic": "orders", "count": 300, "batches": 3}),
    ]
    run("librdkafka", place, made)
    assignors = "org.apache.kafka.clients.consumer"
    kinds = [
        ("java-3.9.1", {"partition.assignment.strategy": f"{assignors}.CooperativeStickyAssignor"}),
        ("java-2.8.2", {"partition.assignment.strategy": f"{assignors}.StickyAssignor"}),
        ("java-4.3.1", {"group.protocol": "consumer"}),
        ("librdkafka", {"partition.assignment.strategy": "cooperative-sticky", "group.instance.id": "INSTANCE"}),
        ("librdkafka", {"group.protocol": "consumer"}),
    ]
    found: Results = []
    for number, (client, settings) in enumerate(kinds):
        members = []
        for member in range(3):
            mine = {name: value.replace("INSTANCE", f"still-{member}") for name, value in settings.items()}
            read = {
                "topics": ["orders", "payments"],
                "group": f"group-{number}",
                "count": 10_000,
                "polls": 10 + 6 * member,
            }
            members.append(start(client, place, [("consume", read)], {"client.id": f"member-{member}", **mine}))
            time.sleep(2)
        members[2].kill()
        for member_session in members[:2]:
            found += read_of(member_session.finish())
    return found


def sasl_between_nodes(cluster: Cluster) -> Results:
    """Brokers that authenticate to each other; clients on the same listener."""
    place = cluster.bootstrap("SASL_PLAINTEXT")
    admin = sasl("librdkafka", "SCRAM-SHA-256", "admin")
    steps: list[Step] = [
        ("create", {"topics": {"orders": 3}, "replicas": 2}),
        ("produce", {"topic": "orders", "count": 40, "batches": 4}),
        ("transact", {"topic": "orders", "id": "ledger", "ends": ["commit", "abort"]}),
    ]
    run("librdkafka", place, steps, admin)
    cluster.stop_node(2)
    cluster.start_node(2)
    read: list[Step] = [("consume", {"topics": ["orders"], "group": "billing", "count": 45, "polls": 20})]
    return read_of(run("librdkafka", place, read, admin))


def fall_back(cluster: Cluster) -> Results:
    """librdkafka without ApiVersions: it speaks the versions of the release in `broker.version.fallback`."""
    found: Results = []
    for release in ("0.8.2", "0.9.0", "0.10.0"):
        settings = {"api.version.request": "false", "broker.version.fallback": release}
        prefix = f"r{release.replace('.', '')}-"
        run("librdkafka", cluster.bootstrap(), [("create", {"topics": {f"{prefix}orders": 2}})])
        steps: list[Step] = [
            ("produce", {"topic": f"{prefix}orders", "count": 20, "config": {"compression.type": codec}})
            for codec in ("none", "gzip", "snappy", "lz4")
            if release != "0.8.2" or codec != "lz4"
        ]
        group = {} if release == "0.8.2" else {"group": "billing"}
        read = {"topics": [f"{prefix}orders"], "count": 20 * len(steps), "partitions": [0, 1], **group}
        steps.append(("consume", {**read, "polls": 20}))
        found += read_of(run("librdkafka", cluster.bootstrap(), steps, settings))
    return found


def many_connections(cluster: Cluster) -> Results:
    """Connections by the dozen, some idle until the broker closes them."""
    place = cluster.bootstrap()
    run("librdkafka", place, [("create", {"topics": {"orders": 2}})])
    found: Results = []
    for number in range(4):
        sessions = [
            start(client, place, [("produce", {"topic": "orders", "count": 5, "first": number * 5})])
            for client in ("librdkafka", "aiokafka", "python", "librdkafka")
        ]
        for session in sessions:
            session.finish()
    read: list[Step] = [
        ("consume", {"topics": ["orders"], "group": "billing", "count": 80}),
        ("sleep", {"seconds": 4}),
        ("consume", {"topics": ["orders"], "group": "again", "count": 80}),
    ]
    return found + read_of(run("java-3.6.2", place, read))


def throttled(cluster: Cluster) -> Results:
    """Clients over their quota: answers with throttle times."""
    place = cluster.bootstrap()
    quotas: list[Step] = [
        ("create", {"topics": {"orders": 1}}),
        ("limit", {"user": "", "rates": {"producer_byte_rate": 20000.0, "consumer_byte_rate": 20000.0}}),
    ]
    run("java-4.4.0", place, quotas)
    steps: list[Step] = [
        ("produce", {"topic": "orders", "count": 60, "size": 2000, "batches": 10}),
        ("consume", {"topics": ["orders"], "group": "billing", "count": 60, "polls": 30}),
    ]
    return read_of(run("java-4.4.0", place, steps)) + read_of(run("librdkafka", place, steps))


def streams(cluster: Cluster) -> Results:
    """Kafka Streams with the streams group protocol (KIP-1071) and with the classic one."""
    place = cluster.bootstrap()
    steps: list[Step] = [("create", {"topics": {"orders": 2, "copies": 2, "classic-copies": 2}})]
    run("librdkafka", place, [*steps, ("produce", {"topic": "orders", "count": 20})])
    for protocol, target in (("streams", "copies"), ("classic", "classic-copies")):
        work = {"source": "orders", "target": target, "id": f"enrich-{protocol}", "protocol": protocol, "seconds": 12}
        run("streams-4.3.1", place, [("copy", work)])
    read: list[Step] = [("consume", {"topics": ["copies", "classic-copies"], "group": "billing", "count": 40})]
    found = read_of(run("librdkafka", place, read))
    run("java-4.4.0", place, [("administer", {"topic": "orders", "group": "billing"})])
    return found


def telemetry(cluster: Cluster) -> Results:
    """Clients that push their metrics every second (KIP-714); needs a cluster with `telemetry`."""
    place = cluster.bootstrap()
    wanted = {"kind": "CLIENT_METRICS", "name": "all", "values": {"metrics": "*", "interval.ms": "1000"}}
    run("java-4.4.0", place, [("configure", wanted)], {"client.id": "admin"})
    made: list[Step] = [("create", {"topics": {"orders": 2}}), ("produce", {"topic": "orders", "count": 20})]
    run("librdkafka", place, made, {"client.id": "shop"})
    work = {"topics": ["orders"], "group": "billing", "count": 1000, "polls": 6}
    members = [
        start(client, place, [("consume", work)], {"client.id": f"billing-{number}", "enable.metrics.push": "true"})
        for number, client in enumerate(("librdkafka", "java-4.4.0"), 1)
    ]
    return [record for member in members for record in read_of(member.finish())]


def snapshots(cluster: Cluster) -> Results:
    """A controller that was down while the metadata log was cut off fetches a snapshot (FetchSnapshot)."""
    place = cluster.bootstrap()
    run("librdkafka", place, [("create", {"topics": {"orders": 1}, "replicas": 2})])
    cluster.stop_node(3)
    for number in range(6):
        topics = {f"many-{number}-{each}": 4 for each in range(4)}
        run("librdkafka", place, [("create", {"topics": topics, "replicas": 2})])
        time.sleep(2)
    time.sleep(5)
    cluster.start_node(3)
    time.sleep(3)
    return family(cluster, "librdkafka", prefix="after-")


def fetch_snapshots(cluster: Cluster) -> Results:
    """Fetch every snapshot of the nodes (that of the format holds SCRAM credentials), in pieces, and the log."""
    place = cluster.bootstrap()
    run("java-4.4.0", place, [("create", {"topics": {"orders": 1}}), ("administer", {"topic": "orders"})])
    time.sleep(5)
    for node in cluster.nodes:
        speaker = Speaker(cluster.options.host, node.ports["CONTROLLER"], cluster.cluster_id)
        for file in sorted((node.folder / "data" / "__cluster_metadata-0").glob("*.checkpoint")):
            end_offset, _, epoch = file.stem.partition("-")
            snapshot = {"end_offset": int(end_offset), "epoch": int(epoch)}
            for position in range(0, file.stat().st_size, 800):
                piece = {"partition": 0, "current_leader_epoch": 1, "snapshot_id": snapshot, "position": position}
                topics = [{"name": "__cluster_metadata", "partitions": [piece]}]
                for version in (0, 1):
                    speaker.send(59, version, {"replica_id": 9, "max_bytes": 800, "topics": topics})
        for offset in range(0, 60, 10):
            log = {"partition": 0, "current_leader_epoch": 1, "fetch_offset": offset, "last_fetched_epoch": 1}
            topic = {"topic": "__cluster_metadata", "topic_id": uuid.UUID(int=1), "partitions": [log]}
            for version in (12, 17):
                body = {"max_wait_ms": 10, "max_bytes": 100_000, "topics": [topic], "session_epoch": -1}
                speaker.send(1, version, {**body, "cluster_id": cluster.cluster_id})
        speaker.close()
    return []


_KERBEROS: Final = ("java-0.9.0.1", "java-0.10.2.2", "java-0.11.0.3", "java-2.8.2", "java-4.4.0")


def kerberos(cluster: Cluster, clients: Sequence[str] = _KERBEROS) -> Results:
    """GSSAPI of three ages: a bare token opens the connection (0.9), tokens behind a handshake (0.10, 0.11), framed."""
    port = cluster.nodes[0].ports["SASL_PLAINTEXT"]
    place = f"localhost:{port}"
    admin = sasl("librdkafka", "PLAIN", "admin")
    run("librdkafka", place, [("create", {"topics": {"orders": 2}})], admin)
    found: Results = []
    for client in clients:
        steps: list[Step] = [
            ("produce", {"topic": "orders", "count": 5}),
            ("consume", {"topics": ["orders"], "group": f"group-{client}", "count": 5, "polls": 20}),
        ]
        found += read_of(run(client, place, steps, cluster.realm.client()))
    return found


def beside_tls(cluster: Cluster) -> Results:
    """Clients on every kind of listener of one broker at the same time, with and without TLS."""
    files = cluster.folder / "tls"
    trust = {"ssl.ca.location": str(files / "ca.pem"), "security.protocol": "SSL"}
    mutual = {"ssl.certificate.location": str(files / "client.pem"), "ssl.key.location": str(files / "client.pem")}
    secret = {**trust, **sasl("librdkafka", "SCRAM-SHA-512", "admin", protocol="SASL_SSL")}
    run("librdkafka", cluster.bootstrap(), [("create", {"topics": {"orders": 2}})])
    steps: list[Step] = [
        ("produce", {"topic": "orders", "count": 20}),
        ("consume", {"topics": ["orders"], "group": "billing", "count": 5, "polls": 10, "keep": False}),
    ]
    sessions = [
        start("librdkafka", cluster.bootstrap(listener), steps, properties)
        for listener, properties in (
            ("SSL", trust),
            ("MTLS", {**trust, **mutual}),
            ("SASL_SSL", secret),
            ("SASL_PLAINTEXT", sasl("librdkafka", "PLAIN", "admin")),
        )
    ]
    for session in sessions:
        session.finish()
    # Plain text to a listener with TLS, and TLS to a plain one.
    for listener, properties in (("SSL", {}), ("PLAINTEXT", trust)):
        short = {"message.timeout.ms": "1500", **properties}
        start("librdkafka", cluster.bootstrap(listener), [("produce", {"topic": "orders", "count": 1})], short).finish()
    return family(cluster, "librdkafka", prefix="plain-")
