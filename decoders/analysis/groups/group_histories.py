"""Events, members and descriptions of groups in, a bounded history of each group out, of which its timeline is made."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Final, Self

from decoders.analysis.groups.group_events import Described, GroupEvent, Heard
from decoders.analysis.groups.group_timeline import Timeline
from decoders.analysis.read_dimension_values import host_of
from decoders.errors import Malformed
from decoders.limits import GROUP_EVENTS_ALL_MAX, GROUP_EVENTS_MAX, GROUP_MEMBERS_MAX
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["GroupHistories", "GroupHistory", "GroupMember"]


class GroupMember:
    """What is known of one member: first and last time, heartbeats; client, host and instance id, as last told."""

    __slots__ = ("beats", "client", "first", "host", "instance", "last")

    def __init__(self, first: int, last: int, client: str, host: str, instance: str | None, beats: int) -> None:
        self.first, self.last, self.beats = first, last, beats
        self.client, self.host, self.instance = client, host, instance

    def merge(self, other: GroupMember) -> None:
        """Add what was seen elsewhere of the same member."""
        if (other.last, other.client, other.host) > (self.last, self.client, self.host):
            self.client, self.host = other.client, other.host
        self.instance = max(self.instance or "", other.instance or "") or None
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.beats += other.beats

    def note_member_seen_again(self, time_ns: int, client: str, host: str, instance: str | None, beats: int) -> bool:
        """Note that the member was seen again, unless what is told of it is new; whether that was done."""
        if client != self.client or host != self.host or (instance or None) != self.instance:
            return False
        if time_ns > self.last:
            self.last = time_ns
        if time_ns < self.first:
            self.first = time_ns
        self.beats += beats
        return True

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.first, self.last, self.client, self.host, self.instance, self.beats]


class GroupHistory:
    """What happened in one group: its latest events (`total`: how many there were), members, the latest description."""

    __slots__ = ("cut", "described", "events", "members", "total")

    def __init__(self) -> None:
        self.events: list[GroupEvent] = []
        self.total = 0
        self.members: dict[str, GroupMember] = {}
        self.described: tuple[Described | None, Described | None] = (None, None)  # with members, and without
        self.cut: set[str] = set()

    def drop_events_over_limit(self) -> int:
        """Keep only the latest GROUP_EVENTS_MAX events; returns how many were dropped."""
        if len(self.events) <= GROUP_EVENTS_MAX:
            return 0
        self.events.sort(key=lambda each: (*each[:5], repr(each[5:])))
        gone = len(self.events) - GROUP_EVENTS_MAX
        del self.events[:gone]
        self.cut.add("timeline")
        return gone

    def add_member(self, name: str, member: GroupMember) -> None:
        """Add what an exchange shows of a member; members beyond GROUP_MEMBERS_MAX are not kept."""
        before = self.members.get(name)
        if before is not None:
            before.merge(member)
        elif len(self.members) < GROUP_MEMBERS_MAX:
            self.members[name] = member
        else:
            self.cut.add("members")

    def add_description(self, description: Described) -> None:
        """Take a description of the group; the latest with members and the latest without are kept."""
        whole = description.members is not None
        before = self.described[0 if whole else 1]
        latest = (
            description
            if before is None or (description.time_ns, repr(description)) > (before.time_ns, repr(before))
            else before
        )
        self.described = (latest, self.described[1]) if whole else (self.described[0], latest)

    def latest_description(self) -> Described | None:
        """The latest description, with what only an earlier one with members says."""
        whole, listed = self.described
        if whole is None or listed is None or listed.time_ns <= whole.time_ns:
            return whole or listed
        return listed._replace(
            group_type=listed.group_type or whole.group_type, protocol=whole.protocol, members=whole.members
        )

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        members = [[name, each.state()] for name, each in self.members.items()]
        described = [None if each is None else tuple(each) for each in self.described]
        return [[tuple(each) for each in self.events], self.total, members, described, sorted(self.cut)]

    @classmethod
    def make_resumed(cls, state: object) -> GroupHistory:
        """A history from its `state`. Raises DecodeError."""
        made = cls()
        events, made.total, members, described, cut = state_fields(state, list, int, list, list, list)
        for each in events:
            made.events.append(GroupEvent(*state_fields(each, *_EVENT)))
        for item in members:
            name, its = state_fields(item, str, list)
            made.members[name] = GroupMember(*state_fields(its, int, int, str, str, str | None, int))
        for each in state_fields(described, tuple | None, tuple | None):
            if each is not None:
                made.add_description(Described(*state_fields(each, int, str, str, str, str, int, tuple | None)))
        if not all(isinstance(name, str) for name in cut):
            raise Malformed("keys that are no names")
        made.cut = set(cut)
        return made


_EVENT: Final = (int, str, str, int, int, str, str, str, str | None, int, str | None, tuple)


class GroupHistories:
    """The histories of all groups, with at most GROUP_EVENTS_ALL_MAX events together."""

    def __init__(self) -> None:
        self.by_group: dict[str, GroupHistory] = {}
        self._events = 0

    def add_event(self, group: str, event: GroupEvent | Heard | Described, exchange: Exchange) -> None:
        """Keep what an exchange says of a group."""
        history = self.by_group.get(group)
        if history is None:
            history = self.by_group[group] = GroupHistory()
        if isinstance(event, Described):
            history.add_description(event)
        elif isinstance(event, Heard):
            info, time_ns = exchange.connection_info, exchange.time_ns
            host = host_of(info.client)
            client = exchange.client_id or host
            known = history.members.get(event.member)
            if known is None or not known.note_member_seen_again(
                time_ns, client, host, event.instance, int(event.beat)
            ):
                history.add_member(
                    event.member, GroupMember(time_ns, time_ns, client, host, event.instance, int(event.beat))
                )
        else:
            self._append_events(history, [event])

    def _append_events(self, history: GroupHistory, events: list[GroupEvent]) -> None:
        history.total += len(events)
        if self._events + len(events) > GROUP_EVENTS_ALL_MAX:
            history.cut.add("timeline")
            return
        history.events += events
        self._events += len(events)
        if len(history.events) >= 2 * GROUP_EVENTS_MAX:
            self._events -= history.drop_events_over_limit()

    def drop_history(self, group: str) -> None:
        """Give up the history of a group."""
        history = self.by_group.pop(group, None)
        if history is not None:
            self._events -= len(history.events)

    def make_timeline(self, group: str) -> Timeline:
        """The timeline of a group, of its latest events; empty where nothing is known of it."""
        history = self.by_group.get(group)
        if history is None:
            return Timeline([], {}, None)
        self._events -= history.drop_events_over_limit()
        clients = {name: (each.client, each.host) for name, each in history.members.items()}
        return Timeline(history.events, clients, history.latest_description())

    def merge(self, other: Self, groups: Container[str] | None = None) -> None:
        """Add the histories of `other`; with `groups`, only those of these groups."""
        for group, its in other.by_group.items():
            if groups is not None and group not in groups:
                continue
            mine = self.by_group.setdefault(group, GroupHistory())
            self._append_events(mine, list(its.events))
            mine.total += its.total - len(its.events)
            mine.cut |= its.cut
            for name, member in GroupHistory.make_resumed(its.state()).members.items():
                mine.add_member(name, member)
            for described in its.described:
                if described is not None:
                    mine.add_description(described)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [[group, each.state()] for group, each in self.by_group.items()]

    @classmethod
    def make_resumed(cls, state: object) -> Self:
        """Histories from their `state`. Raises DecodeError."""
        made = cls()
        (items,) = state_fields([state], list)
        for item in items:
            group, its = state_fields(item, str, list)
            made.by_group[group] = GroupHistory.make_resumed(its)
            made._events += len(made.by_group[group].events)
        return made
