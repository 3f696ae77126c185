"""The fields that an expression may name: when each is known, what kind of value it has, where it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.exchanges.api_versions import SIDES
from decoders.filters.values import Kind
from decoders.schema.model import Field, Side
from decoders.schema.projection import Get, getter

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


# The fields that an expression may name: when each is known, what kind of value it has, where it is found.


class Phase(IntEnum):
    """How much of an exchange is known: its request's header, its request, its response, how it ended."""

    HEADER = 0
    REQUEST = 1
    RESPONSE = 2
    SETTLED = 3


class FieldRow(NamedTuple):
    """One field. A value that is a list stands for each of its elements; None and an empty list are nothing.

    `entity` is set where the names come out of bodies (exchanges/api_versions.py must hear of them).
    """

    phase: Phase
    kind: Kind
    get: Callable[[Exchange], Any]
    text: str
    entity: str = ""


def _of(entity: str) -> Callable[[Exchange], Any]:
    return lambda exchange: all_names(exchange, entity)


def _software(exchange: Exchange, part: str) -> str | None:
    software = exchange.client_software
    return software[part] if software else None  # type: ignore[literal-required]  # name or version


def _sizes(exchange: Exchange) -> list[int]:
    return [size for size in (exchange.request_size, exchange.response_size) if size is not None]


H, Q, R, S = Phase.HEADER, Phase.REQUEST, Phase.RESPONSE, Phase.SETTLED

FIELDS: Final[dict[str, FieldRow]] = {
    "api": FieldRow(H, "api", lambda x: x.api_key, "API by name or number"),
    "api_key": FieldRow(H, "number", lambda x: x.api_key, "number of the API"),
    "api_version": FieldRow(H, "number", lambda x: x.api_version, "version of the request"),
    "correlation_id": FieldRow(H, "number", lambda x: x.correlation_id, "correlation id"),
    "client_id": FieldRow(H, "text", lambda x: x.client_id, "client id"),
    "client": FieldRow(H, "address", lambda x: x.client, "address of the client"),
    "broker": FieldRow(H, "address", lambda x: x.broker, "address of the broker"),
    "software": FieldRow(H, "text", lambda x: _software(x, "name"), "name of the client's library"),
    "software_version": FieldRow(H, "text", lambda x: _software(x, "version"), "version of the client's library"),
    "connection": FieldRow(H, "number", lambda x: x.connection, "number of the connection"),
    "time": FieldRow(H, "time", lambda x: x.time_ns, "time of the request's first byte"),
    "request_size": FieldRow(H, "size", lambda x: x.request_size, "bytes of the request"),
    "topic": FieldRow(R, "text", _of("topicName"), "topics in request or response", "topicName"),
    "group": FieldRow(R, "text", _of("groupId"), "consumer groups", "groupId"),
    "txn": FieldRow(R, "text", _of("transactionalId"), "transactional ids", "transactionalId"),
    "response_size": FieldRow(R, "size", lambda x: x.response_size, "bytes of the response"),
    "size": FieldRow(R, "size", _sizes, "bytes of either side"),
    "latency": FieldRow(R, "duration", lambda x: x.latency_ms, "request's last byte to response's first"),
    "error": FieldRow(R, "error", lambda x: [each.code for each in x.errors], "error codes in the response"),
    "duration": FieldRow(S, "duration", lambda x: x.duration_ms, "request's first byte to response's last"),
    "status": FieldRow(S, "text", lambda x: x.status, "complete, unanswered, undecoded …"),
    "reason": FieldRow(S, "text", lambda x: x.reason, "why it could not be decoded or was not answered"),
    "undecoded": FieldRow(S, "text", lambda x: [f.reason for f in x.failures.values()], "why a side is undecoded"),
    "closed": FieldRow(S, "text", lambda x: x.closed, "how the connection ended that left it unanswered"),
    "retransmitted": FieldRow(S, "any", lambda x: x.retransmitted, "whether bytes of it were sent again"),
}
# Other words for fields, and for body fields that are asked for often.
ALIASES: Final = {
    "version": "api_version",
    "key": "api_key",
    "errors": "error",
    "topics": "topic",
    "transactional_id": "txn",
    "throttle": "response.throttle_time_ms",
    "took": "latency",
}
BODIES: Final[dict[str, tuple[Side, Phase]]] = {"request": ("request", Q), "response": ("response", R)}
