"""What a handler gives back, and how its body becomes one of the version that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from decoders.apis import api
from decoders.apis.keys import SASL_HANDSHAKE
from decoders.schema.model import Plan, resolve

__all__ = ["Outcome", "fit_to_version", "raw_token_follows"]


class Outcome(Enum):
    """What a handler gives in the place of a response's body."""

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


def raw_token_follows(api_key: int, version: int, body: Mapping[str, Any]) -> bool:
    """Whether raw SASL tokens follow a response: of a handshake in version 0 that succeeded."""
    return api_key == SASL_HANDSHAKE and version == 0 and not body["error_code"]
