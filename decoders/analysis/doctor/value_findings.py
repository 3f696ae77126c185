"""Observations in, findings out about keys and values that are written with schemas, and those that are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    Case,
    Found,
    escape_for_sentence,
    merge_observations,
    most_frequent_clients,
)
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.values.schema_subjects import find_misrouted_values

__all__ = ["VALUES"]


def _find_undecodable_values(case: Case) -> Iterator[Found]:
    for (topic, identity, _), seen in case.seen.items_of_kind("value-bad"):
        fault = sort_names_by_count(seen.names["errors"])[0]
        yield _make_finding(case, "values-undecodable", seen, topic=topic, schema=identity, fault=fault)


def _find_unregistered_schemas(case: Case) -> Iterator[Found]:
    """Ids that a registry does not know; where no registry was asked, those among values whose schemas are known."""
    known = [(topic, identity) for (topic, identity, _), _ in case.seen.items_of_kind("value-schema")]
    with_schema, came_later = {topic for topic, _ in known}, {identity for _, identity in known}
    for kind in ("value-unregistered", "value-unknown"):
        is_sure = kind == "value-unregistered"
        for (topic, identity, _), seen in case.seen.items_of_kind(kind):
            if is_sure or (topic in with_schema and identity not in came_later):
                state = "the registry does not know" if is_sure else "was not seen, likely not registered"
                found = _make_finding(case, "schema-unregistered", seen, topic=topic, schema=identity, known=state)
                yield found if is_sure else found._replace(severity="note")


def _list_misrouted_schemas(case: Case) -> dict[tuple[str, str], str]:
    known = (key for key, _ in case.seen.items_of_kind("schema-subject"))
    return find_misrouted_values(
        known, ((topic, identity) for (topic, identity, _), _ in case.seen.items_of_kind("value-schema"))
    )


def _find_misrouted_values(case: Case) -> Iterator[Found]:
    """Values whose schema is that of another topic."""
    foreign = _list_misrouted_schemas(case)
    for (topic, identity, _), seen in case.seen.items_of_kind("value-schema"):
        if (topic, identity) in foreign:
            other = foreign[topic, identity]
            yield _make_finding(case, "value-misrouted", seen, topic=topic, schema=identity, other=other)


def _find_mixed_schemas(case: Case) -> Iterator[Found]:
    """Topics with values of several types. Versions of one type are what schemas are for.

    Types that are of another topic are a finding of their own.
    """
    foreign = _list_misrouted_schemas(case)
    by_topic: dict[str, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for (topic, identity, name), seen in case.seen.items_of_kind("value-schema"):
        if (topic, identity) not in foreign:
            by_topic[topic][name].append(seen)
    for topic, types in by_topic.items():
        if len(types) > 1:
            whole = merge_observations(seen for some in types.values() for seen in some)
            each = [f"{name}{_describe_writers(merge_observations(some))}" for name, some in types.items()]
            clients = most_frequent_clients(whole) or None
            yield case.make_finding(
                "schemas-mixed", whole, topic=topic, clients=clients, types=each[:LISTED], tally=len(types)
            )


def _find_unframed_values(case: Case) -> Iterator[Found]:
    """Values that name no schema in a topic whose other values do."""
    framed: dict[str, list[Observation]] = defaultdict(list)
    for (topic, _, _), seen in case.seen.items_of_kind("value-schema"):
        framed[topic].append(seen)
    for (topic, _, _), seen in case.seen.items_of_kind("value-plain"):
        if topic in framed:
            others = _describe_writers(merge_observations(framed[topic]))
            yield _make_finding(case, "values-unframed", seen, topic=topic, others=others)


def _make_finding(case: Case, kind: str, seen: Observation, **about: Any) -> Found:
    """A finding with how many values it is about, and who wrote them."""
    clients = most_frequent_clients(seen) or None
    return case.make_finding(
        kind, seen, clients=clients, tally=_describe_count(seen), by=_describe_writers(seen), **about
    )


def _describe_count(seen: Observation) -> str:
    """`1 value`; a value that was written and read counts once."""
    count = seen.sums.get("written") or seen.sums["read"]
    return f"{count:,} value{'s' if count > 1 else ''}"


def _describe_writers(seen: Observation) -> str:
    clients = most_frequent_clients(seen)
    return f" (written by {escape_for_sentence(clients)})" if clients else ""


VALUES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_undecodable_values,
    _find_unregistered_schemas,
    _find_misrouted_values,
    _find_mixed_schemas,
    _find_unframed_values,
)
