"""Observations in; findings about records of share groups that are acknowledged after their lock has ended out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    Case,
    Found,
    escape_for_sentence,
    merge_observations,
    name_of_api_key,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.groups.observe_share_locks import INVALID_RECORD_STATE
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.errors_with_codes import ErrorKey, find_errors_with_codes
from decoders.protocol_facts.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["describe_range_of_durations", "explain_late_acknowledgements"]

# The default of group.share.record.lock.duration.ms, where answers do not say how long records are locked.
_LOCK_MS: Final = 30_000


def explain_late_acknowledgements(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Acknowledgements that were refused and came later than the lock lasts: one finding for a group and topic."""
    ages: dict[tuple[str, str, str | None], list[int]] = {}
    for (group, client, topic), seen in case.seen.items_of_kind("not-held"):
        acquired = case.seen.get_observation("acquired", group, client, topic)
        if acquired is not None:
            ages[group, client, topic] = _list_acquisition_ages(seen, acquired)
    groups: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for group, client, topic in ages:
        groups[client, topic].append(group)
    by_group: dict[tuple[str, str | None], dict[ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in find_errors_with_codes(case, (INVALID_RECORD_STATE,)):
        if key[1] in (SHARE_ACKNOWLEDGE, SHARE_FETCH):
            for group in groups.get((key[2], key[4]), ()):
                by_group[group, key[4]][key] = seen
    for (group, topic), some in by_group.items():
        clients = sorted({key[2] for key in some})
        acquired = merge_observations(
            seen for _, seen in case.find_matching_observations("acquired", (0, 2), (group, topic))
        )
        lock_ms = acquired.most["lock"] or _LOCK_MS
        late = [age for client in clients for age in ages.get((group, client, topic), ()) if age > lock_ms * MS]
        count = sum(len(ages.get((group, client, topic), ())) for client in clients)
        if not late or 2 * len(late) <= count:
            continue  # most were acknowledged in time, and twice
        whole = merge_observations(some.values())
        about: dict[str, Any] = {"group": group, "topic": topic, "clients": clients[:LISTED]}
        about["client_id"] = clients[0] if len(clients) == 1 else None
        apis = {name_of_api_key(key[1]) for key in some}
        about |= {"error": error_name(INVALID_RECORD_STATE), "api": apis.pop() if len(apis) == 1 else None}
        about["by"] = f" ({about['api']})" if about["api"] else None
        verb = "acknowledges" if len(clients) == 1 else "acknowledge"
        about["what"] = (
            f"{verb} records of {escape_for_sentence(topic)} {describe_range_of_durations(late)} after getting them,"
            f" and their lock ends after {describe_duration(lock_ms)}: {about['error']}{about['by'] or ''}"
        )
        done = _find_last_acknowledgement(case, group, clients, topic)
        deliveries = acquired.most["deliveries"]
        about["again"] = f"; records are delivered up to {deliveries:,} times" if deliveries > 1 else None
        if not done:
            about["again"] = f"{about['again'] or ''}; none was acknowledged in time"
        kind = FINDINGS["share-lock-ended"]
        severity = kind.went_on if done > whole.last else kind.severity
        yield Found("share-lock-ended", severity, whole, about), {*some}


def describe_range_of_durations(some: list[int]) -> str:
    """Words for durations in ns, in tenths of seconds: `8s`, `8s to 9.5s`."""
    least, most = (describe_duration(round(find(some) / MS, -2)) for find in (min, max))
    return least if least == most else f"{least} to {most}"


def _find_last_acknowledgement(case: Case, group: str, clients: list[str], topic: str | None) -> int:
    """When records of these clients were taken for done last, in ns; 0: never."""
    last = 0
    for client in clients:
        fetched = case.seen.get_observation("acknowledged", group, client, topic)
        its = case.done.get((client, SHARE_ACKNOWLEDGE, topic), 0)
        last = max(last, its, fetched.last if fetched is not None else 0)
    return last


def _list_acquisition_ages(refused: Observation, acquired: Observation) -> list[int]:
    """How long before each refused acknowledgement its first record was acquired, in ns, as far as that is known."""
    held = sorted(tuple(map(int, name.split())) for name in acquired.names.get("ranges", ()))
    found = []
    for name in refused.names["ranges"]:
        number, offset, time_ns = map(int, name.split())
        times = [at for its, first, last, at in held if its == number and first <= offset <= last and at < time_ns]
        if times:
            found.append(time_ns - max(times))
    return found
