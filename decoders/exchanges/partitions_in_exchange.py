"""An exchange in, the partitions that it names anywhere out, each with its topic.

Partitions are found by the declarations alone: a struct about a topic (it has a topic's name, or `topic_id`) holds the
numbers of partitions, itself or in structs below it. Tasks of Kafka Streams, which are no partitions of a topic, have
no such struct around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.exchanges.body_reader import SIDES
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import Field, Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# Fields with the number of a partition, and arrays of such numbers.
NUMBERS: Final = ("partition_index", "partition", "partition_id", "index")
NUMBER_ARRAYS: Final = ("partitions", "partition_indexes")


class PartitionPlaces(NamedTuple):
    """The fields by which one struct names partitions: of its topic, of numbers, and structs below that name more."""

    topics: tuple[str, ...]
    numbers: tuple[str, ...]
    below: tuple[tuple[str, PartitionPlaces], ...]


@cache
def find_partition_fields(key: int | None, side: Side) -> PartitionPlaces | None:
    """The fields by which a side of an API names partitions; None where it names none."""
    return _find_places_in_fields(api(key).message(side).fields, known=False) if key in NAMES else None


def _find_places_in_fields(fields: Iterable[Field], *, known: bool) -> PartitionPlaces | None:
    fields = tuple(fields)
    topics = tuple(field.name for field in fields if field.entity == "topicName" and not field.array)
    topics += tuple(field.name for field in fields if field.name == "topic_id" and field.name not in topics)
    known = known or bool(topics)
    numbers = tuple(field.name for field in fields if known and _is_partition_number_field(field))
    below = tuple(
        (field.name, found)
        for field in fields
        if field.fields and (found := _find_places_in_fields(field.fields, known=known)) is not None
    )
    return PartitionPlaces(topics, numbers, below) if numbers or below else None


def _is_partition_number_field(field: Field) -> bool:
    return field.kind == "int32" and field.name in (NUMBER_ARRAYS if field.array else NUMBERS)


def partition_number_of_struct(struct: Mapping[str, Any]) -> int | None:
    """The number of the partition that a struct is about; None where it is about none."""
    return next((value for name in NUMBERS if isinstance(value := struct.get(name), int)), None)


@cache
def partition_paths(key: int, side: Side, *, topics: bool) -> frozenset[str]:
    """The paths to project of a side of an API to find its partitions; `topics`: the paths of their topics too."""
    places = find_partition_fields(key, side)
    return (
        frozenset()
        if places is None
        else frozenset(_list_paths_in_fields(api(key).message(side).fields, places, "", topics))
    )


def _list_paths_in_fields(fields: Iterable[Field], places: PartitionPlaces, prefix: str, topics: bool) -> Iterator[str]:
    arrays = {field.name: field for field in fields}
    for name in (*(places.topics if topics else ()), *places.numbers):
        yield prefix + name
    for name, below in places.below:
        field = arrays[name]
        yield from _list_paths_in_fields(field.fields, below, f"{prefix}{name}{'[]' if field.array else ''}.", topics)


def iterate_partitions_of_exchange(exchange: Exchange) -> Iterator[tuple[dict[str, Any], tuple[str, ...], int]]:
    """For each partition named in either side: the struct about its topic, the fields there with the topic, its number.

    A side that cannot be decoded gives the partitions before the failure.
    """
    for side in SIDES:
        places = find_partition_fields(exchange.api_key, side)
        view = exchange.view(side) if places is not None else None
        if places is not None and isinstance(view, dict):
            yield from _find_partitions_at_places(view, places, view, ())


def _find_partitions_at_places(
    view: dict[str, Any], places: PartitionPlaces, owner: dict[str, Any], topics: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], tuple[str, ...], int]]:
    if places.topics:
        owner, topics = view, places.topics
    for name in places.numbers:
        value = view.get(name)
        for number in value if isinstance(value, list) else (value,):
            if number is not None:
                yield owner, topics, number
    for name, below in places.below:
        value = view.get(name)
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, dict):
                yield from _find_partitions_at_places(inner, below, owner, topics)
