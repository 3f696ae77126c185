"""Findings of `kw audit --security`: in captures that ship, in scenes, and near misses that must not be found."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.security_audit import FAILURES_MANY, SECURITY_FINDINGS, Security
from decoders.capture.read_capture import CaptureReader
from decoders.errors import Malformed
from decoders.exchanges.exchange import ConnectionInfo, Exchange, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_and_node_names import Topics
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.analysis.scenes import BEGUN, Scene
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "security.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
VERSIONS, META, HANDSHAKE, LOGIN, SCRAM, NEW_TOKEN, NEW_ACLS = (
    (18, 2),
    (3, 9),
    (17, 1),
    (36, 2),
    (51, 0),
    (38, 2),
    (30, 3),
)
ALTER = (44, 1)
# Captures with errors or warnings, and the reasons.
SHIPPED = {
    "sasl-framed.pcapng": [
        *("login-failed", "login-failed", "mechanism-refused", "password-in-clear", "scram-in-clear", "scram-in-clear"),
        *("token-in-clear", "token-unsigned"),
    ],
    "sasl-raw.pcap": ["login-failed", "login-failed", "password-in-clear", "scram-in-clear", "scram-in-clear"],
    "sasl-gssapi.pcap.gz": ["password-in-clear"],
    "first-steps.pcapng": ["secret-in-clear"],
    "tour.pcapng": [],
    "three-nodes.pcapng.zst": [],
    "share-groups.pcapng": ["secret-in-clear"],
}


@cache
def exchanges(name: str) -> list[Exchange]:
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(Security().needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def found(scene: Scene) -> dict[str, dict[str, Any]]:
    """The findings of a scene by id; there is one of each."""
    fold = Security()
    for each in scene.exchanges(fold):
        fold.add(each)
    rows = fold.rows()
    for row in rows:
        SCHEMA.validate({"kind": "security", "schema": 1, **row})
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("name", CLEAN)
def test_rows_follow_the_schema_and_errors_end_with_their_exit_code(name: str) -> None:
    outcome = kw("audit", str(FOLDER / name), "--security", "-o", "ndjson")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
        assert "{" not in row["title"] + row["meaning"]
    assert outcome.code == (Exit.FINDINGS if any(row["severity"] == "error" for row in rows) else Exit.DONE)
    told = sorted(row["id"] for row in rows if row["severity"] != "note")
    assert told == SHIPPED.get(name, told)


@pytest.mark.parametrize("name", CLEAN)
def test_any_split_gives_the_same_rows(name: str) -> None:
    draw = Random(name)
    parts = [Security() for _ in range(3)]
    whole, merged = Security(), Security()
    for each in exchanges(name):
        whole.add(each)
        draw.choice(parts).add(each)
    for part in draw.sample(parts, 3):
        handed = Security()
        handed.resume(part.export())
        merged.merge(handed)
    assert merged.rows() == whole.rows()


def test_each_capture_with_findings_is_there() -> None:
    assert set(SHIPPED) <= {*CLEAN}


def test_refused_logins_are_counted_by_user_and_address() -> None:
    rows = [
        json.loads(line)
        for line in kw("audit", str(FOLDER / "sasl-framed.pcapng"), "--security", "-o", "ndjson").out.splitlines()
    ]
    records = [
        json.loads(line)
        for line in kw("sniff", str(FOLDER / "sasl-framed.pcapng"), "-o", "ndjson", "-q").out.splitlines()
    ]
    refused = [
        each
        for each in records
        if each["api"] == "SaslAuthenticate" and any(error["code"] == 58 for error in each["errors"])
    ]
    failed = [row for row in rows if row["id"] == "login-failed"]
    assert {row["user"] for row in failed} == {"alice"}
    assert sum(row["count"] for row in failed) == len(refused)


def test_secrets_are_never_shown() -> None:
    for name in ("sasl-framed.pcapng", "sasl-raw.pcap", "first-steps.pcapng"):
        for format_ in ("text", "ndjson", "csv"):
            out = kw("audit", str(FOLDER / name), "--security", "-o", format_, "-v").out
            assert out
            assert "-secret" not in out
            assert "redacted" not in out


def test_tls_that_was_not_decrypted_is_told_of() -> None:
    capture = str(FOLDER / "tls" / "librdkafka-jsse.pcap")
    rows = [json.loads(line) for line in kw("audit", capture, "--security", "-o", "ndjson").out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
    assert sorted((row["id"], row["count"]) for row in rows) == [("certificate", 7), ("tls", 7), ("tls", 7)]
    (certificate,) = (row for row in rows if row["id"] == "certificate")
    assert (certificate["subject"], certificate["expires"]) == ("CN=localhost", "2036-11-20")
    keys = str(FOLDER / "tls" / "librdkafka-jsse.keys")
    rows = [
        json.loads(line)
        for line in kw("audit", capture, "--keylog", keys, "--security", "-o", "ndjson").out.splitlines()
    ]
    assert sorted(row["id"] for row in rows) == ["anonymous", "tls", "tls"]  # not plaintext


# Scenes.


def handshake(mechanism: str, error: int = 0) -> tuple[tuple[int, int], dict[str, Any], dict[str, Any]]:
    return HANDSHAKE, {"mechanism": mechanism}, {"error_code": error, "mechanisms": ["PLAIN"]}


def plain(scene: Scene, at: float, user: str, error: int = 0, **more: Any) -> None:
    scene.ask(at, *handshake("PLAIN"), **more)
    asked = {"auth_bytes": b"\0" + user.encode() + b"\0hidden"}
    scene.ask(at + 0.1, LOGIN, asked, {"error_code": error, "auth_bytes": b""}, **more)


def served(scene: Scene, at: float, **more: Any) -> None:
    scene.ask(at, META, {"topics": None}, {"brokers": [], "topics": []}, **more)


def test_a_listener_without_logins_is_anonymous() -> None:
    scene = Scene().ask(0, VERSIONS, {}, {"api_keys": []})
    served(scene, 1)
    rows = found(scene)
    assert {kind: row["severity"] for kind, row in rows.items()} == {"plaintext": "warning", "anonymous": "warning"}
    assert rows["anonymous"]["broker"] == "10.0.0.9:9092"


def test_on_loopback_it_is_a_note() -> None:
    scene = Scene().ask(0, VERSIONS, {}, {"api_keys": []}, host="127.0.0.1")
    served(scene, 1, host="127.0.0.1")
    assert {row["severity"] for row in found(scene).values()} == {"note"}


def test_a_connection_whose_beginning_is_missing_is_not_called_anonymous() -> None:
    scene = Scene()
    served(scene, 1)
    assert "anonymous" not in found(scene)


def test_a_listener_where_others_log_in_is_not_anonymous() -> None:
    scene = Scene().ask(0, VERSIONS, {}, {"api_keys": []})
    plain(scene, 1, "alice")
    served(scene, 2)
    served(scene, 3, client="other", line=1)  # the client was there before
    rows = found(scene)
    assert set(rows) == {"plaintext", "password-in-clear"}
    assert rows["password-in-clear"]["users"] == ["alice"]


UNSIGNED, SIGNED = (
    b"n,,\x01auth=Bearer " + token + b"\x01\x01"
    for token in (b"eyJhbGciOiJub25lIn0.e30.", b"eyJhbGciOiJSUzI1NiJ9.e30.eA")
)


@pytest.mark.parametrize(
    ("said", "answer", "error", "told"),
    [
        (UNSIGNED, b"", 0, True),
        (UNSIGNED, b'{"status":"invalid_token"}', 0, False),
        (UNSIGNED, b"", 58, False),
        (SIGNED, b"", 0, False),
    ],
    ids=["unsigned", "refused", "error", "signed"],
)
def test_a_broker_that_takes_unsigned_tokens_is_an_error(said: bytes, answer: bytes, error: int, told: bool) -> None:
    mechanism = "OAUTHBEARER"
    scene = Scene().ask(0, HANDSHAKE, {"mechanism": mechanism}, {"error_code": 0, "mechanisms": [mechanism]})
    scene.ask(1, LOGIN, {"auth_bytes": said}, {"error_code": error, "auth_bytes": answer})
    row = found(scene).get("token-unsigned")
    assert (row is not None) == told
    if row is not None:
        assert (row["severity"], row["broker"], row["clients"]) == ("error", "10.0.0.9:9092", ["app"])


def test_a_few_refused_logins_are_a_warning_and_many_an_error() -> None:
    for count, severity in ((FAILURES_MANY - 1, "warning"), (FAILURES_MANY, "error")):
        scene = Scene()
        for number in range(count):
            plain(scene, number, "mallory", error=58, line=number)
        row = found(scene)["login-failed"]
        assert (row["user"], row["address"], row["count"], row["severity"]) == ("mallory", "10.0.0.1", count, severity)


def test_many_refused_logins_of_one_who_is_let_in_as_well_are_a_warning() -> None:
    scene = Scene()
    for number in range(FAILURES_MANY):
        plain(scene, number, "alice", error=58, line=number)
    plain(scene, 50, "alice", line=99)
    served(scene, 51, line=99)
    assert found(scene)["login-failed"]["severity"] == "warning"


def test_a_mechanism_that_the_broker_does_not_take() -> None:
    scene = Scene().ask(0, *handshake("SCRAM-SHA-1", error=33))
    rows = found(scene)
    assert rows["mechanism-refused"]["mechanism"] == "SCRAM-SHA-1"
    assert set(rows) == {"mechanism-refused", "plaintext"}  # no byte of a login was sent in clear


def test_secrets_of_administration_that_cross_in_clear() -> None:
    upsertion = {"name": "bob", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"salted"}
    scene = Scene().ask(0, SCRAM, {"deletions": [], "upsertions": [upsertion]}, {"results": [{"user": "bob"}]})
    rows = found(scene)
    assert rows["secret-in-clear"]["severity"] == "error"
    assert rows["users-changed"]["users"] == ["bob"]
    answer = {
        "principal_type": "User",
        "principal_name": "alice",
        "token_id": "t1",
        "hmac": b"secret",
        "issue_timestamp_ms": 0,
    }
    scene = Scene().ask(0, NEW_TOKEN, {"renewers": [], "max_lifetime_ms": -1}, answer)
    rows = found(scene)
    assert rows["secret-in-clear"]["secret"] == "HMACs of delegation tokens"
    assert rows["delegation-token"]["owners"] == ["User:alice"]
    refused = Scene().ask(
        0, NEW_TOKEN, {"renewers": [], "max_lifetime_ms": -1}, {**answer, "hmac": b"", "error_code": 65}
    )
    assert set(found(refused)) == {"plaintext"}


@pytest.mark.parametrize(("name", "is_found"), [("sasl.jaas.config", True), ("retention.ms", False)])
def test_values_of_configs(name: str, is_found: bool) -> None:
    config = {"name": name, "config_operation": 0, "value": "7"}
    asked = {"resources": [{"resource_type": 4, "resource_name": "1", "configs": [config]}]}
    rows = found(Scene().ask(0, ALTER, asked, {"responses": []}))
    assert ("config-in-clear" in rows) == is_found
    if is_found:
        assert rows["config-in-clear"]["configs"] == [name]


@pytest.mark.parametrize(
    ("principal", "permission", "error", "expected"),
    [
        ("User:*", 3, 0, {"acl-open", "acl-changed"}),
        ("User:*", 2, 0, {"acl-changed"}),
        ("User:bob", 3, 0, {"acl-changed"}),
        ("User:*", 3, 31, set()),
    ],
)
def test_rules_for_everybody(principal: str, permission: int, error: int, expected: set[str]) -> None:
    rule = {"resource_type": 2, "resource_name": "orders", "principal": principal, "host": "*", "operation": 3}
    asked = {"creations": [{**rule, "permission_type": permission}]}
    rows = found(Scene().ask(0, NEW_ACLS, asked, {"results": [{"error_code": error}]}))
    assert set(rows) - {"plaintext"} == expected
    if "acl-open" in expected:
        assert rows["acl-open"]["acls"] == ["User:* allow read on topic orders"]


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("TLS 1.0, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", {"tls-old"}),
        ("TLS 1.2, TLS_RSA_WITH_AES_128_GCM_SHA256", {"cipher-weak"}),
        ("TLS 1.2, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", {"tls"}),
        (
            "TLS 1.2, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, certificate CN=a by CN=b until {-1}",
            {"tls", "certificate-expired"},
        ),
        (
            "TLS 1.2, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, certificate CN=a by CN=b until {9}",
            {"tls", "certificate-expires"},
        ),
        ("TLS 1.3, TLS_AES_128_GCM_SHA256, client certificate CN=a by CN=b until {99}", {"tls", "certificate"}),
        ("TLS ClientHello of 1.2, 1.3", set()),
    ],
)
def test_what_a_handshake_says(detail: str, expected: set[str]) -> None:
    for days in (-1, 9, 99):
        detail = detail.replace(
            f"{{{days}}}", datetime.fromtimestamp(BEGUN / 1e9 + days * 86_400, UTC).strftime("%Y-%m-%d")
        )
    fold = Security()
    info = ConnectionInfo(1, "10.0.0.1:5000", "10.0.0.9:9093", BEGUN, Topics())
    fold.observe_tls_connection(Skipped(info, None, 100, "tls", detail, BEGUN))
    rows = fold.rows()
    assert {row["id"] for row in rows} == expected
    for row in rows:
        SCHEMA.validate({"kind": "security", "schema": 1, **row})


def test_the_schema_names_all_findings() -> None:
    assert SCHEMA.schema["properties"]["id"]["enum"] == [*SECURITY_FINDINGS]


def test_what_is_not_a_state_is_refused() -> None:
    with pytest.raises(Malformed):
        Security().resume(b"\x93\x01\x02\x03")
