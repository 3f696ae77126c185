"""Observations in, those of answers with certain error codes out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from decoders.analysis.doctor.diagnosis_input import Case
from decoders.analysis.doctor.observations import Observation

__all__ = ["ErrorKey", "find_errors_with_codes"]

# Error code, API key, client, kind and name of what the error is about.
ErrorKey = tuple[int, int, str, str, str | None]


def find_errors_with_codes(case: Case, codes: Collection[int]) -> Iterator[tuple[ErrorKey, Observation]]:
    """What was observed of each error with one of these codes."""
    return ((key, seen) for key, seen in case.seen.items_of_kind("error") if key[0] in codes)
