"""Requests for the places of nodes, leaders and coordinators, in each version; and what the answers say. No I/O.

Answers are checked where they are read: a node at an impossible address carries its `problem`, so that the other nodes
can still be used; the Failure for an answer that cannot be used or read at all names its broker.

Sources: Metadata (KIP-4), FindCoordinator (KIP-98, KIP-699, KIP-932), DescribeCluster (KIP-700, KIP-919).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from decoders.apis import api, api_name
from decoders.errors import DecodeError
from decoders.limits import MIB
from decoders.messages.whole_messages import decode_response
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    DESCRIBE_CLUSTER,
    DESCRIBE_QUORUM,
    FIND_COORDINATOR,
    LEADER_AND_ISR,
    LIST_OFFSETS,
    METADATA,
)
from decoders.protocol_facts.convert_field_names import drop_unknown_fields
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name
from decoders.schema.api_declaration import NONE, Versions
from decoders.schema.decode_and_encode import TRAILING
from decoders.wire.format_and_escape_text import format_bytes
from kwcli.net.command_deadline import run_in_time
from kwcli.net.config.client_config import Address
from kwcli.net.parse_addresses import find_address_problem, format_address
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.net.session.blocking_connection import BrokerConnection, Reply

# From these versions on: Metadata can ask for topics without creating them, and by id; DescribeCluster can list
# controllers.
WITHOUT_CREATING: Final = 4
BY_ID: Final = 12
ENDPOINT_TYPE: Final = 1

UNKNOWN_TOPIC: Final = frozenset({3, 100})  # by name, by id
CONTROLLERS: Final = 2  # endpoint type of DescribeCluster
# Kind of coordinator → the key type of FindCoordinator, and the version that it came with.
KINDS: Final[Mapping[str, tuple[int, int]]] = {"group": (0, 0), "transaction": (1, 1), "share": (2, 6)}
Kind = Literal["group", "transaction", "share"]


class BadAnswer(Exception):
    """An answer that decodes but cannot be true; the text follows `its answer to NAME VERSION`."""


class ClusterNode(NamedTuple):
    """A broker, or a controller, at the address that the cluster names; `problem` says why that cannot be dialled."""

    id: int
    address: Address
    rack: str | None = None
    problem: str | None = None


class Partition(NamedTuple):
    """A partition in a Metadata answer; `leader` is -1 where there is none."""

    number: int
    leader: int
    epoch: int
    error: int


class TopicMetadata(NamedTuple):
    """A topic in a Metadata answer; `id` is None where the version has none."""

    name: str
    id: UUID | None
    partitions: Mapping[int, Partition]
    error: int


def are_apis_of_kraft_node(versions: Mapping[int, Versions]) -> bool:
    """Whether these are the APIs of a KRaft node: only those offer DescribeQuorum, and no LeaderAndIsr."""
    return DESCRIBE_QUORUM in versions and LEADER_AND_ISR not in versions


def is_retriable_error(code: int) -> bool:
    """Whether asking again may give another answer."""
    return code in ERRORS and ERRORS[code].retriable


def build_nodes_request(version: int) -> dict[str, Any]:
    """A Metadata request for the nodes alone (version 0 cannot do without all topics)."""
    return _keep_known_fields(METADATA, version, {"topics": [], "allow_auto_topic_creation": False})


def build_topics_request(version: int, names: list[str] | None) -> dict[str, Any]:
    """A Metadata request for these topics, or for all, that creates none.

    Old versions would create the topics that they ask for, so they ask for all.
    """
    named = names is not None and version >= WITHOUT_CREATING
    topics = [{"name": name} for name in names or ()] if named else None if version else []
    return _keep_known_fields(METADATA, version, {"topics": topics, "allow_auto_topic_creation": False})


def build_topic_id_request(version: int, identity: UUID) -> dict[str, Any]:
    """A Metadata request for the topic with this id."""
    topic = {"topic_id": identity, "name": None}
    return _keep_known_fields(METADATA, version, {"topics": [topic], "allow_auto_topic_creation": False})


def build_controllers_request(version: int) -> dict[str, Any]:
    """A DescribeCluster request for the controllers."""
    return _keep_known_fields(DESCRIBE_CLUSTER, version, {"endpoint_type": CONTROLLERS})


def build_coordinator_request(version: int, kind: Kind, key: str) -> dict[str, Any]:
    """A FindCoordinator request for one key."""
    number, _ = KINDS[kind]
    return _keep_known_fields(FIND_COORDINATOR, version, {"key": key, "key_type": number, "coordinator_keys": [key]})


def build_offset_request(version: int, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
    """A ListOffsets request of one partition."""
    asked = {"partition_index": partition, "timestamp": timestamp}
    value = {"replica_id": -1, "topics": [{"name": topic, "partitions": [asked]}]}
    return _keep_known_fields(LIST_OFFSETS, version, value)


def _keep_known_fields(key: int, version: int, value: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the fields that the version has: newer versions have dropped some of those given above."""
    return drop_unknown_fields(api(key).request.fields, version, value)


def get_coordinator_of_key(answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The part of a FindCoordinator answer about the one key: node_id, host, port, error_code, error_message.

    Raises BadAnswer where the answer is about other keys only.
    """
    if "coordinators" not in answer:
        return answer
    for row in answer["coordinators"]:
        if row["key"] == key:
            found: Mapping[str, Any] = row
            return found
    raise BadAnswer(f"does not mention {key!r}")


def make_node(number: int, address: Address, rack: str | None = None) -> ClusterNode:
    """A node at the address that an answer names, with the problem of that address, if any."""
    problem = "a node id is not negative" if number < 0 else find_address_problem(address)
    if problem is not None:
        problem = f"the cluster says that node {number} is at {format_address(address)}: {problem}"
    return ClusterNode(number, address, rack, problem)


def explain_missing_coordinator(kind: str, key: str, row: Mapping[str, Any]) -> str:
    """The text that says why there is no coordinator."""
    said = f": {row['error_message']}" if row.get("error_message") else ""
    return f"no coordinator for {kind} {key!r}: {error_name(row.get('error_code', 0))}{said}"


def parse_nodes(answer: Mapping[str, Any]) -> dict[int, ClusterNode]:
    """The nodes of a Metadata or DescribeCluster answer, by id; a node at two addresses has a `problem`."""
    found: dict[int, ClusterNode] = {}
    for row in answer["brokers"]:
        node = make_node(row.get("node_id", row.get("broker_id")), (row["host"], row["port"]), row.get("rack"))
        before = found.setdefault(node.id, node)
        if before.address != node.address and before.problem is None:
            places = f"{format_address(before.address)} and at {format_address(node.address)}"
            problem = f"the cluster says that node {node.id} is at {places}: it cannot be both"
            found[node.id] = before._replace(problem=problem)
    return found


def parse_topics(answer: Mapping[str, Any]) -> list[TopicMetadata]:
    """The topics of a Metadata answer. Raises BadAnswer for impossible partitions."""
    return [
        TopicMetadata(row["name"] or "", row.get("topic_id"), _parse_partitions(row), row["error_code"])
        for row in answer["topics"]
    ]


def _parse_partitions(row: Mapping[str, Any]) -> dict[int, Partition]:
    found: dict[int, Partition] = {}
    for each in row["partitions"]:
        partition = _parse_partition(each)
        if partition.number < 0:
            raise BadAnswer(f"names partition {partition.number} of {row['name']!r}, and there is none below 0")
        if found.setdefault(partition.number, partition).leader != partition.leader:
            raise BadAnswer(f"names two leaders of partition {partition.number} of {row['name']!r}")
    return found


def _parse_partition(row: Mapping[str, Any]) -> Partition:
    return Partition(row["partition_index"], row["leader_id"], row.get("leader_epoch", -1), row["error_code"])


# Answers below this size are read in no time; a longer one may take as long as there is time left, and no longer.
LONG: Final = MIB


def choose_highest_common_version(connection: BrokerConnection, key: int, least: int, most: int) -> int:
    """The highest version that both sides know, in these bounds. Raises Failure when there is none."""
    offered = connection.versions.get(key, NONE)
    both = offered & api(key).versions & Versions(least, most)
    if not both:
        need = f" {least} or later" if least else ""
        hint = (
            "; is it a controller? --bootstrap-controller is for those" if METADATA not in connection.versions else ""
        )
        raise Failure(f"{connection.peer} does not offer {api_name(key)}{need}, which kw needs{hint}")
    return both.high


def decode_reply(connection: BrokerConnection, reply: Reply, key: int, version: int) -> dict[str, Any]:
    """The decoded body of a reply that has an answer. Raises Failure."""
    frame = reply.response_frame
    assert frame is not None
    name = api(key).name

    def read() -> dict[str, Any]:
        try:
            return decode_response(frame[4:], key, version).body
        except DecodeError:
            # Bytes may follow, as one does in librdkafka's mock behind Metadata 13. Null may not stand where there is
            # always a value: nobody who asks expects it.
            trailing = decode_response(frame[4:], key, version, strict=False).body.get(TRAILING)
            if not trailing:
                raise
            return decode_response(frame[4 : -len(trailing)], key, version).body

    try:
        if len(frame) < LONG:
            return read()
        what = f"{connection.peer}: its answer to {name} {version}, of {format_bytes(len(frame))}, was not read"
        return run_in_time(read, connection.deadline, what)
    except DecodeError as problem:
        raise Failure(f"{connection.peer}: its answer to {name} {version} cannot be read: {problem}") from None


def parse_topics_or_fail(connection: BrokerConnection, version: int, answer: Mapping[str, Any]) -> list[TopicMetadata]:
    """The topics of a Metadata answer. Raises Failure."""
    try:
        return parse_topics(answer)
    except BadAnswer as bad:
        raise _make_bad_answer_failure(connection, METADATA, version, bad) from None


def find_coordinator_or_fail(
    connection: BrokerConnection, version: int, answer: Mapping[str, Any], key: str
) -> Mapping[str, Any]:
    """The part of a FindCoordinator answer that is about this key. Raises Failure."""
    try:
        return get_coordinator_of_key(answer, key)
    except BadAnswer as bad:
        raise _make_bad_answer_failure(connection, FIND_COORDINATOR, version, bad) from None


def _make_bad_answer_failure(connection: BrokerConnection, key: int, version: int, bad: BadAnswer) -> Failure:
    return Failure(f"{connection.peer}: its answer to {api(key).name} {version} {bad}")
