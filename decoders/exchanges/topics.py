"""Exchanges in, names of topic ids out: what earlier exchanges of the capture said (KIP-516).

Topic ids are unique over all clusters and are never given a new name, so one table serves the whole capture. Each name
has a number, and an exchange sees only the names that were known when it was settled: the same answer however late it
is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from decoders.apis.keys import FETCH, FETCH_SNAPSHOT
from decoders.schema.model import Plan, Side
from decoders.wire.primitives import uuid_text

# Names beyond this many are not learnt.
TOPICS_MAX: Final = 10**6
NULL_ID: Final = UUID(int=0)
# The topic of the cluster's own state, whose records hold credentials, and its id, which is the same in every cluster
# (KIP-500, KIP-516).
METADATA_TOPIC: Final = "__cluster_metadata"
_METADATA_ID: Final = UUID(int=1)
WELL_KNOWN: Final = {_METADATA_ID: METADATA_TOPIC}
_METADATA_IDS: Final = frozenset({_METADATA_ID, uuid_text(_METADATA_ID.bytes)})


class TopicIdSource(NamedTuple):
    """Where a message has ids and names together: structs at `path`, their name and id fields."""

    side: Side
    path: str
    name: str
    id: str


# API key → what it teaches; tests compare this with the declarations.
TOPIC_ID_SOURCES: Final[dict[int, tuple[TopicIdSource, ...]]] = {
    3: (TopicIdSource("response", "topics[]", "name", "topic_id"),),
    4: (TopicIdSource("request", "topic_states[]", "topic_name", "topic_id"),),
    6: (TopicIdSource("request", "topic_states[]", "topic_name", "topic_id"),),
    19: (TopicIdSource("response", "topics[]", "name", "topic_id"),),
    20: (TopicIdSource("response", "responses[]", "name", "topic_id"),),
    69: (
        TopicIdSource("response", "groups[].members[].assignment.topic_partitions[]", "topic_name", "topic_id"),
        TopicIdSource("response", "groups[].members[].target_assignment.topic_partitions[]", "topic_name", "topic_id"),
    ),
    75: (TopicIdSource("response", "topics[]", "name", "topic_id"),),
    77: (TopicIdSource("response", "groups[].members[].assignment.topic_partitions[]", "topic_name", "topic_id"),),
    90: (TopicIdSource("response", "groups[].topics[]", "topic_name", "topic_id"),),
    91: (TopicIdSource("response", "responses[]", "topic_name", "topic_id"),),
    92: (TopicIdSource("response", "responses[]", "topic_name", "topic_id"),),
}


class Topics:
    """Topic id → name, in the order learnt."""

    __slots__ = ("names", "texts")

    def __init__(self) -> None:
        self.names: dict[UUID, tuple[str, int]] = {}
        self.texts: dict[str, tuple[str, int]] = {}  # the same by the text of the id

    def learn(self, value: Any, source: TopicIdSource) -> None:
        """Take the names out of a message or a projection of it."""
        names = self.names
        for entry in at_path(value, source.path):
            identity, name = entry.get(source.id), entry.get(source.name)
            if name and identity and identity != NULL_ID and identity not in names and len(names) < TOPICS_MAX:
                self.add(identity, name)

    def add(self, identity: UUID, name: str) -> None:
        """The next name."""
        self.names[identity] = self.texts[uuid_text(identity.bytes)] = (name, len(self.names))

    def name(self, identity: UUID, known: int) -> str | None:
        """The name of an id when the first `known` names had been learnt."""
        found = self.names.get(identity)
        return found[0] if found is not None and found[1] < known else None


def holds_metadata(key: int | None, side: Side, body: Mapping[str, Any]) -> bool:
    """Whether the records of a body, in Python values or in JSON form, may be of the cluster's own state.

    A body that does not say of which topics they are may hold such.
    """
    if side == "request" or key not in (FETCH, FETCH_SNAPSHOT):
        return False
    topics = body.get("responses") if key == FETCH else None
    return topics is None or any(
        topic.get("topic") == METADATA_TOPIC or topic.get("topic_id") in _METADATA_IDS for topic in topics
    )


def at_path(value: Any, path: str) -> Iterator[Any]:
    """Everything at a path without indices (`topics[].partitions[]`); what is missing or null on the way ends it."""
    name, _, rest = path.partition(".")
    if not isinstance(value, dict):
        return
    inner = value.get(name.removesuffix("[]"))
    if name.endswith("[]"):
        for element in inner or ():
            if rest:
                yield from at_path(element, rest)
            else:
                yield element
    elif rest:
        yield from at_path(inner, rest)
    elif inner is not None:
        yield inner


def nameless_ids(plan: Plan, prefix: str = "") -> Iterator[str]:
    """The paths of topic ids whose name does not stand beside them."""
    fields = (*plan.fields, *plan.tagged)
    names = {field.name for field in fields}
    for field in fields:
        path = prefix + field.name + ("[]" if field.array else "")
        if field.plan is not None:
            yield from nameless_ids(field.plan, path + ".")
        elif field.name == "topic_id" and not names & {"name", "topic", "topic_name"}:
            yield path
