"""A cluster's addresses in, connections to its nodes out: any node, by id, controller, coordinator, leader.

Its own requests (Metadata, FindCoordinator, DescribeCluster) are repeated while the answer says that a later one may be
better, until the deadline. `witness` is called with every look-up and login on every connection. Connections are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import UUID

from decoders.errors import strip_traceback
from decoders.messages.whole_messages import encode_message
from decoders.protocol_facts.api_keys import API_VERSIONS, DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.api_declaration import NONE
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.net import metadata_messages
from kwcli.net.metadata_messages import (
    ClusterNode,
    Kind,
    TopicMetadata,
    choose_highest_common_version,
    decode_reply,
    find_coordinator_or_fail,
    parse_topics_or_fail,
)
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.blocking_connection import BrokerConnection, InterruptedRequest, UnansweredRequest
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.command_deadline import Deadline
    from kwcli.net.config.client_config import Address, ClientConfig
    from kwcli.net.session.blocking_connection import Reply
    from kwcli.net.session.oauth_tokens import Credentials

# Between two look-ups: a broker that has just heard of a topic needs a moment; a topic unknown to it is not waited for.
PAUSES_S: Final = (0.02, 0.05, 0.1, 0.2, 0.25)
UNKNOWN_TRIES: Final = 4
TOPICS_TOLD: Final = 8  # listed in the error for a topic that is not there
SAYS_WHOM: Final = 5  # the version of ApiVersions from which on a client names the cluster it believes to reach

Witness = Callable[[BrokerConnection, "Reply"], None]


class ClusterClient:
    """Connections to the nodes of one cluster; a context manager that closes them all."""

    def __init__(
        self,
        config: ClientConfig,
        deadline: Deadline,
        *,
        witness: Witness | None = None,
        tell: Callable[[str, bool], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self.deadline = deadline
        self.witness = witness
        self._tell = tell or _ignore_line  # takes a line for people, and whether they have to know
        self._sleep = sleep
        self.credentials = _make_credentials_if_sasl(config)
        self._open: dict[Address, BrokerConnection] = {}
        self._first: BrokerConnection | None = None
        self._nodes: dict[int, ClusterNode] = {}
        self._controller = -1
        self.cluster_id: str | None = None
        self._topics: dict[str, TopicMetadata] = {}
        self._coordinators: dict[tuple[Kind, str], ClusterNode] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    # Connections

    def connect_to_any(self) -> BrokerConnection:
        """The node that was reached first: the first of the servers given that accepts the connection and the login.

        The servers share the time left, so that a silent one does not keep us from the others.
        """
        if self._first is not None:
            return self._first
        failures: list[Failure] = []
        for number, address in enumerate(self.config.servers):
            share = self.deadline.left() / (len(self.config.servers) - number)
            try:
                self._first = self._get_or_open_connection(address, None, self.deadline.limit_to(share))
            except Failure as failure:
                failures.append(strip_traceback(failure))
                if failure.code == Exit.REFUSED or not self.deadline.left():
                    break
            else:
                for passed_over in failures:
                    self._tell(passed_over.text, False)
                return self._first
        if len(failures) == 1:
            raise failures[0]
        text = "; ".join(failure.text for failure in failures)
        raise Failure(f"none of {len(self.config.servers)} servers: {text}", failures[-1].code)

    def connect_to_node(self, number: int, *, spare_s: float = 0.0) -> BrokerConnection:
        """The connection to the node with this id; `spare_s` seconds must be left when it is open."""
        nodes = self.list_nodes()
        if number not in nodes:
            nodes = self.list_nodes(fresh=True)
        if number not in nodes:
            known = ", ".join(map(str, sorted(nodes))) or "none"
            what = "controller" if self.config.controllers else "node"
            raise Failure(f"the cluster has no {what} {number} (it has {known})")
        return self._connect_to_named_node(nodes[number], spare_s)

    def list_nodes(self, *, fresh: bool = False) -> Mapping[int, ClusterNode]:
        """The brokers by id; the controllers where the servers are controllers."""
        if fresh or not self._nodes:
            self._request_and_learn_nodes()
        return self._nodes

    def connect_to_controller(self) -> tuple[BrokerConnection, str]:
        """The connection that takes requests for the controller, and a text that says which node it is.

        Raises Failure when there is no controller until the deadline, or when it cannot be known.
        """
        first = self.connect_to_any()
        if not self.config.controllers and metadata_messages.are_apis_of_kraft_node(first.versions):
            return first, "forwards to the active controller (KRaft)"
        for _ in self._attempts_until_deadline("the cluster has no active controller"):
            if self._controller not in self._nodes:
                self._request_and_learn_nodes()
            if self._controller in self._nodes:
                break
        return self.connect_to_node(self._controller), "the active controller"

    def connect_to_coordinator(self, kind: Kind, key: str) -> BrokerConnection:
        """The connection to the coordinator of a group, of a transactional id, or of `group:topic id:partition`."""
        node = self._coordinators.get((kind, key)) or self._request_coordinator(kind, key)
        self._coordinators[kind, key] = node
        return self._connect_to_named_node(node)

    def connect_to_leader(self, topic: str, partition: int) -> BrokerConnection | None:
        """The connection to the leader of a partition; None where the cluster knows no such topic or partition."""
        found = self.find_leaders([(topic, partition)])[topic, partition]
        return None if found is None else self.connect_to_node(found)

    def find_leaders(self, places: list[tuple[str, int]]) -> dict[tuple[str, int], int | None]:
        """The node id of the leader of each partition; None for a partition that the cluster does not know."""
        names = list(dict.fromkeys(topic for topic, _ in places))
        unled: list[str] = []
        for _ in self._attempts_until_deadline(
            lambda: f"no leader for {', '.join(unled[:5])}{' …' * (len(unled) > 5)}"
        ):
            topics = self.find_topics(names, fresh=bool(unled))
            found: dict[tuple[str, int], int | None] = {}
            unled.clear()
            for topic, partition in places:
                known = topics[topic].partitions.get(partition) if topic in topics else None
                found[topic, partition] = None if known is None else known.leader
                if known is not None and known.leader < 0:
                    unled.append(f"{topic}[{partition}]")
            if not unled:
                return found
        return found

    # Topics

    def find_topics(self, names: list[str], *, fresh: bool = False) -> Mapping[str, TopicMetadata]:
        """The topics with these names, without those that the cluster does not know."""
        missing = [name for name in names if fresh or name not in self._topics]
        for attempt, _ in enumerate(self._attempts_until_deadline("topics stay unavailable") if missing else ()):
            waiting = []
            for topic in self._request_topics(missing):
                if topic.error in metadata_messages.UNKNOWN_TOPIC:
                    if attempt + 1 < UNKNOWN_TRIES:
                        waiting.append(topic.name)
                elif topic.error and not topic.partitions and metadata_messages.is_retriable_error(topic.error):
                    waiting.append(topic.name)
                elif topic.error and not topic.partitions:
                    raise Failure(f"topic {topic.name}: {error_name(topic.error)}")
                else:
                    self._topics[topic.name] = topic
            missing = waiting
            if not missing:
                break
        return {name: self._topics[name] for name in names if name in self._topics}

    def list_partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, at least one. Raises Failure when there is no such topic."""
        found = sorted(self._find_topic_or_fail(topic).partitions)
        if not found:
            raise Failure(f"the cluster says that topic {topic} has no partitions")
        return found

    def find_topic_id(self, name: str) -> UUID:
        """The id of a topic. Raises Failure when the cluster has no such topic, or no ids."""
        identity = self._find_topic_or_fail(name).id
        if identity is None or not identity.int:
            raise Failure(f"the cluster has no topic ids (topic {name})")
        return identity

    @property
    def topic_names(self) -> dict[UUID, str]:
        """The names of topics that were looked up, by id."""
        return {topic.id: topic.name for topic in self._topics.values() if topic.id is not None and topic.id.int}

    def find_topic_name(self, identity: UUID) -> str | None:
        """The name of the topic with this id; None where the cluster knows none."""
        connection = self.connect_to_any()
        for attempt, _ in enumerate(self._attempts_until_deadline("topics stay unavailable")):
            for topic in self._topics.values():
                if topic.id == identity:
                    return topic.name
            if attempt == UNKNOWN_TRIES:
                return None
            version = self.choose_version(connection, METADATA, metadata_messages.BY_ID)
            self._learn_nodes_and_topics(
                connection,
                version,
                self.send_request(
                    connection,
                    METADATA,
                    version,
                    metadata_messages.build_topic_id_request(version, identity),
                ),
            )
        return None

    def forget_looked_up_answers(self) -> None:
        """Forget everything that was looked up; connections stay."""
        self._topics.clear()
        self._coordinators.clear()
        self._nodes.clear()
        self._controller = -1

    # Requests

    def close_and_forget(self) -> None:
        """Close all connections, and begin anew with the servers given."""
        self.close()
        self._first = None
        self.forget_looked_up_answers()

    def set_deadline(self, deadline: Deadline) -> None:
        """Set another deadline, for the open connections as well."""
        self.deadline = deadline
        for connection in self._open.values():
            connection.deadline = deadline

    def send_request(
        self, connection: BrokerConnection, key: int, version: int, value: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Send a look-up with this body, and give the decoded body of its answer."""
        return decode_reply(connection, self.send_look_up(connection, key, version, value), key, version)

    def send_look_up(self, connection: BrokerConnection, key: int, version: int, value: Mapping[str, Any]) -> Reply:
        """Send a look-up with this body; the witness gets its reply too, answered or not. Raises Failure."""
        tell = partial(self.witness, connection) if self.witness is not None else _ignore_reply
        try:
            reply = connection.send_request(key, version, encode_message(key, version, "request", value))
        except (UnansweredRequest, InterruptedRequest) as end:
            tell(end.reply)
            raise
        tell(reply)
        return reply

    def choose_version(self, connection: BrokerConnection, key: int, least: int = 0, most: int = 99) -> int:
        """The highest version of an API that both sides know, in these bounds. Raises Failure when there is none."""
        return choose_highest_common_version(connection, key, least, most)

    # Inside

    def _connect_to_named_node(self, node: ClusterNode, spare_s: float = 0.0) -> BrokerConnection:
        """The connection to a node that an answer named. Raises Failure, also where its address cannot be one."""
        if node.problem is not None and node.address not in self.config.dial_map:
            raise Failure(node.problem, Exit.UNREACHABLE)
        deadline = self.deadline.limit_to(self.deadline.left() - spare_s) if spare_s else None
        return self._get_or_open_connection(node.address, node.id, deadline)

    def _get_or_open_connection(
        self, address: Address, number: int | None, deadline: Deadline | None = None
    ) -> BrokerConnection:
        """The connection to this address; opening it has to be over by `deadline`, where that is sooner."""
        found = self._open.get(address)
        if found is None:
            found = self._open[address] = self._open_connection(address, number, deadline or self.deadline)
            found.deadline = self.deadline
        elif number is not None and found.node_id is None:
            found.node_id = number
        return found

    def _open_connection(self, address: Address, number: int | None, deadline: Deadline) -> BrokerConnection:
        """A new connection; the witness gets the exchanges of its opening when it is open, later ones at once."""
        opening: list[Reply] = []
        tell: list[Callable[[Reply], None]] = [opening.append]
        made = BrokerConnection.open(
            address,
            self.config,
            deadline,
            node_id=number,
            cluster_id=self._cluster_id_to_name,
            observe_own=lambda reply: tell[0](reply),
            credentials=self.credentials,
        )
        for line in made.remarks:
            self._tell(line, True)
        witness = self.witness
        if witness is None:
            tell[0] = _ignore_reply
        else:
            tell[0] = partial(witness, made)
            for reply in opening:
                witness(made, reply)
        return made

    def _attempts_until_deadline(self, otherwise: str | Callable[[], str]) -> Iterator[None]:
        """Yield once, then again after each pause until the deadline; then raise a Failure with the text."""
        number = 0
        while True:
            yield
            pause = PAUSES_S[min(number, len(PAUSES_S) - 1)]
            number += 1
            if self.deadline.left() <= pause:
                text = otherwise if isinstance(otherwise, str) else otherwise()
                raise Failure(f"{text} (given up after {self.deadline.seconds:g} s)", Exit.TIMEOUT)
            self._sleep(pause)

    def _request_and_learn_nodes(self) -> None:
        connection = self.connect_to_any()
        if self.config.controllers:
            version = self.choose_version(connection, DESCRIBE_CLUSTER, metadata_messages.ENDPOINT_TYPE)
            answer = self.send_request(
                connection, DESCRIBE_CLUSTER, version, metadata_messages.build_controllers_request(version)
            )
            if answer["error_code"]:
                said = answer.get("error_message") or ""
                raise Failure(f"{connection.peer}: {error_name(answer['error_code'])} {said}".rstrip())
        else:
            version = self.choose_version(connection, METADATA)
            answer = self.send_request(connection, METADATA, version, metadata_messages.build_nodes_request(version))
        self._learn_nodes(answer)

    @property
    def _cluster_id_to_name(self) -> str | None:
        """The cluster's id, once it is known, for brokers to which clients name the cluster they mean (KIP-1242)."""
        told = self._first is not None and SAYS_WHOM in self._first.versions.get(API_VERSIONS, NONE)
        return self.cluster_id if told else None

    def _learn_nodes(self, answer: Mapping[str, Any]) -> None:
        self.cluster_id = answer.get("cluster_id") or self.cluster_id
        self._controller = answer.get("controller_id", -1)
        self._nodes = metadata_messages.parse_nodes(answer)
        self._learn_id_of_first_node(self._nodes)

    def learn_id_of_first_node(self, answer: Mapping[str, Any]) -> None:
        """Take the node id of the server that we were given from a Metadata or DescribeCluster answer."""
        if self._first is not None and self._first.node_id is None:
            self._learn_id_of_first_node(metadata_messages.parse_nodes(answer))

    def _learn_id_of_first_node(self, nodes: Mapping[int, ClusterNode]) -> None:
        first = self._first
        if first is not None and first.node_id is None:
            for node in nodes.values():
                if node.problem is None and (
                    node.address == first.address or format_address(node.address) == first.peer
                ):
                    first.node_id = node.id
                    self._open.setdefault(node.address, first)

    def _request_coordinator(self, kind: Kind, key: str) -> ClusterNode:
        connection = self.connect_to_any()
        _, since = metadata_messages.KINDS[kind]
        version = self.choose_version(connection, FIND_COORDINATOR, since)
        body = metadata_messages.build_coordinator_request(version, kind, key)
        found: Mapping[str, Any] = {}

        def failure_text() -> str:
            return metadata_messages.explain_missing_coordinator(kind, key, found)

        for _ in self._attempts_until_deadline(failure_text):
            answer = self.send_request(connection, FIND_COORDINATOR, version, body)
            found = find_coordinator_or_fail(connection, version, answer, key)
            if not found["error_code"]:
                break
            if not metadata_messages.is_retriable_error(found["error_code"]):
                raise Failure(failure_text())
        return metadata_messages.make_node(found["node_id"], (found["host"], found["port"]))

    def _request_topics(self, names: list[str]) -> list[TopicMetadata]:
        connection = self.connect_to_any()
        version = self.choose_version(connection, METADATA)
        answer = self.send_request(
            connection, METADATA, version, metadata_messages.build_topics_request(version, names)
        )
        self._learn_nodes(answer)
        found = {topic.name: topic for topic in parse_topics_or_fail(connection, version, answer)}
        return [
            found.get(name) or TopicMetadata(name, None, {}, min(metadata_messages.UNKNOWN_TOPIC)) for name in names
        ]

    def _learn_nodes_and_topics(self, connection: BrokerConnection, version: int, answer: Mapping[str, Any]) -> None:
        self._learn_nodes(answer)
        for topic in parse_topics_or_fail(connection, version, answer):
            if topic.name and not topic.error:
                self._topics[topic.name] = topic

    def _find_topic_or_fail(self, name: str) -> TopicMetadata:
        found = self.find_topics([name]).get(name)
        if found is None:
            raise Failure(f"the cluster has no topic {name!r}{self._suggest_topics(name)}")
        return found

    def _suggest_topics(self, name: str) -> str:
        """The end of the error for a topic that is not there: a topic with nearly the same name, or a few topics."""
        connection = self.connect_to_any()
        try:
            version = self.choose_version(connection, METADATA)
            answer = self.send_request(
                connection, METADATA, version, metadata_messages.build_topics_request(version, None)
            )
            told = [topic.name for topic in parse_topics_or_fail(connection, version, answer) if topic.name]
        except Failure:
            return ""
        names = sorted(told, key=lambda each: (each.startswith("__"), each))  # Kafka's own after the others
        meant = did_you_mean(name, names)
        listed = ", ".join(names[:TOPICS_TOLD]) + (" …" if names[TOPICS_TOLD:] else "")
        return meant or (f"; there are {listed}" if names else "; it has none")


def _ignore_line(_text: str, _important: bool) -> None:
    """Ignore a line for people."""


def _ignore_reply(_reply: Reply) -> None:
    """Ignore a reply: there is no witness."""


def _make_credentials_if_sasl(config: ClientConfig) -> Credentials | None:
    if config.sasl is None:
        return None
    from kwcli.net.session.mechanism_factory import make_credentials

    return make_credentials(config)
