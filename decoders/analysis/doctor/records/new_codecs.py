"""Observations in; findings about readers that are likely too old for the compression of the batches they get out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LASTING_NS, NS, Case, Found, escape_for_sentence, format_clock
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.observe_refusals import FETCH_OF_ZSTD
from decoders.analysis.doctor.refused.refused_request_findings import describe_change

__all__ = ["count_repeated_offsets", "find_last_fetch", "find_readers_too_old_for_codec"]

# Who got so many answers with such batches of one partition, each from a further offset, reads on behind them.
_READS_ON: Final = 3


def find_readers_too_old_for_codec(case: Case) -> Iterator[Found]:
    """Readers whose version of Fetch is too low for the compression of the batches that they get.

    An error where the reader stands still, a note where it reads on behind such batches.
    """
    groups: dict[str, set[str]] = defaultdict(set)
    for (group, client, _, _), _ in case.seen.items_of_kind("assigned"):
        groups[client].add(group)
    for (client, topic, codec), seen in case.seen.items_of_kind("codec-too-new"):
        about: dict[str, Any] = {"client": client, "client_id": client, "topic": topic, "codec": codec}
        about |= {"version": max(map(int, seen.names["versions"])), "least": FETCH_OF_ZSTD}
        if len(groups[client]) == 1:
            (about["group"],) = groups[client]
            about["of_group"] = f" (group {escape_for_sentence(about['group'])})"
        again = count_repeated_offsets(
            its for _, its in case.find_matching_observations("read", (0, 2), (client, topic))
        )
        repeats = again[0] >= case.limits["again.share"] * again[1] and again[0] > 0
        last_ns = find_last_fetch(case, [client])
        stopped = last_ns if last_ns - seen.last < LASTING_NS else 0
        if repeats:
            about["stuck"] = "; it fetches the same records again and again"
        elif stopped:
            about["stuck"] = f"; it has fetched nothing since {format_clock(stopped)}, and is there to the end"
        about["changed"] = describe_change(case, "codec-too-new", ("topic", topic), [client], [], seen.first)
        about["changed"] = about["changed"] or _describe_writers(case, topic)
        severity = "error" if repeats or stopped else FINDINGS["codec-too-new"].severity
        if severity != "error" and max(seen.names.get("partitions", {"": 0}).values()) >= _READS_ON:
            severity = "note"
            about["stuck"] = "; it reads on behind them"
        yield Found("codec-too-new", severity, seen, about)


def count_repeated_offsets(some: Iterable[Observation]) -> tuple[int, int]:
    """How many offsets connections fetched more than once, and how many they fetched in all, each time counted."""
    again = read = 0
    for seen in some:
        read += seen.sums["offsets"]
        again += max(seen.sums["offsets"] - seen.most["end"] - seen.most["start"], 0)
    return again, read


def find_last_fetch(case: Case, clients: list[str]) -> int:
    """When clients fetched last, in ns, if they go on without a Fetch for long after it; else 0."""
    last = used = 0
    for client in clients:
        reading = case.seen.get_observation("reading", client)
        last = max(last, (max(reading.list_marked_seconds(), default=0) if reading is not None else 0) * NS)
        used = max([used, *(seen.last for _, seen in case.find_matching_observations("client", (0,), (client,)))])
    return last if last and used - last >= LASTING_NS else 0


def _describe_writers(case: Case, topic: str | None) -> str | None:
    """Words for who writes such batches, since when, and whether others before; None where no writer is seen."""
    writers = sorted(
        (its.first, client) for (_, client), its in case.find_matching_observations("zstd-written", (0,), (topic,))
    )
    if not writers:
        return None
    first, client = writers[0]
    before = case.seen.get_observation("produce", client, topic)
    others = ", and wrote others before" if before is not None and first - before.first >= NS else ""
    verb = "writes" if len(writers) == 1 else "write"
    since = f"since {format_clock(first)}{others}"
    return f"; {escape_for_sentence([who for _, who in writers])} {verb} them {since}"
