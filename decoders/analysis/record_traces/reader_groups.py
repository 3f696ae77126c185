"""Histories of groups in; for a client that reads a partition at a time, its group, generation and member out.

A Fetch names no group. Its client, by client id and host, is a member of groups, and members are told which partitions
they have: so a fetch is for the group that had given the partition to a member of this client by then. Where no
assignment of a group is in the capture, a client that commits the partition for a group reads it for this group.

A client that leaves its group drops what it asked for and has not got by then, but brokers, and a proxy between, may
answer still: such a Fetch is of a member that `has_left`. What it asks for after it has left it reads for itself. A
member that somebody else removes reads on until it hears of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from decoders.analysis.groups.group_events import CLASSIC
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.groups.group_histories import GroupHistories
    from decoders.analysis.groups.group_timeline import Generation, Timeline

__all__ = ["ReaderGroup", "ReaderGroups"]


class ReaderGroup(NamedTuple):
    """For which group a client reads; generation and member are None where the capture does not tell them.

    `has_left`: the member had left the group by itself, so it drops what it gets.
    """

    group: str
    generation: int | None
    member: str | None
    has_left: bool = False


# Client id (or host) and host.
Client = tuple[str, str]
_NOBODY: Final = ""


class ReaderGroups:
    """Who had which partition when. `committers`: group, client and partition of commits."""

    def __init__(
        self, histories: GroupHistories, committers: Iterable[tuple[str, Client, tuple[str, int]]] = ()
    ) -> None:
        # Partition → group → since when (ns), generation, member with its client; in order of time.
        self._owners: defaultdict[tuple[str, int], dict[str, list[tuple[int, int, str, Client]]]] = defaultdict(dict)
        # Group → first time of an assignment; member of a group → since when it was in which epoch.
        self._first: dict[str, int] = {}
        self._epochs: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        # Member of a group → when it left by itself.
        self._leaves: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._committers: defaultdict[tuple[Client, tuple[str, int]], set[str]] = defaultdict(set)
        for group, client, where in committers:
            self._committers[client, where].add(group)
        for group in histories.by_group:
            self._add_group(group, histories.make_timeline(group))

    def _add_group(self, group: str, timeline: Timeline) -> None:
        for event in timeline.events:
            if event.kind == "left" and timeline.clients.get(event.member) == (event.client, event.host):
                self._leaves[group, event.member].append(event.asked_ns)
        before: set[tuple[str, int]] = set()
        for generation in timeline.generations:
            places: set[tuple[str, int]] = set()
            for member, assigned in generation.assigned.items():
                client = timeline.clients.get(member)
                since = _time_of_assignment(generation, member)
                self._first[group] = min(self._first.get(group, since), since)
                for topic, numbers in assigned:
                    for number in numbers:
                        places.add((topic, number))
                        its = self._owners[topic, number].setdefault(group, [])
                        its.append((since, generation.number, member, client or (_NOBODY, _NOBODY)))
            for member, event in generation.seen.items():
                self._epochs[group, member].append((event.time_ns, generation.number))
            if generation.group_type == CLASSIC and generation.assigned:
                for gone in before - places:  # nobody has it now
                    its = self._owners[gone].setdefault(group, [])
                    its.append((generation.ready, generation.number, _NOBODY, (_NOBODY, _NOBODY)))
                before = places
        for by_group in self._owners.values():
            by_group.get(group, []).sort()
        for epochs in self._epochs.values():
            epochs.sort()

    def find_group(
        self, client: Client, where: tuple[str, int], time_ns: int, asked_ns: int | None = None
    ) -> ReaderGroup | None:
        """For which group a client reads a partition at a time; None where that is not known, or several are.

        `asked_ns`: when it asked for what it got at this time.
        """
        found = [
            ReaderGroup(group, *its)
            for group, owners in self._owners.get(where, {}).items()
            if (its := self._find_owner(group, owners, client, (time_ns, asked_ns))) is not None
        ]
        if len(found) == 1:
            return found[0]
        if found:
            return None
        groups = [
            group
            for group in self._committers.get((client, where), ())
            if self._first.get(group, time_ns + 1) > time_ns
        ]
        return ReaderGroup(groups[0], None, None) if len(groups) == 1 else None

    def _find_owner(
        self,
        group: str,
        owners: list[tuple[int, int, str, Client]],
        client: Client,
        times_ns: tuple[int, int | None],
    ) -> tuple[int, str, bool] | None:
        """Generation and member of the client, if it has the partition at this time; whether it had left by then."""
        time_ns, asked_ns = times_ns
        at = bisect_right(owners, time_ns, key=lambda owner: owner[0])
        if not at:
            return None
        since, generation, member, its = owners[at - 1]
        if its != client:
            # A member that lost the partition may read on until it hears of it.
            earlier = [owner for owner in owners[: at - 1] if owner[3] == client]
            if not earlier or owners[at - 1][0] < time_ns - _HEARS_LATE_NS:
                return None
            since, generation, member, _ = earlier[-1]
        epochs = self._epochs.get((group, member), ())
        reached = [number for since_epoch, number in epochs if since_epoch <= time_ns]
        leaves = [left for left in self._leaves.get((group, member), ()) if since < left <= time_ns]
        if asked_ns is not None and any(left < asked_ns for left in leaves):
            return None
        return max([generation, *reached]), member, bool(leaves)


# How long a member may go on to read a partition that another has by now: until its next heartbeat is answered.
_HEARS_LATE_NS: Final = 10 * 10**9


def _time_of_assignment(generation: Generation, member: str) -> int:
    """When a member was told its partitions, in ns; where that was not seen, when its generation was ready."""
    event = generation.synced.get(member)
    if event is None:
        return generation.began if generation.group_type == CLASSIC else generation.ready
    return event.time_ns
