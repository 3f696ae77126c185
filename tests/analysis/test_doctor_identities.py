"""When an error is over, whose consequence a finding is, and what became of a deleted topic and refused batches."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.protocol_facts.api_keys import LEAVE_GROUP
from tests.analysis.identity_scenes import (
    bearer,
    commit,
    coordinator,
    deleted,
    failing,
    join,
    left_again,
    logins,
    refused_batches,
    scram,
)
from tests.analysis.refusal_scenes import committed_at, copied_offset, refused_position, slow_group
from tests.analysis.scenes import BEGUN, NS, Scene
from tests.analysis.test_doctor import folded, merged

MISSING, MOVED = 3, 6


def row_of(what: str, scene: Scene) -> dict[str, Any]:
    """The one finding of this kind, which is the same however the exchanges are split."""
    settled = scene.rows(Doctor())
    (row,) = (row for row in folded(settled).rows() if row["id"] == what)
    assert row in merged(settled).rows()
    return row


@pytest.mark.parametrize(
    ("what", "scene", "over"),
    [
        ("leader-moved", failing(MOVED, 0), True),
        ("leader-moved", failing(MOVED, 0, until=20), True),
        ("leader-moved", failing(MOVED, 0, MOVED, 0, MOVED, 0, until=55), False),  # each 20 s, 15 s ago
        ("leader-moved", failing(MOVED, 0, MOVED, 0, MOVED, 0, until=90), True),
        ("leader-moved", failing(0, MOVED, until=90), False),
        ("coordinator-moved", coordinator(used=False), False),
        ("coordinator-moved", coordinator(used=True), True),
        ("login-failed", logins(False, late=True), False),  # the first round of a login is none
        ("login-failed", logins(False, True), True),
    ],
)
def test_what_may_come_again_is_not_over(what: str, scene: Scene, over: bool) -> None:
    assert row_of(what, scene).get("went_on", False) == over


def test_a_partition_that_others_make_up_for_is_not_over() -> None:
    """Fetches of one partition fail, those of another one succeed."""
    scene = Scene()
    for second in range(8):
        number, code = second % 2, MOVED * (second % 2)
        wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": number, "fetch_offset": 5}]}]}
        part = {"partition_index": number, "error_code": code, "high_watermark": -1 if code else 5}
        answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
        scene.ask(second, (1, 11), wanted, answer)
    wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 5}]}]}
    scene.ask(60, (1, 11), wanted, {"responses": [{"topic": "orders", "partitions": [{"high_watermark": 5}]}]})
    assert "went_on" not in row_of("leader-moved", scene)


def test_a_member_that_left_brings_the_errors_of_its_commits() -> None:
    scene = left_again(3, fails=True)
    assert row_of("member-fenced", scene)["cause"]["id"] == "poll-stopped"
    assert "max.poll.interval.ms (6s)" in row_of("poll-stopped", scene)["meaning"]


def test_a_group_is_behind_because_its_member_left() -> None:
    scene = slow_group(20)
    for at in (8, 18):
        scene.ask(at, (LEAVE_GROUP, 1), {"group_id": "billing", "member_id": "m"}, {}, client="mail")
        join(at + 3, scene, "mail")
    assert row_of("group-behind", scene)["cause"]["id"] == "poll-stopped"


def test_a_commit_of_another_group_has_its_own_cause() -> None:
    scene = commit(12, left_again(3), "app", 25, group_id="audit")
    assert "cause" not in row_of("member-fenced", scene)


def test_a_topic_that_is_gone_by_name_and_by_id_is_one_finding() -> None:
    row = row_of("topic-unknown", deleted())
    assert (row["count"], row["error"]) == (7, "UNKNOWN_TOPIC_OR_PARTITION")
    assert row["title"].endswith("tidy deleted it at 14:13:21 UTC")
    assert "spelling" not in row["remedy"]


@pytest.mark.parametrize("scene", [deleted(at=9), deleted(code=29)])
def test_a_deletion_that_failed_or_came_later_is_no_cause(scene: Scene) -> None:
    row = row_of("topic-unknown", scene)
    assert row["title"] == "topic orders does not exist"
    assert "spelling" in row["remedy"]


@pytest.mark.parametrize(
    ("stored", "meaning"),
    [
        (0, "no try of them was accepted in the capture"),
        (1, "no try of 3 of them was accepted in the capture; the others are stored once"),
        (4, "they are stored once"),
    ],
)
def test_batches_that_were_never_accepted_are_not_stored(stored: int, meaning: str) -> None:
    assert row_of("sent-again", refused_batches(4, stored=stored))["meaning"].startswith(meaning)


def test_a_login_that_worked_after_a_change_does_not_fail_for_it() -> None:
    assert "vault" not in row_of("login-failed", logins(True, True, False, changed=1))["title"]
    assert "vault" not in row_of("login-failed", logins(True, False, changed=1, user="audit"))["title"]


def test_a_token_that_is_valid_is_not_blamed() -> None:
    assert "token expired at" in row_of("login-failed", bearer(BEGUN // NS - 60))["title"]
    assert "token expired at" not in row_of("login-failed", bearer(BEGUN // NS + 3600))["title"]


@pytest.mark.parametrize(
    "scene",
    [
        copied_offset(50_000, other=False),  # nobody shows where the log is
        copied_offset(50_000, until=5),  # the log may have grown since
        copied_offset(1003, first=1000, until=5),  # the end was 1,000 or more, and it may have grown since
        refused_position(900, (0, 100), (600, 5000)),  # the log grew beyond the position later
        refused_position(900, (0, 100)),  # the log may have grown since
        refused_position(900, (600, 5000)),  # it may have ended before the position then
    ],
)
def test_a_position_whose_side_of_the_log_is_not_known_is_on_no_side(scene: Scene) -> None:
    row = row_of("offset-out-of-range", scene)
    assert row["title"] == "topic orders: OFFSET_OUT_OF_RANGE (Fetch)"
    assert "before the start or after the end" in row["meaning"]


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ((12, 100), "behind the end of the log, 100"),
        ((9, 5000), "not behind the end of the log, at least 5,000, so it is before"),
    ],
)
def test_an_end_of_the_log_that_was_listed_proves_the_side(listed: tuple[float, int], words: str) -> None:
    assert (
        f": the position 900 of partition 0 is {words}"
        in row_of("offset-out-of-range", refused_position(900, listed))["title"]
    )


def test_a_position_is_of_no_group_that_its_client_is_not_in() -> None:
    scene = commit(1, refused_position(900, (12, 100)), "other", 0, group_id="nightly", topics=committed_at(900))
    row = row_of("offset-out-of-range", scene)
    assert ": the position 900 of partition 0 is behind the end of the log, 100" in row["title"]
    assert "group" not in row


@pytest.mark.parametrize("fails", [True, False])
def test_a_second_login_that_comes_too_soon_is_over_where_logins_succeed_from_then_on(fails: bool) -> None:
    scene = scram(0, Scene(), line=0, succeeds=True)
    scene.ask(0.5, (17, 1), {"mechanism": "SCRAM-SHA-256"}, {"error_code": 34}, line=0)
    scram(1, scene, line=1, succeeds=True)
    scram(3, scene, line=2, succeeds=not fails)
    scene.ask(9, (12, 3), {"group_id": "g"}, {})
    rows = [row for row in folded(scene.rows(Doctor())).rows() if row.get("error") == "ILLEGAL_SASL_STATE"]
    assert [row.get("went_on", False) for row in rows] == [not fails]
    assert [row["severity"] for row in rows] == ["note" if fails else "warning"]
    assert "logs in again on a connection that has a login" in rows[0]["meaning"]


def test_a_token_that_is_never_renewed_is_told() -> None:
    assert "Z and was never renewed" in row_of("login-failed", bearer(BEGUN // NS - 60))["title"]
