"""Observations in; words about requests without an answer out: who ended the connection, how long after the request."""

from __future__ import annotations

from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import MS, NS, Case, format_clock
from decoders.analysis.doctor.observations import Observation
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["SIDES", "explain_unanswered_requests", "find_last_time_by_connection"]

# Who sent the reset: facets of the ends of a client's connections; a FIN does not tell whose it was.
SIDES: Final = ("broker", "client", "either")
# No client gives a request up sooner.
_PATIENCE_NS: Final = NS
# A broker whose process ends refuses new connections within a moment.
_REFUSED_NS: Final = 5 * NS
_CLOSED: Final = {"fin": "closed", "rst": "reset", "idle": "silent for hours"}


def find_last_time_by_connection(seen: Observation | None, facet: str) -> dict[str, int]:
    """Connection → the last of its times in ns, by the names of a facet."""
    found: dict[str, int] = {}
    for name in seen.names.get(facet, ()) if seen is not None else ():
        connection, _, time_ns = name.rpartition(" ")
        found[connection] = max(found.get(connection, 0), int(time_ns))
    return found


def explain_unanswered_requests(case: Case, client: str, broker: str, closed: str, seen: Observation) -> dict[str, Any]:
    """Words for how the connections of these requests ended, for why, and what to do."""
    ends = case.seen.get_observation("ended", client, broker)
    asked = find_last_time_by_connection(seen, "asked")
    waits: dict[str, list[int]] = {
        side: [
            ended - asked[connection]
            for connection, ended in find_last_time_by_connection(ends, side).items()
            if connection in asked
        ]
        for side in SIDES
    }
    sides = [side for side in SIDES if waits[side]]
    if len(sides) != 1:
        return {"ending": f"the connection ended ({_CLOSED.get(closed, closed)})", "why": _WHY, "remedy": _LOOK_AT_ALL}
    side = sides[0]
    least, most = min(waits[side]), max(waits[side])
    after = _describe_span(least, most)
    if side == "broker":
        gone = _describe_refusals(case, broker, seen)
        return {
            "ending": f"the broker reset the connection {after} later{gone or ''}",
            "why": "the reset came from the broker's side: its process ended, or it gave the connection up with the"
            " request (a load balancer or firewall can reset in its name)"
            if gone is None
            else "its process ended",
            "remedy": "look at the broker's log at that time; the client is not to blame",
        }
    if side == "client" or least >= _PATIENCE_NS:
        who = "the client reset the connection" if side == "client" else "the connection was closed"
        return {
            "ending": f"{who} {after} later",
            "why": f"the broker answered nothing for {after}; then the client likely gave the request up"
            " (request.timeout.ms), or its program ended",
            "remedy": "look at the broker's load and log at that time, and at what it waits for; compare the time with"
            " request.timeout.ms of the client",
        }
    return {
        "ending": f"the connection was closed {after} later",
        "why": "clients do not give a request up as soon: the broker closed the connection with the request (its log"
        " says why) or ended, or the client's program ended",
        "remedy": "look at the broker's log at that time, then at the client's",
    }


_WHY: Final = (
    "the client gave up (request.timeout.ms), the broker went away, or something between them cut the connection"
)
_LOOK_AT_ALL: Final = (
    "look at the broker's load and log at that time, and at firewalls and idle time-outs between the two"
)


def _describe_span(least_ns: int, most_ns: int) -> str:
    least, most = describe_duration(least_ns / MS), describe_duration(most_ns / MS)
    return least if least == most else f"{least} to {most}"


def _describe_refusals(case: Case, broker: str, seen: Observation) -> str | None:
    """Words for new connections that the broker refused from then on; None where none was refused."""
    refused = [
        its.first
        for (_, address, how), its in case.seen.items_of_kind("no-entry")
        if address == broker and how == "refused" and its.last >= seen.last
    ]
    begin = min(refused, default=0)
    if not begin or begin - seen.last > _REFUSED_NS:
        return None
    return f", and new ones were refused from {format_clock(begin)} on"
