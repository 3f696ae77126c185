"""A request of each API that a broker answers and that does no harm: what is sent where nothing else is said.

It is the section `example` of the API's declaration: a request in JSON form with the newest names. A version takes the
fields that it has, so an example may hold those of all versions side by side; `name@VERSIONS` is the value in these
versions, where it cannot be that of the others, `name@controller` the value where a controller's own listener is asked.

Rules: an id is -1 and never 0 (a schema's 0 is a real broker), a name is one that nothing has, time-outs are 30 s,
waits half a second; what would change something finds nothing to change. Arrays are empty, unless a broker hangs up on
it (AddPartitionsToTxn; FetchSnapshot, which would even end one), or the request would ask for nothing at all
(FindCoordinator, OffsetFetch; DescribeQuorum, whose only topic this is), or null means everything and only looks.

One is not without trace: a controller takes every ControllerRegistration and keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from decoders.apis import section
from decoders.protocol_facts.convert_field_names import drop_unknown_fields
from decoders.schema.api_declaration import JSON_WORDS, Api, Versions

__all__ = ["NAME", "example_of_all_versions", "example_request"]

NAME: Final = "kw-example"
_CONTROLLER: Final = "controller"


@cache
def example_of_all_versions(api_key: int) -> Mapping[str, Any]:
    """What the declaration of an API says, of all versions; nothing where it has no example."""
    said = section(api_key, "example")
    if said is None:
        return {}
    try:  # JSON as examples have it is Python with these words; a reader of JSON would take a third of a call's start
        found: Mapping[str, Any] = eval(
            said.text, {"__builtins__": {}, **JSON_WORDS}
        )  # our own text, as that of codecs is
    except (SyntaxError, NameError) as error:
        raise said.error(f"no JSON: {error}") from None
    return found


def example_request(api: Api, version: int, *, controller: bool = False) -> dict[str, Any]:
    """A request in JSON form that is answered and does no harm; the caller may change it.

    `controller`: for a controller's own listener, where a few APIs have to ask for something else.
    """
    return drop_unknown_fields(
        api.request.fields, version, _select_for_version(example_of_all_versions(api.key), version, controller)
    )


def _select_for_version(value: Any, version: int, controller: bool) -> Any:
    """An example, or a part of one, for a version: each `name@…` stands under its plain name, or is left out."""
    if isinstance(value, list):
        return [_select_for_version(element, version, controller) for element in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: _select_for_version(inner, version, controller) for name, inner in value.items() if "@" not in name}
    for name, inner in value.items():
        plain, marked, where = name.partition("@")
        if marked and (controller if where == _CONTROLLER else version in Versions.parse(where)):
            found[plain] = _select_for_version(inner, version, controller)
    return found
