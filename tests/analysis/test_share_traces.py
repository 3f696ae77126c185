"""What members of share groups do with a record is part of its life: in a capture of a cluster, and in scenes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decoders.protocol_facts.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from tests.analysis.scenes import Scene
from tests.analysis.test_record_traces import ORDERS, SCHEMA, make_batch, produce, rows
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

REFUSED = ("accepted", "b", "INVALID_RECORD_STATE")


def acquire(scene: Scene, at: float, member: str, count: int, first: int = 0, last: int = 3) -> None:
    """A ShareFetch by which a member acquires records of orders/0, for the `count`th time."""
    acquired = [{"first_offset": first, "last_offset": last, "delivery_count": count}]
    part = {"partition_index": 0, "records": make_batch("abcd"), "acquired_records": acquired}
    answer = {"responses": [{"topic_id": ORDERS, "partitions": [part]}]}
    asked = {"group_id": "packers", "member_id": member, "topics": [{"topic_id": ORDERS, "partitions": [{}]}]}
    scene.ask(at, (SHARE_FETCH, 1), asked, answer, client=member)


def acknowledge(scene: Scene, at: float, member: str, kinds: list[int], error: int = 0) -> None:
    """A ShareAcknowledge of the records from offset 0 on."""
    batch = {"first_offset": 0, "last_offset": 3, "acknowledge_types": kinds}
    topics = [{"topic_id": ORDERS, "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}]}]
    parts = [{"partition_index": 0, "error_code": error}]
    answer = {"responses": [{"topic_id": ORDERS, "partitions": parts}]}
    asked = {"group_id": "packers", "member_id": member, "topics": topics}
    scene.ask(at, (SHARE_ACKNOWLEDGE, 1), asked, answer, client=member)


def list_events(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = "event", "client_id", "deliveries", "error"
    return [tuple(event[name] for name in names if event.get(name)) for event in row["events"]]


def share(question: str) -> dict[str, Any]:
    scene = Scene()
    produce(scene, 0, make_batch("abcd"), 0)
    acquire(scene, 1, "a", 1)
    acknowledge(scene, 2, "a", [1, 2, 3, 4])
    acquire(scene, 3, "b", 2, 1, 1)
    acknowledge(scene, 4, "b", [1], error=121)
    acquire(scene, 40, "a", 2, 3, 3)
    (row,) = rows(scene, question)
    return row


@pytest.mark.parametrize(
    ("offset", "events", "missing"),
    [
        (0, [("acquired", "a", 1), ("accepted", "a"), REFUSED], False),
        (
            1,
            [("acquired", "a", 1), ("released", "a"), ("acquired", "b", 2), REFUSED],
            True,
        ),
        (2, [("acquired", "a", 1), ("rejected", "a"), REFUSED], False),
        (
            3,
            [("acquired", "a", 1), ("renewed", "a"), REFUSED, ("acquired", "a", 2)],
            True,
        ),
    ],
)
def test_a_life_has_deliveries(offset: int, events: list[tuple[Any, ...]], *, missing: bool) -> None:
    row = share(f"orders/0@{offset}")
    assert list_events(row)[1:] == events
    told = [each for each in row["not_in_capture"] if "share group packers" in each]
    assert bool(told) == missing


def test_a_lock_that_ended_is_the_reason() -> None:
    row = share("orders/0@3")
    assert [event["why"] for event in row["events"] if event["event"] == "acquired"] == [
        None,
        "the lock before had ended: nobody had acknowledged it",
    ]


def test_a_record_is_found_in_what_was_acquired() -> None:
    row = share("key=k2")
    assert (row["offset"], row["key"]) == (2, "k2")


@pytest.mark.parametrize("question", ["parcels/0@0", "key=customer-4"])
def test_a_share_group_of_a_cluster(question: str) -> None:
    file = str(FOLDER / "share-groups.pcapng")
    found = [json.loads(line) for line in kw("trace", file, question, "-o", "ndjson", "-q").out.splitlines()]
    (row,) = (row for row in found if (row["topic"], row["partition"], row["offset"]) == ("parcels", 0, 0))
    SCHEMA.validate(row)
    assert list_events(row)[1:5] == [
        ("acquired", "packer-1", 1),
        ("released", "packer-1"),
        ("acquired", "packer-1", 2),
        ("accepted", "packer-1"),
    ]
    (reader,) = row["read_by"]
    assert (reader["group"], reader["reads"], round(reader["commit_age_ms"])) == ("packers", 2, 20081)
    text = kw("trace", file, "parcels/0@0", "-q", "-o", "text").out
    assert "acquired by share group packers, delivery 2" in text
    assert "released for share group packers" in text
