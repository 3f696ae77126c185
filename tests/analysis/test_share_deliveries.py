"""Share groups: who holds which records, what becomes of them, and which are at their last attempt."""

from __future__ import annotations

import json
from random import Random
from typing import Any
from uuid import UUID

import pytest

from decoders.analysis.groups import share_deliveries
from decoders.analysis.groups.group_rows import Groups
from decoders.wire.state_serialization import pack, unpack
from tests.analysis.hanging_transactions import check_last_attempts
from tests.analysis.scenes import Scene
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

SHARE_FETCH, SHARE_ACK, CONFIGS, DESCRIBE, ALTER = (78, 2), (79, 2), (32, 4), (90, 1), (91, 0)
TOPIC_ID = UUID(int=9)
GROUP, BROKER = 32, 4
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def group_row(scene: Scene) -> dict[str, Any]:
    """The row of the group; asserts that split and merged folds, and exchanges taken twice, give the same ranges."""
    fold = Groups()
    exchanges = scene.exchanges(fold)
    for each in exchanges:
        fold.add(each)
    draw, parts = Random(len(exchanges)), [Groups() for _ in range(3)]
    for each in draw.sample(exchanges, len(exchanges)):
        draw.choice(parts).add(each)
    whole = Groups()
    for part in parts:
        handed = Groups()
        handed.resume(part.export())
        whole.merge(handed)
    (row,) = fold.rows()
    assert whole.rows() == [row]
    whole.merge(fold)
    assert [whole.rows()[0][key] for key in ("locks", "last_attempts")] == [row["locks"], row["last_attempts"]]
    return row


def acquire(
    scene: Scene, at: float, *ranges: tuple[int, int, int], member: str = "a", lock: int = 30_000, epoch: int = 1
) -> Scene:
    """A ShareFetch that gets ranges: first and last offset, delivery count."""
    rows = [{"first_offset": one, "last_offset": two, "delivery_count": count} for one, two, count in ranges]
    part = {"partition_index": 0, "acquired_records": rows}
    request = {"group_id": "packers", "member_id": f"id-{member}", "share_session_epoch": epoch}
    request |= {"topics": [{"topic_id": TOPIC_ID, "partitions": [{"partition_index": 0}]}]}
    answer = {"acquisition_lock_timeout_ms": lock, "responses": [{"topic_id": TOPIC_ID, "partitions": [part]}]}
    return scene.ask(at, SHARE_FETCH, request, answer, client=member)


def acknowledge(
    scene: Scene, at: float, first: int, last: int, *kinds: int, member: str = "a", error: int = 0, epoch: int = 2
) -> Scene:
    batch = {"first_offset": first, "last_offset": last, "acknowledge_types": list(kinds)}
    asked = {"topic_id": TOPIC_ID, "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}]}
    done = {"topic_id": TOPIC_ID, "partitions": [{"partition_index": 0, "error_code": error}]}
    request = {"group_id": "packers", "member_id": f"id-{member}", "share_session_epoch": epoch, "topics": [asked]}
    answer = {"acquisition_lock_timeout_ms": 30_000, "responses": [done]}
    return scene.ask(at, SHARE_ACK, request, answer, client=member)


def configs(scene: Scene, at: float, kind: int, name: str, key: str, value: str) -> Scene:
    result = {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "value": value}]}
    return scene.ask(at, CONFIGS, {"resources": []}, {"results": [result]}, client="admin")


def ranges(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (row["first_offset"], row["last_offset"], row["state"], row["deliveries"], row["client_id"]) for row in rows
    ]


# Scene → ranges that are held at the end, ranges at their last attempt.
ROWS: list[tuple[Scene, list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    (acquire(Scene(), 0, (0, 9, 1)), [(0, 9, "held", 1, "a")], []),
    (acknowledge(acquire(Scene(), 0, (0, 9, 1)), 1, 0, 9, ACCEPT), [], []),
    (
        acknowledge(acquire(Scene(), 0, (0, 9, 1)), 1, 2, 4, ACCEPT),
        [(0, 1, "held", 1, "a"), (5, 9, "held", 1, "a")],
        [],
    ),
    (
        acknowledge(acquire(Scene(), 0, (0, 3, 5)), 1, 0, 3, ACCEPT, ACCEPT, RELEASE, REJECT),
        [],
        [(0, 1, "accepted", 5, "a"), (2, 2, "archived", 5, "a"), (3, 3, "rejected", 5, "a")],
    ),
    (acknowledge(acquire(Scene(), 0, (0, 9, 1)), 1, 0, 9, ACCEPT, error=121), [(0, 9, "held", 1, "a")], []),
    (
        acquire(acknowledge(acquire(Scene(), 0, (0, 9, 1)), 1, 0, 9, RELEASE), 2, (0, 9, 2), member="b"),
        [(0, 9, "held", 2, "b")],
        [],
    ),
    (acquire(Scene(), 0, (7, 7, 5)), [(7, 7, "held", 5, "a")], [(7, 7, "held", 5, "a")]),
    (acquire(acquire(Scene(), 0, (7, 7, 5)), 31, (8, 8, 1)), [(8, 8, "held", 1, "a")], [(7, 7, "archived", 5, "a")]),
    (acquire(acquire(Scene(), 0, (7, 7, 2)), 31, (8, 8, 1)), [(7, 7, "expired", 2, "a"), (8, 8, "held", 1, "a")], []),
    (
        acquire(acknowledge(acquire(Scene(), 0, (7, 7, 2)), 29, 7, 7, RENEW), 31, (8, 8, 1)),
        [(7, 7, "held", 2, "a"), (8, 8, "held", 1, "a")],
        [],
    ),
    (acquire(acquire(Scene(), 0, (0, 9, 1)), 5, epoch=-1), [], []),
    (acquire(acquire(Scene(), 0, (0, 9, 5)), 5, epoch=-1), [], [(0, 9, "archived", 5, "a")]),
    (acquire(acquire(Scene(), 0, (0, 9, 1)), 5, epoch=-1, member="b"), [(0, 9, "held", 1, "a")], []),
    (acquire(Scene(), 0, (0, 1, 1), (2, 2, 3)), [(0, 1, "held", 1, "a"), (2, 2, "held", 3, "a")], []),
]


@pytest.mark.parametrize(("scene", "held", "last"), ROWS)
def test_who_holds_what_and_what_is_at_its_last_attempt(
    scene: Scene, held: list[tuple[Any, ...]], last: list[tuple[Any, ...]]
) -> None:
    row = group_row(scene)
    assert ranges(row["locks"]) == held
    assert ranges(row["last_attempts"]) == last


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ([], 5),
        ([(BROKER, "1", "group.share.delivery.count.limit", "3")], 3),
        (
            [
                (BROKER, "1", "group.share.delivery.count.limit", "3"),
                (GROUP, "other", "share.delivery.count.limit", "2"),
            ],
            3,
        ),
        (
            [
                (BROKER, "1", "group.share.delivery.count.limit", "3"),
                (GROUP, "packers", "share.delivery.count.limit", "2"),
            ],
            2,
        ),
        ([(BROKER, "1", "group.share.max.size", "200")], 5),
    ],
)
def test_the_limit_of_deliveries_is_what_the_capture_shows(told: list[tuple[int, str, str, str]], limit: int) -> None:
    scene = acquire(Scene(), 0, (4, 4, 3))
    for at, words in enumerate(told):
        configs(scene, at + 1, *words)
    row = group_row(scene)
    assert row["delivery_limit"] == limit
    assert bool(row["last_attempts"]) == (limit <= 3)


def test_renewals_count() -> None:
    row = group_row(acknowledge(acquire(Scene(), 0, (0, 9, 1)), 1, 0, 4, RENEW))
    assert (row["shared"]["acquired"], row["shared"]["renewed"], row["shared"]["accepted"]) == (10, 5, 0)


def test_offsets_that_are_set_are_commits() -> None:
    scene = acquire(Scene(), 0, (0, 9, 1))
    part = {"partition_index": 0, "start_offset": 40}
    request = {"group_id": "packers", "topics": [{"topic_name": "orders", "partitions": [part]}]}
    done = {"topic_name": "orders", "partitions": [{"partition_index": 0, "error_code": 0}]}
    scene.ask(1, ALTER, request, {"responses": [done]}, client="admin")
    found = {(each["topic"], each["partition"]): each["committed"] for each in group_row(scene)["partitions"]}
    assert found == {("orders", 0): 40}


def test_records_at_their_last_attempt_are_shown_in_a_capture_that_ships() -> None:
    file = str(FOLDER / "transactions" / "last-attempts.pcap.zst")
    outs = {kw("groups", file, "-o", "json", "-q", "--jobs", jobs).out for jobs in ("1", "2")}
    (out,) = outs
    check_last_attempts({row["group"]: row for row in json.loads(out)})
    shown = kw("groups", file, "-o", "text", "-q").out
    assert "3 archived" in shown
    page = kw("groups", file, "-o", "text", "-q", "--name", "returning").out
    assert "records at their last attempt" in page


def test_states_of_earlier_versions_are_read() -> None:
    fold = Groups()
    for each in acquire(Scene(), 0, (0, 9, 1)).exchanges(fold):
        fold.add(each)
    state = unpack(fold.export())
    assert isinstance(state, list)
    older = Groups()
    older.resume(pack(state[:4]))
    (row,) = older.rows()
    assert (row["shared"]["acquired"], row["locks"]) == (10, [])


@pytest.mark.plain  # limits are compiled in
def test_only_the_latest_events_of_a_partition_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_deliveries, "SHARE_EVENTS_MAX", 3)
    scene = Scene()
    for at in range(9):
        acquire(scene, at, (at, at, 1))
    fold = Groups()
    for each in scene.exchanges(fold):
        fold.add(each)
    (row,) = fold.rows()
    assert row["cut"] == ["locks"]
    assert ranges(row["locks"]) == [(6, 8, "held", 1, "a")] or len(row["locks"]) == 3
