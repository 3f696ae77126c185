"""Findings about clients that harm others, or their records, without an error of their own. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, FindingKind

__all__ = ["CLIENT_KINDS"]

CLIENT_KINDS: Final[dict[str, FindingKind]] = {
    "timestamps-early": FindingKind(
        ERROR,
        "records that {client} writes to {topic} have timestamps of {day}{unit}{moved}",
        "retention by time goes by timestamps: it takes such records for many years old and deletes them soon after"
        " they are written, so that readers lose those that they have not read yet",
        "{why} a mistake of the program: give it milliseconds since 1970 (System.currentTimeMillis()); or set"
        " message.timestamp.type=LogAppendTime for the topic; message.timestamp.before.max.ms refuses such records",
    ),
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
