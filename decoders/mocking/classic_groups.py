"""Groups whose members assign partitions themselves: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

    empty ──join──▶ preparing ──all have joined──▶ completing ──leader's assignment──▶ stable
                        ▲  └── its time is over: those who did not join are out           │
                        └───────────── a member joins, leaves or is silent ◀──────────────┘

A JoinGroup is answered when every member has sent one, a SyncGroup when the leader's has come. Static members
(KIP-345) keep their place when they come again under the same instance id.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from decoders.limits import MOCK_GROUPS_MAX, MOCK_MEMBERS_MAX
from decoders.mocking.build_response_bodies import Outcome, RequestBody, ResponseBody, build_refusal_body
from decoders.mocking.cluster_state import Call, MockCluster, Timer
from decoders.mocking.refusal_error import Refusal

__all__ = [
    *("ClassicGroup", "ClassicGroupState", "handle_heartbeat", "handle_join_group"),
    *("handle_leave_group", "handle_sync_group"),
]

_MEMBER_ID_REQUIRED_FROM: Final = 4
_SESSION_MAX_MS: Final = 30 * 60_000


class ClassicGroupState(Enum):
    """The state of a group, under Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(slots=True)
class _ClassicMember:
    id: str
    instance: str | None
    client_id: str
    host: str
    session_ms: int
    rebalance_ms: int
    protocols: list[dict[str, Any]]
    deadline_ms: int = 0
    assignment: bytes = b""
    joining: Call | None = None
    syncing: Call | None = None

    def metadata_for_protocol(self, protocol: str | None) -> bytes:
        """The member's metadata for a protocol; empty where it has none."""
        found: bytes = next((row["metadata"] for row in self.protocols if row["name"] == protocol), b"")
        return found


class ClassicGroup:
    """One classic group: its state, generation and members."""

    kind = "classic"

    def __init__(self, cluster: MockCluster, group_id: str) -> None:
        self.cluster = cluster
        self.id = group_id
        self.state = ClassicGroupState.EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader = ""
        self.members: dict[str, _ClassicMember] = {}
        self.promised: dict[str, int] = {}  # member ids given out, and until when they may be used
        self._timer: Timer | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    # joining

    def join_member(self, call: Call) -> ResponseBody | Outcome:
        """Have a member join, for the first time or again. Raises Refusal."""
        body = call.body
        instance = body.get("group_instance_id")
        member_id = body["member_id"]
        if not 0 < body["session_timeout_ms"] <= _SESSION_MAX_MS:
            raise Refusal("INVALID_SESSION_TIMEOUT")
        self._check_protocols_in_common(body, member_id)
        if instance is not None:
            member_id = self._replace_static_member(call, instance, member_id)
        elif not member_id:
            member_id = f"{call.client_id or 'client'}-{self.cluster.next_unique_number():012x}"
            if call.version >= _MEMBER_ID_REQUIRED_FROM:
                self.promised = {name: at for name, at in self.promised.items() if at > self.cluster.now_ms}
                self._refuse_if_full(len(self.promised))
                self.promised[member_id] = self.cluster.now_ms + body["session_timeout_ms"]
                return {**build_refusal_body(call, Refusal("MEMBER_ID_REQUIRED")), "member_id": member_id}
        elif member_id not in self.members and self.promised.pop(member_id, None) is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        known = self.members.get(member_id)
        if known is not None and self._is_rejoin_without_change(known, body):
            known.deadline_ms = self.cluster.now_ms + known.session_ms
            return self._build_join_response(known)
        if known is None:
            self._refuse_if_full(0)
            known = self.members[member_id] = _ClassicMember(
                *(member_id, instance, call.client_id or "", call.client_host),
                *(body["session_timeout_ms"], 0, []),
            )
            self._start_session_timer(known)
        known.protocols = body["protocols"]
        known.session_ms = body["session_timeout_ms"]
        rebalance_ms = body.get("rebalance_timeout_ms", -1)
        known.rebalance_ms = min(rebalance_ms if rebalance_ms > 0 else known.session_ms, _SESSION_MAX_MS)
        self.protocol_type = body["protocol_type"]
        known.joining = call
        if self.state is not ClassicGroupState.PREPARING:
            self._begin_rebalance()
        answer = self._end_joining_if_all_joined(call)
        return Outcome.WAIT if answer is None else answer

    def _refuse_if_full(self, more: int) -> None:
        if len(self.members) + more >= MOCK_MEMBERS_MAX:
            raise Refusal("GROUP_MAX_SIZE_REACHED")

    def _check_protocols_in_common(self, body: RequestBody, member_id: str) -> None:
        others = [member for member in self.members.values() if member.id != member_id]
        names = {row["name"] for row in body["protocols"]}
        if not names or not body["protocol_type"]:
            raise Refusal("INCONSISTENT_GROUP_PROTOCOL")
        if others and body["protocol_type"] != self.protocol_type:
            raise Refusal("INCONSISTENT_GROUP_PROTOCOL")
        for member in others:
            names &= {row["name"] for row in member.protocols}
        if not names:
            raise Refusal("INCONSISTENT_GROUP_PROTOCOL")

    def _replace_static_member(self, call: Call, instance: str, member_id: str) -> str:
        """The member id of a static member, which is new each time that it joins without one."""
        known = next((member for member in self.members.values() if member.instance == instance), None)
        if member_id:
            if known is None:
                raise Refusal("UNKNOWN_MEMBER_ID")
            if known.id != member_id:
                raise Refusal("FENCED_INSTANCE_ID")
            return member_id
        fresh = f"{instance}-{self.cluster.next_unique_number():012x}"
        if known is not None:
            for waiting in (known.joining, known.syncing):
                if waiting is not None and waiting is not call:
                    waiting.send_late_answer(build_refusal_body(waiting, Refusal("FENCED_INSTANCE_ID")))
            known.joining = known.syncing = None
            self.members = {fresh if name == known.id else name: member for name, member in self.members.items()}
            if self.leader == known.id:
                self.leader = fresh
            known.id = fresh
        return fresh

    def _is_rejoin_without_change(self, member: _ClassicMember, body: RequestBody) -> bool:
        """Whether a member that joins again changes nothing."""
        if member.protocols != body["protocols"] or self.protocol is None:
            return False
        if self.state is ClassicGroupState.COMPLETING:
            return True
        return self.state is ClassicGroupState.STABLE and (member.id != self.leader or member.instance is not None)

    def _begin_rebalance(self) -> None:
        """Begin a rebalance."""
        for member in self.members.values():
            if member.syncing is not None:
                waiting, member.syncing = member.syncing, None
                member.deadline_ms = self.cluster.now_ms + member.session_ms
                waiting.send_late_answer(build_refusal_body(waiting, Refusal("REBALANCE_IN_PROGRESS")))
        self.state = ClassicGroupState.PREPARING
        longest = max((member.rebalance_ms for member in self.members.values()), default=0)
        self._cancel_joining_timer()
        self._timer = self.cluster.schedule(longest, self._end_joining_at_timeout)

    def _cancel_joining_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_joining_if_all_joined(self, asking: Call | None = None) -> dict[str, Any] | None:
        """End the joining if all members have joined; the response to the call `asking`, None where it must wait."""
        if self.state is not ClassicGroupState.PREPARING or any(
            member.joining is None for member in self.members.values()
        ):
            return None
        return self._end_joining(asking)

    def _end_joining_at_timeout(self) -> None:
        """Remove the members that have not joined in time, and end the joining."""
        if self.state is ClassicGroupState.PREPARING:
            self.members = {name: member for name, member in self.members.items() if member.joining is not None}
            self._end_joining(None)

    def _end_joining(self, asking: Call | None) -> dict[str, Any] | None:
        self._cancel_joining_timer()
        # A member whose connection is gone can neither be answered nor lead.
        self.members = {
            name: member
            for name, member in self.members.items()
            if member.joining is None or member.joining is asking or not member.joining.has_client_left
        }
        if not self.members:
            self._become_empty()
            return None
        self.generation += 1
        self.state = ClassicGroupState.COMPLETING
        self.protocol = self._choose_protocol()
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        own = None
        calls = []
        for member in self.members.values():
            call, member.joining = member.joining, None
            member.assignment = b""
            member.deadline_ms = self.cluster.now_ms + member.session_ms
            if call is not None:
                calls.append((call, self._build_join_response(member)))
        for call, body in calls:
            if call is asking:
                own = body
            else:
                call.send_late_answer(body)
        return own

    def _choose_protocol(self) -> str:
        """The protocol that most members put first, of those that all members know."""
        rows: list[list[str]] = [[row["name"] for row in member.protocols] for member in self.members.values()]
        common = set(rows[0]).intersection(*rows)
        votes = Counter(next(name for name in names if name in common) for names in rows)
        return votes.most_common(1)[0][0]

    def _build_join_response(self, member: _ClassicMember) -> ResponseBody:
        leads = member.id == self.leader
        return {
            "error_code": 0,
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": self.leader,
            "skip_assignment": leads and self.state is ClassicGroupState.STABLE,
            "member_id": member.id,
            "members": [
                {
                    "member_id": each.id,
                    "group_instance_id": each.instance,
                    "metadata": each.metadata_for_protocol(self.protocol),
                }
                for each in self.members.values()
            ]
            if leads
            else [],
        }

    # assignment

    def sync_member(self, call: Call) -> ResponseBody | Outcome:
        """The member's part of the assignment, once the leader has sent it. Raises Refusal."""
        body = call.body
        member = self.find_member(body["member_id"], body["generation_id"], body.get("group_instance_id"))
        if body.get("protocol_name") not in (None, self.protocol):
            raise Refusal("INCONSISTENT_GROUP_PROTOCOL")
        if self.state is ClassicGroupState.PREPARING:
            raise Refusal("REBALANCE_IN_PROGRESS")
        if self.state is ClassicGroupState.STABLE:
            return self._build_sync_response(member)
        member.deadline_ms = self.cluster.now_ms + member.session_ms
        if member.id != self.leader:
            member.syncing = call
            return Outcome.WAIT
        for row in body["assignments"]:
            if row["member_id"] in self.members:
                self.members[row["member_id"]].assignment = row["assignment"]
        self.state = ClassicGroupState.STABLE
        for each in list(self.members.values()):
            waiting, each.syncing = each.syncing, None
            if waiting is not None:
                each.deadline_ms = self.cluster.now_ms + each.session_ms
                waiting.send_late_answer(self._build_sync_response(each))
        return self._build_sync_response(member)

    def _build_sync_response(self, member: _ClassicMember) -> ResponseBody:
        return {
            "error_code": 0,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": member.assignment,
        }

    # sessions of members

    def find_member(self, member_id: str, generation: int, instance: str | None) -> _ClassicMember:
        """The member with this id and generation. Raises Refusal where there is none."""
        if instance is not None:
            known = next((each for each in self.members.values() if each.instance == instance), None)
            if known is not None and known.id != member_id:
                raise Refusal("FENCED_INSTANCE_ID")
        member = self.members.get(member_id)
        if member is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        if generation != self.generation:
            raise Refusal("ILLEGAL_GENERATION")
        return member

    def check_may_commit(self, member_id: str, generation: int, instance: str | None) -> None:
        """Check that a member may commit offsets. Raises Refusal."""
        if generation < 0 and not member_id and not self.members:
            return
        member = self.find_member(member_id, generation, instance)
        member.deadline_ms = self.cluster.now_ms + member.session_ms
        if self.state is ClassicGroupState.COMPLETING:
            raise Refusal("REBALANCE_IN_PROGRESS")

    def take_heartbeat(self, member_id: str, generation: int, instance: str | None) -> None:
        """Take the heartbeat of a member. Raises Refusal."""
        member = self.find_member(member_id, generation, instance)
        member.deadline_ms = self.cluster.now_ms + member.session_ms
        if self.state is ClassicGroupState.PREPARING:
            raise Refusal("REBALANCE_IN_PROGRESS")

    def _start_session_timer(self, member: _ClassicMember) -> None:
        member.deadline_ms = self.cluster.now_ms + member.session_ms
        self.cluster.schedule(member.session_ms, partial(self._check_session_timeout, member))

    def _check_session_timeout(self, member: _ClassicMember) -> None:
        """Remove a member whose session has timed out; else look again later."""
        if self.members.get(member.id) is not member:
            return
        waits = any(call is not None and not call.has_client_left for call in (member.joining, member.syncing))
        if waits:
            member.deadline_ms = self.cluster.now_ms + member.session_ms
        left_ms = member.deadline_ms - self.cluster.now_ms
        if left_ms > 0:
            self.cluster.schedule(left_ms, partial(self._check_session_timeout, member))
        else:
            self.remove_member(member)

    def remove_leaving_member(self, member_id: str, instance: str | None) -> None:
        """Remove a member that leaves. Raises Refusal."""
        if instance is not None:
            known = next((each for each in self.members.values() if each.instance == instance), None)
            if known is not None and member_id and known.id != member_id:
                raise Refusal("FENCED_INSTANCE_ID")
        else:
            known = self.members.get(member_id)
            if known is None and self.promised.pop(member_id, None) is not None:
                return
        if known is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        self.remove_member(known)

    def remove_member(self, member: _ClassicMember) -> None:
        """Remove a member, and have the others share its partitions."""
        del self.members[member.id]
        for waiting in (member.joining, member.syncing):
            if waiting is not None and not waiting.has_client_left:
                waiting.send_late_answer(build_refusal_body(waiting, Refusal("UNKNOWN_MEMBER_ID")))
        if not self.members:
            self._become_empty()
        elif self.state is ClassicGroupState.PREPARING:
            self._end_joining_if_all_joined()
        else:
            self._begin_rebalance()

    def _become_empty(self) -> None:
        self._cancel_joining_timer()
        if self.state is not ClassicGroupState.EMPTY:
            self.generation += 1
        self.state = ClassicGroupState.EMPTY
        self.protocol = None
        self.leader = ""


def _find_classic_group(cluster: MockCluster, group_id: str) -> ClassicGroup:
    found = cluster.groups.get(group_id)
    if not isinstance(found, ClassicGroup):
        raise Refusal("UNKNOWN_MEMBER_ID")
    return found


def handle_join_group(cluster: MockCluster, call: Call) -> ResponseBody | Outcome:
    """JoinGroup: a member joins a group, which is made where there is none."""
    group_id, member_id = call.body["group_id"], call.body["member_id"]
    cluster.check_coordinator(call, 0, group_id)
    found = cluster.groups.get(group_id)
    if found is not None and found.kind != ClassicGroup.kind and not found.is_empty:
        raise Refusal("INCONSISTENT_GROUP_PROTOCOL")
    if not isinstance(found, ClassicGroup):
        if member_id and call.body.get("group_instance_id") is None:
            raise Refusal("UNKNOWN_MEMBER_ID")
        if found is None and len(cluster.groups) >= MOCK_GROUPS_MAX:
            cluster.add_note_for_user(f"the mock has {MOCK_GROUPS_MAX:,} groups, its limit: it refuses more")
            raise Refusal("GROUP_MAX_SIZE_REACHED")
        found = cluster.groups[group_id] = ClassicGroup(cluster, group_id)
    return found.join_member(call)


def handle_sync_group(cluster: MockCluster, call: Call) -> ResponseBody | Outcome:
    """SyncGroup: a member asks for its assignment; the leader brings all assignments."""
    cluster.check_coordinator(call, 0, call.body["group_id"])
    return _find_classic_group(cluster, call.body["group_id"]).sync_member(call)


def handle_heartbeat(cluster: MockCluster, call: Call) -> ResponseBody:
    """Heartbeat: a member keeps its session."""
    body = call.body
    cluster.check_coordinator(call, 0, body["group_id"])
    group = _find_classic_group(cluster, body["group_id"])
    group.take_heartbeat(body["member_id"], body["generation_id"], body.get("group_instance_id"))
    return {"error_code": 0}


def handle_leave_group(cluster: MockCluster, call: Call) -> ResponseBody:
    """LeaveGroup: members leave a group."""
    body = call.body
    cluster.check_coordinator(call, 0, body["group_id"])
    rows = []
    for asked in body.get("members", [{"member_id": body.get("member_id", "")}]):
        code = 0
        instance = asked.get("group_instance_id")
        try:
            _find_classic_group(cluster, body["group_id"]).remove_leaving_member(asked["member_id"], instance)
        except Refusal as refusal:
            code = refusal.code
        rows.append({"member_id": asked["member_id"], "group_instance_id": instance, "error_code": code})
    return {"error_code": rows[0]["error_code"] if rows and call.version < 3 else 0, "members": rows}
