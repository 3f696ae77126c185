"""A request in, the places that it names out: which partitions, coordinators or resources it has to go to.

Works on any form of a body (Python values, JSON values), since it only follows names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from decoders.apis import api
from decoders.protocol_facts.request_routing import route_of_api
from decoders.schema.api_declaration import Field

__all__ = ["extract_routing_keys", "keep_only_routing_keys", "routing_field_paths"]

Place = tuple[Any, ...]


@cache
def routing_field_paths(api_key: int, version: int) -> tuple[str, ...]:
    """The fields that name the place in this version, outermost first: `("topics[].topic_id", "topics[]…")`."""
    fields = api(api_key).request.fields
    return tuple(
        next(each for each in part.split("|") if _field_exists(fields, each, version))
        for part in route_of_api(api_key).path
    )


def extract_routing_keys(api_key: int, version: int, body: Mapping[str, Any]) -> list[Place]:
    """Each place that the request names, once, in its order: `("orders", 0)`, `("my-group",)`, `(4, "1")`.

    A value that the body lacks or holds as null names nothing.
    """
    chains = tuple(tuple(_split_path_at_arrays(path)) for path in routing_field_paths(api_key, version))
    return list(dict.fromkeys(_iterate_routing_keys(body, chains, ()))) if chains else []


def keep_only_routing_keys(api_key: int, version: int, body: Mapping[str, Any], wanted: set[Place]) -> dict[str, Any]:
    """The request without the places that are not wanted, nor what is empty for their lack; the rest as it is."""
    chains = tuple(tuple(_split_path_at_arrays(path)) for path in routing_field_paths(api_key, version))
    return _struct_with_wanted_places(body, chains, (), wanted)[0]


def _field_exists(fields: Sequence[Field], path: str, version: int) -> bool:
    for step in _split_path_at_arrays(path):
        name, listed = step
        found = next((field for field in fields if field.name == name and version in field.versions), None)
        if found is None or found.array is not listed:
            return False
        fields = found.fields
    return True


def _split_path_at_arrays(path: str) -> Iterator[tuple[str, bool]]:
    """`topics[].name` → ("topics", True), ("name", False)."""
    for step in path.split("."):
        yield step.removesuffix("[]"), step.endswith("[]")


# A chain is what is left of one path; a list that several chains go through is walked for all of them at once.
_Chains = tuple[tuple[tuple[str, bool], ...], ...]


def _iterate_routing_keys(value: Mapping[str, Any], chains: _Chains, sofar: Place) -> Iterator[Place]:
    if not chains:
        yield sofar
        return
    (name, listed), *rest = chains[0]
    found = value.get(name)
    if found is None:
        return
    if not listed:
        yield from _iterate_routing_keys(value, chains[1:], (*sofar, found))
        return
    inner, outer = _split_paths_through_list(chains, name)
    for element in found:
        if rest:
            yield from _iterate_routing_keys(element, inner, sofar)
        else:
            yield from _iterate_routing_keys(value, outer, (*sofar, element))


def _split_paths_through_list(chains: _Chains, name: str) -> tuple[_Chains, _Chains]:
    """The chains that go through this list, from its elements on, and the others."""
    through = tuple(chain[1:] for chain in chains if chain[0] == (name, True))
    return through, chains[len(through) :]


def _struct_with_wanted_places(
    value: Mapping[str, Any], chains: _Chains, sofar: Place, wanted: set[Place]
) -> tuple[dict[str, Any], bool]:
    """The struct with what is wanted, and whether anything is."""
    made = dict(value)
    if not chains:
        return made, sofar in wanted
    (name, listed), *rest = chains[0]
    found = value.get(name)
    if found is None:
        return made, False
    if not listed:
        return _struct_with_wanted_places(value, chains[1:], (*sofar, found), wanted)
    if not rest:
        made[name] = [element for element in found if (*sofar, element) in wanted]
        return made, bool(made[name])
    inner, _ = _split_paths_through_list(chains, name)
    parts = [_struct_with_wanted_places(element, inner, sofar, wanted) for element in found]
    made[name] = [part for part, any_of_it in parts if any_of_it]
    return made, bool(made[name])
