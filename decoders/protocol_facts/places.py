"""A request in, the places that it names out: which partitions, coordinators or resources it has to go to.

Works on any form of a body (Python values, JSON values), since it only follows names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from decoders.apis import api
from decoders.protocol_facts.routing import route
from decoders.schema.model import Field

__all__ = ["keep_places", "places", "routed_by"]

Place = tuple[Any, ...]


@cache
def routed_by(key: int, version: int) -> tuple[str, ...]:
    """The fields that name the place in this version, outermost first: `("topics[].topic_id", "topics[]…")`."""
    fields = api(key).request.fields
    return tuple(next(each for each in part.split("|") if _exists(fields, each, version)) for part in route(key).path)


def places(key: int, version: int, body: Mapping[str, Any]) -> list[Place]:
    """Each place that the request names, once, in its order: `("orders", 0)`, `("my-group",)`, `(4, "1")`.

    A value that the body lacks or holds as null names nothing.
    """
    chains = tuple(tuple(_steps(path)) for path in routed_by(key, version))
    return list(dict.fromkeys(_places(body, chains, ()))) if chains else []


def keep_places(key: int, version: int, body: Mapping[str, Any], wanted: set[Place]) -> dict[str, Any]:
    """The request without the places that are not wanted, nor what is empty for their lack; the rest as it is."""
    chains = tuple(tuple(_steps(path)) for path in routed_by(key, version))
    return _keep_wanted(body, chains, (), wanted)[0]


def _exists(fields: Sequence[Field], path: str, version: int) -> bool:
    for step in _steps(path):
        name, listed = step
        found = next((field for field in fields if field.name == name and version in field.versions), None)
        if found is None or found.array is not listed:
            return False
        fields = found.fields
    return True


def _steps(path: str) -> Iterator[tuple[str, bool]]:
    """`topics[].name` → ("topics", True), ("name", False)."""
    for step in path.split("."):
        yield step.removesuffix("[]"), step.endswith("[]")


# A chain is what is left of one path; a list that several chains go through is walked for all of them at once.
_Chains = tuple[tuple[tuple[str, bool], ...], ...]


def _places(value: Mapping[str, Any], chains: _Chains, sofar: Place) -> Iterator[Place]:
    if not chains:
        yield sofar
        return
    (name, listed), *rest = chains[0]
    found = value.get(name)
    if found is None:
        return
    if not listed:
        yield from _places(value, chains[1:], (*sofar, found))
        return
    inner, outer = _split_chains(chains, name)
    for element in found:
        if rest:
            yield from _places(element, inner, sofar)
        else:
            yield from _places(value, outer, (*sofar, element))


def _split_chains(chains: _Chains, name: str) -> tuple[_Chains, _Chains]:
    """The chains that go through this list, from its elements on, and the others."""
    through = tuple(chain[1:] for chain in chains if chain[0] == (name, True))
    return through, chains[len(through) :]


def _keep_wanted(
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
        return _keep_wanted(value, chains[1:], (*sofar, found), wanted)
    if not rest:
        made[name] = [element for element in found if (*sofar, element) in wanted]
        return made, bool(made[name])
    inner, _ = _split_chains(chains, name)
    parts = [_keep_wanted(element, inner, sofar, wanted) for element in found]
    made[name] = [part for part, any_of_it in parts if any_of_it]
    return made, bool(made[name])
