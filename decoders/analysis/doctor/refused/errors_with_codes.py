"""Observations in; those of answers with certain error codes out, and who does the same without errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from decoders.analysis.doctor.diagnosis_input import Case, escape_for_sentence, format_clock
from decoders.analysis.doctor.observations import Observation
from decoders.protocol_facts.api_keys import FETCH

__all__ = ["ErrorKey", "describe_other_successes", "find_errors_with_codes"]

_OUT_OF_RANGE: Final = 1
_INCONSISTENT_PROTOCOL: Final = 23
# Error code, API key, client, kind and name of what the error is about.
ErrorKey = tuple[int, int, str, str, str | None]


def find_errors_with_codes(case: Case, codes: Collection[int]) -> Iterator[tuple[ErrorKey, Observation]]:
    """What was observed of each error with one of these codes."""
    return ((key, seen) for key, seen in case.seen.items_of_kind("error") if key[0] in codes)


def describe_other_successes(case: Case, about: str | None, errors: list[ErrorKey], whole: Observation) -> str:
    """Words for the end of a meaning: until when the same clients succeeded, and who does the same without errors."""
    clients, keys = {client for _, _, client, _, _ in errors}, {key for _, key, *_ in errors}
    if about is None or errors[0][0] == _OUT_OF_RANGE:
        return ""  # for the latter, others ask for other offsets
    before = {client: max(case.done.get((client, key, about), 0) for key in keys) for client in sorted(clients)}
    before = {client: time_ns for client, time_ns in before.items() if time_ns}
    words = ""
    if before and max(before.values()) < whole.first:
        who = escape_for_sentence([*before]) if len(before) < len(clients) else "it" if len(clients) == 1 else "they"
        at = format_clock(max(before.values()))
        if errors[0][0] == _INCONSISTENT_PROTOCOL:
            return f"; {who} joined before, last at {at}{_describe_protocols_before(case, about, [*before])}"
        words = f"; {who} did the same without errors before, last at {at}"
    others = sorted(
        {
            client
            for key in keys
            for client, time_ns in case.compute_once(_list_successes).get((key, about), ())
            if client not in clients
            and time_ns > whole.first
            # Brokers fetch as well, and other things.
            and (key != FETCH or case.seen.get_observation("reading", client) is not None)
        }
    )
    verb = "does" if len(others) == 1 else "do"
    return words + (f"; {escape_for_sentence(others)} {verb} it without errors" if others else "")


def _describe_protocols_before(case: Case, group: str, clients: list[str]) -> str:
    """Words for the protocols (assignors) with which members joined a group that refuses them now."""
    names: dict[str, set[str]] = {"taken": set(), "refused": set()}
    for client in clients:
        for what, found in names.items():
            seen = case.seen.get_observation("offers", group, client, what)
            found.update(seen.names.get("protocols", ()) if seen is not None else ())
    taken = sorted(names["taken"] - names["refused"])
    return f", with {escape_for_sentence(taken)}" if taken else ""


def _list_successes(case: Case) -> dict[tuple[int, str | None], list[tuple[str, int]]]:
    """API key and subject → clients, and when each succeeded last, in ns."""
    found: dict[tuple[int, str | None], list[tuple[str, int]]] = {}
    for (client, key, subject), time_ns in case.done.items():
        found.setdefault((key, subject), []).append((client, time_ns))
    return found
