"""Findings about refused requests whose cause other exchanges show, and about groups. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["REFUSAL_KINDS"]

REFUSAL_KINDS: Final[dict[str, FindingKind]] = {
    "coordinator-never": FindingKind(
        ERROR,
        "no {what} gets a coordinator: {error} ({api}) on each look-up ({names}){likely}",
        "{why}; until it is there, {harm}",
        "look into the controller's log for why {topic} is not made or has no leader; give {setting} a value of at most"
        " the number of brokers, or start the brokers that lack",
    ),
    "not-a-member": FindingKind(
        ERROR,
        "{clients} cannot commit for group {group}: {error} ({api}), as it is no member of it{members}",
        "its commits have no member id and no generation: it assigns its partitions itself (assign()), and a group with"
        " members takes commits of these alone",
        "give it a group.id of its own, or have it subscribe as the members do; heartbeats and polls are not to blame",
        went_on=WARNING,
    ),
    "transaction-expired": FindingKind(
        ERROR,
        "a transaction of {name}{of_clients} was open for more than {open}, its transaction.timeout.ms is {timeout}:"
        " {aborted}{api} is refused with {error}",
        "the coordinator has aborted the transaction and raised the producer's epoch: what it wrote and what it was to"
        " commit is thrown away; nobody else asked for the transactional id in that time",
        "commit sooner (less work in a transaction), or raise transaction.timeout.ms, up to transaction.max.timeout.ms"
        " of the broker",
        went_on=WARNING,
    ),
    # Groups.
    "group-mixed": FindingKind(
        WARNING,
        "group {group} is shared by programs that read different topics: {who}",
        "whenever a member of one comes or goes, those of the others stop as well, and offsets of all are in one group",
        "give each program a group.id of its own",
    ),
    "members-idle": FindingKind(
        NOTE,
        "{idle} of {members} members of group {group} {verb} no partition; the group has {total} in all",
        "a partition has one reader in a group: more members than partitions are of no use but as a reserve",
        "run fewer members, or add partitions",
    ),
    "group-behind": FindingKind(
        WARNING,
        "group {group} {what}; it is {behind} behind at the end",
        "{why}",
        "{remedy}",
    ),
    "answer-too-large": FindingKind(
        ERROR,
        "{client} closes the connection inside of each answer to its Fetch of {topic}-{partition} from offset {offset}"
        " ({size}, {times} times): likely it takes no answer as large",
        "it gets no further there: a broker gives at least one batch, however large it is, and the client takes no"
        " answer above its own limit (librdkafka: receive.message.max.bytes, 100 MB by default), so it closes and asks"
        " again; fetch.message.max.bytes and fetch.max.bytes do not make the batch smaller",
        "raise receive.message.max.bytes of the client above the largest batch (message.max.bytes of brokers,"
        " max.message.bytes of the topic); have producers write smaller batches",
        went_on=WARNING,
    ),
    "fetch-abandoned": FindingKind(
        ERROR,
        "{client}{of_group} gets nothing of {places}: it gives up each Fetch, {tally} times, and sends the next on a"
        " new connection within {after}, though it lets the broker wait for {wait} ms (fetch.max.wait.ms){until}:"
        " likely its request.timeout.ms is shorter",
        "a client that waits less for an answer than it lets the broker wait closes the connection before it, begins"
        " anew and never gets a record; whatever cuts idle connections between the two looks the same",
        "set request.timeout.ms above fetch.max.wait.ms, or lower fetch.max.wait.ms or fetch.min.bytes",
    ),
    "position-missing": FindingKind(
        ERROR,
        "{client} in group {group} reads nothing of {places}{why}, and it looks for no other position",
        "with auto.offset.reset=none (error) a consumer does not go on by itself: it tells its program, and fetches"
        " nothing",
        "set the group's offsets (kafka-consumer-groups --reset-offsets), or auto.offset.reset to earliest or latest;"
        " find out why the position is not there",
    ),
    "offsets-set": FindingKind(
        WARNING,
        "{client} set the offset of {places} in group {group} to {offset} at {at}, and members began there{moved}",
        "the client is no member of the group: somebody moved its position (kafka-consumer-groups --reset-offsets, a"
        " tool for operators), so that records are read again, or passed",
        "ask who did that and why; set the offsets again if it was a mistake",
    ),
    "codec-too-new": FindingKind(
        WARNING,
        "{client}{of_group} gets batches of {topic} compressed with {codec}, and asks with Fetch {version}: {codec}"
        " needs Fetch {least}{stuck}{changed}",
        "the client is likely older than {codec} and cannot read them: it fails at each such batch, or passes over its"
        " records",
        "upgrade the client, or have producers compress as it can read (compression.type of theirs, or of the topic);"
        " batches that are there stay as they are: it has to pass them (set its offsets) or be upgraded",
    ),
}
