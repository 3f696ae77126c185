"""Exchanges in, their rows of the table `topic_partitions` out; and the paths in messages that the tables need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.analysis.exchange_facts import FETCHES, RECORDS, WAITS, throttle_paths
from decoders.analysis.read_dimension_values import paths_of_dimensions
from decoders.exchanges import topic_arrays
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import SESSION_PATHS
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, TOPIC_ID, TopicArray, has_topic_id_field, topic_name_field
from decoders.filters.filter_field_table import entity_name_paths
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.records.summarize_records import summarize_records_of_view, summarize_sole_batch
from decoders.schema.api_declaration import Side
from decoders.wire.primitive_types import format_uuid

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

_NONE: Final[frozenset[str]] = frozenset()


class TableNeeds(Needs):
    """The paths in messages that the columns of these tables come from; `more` are needs of a filter and of a fold."""

    def __init__(self, tables: Collection[str], more: Collection[Callable[[int, Side], frozenset[str]]] = ()) -> None:
        super().__init__()
        self._rows = bool({"exchanges", "topic_partitions"} & set(tables))
        self._partitions = "topic_partitions" in tables
        self._more = tuple(more)

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The paths wanted of an API's requests or responses."""
        more = _NONE.union(*(needs(key, side) for needs in self._more))
        if not self._rows:
            return more
        wanted = (
            paths_of_dimensions(("topic", "group"), key, side)
            | throttle_paths(key, side)
            | WAITS.needed_paths(key, side)
        )
        wanted |= frozenset(SESSION_PATHS.get((key, side), ()))
        if key in FETCHES and side == "request":
            wanted |= {"min_bytes"}
        if self._partitions:
            wanted |= topic_arrays.topic_array_paths(key, side)
        if key in topic_arrays.BATCH_ARRAYS:
            wanted |= RECORDS.needed_paths(key, side)
        return wanted | more


# Columns of topic_partitions that are not those of the exchange

# The columns of a partition in the order of schemas.OWN.
Partition = list[Any]
_SIDE: Final = 3
_GROUP: Final = 4
_ERROR: Final = 5
_NAME: Final = 6
_OFFSET: Final = 7
_WATERMARK: Final = 8
_BATCHES: Final = 9
_RECORDS: Final = 10
_BYTES: Final = 11
_CODEC: Final = 12
_MAGIC: Final = 13
NAMES: Final = (
    *("topic", "topic_id", "partition", "side", "group", "error_code", "error", "offset", "high_watermark"),
    *("batches", "records", "bytes", "codec", "magic"),
)
_EMPTY: Final = (None,) * (len(NAMES) - 5)
Shown = Callable[[str], str]


def read_partitions_of_exchange(exchange: Exchange, shown: Shown) -> list[Partition]:
    """A row for each topic and partition that either side names, in their order; both sides make one row."""
    key = exchange.api_key
    places = TOPIC_ARRAYS.get(key) if key is not None else None
    if places is None or key is None:
        return []
    exchange._read_sides()
    rows: list[Partition] = []
    known: dict[tuple[Any, ...], Partition] = {}
    for place in places:
        view = exchange._request_view if place.side == "request" else exchange._response_view
        if view.__class__ is not dict:
            continue
        raw = exchange.raw(place.side)
        name, ids = topic_name_field(key, place), has_topic_id_field(key, place)
        for group, element in _iterate_topic_elements(place, view):
            topic, identity = _topic_name_and_id(exchange, element, name, ids, shown)
            shown_group = None if group is None else shown(group)
            for part in element.get(place.partitions) or ():
                number = part if part.__class__ is int else part.get(place.number)
                if number is None:
                    continue  # decoding failed before the number
                where = (topic, identity, number, shown_group if place.outer else None)
                row = known.get(where)
                if row is None:
                    row = known[where] = [topic, identity, number, place.side, shown_group, *_EMPTY]
                    rows.append(row)
                elif row[_SIDE] != place.side:
                    row[_SIDE] = "both"
                if part.__class__ is not int:
                    _fill_partition_row(row, place, part, raw)
    return rows


class SingleTopic:
    """An API whose two messages have one array of topics each: most of them name one partition, and nothing else."""

    __slots__ = ("_ask", "_ask_name", "_others", "_reply", "_reply_name")

    def __init__(self, key: int) -> None:
        self._ask, self._reply = TOPIC_ARRAYS[key]
        self._ask_name, self._reply_name = topic_name_field(key, self._ask), topic_name_field(key, self._reply)
        topic_array_paths = entity_name_paths(key, "request", "topicName") + entity_name_paths(
            key, "response", "topicName"
        )
        arrays = {path.partition("[")[0] for path in topic_array_paths}
        self._others = tuple(arrays - {self._ask.topics, self._reply.topics})

    @classmethod
    def for_api(cls, key: int) -> SingleTopic | None:
        """The SingleTopic of an API; None where the messages of the API are different."""
        places = TOPIC_ARRAYS.get(key, ())
        plain = len(places) == 2 and all(place.number and not place.outer for place in places)
        return cls(key) if plain and all(topic_name_field(key, place) for place in places) else None

    def read_partition(self, exchange: Exchange, shown: Shown) -> Partition | None:
        """The row of an exchange that names one partition of one topic, by its name, as `read_partitions_of_exchange`
        gives it.

        None for any other exchange. The views of the exchange have to be there.
        """
        ask, view = self._ask, exchange._request_view
        try:
            (element,) = view[ask.topics]
            (part,) = element[ask.partitions]
            topic, number = element[self._ask_name], part[ask.number]
            for name in self._others:
                if view.get(name):
                    return None
        except (KeyError, TypeError, ValueError):  # none or several, a version with ids, a side that fails
            return None
        row: Partition = [shown(topic), None, number, "request", None, *_EMPTY]
        if ask.group:
            group = view.get(ask.group)
            row[_GROUP] = None if group is None else shown(group)
        if ask.offset:
            row[_OFFSET] = part.get(ask.offset)
        if ask.records:
            _count_record_batches(row, exchange.request_raw, part.get(ask.records))
        reply, view = self._reply, exchange._response_view
        if view is None:
            return row if topic else None
        try:
            elements = view[reply.topics]
            if elements:
                (element,) = elements
                (part,) = element[reply.partitions]
                if element[self._reply_name] != topic or part[reply.number] != number:
                    return None
                row[_SIDE] = "both"
                _fill_partition_row(row, reply, part, exchange.response_raw)
        except (KeyError, TypeError, ValueError):
            return None
        return row if topic else None


def _iterate_topic_elements(place: TopicArray, view: dict[str, Any]) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """The elements of the arrays of topics, each with its group."""
    if not place.outer:
        group = view.get(place.group) if place.group else None
        for element in view.get(place.topics) or ():
            yield group, element
        return
    for outer in view.get(place.outer) or ():
        for element in outer.get(place.topics) or ():
            yield outer.get(place.group), element


def _topic_name_and_id(
    exchange: Exchange, element: dict[str, Any], name: str, ids: bool, shown: Shown
) -> tuple[str | None, str | None]:
    """Name and id of a topic; the name by its id where the capture has shown it before."""
    topic = element.get(name) if name else None
    identity = element.get(TOPIC_ID) if ids else None
    text = None
    if identity.__class__ is UUID and identity.int:
        text = format_uuid(identity.bytes)
        topic = topic or exchange.topic_name(identity)
    return shown(topic) if topic else None, text


def _fill_partition_row(row: Partition, place: TopicArray, part: dict[str, Any], raw: bytes | None) -> None:
    if place.error:
        code = part.get(place.error)
        if code is not None:
            row[_ERROR] = code
            row[_NAME] = error_name(code) if code else None
    if place.offset:
        row[_OFFSET] = part.get(place.offset, row[_OFFSET])
    if place.watermark:
        row[_WATERMARK] = part.get(place.watermark)
    if place.records:
        _count_record_batches(row, raw, part.get(place.records))


def _count_record_batches(row: Partition, raw: bytes | None, records: Any) -> None:
    """Set the batches, records, bytes, codecs and formats of a row; a partition named twice has the sum."""
    if records.__class__ is tuple and records[1] and raw is not None:
        at, size = records
        alone = summarize_sole_batch(raw, at, size, verify_checksum=True)
        if alone is not None and not row[_BYTES]:
            row[_BATCHES], row[_RECORDS], row[_BYTES], row[_CODEC], row[_MAGIC] = 1, alone[0], size, alone[1], "2"
            return
    found = summarize_records_of_view(records, raw, verify_checksums=True)
    if found is None or not found.size:
        if row[_BATCHES] is None:
            row[_BATCHES] = row[_RECORDS] = row[_BYTES] = 0
        return
    row[_BATCHES] = (row[_BATCHES] or 0) + found.batches
    row[_RECORDS] = (row[_RECORDS] or 0) + found.records
    row[_BYTES] = (row[_BYTES] or 0) + (records[1] if records.__class__ is tuple else found.size)
    row[_CODEC] = _join_distinct_words(row[_CODEC], found.codecs)
    row[_MAGIC] = _join_distinct_words(row[_MAGIC], tuple(map(str, found.magics)))


def _join_distinct_words(before: str | None, found: tuple[str, ...]) -> str | None:
    words = dict.fromkeys((before.split(",") if before else []) + list(found))
    return ",".join(words) or None
