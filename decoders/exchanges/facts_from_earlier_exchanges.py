"""Settled exchanges in their order in, each out with facts that earlier ones tell: session, member, transaction, node.

The problem. Kafka says much only once: an incremental Fetch names only changes, a consumer's fetches do not name its
group, a transactional Produce does not name its producer id, and no connection says which node it leads to.

The idea. Follow the exchanges that state such facts, and note the facts in the exchanges that depend on them, as keys
of the record. A fact is noted as it was known when the exchange was settled, this exchange included:

```
Fetch with a new session ─► its partitions ─► what incremental ones add and forget ─► fetch_session.partitions
JoinGroup, heartbeats    ─► of a connection: group, generation, member ──────────────► group, also of fetches
InitProducerId, EndTxn   ─► transactional id: producer id, epoch ────────────────────► transaction
Metadata                 ─► address: id, rack, cluster ──────────────────────────────► node
all of a connection      ─► versions, defaults of fields ────────────────────────────► library (find_client_library.py)
```

What always holds: a key that is there is right, as far as the capture shows. A session with a missing exchange is
followed no further; a client (host and client id) with members of several groups has no group; a producer id of two
transactional ids has no transactional id; a host name is no proof of an address.

What is given up: facts beyond the limits, and facts from before the capture. History is kept only where asked for,
because every Fetch and every Produce has to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.exchanges.client_library_table import LIBRARIES
from decoders.exchanges.client_library_traits import Traits
from decoders.exchanges.exchange import SESSION_PARTITIONS, ConnectionInfo, Exchange, Row
from decoders.exchanges.find_client_library import find_library_by_traits, find_program_of_client_id
from decoders.exchanges.topic_and_node_names import broker_addresses, list_nodes_of_answer
from decoders.limits import HISTORY_MAX, SESSION_PARTITIONS_ALL_MAX, SESSION_PARTITIONS_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import DESCRIBE_CLUSTER, FETCH, METADATA, PRODUCE, WRITE_TXN_MARKERS
from decoders.schema.body_json_form import json_text
from decoders.wire.primitive_types import encode_uvarint, format_uuid
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.body_reader import ApiReader

__all__ = ["History"]

# Fetch sessions (KIP-227).


_SESSION: Final = Struct(">ii")
_SESSION_SINCE: Final = 7
_NO_REPLICA_SINCE: Final = 15
_LAST_EPOCH: Final = (1 << 31) - 1
_ASKED: Final = frozenset({"topics[].topic", "topics[].topic_id", "topics[].partitions[].partition"})
_CHANGED: Final = _ASKED | {
    *("forgotten_topics_data[].topic", "forgotten_topics_data[].topic_id", "forgotten_topics_data[].partitions"),
}
_OPENED: Final = frozenset({"error_code", "session_id"})
_NO_CHANGES: Final = {True: b"\1\1", False: bytes(8)}  # no topics, and none forgotten; where lists are compact

Partitions = dict[str, list[int]]


class FetchSessionState:
    """One Fetch session: `topics` has names or, as text, ids of topics; `epoch` is that of the next request."""

    __slots__ = ("count", "epoch", "identity", "ids", "known", "shown", "topics")

    def __init__(self, identity: int, epoch: int = 1) -> None:
        self.identity = identity
        self.epoch = epoch
        self.topics: dict[str, set[int]] = {}
        self.ids: dict[str, UUID] = {}
        self.count = 0
        self.shown: Partitions | None = None
        self.known = 0  # how many topic names were known when `shown` was made

    def apply_partition_changes(self, view: Any) -> None:
        """Add and remove the partitions that a request names; most requests name partitions again for a new offset."""
        topics, before = self.topics, self.count
        for topic in view.get("topics") or ():
            its = topics.setdefault(topic.get("topic") or self._find_topic_name(topic), set())
            size = len(its)
            its.update([part.get("partition") for part in topic.get("partitions") or ()])
            self.count += len(its) - size
        forgotten = view.get("forgotten_topics_data") or ()
        for topic in forgotten:
            name = self._find_topic_name(topic)
            its = topics.pop(name, set())
            left = its - set(topic.get("partitions") or ())
            self.count += len(left) - len(its)
            if left:
                topics[name] = left
        if forgotten or self.count != before:
            self.shown = None

    def _find_topic_name(self, topic: Any) -> str:
        name, identity = topic.get("topic"), topic.get("topic_id")
        if name or not isinstance(identity, UUID):
            return str(name or "")
        text = format_uuid(identity.bytes)
        self.ids[text] = identity
        return text

    def partitions_by_topic(self, exchange: Exchange) -> Partitions:
        """The partitions of the session by topic name, or id if no name is known; one object until they change."""
        if self.shown is None or (self.ids and self.known != exchange._topics_known):
            self.known = exchange._topics_known
            self.shown = {}
            for name in sorted(self.topics):
                told = exchange.topic_name(self.ids[name]) if name in self.ids else None
                self.shown[told or name] = sorted(self.topics[name])
        return self.shown

    def list_partitions(self) -> list[dict[str, Any]]:
        """The partitions of the session, in the form of `topics` of a Fetch request."""
        return [
            {
                **({"topic_id": self.ids[name]} if name in self.ids else {"topic": name}),
                "partitions": [{"partition": number} for number in sorted(self.topics[name])],
            }
            for name in sorted(self.topics)
        ]

    def export(self) -> list[object]:
        """The session as built-in values."""
        topics = {name: sorted(numbers) for name, numbers in self.topics.items()}
        return [self.identity, self.epoch, topics, {name: identity.bytes for name, identity in self.ids.items()}]

    @classmethod
    def make_resumed(cls, state: object) -> FetchSessionState:
        """The session that `export` gave. Raises DecodeError or ValueError when the state is something else."""
        identity, epoch, topics, ids = state_fields(state, int, int, dict, dict)
        session = cls(identity, epoch)
        session.topics = {name: set(numbers) for name, numbers in topics.items()}
        session.ids = {name: UUID(bytes=data) for name, data in ids.items()}
        session.count = sum(map(len, session.topics.values()))
        return session


# Members of groups.


class MemberFields(NamedTuple):
    """The fields of a request that name its group member, and of the response its error and new member; empty: none."""

    group: str = "group_id"
    generation: str = ""
    member: str = "member_id"
    new_generation: str = ""
    new_member: str = ""
    error: str = "error_code"

    @property
    def request_paths(self) -> frozenset[str]:
        """The fields to read of the request."""
        return frozenset(filter(None, (self.group, self.generation, self.member)))

    @property
    def response_paths(self) -> frozenset[str]:
        """The fields to read of the response."""
        return frozenset(filter(None, (self.error, self.new_generation, self.new_member)))


_CLASSIC: Final = MemberFields(generation="generation_id")
_HEARTBEAT: Final = MemberFields(generation="member_epoch", new_generation="member_epoch", new_member="member_id")
_MEMBERS: Final[dict[int, MemberFields]] = {
    8: MemberFields(generation="generation_id_or_member_epoch", error=""),
    11: MemberFields(new_generation="generation_id", new_member="member_id"),
    12: _CLASSIC,
    14: _CLASSIC,
    68: _HEARTBEAT,
    76: _HEARTBEAT,
    88: _HEARTBEAT,
}
_LEAVE: Final = 13
_OFFSET_FETCH: Final = 9
# Requests of consumers that do not name their group, or not its generation.
_BEHIND: Final = (FETCH, 2, 23, 78, 79)
# Requests that begin with group, generation and member; responses have a throttle time and an error, or no error.
_COMMIT: Final = 8
_ALIKE: Final = (_COMMIT, 12)
# Errors that say that the broker does not know this member, or no longer.
_NO_MEMBER: Final = frozenset({22, 25, 82, 110, 113})
_GROUPS: Final = frozenset({"group_id", "groups[].group_id"})
_ERROR: Final = "error_code"


# Transactions.


class ProducerFields(NamedTuple):
    """The fields with transactional id, producer id and epoch; `new`: the response has a new producer id and epoch."""

    identity: str = "transactional_id"
    producer: str = "producer_id"
    epoch: str = "producer_epoch"
    new: bool = False


_PRODUCERS: Final[dict[int, ProducerFields]] = {
    PRODUCE: ProducerFields(producer="", epoch=""),
    22: ProducerFields(producer="", epoch="", new=True),
    24: ProducerFields(
        *("v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch"),
    ),
    25: ProducerFields(),
    26: ProducerFields(new=True),
    28: ProducerFields(),
}
_MARKED: Final = frozenset({"markers[].producer_id", "markers[].producer_epoch"})
_NEW_PRODUCER: Final = frozenset({_ERROR, "producer_id", "producer_epoch"})

# Nodes.

_NODES: Final = {
    key: frozenset({*(f"brokers[].{name}" for name in (number, "host", "port", "rack")), "cluster_id"})
    for key, number in ((METADATA, "node_id"), (DESCRIBE_CLUSTER, "broker_id"))
}
Client = tuple[str, str | None]

# How many API versions are kept that tell nothing more of a connection's library; clients use about ten.
_TOLD_MAX: Final = 64


class ConnectionFacts:
    """What is noted in each exchange of a connection, for as long as nothing that decides it has changed."""

    __slots__ = ("client_id", "news", "noted", "software", "told")

    def __init__(self, exchange: Exchange) -> None:
        self.client_id = exchange.client_id
        self.software = exchange.client_software
        self.news = -1  # History._news at that time
        self.told: set[ApiReader] = set()  # from whose exchanges nothing more is learnt of the library
        self.noted: dict[str, Any] = {}  # keys of the record: library, node


class History:
    """The facts that one engine has learnt so far, to be noted in later exchanges."""

    def __init__(self) -> None:
        self._sessions: dict[int, FetchSessionState] = {}  # by number of the connection
        self._followed = 0  # how many partitions all sessions have
        self._members: dict[int, dict[str, Any]] = {}
        self._heads: dict[int, tuple[bytes, bytes]] = {}  # how their heartbeats begin, plain and with compact lengths
        self._clients: dict[Client, dict[int, dict[str, Any]]] = {}  # the members by host and client id
        self._owners: dict[int, Client] = {}
        self._producers: dict[tuple[str, str], tuple[int, int]] = {}  # host and transactional id → producer id, epoch
        self._ids: dict[int, str | None] = {}  # producer id → transactional id; None where there are several
        self._nodes: dict[str, tuple[int, str | None, str | None]] = {}  # address → id, rack, cluster
        self._clusters: dict[int, str] = {}
        self._news = 0  # how often nodes were learnt
        self._facts: dict[int, ConnectionFacts] = {}
        self._traits: dict[int, Traits] = {}
        self._programs: dict[str | None, dict[str, Any] | None] = {None: None}  # by client id
        self._readers: dict[int, Callable[[Exchange], None]] = {
            METADATA: self._learn_broker_nodes,
            DESCRIBE_CLUSTER: self._learn_broker_nodes,
            **dict.fromkeys(_MEMBERS, self._follow_group_member),
            **dict.fromkeys(_PRODUCERS, self._follow_producer_id),
            **dict.fromkeys(_BEHIND, self._add_group_of_connection),
            FETCH: self._follow_fetch_session,
            PRODUCE: self._follow_produce_request,
            _LEAVE: self._follow_leave_group,
            _OFFSET_FETCH: self._add_group_of_request,
            WRITE_TXN_MARKERS: self._add_transaction_of_producer,
        }

    def note_libraries_only(self) -> None:
        """Note nothing but libraries from now on: no body is read."""
        self._readers = {}

    def feed(self, rows: Iterable[Row]) -> None:
        """Take settled rows in order, and note in each exchange the facts that are known when it settles."""
        readers, facts = self._readers, self._facts
        for row in rows:
            if row.kind != "exchange":
                continue
            extra = row.extra
            if extra is not None and "envelope" in extra:  # its request has come over another connection
                continue
            read = readers.get(row.api_key)  # type: ignore[arg-type]  # there is none for None
            if read is not None:
                read(row)
            known = facts.get(row.connection_info.number)
            if (
                known is None
                or row._api_reader not in known.told
                or known.news != self._news
                or known.client_id != row.client_id
                or known.software is not row.client_software
            ):
                known = self._gather_connection_facts(row, known)
            if known.noted:
                row.extra = known.noted.copy() if row.extra is None else {**row.extra, **known.noted}

    def forget_connection(self, number: int) -> None:
        """Drop the state of a connection that is over."""
        self._forget_fetch_session(number)
        self._forget_group_member(number)
        self._clusters.pop(number, None)
        self._facts.pop(number, None)
        self._traits.pop(number, None)

    # Of a connection.

    def _gather_connection_facts(self, exchange: Exchange, known: ConnectionFacts | None) -> ConnectionFacts:
        """Gather what is noted in exchanges of a connection, after `exchange` has been read."""
        info, client_id, software = exchange.connection_info, exchange.client_id, exchange.client_software
        if known is None or known.client_id != client_id or known.software is not software:
            known = ConnectionFacts(exchange)
            if len(self._facts) < HISTORY_MAX:
                self._facts[info.number] = known
        noted: dict[str, Any] = {}
        library = (
            self._programs[client_id] if client_id in self._programs else self._find_program_of_client_id(client_id)
        )
        learns = library is None and software is None
        traits = self._learn_client_traits(exchange) if learns else None
        if traits is not None:
            library = traits.library
        if library is not None:
            noted["library"] = library
        node = self._find_node_of_broker(info)
        if node is not None:
            noted["node"] = node
        known.noted, known.news = noted, self._news
        if len(known.told) < _TOLD_MAX and (not learns or (traits is not None and traits.has_traits_of(exchange))):
            known.told.add(exchange._api_reader)
        return known

    # Fetch sessions.

    def _follow_fetch_session(self, exchange: Exchange) -> None:
        number, api_reader, request, extra = (
            exchange.connection_info.number,
            exchange._api_reader,
            exchange.request_raw,
            exchange.extra,
        )
        if self._members:
            self._add_group_of_connection(exchange)
        version = api_reader.version or 0
        if version < _SESSION_SINCE or not api_reader.quick:
            return
        if request is None or len(request) < 14 or (extra is not None and "request" in extra):
            self._forget_fetch_session(number)
            return
        length = request[12] << 8 | request[13]
        at = (14 + length if length < 0x8000 else 14) + api_reader.flexible
        at += 13 if version >= _NO_REPLICA_SINCE else 17
        if at + 8 > len(request):
            self._forget_fetch_session(number)
            return
        identity, epoch = _SESSION.unpack_from(request, at)
        if epoch > 0:
            self._continue_fetch_session(
                exchange, identity, epoch, unchanged=request.startswith(_NO_CHANGES[api_reader.flexible], at + 8)
            )
        else:
            if number in self._sessions:
                self._forget_fetch_session(number)
            if not epoch:
                self._open_fetch_session(exchange)

    def _open_fetch_session(self, exchange: Exchange) -> None:
        answer = exchange._api_reader.read_wanted_fields(exchange, "response", _OPENED)
        if answer is None or answer.get(_ERROR) or not answer.get("session_id"):
            return
        asked = exchange._api_reader.read_wanted_fields(exchange, "request", _ASKED)
        if asked is not None:
            session = FetchSessionState(answer["session_id"])
            session.apply_partition_changes(asked)
            self._keep_fetch_session(exchange.connection_info.number, session)

    def _continue_fetch_session(self, exchange: Exchange, identity: int, epoch: int, *, unchanged: bool) -> None:
        number = exchange.connection_info.number
        session = self._sessions.get(number)
        if session is None or (session.identity, session.epoch) != (identity, epoch):
            self._forget_fetch_session(number)
            return
        session.epoch = epoch + 1 if epoch < _LAST_EPOCH else 1
        if not unchanged:
            changes = exchange._api_reader.read_wanted_fields(exchange, "request", _CHANGED)
            if changes is None:
                self._forget_fetch_session(number)
                return
            before = session.count
            session.apply_partition_changes(changes)
            self._followed += session.count - before
            if session.count > SESSION_PARTITIONS_MAX or self._followed > SESSION_PARTITIONS_ALL_MAX:
                self._forget_fetch_session(number)
                return
        _add_extra_key(exchange, SESSION_PARTITIONS, session.partitions_by_topic(exchange))
        answer, at = exchange.response_raw, exchange._api_reader.response_at + 4
        if answer is not None and answer[at : at + 2] != b"\0\0":
            self._forget_fetch_session(number)

    def _keep_fetch_session(self, number: int, session: FetchSessionState) -> bool:
        """Follow a session, unless it is too large."""
        if session.count > SESSION_PARTITIONS_MAX or self._followed + session.count > SESSION_PARTITIONS_ALL_MAX:
            return False
        self._sessions[number] = session
        self._followed += session.count
        return True

    def _forget_fetch_session(self, number: int) -> None:
        session = self._sessions.pop(number, None)
        if session is not None:
            self._followed -= session.count

    # Groups.

    def _follow_group_member(self, exchange: Exchange) -> None:
        if self._is_repeat_of_known_member(exchange):
            _add_extra_key(exchange, "group", self._members[exchange.connection_info.number])
            return
        where = _MEMBERS[exchange.api_key]  # type: ignore[index]  # it has one
        api_reader, paths = exchange._api_reader, where.response_paths
        request = api_reader.read_wanted_fields(exchange, "request", where.request_paths)
        answer = api_reader.read_wanted_fields(exchange, "response", paths) if paths else None
        if request is None:
            return
        group, member = request.get(where.group), request.get(where.member)
        generation = request.get(where.generation) if where.generation else None
        error_code = answer.get(_ERROR) if answer is not None else None
        number = exchange.connection_info.number
        if error_code in _NO_MEMBER:
            self._forget_group_member(number)
        if error_code == 0 and where.new_generation and answer is not None:
            generation, member = answer.get(where.new_generation), answer.get(where.new_member) or member
        if generation is None or generation < 0 or not member or not group:
            if where.new_generation and generation is not None and generation < 0:  # it leaves
                self._forget_group_member(number)
            return
        said = {"id": json_text(group), "generation": generation, "member": json_text(member)}
        if error_code not in _NO_MEMBER:
            if self._members.get(number) != said:
                self._keep_group_member(exchange, said, _make_request_heads_of_member(group, generation, member))
            said = self._members.get(number, said)
        _add_extra_key(exchange, "group", said)

    def _is_repeat_of_known_member(self, exchange: Exchange) -> bool:
        """Whether an exchange is a heartbeat or commit of the member already known, without an error, as most are."""
        heads, request = self._heads.get(exchange.connection_info.number), exchange.request_raw
        if heads is None or exchange.api_key not in _ALIKE or not exchange.api_version:
            return False
        if not exchange._api_reader.quick:
            return False
        if request is None or len(request) < 14 or exchange.extra is not None:
            return False
        length = request[12] << 8 | request[13]
        flexible = exchange._api_reader.flexible
        if not request.startswith(heads[flexible], (14 + length if length < 0x8000 else 14) + flexible):
            return False
        if exchange.api_key == _COMMIT:
            return True
        answer, at = exchange.response_raw, exchange._api_reader.response_at + 4
        return answer is not None and answer[at : at + 2] == b"\0\0"

    def _keep_group_member(self, exchange: Exchange, member: dict[str, Any], head: tuple[bytes, bytes]) -> None:
        number = exchange.connection_info.number
        self._forget_group_member(number)
        if len(self._members) < HISTORY_MAX:
            client = _identify_client(exchange)
            self._members[number] = member
            self._heads[number] = head
            self._owners[number] = client
            self._clients.setdefault(client, {})[number] = member

    def _forget_group_member(self, number: int) -> None:
        if self._members.pop(number, None) is not None:
            client = self._owners.pop(number)
            self._heads.pop(number, None)
            its = self._clients[client]
            del its[number]
            if not its:
                del self._clients[client]

    def _add_group_of_connection(self, exchange: Exchange) -> None:
        """Note the group of a consumer's request: the one of its connection, else the only one of its client."""
        said = self._members.get(exchange.connection_info.number)
        if said is None and self._clients:
            its = self._clients.get(_identify_client(exchange))
            said = None if its is None else _merge_member_groups(list(its.values()))
        if said is not None:
            _add_extra_key(exchange, "group", said)

    def _add_group_of_request(self, exchange: Exchange) -> None:
        """Note the group in an OffsetFetch of a member that asks for the offsets of its own group."""
        said = self._members.get(exchange.connection_info.number)
        request = None if said is None else exchange._api_reader.read_wanted_fields(exchange, "request", _GROUPS)
        if said is not None and request is not None:
            asked = [request.get("group_id"), *(group.get("group_id") for group in request.get("groups") or ())]
            if [json_text(name) for name in asked if name is not None] == [said["id"]]:
                _add_extra_key(exchange, "group", said)

    def _follow_leave_group(self, exchange: Exchange) -> None:
        request = exchange._api_reader.read_wanted_fields(
            exchange, "request", frozenset({"group_id", "member_id", "members[].member_id"})
        )
        said = self._members.get(exchange.connection_info.number)
        if said is None or request is None or json_text(request.get("group_id") or "") != said["id"]:
            return
        gone = [request.get("member_id"), *(member.get("member_id") for member in request.get("members") or ())]
        if said["member"] in [json_text(name) for name in gone if name is not None]:
            _add_extra_key(exchange, "group", said)
            self._forget_group_member(exchange.connection_info.number)

    # Transactions.

    def _follow_produce_request(self, exchange: Exchange) -> None:
        request, null = exchange.request_raw, exchange._api_reader.null_id
        if not null or request is None or len(request) < 14:
            return
        length = request[12] << 8 | request[13]
        if not request.startswith(null, 14 + length if length < 0x8000 else 14):
            self._follow_producer_id(exchange)

    def _follow_producer_id(self, exchange: Exchange) -> None:
        where = _PRODUCERS[exchange.api_key]  # type: ignore[index]  # it has one
        paths = frozenset(filter(None, (where.identity, where.producer, where.epoch)))
        request = exchange._api_reader.read_wanted_fields(exchange, "request", paths)
        identity = None if request is None else request.get(where.identity)
        if request is None or not identity:
            return
        key = (_host_of_client(exchange.connection_info), identity)
        if where.producer:
            self._keep_producer_id(key, request.get(where.producer), request.get(where.epoch))
        # A new producer id or epoch holds for later exchanges: EndTxn belongs to the transaction that it ends.
        answer = exchange._api_reader.read_wanted_fields(exchange, "response", _NEW_PRODUCER) if where.new else None
        news = answer is not None and not answer.get(_ERROR)
        if news and answer is not None and not where.producer:
            self._keep_producer_id(key, answer.get("producer_id"), answer.get("producer_epoch"))
        known = self._producers.get(key)
        if known is not None:
            _add_extra_key(exchange, "transaction", _make_transaction_json(identity, known))
        if news and answer is not None and where.producer:
            self._keep_producer_id(key, answer.get("producer_id"), answer.get("producer_epoch"))

    def _keep_producer_id(self, key: tuple[str, str], producer: object, epoch: object) -> None:
        if not isinstance(producer, int) or not isinstance(epoch, int) or producer < 0:
            return
        if key in self._producers or len(self._producers) < HISTORY_MAX:
            self._producers[key] = producer, epoch
            identity = key[1]
            if self._ids.setdefault(producer, identity) != identity:
                self._ids[producer] = None

    def _add_transaction_of_producer(self, exchange: Exchange) -> None:
        """Note the transaction that a marker ends."""
        request = exchange._api_reader.read_wanted_fields(exchange, "request", _MARKED)
        markers = [] if request is None else request.get("markers") or []
        if len(markers) == 1:
            producer, epoch = markers[0].get("producer_id"), markers[0].get("producer_epoch")
            identity = self._ids.get(producer)
            if identity is not None:
                _add_extra_key(exchange, "transaction", _make_transaction_json(identity, (producer, epoch)))

    # Nodes.

    def _learn_broker_nodes(self, exchange: Exchange) -> None:
        answer = exchange._api_reader.read_wanted_fields(exchange, "response", _NODES[exchange.api_key])  # type: ignore[index]  # it has one
        if answer is None:
            return
        cluster = answer.get("cluster_id") or None
        if cluster is not None and self._clusters.get(exchange.connection_info.number) != cluster:
            self._clusters[exchange.connection_info.number] = cluster
            self._facts.pop(exchange.connection_info.number, None)
        for node in list_nodes_of_answer(answer):
            for address in broker_addresses(node.host, node.port):
                before = self._nodes.get(address)
                # Responses of old versions lack some fields.
                rack, its = node.rack, cluster
                if before is not None and before[0] == node.id:
                    rack, its = rack or before[1], cluster or before[2]
                if before != (node.id, rack, its) and (before is not None or len(self._nodes) < HISTORY_MAX):
                    self._nodes[address] = node.id, rack, its
                    self._news += 1

    def _find_node_of_broker(self, info: ConnectionInfo) -> dict[str, Any] | None:
        """The `node` key of the record for a connection; by the name asked for if no answer has the address."""
        cluster = self._clusters.get(info.number)
        found = self._nodes.get(info.broker)
        found = found or (None if info.target is None else self._nodes.get(info.target))
        if found is None and info.tls is not None and info.tls["sni"]:
            found = self._nodes.get(f"{info.tls['sni']}:{info.broker.rpartition(':')[2]}")
        if found is None:
            return None if cluster is None else {"id": None, "rack": None, "cluster": json_text(cluster)}
        number, rack, its = found
        its = cluster or its
        return {
            "id": number,
            "rack": None if rack is None else json_text(rack),
            "cluster": None if its is None else json_text(its),
        }

    # Libraries.

    def _learn_client_traits(self, exchange: Exchange) -> Traits | None:
        """The traits, with its library, of a connection that does not name its software; None beyond the limit."""
        number = exchange.connection_info.number
        traits = self._traits.get(number)
        if traits is None:
            if len(self._traits) >= HISTORY_MAX:
                return None
            traits = self._traits[number] = Traits(opened=exchange.connection_info.opened)
        if not traits.has_traits_of(exchange):
            traits.add_traits_of(exchange)
            traits.library = find_library_by_traits(traits, LIBRARIES)
        return traits

    def _find_program_of_client_id(self, client_id: str | None) -> dict[str, Any] | None:
        if len(self._programs) >= HISTORY_MAX:
            self._programs.clear()
        found = None if client_id is None else find_program_of_client_id(client_id)
        self._programs[client_id] = found
        return found

    # The state.

    def export(self) -> list[object]:
        """The state of the history as built-in values."""
        return [
            {number: session.export() for number, session in self._sessions.items()},
            {number: [list(self._owners[number]), said] for number, said in self._members.items()},
            [[*key, *known] for key, known in self._producers.items()],
            dict(self._ids),
            {address: list(node) for address, node in self._nodes.items()},
            dict(self._clusters),
            {number: traits.export() for number, traits in self._traits.items()},
        ]

    def resume(self, state: object) -> None:
        """Restore the state that `export` gave. Raises DecodeError, TypeError or ValueError for anything else."""
        sessions, members, producers, self._ids, nodes, self._clusters, traits = state_fields(
            state, *[dict] * 2, list, *[dict] * 4
        )
        for number, row in sessions.items():
            self._keep_fetch_session(number, FetchSessionState.make_resumed(row))
        for number, row in members.items():
            (host, client_id), said = state_fields(row, list, dict)
            self._members[number] = said
            self._owners[number] = host, client_id
            self._clients.setdefault((host, client_id), {})[number] = said
        for row in producers:
            host, identity, producer, epoch = state_fields(row, str, str, int, int)
            self._producers[host, identity] = producer, epoch
        for address, row in nodes.items():
            node, rack, cluster = state_fields(row, int, str | None, str | None)
            self._nodes[address] = node, rack, cluster
        for number, row in traits.items():
            its = self._traits[number] = Traits.make_resumed(row)
            its.library = find_library_by_traits(its, LIBRARIES)
        self._news += 1


def _add_extra_key(exchange: Exchange, name: str, value: Any) -> None:
    exchange.extra = {name: value} if exchange.extra is None else {**exchange.extra, name: value}


# The longest name that fits a two-byte length; a longer one never matches, and its requests are read each time.
_LONGEST: Final = 0x7FFF


def _make_request_heads_of_member(group: str, generation: int, member: str) -> tuple[bytes, bytes]:
    """Group, generation and member as requests begin with them: with two-byte lengths, and with compact lengths."""
    plain = compact = b""
    for text, after in ((group, generation.to_bytes(4, "big", signed=True)), (member, b"")):
        data = text.encode("utf-8", "surrogateescape")[:_LONGEST]
        plain += len(data).to_bytes(2, "big") + data + after
        compact += encode_uvarint(len(data) + 1) + data + after
    return plain, compact


def _host_of_client(info: ConnectionInfo) -> str:
    return info.client.rpartition(":")[0]


def _identify_client(exchange: Exchange) -> Client:
    return _host_of_client(exchange.connection_info), exchange.client_id


def _merge_member_groups(members: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The group, and where equal the generation, of several members; None where their groups differ."""
    first = members[0]
    if len(members) == 1:
        return first
    if any(each["id"] != first["id"] for each in members):
        return None
    generation = first["generation"] if all(each["generation"] == first["generation"] for each in members) else None
    return {"id": first["id"], "generation": generation, "member": None}


def _make_transaction_json(identity: str, known: tuple[int, int]) -> dict[str, Any]:
    return {"id": json_text(identity), "producer_id": known[0], "epoch": known[1]}
