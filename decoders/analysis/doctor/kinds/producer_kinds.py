"""Findings about producers, their records and transactions. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["PRODUCER_KINDS"]

PRODUCER_KINDS: Final[dict[str, FindingKind]] = {
    # Producers and transactions.
    "records-corrupt": FindingKind(
        ERROR,
        "batches {how} by {client} on {topic} have a wrong checksum",
        "{meaning}",
        "{remedy}",
    ),
    "values-undecodable": FindingKind(
        ERROR,
        "{tally} of {topic} do not decode with schema {schema}{by}: {fault}",
        "consumers that decode by the schema stop at such a value, and cannot get past it",
        "compare the serializer of the writer with the schema that its values name; kw sniff --records shows them",
    ),
    "schema-unregistered": FindingKind(
        ERROR,
        "{tally} of {topic} name schema {schema}, which {known}{by}",
        "consumers cannot decode these values: the writer uses another registry, or the schema was deleted there",
        "compare schema.registry.url of writers and readers, or give the schema to kw with --schemas",
    ),
    "value-misrouted": FindingKind(
        WARNING,
        "likely misrouted to {topic}: {tally} with schema {schema}, which is registered for {other} alone{by}",
        "the topic has a subject of its own: consumers of it get values that they do not expect",
        "look where the writer chooses the topic; kw sniff --records shows the values",
    ),
    "schemas-mixed": FindingKind(
        NOTE,
        "topic {topic} has values of {tally} types: {types}",
        "consumers have to expect each of them; the subject of a topic by default holds versions of one type",
        "if that is not meant, correct the writer; else have value.subject.name.strategy name subjects by record",
    ),
    "values-unframed": FindingKind(
        WARNING,
        "{tally} of {topic} name no schema{by}, while others do{others}",
        "a consumer with a deserializer of a registry stops at the first of them: unknown magic byte",
        "have all writers of the topic use the same serializer; kw sniff --records shows the values",
    ),
    "lz4-refused": FindingKind(
        ERROR,
        "{broker} refuses batches of {client}: their LZ4 frames have linked blocks",
        "Kafka reads independent blocks only (bit 5 of the frame's flags), and answers others with UNKNOWN_SERVER_ERROR"
        " or CORRUPT_MESSAGE",
        "have the client's LZ4 library write independent blocks (block_linked=False), or use another compression",
    ),
    "records-refused": FindingKind(ERROR, "{subject}: {error}{by}", went_on=WARNING),
    "too-large": FindingKind(ERROR, "{subject}: {error}{by}", went_on=WARNING),
    "timed-out": FindingKind(WARNING, "{subject}: {error}{by}", went_on=WARNING),
    "sequence-restarted": FindingKind(
        ERROR,
        "{client} counts its batches to {topic} from 0 again without a new epoch (producer id {producer},"
        " partition {partition} expected {expected})",
        "the broker refuses them, and takes those with one of its last five numbers for copies: records are lost"
        " without an error",
        "have the program ask for a producer id (InitProducerId) each time it starts, or keep its sequence numbers",
    ),
    "sequence-reused": FindingKind(
        ERROR,
        "{client} gives new records of {topic} sequence numbers that it {likely}has used (producer id"
        " {producer}{error}): {what}",
        "the broker takes them for copies of what it has, and stores none: records are lost, mostly without an error",
        "have each program ask for a producer id of its own (InitProducerId) each time it starts, and number its"
        " records without a break",
        went_on=WARNING,
    ),
    "sequence-broken": FindingKind(ERROR, "{subject}: {error}{by}{sequence}", went_on=WARNING),
    "sent-again": FindingKind(
        NOTE,
        "{client} sent {batches} batches to {topic} again, {why}",
        "{fate}",
        "look at the errors and time-outs before each retry; every retry adds latency",
    ),
    "sent-twice": FindingKind(
        WARNING,
        "{client} sent {batches} batches to {topic} again without idempotence; the first try may have been written too",
        "where the first try was written, the records are there twice, and the second time behind later ones",
        "set enable.idempotence=true; find out why answers did not come (request.timeout.ms, load, cut connections)",
    ),
    "written-twice": FindingKind(
        ERROR,
        "{likely}{batches} of {client} {were} written to {topic} twice: {what}",
        "{proof}; consumers get these records twice, unless the log was truncated in between",
        "{remedy}",
        went_on=WARNING,
    ),
    "read-past": FindingKind(
        WARNING,
        "group {group} passed {records} of {topic}, partition {places}, without reading them",
        "their Produce was acknowledged, the group read records before and behind them, and no answer that its members"
        " got had them: they began anew at the end (auto.offset.reset=latest without a commit), went ahead (seek), or"
        " an offset behind them was committed",
        "find out why: kw trace --losses says which records, and how each was passed; commit only what was processed",
    ),
    "producer-fenced": FindingKind(WARNING, "{subject}: {error}{by}{of}", went_on=WARNING),
    "transactions-abort": FindingKind(
        WARNING,
        "{aborts} of {transactions} transactions of {transactional_id} were aborted",
        "aborted work is thrown away, and consumers with isolation.level=read_committed wait longer",
        "look in the producer's log for why it aborts",
    ),
    "transaction-hangs": FindingKind(
        WARNING,
        "{what}",
        "consumers with isolation.level=read_committed stop at its first record",
        "{remedy}",
    ),
    "old-format": FindingKind(
        WARNING,
        "{client} {does} records of the old format (magic 0 or 1) on {topics}",
        "brokers convert them, which costs their memory and CPU; brokers of Kafka 4 no longer serve such clients",
        "upgrade the client",
    ),
    "clock-ahead": FindingKind(
        WARNING,
        "the clock of {client} is {ahead} ahead",
        "time stamps of its records lie in the future: retention by time keeps them longer, joins by time go wrong",
        "synchronise clocks (NTP); with message.timestamp.after.max.ms brokers refuse such records",
    ),
    "clock-behind": FindingKind(
        WARNING,
        "{client} writes time stamps that are {behind} behind, and brokers refuse them",
        "its clock is wrong, or it copies old records: the topic takes none older than message.timestamp.before.max.ms",
        "synchronise clocks (NTP); for old records raise message.timestamp.before.max.ms of the topic",
    ),
    "timestamp-refused": FindingKind(WARNING, "{subject}: {error}{by}", went_on=WARNING),
    "small-batches": FindingKind(
        NOTE,
        "{client} sends {records} records a batch to {topic}, {rate} batches a second",
        "a request for each record costs brokers and network many times what a batch costs",
        "raise linger.ms (5 to 20) and batch.size; flush less often",
    ),
    "many-in-flight": FindingKind(
        NOTE,
        "{client} has {mean} Produce requests under way to {broker} on average, without idempotence",
        "a request that is sent again then lands behind later ones: records change their order",
        "set enable.idempotence=true, or max.in.flight.requests.per.connection to 5 or less",
    ),
    "one-in-flight": FindingKind(
        NOTE,
        "{client} waits for each Produce answer of {broker} ({took}) before it sends the next",
        "its throughput is one request a round trip: max.in.flight is 1, or the program waits for each record",
        "send without waiting, with enable.idempotence=true and max.in.flight.requests.per.connection=5; raise linger",
    ),
    "no-compression": FindingKind(
        NOTE,
        "{client} writes {size} to {topic} without compression",
        "network, disks and page cache of all replicas carry the full size",
        "set compression.type to lz4 or zstd",
    ),
    "keys-apart": FindingKind(
        WARNING,
        "topic {topic}: {how}: {seen}",
        "records of one key lie in several partitions: their order is lost, and joins and tables by key go wrong,"
        " without any error",
        "have all producers of the topic use one partitioner (of librdkafka: partitioner=murmur2_random, as Java); what"
        " is written stays where it is",
    ),
    "skew": FindingKind(
        NOTE,
        "partition {partition} of {topic} gets {share} of the bytes",
        "one broker and one consumer do most of the work of the topic",
        "look at the keys and the partitioner: often most records have the same key",
    ),
    "huge-frames": FindingKind(
        NOTE,
        "{client}: a {side} of {api} of {size}",
        "brokers and clients hold the whole frame in memory, and later requests of the connection wait behind it",
        "lower max.request.size, fetch.max.bytes, or ask for less at once",
    ),
}
