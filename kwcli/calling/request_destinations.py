"""The nodes that one request goes to: those that `--node` names, or those that serve the places in the request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from decoders.errors import strip_traceback
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.extract_routing_keys import (
    extract_routing_keys,
    keep_only_routing_keys,
    routing_field_paths,
)
from decoders.protocol_facts.request_routing import NODE_RESOURCES, route_of_api
from decoders.schema.api_declaration import Api
from decoders.wire.primitive_types import uuid_to_bytes
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.metadata_messages import are_apis_of_kraft_node
from kwcli.net.parse_addresses import format_address
from kwcli.output.short_texts import count_of
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.metadata_messages import Kind
    from kwcli.net.session.blocking_connection import BrokerConnection

Word = Literal["any", "node", "controller", "all", "group", "transaction", "share", "leader"]
# The part of `--node` before the colon → the kind of look-up.
LOOKUPS: Final[Mapping[str, Word]] = {
    "coordinator": "group",
    "group": "group",
    "txn": "transaction",
    "share": "share",
    "leader": "leader",
}
_NUMBERS: Final = r"\d{1,9}(,\d{1,9})+"
NODES: Final = (
    "an id or several (1,2), any, controller, all, coordinator:GROUP, txn:ID, share:GROUP:TOPIC-ID:PART "
    "or leader:TOPIC-PART"
)
# The share of the time that connecting to all nodes must leave for their answers.
_FOR_ANSWERS: Final = 0.25
# What error messages call the nodes that serve the places of a request.
NAMES: Final[Mapping[str, str]] = {"leader": "leaders", "resource": "brokers"}


class NodeTarget(NamedTuple):
    """The node or nodes that `--node` names."""

    word: Word
    number: int = -1  # of a node, of a leader's partition
    key: str = ""  # a group, a transactional id, a topic …; of `all` the node ids that are meant, empty for every node

    @classmethod
    def parse(cls, text: str) -> NodeTarget:
        """The target that `--node` text names. Raises Failure (usage)."""
        if text in ("any", "controller", "all"):
            return cls(text)  # type: ignore[arg-type]  # one of its words
        if text.isascii() and text.removeprefix("-").isdecimal():
            return cls("node", int(text))
        if re.fullmatch(_NUMBERS, text, re.ASCII):
            return cls("all", key=text)
        kind, colon, key = text.partition(":")
        word = LOOKUPS.get(kind)
        if word is None or not colon or not key:
            raise Failure(f"--node {text!r} names no node: give {NODES}", Exit.USAGE)
        if word == "share" and key.count(":") < 2:
            raise Failure(f"--node {text!r}: a share is GROUP:TOPIC-ID:PARTITION", Exit.USAGE)
        if word == "leader":
            topic, dash, number = key.rpartition("-")
            if not dash or not topic or not number.isdecimal():
                raise Failure(f"--node {text!r}: a partition is TOPIC-NUMBER, for example leader:orders-0", Exit.USAGE)
            return cls(word, int(number), topic)
        return cls(word, -1, key)


class Destination(NamedTuple):
    """One node that gets a request: `why` says how it was found, `looked_up` whether a new look-up may find another."""

    connection: BrokerConnection
    body: Mapping[str, Any]
    why: str
    looked_up: bool = False


class RequestRouter:
    """Finds the nodes that one request goes to."""

    def __init__(self, cluster: ClusterClient, api: Api, target: NodeTarget | None, *, split: bool) -> None:
        self._cluster = cluster
        self._api = api
        self._target = target
        self._split = split
        self.problems: list[Failure] = []  # of nodes that could not be reached, while others could

    def find_destinations(self, version: int, body: Mapping[str, Any]) -> list[Destination]:
        """The destinations of a request, in the order of the places in it."""
        if self._target is not None:
            return self._find_destinations_of_target(self._target, body)
        way = route_of_api(self._api.key)
        to = way.to
        if self._cluster.config.controllers:  # only the active controller changes anything
            to = "controller" if to == "controller" or (to == "resource" and way.mutates) else "any"
        if to == "any":
            return [Destination(self._cluster.connect_to_any(), body, "")]
        if to == "all":
            return self._find_destinations_of_nodes(body)
        if to == "controller":
            return self._find_destination_of_controller(body)
        return self._find_destinations_of_places(to, version, body)

    def _find_destinations_of_target(self, target: NodeTarget, body: Mapping[str, Any]) -> list[Destination]:
        cluster = self._cluster
        if target.word == "all":
            return self._find_destinations_of_nodes(body, target.key)
        if target.word == "controller":
            return self._find_destination_of_controller(body)
        if target.word == "any":
            return [Destination(cluster.connect_to_any(), body, "")]
        if target.word == "node":
            return [Destination(cluster.connect_to_node(target.number), body, "")]
        if target.word == "leader":
            found = cluster.connect_to_leader(target.key, target.number)
            if found is None:
                raise Failure(f"the cluster has no partition {target.key}[{target.number}]")
            return [Destination(found, body, f"leader of {target.key}[{target.number}]", looked_up=True)]
        kind: Kind = target.word
        connection = cluster.connect_to_coordinator(kind, target.key)
        return [Destination(connection, body, f"coordinator of {kind} {target.key}", looked_up=True)]

    def _find_destinations_of_nodes(self, body: Mapping[str, Any], only: str = "") -> list[Destination]:
        """Every node, or the nodes of a list of ids."""
        destinations: list[Destination] = []
        self.problems = []
        numbers = list(map(int, only.split(","))) if only else sorted(self._cluster.list_nodes(fresh=True))
        deadline = self._cluster.deadline
        answers_s = deadline.seconds * _FOR_ANSWERS
        for place, number in enumerate(numbers):
            left_s = deadline.left() - answers_s
            if left_s <= 0:
                left = count_of(len(numbers) - place, "node")
                text = f"no time is left to connect to {left} of {len(numbers):,}; give a longer --timeout"
                self.problems.append(Failure(text, Exit.TIMEOUT))
                break
            try:
                # A silent node takes half of the time that is left, unless it is the last.
                spare_s = answers_s + (left_s / 2 if number != numbers[-1] else 0.0)
                destinations.append(Destination(self._cluster.connect_to_node(number, spare_s=spare_s), body, ""))
            except Failure as problem:
                self.problems.append(strip_traceback(problem))
        if not destinations:
            raise self.problems[0] if self.problems else Failure("the cluster names no node")
        return destinations

    def _find_destination_of_controller(self, body: Mapping[str, Any]) -> list[Destination]:
        connection, why = self._cluster.connect_to_controller()
        forwarded = route_of_api(self._api.key).to in ("controller", "resource")
        itself = self._cluster.config.controllers or not are_apis_of_kraft_node(connection.versions)
        if not itself and not forwarded:
            why = "any broker (the controller itself: --bootstrap-controller)"
        return [Destination(connection, body, why, looked_up=itself)]

    def _find_destinations_of_places(self, served_by: str, version: int, body: Mapping[str, Any]) -> list[Destination]:
        named = extract_routing_keys(self._api.key, version, body)
        shares: dict[int, list[tuple[Any, ...]]] = {}
        connections: dict[int, BrokerConnection] = {}
        reasons: dict[int, str] = {}
        for place, connection, why in self._find_nodes_of_places(served_by, version, named):
            mark = id(connection)
            connections[mark] = connection
            reasons.setdefault(mark, why)
            shares.setdefault(mark, []).append(place)
        if not shares:
            return [Destination(self._cluster.connect_to_any(), body, "")]
        if len(shares) > 1 and not self._split:
            raise Failure(self._explain_several_nodes(served_by, shares, connections), Exit.USAGE)
        parts = {
            mark: body if len(shares) == 1 else keep_only_routing_keys(self._api.key, version, body, set(mine))
            for mark, mine in shares.items()
        }
        return [Destination(connections[mark], parts[mark], reasons[mark], looked_up=True) for mark in shares]

    def _find_nodes_of_places(
        self, served_by: str, version: int, named_places: list[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], BrokerConnection, str]]:
        """Each place, the node that serves it, and how it was found; a partition without a leader goes to any node."""
        if served_by == "leader":
            yield from self._find_leaders_of_partitions(version, named_places)
            return
        for place in named_places:
            if served_by == "resource":
                kind, name = place
                if kind in NODE_RESOURCES and name:
                    yield place, self._cluster.connect_to_node(_parse_broker_id(name)), f"broker {name}"
                elif route_of_api(self._api.key).mutates:
                    yield place, *self._cluster.connect_to_controller()
                else:
                    yield place, self._cluster.connect_to_any(), ""
            elif place[0] is not None and place[0] != "":
                key = ":".join(map(str, place)) if served_by == "share" else place[0]
                yield place, self._cluster.connect_to_coordinator(served_by, key), f"coordinator of {served_by} {key}"  # type: ignore[arg-type]  # the three that are left

    def _find_leaders_of_partitions(
        self, version: int, named_partitions: list[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], BrokerConnection, str]]:
        by_id = routing_field_paths(self._api.key, version)[0].endswith(".topic_id")
        topics = {topic: self._find_name_of_topic_id(topic) if by_id else topic for topic, _ in named_partitions}
        known = [(topics[topic], partition) for topic, partition in named_partitions if topics[topic] is not None]
        leaders = self._cluster.find_leaders([(str(topic), partition) for topic, partition in known])
        for topic, partition in named_partitions:
            leader = leaders.get((str(topics[topic]), partition))
            if leader is None:
                yield (
                    (topic, partition),
                    self._cluster.connect_to_any(),
                    f"nobody leads {topics[topic] or topic}[{partition}]",
                )
            else:
                yield (
                    (topic, partition),
                    self._cluster.connect_to_node(leader),
                    f"leader of {topics[topic]}[{partition}]",
                )

    def _find_name_of_topic_id(self, topic_id_text: Any) -> str | None:
        """The name of the topic whose id is `topic_id_text`, as JSON has ids."""
        identity = UUID(bytes=uuid_to_bytes(topic_id_text))
        return self._cluster.find_topic_name(identity) if identity.int else None

    def _explain_several_nodes(
        self, served_by: str, shares: dict[int, list[tuple[Any, ...]]], connections: Mapping[int, BrokerConnection]
    ) -> str:
        """`the request spans 2 leaders: node 1 (orders[0], orders[2]), node 2 (orders[1]); --split sends each …`."""
        parts = []
        for mark, mine in shares.items():
            names = ", ".join(_format_place_in_request(place) for place in mine[:3]) + (
                f" and {len(mine) - 3} more" if mine[3:] else ""
            )
            parts.append(f"{format_node_name(connections[mark])} ({names})")
        who = f"{len(shares)} {NAMES.get(served_by, 'coordinators')}"
        return f"the request spans {who}: {', '.join(parts)}; --split sends each its share"


def format_node_name(connection: BrokerConnection) -> str:
    """`node 2 kafka2:9092`, or the address alone where the id is not known."""
    address = format_address(connection.address)
    return address if connection.node_id is None else f"node {connection.node_id} {address}"


def _parse_broker_id(name: str) -> int:
    if not (name.isascii() and name.isdecimal()):
        raise Failure(f"{name!r} is no broker id: configurations of brokers are named by broker id", Exit.USAGE)
    return int(name)


def _format_place_in_request(place: tuple[Any, ...]) -> str:
    return f"{place[0]}[{place[1]}]" if len(place) == 2 and isinstance(place[1], int) else ":".join(map(str, place))
