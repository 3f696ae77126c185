"""The result of a handler in, the body of a response out: in the version asked for, or the one of a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from decoders.apis import api
from decoders.messages.error_answers import ErrorAnswer, error_answer
from decoders.protocol_facts.keys import SASL_HANDSHAKE
from decoders.schema.model import Plan, resolve

if TYPE_CHECKING:
    from decoders.mocking.cluster import Refusal

__all__ = ["Outcome", "fit_to_version", "raw_token_follows", "refusal_answer", "refusal_body"]


class AskedRequest(Protocol):
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


def fit_to_version(api_key: int, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """A body without the fields that its version does not have."""
    return _fit(resolve(api(api_key).response, version), body)


def _fit(plan: Plan, body: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in (*plan.fields, *plan.tagged):
        if field.name not in body:
            continue
        value = body[field.name]
        if field.plan is not None and value is not None:
            inner = field.plan
            value = [_fit(inner, each) for each in value] if field.array else _fit(inner, value)
        out[field.name] = value
    return out


def refusal_answer(
    call: AskedRequest, refusal: Refusal, asked: Mapping[str, Any] | None = None, *, in_partitions: bool = False
) -> ErrorAnswer:
    """The response to a request that is refused, by the table of error answers (apis/error_places.py).

    `asked` replaces fields of the request: one with a single element gives the row of that element.
    """
    body = call.body if asked is None else {**call.body, **asked}
    return error_answer(
        call.api_key, call.version, body, refusal.code, message=refusal.text, in_partitions=in_partitions
    )


def refusal_body(
    call: AskedRequest, refusal: Refusal, asked: Mapping[str, Any] | None = None, *, in_partitions: bool = False
) -> dict[str, Any]:
    """The body of the response to a request that is refused; empty for a request that is never answered."""
    return refusal_answer(call, refusal, asked, in_partitions=in_partitions).body or {}


def raw_token_follows(api_key: int, version: int, body: Mapping[str, Any]) -> bool:
    """Whether raw SASL tokens follow a response: that to a SaslHandshake 0 that succeeded."""
    return api_key == SASL_HANDSHAKE and version == 0 and not body["error_code"]
