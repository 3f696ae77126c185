"""Names of dimensions in, functions out that find their values in an exchange: what statistics are grouped by."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS
from decoders.analysis.exchange_facts import (
    TOPIC_FIELDS,
    Partition,
    facts_of_exchange,
    topic_by_id,
    topic_named_by,
    topic_of_element,
)
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.find_client_library import format_library
from decoders.exchanges.partitions_in_exchange import iterate_partitions_of_exchange, partition_paths
from decoders.exchanges.topic_and_node_names import values_at_path
from decoders.filters.filter_field_table import entity_name_paths, entity_names_of_both_sides
from decoders.filters.read_partitions_and_records import record_and_topic_paths
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.api_declaration import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.values.schemas_and_decoded_values import DecodedValue

Key = tuple[Any, ...]
Keys = Callable[["Exchange"], Sequence[Key]]

_ELEMENT: Final = re.compile(r"(\w+)\[\]\.(\w+)")


class Dimension(NamedTuple):
    """A dimension, with the function that reads it. `get` gives one value, or if `several`, a list of values.

    `entity`: the entity type that the declarations give to the names that `get` reads of bodies. `of_values`: `get`
    takes each decoded key or value, and whether it is a key.
    """

    get: Callable[..., Any]
    text: str
    several: bool = False
    entity: str = ""
    of_values: bool = False


def host_of(address: str) -> str:
    """`host:port` without the port."""
    return address.rpartition(":")[0]


def client_of(client_id: str | None, address: str) -> str:
    """The name of a client: its client id, or where there is none its `host:port` without the port."""
    return client_id or host_of(address)


def software_of(name: str | None, version: str | None) -> str | None:
    """Name and version of a client's library; None where the client does not say them."""
    return None if name is None else f"{name} {version or ''}".strip()


def read_client_name(exchange: Exchange) -> str:
    """The client id, or where there is none the client's address."""
    return client_of(exchange.client_id, exchange.connection_info.client)


def read_software(exchange: Exchange) -> str | None:
    """Name and version of the library that the client states."""
    software = exchange.client_software
    return software_of(software["name"], software["version"]) if software else None


def library_in(exchange: Exchange) -> dict[str, Any] | None:
    """The library that the client shows by what it does; None where earlier exchanges are not remembered."""
    found = exchange.extra.get("library") if exchange.extra is not None else None
    return found if isinstance(found, dict) else None


def read_library(exchange: Exchange) -> str | None:
    """The library that a client shows by what it does."""
    library = library_in(exchange)
    return None if library is None else format_library(library)


def read_connection_addresses(exchange: Exchange) -> str:
    """The two addresses with their ports."""
    return f"{exchange.connection_info.client} → {exchange.connection_info.broker}"


def read_error_names(exchange: Exchange) -> list[str]:
    """The names of the error codes that count as errors."""
    return [error_name(code) for _, code in exchange.unexpected]


def read_client_host(exchange: Exchange) -> str:
    """The client's address without the port."""
    return host_of(exchange.connection_info.client)


def read_groups(exchange: Exchange) -> list[str]:
    """The consumer groups of both sides."""
    return [name for name in entity_names_of_both_sides(exchange, "groupId") if name]


def read_topics(exchange: Exchange) -> Sequence[str | None]:
    """The topics of an exchange by name; by id where the capture had not shown the name before."""
    facts = facts_of_exchange(exchange)
    if facts.topics is None:
        facts.topics = _find_topics(exchange)
    return facts.topics


def _find_topics(exchange: Exchange) -> Sequence[str | None]:
    key = exchange.api_key
    if key is None:
        return []
    found: list[str | None] = []
    requested, answered = _topic_arrays_of_both_sides(key)
    if requested is None or answered is None:
        return _topic_names_anywhere(exchange)
    for arrays, view in ((requested, exchange.view("request")), (answered, exchange._response_view)):
        if view.__class__ is dict:
            for array, field in arrays:
                for element in view.get(array) or ():
                    name = element.get(field)
                    found.append(name if name.__class__ is str and name else topic_of_element(exchange, element))
    return found if None not in found else [name for name in found if name]


def _topic_names_anywhere(exchange: Exchange) -> list[str]:
    """The topics of an exchange, wherever its bodies name them."""
    found: list[str] = entity_names_of_both_sides(exchange, "topicName")
    for side in SIDES:
        for path in exchange._api_reader.paths_of_nameless_topics(side):
            for identity in values_at_path(exchange.view(side), path):
                if isinstance(identity, UUID) and exchange.topic_name(identity) is None:
                    found.append(topic_by_id(exchange, identity) or "")
    return [name for name in found if name]


def read_partitions(exchange: Exchange) -> Sequence[Partition]:
    """Each partition of an exchange with its topic; (topic, None) for topics of which no partition is named."""
    found: list[Partition] = []
    for owner, fields, number in iterate_partitions_of_exchange(exchange):
        topic = next((name for field in fields if (name := topic_named_by(exchange, owner.get(field)))), None)
        if topic is not None:
            found.append((topic, number))
    named = {topic for topic, _ in found}
    return found + [(topic, None) for topic in read_topics(exchange) if topic not in named]


@cache
def _topic_arrays_of_both_sides(api_key: int) -> tuple[tuple[tuple[str, str], ...] | None, ...]:
    return tuple(_topic_arrays_of_side(api_key, side) for side in SIDES)


def _topic_arrays_of_side(api_key: int, side: Side) -> tuple[tuple[str, str], ...] | None:
    """The arrays whose elements are about a topic each, as in most messages, with the preferred field that names it.

    None where topics are elsewhere too.
    """
    fields: dict[str, list[str]] = {}
    for path in entity_name_paths(api_key, side, "topicName"):
        match = _ELEMENT.fullmatch(path)
        if match is None or match[2] not in TOPIC_FIELDS:
            return None
        fields.setdefault(match[1], []).append(match[2])
    return tuple((array, min(names, key=TOPIC_FIELDS.index)) for array, names in fields.items())


DIMENSIONS: Final[dict[str, Dimension]] = {
    name: Dimension(
        globals()[row.get] if isinstance(row.get, str) else row.get, row.text, row.several, row.entity, row.of_values
    )
    for name, row in DIMENSION_ROWS.items()
}


def make_key_reader(names: Sequence[str], bucket_ns: int, values: RecordValueReader | None = None) -> Keys:
    """A function that gives the keys of the groups that an exchange counts for; `partition` goes with `topic`.

    `values` decodes keys and values of records, where dimensions are about them; None: a reader without schemas.
    """
    if "partition" in names:
        return _make_partition_key_reader(names, bucket_ns, values)
    rows = [DIMENSIONS[name] for name in names]
    of_values = [name for name, row in zip(names, rows, strict=True) if row.of_values]
    gets = [
        (lambda x: x.time_ns // bucket_ns * bucket_ns)
        if name == "time"
        else _make_reader_of_values(row.get, values, count=name == of_values[0])
        if row.of_values
        else row.get
        for name, row in zip(names, rows, strict=True)
    ]
    lists = [at for at, row in enumerate(rows) if row.several]
    if len(lists) == 1:
        (at,) = lists
        before, get_list, after = gets[:at], gets[at], gets[at + 1 :]

        def list_keys_of_one_list(exchange: Exchange) -> Sequence[Key]:
            head = [get(exchange) for get in before]
            tail = [get(exchange) for get in after]
            return [(*head, value, *tail) for value in _deduplicate_values(get_list(exchange))]

        return list_keys_of_one_list
    if lists:

        def list_keys_of_several_lists(exchange: Exchange) -> Sequence[Key]:
            values = [
                _deduplicate_values(get(exchange)) if row.several else (get(exchange),)
                for get, row in zip(gets, rows, strict=True)
            ]
            return list(product(*values))

        return list_keys_of_several_lists
    if len(gets) == 1:
        get = gets[0]
        return lambda exchange: ((get(exchange),),)
    return lambda exchange: (tuple([get(exchange) for get in gets]),)


def _make_reader_of_values(
    get: Callable[[DecodedValue, bool], Any], values: RecordValueReader | None, *, count: bool
) -> Callable[[Exchange], list[Any]]:
    """A function that gives what `get` finds in the decoded keys and values of an exchange.

    `count`: values without a schema are counted, which one dimension does for all.
    """
    from decoders.filters.decoded_value_fields import decode_keys_and_values  # few statistics read records
    from decoders.messages.decode_record_values import RecordValueReader

    reader = RecordValueReader() if values is None else values

    def read_decoded_values(exchange: Exchange) -> list[Any]:
        found = (
            get(each.decoded, each.is_key)
            for each in decode_keys_and_values(exchange, reader, count=count)
            if each.decoded is not None
        )
        return [value for value in found if value is not None]

    return read_decoded_values


def _make_partition_key_reader(names: Sequence[str], bucket_ns: int, values: RecordValueReader | None) -> Keys:
    """A function that gives the keys of the groups where `topic` and `partition` come in pairs."""
    others = make_key_reader([name for name in names if name not in ("topic", "partition")], bucket_ns, values)
    place = [("topic", "partition").index(name) if name in ("topic", "partition") else None for name in names]

    def list_keys_of_partitions(exchange: Exchange) -> Sequence[Key]:
        found = _deduplicate_values(read_partitions(exchange))
        pairs = [(None, None) if pair is None else pair for pair in found]
        made = []
        for other in others(exchange):
            for pair in pairs:
                rest = iter(other)
                made.append(tuple([next(rest) if at is None else pair[at] for at in place]))
        return made

    return list_keys_of_partitions


def _deduplicate_values(values: Sequence[Any]) -> Sequence[Any]:
    """Each value once; None alone where there is no value."""
    if len(values) < 2:
        return values or (None,)
    return values[:1] if len(values) == 2 and values[0] == values[1] else tuple(dict.fromkeys(values))


def paths_of_dimensions(names: Sequence[str], api_key: int, side: Side) -> frozenset[str]:
    """The paths that these dimensions read of a side of an API."""
    entities = [DIMENSIONS[name].entity for name in names if DIMENSIONS[name].entity]
    found = frozenset(path for entity in entities for path in entity_name_paths(api_key, side, entity))
    if any(DIMENSIONS[name].of_values for name in names):
        found = found.union(record_and_topic_paths(api_key, side))
    return found | partition_paths(api_key, side, topics=True) if "partition" in names else found
