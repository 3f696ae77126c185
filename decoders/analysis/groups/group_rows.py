"""The fold of `kw groups`: exchanges in, a row for each group out, which rows() puts together from four sources.

```
exchange ─► portrait of the group (counts, errors, latency, clients)   ┐
         ─► events of its members (group_events.py)       ─► group_timeline.py      ├─► a row for each group
         ─► members heard of, the latest description                    │
         ─► ends, positions, commits (partition_offsets_and_lag.py), of all exchanges    ┘
```

Of a group that is left out (client_and_broker_portraits.py), its numbers alone are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.groups.group_events import EVENT_APIS, GroupEvent, group_events_of
from decoders.analysis.groups.group_histories import GroupHistories, GroupHistory
from decoders.analysis.groups.group_timeline import Timeline, assignment_by_topic
from decoders.analysis.groups.partition_offsets_and_lag import (
    COMMITTING,
    NOTHING,
    GroupCommit,
    GroupOffsets,
    ReaderPosition,
    ShareCounts,
    TopicPartition,
    merge_ranges,
    offset_paths,
)
from decoders.analysis.groups.share_deliveries import ShareDeliveries, share_delivery_paths
from decoders.analysis.portraits.client_and_broker_portraits import (
    Names,
    Portrait,
    Portraits,
    groups_of,
    make_latency_columns,
    sender_and_api,
    versions_used,
)
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.protocol_facts.api_keys import LIST_GROUPS, OFFSET_FETCH
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import add_fields_to_older_state, pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["Groups"]

# Partition → positions of the clients that read it for a group.
Readers = dict[TopicPartition, list[ReaderPosition]]
# Group → partition → its commits.
Commits = defaultdict[str, dict[TopicPartition, GroupCommit]]

_MS: Final = 1_000_000
# APIs that ask about a group without taking part in it: OffsetFetch, the Describe APIs, ListGroups, DeleteGroups …
_ASKING: Final = frozenset({OFFSET_FETCH, LIST_GROUPS, 15, 42, 47, 69, 77, 89, 90, 91, 92})
# APIs that only the coordinator of a group answers without an error.
_COORDINATED: Final = frozenset({8, 9, 11, 12, 13, 14, 28, 68, 76, 88})


class Groups(Portraits):
    """Groups with their timelines and lags.

    Offsets are learnt from all exchanges, for a Fetch names no group: a caller that calls `learn` for exchanges that
    filters leave out has to call it for all.
    """

    noun = "groups"

    def __init__(self) -> None:
        super().__init__()
        self._histories = GroupHistories()
        self._offsets = GroupOffsets()
        self._deliveries = ShareDeliveries()
        self._last_ns = 0
        self._learns = False

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of names of groups and topics, of events and offsets."""
        row = EVENT_APIS.get(api_key)
        mine = frozenset() if row is None else frozenset(row.request if side == "request" else row.response)
        return super().needs(api_key, side) | mine | offset_paths(api_key, side) | share_delivery_paths(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, and learn from it."""
        super().add(exchange)
        for group, said in group_events_of(exchange) if exchange.api_key in EVENT_APIS else ():
            if (group,) in self._found:
                self._histories.add_event(group, said, exchange)
        if not self._learns and (self.counted_apart or exchange.api_key not in COMMITTING):
            self._offsets.learn(exchange)  # of the others no commits are kept
            self._learn_share_deliveries(exchange)

    def _sum_up_light_portraits(self) -> None:
        """Keep the groups with the most exchanges, and add up all others."""
        super()._sum_up_light_portraits()
        self._offsets.drop_commits_of_other_groups({group for (group,) in self._found})

    def drop_data_beside_portrait(self, key: tuple[str, ...]) -> None:
        """Give up the history of a group."""
        self._deliveries.drop_group(key[0])
        self._histories.drop_history(key[0])

    @property
    def offsets(self) -> GroupOffsets:
        """Ends of partitions, positions and commits, for a fold of topics over the same exchanges."""
        return self._offsets

    def learn(self, exchange: Exchange) -> None:
        """Learn what an exchange says of offsets, whether or not it counts."""
        self._learns = True
        if exchange.api_key is not None:
            exchange._read_sides()
            self._offsets.learn(exchange)
            self._learn_share_deliveries(exchange)

    def _learn_share_deliveries(self, exchange: Exchange) -> None:
        self._deliveries.learn(exchange)
        self._last_ns = max(self._last_ns, exchange.response_ns or exchange.time_ns)

    def keys_of_exchange(self, exchange: Exchange) -> Iterable[tuple[str]]:
        """Each group."""
        return [(name,) for name in groups_of(exchange)]

    def names_of_exchange(self, exchange: Exchange) -> Names:
        """The clients, coordinators and APIs of the groups."""
        key, info = exchange.api_key, exchange.connection_info
        client = client_of(exchange.client_id, info.client)
        names = [("apis", f"{exchange._api_reader.name} {exchange.api_version}")]
        if key in _ASKING:
            names.append(("asked_by", client))
        else:
            names += [("clients", client), ("readers", f"{client}\0{host_of(info.client)}")]
        if key in _COORDINATED and exchange.outcome == "complete" and not exchange._error_codes:
            names.append(("coordinators", info.broker))
        return names

    def key_of_alike_exchanges(self, exchange: Exchange) -> tuple[Any, ...]:
        """Connection, client, API, whether it was refused, and the groups."""
        accepted = exchange.outcome == "complete" and not exchange._error_codes
        return (*sender_and_api(exchange), accepted, *groups_of(exchange))

    def merge(self, other: Self) -> None:
        """Add the counts of `other`."""
        self._offsets.merge(other._offsets)
        self._deliveries.merge(other._deliveries)
        self._last_ns = max(self._last_ns, other._last_ns)
        super().merge(other)
        self._histories.merge(other._histories, {group for (group,) in self._found})

    def export(self) -> bytes:
        """The state, for `resume`."""
        offsets, deliveries = self._offsets.export(), self._deliveries.export()
        return pack([super().export(), self._histories.state(), offsets, self._learns, deliveries, self._last_ns])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        older = add_fields_to_older_state(unpack(state), 4, 4, ShareDeliveries().export(), 0)
        portraits, histories, offsets, self._learns, deliveries, self._last_ns = state_fields(
            older, bytes, list, bytes, bool, bytes, int
        )
        self._deliveries.resume(deliveries)
        super().resume(portraits)
        self._histories = GroupHistories.make_resumed(histories)
        self._offsets.resume(offsets)

    # Rows.

    def rows(self) -> list[Row]:
        """A row for each group, by name."""
        found, others, count = self.choose_portraits()
        timelines = {}
        for (group,) in found:
            timelines[group] = self._histories.make_timeline(group)
        commits: Commits = defaultdict(dict)
        for (group, topic, number), commit in self._offsets.commits.items():
            if group in timelines:
                commits[group][topic, number] = commit
        readers = self._positions_by_group(timelines, commits)
        rows = [
            self._make_group_row(group, portrait, timelines[group], readers.get(group, {}), commits.get(group, {}))
            for (group,), portrait in sorted(found.items())
        ]
        if count:
            rows.append(self._make_group_row(None, others, Timeline([], {}, None), {}, {}) | {"others": count})
        return rows

    def _positions_by_group(self, timelines: dict[str, Timeline], commits: Commits) -> dict[str, Readers]:
        """Group → partition → positions of the clients that read it for this group.

        A client in several groups reads a partition for the group that has it, else for the group that has its topic,
        if there is just one such group.
        """
        groups: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        by_partition: defaultdict[TopicPartition, set[str]] = defaultdict(set)
        by_topic: defaultdict[str, set[str]] = defaultdict(set)
        for group, timeline in timelines.items():
            for name in self._found[group,].facets.get("readers", ()):
                client, _, host = name.partition("\0")
                groups[client, host].add(group)
            partitions, topics = _partitions_and_topics_of_group(timeline, commits.get(group, {}))
            for place in partitions:
                by_partition[place].add(group)
            for topic in topics:
                by_topic[topic].add(group)
        found: defaultdict[str, Readers] = defaultdict(dict)
        nothing: set[str] = set()
        for (client, host, topic, number), position in self._offsets.readers.items():
            its = groups.get((client, host), nothing)
            if len(its) > 1:
                its = its & by_partition.get((topic, number), nothing) or its & by_topic.get(topic, nothing)
            if len(its) == 1:
                (group,) = its
                found[group].setdefault((topic, number), []).append(position)
        return found

    def _make_group_row(
        self,
        group: str | None,
        portrait: Portrait,
        timeline: Timeline,
        readers: Readers,
        commits: dict[TopicPartition, GroupCommit],
    ) -> Row:
        history = self._histories.by_group.get(group or "") or GroupHistory()
        described = timeline.described
        generations = timeline.rows()
        partitions = self._make_partition_rows(timeline, readers, commits)
        latest = next((row for row in reversed(generations) if row["protocol"]), None)
        group_type = timeline.group_type
        cut = {*portrait.cut, *history.cut, *(("partitions",) if self._offsets.left_out else ())} - {"readers"}
        coordinators = portrait.facets.get("coordinators", {})
        shares = self._offsets.shares.get(group or "")
        locks, last_attempts = self._deliveries.make_rows(group or "", self._last_ns)
        cut |= {"locks"} if group in self._deliveries.cut else set()
        return {
            "group": group,
            "type": group_type,
            "state": timeline.state(),
            "protocol": latest["protocol"] if latest else (described.protocol if described else "") or None,
            "coordinator": max(coordinators, key=lambda name: (coordinators[name][2], name), default=None),
            "members": self._make_member_rows(history, timeline),
            "generation": generations[-1]["generation"] if generations else None,
            "rebalances": len(generations),
            "timeline": generations,
            "refused": _make_refusal_rows(timeline.events),
            "partitions": partitions,
            "commit_lag": _sum_known_values(partitions, "commit_lag"),
            "position_lag": _sum_known_values(partitions, "position_lag"),
            "refetched": _refetched_share(readers.values(), shares),
            "shared": _make_share_row(shares),
            "delivery_limit": None if shares is None else self._deliveries.delivery_limit(group or ""),
            "locks": locks,
            "last_attempts": last_attempts,
            "clients": portrait.names_of_facet("clients"),
            "asked_by": portrait.names_of_facet("asked_by"),
            "apis": versions_used(portrait),
            **make_latency_columns(portrait.statistics),
            "first": format_rfc3339(portrait.first),
            "last": format_rfc3339(portrait.last),
            **({"cut": sorted(cut)} if cut else {}),
        }

    def _make_member_rows(self, history: GroupHistory, timeline: Timeline) -> list[Row]:
        """A row for each member: first the members that are present, then the others."""
        present, has = {*timeline.list_present_members()}, timeline.assignments_of_present_members()
        described = timeline.described.members if timeline.described is not None else None
        if described is not None and timeline.described is not None:
            since = timeline.described.time_ns
            if not any(event.time_ns > since for event in timeline.events):
                present = {name for name, *_ in described}
                has = {name: assigned for name, *_, assigned in described}
        said = {name: (instance, client, host) for name, instance, client, host, _ in described or ()}
        names = {*history.members, *present, *(event.member for event in timeline.events if event.kind == "joined")}
        rows = []
        for name in sorted(filter(None, names)):
            known = history.members.get(name)
            instance, client, host = said.get(name, (None, *timeline.clients.get(name, (None, None))))
            instances = (event.instance for event in timeline.events if event.member == name and event.instance)
            rows.append(
                {
                    "member_id": name,
                    "instance_id": (known.instance if known else None) or instance or next(instances, None),
                    "client_id": known.client if known else client,
                    "address": known.host if known else host,
                    "present": name in present,
                    "assignment": assignment_by_topic(has[name]) if name in has else None,
                    "heartbeats": known.beats if known else 0,
                    "first": format_rfc3339(known.first) if known else None,
                    "last": format_rfc3339(known.last) if known else None,
                }
            )
        return sorted(rows, key=lambda row: not row["present"])

    def _make_partition_rows(
        self, timeline: Timeline, readers: Readers, commits: dict[TopicPartition, GroupCommit]
    ) -> list[Row]:
        """A row for each partition that the group has, reads or commits."""
        owners = {
            (topic, number): name
            for name, has in timeline.assignments_of_present_members().items()
            for topic, its in has
            for number in its
        }
        tasks = timeline.group_type == "streams"  # assignments name subtopologies
        places = {*commits, *readers, *(() if tasks else owners)}
        return [
            self._make_partition_row(place, owners.get(place), commits.get(place), readers.get(place, ()))
            for place in sorted(places)
            if place in owners or place in readers or self._offsets.latest_commit(commits[place])[1] != NOTHING
        ]

    def _make_partition_row(
        self, place: TopicPartition, owner: str | None, commit: GroupCommit | None, readers: Iterable[ReaderPosition]
    ) -> Row:
        end = self._offsets.ends.get(place)
        end_ns, last = end.latest_end() if end is not None else (0, NOTHING)
        committed_ns, committed = self._offsets.latest_commit(commit) if commit is not None else (0, NOTHING)
        position_ns, position = max((each.latest for each in readers), default=(0, NOTHING))
        most = max((each.lag for each in readers), default=(NOTHING, 0))

        def compute_lag_and_age(at: int) -> tuple[int | None, float | None]:
            if at == NOTHING or last == NOTHING or end is None:
                return None, None
            if at >= last:
                return 0, 0.0
            passed = end.moments.time_of_offset(at)
            return last - at, None if passed is None else (end_ns - passed) / _MS

        (commit_lag, commit_ms), (position_lag, position_ms) = (
            compute_lag_and_age(committed),
            compute_lag_and_age(position),
        )
        return {
            "topic": place[0],
            "partition": place[1],
            "member_id": owner,
            "high_watermark": None if last == NOTHING else last,
            "high_watermark_time": None if last == NOTHING else format_rfc3339(end_ns),
            "committed": None if committed == NOTHING else committed,
            "commit_time": None if committed == NOTHING else format_rfc3339(committed_ns),
            "commits": commit.count if commit is not None else 0,
            "position": None if position == NOTHING else position,
            "position_time": None if position == NOTHING else format_rfc3339(position_ns),
            "commit_lag": commit_lag,
            "commit_lag_ms": commit_ms,
            "position_lag": position_lag,
            "position_lag_ms": position_ms,
            "position_lag_max": None if most[0] == NOTHING else most[0],
            "refetched": _refetched_share([readers], None),
        }


def _partitions_and_topics_of_group(
    timeline: Timeline, commits: Iterable[TopicPartition]
) -> tuple[set[TopicPartition], set[str]]:
    """The partitions that a group has had or committed, and all topics that it has had, committed or asked for."""
    had = {
        (topic, number)
        for each in timeline.generations
        for has in each.assigned.values()
        for topic, numbers in has
        for number in numbers
    }
    had |= {*commits}
    return had, timeline.topics_of_members() | {topic for topic, _ in had}


def _sum_known_values(partitions: Iterable[Row], key: str) -> int | None:
    values = [row[key] for row in partitions if row[key] is not None]
    return sum(values) if values else None


def _refetched_share(several: Iterable[Iterable[ReaderPosition]], shared: ShareCounts | None) -> float | None:
    """The share of offsets read that had been read before; for a share group, the share of records delivered again."""
    if shared is not None and shared.acquired:
        return shared.again / shared.acquired
    read = once = 0
    for readers in several:
        its = list(readers)
        read += sum(each.read for each in its)
        once += sum(end - start for start, end in merge_ranges(span for each in its for span in each.ranges))
    return max(read - once, 0) / read if read else None


def _make_share_row(counts: ShareCounts | None) -> Row | None:
    return None if counts is None else counts._asdict()


def _make_refusal_rows(events: Iterable[GroupEvent]) -> list[Row]:
    """A row for each kind, API and error with which members were refused, most often first."""
    from decoders.protocol_facts.errors.error_codes import error_name

    found: dict[tuple[str, str, int], list[int]] = {}
    for event in events:
        if event.kind in ("fenced", "refused"):
            its = found.setdefault((event.kind, str(event.text), event.error), [0, event.time_ns, event.time_ns])
            its[0] += 1
            its[1], its[2] = min(its[1], event.time_ns), max(its[2], event.time_ns)
    return [
        {
            "how": kind,
            "api": name,
            "error": error_name(code),
            "count": count,
            "first": format_rfc3339(first),
            "last": format_rfc3339(last),
        }
        for (kind, name, code), (count, first, last) in sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    ]
