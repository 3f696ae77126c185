"""An exchange in, what it says of the members of groups out: events, members that sent it, descriptions.

Members of classic groups join, sync, heartbeat and leave with requests of their own; members of consumer, share and
streams groups do all of it with one heartbeat API (KIP-848, KIP-932, KIP-1071), whose epoch says which: 0 joins, below
0 leaves. Both become the same kinds of events, so that one timeline is made of all.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.embedded import decode_embedded
from decoders.errors import DecodeError
from decoders.exchanges.topic_arrays import structs_at
from decoders.limits import ASSIGNED_SHOWN_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    SYNC_GROUP,
)
from decoders.schema.body_json_form import text_of_json

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["EVENT_APIS", "Assigned", "Described", "GroupEvent", "Heard", "Joining", "group_events_of"]

# What one member has: topic (or subtopology of Kafka Streams) → numbers of partitions.
Assigned = tuple[tuple[str, tuple[int, ...]], ...]

# Error codes that put a member out: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH,
# UNRELEASED_INSTANCE_ID, STALE_MEMBER_EPOCH.
FENCING: Final = frozenset({22, 25, 82, 110, 111, 113})
_REBALANCING: Final = 27
_MEMBER_ID_REQUIRED: Final = 79
# API key of a heartbeat with which members join and leave → the type of their group.
HEARTBEATS: Final = {68: "consumer", 76: "share", 88: "streams"}
CLASSIC: Final = "classic"


class Joining(NamedTuple):
    """The details of a `joined` event; `members`, each with its instance id, are told to the leader only."""

    fresh: bool = False  # it had no member id before
    protocol: str | None = None
    protocol_type: str | None = None
    leader: str = ""
    members: tuple[tuple[str, str | None], ...] = ()
    session_ms: int = -1
    rebalance_ms: int = -1
    topics: tuple[str, ...] = ()


class GroupEvent(NamedTuple):
    """Something that happened to a member at a time (of the answer; of the request where there is none), in ns.

    Kinds: `named` (the coordinator gave it a member id), `joined`, `assigned` (`detail`: member → partitions), `moved`
    (to a later epoch), `told` (that the group rebalances), `left`, `fenced`, `refused`, `unanswered` (its connection
    ended while it waited), `deleted` (the group). `text` is the reason it gives (KIP-800), or the API that failed.
    """

    time_ns: int
    kind: str
    member: str
    generation: int
    asked_ns: int
    group_type: str
    client: str
    host: str
    instance: str | None
    error: int
    text: str | None
    detail: tuple[Any, ...]


class Heard(NamedTuple):
    """The member that sent an exchange, whether or not there was an event; `beat`: the exchange is a heartbeat."""

    member: str
    instance: str | None
    beat: bool


class Described(NamedTuple):
    """What an answer says of a whole group: ListGroups and the Describe APIs.

    `members`: member id, instance id, client id, host, assignment.
    """

    time_ns: int
    state: str
    group_type: str
    protocol_type: str
    protocol: str
    generation: int
    members: tuple[tuple[str, str | None, str, str, Assigned], ...] | None


Found = Iterator[tuple[str, GroupEvent | Heard | Described]]


class _GroupExchange:
    """The parts of an exchange that all readers below use."""

    __slots__ = ("answer", "answered", "client", "error", "exchange", "group", "host", "request", "times")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.request, self.answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
        self.answered = exchange.response_ns is not None and bool(self.answer)
        self.error = int(self.answer.get("error_code") or 0)
        self.group = str(self.request.get("group_id") or "")
        info = exchange.connection_info
        self.client, self.host = client_of(exchange.client_id, info.client), host_of(info.client)
        asked = exchange.request_end_ns or exchange.time_ns
        self.times = (exchange.response_ns or exchange.time_ns, asked)

    @property
    def api_name(self) -> str | None:
        """The name of the exchange's API."""
        return self.exchange._api_reader.name

    def make_event(
        self,
        kind: str,
        member: str,
        generation: int,
        *,
        text: str | None = None,
        detail: tuple[Any, ...] = (),
        group_type: str = CLASSIC,
        instance: str | None = None,
        error: int | None = None,
    ) -> tuple[str, GroupEvent]:
        """An event of the group."""
        answered, asked = self.times
        its = error if error is not None else self.error
        who = (self.client, self.host, instance)
        return self.group, GroupEvent(answered, kind, member, generation, asked, group_type, *who, its, text, detail)


def _events_of_join(group_exchange: _GroupExchange) -> Found:
    request, answer = group_exchange.request, group_exchange.answer
    member, instance = str(answer.get("member_id") or request.get("member_id") or ""), request.get("group_instance_id")
    text = request.get("reason")
    if not group_exchange.answered:
        yield group_exchange.make_event("unanswered", member, -1, text=text, instance=instance)
        return
    if group_exchange.error == _MEMBER_ID_REQUIRED:
        yield group_exchange.make_event("named", member, -1, text=text, instance=instance)
        return
    if group_exchange.error:
        yield group_exchange.make_event(
            _event_kind_of_error(group_exchange.error),
            member,
            -1,
            text=group_exchange.api_name,
            instance=instance,
        )
        return
    protocol = answer.get("protocol_name")
    detail = Joining(
        not request.get("member_id"),
        protocol,
        answer.get("protocol_type") or request.get("protocol_type"),
        str(answer.get("leader") or ""),
        tuple((each.get("member_id", ""), each.get("group_instance_id")) for each in structs_at(answer, "members")),
        request.get("session_timeout_ms", -1),
        request.get("rebalance_timeout_ms", -1),
        _subscribed_topics(request, protocol),
    )
    generation = int(answer.get("generation_id", -1))
    yield group_exchange.make_event("joined", member, generation, text=text, detail=tuple(detail), instance=instance)
    yield group_exchange.group, Heard(member, instance, beat=False)


def _subscribed_topics(request: Mapping[str, Any], protocol: str | None) -> tuple[str, ...]:
    """The topics that a member of a classic consumer group asks for with the protocol that was chosen."""
    for each in structs_at(request, "protocols"):
        if each.get("name") == protocol:
            found = _decode_structure("ConsumerProtocolSubscription", each.get("metadata"))
            return tuple(map(str, found.get("topics") or ()))[:ASSIGNED_SHOWN_MAX]
    return ()


def _decode_structure(name: str, value: Any) -> Mapping[str, Any]:
    """The structure inside bytes, or as an exchange record of kw shows it; empty where it does not decode."""
    with suppress(DecodeError, TypeError, ValueError):
        if isinstance(value, dict) and value.get("$type") == name:
            return {field: _to_python_form(each) for field, each in value.items()}
        if isinstance(value, dict):
            value = a2b_base64(value.get("base64", ""))
        elif isinstance(value, str):
            value = value.encode("utf-8", "surrogateescape")
        if value:
            return decode_embedded(name, bytes(value))
    return {}


def _to_python_form(value: Any) -> Any:
    """A value of a record in JSON form, with its texts as an exchange has them: those that are no UTF-8 were base64."""
    if isinstance(value, list):
        return [_to_python_form(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"base64"}:
        return text_of_json(value)
    return {field: _to_python_form(each) for field, each in value.items()}


def _decode_assignment(value: Any) -> Assigned:
    """The assignment of a member of a classic group, from its bytes."""
    found = _decode_structure("ConsumerProtocolAssignment", value)
    return _read_partitions_by_topic(found.get("assigned_partitions"), "topic")


def _read_partitions_by_topic(rows: Any, name: str) -> Assigned:
    """The partitions in rows whose topic or subtopology is in `name`; a side may end in the middle of a row."""
    return _limit_assignment(
        (str(each.get(name) or ""), [number for number in each.get("partitions") or () if isinstance(number, int)])
        for each in rows or ()
        if isinstance(each, dict)
    )


def _limit_assignment(pairs: Iterable[tuple[str, Iterable[int]]]) -> Assigned:
    """The assignment in order, with no more than ASSIGNED_SHOWN_MAX partitions of all topics."""
    left = ASSIGNED_SHOWN_MAX
    made: list[tuple[str, tuple[int, ...]]] = []
    for name, numbers in sorted((name, sorted(numbers)) for name, numbers in pairs):
        made.append((name, tuple(numbers[:left])))
        left -= len(made[-1][1])
    return tuple(made)


def _events_of_sync(group_exchange: _GroupExchange) -> Found:
    request, answer = group_exchange.request, group_exchange.answer
    member, instance = str(request.get("member_id") or ""), request.get("group_instance_id")
    generation = int(request.get("generation_id", -1))
    if not group_exchange.answered or group_exchange.error:
        kind = _event_kind_of_error(group_exchange.error) if group_exchange.answered else "unanswered"
        yield group_exchange.make_event(kind, member, generation, text=group_exchange.api_name, instance=instance)
        return
    given = {
        str(each.get("member_id")): _decode_assignment(each.get("assignment"))
        for each in structs_at(request, "assignments")
    }
    given[member] = _decode_assignment(answer.get("assignment"))
    yield group_exchange.make_event(
        "assigned", member, generation, detail=tuple(sorted(given.items())), instance=instance
    )
    yield group_exchange.group, Heard(member, instance, beat=False)


def _event_kind_of_error(error: int) -> str:
    return "told" if error == _REBALANCING else "fenced" if error in FENCING else "refused"


def _events_of_classic_heartbeat(group_exchange: _GroupExchange) -> Found:
    request = group_exchange.request
    member, instance = str(request.get("member_id") or ""), request.get("group_instance_id")
    if not group_exchange.answered:
        return
    if group_exchange.error:
        generation = int(request.get("generation_id", -1))
        yield (
            group_exchange.make_event(
                _event_kind_of_error(group_exchange.error),
                member,
                generation,
                text=group_exchange.api_name,
                instance=instance,
            )
        )
    if group_exchange.error in (0, _REBALANCING):
        yield group_exchange.group, Heard(member, instance, beat=True)


def _events_of_leave(group_exchange: _GroupExchange) -> Found:
    request, answer = group_exchange.request, group_exchange.answer
    if "members" not in request:
        if not group_exchange.error:
            yield group_exchange.make_event("left", str(request.get("member_id") or ""), -1)
        return
    codes = [each.get("error_code", 0) for each in structs_at(answer, "members")]
    for at, each in enumerate(structs_at(request, "members")):
        if not group_exchange.error and not (at < len(codes) and codes[at]):
            name, instance = str(each.get("member_id") or ""), each.get("group_instance_id")
            yield group_exchange.make_event("left", name, -1, text=each.get("reason"), instance=instance)


def _events_of_offset_commit(group_exchange: _GroupExchange) -> Found:
    """An accepted commit shows its member; a commit that is refused for its generation or member id fences it."""
    request, exchange = group_exchange.request, group_exchange.exchange
    member = str(request.get("member_id") or "")
    if not member:
        return
    codes = {code for _, code in exchange._error_codes or ()}
    generation = int(request.get("generation_id_or_member_epoch", -1))
    for code in sorted(codes & FENCING):
        yield group_exchange.make_event("fenced", member, generation, text=exchange._api_reader.name, error=code)
    if group_exchange.answered and not codes:
        yield group_exchange.group, Heard(member, request.get("group_instance_id"), beat=False)


def _events_of_new_protocol_heartbeat(group_exchange: _GroupExchange) -> Found:
    """What the heartbeat of a consumer, share or streams group says."""
    request, answer, exchange = group_exchange.request, group_exchange.answer, group_exchange.exchange
    group_type = HEARTBEATS[exchange.api_key or 68]
    member, instance = str(answer.get("member_id") or request.get("member_id") or ""), request.get("instance_id")
    asked = int(request.get("member_epoch", 0))
    shared: dict[str, Any] = {"group_type": group_type, "instance": instance}
    if not group_exchange.answered:
        if asked < 0:  # a member that leaves may not wait for the answer
            yield group_exchange.make_event("left", member, asked, **shared)
        return
    if group_exchange.error:
        kind = "fenced" if group_exchange.error in FENCING else "refused"
        yield group_exchange.make_event(kind, member, asked, text=exchange._api_reader.name, **shared)
        return
    if asked < 0:
        yield group_exchange.make_event("left", member, asked, **shared)
        return
    epoch = int(answer.get("member_epoch", -1))
    if not asked:
        topics = tuple(map(str, request.get("subscribed_topic_names") or ()))[:ASSIGNED_SHOWN_MAX]
        its = Joining(fresh=True, protocol=request.get("server_assignor"), topics=topics)
        yield group_exchange.make_event("joined", member, epoch, detail=tuple(its), **shared)
    elif epoch != asked:
        yield group_exchange.make_event("moved", member, epoch, **shared)
    given = _read_assignment_of_heartbeat(exchange, answer)
    if given is not None:
        yield group_exchange.make_event("assigned", member, epoch, detail=((member, given),), **shared)
    yield group_exchange.group, Heard(member, instance, beat=True)


def _read_assignment_of_heartbeat(exchange: Exchange, answer: Mapping[str, Any]) -> Assigned | None:
    """The assignment in an answer; None where it stays as it was."""
    if exchange.api_key == 88:
        tasks = [answer.get(name) for name in ("active_tasks", "standby_tasks", "warmup_tasks")]
        if all(each is None for each in tasks):
            return None
        return _read_partitions_by_topic(tasks[0], "subtopology_id")
    assignment = answer.get("assignment")
    if not isinstance(assignment, dict):
        return None
    # Releases before 3.7 called it `assigned_topic_partitions`.
    rows = assignment.get("topic_partitions", assignment.get("assigned_topic_partitions"))
    return _limit_assignment(
        (topic_of_element(exchange, each) or "", each.get("partitions") or ()) for each in rows or ()
    )


def _events_of_group_descriptions(group_exchange: _GroupExchange) -> Found:
    """Groups as DescribeGroups, ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe show them."""
    group_type = _DESCRIBES[group_exchange.exchange.api_key or 15]
    for each in structs_at(group_exchange.answer, "groups"):
        if each.get("error_code") or not each.get("group_id"):
            continue
        members = tuple(
            (
                str(member.get("member_id") or ""),
                member.get("group_instance_id", member.get("instance_id")),
                str(member.get("client_id") or ""),
                str(member.get("client_host") or "").lstrip("/"),
                _read_assignment_of_description(member),
            )
            for member in structs_at(each, "members")
        )
        yield (
            str(each["group_id"]),
            Described(
                group_exchange.times[0],
                str(each.get("group_state") or ""),
                group_type,
                str(each.get("protocol_type") or ""),
                str(each.get("protocol_data") or each.get("assignor_name") or ""),
                int(each.get("group_epoch", -1)),
                tuple(sorted(members, key=lambda member: member[0])),
            ),
        )


def _read_assignment_of_description(member: Mapping[str, Any]) -> Assigned:
    assignment = member.get("assignment")
    if not isinstance(assignment, dict):
        return _decode_assignment(member.get("member_assignment"))
    if "active_tasks" in assignment:
        return _read_partitions_by_topic(assignment["active_tasks"], "subtopology_id")
    return _read_partitions_by_topic(assignment.get("topic_partitions"), "topic_name")


def _events_of_list_groups(group_exchange: _GroupExchange) -> Found:
    for each in structs_at(group_exchange.answer, "groups"):
        name, state = str(each.get("group_id") or ""), str(each.get("group_state") or "")
        group_type, protocol_type = str(each.get("group_type") or ""), str(each.get("protocol_type") or "")
        if name and state:
            yield name, Described(group_exchange.times[0], state, group_type.lower(), protocol_type, "", -1, None)


def _events_of_delete_groups(group_exchange: _GroupExchange) -> Found:
    for each in structs_at(group_exchange.answer, "results"):
        if not each.get("error_code"):
            group_exchange.group = str(each.get("group_id") or "")
            yield group_exchange.make_event("deleted", "", -1)


_DESCRIBES: Final = {15: CLASSIC, 69: "consumer", 77: "share", 89: "streams"}
_MEMBER: Final = ("group_id", "member_id", "group_instance_id")
_HEARTBEAT_REQUEST: Final = ("group_id", "member_id", "member_epoch", "instance_id")
_HEARTBEAT_ANSWER: Final = ("error_code", "member_id", "member_epoch")


class EventRow(NamedTuple):
    """The function that reads events of an API, and the paths that it reads of each side."""

    read: Callable[[_GroupExchange], Found]
    request: tuple[str, ...] = ()
    response: tuple[str, ...] = ()


EVENT_APIS: Final[dict[int, EventRow]] = {
    JOIN_GROUP: EventRow(
        _events_of_join,
        (*_MEMBER, "session_timeout_ms", "rebalance_timeout_ms", "protocol_type", "protocols", "reason"),
        (
            *("error_code", "generation_id", "protocol_type", "protocol_name", "leader", "member_id"),
            *("members[].member_id", "members[].group_instance_id"),
        ),
    ),
    SYNC_GROUP: EventRow(_events_of_sync, (*_MEMBER, "generation_id", "assignments"), ("error_code", "assignment")),
    HEARTBEAT: EventRow(_events_of_classic_heartbeat, (*_MEMBER, "generation_id"), ("error_code",)),
    LEAVE_GROUP: EventRow(_events_of_leave, ("group_id", "member_id", "members"), ("error_code", "members")),
    OFFSET_COMMIT: EventRow(_events_of_offset_commit, (*_MEMBER, "generation_id_or_member_epoch"), ()),
    28: EventRow(_events_of_offset_commit, (*_MEMBER, "generation_id_or_member_epoch"), ()),
    68: EventRow(
        _events_of_new_protocol_heartbeat,
        (*_HEARTBEAT_REQUEST, "subscribed_topic_names", "server_assignor"),
        (*_HEARTBEAT_ANSWER, "assignment"),
    ),
    76: EventRow(
        _events_of_new_protocol_heartbeat,
        ("group_id", "member_id", "member_epoch", "subscribed_topic_names"),
        (*_HEARTBEAT_ANSWER, "assignment"),
    ),
    88: EventRow(
        _events_of_new_protocol_heartbeat,
        _HEARTBEAT_REQUEST,
        (*_HEARTBEAT_ANSWER, "active_tasks", "standby_tasks", "warmup_tasks"),
    ),
    **{key: EventRow(_events_of_group_descriptions, (), ("groups",)) for key in _DESCRIBES},
    LIST_GROUPS: EventRow(_events_of_list_groups, (), ("groups",)),
    42: EventRow(_events_of_delete_groups, (), ("results",)),
}


def group_events_of(exchange: Exchange) -> Found:
    """The events, members and descriptions in an exchange, each with its group."""
    row = EVENT_APIS.get(exchange.api_key or 0)
    if row is not None:
        for group, said in row.read(_GroupExchange(exchange)):
            if group:
                yield group, said
