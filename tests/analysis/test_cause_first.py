"""Of several findings with one cause the cause comes first, and says no more than the bytes show."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.moves.outage_times import widen_outage
from decoders.analysis.doctor.observations import Observation
from decoders.exchanges.exchange import Exchange
from decoders.protocol_facts.api_keys import DELETE_GROUPS, HEARTBEAT, METADATA, OFFSET_FETCH
from tests.analysis.identity_scenes import GROUP, INCONSISTENT, join
from tests.analysis.network_scenes import filtered
from tests.analysis.record_scenes import PLACE, commit, get, read, stored
from tests.analysis.scenes import BEGUN, MS, NS, Scene


def rows_of(scene: Scene) -> list[dict[str, Any]]:
    fold = Doctor()
    for row in scene.rows(fold):
        if isinstance(row, Exchange):
            fold.add(row)
        else:
            fold.observe_connection_end(row)
    return fold.rows()


def ask_for_commit(scene: Scene, at: float, offset: int) -> Scene:
    """The group asks for its committed offset."""
    wanted = {"group_id": "billing", "topics": [{"name": PLACE, "partition_indexes": [0]}]}
    parts = [{"partition_index": 0, "committed_offset": offset}]
    answer = {"topics": [{"name": PLACE, "partitions": parts}]}
    return scene.ask(at, (OFFSET_FETCH, 7), wanted, answer, client="reader")


def lost(*, after: float, deleted: bool = False) -> Scene:
    """A group that begins without a commit, reads to offset 10, and is asked for its commit later, in vain."""
    scene = ask_for_commit(stored(), -1, -1)
    read((0, 10), scene=scene)
    scene.ask(0.1, (METADATA, 9), {}, {"brokers": [{"node_id": 1, "host": "10.0.0.9", "port": 9092}], "topics": []})
    if deleted:
        answer = {"results": [{"group_id": "billing"}]}
        scene.ask(5, (DELETE_GROUPS, 2), {"groups_names": ["billing"]}, answer, client="ops")
    return ask_for_commit(scene, 1.5 + after, -1)


def beaten(scene: Scene, *seconds: int) -> Scene:
    """Heartbeats of a member of the group."""
    for second in seconds:
        asked = {"group_id": "billing", "generation_id": 1, "member_id": "m"}
        scene.ask(second, (HEARTBEAT, 3), asked, {}, client="reader")
    return scene


@pytest.mark.parametrize(
    ("scene", "why"),
    [
        (
            lost(after=70),
            "likely it expired while the group was away for 70s (offsets.retention.minutes), as no request",
        ),
        (
            commit(lost(after=70), 80, 30),
            "it expired (offsets.retention.minutes), or was deleted",
        ),
        (
            commit(beaten(lost(after=70), 1, 2, 69, 70), 80, 30),
            "likely it expired while the group was away for 67s (offsets.retention.minutes), as no request in the",
        ),
        (beaten(lost(after=70), *range(1, 70, 3)), "it expired (offsets.retention.minutes), or was deleted"),
        (lost(after=30), "no retention is that short (offsets.retention.minutes): it was deleted, with its topic or"),
        (lost(after=70, deleted=True), "ops deleted it: its members begin where"),
    ],
)
def test_one_reason_for_lost_commits_where_the_capture_shows_it(scene: Scene, why: str) -> None:
    (row,) = (row for row in rows_of(scene) if row["id"] == "commit-lost")
    assert row["title"] == "group billing had committed offset 10 of orders-0 at 14:13:21 UTC, and has none any more"
    assert row["meaning"].startswith(why)
    assert row["count"] == 1
    assert row["first"] == row["last"]


def test_records_that_were_passed_after_a_lost_commit_follow_it() -> None:
    first, then = rows_of(commit(get(lost(after=70), 72, 20, 30), 73, 30))[:2]
    assert (first["id"], then["id"]) == ("commit-lost", "read-past")
    assert then["cause"] == {"id": "commit-lost", "title": first["title"]}


def test_hosts_that_get_no_new_connection_are_one_finding() -> None:
    other = "10.0.0.8:9092"
    scene = filtered(3, 12, older="10.0.0.4")
    for host in ("10.0.0.5", "10.0.0.6"):
        for at in (4, 13):
            scene.knock(at, other, refused=False, tries=3, host=host)
    (row,) = (row for row in rows_of(scene) if row["id"] == "connection-filtered")
    assert row["title"] == (
        "new connections of 10.0.0.1, 10.0.0.5, 10.0.0.6 to node 2 at 10.0.0.8:9092 are not answered, while those of"
        " 10.0.0.4 go on there; new is answered by other brokers alone; no client got a new one since"
    )
    assert "conntrack" in row["meaning"]
    # Somebody opens one meanwhile: then it is no fault of the broker's host.
    scene.ask(9, (HEARTBEAT, 3), {"group_id": "g"}, {}, client="late", host="10.0.0.7", broker=other, line=7)
    (row,) = (row for row in rows_of(scene) if row["id"] == "connection-filtered")
    assert "between these hosts and the broker" in row["meaning"]


def test_who_joined_before_is_named_with_its_assignors() -> None:
    scene = join(0, Scene(), "back", offers=("range",))
    for at in range(1, 5):
        join(at, scene, "back", code=INCONSISTENT, offers=("cooperative-sticky",))
        join(at, scene, "new", code=INCONSISTENT, offers=("cooperative-sticky",))
    (row,) = (row for row in rows_of(scene) if row["id"] == "protocol-refused")
    assert row["group"] == GROUP
    assert row["meaning"].endswith("; back joined before, last at 14:13:20 UTC, with range")


def observed(*seconds: float) -> Observation:
    seen = Observation()
    for second in seconds:
        seen.count_occurrence_at(BEGUN + round(second * NS))
        seen.mark_second(BEGUN + round(second * NS))
    return seen


@pytest.mark.parametrize(
    ("gone", "refused", "answered", "times"),
    [
        ((50, 67), (41.4, 45, 68.25), (30, 41.2, 68.9), (41.4, 68.25)),
        ((35.6, 35.7), (36.2, 40.5), (35.1, 41), (35.6, 40.5)),
        ((50, 67), (20, 21), (30, 41, 70), (50, 67)),  # another outage
        ((50, 67), (80, 81), (30, 41, 70), (50, 67)),
        ((50, 67), (52, 60), (30, 41, 70), (50, 67)),
        ((50, 67), (20, 45, 80), (30, 41, 70), (46, 67)),  # of 45 only the second is known
        ((50, 67), (), (30,), (50, 67)),
        ((35.6, 35.7), (36.2, 37.1, 40.5), (35.1, 36.4, 41), (35.6, 40.5)),
    ],
)
def test_an_absence_lasts_as_long_as_connections_are_refused(
    gone: tuple[float, ...], refused: tuple[float, ...], answered: tuple[float, ...], times: tuple[float, float]
) -> None:
    seen = observed(*gone)
    widen_outage(seen, [observed(*refused)] if refused else [], observed(*answered))
    begun = BEGUN // NS * NS  # marks are whole seconds
    assert [round((each - BEGUN) / MS) for each in (seen.first, seen.last)] == [
        round(each * 1000) - (round((BEGUN - begun) / MS) if each == 46 else 0) for each in times
    ]
