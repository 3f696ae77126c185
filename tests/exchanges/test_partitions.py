"""The fields by which messages name partitions, and those that only look so."""

from __future__ import annotations

import pytest

from decoders.apis import api
from decoders.exchanges.partitions_in_exchange import PartitionPlaces, find_partition_fields, partition_number_of_struct
from decoders.schema.api_declaration import Side

TASKS = PartitionPlaces(("topic",), ("partitions",), ())


@pytest.mark.parametrize(
    ("name", "side", "places"),
    [
        ("FindCoordinator", "request", None),
        ("StreamsGroupHeartbeat", "request", None),  # tasks of a topology: partitions of no topic
        ("StreamsGroupDescribe", "response", None),
        (
            "StreamsGroupHeartbeat",
            "response",
            PartitionPlaces(
                (),
                (),
                (
                    (
                        "partitions_by_user_endpoint",
                        PartitionPlaces((), (), (("active_partitions", TASKS), ("standby_partitions", TASKS))),
                    ),
                ),
            ),
        ),
        (
            "Fetch",
            "request",
            PartitionPlaces(
                (),
                (),
                (
                    (
                        "topics",
                        PartitionPlaces(
                            ("topic", "topic_id"), (), (("partitions", PartitionPlaces((), ("partition",), ())),)
                        ),
                    ),
                    ("forgotten_topics_data", PartitionPlaces(("topic", "topic_id"), ("partitions",), ())),
                ),
            ),
        ),
    ],
)
def test_partitions_are_numbers_below_a_topic(name: str, side: Side, places: PartitionPlaces | None) -> None:
    assert find_partition_fields(api(name).key, side) == places


@pytest.mark.parametrize("key", [None, -1, 32767])
def test_what_is_no_api_names_none(key: int | None) -> None:
    assert find_partition_fields(key, "request") is None


@pytest.mark.parametrize(
    ("struct", "number"),
    [
        ({"partition": 3}, 3),
        ({"index": 0}, 0),
        ({"partition_index": 1, "partition": 3}, 1),
        ({"partition": None}, None),
        ({}, None),
    ],
)
def test_the_number_of_a_struct(struct: dict[str, int | None], number: int | None) -> None:
    assert partition_number_of_struct(struct) == number
