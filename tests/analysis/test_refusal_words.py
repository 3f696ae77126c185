"""What brokers say of errors, as findings quote it: of the subject alone, and without secrets of the request."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.protocol_facts.api_keys import (
    CREATE_TOPICS,
    INCREMENTAL_ALTER_CONFIGS,
    PRODUCE,
    SASL_AUTHENTICATE,
)
from tests.analysis.client_scenes import denied
from tests.analysis.scenes import Scene
from tests.analysis.test_doctor_bounds import count_lines

_CONSUMER_GROUP_HEARTBEAT = 68
JAAS = 'PlainLoginModule required user_a="hunter2";'


def titles(scene: Scene) -> list[str]:
    """The titles of the findings about a scene."""
    fold = Doctor()
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    return [row["title"] for row in fold.rows()]


def changed_config(name: str, value: str, words: str) -> Scene:
    """An alteration of a broker's config that is refused again and again."""
    config = {"name": name, "config_operation": 0, "value": value}
    asked = {"resources": [{"resource_type": 4, "resource_name": "1", "configs": [config]}]}
    answer = {"responses": [{"error_code": 40, "error_message": words, "resource_type": 4, "resource_name": "1"}]}
    scene = Scene()
    for number in range(4):
        scene.ask(4 * number, (INCREMENTAL_ALTER_CONFIGS, 0), asked, answer, client="ops")
    return scene


def login(words: str) -> Scene:
    """A login with a token that is refused again and again."""
    scene = Scene()
    answer = {"error_code": 58, "error_message": words, "auth_bytes": b""}
    for number in range(4):
        scene.ask(4 * number, (SASL_AUTHENTICATE, 1), {"auth_bytes": b"n,,\x01auth=Bearer abc"}, answer, line=number)
    return scene


@pytest.mark.parametrize(
    ("scene", "secret"),
    [
        (changed_config("listener.name.x.sasl.jaas.config", JAAS, f"Invalid value {JAAS} for it"), "Invalid value"),
        (changed_config("ssl.keystore.password", "hunter2", "Cannot open it with hunter2"), "Cannot open"),
        (changed_config("sasl.jaas.config", JAAS, "No option user_a in hunter2"), "hunter2"),
        (login("token eyJhbGciOi.SECRET.sig is not valid"), "SECRET"),
        (login("Authentication failed: {eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln}"), "eyJ"),
    ],
)
def test_words_with_a_secret_of_the_request_are_not_quoted(scene: Scene, secret: str) -> None:
    found = titles(scene)
    assert found
    assert not any(secret in title for title in found)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        (changed_config("log.retention.ms", "-5", "Invalid value -5 for it"), '"Invalid value -5 for it"'),
        (changed_config("sasl.jaas.config", JAAS, "Dynamic update is not allowed"), '"Dynamic update is not allowed"'),
        (login("Authentication failed: account a is locked"), '"Authentication failed: account a is locked"'),
    ],
)
def test_plain_words_are_quoted(scene: Scene, words: str) -> None:
    assert any(words in title for title in titles(scene))


def created(count: int, times: int = 4) -> Scene:
    """So many topics whose creation is refused, each with words of its own."""
    names = [f"topic-{number}" for number in range(count)]
    asked: dict[str, Any] = {"timeout_ms": 1}
    asked["topics"] = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    rows = [{"name": name, "error_code": 42, "error_message": f"{name} is too dear"} for name in names]
    scene = Scene()
    for number in range(times):
        scene.ask(4 * number, (CREATE_TOPICS, 5), asked, {"topics": rows}, client="ops")
    return scene


def test_words_are_those_about_the_subject() -> None:
    found = [title for title in titles(created(3)) if "too dear" in title]
    assert len(found) == 3
    for number in range(3):
        (title,) = (title for title in found if f"topic-{number}: " in title or f"topic-{number} " in title)
        assert f'"topic-{number} is too dear"' in title
        assert title.count("too dear") == 1


def test_an_answer_with_many_errors_is_read_in_steps_by_their_number() -> None:
    def cost(count: int) -> int:
        fold = Doctor()
        (exchange,) = created(count, 1).exchanges(fold)
        return count_lines(lambda: fold.add(exchange))

    cost(2)  # what is imported and cached once
    assert cost(160) < 8 * cost(40)  # steps by the square would be 16 times as many


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("Cannot upgrade classic group g to consumer group because online upgrade is disabled", "the other group"),
        ("Group g not found.", "there is no such group"),
    ],
)
def test_a_group_of_the_other_protocol_is_not_said_to_be_missing(words: str, meaning: str) -> None:
    asked = {"group_id": "g", "member_id": "m", "member_epoch": 0}
    answer = {"error_code": 69, "error_message": words, "member_epoch": 0, "heartbeat_interval_ms": 0}
    scene, fold = Scene(), Doctor()
    for number in range(4):
        scene.ask(4 * number, (_CONSUMER_GROUP_HEARTBEAT, 0), asked, answer, client="billing-2")
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    (found,) = (row for row in fold.rows() if "GROUP_ID_NOT_FOUND" in row["title"])
    assert meaning in found["meaning"]
    assert ("group.protocol" in found["remedy"]) == (meaning == "the other group")


@pytest.mark.parametrize(
    ("scene", "does", "not_does"),
    [
        (denied("orders"), "remove the denial WRITE on orders* of User:* that ops set at 14:13:29 UTC", "grant"),
        (denied("orders-eu", kind=3), "remove the denial WRITE of User:* that ops set at 14:13:29 UTC", "grant "),
        (denied("orders-eu", kind=3, principal="User:bob"), "grant", "remove"),  # that one is somebody else
        (denied("payments"), "grant", "remove"),
    ],
)
def test_a_denial_is_to_be_removed(scene: Scene, does: str, not_does: str) -> None:
    fold = Doctor()
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    (remedy,) = (row["remedy"] for row in fold.rows() if row["id"] == "access-denied")
    assert does in remedy
    assert not remedy.startswith(not_does)


@pytest.mark.parametrize(("later", "is_over"), [(19, None), (0, True)])
def test_an_error_of_a_partition_that_is_refused_later_is_not_over(later: int, *, is_over: bool | None) -> None:
    """Partition 0 goes on all the time; 1 has one time-out, and then other errors or none."""
    scene = Scene()
    for at in range(30):
        for number, code in ((0, 0), (1, 7 if at == 5 else later if at > 5 else 0)):
            part = {"index": number, "error_code": code, "base_offset": -1 if code else at}
            asked = {"acks": -1, "topic_data": [{"name": "pay", "partition_data": [{"index": number}]}]}
            answers = {"responses": [{"name": "pay", "partition_responses": [part]}]}
            scene.ask(at + number / 10, (PRODUCE, 8), asked, answers, client="shop")
    fold = Doctor()
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    (row,) = (row for row in fold.rows() if row["id"] == "timed-out")
    assert row.get("went_on") == is_over
