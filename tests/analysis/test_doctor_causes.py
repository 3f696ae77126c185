"""Findings that are consequences of others: what they say then, and which two stay two."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.doctor.causes import find_causes
from decoders.analysis.doctor.diagnosis_input import Found
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.observations import Observation
from decoders.capture.merge_captures import packet_number_before_file
from decoders.exchanges.exchange import Ended
from decoders.protocol_facts.api_keys import FETCH, LEAVE_GROUP
from tests.analysis.cause_scenes import logged_out
from tests.analysis.cluster_scenes import clusters_told
from tests.analysis.scenes import BEGUN, Scene
from tests.analysis.silence_scenes import waiting


def rows_of(scene: Scene) -> list[dict[str, Any]]:
    """The findings about a scene."""
    fold = Doctor()
    for row in scene.rows(fold):
        if isinstance(row, Ended):
            fold.observe_connection_end(row)
        else:
            fold.add(row)
    return fold.rows()


def one(rows: list[dict[str, Any]], identity: str) -> dict[str, Any]:
    """The only finding of a kind."""
    (row,) = (row for row in rows if row["id"] == identity)
    return row


def left_behind(client: str, *, reason: str | None = None) -> Scene:
    """Two clients that node 2 does not answer for 20 s, and a member that fetched until then and leaves."""
    scene = waiting("app", "shop")
    wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 5}]}]}
    answer = {"responses": [{"topic": "orders", "partitions": [{"partition_index": 0, "high_watermark": 5}]}]}
    for turn in range(4):
        scene.ask(turn / 2, (FETCH, 11), wanted, answer, client=client, host="10.0.0.4", line=1)
    leaves = {"group_id": "billing", "members": [{"member_id": "m", "reason": reason}]}
    return scene.ask(24, (LEAVE_GROUP, 5), leaves, {}, client=client, host="10.0.0.4", line=2)


@pytest.mark.parametrize(
    ("scene", "cause", "words"),
    [
        (left_behind("app"), "broker-silent", "likely it got nothing in this time"),
        (left_behind("mail"), None, "likely its program did not call poll()"),
        (left_behind("app", reason="consumer poll timeout has expired."), None, "its program did not call poll()"),
    ],
)
def test_who_left_because_a_broker_was_silent_did_not_stop_to_poll(scene: Scene, cause: str | None, words: str) -> None:
    row = one(rows_of(scene), "poll-stopped")
    assert row.get("cause", {}).get("id") == cause
    assert row["meaning"].startswith(words)


@pytest.mark.parametrize(
    ("cause", "about", "folded"),
    [
        ("version-refused", {"clients": ["mail"]}, True),
        ("version-refused", {"clients": ["other"]}, False),
        ("login-expired", {"clients": ["mail"]}, True),
        ("answered-with-error", {"group": "billing", "other_protocol": True}, True),
        ("answered-with-error", {"group": "billing"}, False),
    ],
)
def test_a_group_is_behind_because_a_member_is_refused(cause: str, about: dict[str, Any], *, folded: bool) -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    behind = Found("group-behind", "warning", seen, {"group": "billing", "clients": ["mail"]})
    assert find_causes([Found(cause, "error", seen, about), behind]) == ({1: [0]} if folded else {})


@pytest.mark.parametrize(("lifetime_ms", "titles"), [(8000, 1), (7000, 2)])
def test_clients_whose_logins_run_out_for_one_setting_are_one_finding(lifetime_ms: int, titles: int) -> None:
    scene = logged_out(4, scene=logged_out(5, client="push"), client="pull", lifetime_ms=lifetime_ms)
    found = [row for row in rows_of(scene) if row["id"] == "login-expired"]
    assert len(found) == titles
    assert [name for row in found for name in row["clients"]] == ["push", "pull"]
    if titles == 1:
        assert "push, pull do not log in again: 10.0.0.9:9092 closes 9 of their connections" in found[0]["title"]


@pytest.mark.parametrize(("apart", "mixed"), [(False, True), (True, False)])
def test_two_inputs_of_one_time_are_no_mixed_cluster(*, apart: bool, mixed: bool) -> None:
    fold = Doctor()
    for exchange in clusters_told(*(("10.0.0.9", each, "10.0.0.9") for each in "ABAB")).exchanges(fold):
        exchange._read_sides()
        view = exchange._response_view
        if apart and isinstance(view, dict) and view["cluster_id"] == "B":
            exchange.response_packet = packet_number_before_file(1) + 7
        fold.add(exchange)
    assert ("cluster-mixed" in {row["id"] for row in fold.rows()}) == mixed
