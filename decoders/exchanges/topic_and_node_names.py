"""Responses in, the names in them out: of topic ids (KIP-516), and node ids by address.

An address is known as the broker advertises it, and as captures show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import DESCRIBE_CLUSTER, METADATA
from decoders.schema.api_declaration import Plan, Side
from decoders.wire.primitive_types import format_uuid, uuid_to_bytes

__all__ = [
    *("METADATA_TOPIC", "NAMELESS_MAX", "NODE_LISTS", "NULL_ID", "TOPICS_MAX", "TOPIC_ID_SOURCES", "WELL_KNOWN"),
    *("ListedNode", "NodeIds", "TopicIdSource", "Topics"),
    *("values_at_path", "broker_addresses", "list_nodes_of_answer", "paths_of_nameless_ids"),
]

# Names beyond this many are not learnt.
TOPICS_MAX: Final = 10**6
# Ids without a name that are kept, to be counted.
NAMELESS_MAX: Final = 10_000
NULL_ID: Final = UUID(int=0)
# The topic of the cluster's own state, whose records hold credentials, and its id, which is the same in every cluster
# (KIP-500, KIP-516).
METADATA_TOPIC: Final = "__cluster_metadata"
_METADATA_ID: Final = UUID(int=1)
WELL_KNOWN: Final = {_METADATA_ID: METADATA_TOPIC}


class TopicIdSource(NamedTuple):
    """Where a message has ids and names together: structs at `path`, their name and id fields."""

    side: Side
    path: str
    name: str
    id: str


# API key → where its messages have topic ids and names together; tests compare this with the declarations.
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
    """Topic id → name, in the order learnt; `nameless` has ids that were asked for in vain, up to NAMELESS_MAX."""

    __slots__ = ("nameless", "names", "texts")

    def __init__(self) -> None:
        self.names: dict[UUID, tuple[str, int]] = {}
        self.nameless: set[UUID] = set()
        self.texts: dict[str, tuple[str, int]] = {}  # name and place by the text of the id

    def add_names(self, value: Any, source: TopicIdSource) -> None:
        """Add the topic names in a message or a projection of it."""
        names = self.names
        for entry in values_at_path(value, source.path):
            identity, name = entry.get(source.id), entry.get(source.name)
            if name and identity and identity != NULL_ID and identity not in names and len(names) < TOPICS_MAX:
                self.add(identity, name)

    def add_missing_names(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Add names by topic id, as Kafka prints ids, for the ids that have none."""
        for text, name in pairs:
            identity = UUID(bytes=uuid_to_bytes(text))
            if identity not in self.names and len(self.names) < TOPICS_MAX:
                self.add(identity, name)

    def add(self, identity: UUID, name: str) -> None:
        """Add the name of a topic id."""
        self.names[identity] = self.texts[format_uuid(identity.bytes)] = (name, len(self.names))

    def find_name(self, identity: UUID, known: int) -> str | None:
        """The name of an id, if it is among the first `known` names learnt or the same in all clusters; else None."""
        found = self.names.get(identity)
        if found is not None and found[1] < known:
            return found[0]
        name = WELL_KNOWN.get(identity)
        if found is None and name is None and identity != NULL_ID and len(self.nameless) < NAMELESS_MAX:
            self.nameless.add(identity)
        return name

    def count_nameless(self) -> int:
        """How many of the ids that were asked for in vain have no name at the end."""
        return len(self.nameless - self.names.keys())


def values_at_path(value: Any, path: str) -> Iterator[Any]:
    """All values at a path without indices (`topics[].partitions[]`); none where a part of it is missing or null."""
    name, _, rest = path.partition(".")
    if not isinstance(value, dict):
        return
    inner = value.get(name.removesuffix("[]"))
    if name.endswith("[]"):
        for element in inner or ():
            if rest:
                yield from values_at_path(element, rest)
            else:
                yield element
    elif rest:
        yield from values_at_path(inner, rest)
    elif inner is not None:
        yield inner


def paths_of_nameless_ids(plan: Plan, prefix: str = "") -> Iterator[str]:
    """The paths of topic ids that have no name beside them."""
    fields = (*plan.fields, *plan.tagged)
    names = {field.name for field in fields}
    for field in fields:
        path = prefix + field.name + ("[]" if field.array else "")
        if field.plan is not None:
            yield from paths_of_nameless_ids(field.plan, path + ".")
        elif field.name == "topic_id" and not names & {"name", "topic", "topic_name"}:
            yield path


# Where messages have topics, partitions and records: a row for each array of topics, and the paths to project.


# Nodes.


# The APIs whose responses say which node has which address.
NODE_LISTS: Final = (METADATA, DESCRIBE_CLUSTER)
_LOOPBACK: Final = {"localhost": ("127.0.0.1", "[::1]")}


class ListedNode(NamedTuple):
    """A broker as a response lists it; `rack` is None where the broker has none or the API version lacks the field."""

    id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        """The address that the broker advertises: `kafka1:9092`, `[::1]:9092`."""
        return f"{_bracket_host(self.host)}:{self.port}"


def list_nodes_of_answer(answer: Mapping[str, Any] | None) -> Iterator[ListedNode]:
    """The brokers with an id and an address in a response of one of the APIs in NODE_LISTS."""
    for row in (answer or {}).get("brokers") or ():
        number, host, port = row.get("node_id", row.get("broker_id")), row.get("host"), row.get("port")
        if isinstance(number, int) and number >= 0 and isinstance(host, str) and host and isinstance(port, int):
            yield ListedNode(number, host, port, row.get("rack"))


def broker_addresses(host: str, port: object) -> list[str]:
    """The addresses, as captures show them, that a broker's advertised host and port stand for.

    localhost stands for the loopback addresses; any other host name proves no address and stands for itself.
    """
    return [f"{each}:{port}" for each in _LOOPBACK.get(host, (_bracket_host(host),))]


def _bracket_host(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class NodeIds(dict[str, int]):
    """Node ids by address, as captures show it. A host name does not prove an address, except localhost."""

    def add_brokers(self, answer: Mapping[str, Any] | None) -> bool:
        """Take the brokers of a response of one of the APIs in NODE_LISTS; returns whether any of them was new."""
        news = False
        for node in list_nodes_of_answer(answer):
            for address in broker_addresses(node.host, node.port):
                if self.get(address) != node.id:
                    self[address] = node.id
                    news = True
        return news
