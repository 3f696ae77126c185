"""Where messages have topics, partitions and records: a row for each array of topics, and the paths to project."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from decoders.apis import api
from decoders.schema.model import Field, Side


class TopicArray(NamedTuple):
    """An array of topics with an array of partitions in each: their names, and those of what is read of a partition.

    `outer` is an array around them with an element for each group, whose id is at `group`; without one `group` is a
    field of the message. An array of plain numbers has no `number`.
    """

    side: Side
    topics: str
    partitions: str
    number: str = ""
    error: str = ""
    offset: str = ""
    watermark: str = ""
    records: str = ""
    outer: str = ""
    group: str = ""


TOPIC_ARRAYS: Final[dict[int, tuple[TopicArray, ...]]] = {
    0: (
        TopicArray("request", "topic_data", "partition_data", "index", records="records"),
        TopicArray("response", "responses", "partition_responses", "index", "error_code", "base_offset"),
    ),
    1: (
        TopicArray("request", "topics", "partitions", "partition", offset="fetch_offset"),
        TopicArray(
            *("response", "responses", "partitions", "partition_index", "error_code"),
            watermark="high_watermark",
            records="records",
        ),
    ),
    2: (
        TopicArray("request", "topics", "partitions", "partition_index"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code", "offset"),
    ),
    8: (
        TopicArray("request", "topics", "partitions", "partition_index", offset="committed_offset", group="group_id"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    9: (
        TopicArray("request", "topics", "partition_indexes", group="group_id"),
        TopicArray("request", "topics", "partition_indexes", outer="groups", group="group_id"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code", "committed_offset"),
        TopicArray(
            *("response", "topics", "partitions", "partition_index", "error_code", "committed_offset"),
            outer="groups",
            group="group_id",
        ),
    ),
    21: (
        TopicArray("request", "topics", "partitions", "partition_index", offset="offset"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    23: (
        TopicArray("request", "topics", "partitions", "partition"),
        TopicArray("response", "topics", "partitions", "partition", "error_code", "end_offset"),
    ),
    28: (
        TopicArray("request", "topics", "partitions", "partition_index", offset="committed_offset", group="group_id"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    47: (
        TopicArray("request", "topics", "partitions", "partition_index", group="group_id"),
        TopicArray("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    78: (
        TopicArray("request", "topics", "partitions", "partition_index", group="group_id"),
        TopicArray("response", "responses", "partitions", "partition_index", "error_code", records="records"),
    ),
    79: (
        TopicArray("request", "topics", "partitions", "partition_index", group="group_id"),
        TopicArray("response", "responses", "partitions", "partition_index", "error_code"),
    ),
}
# By what a message names a topic.
TOPIC_NAMES: Final = ("name", "topic")
TOPIC_ID: Final = "topic_id"


@cache
def topic_name(key: int, array: TopicArray) -> str:
    """The field with a topic's name; empty where there is only its id."""
    return next((name for name in TOPIC_NAMES if name in _fields(key, array)), "")


@cache
def has_id(key: int, array: TopicArray) -> bool:
    """Whether some version has a topic id."""
    return TOPIC_ID in _fields(key, array)


@cache
def paths(key: int, side: Side) -> frozenset[str]:
    """What is to be projected of a side of an API."""
    return frozenset(path for array in TOPIC_ARRAYS.get(key, ()) if array.side == side for path in _paths(key, array))


def _paths(key: int, array: TopicArray) -> list[str]:
    outer = f"{array.outer}[]." if array.outer else ""
    topics = f"{outer}{array.topics}[]."
    found = [f"{topics}{name}" for name in (topic_name(key, array), TOPIC_ID if has_id(key, array) else "") if name]
    if array.group:
        found.append(f"{outer}{array.group}")
    if not array.number:
        return [*found, f"{topics}{array.partitions}"]
    names = (array.number, array.error, array.offset, array.watermark, array.records and f"{array.records}:span")
    return [*found, *(f"{topics}{array.partitions}[].{name}" for name in names if name)]


def _fields(key: int, array: TopicArray) -> frozenset[str]:
    message = api(key).message(array.side)
    fields: tuple[Field, ...] = message.fields
    for name in filter(None, (array.outer, array.topics)):
        fields = next(field for field in fields if field.name == name).fields
    return frozenset(field.name for field in fields)


# API key → where its messages have records.
RECORD_ARRAYS: Final[dict[int, TopicArray]] = {
    key: array for key, arrays in TOPIC_ARRAYS.items() for array in arrays if array.records
}
