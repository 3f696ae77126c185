"""Findings about how topics came to be, where clients are, what Streams groups lack, lost records. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["TOPOLOGY_KINDS"]

TOPOLOGY_KINDS: Final[dict[str, FindingKind]] = {
    "topic-created-unasked": FindingKind(
        WARNING,
        "topic {topic} {before}: {likely}Metadata of {clients} created it at {at}{with_partitions}{compared}",
        "brokers with auto.create.topics.enable=true create a topic when a client asks for its metadata, with"
        " num.partitions and default.replication.factor of the broker{refused}",
        "{remedy}",
        went_on=NOTE,
    ),
    "streams-not-ready": FindingKind(
        ERROR,
        "Streams application {group} gets no work: {error}{lasts}{detail}",
        "{meaning}",
        "{remedy}",
        went_on=NOTE,
    ),
    "rack-unmatched": FindingKind(
        NOTE,
        "client.rack of {clients} is {rack}, and {brokers}",
        "a consumer reads from a replica in its own rack where one has the same broker.rack (KIP-392): with a name that"
        " no broker has it reads from leaders, in any rack or zone",
        "set client.rack to the broker.rack of the brokers beside it, letter by letter",
    ),
    "acknowledged-lost": FindingKind(
        ERROR,
        "topic {topic} lost records that were acknowledged: at least {records} of {clients}, in {places}; other records"
        " have their offsets since {since}",
        "a log gives each offset once: this one was cut off after their answers, as when a replica that lacks them"
        " becomes the leader; their producers do not know it",
        "write with acks=all, set min.insync.replicas to 2 or more and unclean.leader.election.enable=false; look at"
        " which node became the leader then, and write the records again if they matter",
    ),
}
