"""A held request and an error's code in, the answer that a broker would give out; None where it has no place for it.

An answer says errors of what was asked: of each partition, topic, group or resource, so these are echoed from the
request; or of the request as a whole. What an error code stands beside, and where the same is in the request, the
declarations tell: an array of the answer whose elements have a code is that of the request with the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from decoders.apis.keys import FETCH
from decoders.frames.headers import flexible, plan_of
from decoders.schema.model import Plan, PlanField
from kwcli.proxy.faults.changes import body_of, framed
from kwcli.proxy.relay.intervention import HeldExchange

_CODE: Final = "error_code"  # or some error code: the name of the field ends so
# What stands in an answer where there is nothing to say.
_NOTHING: Final[dict[str, Any]] = {
    **dict.fromkeys(
        ("base_offset", "high_watermark", "committed_offset", "offset", "timestamp", "node_id", "port"), -1
    ),
    "records": b"",
}
_API_VERSIONS: Final = 18
# Names that stand for the same in a request and its answer.
_SAME: Final = (
    ("name", "topic", "topic_name"),
    ("partition_index", "partition", "index", "partition_id"),
    ("group_id", "group"),
    ("key", "key_type"),
)
_KEYS: Final = {name: others for others in _SAME for name in others}
# Codes that a Fetch answer says of its session (KIP-227), and APIs whose answers say errors as a whole though they list
# what was asked.
_OF_SESSIONS: Final = frozenset({70, 71, 106})
_AS_A_WHOLE: Final = frozenset({13})


def error_answer(exchange: HeldExchange, code: int) -> bytes | None:
    """The whole frame. `exchange.memo` is what the request asks for where its session says more than itself."""
    key, version = exchange.api_key, exchange.version
    found = body_of(exchange, "request")
    plan = plan_of(key, version, "response")
    if found is None or plan is None:
        return None
    asked = exchange.memo if isinstance(exchange.memo, dict) else found[1]
    whole = key in _AS_A_WHOLE or (key == FETCH and code in _OF_SESSIONS)
    body = None if whole else _echoed(plan, asked, code)
    if body is None and any(field.name == _CODE for field in plan.fields):
        body = {_CODE: code}
    if body is None:
        return None
    head = bytes(4) + exchange.correlation_id.to_bytes(4, "big", signed=True)
    return framed(
        exchange, "response", head + (b"\0" if flexible(key, version) and key != _API_VERSIONS else b""), body
    )


def _echoed(plan: Plan, asked: Mapping[str, Any], code: int) -> dict[str, Any] | None:
    """The answer's arrays with an element for each that was asked about; None where there is none."""
    for field in plan.fields:
        if field.plan is None or not field.array or not _says_errors(field.plan):
            continue
        for value in asked.values():
            if not isinstance(value, list) or not value:
                continue
            made = [each for element in value if (each := _element(field.plan, element, code)) is not None]
            if made:
                return {field.name: made}
    return None


def _says_errors(plan: Plan) -> bool:
    return any(_is_code(field) or (field.plan is not None and _says_errors(field.plan)) for field in plan.fields)


def _element(plan: Plan, asked: Any, code: int) -> dict[str, Any] | None:
    """One element of the answer; None where it is about something else."""
    keys = _keys(plan.fields, asked)
    if not keys:
        return None
    made: dict[str, Any] = dict(keys)
    if isinstance(asked, Mapping) and (inner := _echoed(plan, asked, code)) is not None:
        made |= inner
    elif codes := [field.name for field in plan.fields if _is_code(field)]:
        made |= dict.fromkeys(codes, code)
        made |= {field.name: _NOTHING[field.name] for field in plan.fields if field.name in _NOTHING}
    else:
        return None
    return made


def _is_code(field: PlanField) -> bool:
    return field.kind == "int16" and field.name.endswith(_CODE)


def _keys(fields: Iterable[PlanField], asked: Any) -> dict[str, Any]:
    """What says which element of the request it is about."""
    fields = list(fields)
    if not isinstance(asked, Mapping):
        number = isinstance(asked, int)
        for field in fields:
            if field.plan is None and not field.array and not _is_code(field) and (field.kind == "int32") == number:
                return {field.name: asked}
        return {}
    found = {}
    for field in fields:
        if field.plan is not None or field.array or _is_code(field):
            continue
        for name in _KEYS.get(field.name, (field.name,)):
            if (name in asked and isinstance(asked[name], str | int)) or (name in asked and name.endswith("_id")):
                found[field.name] = asked[name]
                break
    return found if any(_identifies(name) for name in found) else {}


def _identifies(name: str) -> bool:
    return name in _KEYS or name.endswith(("_id", "_name", "name"))
