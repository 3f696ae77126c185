"""Exchanges of share groups in, who holds which records out, and which records are at their last attempt (KIP-932).

A member acquires records with ShareFetch, for the time of the acquisition lock, and acknowledges them with the next
ShareFetch or with ShareAcknowledge: accepts, releases, rejects, or renews the lock (KIP-1222). Each time that a record
is acquired counts. One that is released, or left until its lock ends, at the limit of deliveries is archived: nobody
gets it again.

What members did is kept as sets of events, the latest of each partition; rows() plays them in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.exchange_facts import topic_of_element
from decoders.analysis.groups.partition_offsets_and_lag import TopicPartition
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, partitions_in, structs_at
from decoders.limits import SHARE_EVENTS_ALL_MAX, SHARE_EVENTS_MAX, SHARE_RANGES_SHOWN_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import DESCRIBE_CONFIGS, SHARE_ACKNOWLEDGE, SHARE_FETCH
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["ArchivedRecords", "EndedLock", "ShareDeliveries", "list_acknowledged_ranges", "share_delivery_paths"]

_MS: Final = 1_000_000
# Resource types of DescribeConfigs, and the settings that limit deliveries, of a broker and of a group.
_BROKER, _GROUP = 4, 32
_LIMITS: Final = {"group.share.delivery.count.limit": _BROKER, "share.delivery.count.limit": _GROUP}
# The defaults of group.share.delivery.count.limit, and of group.share.record.lock.duration.ms.
_DEFAULT_LIMIT: Final = 5
_DEFAULT_LOCK_MS: Final = 30_000
_ACQUIRED: Final = -1
_CLOSED: Final = -2
_RELEASE: Final = 2
_RENEW: Final = 4
# A lock may seem to be shorter by this part of it: it begins when the broker gives records, before they arrive.
_SOONER: Final = 50
# Type of an acknowledgement → what becomes of the records.
_OUTCOMES: Final = {0: "accepted", 1: "accepted", 2: "released", 3: "rejected"}


class ShareEvent(NamedTuple):
    """What a member did with the records of a partition from `first` to `last`, at a time in ns.

    `kind`: the type of an acknowledgement, -1: acquired them, -2: closed its session. `deliveries`: how often they have
    been delivered; `lock_ms`: how long they are locked, -1: not told.
    """

    time_ns: int
    kind: int
    member: str
    client: str
    address: str
    first: int
    last: int
    deliveries: int
    lock_ms: int


class EndedLock(NamedTuple):
    """Records from `first` to `last` that somebody got again as the lock of who had `acquired` them had run out.

    `late_ns`: how long after getting them their holder acknowledged them, 0: not at all.
    """

    acquired: ShareEvent
    again: ShareEvent
    first: int
    last: int
    late_ns: int


class ArchivedRecords(NamedTuple):
    """Records from `first` to `last` that nobody gets again: each of their last deliveries was at the limit.

    `deliveries` are those of each; `began_ns` and `ended_ns`: when the first of them came, and when the last ended;
    `releases`: how often members gave the first record back; `clients`: who got it.
    """

    first: int
    last: int
    deliveries: int
    began_ns: int
    ended_ns: int
    releases: int
    clients: frozenset[str]


class _HeldRange:
    """Records of a partition with the same fate: `state` is `held` or what became of them."""

    __slots__ = ("count", "event", "expires_ns", "first", "last", "state")

    def __init__(self, event: ShareEvent, first: int, last: int) -> None:
        self.event, self.first, self.last = event, first, last
        self.count, self.state = event.deliveries, "held"
        self.expires_ns = event.time_ns + _lock_duration_ns(event)

    def with_offsets(self, first: int, last: int) -> _HeldRange:
        """The same, of a part of the records."""
        made = _HeldRange(self.event, max(first, self.first), min(last, self.last))
        made.count, made.state, made.expires_ns = self.count, self.state, self.expires_ns
        return made


def _lock_duration_ns(event: ShareEvent) -> int:
    return (event.lock_ms if event.lock_ms > 0 else _DEFAULT_LOCK_MS) * _MS


class ShareDeliveries:
    """What members of share groups did with records; and the limits of deliveries that the capture shows."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, str, int], set[ShareEvent]] = {}
        self.limits: dict[tuple[int, str], tuple[int, int]] = {}  # resource type and name → ns, limit
        self.cut: set[str] = set()  # groups with more events than are kept
        self._count = 0

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange says of deliveries, or of their limit."""
        if exchange.api_key in (SHARE_FETCH, SHARE_ACKNOWLEDGE):
            self._learn_events(exchange)
        elif exchange.api_key == DESCRIBE_CONFIGS:
            self._learn_limits(exchange)

    def _learn_limits(self, exchange: Exchange) -> None:
        time_ns, answer = exchange.response_ns or exchange.time_ns, exchange.view("response")
        names = {config.get("name") for each in structs_at(answer, "results") for config in structs_at(each, "configs")}
        if names.isdisjoint(_LIMITS):
            return
        if exchange.record is None:
            answer = exchange.response  # views show no values of configs, not even of those that are public
        for result in structs_at(answer, "results"):
            kind, name = result.get("resource_type"), str(result.get("resource_name") or "")
            for config in structs_at(result, "configs"):
                value = config.get("value")
                if _LIMITS.get(str(config.get("name"))) == kind and isinstance(value, str) and value.isdecimal():
                    where = int(kind or 0), name
                    self.limits[where] = max(self.limits.get(where, (0, 0)), (time_ns, int(value)))

    def _learn_events(self, exchange: Exchange) -> None:
        request, answer = exchange.view("request"), exchange.view("response")
        group = request.get("group_id") if isinstance(request, dict) else None
        if not group or not isinstance(answer, dict) or exchange.api_key is None:
            return
        info = exchange.connection_info
        who = str(request.get("member_id") or ""), client_of(exchange.client_id, info.client), host_of(info.client)
        asked, answered = TOPIC_ARRAYS[exchange.api_key]
        error = "acknowledge_error_code" if exchange.api_key == SHARE_FETCH else answered.error
        refused: set[TopicPartition] = set()
        lock_ms = int(answer.get("acquisition_lock_timeout_ms") or -1)
        time_ns = exchange.response_ns or exchange.time_ns
        for element, part in partitions_in(answer, answered):
            where = str(topic_of_element(exchange, element) or ""), part.get(answered.number, -1)
            if part.get(error):
                refused.add(where)
            for row in structs_at(part, "acquired_records"):
                first, last, count = (row.get(name, -1) for name in ("first_offset", "last_offset", "delivery_count"))
                self._keep_event(group, where, ShareEvent(time_ns, _ACQUIRED, *who, first, last, count, lock_ms))
        if answer.get("error_code"):
            return
        for element, part in partitions_in(request, asked):
            where = str(topic_of_element(exchange, element) or ""), part.get(asked.number, -1)
            for batch in structs_at(part, "acknowledgement_batches") if where not in refused else ():
                for kind, first, last in list_acknowledged_ranges(batch):
                    self._keep_event(group, where, ShareEvent(exchange.time_ns, kind, *who, first, last, 0, lock_ms))
        if request.get("share_session_epoch") == -1:
            closed = ShareEvent(exchange.time_ns, _CLOSED, *who, -1, -1, 0, -1)
            self._keep_event(group, ("", -1), closed)

    def _keep_event(self, group: str, where: TopicPartition, event: ShareEvent) -> None:
        if None in where or event.first > event.last:
            return
        if self._count >= SHARE_EVENTS_ALL_MAX:
            self.cut.add(group)
            return
        events = self.events.setdefault((group, *where), set())
        before = len(events)
        events.add(event)
        self._count += len(events) - before
        if len(events) >= 2 * SHARE_EVENTS_MAX:
            self._count -= len(events)
            self._drop_events_over_limit(group, events)
            self._count += len(events)

    def _drop_events_over_limit(self, group: str, events: set[ShareEvent]) -> None:
        if len(events) > SHARE_EVENTS_MAX:
            events.difference_update(sorted(events)[: len(events) - SHARE_EVENTS_MAX])
            self.cut.add(group)

    def drop_group(self, group: str) -> None:
        """Give up what is known of a group."""
        for key in [key for key in self.events if key[0] == group]:
            self._count -= len(self.events.pop(key))
        self.cut.discard(group)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        self.cut |= other.cut
        for (group, topic, number), events in other.events.items():
            for event in events:
                self._keep_event(group, (topic, number), event)
        for where, limit in other.limits.items():
            self.limits[where] = max(self.limits.get(where, limit), limit)

    def export(self) -> bytes:
        """The state, for `resume`."""
        events = [[*key, [tuple(event) for event in sorted(its)]] for key, its in self.events.items()]
        return pack([events, [[*key, *its] for key, its in self.limits.items()], sorted(self.cut)])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        events, limits, cut = state_fields(unpack(state), list, list, list)
        for item in events:
            group, topic, number, its = state_fields(item, str, str, int, list)
            made = {ShareEvent(*state_fields(each, int, int, str, str, str, int, int, int, int)) for each in its}
            self.events[group, topic, number] = made
            self._count += len(made)
        for item in limits:
            kind, name, time_ns, limit = state_fields(item, int, str, int, int)
            self.limits[kind, name] = time_ns, limit
        for name in cut:
            self.cut.update(state_fields([name], str))

    # Rows.

    def list_ended_locks(self) -> Iterator[tuple[str, str, EndedLock]]:
        """Group, topic and what ended, for all records that were delivered again after their lock."""
        for (group, topic, _), events in sorted(self.events.items(), key=lambda item: item[0]):
            if topic:
                closed = self.events.get((group, "", -1), set())
                for each in _find_ended_locks(sorted(events | closed)):
                    yield group, topic, each

    def list_archived(self, now_ns: int) -> Iterator[tuple[str, str, int, ArchivedRecords]]:
        """Group, topic, partition and records, for all that were delivered up to the limit and not accepted.

        Where the limit is not known, it is the most that any record of the group was delivered.
        """
        most: dict[str, int] = {}
        for (group, *_), events in self.events.items():
            most[group] = max(most.get(group, 0), max((event.deliveries for event in events), default=0))
        for (group, topic, number), events in sorted(self.events.items(), key=lambda item: item[0]):
            limit = self.known_delivery_limit(group) or most[group]
            if topic and 1 < limit <= most[group]:
                played = sorted(events | self.events.get((group, "", -1), set()))
                for each in _replay_events(played, limit, now_ns):
                    if each.state == "archived":
                        yield group, topic, number, _make_archived_records(played, each)

    def known_delivery_limit(self, group: str) -> int | None:
        """How often a record of a group is delivered at most, where the capture shows it."""
        own = self.limits.get((_GROUP, group))
        if own is not None:
            return own[1]
        brokers = [its for (kind, _), its in self.limits.items() if kind == _BROKER]
        return max(brokers)[1] if brokers else None

    def delivery_limit(self, group: str) -> int:
        """How often a record of a group is delivered at most: as the capture shows it, else Kafka's default."""
        return self.known_delivery_limit(group) or _DEFAULT_LIMIT

    def make_rows(self, group: str, now_ns: int) -> tuple[list[Row], list[Row]]:
        """The ranges of records that members hold at the end, and those that are, or were, at their last attempt."""
        limit = self.delivery_limit(group)
        closed = self.events.get((group, "", -1), set())
        held: list[Row] = []
        last: list[Row] = []
        for (of, topic, number), events in sorted(self.events.items(), key=lambda item: item[0]):
            if of != group or not topic:
                continue
            self._drop_events_over_limit(group, events)
            for each in _replay_events(sorted(events | closed), limit, now_ns):
                row = _make_range_row((topic, number), each, limit)
                if each.state in ("held", "expired"):
                    held.append(row)
                if each.count >= limit:
                    last.append(row)
        for rows in (held, last):
            if len(rows) > SHARE_RANGES_SHOWN_MAX:
                self.cut.add(group)
        return held[:SHARE_RANGES_SHOWN_MAX], last[:SHARE_RANGES_SHOWN_MAX]


def list_acknowledged_ranges(batch: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Type, first and last offset of each run of records that are acknowledged alike."""
    first, last, kinds = batch.get("first_offset"), batch.get("last_offset"), list(batch.get("acknowledge_types") or ())
    if first is None or last is None:
        return
    if len(kinds) == 1:
        yield kinds[0], first, last
        return
    at = first
    for kind, run in groupby(kinds):
        count = len(list(run))
        yield kind, at, at + count - 1
        at += count


def _replay_events(events: Iterable[ShareEvent], limit: int, now_ns: int) -> list[_HeldRange]:
    """The ranges of a partition after all events, in order; ranges side by side with the same fate are one."""
    ranges: list[_HeldRange] = []
    for event in events:
        if event.kind == _ACQUIRED:
            ranges = [
                *_split_ranges(ranges, event.first, event.last, keep=False),
                _HeldRange(event, event.first, event.last),
            ]
        elif event.kind == _CLOSED:
            for each in ranges:
                if each.state == "held" and each.event.member == event.member:
                    each.state = "archived" if each.count >= limit else "released"
        else:
            ranges = _split_ranges(ranges, event.first, event.last, keep=True)
            for each in ranges:
                if event.first <= each.first <= event.last and each.state == "held":
                    if event.kind == _RENEW:
                        each.expires_ns = event.time_ns + _lock_duration_ns(event if event.lock_ms > 0 else each.event)
                    else:
                        outcome = _OUTCOMES.get(event.kind, "accepted")
                        each.state = "archived" if outcome == "released" and each.count >= limit else outcome
    made: list[_HeldRange] = []
    for each in sorted(ranges, key=lambda its: its.first):
        if each.state == "held" and each.expires_ns < now_ns:
            each.state = "archived" if each.count >= limit else "expired"
        before = made[-1] if made else None
        if before is not None and before.last + 1 == each.first and _have_same_state(before, each):
            before.last = each.last
        else:
            made.append(each)
    return made


def _make_archived_records(events: list[ShareEvent], its: _HeldRange) -> ArchivedRecords:
    """The deliveries of archived records, by those of the first."""
    got = [event for event in events if event.kind == _ACQUIRED and event.first <= its.first <= event.last]
    back = [event for event in events if event.kind == _RELEASE and event.first <= its.first <= event.last]
    ended = back[-1].time_ns if back and back[-1].time_ns >= its.event.time_ns else its.expires_ns
    clients = frozenset(event.client for event in got)
    return ArchivedRecords(its.first, its.last, its.count, got[0].time_ns, ended, len(back), clients)


def _find_ended_locks(events: list[ShareEvent]) -> list[EndedLock]:
    """The records of a partition that were delivered again after the time for which the answers say they are locked.

    Who closes its session, or releases records, gives them back; who is not heard again may be gone.
    """
    heard = {event.member: event.time_ns for event in events}
    held: list[_HeldRange] = []
    ended: list[EndedLock] = []
    for event in events:
        if event.kind == _ACQUIRED:
            for each in held:
                first, last = max(each.first, event.first), min(each.last, event.last)
                its = each.event
                if first <= last and its.deliveries < event.deliveries and its.lock_ms > 0:
                    soonest = each.expires_ns - its.lock_ms * _MS // _SOONER
                    if soonest <= event.time_ns <= heard[its.member]:
                        ended.append(EndedLock(its, event, first, last, 0))
            held = [
                *_split_ranges(held, event.first, event.last, keep=False),
                _HeldRange(event, event.first, event.last),
            ]
        elif event.kind == _CLOSED:
            held = [each for each in held if each.event.member != event.member]
        elif event.kind == _RENEW:
            held = _split_ranges(held, event.first, event.last, keep=True)
            for each in held:
                if event.first <= each.first <= event.last and each.event.member == event.member:
                    each.expires_ns = event.time_ns + _lock_duration_ns(event if event.lock_ms > 0 else each.event)
        else:
            for place, old in enumerate(ended):
                is_its = old.acquired.member == event.member and event.first <= old.first <= event.last
                if is_its and not old.late_ns and event.kind != _RELEASE and old.again.member != event.member:
                    ended[place] = old._replace(late_ns=event.time_ns - old.acquired.time_ns)
            held = _split_ranges(held, event.first, event.last, keep=False)
    return ended


def _have_same_state(one: _HeldRange, other: _HeldRange) -> bool:
    if (one.state, one.count, one.event.member) != (other.state, other.count, other.event.member):
        return False
    return one.state not in ("held", "expired") or one.expires_ns == other.expires_ns


def _split_ranges(ranges: list[_HeldRange], first: int, last: int, *, keep: bool) -> list[_HeldRange]:
    """The ranges cut at the ends of another one; what is inside of it is left out if not `keep`."""
    made: list[_HeldRange] = []
    for each in ranges:
        if each.last < first or each.first > last:
            made.append(each)
            continue
        if each.first < first:
            made.append(each.with_offsets(each.first, first - 1))
        if keep:
            made.append(each.with_offsets(first, last))
        if each.last > last:
            made.append(each.with_offsets(last + 1, each.last))
    return made


def _make_range_row(place: TopicPartition, held_range: _HeldRange, limit: int) -> Row:
    return {
        "topic": place[0],
        "partition": place[1],
        "first_offset": held_range.first,
        "last_offset": held_range.last,
        "state": held_range.state,
        "deliveries": held_range.count,
        "last_attempt": held_range.count >= limit,
        "member_id": held_range.event.member,
        "client_id": held_range.event.client,
        "address": held_range.event.address,
        "acquired": format_rfc3339(held_range.event.time_ns),
        "expires": format_rfc3339(held_range.expires_ns) if held_range.state in ("held", "expired") else None,
    }


_ACKNOWLEDGED: Final = ("member_id", "share_session_epoch")
_PATHS: Final[dict[tuple[int, str], tuple[str, ...]]] = {
    (SHARE_FETCH, "request"): _ACKNOWLEDGED,
    (SHARE_FETCH, "response"): (
        "error_code",
        "acquisition_lock_timeout_ms",
        "responses[].partitions[].acknowledge_error_code",
    ),
    (SHARE_ACKNOWLEDGE, "request"): _ACKNOWLEDGED,
    (SHARE_ACKNOWLEDGE, "response"): ("error_code", "acquisition_lock_timeout_ms"),
    (DESCRIBE_CONFIGS, "response"): tuple(
        f"results[].{name}" for name in ("resource_type", "resource_name", "configs[].name", "configs[].value")
    ),
}


def share_delivery_paths(api_key: int, side: Side) -> frozenset[str]:
    """The paths that `ShareDeliveries` reads of a side of an API, beside those of GroupOffsets."""
    return frozenset(_PATHS.get((api_key, side), ()))
