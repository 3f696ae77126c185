"""Where messages have topics and partitions: one row for each side of an API, and the paths to project for it."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from decoders.apis import api
from decoders.schema.model import Field, Side


class Place(NamedTuple):
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


PLACES: Final[dict[int, tuple[Place, ...]]] = {
    0: (
        Place("request", "topic_data", "partition_data", "index", records="records"),
        Place("response", "responses", "partition_responses", "index", "error_code", "base_offset"),
    ),
    1: (
        Place("request", "topics", "partitions", "partition", offset="fetch_offset"),
        Place(
            *("response", "responses", "partitions", "partition_index", "error_code"),
            watermark="high_watermark",
            records="records",
        ),
    ),
    2: (
        Place("request", "topics", "partitions", "partition_index"),
        Place("response", "topics", "partitions", "partition_index", "error_code", "offset"),
    ),
    8: (
        Place("request", "topics", "partitions", "partition_index", offset="committed_offset", group="group_id"),
        Place("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    9: (
        Place("request", "topics", "partition_indexes", group="group_id"),
        Place("request", "topics", "partition_indexes", outer="groups", group="group_id"),
        Place("response", "topics", "partitions", "partition_index", "error_code", "committed_offset"),
        Place(
            *("response", "topics", "partitions", "partition_index", "error_code", "committed_offset"),
            outer="groups",
            group="group_id",
        ),
    ),
    21: (
        Place("request", "topics", "partitions", "partition_index", offset="offset"),
        Place("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    23: (
        Place("request", "topics", "partitions", "partition"),
        Place("response", "topics", "partitions", "partition", "error_code", "end_offset"),
    ),
    28: (
        Place("request", "topics", "partitions", "partition_index", offset="committed_offset", group="group_id"),
        Place("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    47: (
        Place("request", "topics", "partitions", "partition_index", group="group_id"),
        Place("response", "topics", "partitions", "partition_index", "error_code"),
    ),
    78: (
        Place("request", "topics", "partitions", "partition_index", group="group_id"),
        Place("response", "responses", "partitions", "partition_index", "error_code", records="records"),
    ),
    79: (
        Place("request", "topics", "partitions", "partition_index", group="group_id"),
        Place("response", "responses", "partitions", "partition_index", "error_code"),
    ),
}
# By what a message names a topic.
TOPIC_NAMES: Final = ("name", "topic")
TOPIC_ID: Final = "topic_id"


@cache
def topic_name(key: int, place: Place) -> str:
    """The field with a topic's name; empty where there is only its id."""
    return next((name for name in TOPIC_NAMES if name in _fields(key, place)), "")


@cache
def has_id(key: int, place: Place) -> bool:
    """Whether some version has a topic id."""
    return TOPIC_ID in _fields(key, place)


@cache
def paths(key: int, side: Side) -> frozenset[str]:
    """What is to be projected of a side of an API."""
    return frozenset(path for place in PLACES.get(key, ()) if place.side == side for path in _paths(key, place))


def _paths(key: int, place: Place) -> list[str]:
    outer = f"{place.outer}[]." if place.outer else ""
    topics = f"{outer}{place.topics}[]."
    found = [f"{topics}{name}" for name in (topic_name(key, place), TOPIC_ID if has_id(key, place) else "") if name]
    if place.group:
        found.append(f"{outer}{place.group}")
    if not place.number:
        return [*found, f"{topics}{place.partitions}"]
    names = (place.number, place.error, place.offset, place.watermark, place.records and f"{place.records}:span")
    return [*found, *(f"{topics}{place.partitions}[].{name}" for name in names if name)]


def _fields(key: int, place: Place) -> frozenset[str]:
    message = api(key).message(place.side)
    fields: tuple[Field, ...] = message.fields
    for name in filter(None, (place.outer, place.topics)):
        fields = next(field for field in fields if field.name == name).fields
    return frozenset(field.name for field in fields)
