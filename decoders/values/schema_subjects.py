"""Topics and subjects of schemas, by the names that serializers give; schemas of values that are another topic's.

A subject tells a topic where subjects have the names of topics (TopicNameStrategy). So a value is likely meant for
another topic where its schema is registered for that topic alone, while the topic that it is in has a subject of its
own, in the same registry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from decoders.values.schema_store import SchemaStore

__all__ = ["SchemaSubject", "find_misrouted_values", "list_subjects", "subject_of_values", "topic_of_subject"]

# The id or GUID of a schema as text, its subject, the registry where that is known.
SchemaSubject = tuple[str, str, str | None]

_VALUE: Final = "-value"


def subject_of_values(topic: str) -> str:
    """The subject of the values of a topic: `orders-value`."""
    return f"{topic}{_VALUE}"


def topic_of_subject(subject: str) -> str | None:
    """The topic whose values have a subject; None where its name is not that of values."""
    return subject.removesuffix(_VALUE) if subject.endswith(_VALUE) and subject != _VALUE else None


def list_subjects(store: SchemaStore, values: Iterable[tuple[str, str]]) -> Iterator[SchemaSubject]:
    """The subjects of the schemas that values (topic, id) were seen with, and those that the topics have."""
    values = list(values)
    schemas, subjects = {identity for _, identity in values}, {subject_of_values(topic) for topic, _ in values}
    for stored in store if values else ():
        its = stored.registered
        if its.subject is None:
            continue
        for identity in filter(None, (None if its.schema_id is None else str(its.schema_id), its.guid)):
            if identity in schemas or its.subject in subjects:
                yield identity, its.subject, its.registry


def find_misrouted_values(
    known_subjects: Iterable[SchemaSubject], values: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Topic and schema of values that are likely misrouted → the topic that the schema is registered for alone."""
    subjects: dict[str, dict[str, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    registries: dict[str, set[str | None]] = defaultdict(set)
    for identity, subject, registry in known_subjects:
        subjects[identity][subject].add(registry)
        registries[subject].add(registry)
    found = {}
    for topic, identity in values:
        mine, its = registries.get(subject_of_values(topic)), subjects[identity]
        if mine is None or len(its) != 1:
            continue
        ((subject, its_registries),) = its.items()
        other = topic_of_subject(subject)
        is_of_one_registry = None in mine | its_registries or not mine.isdisjoint(its_registries)
        if other is not None and other != topic and is_of_one_registry:
            found[topic, identity] = other
    return found
