"""The events of one group in, its generations out: who joined, who left and how, who waited how long, who has what.

Theory of operation. A generation of a classic group is what its members were told in their answers to JoinGroup: the
answers of one generation come together, and its assignments follow in the answers to SyncGroup.

```
members of generation 4 ─┐   told, left, joins, silence   ┌─ members of generation 5
          ready (4) ─────┴───────────────────────────────┴──── ready (5)
                          what happened first is the cause
```

A member of 4 that is not in 5 has left (a LeaveGroup says so), was fenced, was replaced (the same instance id came back
under another member id), or is gone without a request: its session or the time to join ran out, or the capture does not
have the request. The epochs of consumer, share and streams groups are shown as generations too: a member reaches each
in its own time, so there is nothing to wait for but its assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.analysis.groups.group_events import CLASSIC, Assigned, Described, GroupEvent, Joining
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["Generation", "Timeline"]

_MS: Final = 1_000_000


class Generation:
    """A generation: `number`, when it `began` (the first request) and was `ready` (the last assignment), in ns."""

    __slots__ = ("assigned", "began", "group_type", "joined", "known", "left", "number", "ready", "seen", "synced")

    def __init__(self, number: int, event: GroupEvent) -> None:
        self.number = number
        self.group_type = event.group_type
        self.began = event.asked_ns
        self.ready = event.time_ns
        self.joined: dict[str, GroupEvent] = {}  # member → its JoinGroup, or the heartbeat with which it joined
        self.synced: dict[str, GroupEvent] = {}  # member → its SyncGroup
        self.assigned: dict[str, Assigned] = {}
        self.known: dict[str, str | None] = {}  # members that the leader was told of, with their instance ids
        self.seen: dict[str, GroupEvent] = {}  # member → how it reached an epoch
        self.left: list[GroupEvent] = []

    def list_members(self) -> list[str]:
        """All members that are known to be in the generation, in order."""
        return sorted({*self.joined, *self.synced, *self.assigned, *self.known, *self.seen})

    def instance_id_of(self, member: str) -> str | None:
        """The instance id of a member."""
        event = self.joined.get(member) or self.synced.get(member) or self.seen.get(member)
        return self.known.get(member) or (event.instance if event else None)


class Timeline:
    """Generations and state of one group, made from its events. `clients`: member → client id (or host) and host."""

    def __init__(
        self, events: Iterable[GroupEvent], clients: Mapping[str, tuple[str, str]], described: Described | None
    ) -> None:
        self.events = sorted(events, key=lambda each: (*each[:5], repr(each[5:])))
        self.described = described
        self.clients = dict(clients)
        for event in self.events:
            if event.member and event.kind != "left" and event.member not in self.clients:
                self.clients[event.member] = event.client, event.host
        self.generations = list(self._build_generations())

    @property
    def group_type(self) -> str | None:
        """classic, consumer, share or streams, as the latest event or description says; None where there is none."""
        said = [(event.time_ns, event.group_type) for event in self.events if event.kind != "deleted"]
        if self.described is not None and self.described.group_type:
            said.append((self.described.time_ns, self.described.group_type))
        return max(said)[1] if said else None

    # Events to generations.

    def _build_generations(self) -> Iterator[Generation]:
        found: list[Generation] = []
        for event in self.events:
            if event.kind == "deleted":
                yield from found
                found = []
            elif event.kind in ("joined", "moved", "assigned") and event.generation > 0:
                self._add_event_to_generations(found, event)
        yield from found

    @staticmethod
    def _add_event_to_generations(generations: list[Generation], event: GroupEvent) -> None:
        its = next((each for each in reversed(generations) if each.number == event.generation), None)
        classic = event.group_type == CLASSIC
        begun_anew = classic and event.kind == "joined" and its is not None and its is not generations[-1]
        if its is None or begun_anew:
            its = Generation(event.generation, event)
            generations.append(its)
        its.began = min(its.began, event.asked_ns)
        its.ready = max(its.ready, event.time_ns)
        if event.kind == "joined":
            its.joined[event.member] = event
            its.known |= dict(Joining(*event.detail).members)
        elif event.kind == "assigned":
            its.assigned |= {member: has for member, has in event.detail if has or member not in its.assigned}
            its.synced[event.member] = event
        if not classic:
            its.seen[event.member] = event

    # Generations to rows.

    def rows(self) -> list[Row]:
        """A row for each generation, in order."""
        rows = []
        before: Generation | None = None
        here: dict[str, str | None] = {}  # members of the epoch before
        for its in self.generations:
            since = before.ready if before is not None else 0
            if its.group_type == CLASSIC:
                rows.append(self._make_classic_row(its, before, since))
            else:
                rows.append(self._make_epoch_row(its, before.began if before is not None else 0, here))
            before = its
        return rows

    def _make_classic_row(self, generation: Generation, before: Generation | None, since: int) -> Row:
        members = generation.list_members()
        new = self._find_new_members(generation, before, members)
        gone = [] if before is None else [name for name in before.list_members() if name not in members]
        between = [event for event in self.events if since <= event.time_ns <= generation.ready]
        left = [self._make_leaver_row(before, name, generation, between) for name in gone] if before is not None else []
        joins = [event for event in generation.joined.values() if event.text]
        reasons = sorted({str(event.text) for event in joins} | {row["reason"] for row in left if row["reason"]})
        return {
            **self._make_common_columns(generation, members),
            "joined": [self._make_id_columns(name, generation) for name in members if name in new],
            "left": left,
            "cause": self._find_rebalance_cause(generation, before, new, left, between),
            "reasons": reasons,
        }

    @staticmethod
    def _find_new_members(generation: Generation, before: Generation | None, members: Sequence[str]) -> set[str]:
        """Members that were not in the generation before; where that is not known, members that join without an id."""
        if before is not None and before.number + 1 == generation.number:
            return {*members} - {*before.list_members()}
        if generation.number == 1:
            return {*members}
        return {name for name, event in generation.joined.items() if Joining(*event.detail).fresh}

    def _make_leaver_row(
        self, before: Generation, name: str, generation: Generation, between: Sequence[GroupEvent]
    ) -> Row:
        """The row of a member that went: how, when, and the reason."""
        events = [event for event in between if event.member == name or self._is_about_instance_of(event, before, name)]
        how, reason, time_ns = "gone", None, None
        for event in events:
            if event.kind == "left":
                how, reason, time_ns = "left", event.text, event.time_ns
                break
            if event.kind == "fenced":
                how, time_ns = "fenced", event.time_ns
        instance = before.instance_id_of(name)
        if (
            how == "gone"
            and instance
            and any(generation.instance_id_of(other) == instance for other in generation.list_members())
        ):
            how = "replaced"
        time = format_rfc3339(time_ns) if time_ns is not None else None
        return {**self._make_id_columns(name, before), "how": how, "reason": reason, "time": time}

    @staticmethod
    def _is_about_instance_of(event: GroupEvent, before: Generation, name: str) -> bool:
        """Whether an event without a member id is about a member with this instance id (KIP-345)."""
        return not event.member and event.instance is not None and event.instance == before.instance_id_of(name)

    def _find_rebalance_cause(
        self,
        generation: Generation,
        before: Generation | None,
        new: set[str],
        left: Sequence[Row],
        between: Sequence[GroupEvent],
    ) -> Row | None:
        """What happened first after the generation before was ready; None where nobody was seen to do anything."""
        found: list[tuple[int, str, str, str | None]] = []
        told = min((event.time_ns for event in between if event.kind == "told"), default=None)
        for name, event in generation.joined.items():
            asked = event.asked_ns
            if name in new:
                found.append((asked, "joined", name, event.text))
            elif told is None or asked < told:
                found.append((asked, "rejoined", name, event.text))
        goers = {row["member_id"] for row in left if row["how"] == "left"}
        found += [
            (event.time_ns, "left", event.member, event.text)
            for event in between
            if event.member in goers and event.kind == "left"
        ]
        silent = [row["member_id"] for row in left if row["how"] in ("gone", "fenced", "replaced")]
        first = min(found, default=None)
        if silent and (first is None or first[1] == "rejoined" or (told is not None and first[0] > told)):
            return {"what": "gone", **self._make_id_columns(silent[0], before or generation), "reason": None}
        if first is None:
            return None
        _, what, name, reason = first
        return {
            "what": what,
            **self._make_id_columns(name, before if what == "left" and before else generation),
            "reason": reason,
        }

    def _make_epoch_row(self, epoch: Generation, since: int, members_so_far: dict[str, str | None]) -> Row:
        """The row of an epoch of a consumer, share or streams group; `members_so_far` is updated."""
        joined = [name for name, event in sorted(epoch.joined.items()) if event.time_ns > since]
        goers = [
            event
            for event in self.events
            if event.kind in ("left", "fenced")
            and event.member in members_so_far
            and since < event.time_ns <= epoch.began
        ]
        left = []
        for event in goers:
            if event.member in members_so_far:
                reason, time = (event.text if event.kind == "left" else None), format_rfc3339(event.time_ns)
                name = {
                    **self._make_id_columns(event.member, epoch),
                    "instance_id": members_so_far.pop(event.member),
                }
                left.append({**name, "how": event.kind, "reason": reason, "time": time})
        members_so_far |= {name: epoch.instance_id_of(name) for name in epoch.list_members()}
        first = epoch.joined[joined[0]] if joined else None
        cause: Row | None = None
        if left and (first is None or left[0]["time"] < format_rfc3339(first.asked_ns)):
            cause = {"what": left[0]["how"], **{key: left[0][key] for key in _NAME}, "reason": left[0]["reason"]}
        elif first is not None:
            cause = {"what": "joined", **self._make_id_columns(first.member, epoch), "reason": None}
        return {
            **self._make_common_columns(epoch, epoch.list_members()),
            "joined": [self._make_id_columns(name, epoch) for name in joined],
            "left": left,
            "cause": cause,
            "reasons": [],
        }

    def _make_common_columns(self, generation: Generation, members: Sequence[str]) -> Row:
        joins = [Joining(*event.detail) for event in generation.joined.values()]
        return {
            "generation": generation.number,
            "began": format_rfc3339(generation.began),
            "ready": format_rfc3339(generation.ready) if generation.synced else None,
            "took_ms": (generation.ready - generation.began) / _MS if generation.synced else None,
            "protocol": next((each.protocol for each in joins if each.protocol), None),
            "leader": next((each.leader for each in joins if each.leader), None),
            "members": [self._make_member_row(generation, name) for name in members],
        }

    def _make_member_row(self, generation: Generation, name: str) -> Row:
        """The row of a member; `waited_ms`: for JoinGroup and SyncGroup, or its first assignment, null if not seen."""
        joined, synced = generation.joined.get(name), generation.synced.get(name)
        if generation.group_type == CLASSIC:
            waits = [event.time_ns - event.asked_ns for event in (joined, synced) if event is not None]
        else:
            waits = [synced.time_ns - (joined or synced).asked_ns] if synced is not None else []
        return {
            **self._make_id_columns(name, generation),
            "waited_ms": sum(waits) / _MS if waits else None,
            "assignment": assignment_by_topic(generation.assigned[name]) if name in generation.assigned else None,
        }

    def _make_id_columns(self, member: str, generation: Generation) -> Row:
        client, host = self.clients.get(member, (None, None))
        return {
            "member_id": member,
            "instance_id": generation.instance_id_of(member),
            "client_id": client,
            "address": host,
        }

    # The present state.

    def state(self) -> str | None:
        """The group's state in Kafka's words, by the latest description or by later events; None where not known."""
        last = max((event.time_ns for event in self.events), default=0)
        if self.described is not None and self.described.time_ns >= last and self.described.state:
            return self.described.state
        if not self.events:
            return None
        if self.events[-1].kind == "deleted":
            return "Dead"
        if not self.generations:
            return None
        its = self.generations[-1]
        present = self.list_present_members()
        if not present:
            return "Empty"
        if its.group_type != CLASSIC:
            behind = any(self._latest_epoch_of(name) < its.number for name in present)
            return "Reconciling" if behind else "Stable"
        later = [event for event in self.events if event.time_ns > its.ready]
        if any(event.kind in ("told", "left", "unanswered", "named") for event in later):
            return "PreparingRebalance"
        return "Stable" if its.synced else "CompletingRebalance"

    def _latest_epoch_of(self, member: str) -> int:
        return max((each.number for each in self.generations if member in each.seen), default=0)

    def list_present_members(self) -> list[str]:
        """The members of the latest generation, without those that have left or were fenced since."""
        if not self.generations or (self.events and self.events[-1].kind == "deleted"):
            return []
        its = self.generations[-1]
        if its.group_type == CLASSIC:
            begun, members = its.began, its.list_members()
        else:
            begun, members = 0, sorted({name for each in self.generations for name in each.seen})
        return [name for name in members if not self._has_left(name, begun, its)]

    def _has_left(self, member: str, since: int, generation: Generation) -> bool:
        last = max((event.time_ns for event in self.events if event.member == member and event.kind in _IN), default=0)
        return any(
            event.kind in ("left", "fenced")
            and event.time_ns > max(since, last)
            and (event.member == member or self._is_about_instance_of(event, generation, member))
            for event in self.events
        )

    def assignments_of_present_members(self) -> dict[str, Assigned]:
        """The assignment that each present member has now."""
        found: dict[str, Assigned] = {}
        present = {*self.list_present_members()}
        for each in self.generations:
            found |= {name: has for name, has in each.assigned.items() if name in present}
        last = self.generations[-1] if self.generations else None
        if last is not None and last.group_type == CLASSIC:
            found = {name: has for name, has in found.items() if name in last.assigned}
        return found

    def topics_of_members(self) -> set[str]:
        """Topics that members have had, or asked for."""
        found = {topic for each in self.generations for has in each.assigned.values() for topic, _ in has}
        for each in self.generations:
            for event in each.joined.values():
                found |= {*Joining(*event.detail).topics}
        return found


_IN: Final = ("joined", "assigned", "moved")
_NAME: Final = ("member_id", "instance_id", "client_id", "address")


def assignment_by_topic(assigned: Assigned) -> dict[str, list[int]]:
    """An assignment as topic → partitions."""
    return {topic: list(numbers) for topic, numbers in assigned}
