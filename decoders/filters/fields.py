"""The fields that an expression may name: when each is known, what kind of value it has, where it is found."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.filters.topics import all_names
from decoders.filters.values import Kind
from decoders.schema.model import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange


class Phase(IntEnum):
    """How much of an exchange is known: its request's header, its request, its response, how it ended."""

    HEADER = 0
    REQUEST = 1
    RESPONSE = 2
    SETTLED = 3


class FieldRow(NamedTuple):
    """One field. A value that is a list stands for each of its elements; None and an empty list are nothing.

    `entity` is set where the names come out of bodies (needs.py must hear of them).
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
