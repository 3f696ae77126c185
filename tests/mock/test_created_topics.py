"""Topics that are created at a mocked broker: how many partitions they get, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mock.stage import TOPIC, Stage


def assign(*leaders: int) -> list[dict[str, Any]]:
    """Partitions that are on these nodes, one each."""
    return [{"partition_index": index, "broker_ids": [leader]} for index, leader in enumerate(leaders)]


@pytest.mark.parametrize(
    ("asked", "code", "count"),
    [
        ({"num_partitions": 1}, 0, 1),
        ({"num_partitions": 3}, 0, 3),
        ({"num_partitions": -1}, 0, 1),
        ({"num_partitions": -1, "assignments": assign(1, 1)}, 0, 2),
        ({"num_partitions": 1000}, 0, 1000),
        ({"num_partitions": 1001}, 37, None),
        ({"num_partitions": 0}, 37, None),
        ({"num_partitions": -2}, 37, None),
        ({"num_partitions": 1, "name": ""}, 17, None),
        ({"num_partitions": 1, "name": TOPIC}, 36, None),
    ],
)
@pytest.mark.parametrize("only", [False, True])
def test_a_topic_has_the_partitions_asked_for(asked: dict[str, Any], code: int, count: int | None, only: bool) -> None:
    client = Stage().client()
    topic = {"name": "new", "replication_factor": 1, "assignments": [], **asked}
    body = {"topics": [topic], "timeout_ms": 1000, "validate_only": only}
    (answer,) = client.ask("CreateTopics", body, 5)["topics"]
    assert answer["error_code"] == code
    if count is not None:
        assert answer["num_partitions"] == count
    (found,) = client.ask("Metadata", {"topics": [{"name": "new"}], "allow_auto_topic_creation": False}, 9)["topics"]
    created = count is not None and not only
    assert found["error_code"] == (0 if created else 3)
    assert len(found["partitions"]) == (count if created else 0)
