"""The result of a handler in, the body of a response out: in the version asked for, or the one of a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from decoders.apis import api
from decoders.messages.error_answers import ErrorAnswer, make_error_answer
from decoders.protocol_facts.api_keys import SASL_HANDSHAKE
from decoders.schema.api_declaration import Plan, resolve

if TYPE_CHECKING:
    from decoders.mocking.refusal_error import Refusal

__all__ = [
    "DecodedRequest",
    "Outcome",
    "RequestBody",
    "RequestRow",
    "ResponseBody",
    "ResponseRow",
    "build_refusal_answer",
    "build_refusal_body",
    "build_refused_row",
    "drop_fields_beyond_version",
    "is_followed_by_raw_tokens",
]


# Decoded messages, and the elements of their arrays: fields by Kafka's names.
RequestBody = dict[str, Any]
RequestRow = dict[str, Any]
ResponseBody = dict[str, Any]
ResponseRow = dict[str, Any]


class DecodedRequest(Protocol):
    """A request that came in, decoded."""

    @property
    def api_key(self) -> int:
        """The API key of the request."""

    @property
    def version(self) -> int:
        """The API version of the request."""

    @property
    def body(self) -> Mapping[str, Any]:
        """The fields of the request."""


class Outcome(Enum):
    """What a handler returns in place of a response's body."""

    WAIT = auto()  # the call is kept, and answered later
    NO_ANSWER = auto()  # the request wants none
    CLOSE = auto()  # the connection is closed


def drop_fields_beyond_version(api_key: int, version: int, body: Mapping[str, Any]) -> ResponseBody:
    """A body without the fields that its version does not have."""
    return _drop_fields_outside_plan(resolve(api(api_key).response, version), body)


def _drop_fields_outside_plan(plan: Plan, body: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in (*plan.fields, *plan.tagged):
        if field.name not in body:
            continue
        value = body[field.name]
        if field.plan is not None and value is not None:
            inner = field.plan
            value = (
                [_drop_fields_outside_plan(inner, each) for each in value]
                if field.array
                else _drop_fields_outside_plan(inner, value)
            )
        out[field.name] = value
    return out


def build_refusal_answer(
    call: DecodedRequest, refusal: Refusal, replaced: Mapping[str, Any] | None = None, *, in_partitions: bool = False
) -> ErrorAnswer:
    """The response to a request that is refused, by the table of error answers (messages/error_answers.py).

    `replaced` has other values for fields of the request: one with a single element gives the row of that element.
    """
    body = call.body if replaced is None else {**call.body, **replaced}
    return make_error_answer(
        call.api_key, call.version, body, refusal.code, message=refusal.text, in_partitions=in_partitions
    )


def build_refusal_body(
    call: DecodedRequest, refusal: Refusal, replaced: Mapping[str, Any] | None = None, *, in_partitions: bool = False
) -> ResponseBody:
    """The body of the response to a request that is refused; empty for a request that is never answered."""
    return build_refusal_answer(call, refusal, replaced, in_partitions=in_partitions).body or {}


def build_refused_row(
    call: DecodedRequest, refusal: Refusal, field: str, element: object, response_field: str
) -> ResponseRow:
    """The response row, with an error, of one element of a request's `field`; it stands in `response_field`."""
    row: dict[str, Any] = build_refusal_body(call, refusal, {field: [element]})[response_field][0]
    return row


def is_followed_by_raw_tokens(api_key: int, version: int, body: Mapping[str, Any]) -> bool:
    """Whether raw SASL tokens follow a response: that to a SaslHandshake 0 that succeeded."""
    return api_key == SASL_HANDSHAKE and version == 0 and not body["error_code"]
