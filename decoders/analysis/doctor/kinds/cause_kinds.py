"""Findings about errors and waits whose cause several exchanges show together. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["CAUSE_KINDS"]

CAUSE_KINDS: Final[dict[str, FindingKind]] = {
    "producer-forgotten": FindingKind(
        ERROR,
        "{client}{of} was idle for {idle}, and {holder} has forgotten its producer id: {api} is refused with"
        " {error}{then}",
        "brokers drop ids that are not used for {setting}: a program that pauses for longer is refused at its next"
        " write, and its producer does not go on by itself",
        "raise {setting} above the longest pause; or have the program close its producer and make a new one, after such"
        " a pause and after this error",
        went_on=WARNING,
    ),
    "other-node-answers": FindingKind(
        ERROR,
        "{address} is the address of node {node_id}, and another node answers there{to}: {error} ({api}){places} each"
        " time{proof}",
        "clients do as the metadata say and reach the wrong node: a port forward, load balancer, NAT or DNS entry leads"
        " elsewhere, or two brokers have each other's address in advertised.listeners",
        "correct what leads {address} to another node than {node_id}; to look for metadata again does not help, as they"
        " have named this address all the time",
        went_on=WARNING,
    ),
    "share-lock-ended": FindingKind(
        ERROR,
        "{clients} (share group {group}) {what}{again}",
        "when the lock ends, the broker gives the records to the next member that asks{twice}, and archives them after"
        " group.share.delivery.count.limit deliveries (5 by default): nobody gets them again",
        "raise share.record.lock.duration.ms of the group (group.share.record.lock.duration.ms of brokers) above the"
        " time that a batch takes, get fewer records at once (max.poll.records), or renew the lock during the work"
        " (AcknowledgeType.RENEW, KIP-1222)",
        went_on=WARNING,
    ),
    "move-stalled": FindingKind(
        WARNING,
        "the move of {places} to {to} has not ended after {lasts}: {why}",
        "a new replica counts when it has the whole log: where more is written than is copied it never has, and the old"
        " replicas stay",
        "{remedy}",
    ),
    "join-abandoned": FindingKind(
        ERROR,
        "{client}{of_group} does not get into its group: it gives up each JoinGroup, {tally} times, and sends the next"
        " on a new connection within {after}, though it lets the group wait for {wait} ms (rebalance_timeout_ms)",
        "likely its time-out for requests or reads is shorter than that: it closes the connection while the group still"
        " waits for other members, and begins anew",
        "set the client's time-out of requests (request.timeout.ms; Sarama: Net.ReadTimeout) above its rebalance"
        " time-out (max.poll.interval.ms; Sarama: Rebalance.Timeout), or lower that",
    ),
    "transaction-stuck": FindingKind(
        ERROR,
        "the last transaction of {name} ({clients}) is not completed: {error}{by} for {lasts}",
        "the coordinator has decided how it ends, and waits for the leaders of its partitions to write that: one of"
        " them does not (a broker that is down, a partition without a leader or with too few replicas); until then the"
        " producer begins no other, and readers with isolation.level=read_committed stop",
        "look for partitions without leader and brokers that are down, then at the coordinator's log;"
        " kafka-transactions describe says in which state it is and of which partitions",
        went_on=WARNING,
    ),
    "commits-frequent": FindingKind(
        NOTE,
        "group {group} commits {rate} times a second on {topic}, after {records} records each",
        "each commit is a write to __consumer_offsets with all its replicas: it costs more than reading the record, and"
        " keeps the coordinator busy",
        "commit once for each poll, or every few seconds: after a crash a few records are handled again either way",
    ),
    "producer-ids-frequent": FindingKind(
        WARNING,
        "{client} asks for {rate} producer ids a second: likely it makes a new producer for each piece of work",
        "brokers keep each id in memory, for each partition that it wrote to, for producer.id.expiration.ms (a day by"
        " default): very many fill it; and no batch holds more than the records of one producer",
        "keep one producer for the life of the program; lower producer.id.expiration.ms where memory is short",
    ),
    "broker-fenced": FindingKind(
        ERROR,
        "node {node_id} runs and its controller keeps it fenced for {lasts}: {why}",
        "a fenced broker leads no partition, counts in no set of replicas in sync, and clients are not told of it",
        "look at the broker's log for what it does before it is ready (recovery of logs, the metadata log), and at its"
        " connection to the controllers",
        went_on=WARNING,
    ),
}
