"""The index in, records out that were acknowledged and that a group has passed without reading them.

Theory of operation. What a group has read of a partition is the union of the ranges that its members got. It has passed
an offset when a member wants, or the group has committed, an offset beyond. So a gap in what was read, below where the
group is, is passed; of a gap, the records count whose Produce was acknowledged in the capture.

```
acknowledged   ├────────────────────────────┤
read           ├─────┤            ├─────────┤
wanted, committed                           ▲
lost                  ◄──────────►
```

An answer that broke off with its connection, or came after the member had left its group, was not read. But nothing is
claimed of a gap where the capture may just lack a Fetch: a fetch from an offset in the gap or at its begin whose answer
was not seen, a reader whose group is not known that got it, or a reader that its leader has sent to another node.
Offsets before the first that the group read or wanted are not passed, for it began behind them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.partition_tables import Commit, Position, Wanted, Write

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.record_index import TopicPartition

__all__ = ["find_losses"]

Span = tuple[int, int]


class _Passage:
    """What a group did in a partition: the ranges that it got, the offsets that its members wanted next, its commits.

    `wanted` has the time, position and connection of each Fetch that was answered, `unseen` positions of the others.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.wanted: list[tuple[int, int, int]] = []
        self.unseen: list[int] = []
        self.senders: set[int] = set()
        self.commits: list[Commit] = []


def find_losses(lives: LivesOfRecords) -> Iterator[Row]:
    """A row for each run of records that a group has passed, by topic, partition, group and offset."""
    for where in sorted(lives.tables):
        passages, unknown = _collect_group_progress(lives, where)
        writes: list[Write] | None = None  # most partitions have no gap
        for group in sorted(passages):
            passage = passages[group]
            for low, high in _find_unread_ranges(lives, where, passage, unknown):
                if writes is None:
                    writes = [write for write in _sorted_rows_of_table(lives, where, "writes") if write.first >= 0]
                yield from _make_loss_rows(lives, where, group, passage, (low, high), writes)


def _sorted_rows_of_table(lives: LivesOfRecords, where: TopicPartition, table: str) -> list:  # type: ignore[type-arg]  # of any kind of rows
    return sorted(chain.from_iterable(getattr(each, table) for each in lives.tables[where]))


def _collect_group_progress(lives: LivesOfRecords, where: TopicPartition) -> tuple[dict[str, _Passage], list[Span]]:
    """What each group did, and the ranges that readers got whose group is not known."""
    passages: defaultdict[str, _Passage] = defaultdict(_Passage)
    unknown: list[Span] = []
    tables = lives.tables[where]
    columns = "time", "answered", "first", "end", "sender", "replica"
    for time, answered, first, end, sender, replica in chain.from_iterable(
        each.reads.select_columns(*columns) for each in tables
    ):
        if replica >= 0:
            continue
        group = lives.group_of_read(sender, where, max(answered, time), time)
        if group is None:
            unknown.append((first, end))
        elif not group.has_left:
            passages[group.group].spans.append((first, end))
    of_wanted = "time", "position", "seen", "sender"
    for time, position, seen, sender in chain.from_iterable(each.wanted.select_columns(*of_wanted) for each in tables):
        group = lives.group_of_read(sender, where, time, time)
        if group is not None:
            passage = passages[group.group]
            passage.senders.add(sender)
            if seen:
                passage.wanted.append((time, position, sender))
            else:
                passage.unseen.append(position)
        elif not seen:
            unknown.append((position, 1 << 62))
    commits: list[Commit] = _sorted_rows_of_table(lives, where, "commits")
    for commit in commits:
        if commit.code == 0:
            passages[lives.text_of_number(commit.group)].commits.append(commit)
    return passages, unknown


def _find_unread_ranges(
    lives: LivesOfRecords, where: TopicPartition, passage: _Passage, unknown: list[Span]
) -> Iterator[Span]:
    """The ranges that a group has passed and not read."""
    if not passage.spans or any(lives.is_reader_sent_to_follower(sender, where) for sender in passage.senders):
        return
    low = min(first for first, _ in passage.spans)
    beyond = [position for _, position, _ in passage.wanted]
    high = max([end for _, end in passage.spans] + beyond + [commit.offset for commit in passage.commits])
    at = low
    for first, end in [*sorted([*passage.spans, *unknown]), (high, high)]:
        stop = min([first, high, *(position for position in passage.unseen if at <= position < first)])
        if stop > at:
            yield at, stop
        at = max(at, end)


def _make_loss_rows(
    lives: LivesOfRecords, where: TopicPartition, group: str, passage: _Passage, gap: Span, writes: list[Write]
) -> Iterator[Row]:
    """A row for each run of acknowledged records in a gap."""
    runs: list[tuple[int, int, Write]] = []
    for write in sorted(writes, key=lambda write: write.first):
        low, high = max(write.first, gap[0]), min(write.first + write.records, gap[1])
        if low >= high:
            continue
        if runs and runs[-1][1] >= low:
            runs[-1] = runs[-1][0], max(runs[-1][1], high), runs[-1][2]
        else:
            runs.append((low, high, write))
    passer = _find_position_beyond_gap(lives, where, passage, gap)
    for low, high, write in runs:
        yield {
            "topic": where[0],
            "partition": where[1],
            "offset": low,
            "last_offset": high - 1,
            "records": high - low,
            "group": group,
            "produced_by": lives.client_id_of(write.sender),
            "produced": lives.format_time(write.time),
            "passed_by": None if passer is None else lives.client_id_of(passer.sender),
            "passed": None if passer is None else lives.format_time(passer.time),
            "why": _explain_skipped_gap(lives, where, group, passer, gap),
            "evidence": [lives.evidence_of(one) for one in (write, passer) if one is not None],
        }


def _find_position_beyond_gap(
    lives: LivesOfRecords, where: TopicPartition, passage: _Passage, gap: Span
) -> Wanted | Commit | None:
    """What first went beyond a gap after something before it was read: a Fetch, or else a commit."""
    beyond = {(time, position, sender) for time, position, sender in passage.wanted if position >= gap[1]}
    found: list[Wanted | Commit] = []
    if beyond:
        first = min(beyond)
        wanted: list[Wanted] = _sorted_rows_of_table(lives, where, "wanted")
        found += [want for want in wanted if want.seen and (want.time, want.position, want.sender) == first][:1]
    found += [commit for commit in passage.commits if commit.offset >= gap[1]]
    return min(found, key=lambda one: one.time, default=None)


def _explain_skipped_gap(
    lives: LivesOfRecords, where: TopicPartition, group: str, passer: Wanted | Commit | None, gap: Span
) -> str:
    """Why a group has passed a gap, as far as the capture shows it."""
    if passer is None:
        return "it reads on behind them"
    starts = [
        start.offset
        for start in _sorted_rows_of_table(lives, where, "starts")
        if start.offset > gap[0] and start.time <= passer.time
    ]
    if starts:
        return f"the log began at offset {max(starts):,} by then: they expired, or were deleted"
    if isinstance(passer, Commit):
        return f"offset {passer.offset:,} was committed without reading them"
    positions: list[Position] = _sorted_rows_of_table(lives, where, "positions")
    told = [
        each.offset
        for each in positions
        if lives.text_of_number(each.group) == group
        and max(each.answered, each.time) <= passer.time
        and each.sender >= 0
    ]
    if told and told[-1] < 0:
        return f"nothing was committed, and it began at offset {passer.position:,}"
    if told and told[-1] >= gap[1]:
        return f"offset {told[-1]:,} was committed without reading them"
    return f"it went ahead to offset {passer.position:,} by itself (a seek)"
