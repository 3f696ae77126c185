"""Where messages have topics, partitions and records: a literal table, and the ways to walk along it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final
from uuid import UUID

from decoders.apis import api
from decoders.errors import EncodeError
from decoders.exchanges.topic_and_node_names import METADATA_TOPIC, WELL_KNOWN
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, FETCH_SNAPSHOT, PRODUCE, SHARE_FETCH
from decoders.schema.api_declaration import Field, Side
from decoders.wire.primitive_types import format_uuid, uuid_to_bytes

# The ids of METADATA_TOPIC, and their texts.
_METADATA_IDS: Final = frozenset(
    each for one, name in WELL_KNOWN.items() if name == METADATA_TOPIC for each in (one, format_uuid(one.bytes))
)


def structs_at(view: Any, name: str) -> Iterable[dict[str, Any]]:
    """The structs in an array of a view, or of a body in JSON form: those of a deferred list are made one by one.

    The view of a side that cannot be decoded may end in the middle.
    """
    found = view.get(name) if view.__class__ is dict or isinstance(view, dict) else None
    if found.__class__ is list:
        if len(found) == 1 and found[0].__class__ is dict:
            sole: list[dict[str, Any]] = found
            return sole  # most have one
        return [item for item in found if isinstance(item, dict)]
    return (item for item in found if isinstance(item, dict)) if found else ()


class TopicArray(NamedTuple):
    """An array of topics with an array of partitions in each: the names of the arrays and of a partition's fields.

    `outer` is an array around the topics with an element for each group, whose id is in its field `group`; without
    `outer`, `group` is a field of the message. `number` is empty where the partitions are plain numbers.
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

    @property
    def records_path(self) -> str:
        """The path of the records field, without indices; empty where there is none."""
        return f"{self.topics}[].{self.partitions}[].{self.records}" if self.records else ""


# API key → where its messages have records: every field of the kind `records` that is declared.
RECORD_ARRAYS: Final[dict[int, TopicArray]] = {
    PRODUCE: TopicArray("request", "topic_data", "partition_data", "index", records="records"),
    FETCH: TopicArray(
        *("response", "responses", "partitions", "partition_index", "error_code"),
        watermark="high_watermark",
        records="records",
    ),
    FETCH_SNAPSHOT: TopicArray("response", "topics", "partitions", "index", "error_code", records="unaligned_records"),
    SHARE_FETCH: TopicArray("response", "responses", "partitions", "partition_index", "error_code", records="records"),
}
# APIs whose records are a piece, which begins and ends anywhere, of the file with the cluster's own state.
PIECES: Final = frozenset({FETCH_SNAPSHOT})
# APIs whose records are whole batches of topics, which are counted and filtered.
BATCH_ARRAYS: Final = {key: array for key, array in RECORD_ARRAYS.items() if key not in PIECES}
# APIs whose records may be the cluster's own state.
METADATA_HOLDERS: Final = frozenset({FETCH, *PIECES})
TOPIC_ARRAYS: Final[dict[int, tuple[TopicArray, ...]]] = {
    PRODUCE: (
        RECORD_ARRAYS[PRODUCE],
        TopicArray("response", "responses", "partition_responses", "index", "error_code", "base_offset"),
    ),
    FETCH: (
        TopicArray("request", "topics", "partitions", "partition", offset="fetch_offset"),
        RECORD_ARRAYS[FETCH],
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
    SHARE_FETCH: (
        TopicArray("request", "topics", "partitions", "partition_index", group="group_id"),
        RECORD_ARRAYS[SHARE_FETCH],
    ),
    79: (
        TopicArray("request", "topics", "partitions", "partition_index", group="group_id"),
        TopicArray("response", "responses", "partitions", "partition_index", "error_code"),
    ),
}
# The fields by which a message names a topic.
TOPIC_NAMES: Final = ("name", "topic")
TOPIC_ID: Final = "topic_id"


@cache
def topic_name_field(key: int, array: TopicArray) -> str:
    """The field with a topic's name; empty where there is only its id."""
    return next((name for name in TOPIC_NAMES if name in _list_topic_array_fields(key, array)), "")


@cache
def has_topic_id_field(key: int, array: TopicArray) -> bool:
    """Whether some version of an API has a topic id in this array."""
    return TOPIC_ID in _list_topic_array_fields(key, array)


@cache
def topic_array_paths(key: int, side: Side) -> frozenset[str]:
    """The paths to project of a side of an API for its topics and partitions."""
    return frozenset(
        path
        for array in TOPIC_ARRAYS.get(key, ())
        if array.side == side
        for path in _list_topic_array_paths(key, array)
    )


def _list_topic_array_paths(key: int, array: TopicArray) -> list[str]:
    outer = f"{array.outer}[]." if array.outer else ""
    topics = f"{outer}{array.topics}[]."
    found = [
        f"{topics}{name}"
        for name in (topic_name_field(key, array), TOPIC_ID if has_topic_id_field(key, array) else "")
        if name
    ]
    if array.group:
        found.append(f"{outer}{array.group}")
    if not array.number:
        return [*found, f"{topics}{array.partitions}"]
    names = (array.number, array.error, array.offset, array.watermark, array.records and f"{array.records}:span")
    return [*found, *(f"{topics}{array.partitions}[].{name}" for name in names if name)]


def _list_topic_array_fields(key: int, array: TopicArray) -> frozenset[str]:
    message = api(key).message(array.side)
    fields: tuple[Field, ...] = message.fields
    for name in filter(None, (array.outer, array.topics)):
        fields = next(field for field in fields if field.name == name).fields
    return frozenset(field.name for field in fields)


def batch_array(key: int | None) -> TopicArray | None:
    """Where messages of an API have batches of topics; None where they have none."""
    return BATCH_ARRAYS.get(key) if key is not None else None


def partitions_in(view: Any, array: TopicArray) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each partition of an array with its topic: the struct about the topic, and the one about the partition."""
    for topic in structs_at(view, array.topics):
        for part in structs_at(topic, array.partitions):
            yield topic, part


def find_topic_of_records(
    key: int | None, topic: Mapping[str, Any], name_of: Callable[[UUID], str | None]
) -> str | None:
    """The topic that records belong to, by the struct about it, in Python values or in JSON form; None: not known.

    `name_of` gives the name of a topic id.
    """
    name: str | None = next((topic[each] for each in TOPIC_NAMES if isinstance(topic.get(each), str)), None)
    if name:
        return name
    identity = topic.get(TOPIC_ID)
    if isinstance(identity, str):
        try:
            identity = UUID(bytes=uuid_to_bytes(identity))
        except (EncodeError, ValueError):
            return None
    if isinstance(identity, UUID):
        return WELL_KNOWN.get(identity) or name_of(identity)
    return METADATA_TOPIC if key in PIECES else None


def find_topic_at_path(
    key: int | None, body: Mapping[str, Any], path: str, name_of: Callable[[UUID], str | None]
) -> str | None:
    """The topic of the records at a path of a body in Python values: `responses[0].partitions[2].records`."""
    array, _, rest = path.partition("[")
    index = rest.partition("]")[0]
    topics = body.get(array) or ()
    topic = topics[int(index)] if index.isdigit() and int(index) < len(topics) else {}
    return find_topic_of_records(key, topic, name_of)


def may_hold_cluster_metadata(key: int | None, side: Side, body: Mapping[str, Any]) -> bool:
    """Whether the records of a body, in Python values or in JSON form, may be of the cluster's own state.

    They may be in a body that does not name their topics. Every Fetch goes through this, so no id is parsed.
    """
    if side == "request" or key not in METADATA_HOLDERS:
        return False
    topics = None if key in PIECES else body.get(RECORD_ARRAYS[key].topics)
    return topics is None or any(
        topic.get("topic") == METADATA_TOPIC or topic.get("topic_id") in _METADATA_IDS for topic in topics
    )
