"""A request and an error in, the response out that a broker would give; Fetch requests with all of their session.

`ERROR_PLACES` says where a response carries errors. In responses to Fetch and ShareFetch the place depends on the
error: an error of a partition stands at the requested partitions, an error of the request or its session at the top
(`IN_PARTITIONS`).

A Fetch inside a session names only changes. `FetchSessions` follows the sessions of one connection, and gives each
request with all the partitions that it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from decoders.apis import api
from decoders.exchanges.facts_from_earlier_exchanges import FetchSessionState
from decoders.limits import SESSION_PARTITIONS_MAX
from decoders.messages.whole_messages import encode_response
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.errors.error_places import (
    ERROR_PLACES,
    IN_PARTITIONS,
    EachElement,
    ErrorMark,
    Row,
    SameField,
    UntilVersion,
)
from decoders.schema.api_declaration import Plan, PlanField, resolve

__all__ = ["ErrorAnswer", "FetchSessions", "encode_error_frame", "explain_lack_of_error_field", "make_error_answer"]

THROTTLE: Final = "throttle_time_ms"
_ABSENT: Final = object()


class ErrorAnswer(NamedTuple):
    """The body of the response, and in how many places it carries the error.

    `body` is None where brokers would not answer; with `places` 0 it does not carry the error, and `why` says why.
    """

    body: dict[str, Any] | None
    places: int
    why: str


class _Error(NamedTuple):
    code: int
    text: str | None
    meaning: str


def explain_lack_of_error_field(api_key: int, version: int) -> str | None:
    """Why no response of an API version ever carries an error; None where one may, though not to every request."""
    if _row_has_code_field(_find_error_row(api_key, version, None), _response_plan(api_key, version)):
        return None
    return f"an answer to {api(api_key).name} {version} has no field for an error code"


def make_error_answer(
    api_key: int,
    version: int,
    request: Mapping[str, Any],
    code: int,
    *,
    message: str | None = None,
    throttle_ms: int = 0,
    in_partitions: bool = False,
) -> ErrorAnswer:
    """The response to a decoded request, carrying an error. Raises UnknownApi or UnsupportedVersion.

    `in_partitions`: of an API in IN_PARTITIONS, the error stands at the partitions, whatever its name. A Fetch inside
    a session has to come from `FetchSessions.whole`. The code may be any number, known to Kafka or not.
    """
    name = api(api_key).name
    if api_key == PRODUCE and not request.get("acks", 1):
        return ErrorAnswer(None, 0, f"a {name} with acks=0 is never answered")
    known = ERRORS.get(code)
    error = _Error(code, message, message or (known.meaning if known else f"error {code}"))
    plan = _response_plan(api_key, version)
    row = (
        IN_PARTITIONS[api_key][1] if in_partitions else _find_error_row(api_key, version, known.name if known else None)
    )
    body = _fill_struct_with_error(row, plan, request, {}, error)
    if any(field.name == THROTTLE for field in plan.fields):
        body[THROTTLE] = throttle_ms
    places = _count_error_fields(row, plan, body)
    why = ""
    if not places:
        why = explain_lack_of_error_field(api_key, version) or f"this {name} names nothing that could have an error"
    return ErrorAnswer(body, places, why)


def encode_error_frame(api_key: int, version: int, answer: ErrorAnswer, correlation_id: int) -> bytes | None:
    """The frame of the response, without its size field; None where it carries no error."""
    if answer.body is None or not answer.places:
        return None
    return encode_response(api_key, version, answer.body, correlation_id=correlation_id)


def _response_plan(api_key: int, version: int) -> Plan:
    return resolve(api(api_key).response, version)


@cache
def _find_error_row(api_key: int, version: int, error: str | None) -> Row:
    row = ERROR_PLACES[api_key]
    if api_key not in IN_PARTITIONS:
        return row
    names, parts = IN_PARTITIONS[api_key]
    return parts if error in names.split() or not _row_has_code_field(row, _response_plan(api_key, version)) else row


def _list_fields_of_error(row: Row, plan: Plan) -> Iterator[tuple[PlanField, Any]]:
    """The fields of a version that a row has, each with what the row says of it."""
    for field in (*plan.fields, *plan.tagged):
        value = row.get(field.name, _ABSENT)
        if isinstance(value, UntilVersion):
            value = value.value if plan.version <= value.version else _ABSENT
        if value is not _ABSENT:
            yield field, value


def _row_has_code_field(row: Row, plan: Plan) -> bool:
    """Whether some field of this version would hold the error."""
    for field, value in _list_fields_of_error(row, plan):
        if value is ErrorMark.CODE or (
            isinstance(value, EachElement) and field.plan and _row_has_code_field(value.row, field.plan)
        ):
            return True
    return False


def _fill_struct_with_error(
    row: Row, plan: Plan, element: Any, around: Mapping[str, Any], error: _Error
) -> dict[str, Any]:
    """A struct of the response for an element of the request; the fields that are left out have their defaults."""
    made: dict[str, Any] = {}
    for field, value in _list_fields_of_error(row, plan):
        if isinstance(value, EachElement):
            assert field.plan is not None
            made[field.name] = [
                _fill_struct_with_error(value.row, field.plan, each, outer, error)
                for each, outer in _iterate_request_elements(value.path, element)
            ]
        elif isinstance(value, SameField):
            found = _find_same_field(value.names, element, around)
            if found is not None or field.nullable:
                made[field.name] = found
        elif value is ErrorMark.CODE:
            made[field.name] = error.code
        elif value is None or isinstance(value, ErrorMark):
            text = {ErrorMark.TEXT: error.text, ErrorMark.MEANING: error.meaning}.get(value)  # type: ignore[arg-type]
            if text is not None or field.nullable:
                made[field.name] = text
        else:
            made[field.name] = value
    return made


def _iterate_request_elements(paths: str, element: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """The elements at `paths` (joined by ` + `) of a request's struct, each with the struct around it."""
    for path in paths.split(" + "):
        found: list[tuple[Any, Mapping[str, Any]]] = [(element, {})]
        for name in path.split("."):
            found = [(inner, outer) for outer, _ in found for inner in outer.get(name) or ()]
        yield from found


def _find_same_field(names: str, element: Any, around: Mapping[str, Any]) -> Any:
    for name in names.split():
        if name == ".":
            if not isinstance(element, Mapping):
                return element
        elif name[0] == "^":
            if name[1:] in around:
                return around[name[1:]]
        elif isinstance(element, Mapping) and name in element:
            return element[name]
    return None


def _count_error_fields(row: Row, plan: Plan, body: Mapping[str, Any]) -> int:
    """How many fields of a response hold the error."""
    count = 0
    for field, value in _list_fields_of_error(row, plan):
        if value is ErrorMark.CODE:
            count += 1
        elif isinstance(value, EachElement) and field.plan is not None:
            count += sum(_count_error_fields(value.row, field.plan, each) for each in body.get(field.name) or ())
    return count


class FetchSessions:
    """The fetch session of one connection (KIP-227): give it every Fetch request and answer, in order."""

    def __init__(self) -> None:
        self._session: FetchSessionState | None = None

    def complete_incremental_fetch(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A decoded Fetch request with all that it asks for, also what earlier requests of its session named."""
        epoch = request.get("session_epoch", -1)
        session = self._session
        if epoch <= 0:
            self._session = None
            return request
        if session is None or session.identity != request.get("session_id"):
            return request
        session.apply_partition_changes(request)
        if session.count > SESSION_PARTITIONS_MAX:
            self._session = None
        return {**request, "topics": session.list_partitions()}

    def follow_response(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Follow the response that the client got for a request (as it was sent): it may open or end a session."""
        identity = response.get("session_id", 0)
        if response.get("error_code") or not identity:
            self._session = None
        elif request.get("session_epoch") == 0:
            self._session = FetchSessionState(identity)
            self._session.apply_partition_changes(request)
