"""Findings about records that groups do not read, or are not given again. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import NOTE, WARNING, FindingKind

__all__ = ["READING_KINDS"]

READING_KINDS: Final[dict[str, FindingKind]] = {
    "records-archived": FindingKind(
        WARNING,
        "share group {group} loses {records} of {topic}: delivered {deliveries} times each{within}, {how}, and not"
        " again since ({places})",
        "a record that was delivered as often as {setting} allows, and was not accepted, is archived: nobody in the"
        " group gets it again{likely}",
        "look at these records (kw trace CAPTURE {record}) and in the log of {clients} for why they fail; have the"
        " program reject what it can never handle, and keep that elsewhere (a dead letter topic); to have them handled,"
        " produce them again",
        went_on=NOTE,
    ),
    "added-partitions-skipped": FindingKind(
        WARNING,
        "group {group} began {places} behind their first records, {after} after they were added{who} at {at} (topic"
        " {topic} had {old} partitions, has {new}): up to {records} are skipped",
        "it had no commit there{how}: what is written between the adding of partitions and the moment in which members"
        " find them (metadata.max.age.ms, in librdkafka topic.metadata.refresh.interval.ms: 5 minutes by default) is"
        " never read then",
        "if these records matter, stop the members and set the group back to the beginning of {places}"
        " (kafka-consumer-groups --reset-offsets --to-earliest), which gives it those behind them again; use"
        " auto.offset.reset=earliest, which reads added partitions from their first record, or lower"
        " metadata.max.age.ms before partitions are added",
    ),
}
