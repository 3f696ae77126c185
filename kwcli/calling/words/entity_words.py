"""Short words that go with any API (`topic=orders`, `group=billing`, `partition=0`) in, words with body paths out.

A field is found by its declared meaning (`is topicName`), so the words need no table of APIs; only requests that name a
resource by type and name have a row. A field of the body (other than an array) that has such a name is always meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from decoders.apis import NAMES
from decoders.apis import api as declared
from decoders.protocol_facts.convert_field_names import find_field_by_any_name
from decoders.schema.api_declaration import ALL, Api, Field, Side, Versions
from kwcli.run_environment import Exit, Failure

__all__ = ["WORDS", "expand_entity_word"]

_TOPIC: Final = "topicName"
_GROUP: Final = "groupId"
_TRANSACTION: Final = "transactionalId"
# Word → the declared meaning of its field; partitions are found by their field names.
WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("topic", "topics"), _TOPIC),
    **dict.fromkeys(("group", "groups", "group_id", "consumer_group"), _GROUP),
    **dict.fromkeys(("txn", "transactional_id", "transaction"), _TRANSACTION),
    **dict.fromkeys(("partition", "partitions"), "partition"),
    **dict.fromkeys(("broker", "node"), "broker"),
}
_PARTITIONS: Final = frozenset({"partition", "partition_index", "partition_indexes", "partitions", "index"})
_CONFIGS: Final = {
    _TOPIC: ("resources[].resource_type=2", "resources[].resource_name="),
    "broker": ("resources[].resource_type=4", "resources[].resource_name="),
    _GROUP: ("resources[].resource_type=32", "resources[].resource_name="),
}
_ACLS: Final = {
    _TOPIC: ("resource_type_filter=2", "resource_name_filter="),
    _GROUP: ("resource_type_filter=3", "resource_name_filter="),
    _TRANSACTION: ("resource_type_filter=5", "resource_name_filter="),
}
# Requests that name a resource by type and name: API key → the words, the last one without its value.
_RESOURCES: Final[Mapping[int, Mapping[str, tuple[str, ...]]]] = {
    **dict.fromkeys((32, 33, 44), _CONFIGS),
    29: _ACLS,
    10: {_GROUP: ("coordinator_keys[]=",), _TRANSACTION: ("key_type=1", "coordinator_keys[]=")},
}
# The same value in older versions of such a request.
_OLDER: Final = {(10, "coordinator_keys[]="): ("key=",)}


def expand_entity_word(api: Api, side: Side, text: str) -> list[tuple[str, ...]] | None:
    """The words that `topic=orders` stands for, each with its alternatives in other versions; None where it is none.

    Several topics or partitions are separated by commas.
    """
    name, equals, value = text.partition("=")
    entity = WORDS.get(name.replace("-", "_").lower())
    if not equals or entity is None or name.endswith(":"):
        return None
    own = find_field_by_any_name(api.message(side).fields, name)
    if own is not None and not own.array:
        return None
    if value.startswith("="):
        raise Failure(f'"{text}": write {name}{value}', Exit.USAGE)
    values = value.split(",") if entity in (_TOPIC, "partition") else [value]
    if side == "request" and entity in _RESOURCES.get(api.key, ()):
        *types, last = _RESOURCES[api.key][entity]
        others = _OLDER.get((api.key, last), ())
        return [way for one in values for way in ((word,) for word in types)] + [
            (f"{last}{one}", *(f"{other}{one}" for other in others)) for one in values
        ]
    ways = _find_newest_entity_paths(api.key, side, entity)
    return [tuple(f"{path}={one}" for path in ways) for one in values] if ways else None


@cache
def _find_newest_entity_paths(key: int, side: Side, entity: str) -> tuple[str, ...]:
    """The paths of the fields with this meaning, that of the newest version first."""
    if key not in NAMES:
        return ()
    message = declared(key).message(side)
    found = sorted(
        _find_entity_paths(message.fields, entity, "", message.versions), key=_find_newest_version_of_path, reverse=True
    )
    kept: dict[Versions, str] = {}
    for path, versions in found:
        if not any(versions & other for other in kept):  # of several such fields the first is meant
            kept[versions] = path
    return tuple(kept.values())


def _find_newest_version_of_path(way: tuple[str, Versions]) -> int:
    return way[1].high


def _find_entity_paths(
    fields: Sequence[Field], entity: str, above: str, whole: Versions = ALL
) -> Iterator[tuple[str, Versions]]:
    for field in fields:
        versions = field.versions & whole
        path = f"{above}{field.name}{'[]' if field.array else ''}"
        if not versions:
            continue
        if field.fields:
            yield from _find_entity_paths(field.fields, entity, f"{path}.", versions)
        elif field.entity == entity or (entity == "partition" and above and field.name in _PARTITIONS):
            yield path, versions
