"""Answers without a node and refused connections there in; when its outage began and ended, as far as seen, out."""

from __future__ import annotations

from bisect import bisect_right

from decoders.analysis.doctor.diagnosis_input import NS
from decoders.analysis.doctor.observations import Observation

__all__ = ["widen_outage"]


def widen_outage(gone: Observation, refused: list[Observation], answers: Observation) -> bool:
    """Widen the times of an absence by the connections that were refused around it; whether there were any.

    What was refused before the node answered last, or after it answered again, is about another outage; in a second
    that has both, its listeners open or close one after the other. Of some refusals only the second is known: of it,
    the end of the outage takes the beginning, and the begin the end.
    """
    seconds = {second for seen in refused for second in seen.list_marked_seconds()}
    seconds |= {time_ns // NS for seen in refused for time_ns in (seen.first, seen.last)}
    heard = [second for second in answers.list_marked_seconds() if second not in seconds]
    begin, end = gone.first // NS, gone.last // NS
    at = bisect_right(heard, begin)
    lower = heard[at - 1] if at else -1
    at = bisect_right(heard, end)  # in the second of its end it may have answered before
    upper = heard[at] if at < len(heard) else None
    around = [second for second in seconds if lower <= second and (upper is None or second <= upper)]
    if not around:
        return False
    first, last = min(around), max(around)
    known = [time_ns for seen in refused for time_ns in (seen.first, seen.last)]
    gone.first = min(gone.first, min((its for its in known if its // NS == first), default=(first + 1) * NS))
    gone.last = max(gone.last, max((its for its in known if its // NS == last), default=last * NS))
    return True
