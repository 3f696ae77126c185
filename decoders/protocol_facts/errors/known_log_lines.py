"""Lines that clients, brokers and libraries log about failures: their meaning, a remedy, a command that shows more.

A row's pattern matches the words of a line, without regard to case, that no other cause writes; `likely` rows match
words that several causes write, and say so. Named groups of a pattern stand in the texts as `{name}`. The first row
that matches is the answer, so special ones stand before general ones.
"""

from __future__ import annotations

from typing import Final

from decoders.protocol_facts.errors.connection_log_lines import (
    CONNECTIONS_LINES,
    LOGINS_LINES,
    NAMES_LINES,
    TLS_LINES,
    LogLine,
)

_ASK_ANY: Final = "kw call ApiVersions -b HOST:PORT"
_DOCTOR: Final = "kw doctor -i any --port 9092"
_LIKELY: Final = "likely: "

_METADATA: Final = (
    LogLine(
        r"topic (?P<topic>[\w.-]+) not present in metadata after \d+ ?ms",
        "metadata",
        _LIKELY
        + "the topic {topic} does not exist and is not created, the client may not see it (DESCRIBE), or no broker "
        "answered at all. This is no overload",
        "ask for the topic; if no broker answers, the lines before say why",
        "kw call Metadata -b HOST:PORT topic={topic}",
    ),
    LogLine(
        r"partition \d+ of topic (?P<topic>[\w.-]+) with partition count \d+ is not present in metadata",
        "metadata",
        "the topic {topic} has fewer partitions than the record asks for",
        "send to a partition that exists, or add partitions",
        "kw call Metadata -b HOST:PORT topic={topic}",
    ),
    LogLine(
        r"failed to update metadata after|timeout expired while fetching topic metadata|failed to get metadata|"
        r"timed out waiting for a node assignment|metadata update failed|kafkajsmetadatanotloaded|"
        r"failed to (?:fetch|refresh|load) metadata",
        "metadata",
        _LIKELY
        + "no broker can be reached from the client, or the one that answers advertises addresses that it cannot "
        "reach",
        "look for lines about connections before it; compare advertised.listeners",
        "kw call Metadata -b HOST:PORT",
    ),
)

_TIMES: Final = (
    LogLine(
        r"expiring \d+ record\(s\) for (?P<topic>[\w.-]+)-\d+|delivery\.timeout\.ms|since batch creation",
        "time-out",
        "records waited longer than delivery.timeout.ms for their acknowledgement and are given up",
        "look for the cause behind it: a leader that is missing, a broker that is slow or away, lines about "
        "connections",
        _DOCTOR,
    ),
    LogLine(
        r"timed out (?P<api>\w+)request in flight|(?P<other>\w+)request timed out|kafkajsrequesttimeouterror|"
        r"due to request timeout|request timed out after|timed out \d+ in-flight|request\(s\) timed out|"
        r"request \w+\(key: \d+, version: \d+\) timed out|requesttimedouterror|deadline exceeded",
        "time-out",
        _LIKELY + "the broker is slow or away, or the answer is lost between: the client waited request.timeout.ms",
        "measure how long the broker takes; compare with the time-out",
        "kw stats -i any --port 9092 --by api",
    ),
    LogLine(
        r"before the position for partition|before successfully committing offsets|before the last committed offset|"
        r"failed to get offsets by times in|timeout of \d+ ?ms expired",
        "time-out",
        _LIKELY + "the partition's leader or the group's coordinator cannot be reached, or answers too late",
        "look for lines about connections before it; ask for the leader and the coordinator",
        "kw call FindCoordinator -b HOST:PORT group=GROUP",
    ),
    LogLine(
        r"within the configured max blocking time|bufferexhausted|local: queue full|queue_full|kgo\.errmaxbuffered|"
        r"maximum amount of records are buffered",
        "producer's buffer",
        "the application produces faster than the cluster takes records: the producer's buffer is full",
        "wait for acknowledgements, raise buffer.memory or queue.buffering.max.messages, look for a slow broker",
        "kw stats -i any --port 9092 --api Produce",
    ),
    LogLine(
        r"records? (?:have )?timed out before|errrecordtimeout|errrecordretries|record failed after being retried",
        "time-out",
        "records were not acknowledged within the client's time or number of tries and are given up",
        "look for the cause behind it: a leader that is missing, a broker that is slow or away",
        _DOCTOR,
    ),
)

_GROUPS: Final = (
    LogLine(
        r"commitfailedexception|commitfailederror|group has already rebalanced|not part of an active group|"
        r"commit cannot be completed",
        "group",
        _LIKELY + "the application took longer than max.poll.interval.ms between two polls; the group gave its "
        "partitions away",
        "process less per poll (max.poll.records), or raise max.poll.interval.ms; see whether the member was "
        "thrown out",
        "kw groups -i any --port 9092",
    ),
    LogLine(
        r"maximum poll interval|consumer poll timeout has expired|max_poll_exceeded|max\.poll\.interval\.ms",
        "group",
        "the application took longer than max.poll.interval.ms between two polls; the member left the group",
        "process less per poll (max.poll.records), or raise max.poll.interval.ms",
        "kw groups -i any --port 9092",
    ),
    LogLine(
        r"member \S+ in group (?P<group>\S+) has failed, removing|on heartbeat expiration|session timed out "
        r"without receiving a "
        r"heartbeat|removing member .* on heartbeat",
        "group",
        "the coordinator got no heartbeat within session.timeout.ms and threw the member out",
        "look for long pauses of the client (garbage collection, a suspended machine), lost connections, a "
        "hanging process",
        "kw groups -i any --port 9092",
    ),
    LogLine(
        r"preparing to rebalance group (?P<group>\S+)|stabilized group (?P<other>\S+) generation|"
        r"assignment received from leader",
        "group",
        "a group is rebalancing; the words in brackets have the reason. One at a start or stop of a member is usual",
        "count them: many without a start or stop mean members that are thrown out",
        "kw groups -i any --port 9092",
    ),
    LogLine(
        r"attempt to heartbeat failed since group is rebalancing|request joining group due to|revoke previously "
        r"assigned|"
        r"\(re-?\)joining group|successfully joined group",
        "group",
        "the group is rebalancing: usual when members come and go",
        "nothing, unless it comes again and again",
        "kw groups -i any --port 9092",
    ),
    LogLine(
        r"group coordinator \S+(?: \(id: \S+ rack: \S+\))? is unavailable or invalid|kafkajsgroupcoordinatornotfound",
        "group",
        "the coordinator was lost, the client looks for it again; usual after a restart of a broker",
        "nothing, if it is found again; else look whether __consumer_offsets has leaders",
        "kw call FindCoordinator -b HOST:PORT group=GROUP",
    ),
    LogLine(
        r"undefined offset with no reset policy|nooffsetforpartition|offsets? out of range with no configured "
        r"reset policy|"
        r"auto_offset_reset",
        "offset",
        "there is no usable offset to begin at, and auto.offset.reset gives none",
        "set auto.offset.reset to earliest or latest, or commit an offset",
        "kw call offsets -b HOST:PORT topic=TOPIC",
    ),
    LogLine(
        r"fetch (?:position|offset) .*is out of range",
        "offset",
        "the offset is before the first or behind the last one of the partition: retention deleted it, or the "
        "topic is a new one",
        "the client goes on by auto.offset.reset; compare with the offsets that are there",
        "kw call offsets -b HOST:PORT topic=TOPIC",
    ),
    LogLine(
        r"found no committed offset|setting offset for partition|resetting offset for partition",
        "offset",
        "a group begins at a partition without a committed offset: usual for a new group or a new partition",
        "nothing, unless the group had offsets (they are deleted after offsets.retention.minutes without members)",
        "kw call OffsetFetch -b HOST:PORT group=GROUP",
    ),
)

_VERSIONS: Final = (
    LogLine(
        r"protocol parse failure for apiversion",
        "version",
        _LIKELY + "a broker before 2.4 answered ApiVersions 3 in the layout of version 0: harmless, librdkafka asks "
        "again with "
        "an older one. If the connection then fails, the other side is no Kafka broker",
        "nothing, or set broker.version.fallback for a broker before 0.10",
        _ASK_ANY,
    ),
    LogLine(
        r"apiarraycnt -1 out of range",
        "version",
        _LIKELY + "a broker before 2.4 answered ApiVersions 3 in the layout of version 0, with an error and no list: "
        "harmless, "
        "librdkafka asks again with an older one",
        "nothing, unless the connection then fails",
        _ASK_ANY,
    ),
    LogLine(
        r"lz4: invalid header checksum",
        "LZ4",
        _LIKELY + "an LZ4 frame as clients of Kafka before 0.10 wrote it: the header's checksum covers the magic too "
        "(KAFKA-3160)",
        "let the producer write message format 1 or later; librdkafka and Java read both",
    ),
    LogLine(
        r"unsupportedversionexception|does not support .* with version in range|attempted to write a non-default|"
        r"request not supported by broker|does not support the required|kafkajsserverdoesnotsupportapikey|"
        r"incompatiblebrokerversion|unsupported_feature|required feature not supported by broker|"
        r"unrecognizedbrokerversion",
        "version",
        "client and broker have no version of that API in common, or a setting needs a newer one",
        "compare the versions of both; upgrade the older, or do without the setting",
        "kw audit FILE --target 4.0",
    ),
    LogLine(
        r"received request api key (?P<api>\w+)(?: with version \S+)? which is not enabled|"
        r"received request for api with key (?P<key>\d+)|invalid version for api key (?P<other>\w+)",
        "version",
        "the listener does not serve that API, or not this version: a controller's API on a broker's port, or "
        "another release",
        "send it to the listener that serves it; see which releases have the version",
        "kw apis {api}{key}{other}",
    ),
)

_LENGTHS: Final = (
    LogLine(
        r"non-nullable field (?P<field>\w+) was serialized as null",
        "null",
        _LIKELY
        + "the other side wrote null in {field}, where that version's layout allows none, or it wrote another version. "
        "Some brokers do so in the authBytes of a login that they refuse: its error is in the fields before",
        "capture it: kw reads null there, and shows all other fields",
        "kw sniff -i any --port 9092 -v",
    ),
    LogLine(
        r"invalid client_id size (?P<size>-\d+)",
        "no Kafka",
        _LIKELY
        + "the random bytes of a TLS hello: its bytes stood where the length of the client id is, and {size} is "
        "no length",
        "set security.protocol to SSL or SASL_SSL, or use a port without TLS",
        _DOCTOR,
    ),
    LogLine(
        r"expected \d+ bytes > \d+ remaining bytes|only \d+ bytes? available|bytes remaining|error reading "
        r"(?:field|array|string|bytes)|"
        r"error reading byte array|bufferunderflowexception|buffer underflow|insufficient data to decode|invalid "
        r"array length|"
        r"protocol parse failure|arraycnt -?\d+ out of range|schemaexception|was serialized as null|"
        r"read underflow|not enough data|kafkajspartialmessageerror|kafkajsinvalidvarinterror|invalid (?:compact "
        r")?string length|"
        r"rangeerror.*out of range|kerr\.errnotenoughdata|response did not contain enough data|"
        r"kbin\.errnotenoughdata",
        "layout",
        _LIKELY
        + "a length inside a message was read at a wrong place: the bytes are in the layout of another version, "
        "cut off, "
        "or not Kafka's. It is no size of a frame",
        "decode the message itself; compare the versions of both sides",
        "kw decode BYTES",
    ),
    LogLine(
        r"adjusted frame length exceeds \d+ - discarding|negative pre-adjustment length field|less than "
        r"lengthfieldendoffset",
        "lost framing",
        _LIKELY
        + "another protocol, or a wrong place in the stream: the first four bytes are no size that a server takes",
        "look at the first bytes of the connection",
        "kw sniff -i any --port 9092 -v",
    ),
    LogLine(
        r"correlation ?id (?:for response )?\(?-?\d+\)? does not match|(?:unexpected|wrong|mismatched|invalid) "
        r"correlation ?id|"
        r"correlation ?id (?:did not match|mismatch)|correlationiderror|correlation id .*does not match|"
        r"no (?:in-flight|matching) request for (?:response|correlation)",
        "order",
        _LIKELY + "the answer of an earlier request that the client had given up, two threads on one connection, "
        "or a "
        "proxy that "
        "mixes connections. A correlation id is no size",
        "close the connection after a time-out; use one connection in one thread; capture it to see whose answer came",
        "kw sniff FILE -v",
    ),
    LogLine(
        r"outofmemoryerror",
        "memory",
        _LIKELY + "the first bytes of an answer in TLS were taken for a size, when it comes while the client "
        "connects; "
        "else the "
        "client needs more memory",
        "if it is at the first connection: set security.protocol to SSL or SASL_SSL; else raise the heap or "
        "lower fetch.max.bytes",
        _ASK_ANY,
    ),
)

_RECORDS: Final = (
    LogLine(
        r"which is larger than \d+, which is the value of the max\.request\.size|message (?:was|is) larger than "
        r"config\.producer|"
        r"attempt to produce message larger than configured|message size too large|larger than.*max\.request\.size",
        "record size",
        "the client itself refuses the record: it is larger than its max.request.size (message.max.bytes in "
        "librdkafka)",
        "send smaller records, compress, or raise it together with the topic's max.message.bytes",
        "kw errors MESSAGE_TOO_LARGE",
    ),
    LogLine(
        r"whose size is larger than the fetch size|message is larger than (?:consumer\.fetch\.max|maxfetchsize)",
        "record size",
        "a record is larger than the consumer's fetch size",
        "raise max.partition.fetch.bytes (fetch.message.max.bytes in librdkafka, Consumer.Fetch.Max in Sarama)",
    ),
    LogLine(
        r"unknown magic byte",
        "schema registry",
        "a key or value does not begin with the byte 0 that serializers of a schema registry write",
        "the producer wrote it without the registry's serializer: use the deserializer of what it wrote",
        "kw call fetch -b HOST:PORT topic=TOPIC --values",
    ),
    LogLine(
        r"error deserializing (?:key/value|key|value)|recorddeserializationexception|serializationexception|size "
        r"of data received by",
        "deserializer",
        "a key or value is not what the deserializer expects",
        "look at the record at that offset; skip it with seek, or use the deserializer of what the producer wrote",
        "kw call fetch -b HOST:PORT topic=TOPIC --values",
    ),
    LogLine(
        r"snappy compression not implemented|libraries for \w+ compression codec not found|unsupportedcodecerror|"
        r"(?:lz4|zstd|gzip) compression not implemented|noclassdeffounderror:.*(?:snappy|zstd|lz4)|"
        r"unsatisfiedlinkerror.*snappy",
        "compression",
        "the client lacks the library of a compression that the records are in",
        "install or register the codec, or set compression.type to one that all clients have",
    ),
    LogLine(
        r"record(?:batch)? .*is corrupt|corruptrecordexception|record is corrupt|crc (?:mismatch|check failed)|"
        r"invalid crc",
        "corrupt",
        _LIKELY + "bytes of a batch changed after they were written: memory, disk, a proxy; or a broken client library",
        "see whether it comes again at the same offset (disk) or not (network)",
        "kw errors CORRUPT_MESSAGE",
    ),
)

_USE: Final = (
    LogLine(
        r"not safe for multi-?threaded access",
        "application",
        "two threads use one consumer",
        "use a consumer in one thread only (wakeup() is the only call for others)",
    ),
    LogLine(
        r"(?:consumer|producer|client) has (?:already )?been closed|tried to use a (?:client|consumer|producer) "
        r"that was closed|"
        r"errclientclosed|client closed|operation after (?:producer|consumer) has been closed|erroneous state|"
        r"_destroy\b|"
        r"closed client|use after close",
        "application",
        "the application uses a client that it has closed",
        "close it only when nothing uses it any more",
    ),
    LogLine(
        r"subscription to topics, partitions and pattern are mutually exclusive|wakeupexception",
        "application",
        "the application's own doing: subscribe() and assign() together, or wakeup()",
        "use one of them; a WakeupException is how poll() ends after wakeup()",
    ),
    LogLine(
        r"instancealreadyexistsexception: kafka",
        "metrics",
        "two clients of one process have the same client.id: their metrics collide, harmless",
        "give each client an id of its own",
    ),
    LogLine(
        r"was supplied but isn't a known config|configuration property \S+ is a (?:producer|consumer) property|"
        r"these configurations .* were supplied but are not used yet|no such configuration property",
        "setting",
        "the client does not know the setting: misspelt, of another client, or for the other kind of client",
        "check its name; librdkafka's and Java's names differ",
        "kw help connect",
    ),
    LogLine(
        r"kafka: invalid configuration|invalid value for configuration|configexception|kafkajsnonretriableerror: "
        r"invalid",
        "setting",
        "the client refuses a setting; the words behind it say which",
        "correct the setting",
        "kw help connect",
    ),
    LogLine(
        r"too many open files|emfile",
        "descriptors",
        "the process has as many files and connections open as it may",
        "raise the limit (ulimit -n); find a client that opens many connections",
        "kw clients -i any --port 9092",
    ),
    LogLine(
        r"shrinking isr from|expanding isr from|fewer in-sync replicas",
        "replicas",
        "a replica fell behind its leader, or caught up again",
        "if it is often: look at the disk, network and garbage collection of the follower",
        "kw brokers -i any --port 9092",
    ),
    LogLine(
        r"error getting request for apikey: (?P<api>[A-Z_]+|\d+), apiversion: (?P<version>\d+)",
        "layout",
        _LIKELY
        + "the body of the request (API {api}) is not in the layout of its version {version}: a client library that is "
        "new or "
        "broken. The line `Caused by` below it names the field",
        "decode the request; compare it with the layout",
        "kw apis {api} {version}",
    ),
    LogLine(
        r"error parsing request header\. our best guess of the apikey is: (?P<api>\d+)",
        "layout",
        _LIKELY
        + "the header of the request (API {api}) is not in its layout: a client id that is cut off, or tags that a "
        "header of that version has or lacks",
        "decode the request; compare its header with the layout",
        "kw apis {api}",
    ),
    LogLine(
        r"failed to construct kafka (?:consumer|producer)|failed (?:to create new kafkaadminclient|create new "
        r"kafkaadminclient)",
        "setting",
        "the client could not be made; the lines `Caused by` below it have the cause: a setting, a name, a key "
        "store, JAAS",
        "look at the last `Caused by`",
        "kw help connect",
    ),
    LogLine(
        r"kafkajsnumberofretriesexceeded|retries exhausted|exceeded the maximum number of retries",
        "retries",
        "the client gave up after its tries; the cause stands behind it or in the lines before",
        "look for the first failure",
    ),
    LogLine(
        r"circuit breaker is open",
        "retries",
        "Sarama sends nothing for a while after several failures for a partition; the cause is in the lines before",
        "look for the first failure",
    ),
)

LOG_LINES: Final[tuple[LogLine, ...]] = (
    *_LENGTHS[:2],
    *_VERSIONS[:3],
    *_VERSIONS[4:],
    *_RECORDS,
    *NAMES_LINES,
    *TLS_LINES,
    *LOGINS_LINES,
    *_METADATA,
    *_GROUPS,
    *_USE,
    *_VERSIONS[3:4],
    *_LENGTHS[2:],
    *CONNECTIONS_LINES,
    *_TIMES,
)
