"""Observations in; findings about transactions whose end is not written, so that their id is refused for long, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    Case,
    Found,
    merge_observations,
    name_of_api_key,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.errors_with_codes import ErrorKey, find_errors_with_codes
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["explain_stuck_transactions"]

_CONCURRENT: Final = 51
_USES: Final = ("transaction-taken", "transaction-begun", "transaction-ended")


def explain_stuck_transactions(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Transactional ids whose last transaction was being completed for longer than that takes: one finding for each."""
    by_name: dict[str, dict[ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in find_errors_with_codes(case, (_CONCURRENT,)):
        names = [key[4]] if key[3] == "transactional_id" else list(seen.names.get("transactional", ()))
        served = case.done.get((key[2], key[1], key[4]), 0)
        lasts = seen.last - seen.first >= LASTING_NS and not seen.first <= served <= seen.last
        if len(names) != 1 or names[0] is None or not lasts or seen.count < case.limits["errors.few"]:
            continue
        # Between two uses each transaction was completed, if not at once.
        if not _is_transactional_id_used_between(case, names[0], seen):
            by_name[names[0]][key] = seen
    for name, some in by_name.items():
        whole = merge_observations(some.values())
        clients = sorted({key[2] for key in some})
        apis = {name_of_api_key(key[1]) for key in some}
        about: dict[str, Any] = {"name": name, "transactional_id": name, "clients": clients[:LISTED]}
        about |= {"error": error_name(_CONCURRENT), "api": apis.pop() if len(apis) == 1 else None}
        about["by"] = f" ({about['api']})" if about["api"] else None
        about["lasts"] = describe_duration(round((whole.last - whole.first) / MS, -3))
        over = all(case.done.get((key[2], key[1], key[4]), 0) > seen.last for key, seen in some.items())
        kind = FINDINGS["transaction-stuck"]
        yield Found("transaction-stuck", kind.went_on if over else kind.severity, whole, about), {*some}


def _is_transactional_id_used_between(case: Case, name: str, refused: Observation) -> bool:
    """Whether a transactional id was taken, or its transactions went on, between the first and the last refusal."""
    return any(
        refused.first // NS < second < refused.last // NS
        for what in _USES
        if (used := case.seen.get_observation(what, name)) is not None
        for second in used.list_marked_seconds()
    )
