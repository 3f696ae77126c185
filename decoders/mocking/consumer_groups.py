"""Groups of the consumer protocol (KIP-848): the coordinator assigns partitions, heartbeats lead members to them.

A member is told at first only the partitions of its new assignment that it had before. Once it says that it owns
nothing else, it gets the group's epoch, and the partitions that no other member has any more; so no partition ever has
two owners. A member of an older epoch, or one that is silent for a session, is out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID

from decoders.limits import MOCK_GROUPS_MAX, MOCK_MEMBERS_MAX
from decoders.mocking.build_response_bodies import RequestBody, ResponseBody
from decoders.mocking.cluster_state import Call, MockCluster
from decoders.mocking.refusal_error import Refusal

__all__ = ["ConsumerGroup", "handle_consumer_group_heartbeat"]


SESSION_MS: Final = 45_000
HEARTBEAT_MS: Final = 1000
ASSIGNORS: Final = ("uniform", "range")
_LEAVES: Final = -1
_LEAVES_FOR_A_WHILE: Final = -2
_SUBSCRIBED_MAX: Final = 10_000

# Topic id, number of a partition.
TopicIdPartition = tuple[UUID, int]


@dataclass(slots=True)
class _ConsumerMember:
    id: str
    instance: str | None
    client_id: str = ""
    host: str = ""
    epoch: int = 0
    subscribed: tuple[str, ...] = ()
    assignor: str | None = None
    assigned: set[TopicIdPartition] = field(default_factory=set)  # what it was told to have
    releasing: set[TopicIdPartition] = field(default_factory=set)  # what it was told to give up, and has not yet
    deadline_ms: int = 0
    away: bool = False  # a static member that said it comes again


class ConsumerGroup:
    """One group of the consumer protocol: its epoch, members and target assignment."""

    kind = "consumer"

    def __init__(self, cluster: MockCluster, group_id: str) -> None:
        self.cluster = cluster
        self.id = group_id
        self.epoch = 0
        self.members: dict[str, _ConsumerMember] = {}
        self.target: dict[str, set[TopicIdPartition]] = {}
        self._partitions: dict[str, int] = {}  # of subscribed topics when the target was made

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    @property
    def state(self) -> str:
        """The state of the group, under Kafka's name."""
        if not self.members:
            return "Empty"
        settled = all(
            member.epoch == self.epoch and member.assigned == self.target[name] and not member.releasing
            for name, member in self.members.items()
        )
        return "Stable" if settled else "Reconciling"

    @property
    def assignor(self) -> str:
        """The assignor: `range` if a member asks for it, else `uniform`."""
        return "range" if any(member.assignor == "range" for member in self.members.values()) else "uniform"

    def check_may_commit(self, member_id: str, epoch: int, instance: str | None) -> None:  # noqa: ARG002  # as all groups
        """Check that a member may commit offsets. Raises Refusal."""
        if epoch < 0 and not member_id and not self.members:
            return
        member = self.members.get(member_id)
        if member is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        if member.epoch != epoch:
            raise Refusal("STALE_MEMBER_EPOCH")

    def take_heartbeat(self, call: Call) -> ResponseBody:
        """Take a heartbeat, by which a member joins, stays or leaves. Raises Refusal."""
        body = call.body
        epoch = body["member_epoch"]
        if epoch in (_LEAVES, _LEAVES_FOR_A_WHILE):
            return self._remove_leaving_member(body, epoch)
        member = self._join_member(call) if epoch == 0 else self._find_member(body, epoch)
        member.deadline_ms = self.cluster.now_ms + SESSION_MS
        changed = self._update_subscription(member, body)
        if changed or self._partitions != self._count_partitions_by_topic():
            self._begin_new_target()
        owned = body["topic_partitions"]
        if owned is not None:
            member.releasing &= {(row["topic_id"], number) for row in owned for number in row["partitions"]}
        told = member.assigned.copy()
        self._move_member_towards_target(member)
        full = epoch == 0 or owned is not None
        return {
            "error_code": 0,
            "member_id": member.id,
            "member_epoch": member.epoch,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "assignment": _build_assignment_by_topic_id(member.assigned) if full or told != member.assigned else None,
        }

    def _remove_leaving_member(self, body: RequestBody, epoch: int) -> ResponseBody:
        member = self.members.get(body["member_id"])
        if member is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        if epoch == _LEAVES_FOR_A_WHILE and member.instance is not None:
            member.away = True
        else:
            self._remove_member(member)
        return {"error_code": 0, "member_id": member.id, "member_epoch": epoch, "heartbeat_interval_ms": HEARTBEAT_MS}

    def _join_member(self, call: Call) -> _ConsumerMember:
        body = call.body
        instance = body["instance_id"]
        member_id = body["member_id"] or f"member-{self.cluster.next_unique_number():012x}"
        before = next((each for each in self.members.values() if each.instance == instance), None) if instance else None
        if before is not None and before.id != member_id:
            if not before.away:
                raise Refusal("UNRELEASED_INSTANCE_ID")
            # A static member that comes again takes its former place.
            del self.members[before.id]
            self.target[member_id] = self.target.pop(before.id, set())
            before.id, before.away, before.epoch = member_id, False, 0
            before.releasing.clear()
            self.members[member_id] = before
            self._start_session_timer(before)
            return before
        known = self.members.get(member_id)
        if known is not None:
            known.away = False
            return known
        if len(self.members) >= MOCK_MEMBERS_MAX:
            raise Refusal("GROUP_MAX_SIZE_REACHED")
        if not body["subscribed_topic_names"] and not body.get("subscribed_topic_regex"):
            raise Refusal("INVALID_REQUEST", "a member that joins must subscribe to something")
        known = self.members[member_id] = _ConsumerMember(member_id, instance, call.client_id or "", call.client_host)
        self._start_session_timer(known)
        return known

    def _find_member(self, body: RequestBody, epoch: int) -> _ConsumerMember:
        member = self.members.get(body["member_id"])
        if member is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        if epoch > member.epoch:
            raise Refusal("FENCED_MEMBER_EPOCH")
        if epoch < member.epoch:
            # The response that raised its epoch was lost: the member names again what it owned before.
            owned = body["topic_partitions"]
            theirs = {(row["topic_id"], number) for row in owned or () for number in row["partitions"]}
            if owned is None or not theirs <= member.assigned:
                raise Refusal("FENCED_MEMBER_EPOCH")
        return member

    def _update_subscription(self, member: _ConsumerMember, body: RequestBody) -> bool:
        """Note what a member subscribes to; returns whether that is new."""
        if body.get("subscribed_topic_regex"):
            raise Refusal("INVALID_REGULAR_EXPRESSION", "the mock supports topic names only, no patterns")
        assignor = body["server_assignor"]
        if assignor is not None and assignor not in ASSIGNORS:
            raise Refusal("UNSUPPORTED_ASSIGNOR", f"the mock has the assignors {', '.join(ASSIGNORS)}")
        names = body["subscribed_topic_names"]
        wanted = member.subscribed if names is None else tuple(sorted(set(names)))
        if len(wanted) > _SUBSCRIBED_MAX:
            raise Refusal("INVALID_REQUEST", "the member subscribes to too many topics")
        fresh = member.id not in self.target
        changed = fresh or wanted != member.subscribed or (assignor is not None and assignor != member.assignor)
        member.subscribed = wanted
        member.assignor = assignor or member.assignor
        return changed

    def _count_partitions_by_topic(self) -> dict[str, int]:
        names = {name for member in self.members.values() for name in member.subscribed}
        topics = self.cluster.topics
        return {name: len(topics[name].logs) for name in sorted(names) if name in topics}

    def _begin_new_target(self) -> None:
        """Begin a new epoch, with a new target assignment."""
        self.epoch += 1
        self._partitions = self._count_partitions_by_topic()
        before = self.target
        self.target = {name: set() for name in self.members}
        by_range = self.assignor == "range"
        for name, count in self._partitions.items():
            topic_id = self.cluster.topics[name].id
            takers = sorted(member.id for member in self.members.values() if name in member.subscribed)
            places = [(topic_id, number) for number in range(count)]
            if by_range:
                self._assign_ranges(takers, places)
            else:
                self._assign_evenly(takers, places, before)

    def _assign_ranges(self, takers: list[str], places: list[TopicIdPartition]) -> None:
        share, more = divmod(len(places), len(takers))
        at = 0
        for index, taker in enumerate(takers):
            stop = at + share + (index < more)
            self.target[taker].update(places[at:stop])
            at = stop

    def _assign_evenly(
        self, takers: list[str], places: list[TopicIdPartition], before: dict[str, set[TopicIdPartition]]
    ) -> None:
        """Assign partitions as evenly as possible; a member keeps those that it had where the result is as even."""
        most, more = divmod(len(places), len(takers))
        room = dict.fromkeys(takers, most)
        left = []
        for place in places:
            owner = next((name for name in takers if place in before.get(name, ())), None)
            if owner is not None and (room[owner] > 0 or more > 0):
                more -= room[owner] <= 0
                room[owner] -= 1
                self.target[owner].add(place)
            else:
                left.append(place)
        for place in left:
            taker = max(takers, key=lambda name: (room[name], -len(self.target[name])))
            room[taker] -= 1
            self.target[taker].add(place)

    def _move_member_towards_target(self, member: _ConsumerMember) -> None:
        """Lead a member one step towards its target."""
        target = self.target[member.id]
        surplus = member.assigned - target
        if surplus:
            member.assigned -= surplus
            member.releasing |= surplus
        if member.releasing:
            if not member.epoch:
                member.epoch = self.epoch
            return
        member.epoch = self.epoch
        taken: set[TopicIdPartition] = set()
        for other in self.members.values():
            if other is not member:
                taken |= other.assigned | other.releasing
        member.assigned |= target - taken

    def _start_session_timer(self, member: _ConsumerMember) -> None:
        member.deadline_ms = self.cluster.now_ms + SESSION_MS
        self.cluster.schedule(SESSION_MS, partial(self._check_session_timeout, member))

    def _check_session_timeout(self, member: _ConsumerMember) -> None:
        if self.members.get(member.id) is not member:
            return
        left_ms = member.deadline_ms - self.cluster.now_ms
        if left_ms > 0:
            self.cluster.schedule(left_ms, partial(self._check_session_timeout, member))
        else:
            self._remove_member(member)

    def _remove_member(self, member: _ConsumerMember) -> None:
        del self.members[member.id]
        self.target.pop(member.id, None)
        if self.members:
            self._begin_new_target()
        else:
            self.epoch += 1


def _build_assignment_by_topic_id(places: set[TopicIdPartition]) -> dict[str, Any]:
    topics: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(places, key=lambda place: (place[0].bytes, place[1])):
        topics.setdefault(topic_id, []).append(number)
    return {"topic_partitions": [{"topic_id": each, "partitions": numbers} for each, numbers in topics.items()]}


def handle_consumer_group_heartbeat(cluster: MockCluster, call: Call) -> ResponseBody:
    """ConsumerGroupHeartbeat: a member joins, stays or leaves."""
    group_id = call.body["group_id"]
    cluster.check_coordinator(call, 0, group_id)
    found = cluster.groups.get(group_id)
    if found is not None and found.kind != ConsumerGroup.kind and not found.is_empty:
        raise Refusal("INCONSISTENT_GROUP_PROTOCOL")
    if isinstance(found, ConsumerGroup):
        return found.take_heartbeat(call)
    if call.body["member_epoch"] != 0:
        raise Refusal("UNKNOWN_MEMBER_ID")
    if found is None and len(cluster.groups) >= MOCK_GROUPS_MAX:
        cluster.add_note_for_user(f"the mock has {MOCK_GROUPS_MAX:,} groups, its limit: it refuses more")
        raise Refusal("GROUP_MAX_SIZE_REACHED")
    made = ConsumerGroup(cluster, group_id)
    answer = made.take_heartbeat(call)
    cluster.groups[group_id] = made
    return answer
