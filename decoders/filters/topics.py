"""An exchange in, the names of what it is about out: topics, groups, transactional ids, as declarations mark them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.exchanges.specs import SIDES
from decoders.schema.getter import Get, getter
from decoders.schema.model import Field, Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# Requests that name what they are about as resources: API key → the array.
RESOURCES: Final[dict[int, str]] = {32: "resources", 33: "resources", 44: "resources", 30: "creations"}
# The word of a declaration → the type of a resource that is one in all of these requests.
RESOURCE_TYPES: Final = {"topicName": 2}


@cache
def entity_paths(key: int, side: Side, entity: str) -> tuple[str, ...]:
    """The paths of all names of this entity in a message, and of topic ids where topics are asked for."""
    if key not in NAMES:
        return ()
    message = api(key).message(side)
    found = tuple(_marked(message.fields, "", entity))
    array = RESOURCES.get(key) if side == "request" and entity in RESOURCE_TYPES else None
    return (*found, f"{array}[].resource_type", f"{array}[].resource_name") if array else found


def names(exchange: Exchange, side: Side, entity: str) -> Iterator[str]:
    """The names of this entity in a side of an exchange; a topic id counts by the name that is known for it."""
    key = exchange.api_key
    view = exchange.view(side) if key in NAMES else None
    if not view or key is None or not isinstance(view, dict):
        return
    for get in _getters(key, side, entity):
        found = get(view)
        for name in found if isinstance(found, list) else (found,):
            text = exchange.topic_name(name) if isinstance(name, UUID) else name
            if text is not None:
                yield text
    if side == "request" and key in RESOURCES and entity in RESOURCE_TYPES:
        for resource in view.get(RESOURCES[key]) or ():
            name = resource.get("resource_name")  # None where the request fails before it
            if resource.get("resource_type") == RESOURCE_TYPES[entity] and name is not None:
                yield name


def all_names(exchange: Exchange, entity: str) -> list[Any]:
    """Those of both sides."""
    return [name for side in SIDES for name in names(exchange, side, entity)]


def _marked(fields: Iterable[Field], prefix: str, entity: str) -> Iterator[str]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if field.fields:
            yield from _marked(field.fields, f"{path}{'[]' if field.array else ''}.", entity)
        elif field.entity == entity or (entity == "topicName" and field.name == "topic_id"):
            yield path


@cache
def _getters(key: int, side: Side, entity: str) -> tuple[Get, ...]:
    return tuple(getter(path) for path in entity_paths(key, side, entity) if ".resource_" not in path)
