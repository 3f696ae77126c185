"""Observations in, words about a position outside of the log out: on which side it is, whose it is, who set it."""

from __future__ import annotations

from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import Case, escape_for_sentence, format_clock

__all__ = ["explain_position_outside"]

# So many connections of a member that each joined the group, and a client starts again and again.
_STARTS_LEAST: Final = 3


def explain_position_outside(case: Case, topic: str | None, clients: list[str]) -> dict[str, Any]:
    """Words about the first position outside of the log: `reset`, and where they are known `group`, `meaning` and
    `remedy`. Empty where no number of the capture says on which side of the log it is.
    """
    for (client, where, number), seen in case.seen.items_of_kind("outside"):
        if where != topic or client not in clients:
            continue
        (at, position), _ = seen.edges["position"]
        side = _find_side(case, topic, number, position, at)
        if side is None:
            continue
        is_behind, words = side
        group = _find_group(case, topic, number, position)
        of = f"committed offset {position:,} of group {escape_for_sentence(group)} in" if group else None
        told = f": the {of or f'position {position:,} of'} partition {number} is {words}"
        about: dict[str, Any] = {"group": group}
        if not is_behind:
            return about | {"reset": told}
        if group is not None:
            told += _describe_setting(case, group, topic, number, position) + _describe_starts(
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
        return about | {"reset": told}
    return {}


def _find_side(case: Case, topic: str | None, number: int, position: int, at: int) -> tuple[bool, str] | None:
    """Whether a position is behind the log's end at a time, and words for that; None where that is not known."""
    log = case.seen.get_observation("log", topic, number)
    edges = log.edges if log is not None else {}
    start, end = (_offset_nearest(edges.get(name), at) for name in ("start", "end"))
    removed = "retention (or DeleteRecords) removed its records before they were read"
    if start is not None and position < start:
        return False, f"before the begin of the log, {start:,}: {removed}"
    if end is not None and position > end:
        return True, f"behind the end of the log, {end:,}"
    least, most = _bound_log_end(case, topic, number, at)
    if end is None and most is not None and position > most:
        return True, f"behind the end of the log, at most {most:,}"
    known = f"{end:,}" if end is not None else ""
    if end is None and least is not None and position <= least:
        known = f"at least {least:,}"
    if known and start is None:
        return False, (
            f"not behind the end of the log, {known}, so it is before its begin: {removed}, and a client that goes on"
            " at the end (auto.offset.reset=latest) does not get those between"
        )
    return None


def _offset_nearest(edges: tuple[tuple[int, int], tuple[int, int]] | None, time_ns: int) -> int | None:
    """The first offset listed after a time, else the last one before."""
    if edges is None:
        return None
    (first_ns, first), (_, last) = edges
    return first if first_ns >= time_ns else last


def _bound_log_end(case: Case, topic: str | None, number: int, at: int) -> tuple[int | None, int | None]:
    """The least and the greatest offset at which the log can have ended at a time, by what was read and written.

    A log only grows, unless its topic was deleted: it ended at no less than before, and at no more than later.
    """
    if case.seen.get_observation("deleted", topic) is not None:
        return None, None
    least: list[int] = []
    most: list[int] = []
    for (_, where, part), seen in case.seen.items_of_kind("lag"):
        if (where, part) == (topic, number) and "got" in seen.sums:
            (first_ns, behind), (last_ns, left) = seen.edges["lag"]
            if first_ns <= at:
                least.append(-seen.most["got-from"] + behind)
            if last_ns >= at:
                most.append(seen.most["got"] + left)
    for (_, where, part, _), seen in case.seen.items_of_kind("sequence", "next"):
        if (where, part) == (topic, number) and "accepted" in seen.sums and seen.edges["next"][1][0] >= at:
            most.append(seen.most["accepted"])
    return min(least, default=None), max(most, default=None)


def _find_group(case: Case, topic: str | None, number: int, position: int) -> str | None:
    """The group whose committed offset a position is."""
    for (group, where, its), seen in case.seen.items_of_kind("committed"):
        if (where, its) == (topic, number) and position in (offset for _, offset in seen.edges.get("offset", ())):
            return str(group)
    return None


def _describe_setting(case: Case, group: str, topic: str | None, number: int, position: int) -> str:
    """Words for who committed an offset, and when."""
    for (its, where, part, client), seen in case.seen.items_of_kind("offset-set"):
        times = [at for at, offset in seen.edges["offset"] if offset == position]
        if (its, where, part) == (group, topic, number) and times:
            return f"; {escape_for_sentence(client)} committed it at {format_clock(times[0])}, without being a member"
    committed = case.seen.get_observation("committed", group, topic, number)
    is_older = committed is not None and not committed.names.get("clients")
    return "; it was committed before the capture" if is_older else ""


def _describe_starts(case: Case, group: str, client: str, topic: str | None) -> str:
    """Words for a member that comes again and again, and reads nothing."""
    starts = sum(
        "comings" in seen.names
        for (its, who, _), seen in case.seen.items_of_kind("membership")
        if (its, who) == (group, client)
    )
    read = [seen for (who, where, _), seen in case.seen.items_of_kind("lag") if (who, where) == (client, topic)]
    if starts < _STARTS_LEAST or any("got" in seen.sums for seen in read):
        return ""
    return f"; {escape_for_sentence(client)} has joined {starts} times and got no record of the topic"
