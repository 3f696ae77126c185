"""Findings about clients that harm others, or their records, without an error of their own. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, FindingKind

__all__ = ["CLIENT_KINDS"]

CLIENT_KINDS: Final[dict[str, FindingKind]] = {
    "revocation-pending": FindingKind(
        ERROR,
        "{client} does not give up {places} of group {group}: told so at {at}, it has not confirmed it to the end, for"
        " {waited}{silent}{idle}",
        "the coordinator hands these partitions to another member only when this one has said that it owns them no"
        " more, which it does when its program polls: likely the program does not, being busy with records or stuck",
        "look at what {client} does (a thread dump), or restart it; let it poll sooner: fewer records for each poll"
        " (max.poll.records), or a shorter max.poll.interval.ms, after which it leaves by itself",
    ),
}
