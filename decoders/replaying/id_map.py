"""A recorded request in, the same request for another cluster out; two answers in, the ids in them learnt.

The problem. A request is full of ids that only its own cluster gave out: topic ids, member ids and generations,
producer ids, fetch sessions, node ids, leader epochs. Another cluster refuses them, or takes them for something else.

The idea. Ids are given out in answers. Each request that is sent again has two answers, the recorded one and the new
one. Where both give out an id, the new id replaces the recorded one in all later requests:

```
recorded  JoinGroup ─► member billing-1-bc16…, generation 1     Heartbeat billing-1-bc16…, 1
                          ║                     ║                      ▼
new       JoinGroup ─► member kw-77aa…,        generation 5     Heartbeat kw-77aa…, 5
```

Topics are matched by name (`--map` changes names), and a topic id is replaced by the other cluster's id for the name.
Nodes are matched by id, or in order where the other cluster has other ids. Offsets that consumers ask for move by the
difference between the recorded offsets of producers and those in the replay. Leader epochs are not sent.

What always holds: a request is sent only if every id in it was given out by the other cluster or chosen by the client.
Else `NotReplayable` says which id was given out before the recording, or by a request that was not sent again. A read
leaves out the member that asks if it is not known (OffsetFetch).

What is given up: ids inside records and inside structures other than subscriptions and assignments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, Final
from uuid import UUID

import google_crc32c

from decoders.apis import api
from decoders.embedded import decode_embedded, encode_embedded
from decoders.embedded.structure_holders import HOLDERS
from decoders.errors import DecodeError
from decoders.exchanges.topic_and_node_names import NULL_ID
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import CREATE_TOPICS, FETCH, METADATA, PRODUCE
from decoders.records.batch_layout import CRC_START, LOG_OVERHEAD, MAGIC_AT, SIZE
from decoders.replaying.classify_apis_for_replay import classify_api
from decoders.replaying.field_roles import Role, find_field_role
from decoders.schema.api_declaration import Field
from decoders.scrubbing.field_kinds import BY_SIBLING, Kind
from decoders.wire.primitive_types import format_uuid, uuid_to_bytes

__all__ = [
    "AnsweringNodes",
    "IdMap",
    "MappedRequest",
    "NameMap",
    "NotReplayable",
    "match_nodes",
    "renumber_producers_in_batches",
]

TOPIC_NAMES: Final = ("name", "topic", "topic_name")
PARTITIONS: Final = ("partition_index", "partition", "index")
# The key type of coordinators for share groups, whose keys are `group:topic id:partition`.
_SHARE: Final = 2
# Requests whose member ids the clients may choose themselves (KIP-848): the heartbeats.
_HEARTBEATS: Final = frozenset({68, 76, 88})
# Fields with offsets of a partition that move with the offsets that producers got.
_MOVING: Final = frozenset({"fetch_offset", "committed_offset"})


class NotReplayable(Exception):
    """A request cannot be sent again: `reason` is a word to count reasons by, `text` has the details."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class NameMap(NamedTuple):
    """Names that are different in the other cluster: recorded name → name there."""

    topics: Mapping[str, str] = {}
    groups: Mapping[str, str] = {}
    transactions: Mapping[str, str] = {}


class TargetFetchSession(NamedTuple):
    """A fetch session in the other cluster: its id, the node that has it, the epoch of its next request."""

    identity: int
    node: int
    epoch: int


class MappedRequest(NamedTuple):
    """A request for the other cluster, and the node that has to get it if its body does not say (incremental Fetch)."""

    body: dict[str, Any]
    node: int | None = None


class _FieldContext(NamedTuple):
    """The context of a field: the recorded group, topic and partition around it, and whether the API only reads."""

    key: int
    version: int
    reads: bool
    group: str | None = None
    topic: str | None = None
    partition: int | None = None


class IdMap:
    """Maps the ids of the recorded cluster to those of the other one. Not thread-safe."""

    def __init__(self, names: NameMap, nodes: Mapping[int, int], cluster_id: str | None = None) -> None:
        """`nodes`: recorded node id → node id in the other cluster. Callers that know more may set the public
        attributes: the number of nodes there, topic name → id there, topic id → name, recorded and there.
        """
        self.names = names
        self.nodes = nodes
        self.cluster_id = cluster_id
        self.node_count = 0  # in the other cluster; 0: not known
        self.topic_id: Callable[[str], UUID | None] = lambda _name: None
        self.topic_named: Callable[[UUID], str | None] = lambda _identity: None
        self.topic_named_there: Callable[[UUID], str | None] = lambda _identity: None
        self._members: dict[tuple[str, str], str] = {}
        self._generations: dict[tuple[str, int], int] = {}
        self._producers: dict[int, int] = {}
        self._producer_epochs: dict[tuple[int, int], int] = {}
        self._sessions: dict[tuple[str, int], TargetFetchSession] = {}
        self._telemetry: dict[UUID, tuple[UUID, int]] = {}
        self._moved: dict[tuple[str, int], int] = {}

    # Requests

    def map_request(self, api_key: int, version: int, body: Mapping[str, Any], *, broker: str) -> MappedRequest:
        """The request for the other cluster, in `version`; `broker`: the recorded address. Raises NotReplayable."""
        message = api(api_key).request
        place = _FieldContext(api_key, version, classify_api(api_key) == "read")
        made = self._map_struct(message.fields, body, message.name, place)
        node = None
        if api_key == METADATA:
            made["allow_auto_topic_creation"] = False
        elif api_key == FETCH:
            node = self._map_fetch_session(made, broker)
        elif api_key == CREATE_TOPICS:
            self._limit_replicas_to_nodes(made)
        elif api_key in (71, 72):
            self._map_telemetry_ids(api_key, made)
        return MappedRequest(made, node)

    def _map_struct(
        self, fields: Sequence[Field], value: Mapping[str, Any], owner: str, place: _FieldContext
    ) -> dict[str, Any]:
        place = self._enter_context_of_struct(value, place)
        made: dict[str, Any] = {}
        known = {field.name: field for field in fields}
        for name, inner in value.items():
            field = known.get(name)
            if field is None or inner is None:
                made[name] = inner
            elif field.fields:
                made[name] = self._map_nested_structs(field, inner, place)
            else:
                made[name] = self._map_field_value(field, inner, value, owner, place)
        self._name_topic_as_version_does(known, value, made, place)
        return made

    def _map_nested_structs(self, field: Field, value: Any, place: _FieldContext) -> Any:
        if field.array:
            return [self._map_struct(field.fields, each, field.name, place) for each in value]
        return self._map_struct(field.fields, value, field.name, place)

    def _enter_context_of_struct(self, value: Mapping[str, Any], place: _FieldContext) -> _FieldContext:
        group = value.get("group_id")
        topic = next((value[name] for name in TOPIC_NAMES if isinstance(value.get(name), str)), None)
        identity = value.get("topic_id")
        if topic is None and isinstance(identity, UUID) and identity != NULL_ID:
            topic = self.topic_named(identity)
        number = next((value[name] for name in PARTITIONS if isinstance(value.get(name), int)), None)
        return place._replace(
            group=group if isinstance(group, str) else place.group,
            topic=topic if topic is not None else place.topic,
            partition=number if number is not None else place.partition,
        )

    def _map_field_value(
        self, field: Field, value: Any, beside: Mapping[str, Any], owner: str, place: _FieldContext
    ) -> Any:
        if field.kind in ("bytes", "records"):
            return self._map_bytes_field(field, value, owner, place)
        role = find_field_role(owner, field.name)
        if role is None:
            return value
        if role == "sibling":
            return self._map_name_of_siblings_kind(field.name, value, beside)
        change = _CHANGES.get(role)
        if change is None:
            return value
        if field.array and role != "nodes":
            return [change(self, each, beside, place, field) for each in value]
        return change(self, value, beside, place, field)

    def _name_topic_as_version_does(
        self,
        fields_by_name: Mapping[str, Field],
        value: Mapping[str, Any],
        mapped: dict[str, Any],
        place: _FieldContext,
    ) -> None:
        """Make a struct name its topic as the version does: by name, by id, or as recorded if it can do both."""
        identity = fields_by_name.get("topic_id")
        if identity is None or identity.kind != "uuid" or not place.topic:
            return
        name = next((each for each in TOPIC_NAMES if each in fields_by_name), "")
        by_id = place.version in identity.versions
        by_name = bool(name) and place.version in fields_by_name[name].versions
        there = self.names.topics.get(place.topic, place.topic)
        if by_name and not by_id:
            mapped[name] = there
            mapped.pop("topic_id", None)
        elif by_id and not (by_name and value.get("topic_id", NULL_ID) == NULL_ID):
            found = self.topic_id(there)
            if found is None:
                raise NotReplayable("no_topic", f"the cluster has no topic {there}, which the request names by its id")
            mapped["topic_id"] = found
            if not by_name:
                mapped.pop(name, None)

    # Each function maps a value of one role; it gets the struct and the context around the value.

    def _map_topic_name(self, value: Any, _beside: Any, _place: _FieldContext, _field: Field) -> Any:
        return self.names.topics.get(value, value)

    def _require_known_topic_id(self, value: Any, _beside: Any, place: _FieldContext, _field: Field) -> Any:
        if value == NULL_ID or place.topic is not None:  # _name_topic_as_version_does replaces it
            return value
        raise NotReplayable(
            "unnamed_topic", f"the recording has no name for the topic id {format_uuid(uuid_to_bytes(value))}"
        )

    def _map_group_name(self, value: Any, _beside: Any, _place: _FieldContext, _field: Field) -> Any:
        return self.names.groups.get(value, value)

    def _map_transactional_id(self, value: Any, _beside: Any, _place: _FieldContext, _field: Field) -> Any:
        return self.names.transactions.get(value, value)

    def _map_member_id(self, value: Any, _beside: Any, place: _FieldContext, field: Field) -> Any:
        if not value:
            return value
        found = self._members.get((place.group or "", value))
        if found is not None:
            return found
        if place.key in _HEARTBEATS:
            return value
        if place.reads:
            return None if field.nullable else ""
        raise NotReplayable("member", f"member {value} of group {place.group} did not join in the replay")

    def _map_generation(self, value: Any, beside: Mapping[str, Any], place: _FieldContext, _field: Field) -> Any:
        if value <= 0:
            return value
        if place.reads and (place.group or "", beside.get("member_id") or "") not in self._members:
            return -1
        return self._generations.get((place.group or "", value), value)

    def _map_producer_id(self, value: Any, _beside: Any, place: _FieldContext, _field: Field) -> Any:
        if value < 0:
            return value
        found = self._producers.get(value, value if place.reads else None)
        if found is None:
            raise NotReplayable("producer", f"producer id {value} was not given out in the replay")
        return found

    def _map_producer_epoch(self, value: Any, beside: Mapping[str, Any], place: _FieldContext, _field: Field) -> Any:
        identity = beside.get("producer_id", beside.get("v3_and_below_producer_id", -1))
        if value < 0 or identity < 0 or place.reads:
            return value
        return self._producer_epochs.get((identity, value), value)

    def _map_node_id(self, value: Any, _beside: Any, _place: _FieldContext, field: Field) -> Any:
        if field.name == "replica_id":
            if value >= 0:
                raise NotReplayable("replica", f"broker {value} asks as a replica")
            return value
        if value < 0:
            return value
        found = self.nodes.get(value)
        if found is None:
            raise NotReplayable("no_node", f"the cluster has no node for {value}")
        return found

    def _map_node_ids(self, value: Any, beside: Any, place: _FieldContext, field: Field) -> Any:
        return [self._map_node_id(each, beside, place, field) for each in value]

    def _replace_cluster_id(self, _value: Any, _beside: Any, _place: _FieldContext, _field: Field) -> Any:
        return self.cluster_id

    def _drop_leader_epoch(self, value: Any, _beside: Any, _place: _FieldContext, field: Field) -> Any:
        return value if field.name == "leader_epoch" else -1

    def _shift_offset(self, value: Any, _beside: Any, place: _FieldContext, field: Field) -> Any:
        if field.name not in _MOVING or value < 0 or place.topic is None or place.partition is None:
            return value
        return max(0, value + self._moved.get((place.topic, place.partition), 0))

    def _map_name_of_siblings_kind(self, name: str, value: Any, beside: Mapping[str, Any]) -> Any:
        """Map a name, or a list of names, whose kind a sibling field says: topic, group, transactional id, broker."""
        told_by, kinds = BY_SIBLING[name]
        number = beside.get(told_by, 0)
        kind = kinds.get(number)
        if isinstance(value, list):
            return [self._map_name_of_kind(kind, number, each) for each in value]
        return self._map_name_of_kind(kind, number, value)

    def _map_name_of_kind(self, kind: Kind | None, number: Any, value: str) -> str:
        if kind == "topics":
            return self.names.topics.get(value, value)
        if kind == "transactions":
            return self.names.transactions.get(value, value)
        if kind == "groups":
            group, colon, share = value.partition(":") if number == _SHARE else (value, "", "")
            return f"{self.names.groups.get(group, group)}{colon}{self._map_share_group_key(share)}"
        if kind == "number" and value.isascii() and value.isdecimal():
            found = self.nodes.get(int(value))
            if found is None:
                raise NotReplayable("no_node", f"the cluster has no node for {value}")
            return str(found)
        return value

    def _map_share_group_key(self, topic_and_partition: str) -> str:
        identity, colon, number = topic_and_partition.partition(":")
        if not colon:
            return topic_and_partition
        try:
            name = self.topic_named(UUID(bytes=uuid_to_bytes(identity)))
        except ValueError:
            return topic_and_partition
        found = None if name is None else self.topic_id(self.names.topics.get(name, name))
        if found is None:
            raise NotReplayable("no_topic", f"the cluster has no topic with the recorded id {identity}")
        return f"{format_uuid(found.bytes)}:{number}"

    def _map_bytes_field(self, field: Field, value: bytes, owner: str, place: _FieldContext) -> bytes:
        if field.kind == "records":
            return (
                renumber_producers_in_batches(value, self._map_producer_id_and_epoch) if place.key == PRODUCE else value
            )
        if not self.names.topics:
            return value
        holders = HOLDERS.get((place.key, "request"), {})
        name = next(
            (held for path, held in holders.items() if path.rpartition("[].")[::2] == (owner, field.name)), None
        )
        return value if name not in _TOPICS_INSIDE else self._map_topics_in_structure(name, value)

    def _map_topics_in_structure(self, name: str, data: bytes) -> bytes:
        """The bytes of a subscription or an assignment with the topic names of the other cluster."""
        try:
            value = decode_embedded(name, data)
        except DecodeError:
            return data
        there = self.names.topics
        if "topics" in value:
            value["topics"] = [there.get(topic, topic) for topic in value["topics"]]
        for listed in ("owned_partitions", "assigned_partitions"):
            for each in value.get(listed) or ():
                each["topic"] = there.get(each["topic"], each["topic"])
        version = value.pop("$version")
        del value["$type"]
        return encode_embedded(name, version, value)

    def _map_producer_id_and_epoch(self, producer: int, epoch: int) -> tuple[int, int]:
        found = self._producers.get(producer)
        if found is None:
            raise NotReplayable("producer", f"producer id {producer} was not given out in the replay")
        return found, self._producer_epochs.get((producer, epoch), epoch)

    def _map_fetch_session(self, request: dict[str, Any], broker: str) -> int | None:
        session = request.get("session_id", 0)
        if not session:
            return None
        found = self._sessions.get((broker, session))
        if found is None:
            raise NotReplayable("session", f"fetch session {session} was not opened in the replay")
        request["session_id"] = found.identity
        if request["session_epoch"] > 0:
            request["session_epoch"] = found.epoch
            following = found.epoch + 1 if found.epoch < _LAST_EPOCH else 1
            self._sessions[broker, session] = found._replace(epoch=following)
        return found.node

    def _limit_replicas_to_nodes(self, request: Mapping[str, Any]) -> None:
        """Reduce the replicas of topics to be created to the number of nodes."""
        for topic in request.get("topics") or ():
            if self.node_count:
                topic["replication_factor"] = min(topic["replication_factor"], self.node_count)
            for row in topic.get("assignments") or ():
                row["broker_ids"] = list(dict.fromkeys(row["broker_ids"]))

    def _map_telemetry_ids(self, api_key: int, request: dict[str, Any]) -> None:
        identity = request.get("client_instance_id", NULL_ID)
        found = self._telemetry.get(identity)
        if found is not None:
            request["client_instance_id"] = found[0]
            if "subscription_id" in request:
                request["subscription_id"] = found[1]
        elif api_key == 72:
            raise NotReplayable("telemetry", "its client asked for no subscription in the replay")
        else:
            request["client_instance_id"] = NULL_ID

    # Answers

    def learn_ids(
        self,
        api_key: int,
        recorded_request: Mapping[str, Any],
        recorded: Mapping[str, Any],
        new: Mapping[str, Any],
        answering: AnsweringNodes,
    ) -> None:
        """Learn the ids that two answers in JSON form give out; `recorded_request` is the recorded request."""
        learn = _LEARNERS.get(api_key)
        if learn is not None:
            learn(self, recorded_request, recorded, new, answering)

    def _learn_fetch_session(
        self, request: Any, recorded_answer: Any, new_answer: Any, answering: AnsweringNodes
    ) -> None:
        was, now = recorded_answer.get("session_id", 0), new_answer.get("session_id", 0)
        if was and now and answering.node >= 0 and not request.get("session_id"):
            self._sessions[answering.broker, was] = TargetFetchSession(now, answering.node, 1)

    def _learn_member_id(self, request: Any, recorded_answer: Any, new_answer: Any, _answering: AnsweringNodes) -> None:
        group = request.get("group_id", "")
        was = recorded_answer.get("member_id") or request.get("member_id")
        now = new_answer.get("member_id") or (was if not new_answer.get("error_code") else None)
        if was and now:
            self._members[group, was] = now
        for name in ("generation_id", "member_epoch"):
            if recorded_answer.get(name, -1) > 0 and new_answer.get(name, -1) > 0:
                self._generations[group, recorded_answer[name]] = new_answer[name]

    def _learn_producer_id(
        self, request: Any, recorded_answer: Any, new_answer: Any, _answering: AnsweringNodes
    ) -> None:
        was, now = recorded_answer.get("producer_id", -1), new_answer.get("producer_id", -1)
        if was >= 0 and now >= 0:
            self._producers[was] = now
            self._producer_epochs[was, recorded_answer["producer_epoch"]] = new_answer["producer_epoch"]
        elif was >= 0 and not new_answer.get("error_code") and "committed" in request:
            # EndTxn before KIP-890: the epoch stays the same, where the recorded answer raised it.
            before = request["producer_id"], request["producer_epoch"]
            if before[0] in self._producers:
                self._producers[was] = self._producers[before[0]]
                self._producer_epochs[was, recorded_answer["producer_epoch"]] = self._producer_epochs.get(
                    before, before[1]
                )

    def _learn_telemetry_ids(
        self, _request: Any, recorded_answer: Any, new_answer: Any, _answering: AnsweringNodes
    ) -> None:
        was, now = (UUID(bytes=uuid_to_bytes(each["client_instance_id"])) for each in (recorded_answer, new_answer))
        self._telemetry[was] = now, new_answer.get("subscription_id", 0)

    def _learn_offset_shift(
        self, _request: Any, recorded_answer: Any, new_answer: Any, _answering: AnsweringNodes
    ) -> None:
        got = {(topic, number): offset for topic, number, offset in _iterate_base_offsets(new_answer)}
        for topic, number, offset in _iterate_base_offsets(recorded_answer):
            there = self._translate_topic_id(topic)
            here = self.names.topics.get(topic, topic)
            now = got.get((there, number), got.get((here, number), -1))
            if offset >= 0 and now >= 0:
                named = self._find_topic_name(topic)
                self._moved[named or topic, number] = now - offset

    def _find_topic_name(self, topic_id_text: str, *, in_target_cluster: bool = False) -> str | None:
        """The recorded name of the topic with this id, or `in_target_cluster` that in the other; or None."""
        named = self.topic_named_there if in_target_cluster else self.topic_named
        try:
            return named(UUID(bytes=uuid_to_bytes(topic_id_text)))
        except ValueError:
            return None

    # Values of answers

    def translate_id(self, role: Role, recorded_id: Any, group: str | None) -> Any:
        """The other cluster's id for a recorded id from an answer in JSON form; the same id if none is known."""
        if role == "topic":
            return self.names.topics.get(recorded_id, recorded_id)
        if role == "topic_id":
            return self._translate_topic_id(recorded_id)
        if role == "group":
            return self.names.groups.get(recorded_id, recorded_id)
        if role == "transaction":
            return self.names.transactions.get(recorded_id, recorded_id)
        if role == "member":
            return self._members.get((group or "", recorded_id), recorded_id)
        return self.nodes.get(recorded_id, recorded_id) if role == "node" else recorded_id

    def translate_topic(self, name_or_id: str) -> tuple[str, str]:
        """The name and id (or empty) in the other cluster of a topic that an answer names by recorded name or id."""
        known = self._find_topic_name(name_or_id)
        if known is None:
            known = self._find_topic_name(name_or_id, in_target_cluster=True) or name_or_id
        name = self.names.topics.get(known, known)
        found = self.topic_id(name)
        return name, "" if found is None else format_uuid(found.bytes)

    def _translate_topic_id(self, topic_id_text: Any) -> Any:
        try:
            identity = UUID(bytes=uuid_to_bytes(topic_id_text))
        except ValueError:
            return topic_id_text
        name = self.topic_named(identity)
        found = None if name is None else self.topic_id(self.names.topics.get(name, name))
        return topic_id_text if found is None else format_uuid(found.bytes)


class AnsweringNodes(NamedTuple):
    """The nodes that answered: the recorded broker's address, the other cluster's node id (-1 if not known)."""

    broker: str
    node: int


_LAST_EPOCH: Final = (1 << 31) - 1
_TOPICS_INSIDE: Final = frozenset({"ConsumerProtocolSubscription", "ConsumerProtocolAssignment"})
_CHANGES: Final[Mapping[Role, Callable[[IdMap, Any, Mapping[str, Any], _FieldContext, Field], Any]]] = {
    "topic": IdMap._map_topic_name,
    "topic_id": IdMap._require_known_topic_id,
    "group": IdMap._map_group_name,
    "transaction": IdMap._map_transactional_id,
    "member": IdMap._map_member_id,
    "generation": IdMap._map_generation,
    "producer": IdMap._map_producer_id,
    "producer_epoch": IdMap._map_producer_epoch,
    "node": IdMap._map_node_id,
    "nodes": IdMap._map_node_ids,
    "cluster": IdMap._replace_cluster_id,
    "epoch": IdMap._drop_leader_epoch,
    "offset": IdMap._shift_offset,
}
_LEARNERS: Final[Mapping[int, Callable[[IdMap, Any, Any, Any, AnsweringNodes], None]]] = {
    0: IdMap._learn_offset_shift,
    1: IdMap._learn_fetch_session,
    11: IdMap._learn_member_id,
    22: IdMap._learn_producer_id,
    26: IdMap._learn_producer_id,
    68: IdMap._learn_member_id,
    71: IdMap._learn_telemetry_ids,
    76: IdMap._learn_member_id,
    88: IdMap._learn_member_id,
}


def _iterate_base_offsets(answer: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Topic (name or id), partition and base offset of each partition without an error in a Produce answer."""
    _, answered = TOPIC_ARRAYS[PRODUCE]
    for topic, row in partitions_in(answer, answered):
        if not row.get(answered.error):
            yield topic.get("name") or topic.get("topic_id") or "", row[answered.number], row[answered.offset]


def match_nodes(recorded_ids: Iterable[int], target_ids: Iterable[int]) -> dict[int, int]:
    """Recorded node id → node id in the other cluster: the same id if it exists there, else the next one in rotation.

    Nodes that have the same id in both clusters are not used for other ids as long as there are other nodes.
    """
    targets = sorted(target_ids)
    if not targets:
        return {}
    found = {node: node for node in recorded_ids if node in targets}
    left = [node for node in targets if node not in found] or targets
    others = sorted(set(recorded_ids) - set(found))
    return found | {node: left[place % len(left)] for place, node in enumerate(others)}


_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
_CRC: Final = Struct(">I")
_PRODUCER: Final = Struct(">qh")
_PRODUCER_AT: Final = 43
_MAGIC: Final = 2


def renumber_producers_in_batches(data: bytes, map_producer: Callable[[int, int], tuple[int, int]]) -> bytes:
    """A records field with the producer ids and epochs that `map_producer` gives; batches without a producer stay.

    Bytes that are no whole batch of magic 2 stay as they are: the broker will say what is wrong with them.
    """
    out = bytearray(data)
    at = 0
    while at + SIZE <= len(data):
        end = at + LOG_OVERHEAD + _LENGTH.unpack_from(data, at + _LENGTH_AT)[0]
        if end < at + SIZE or end > len(data) or data[at + MAGIC_AT] != _MAGIC:
            break
        producer, epoch = _PRODUCER.unpack_from(data, at + _PRODUCER_AT)
        if producer >= 0:
            _PRODUCER.pack_into(out, at + _PRODUCER_AT, *map_producer(producer, epoch))
            _CRC.pack_into(out, at + CRC_START - _CRC.size, google_crc32c.value(bytes(out[at + CRC_START : end])))
        at = end
    return bytes(out)
