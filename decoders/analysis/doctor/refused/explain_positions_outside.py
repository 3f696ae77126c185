"""Observations in, words about a position outside of the log out: on which side it is, whose it is, who set it."""

from __future__ import annotations

from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import NS, Case, escape_for_sentence, format_clock
from decoders.analysis.doctor.observations import Observation

__all__ = ["explain_partition_position_outside", "explain_position_outside"]

# So many connections of a member that each joined the group, and a client starts again and again.
_STARTS_LEAST: Final = 3
# A log hardly grows beyond a position in so short a time.
_SOON_NS: Final = 5 * NS


def explain_position_outside(case: Case, topic: str | None, clients: list[str]) -> dict[str, Any]:
    """Words about the first position outside of the log of a topic that they can be said of; empty where there is none.

    `reset`, and where they are known `group`, `meaning` and `remedy`.
    """
    for client in sorted(clients):
        for (_, _, number), seen in case.find_matching_observations("outside", (0, 1), (client, topic)):
            found = explain_partition_position_outside(case, client, topic, number, seen)
            if found:
                return found
    return {}


def explain_partition_position_outside(
    case: Case, client: str, topic: str | None, number: int, outside: Observation
) -> dict[str, Any]:
    """Words about the first position of a client outside of the log of a partition, as `explain_position_outside`.

    Empty where no number of the capture says on which side of the log it is.
    """
    at, position = _choose_event(case, topic, number, outside)
    side = _find_side_of_log(case, topic, number, position, at)
    if side is None:
        return {}
    is_behind, words = side
    group = _find_group_of_position(case, client, topic, number, position)
    of = f"committed offset {position:,} of group {escape_for_sentence(group)} in" if group else None
    state = f": the {of or f'position {position:,} of'} partition {number} is {words}"
    about: dict[str, Any] = {"group": group}
    if not is_behind:
        about["meaning"] = "records of the partition were deleted before this reader had them: it does not get them"
        about["remedy"] = (
            "have the consumer read more often than retention deletes, or keep records for longer (retention.ms,"
            " retention.bytes); consumers go on as auto.offset.reset says, and stop with none"
        )
        return about | {"reset": state}
    if group is not None:
        state += _describe_committer(case, group, topic, number, position) + _describe_repeated_starts(
            case, group, client, topic
        )
    about["meaning"] = (
        "there is no such offset in the log: it comes from elsewhere (a copy from another cluster, a tool), or the"
        " log was truncated (an unclean election), or the topic was made again; consumers with"
        " auto.offset.reset=none stop at it"
    )
    about["remedy"] = (
        f"stop the members of {escape_for_sentence(group)} and set its offsets (kafka-consumer-groups"
        " --reset-offsets); find out who committed this one"
        if group
        else "have the client begin at an offset of this log (ListOffsets, auto.offset.reset)"
    )
    return about | {"reset": state}


def _choose_event(case: Case, topic: str | None, number: int, outside: Observation) -> tuple[int, int]:
    """Time and position of the first refused Fetch; of the last one, if only this came just before a known begin."""
    first, last = outside.edges["position"]
    log = case.seen.get_observation("log", topic, number)
    starts = log.edges.get("start") if log is not None else None
    if _find_offsets_around(starts, first[0], _SOON_NS)[1] is None and first != last:
        return last if _find_offsets_around(starts, last[0], _SOON_NS)[1] is not None else first
    return first


def _find_side_of_log(case: Case, topic: str | None, number: int, position: int, at: int) -> tuple[bool, str] | None:
    """Whether a position is behind the log's end at a time, and words for that; None where that is not known."""
    log = case.seen.get_observation("log", topic, number)
    edges = log.edges if log is not None else {}
    (start_before, start_after), (end_before, end_after) = (
        _find_offsets_around(edges.get(name), at) for name in ("start", "end")
    )
    _, end_soon = _find_offsets_around(edges.get("end"), at, _SOON_NS)
    start = start_before if start_after is None else start_after
    begun = max((when for when, offset in edges.get("start", ()) if offset == start), default=at)
    dated = f" at {format_clock(begun)}" if begun > at + _SOON_NS else ""
    removed = "retention (or DeleteRecords) removed its records before they were read"
    if start is not None and position < start:
        return False, f"before the begin of the log, {start:,}{dated}: {removed}"
    # A log only grows: it ended at no more than it ended at later, and at no less than before.
    if end_after is not None and position > end_after:
        return True, f"behind the end of the log, {end_after:,}"
    least, most = _bound_log_end(case, topic, number, at)
    if end_after is None and most is not None and position > most:
        return True, f"behind the end of the log, at most {most:,}"
    known = f"at least {end_before:,}" if end_before is not None and position <= end_before else ""
    if not known and least is not None and position <= least:
        known = f"at least {least:,}"
    likely = ""
    if not known and end_soon is not None and position <= end_soon:
        known, likely = f"{end_soon:,} soon after", "likely "
    if known and start is None:
        return False, (
            f"not behind the end of the log, {known}, so it is {likely}before its begin: {removed}, and a client that"
            " goes on at the end (auto.offset.reset=latest) does not get those between"
        )
    return None


def _find_offsets_around(
    edges: tuple[tuple[int, int], tuple[int, int]] | None, time_ns: int, within_ns: int | None = None
) -> tuple[int | None, int | None]:
    """The offset listed last up to a time, and the one listed first from it on, within a time; None where none was."""
    if edges is None:
        return None, None
    before = [offset for at, offset in edges if at <= time_ns]
    after = [offset for at, offset in edges if at >= time_ns and (within_ns is None or at - time_ns <= within_ns)]
    return (before[-1] if before else None), (after[0] if after else None)


def _bound_log_end(case: Case, topic: str | None, number: int, at: int) -> tuple[int | None, int | None]:
    """The least and the greatest offset at which the log can have ended at a time, by what was read and written.

    A log only grows, unless its topic was deleted: it ended at no less than before, and at no more than later.
    """
    if case.seen.get_observation("deleted", topic) is not None:
        return None, None
    least: list[int] = []
    most: list[int] = []
    for _, seen in case.find_matching_observations("lag", (1, 2), (topic, number)):
        if "got" in seen.sums:
            (first_ns, behind), (last_ns, left) = seen.edges["lag"]
            if first_ns <= at:
                least.append(-seen.most["got-from"] + behind)
            if last_ns >= at:
                most.append(seen.most["got"] + left)
    for _, seen in case.find_matching_observations("sequence", (1, 2), (topic, number), "next"):
        if "accepted" in seen.sums and seen.edges["next"][1][0] >= at:
            most.append(seen.most["accepted"])
    return min(least, default=None), max(most, default=None)


def _find_group_of_position(case: Case, client: str, topic: str | None, number: int, position: int) -> str | None:
    """The group whose committed offset a position is, of those that a client has joined or whose offsets it got."""
    groups = {group for (group, _), _ in case.find_matching_observations("joined", (1,), (client,))}
    groups |= {
        group for (group, *_), _ in case.find_matching_observations("assigned", (1, 2, 3), (client, topic, number))
    }
    for group in sorted(groups):
        seen = case.seen.get_observation("committed", group, topic, number)
        if seen is not None and position in (offset for _, offset in seen.edges.get("offset", ())):
            return str(group)
    return None


def _describe_committer(case: Case, group: str, topic: str | None, number: int, position: int) -> str:
    """Words for who committed an offset, and when."""
    for (*_, client), seen in case.find_matching_observations("offset-set", (0, 1, 2), (group, topic, number)):
        times = [at for at, offset in seen.edges["offset"] if offset == position]
        if times:
            return f"; {escape_for_sentence(client)} committed it at {format_clock(times[0])}, without being a member"
    committed = case.seen.get_observation("committed", group, topic, number)
    is_older = committed is not None and not committed.names.get("clients")
    return "; it was committed before the capture" if is_older else ""


def _describe_repeated_starts(case: Case, group: str, client: str, topic: str | None) -> str:
    """Words for a member that comes again and again, and reads nothing."""
    starts = sum(
        "comings" in seen.names for _, seen in case.find_matching_observations("membership", (0, 1), (group, client))
    )
    read = case.find_matching_observations("lag", (0, 1), (client, topic))
    if starts < _STARTS_LEAST or any("got" in seen.sums for _, seen in read):
        return ""
    return f"; {escape_for_sentence(client)} has joined {starts} times and got no record of the topic"
