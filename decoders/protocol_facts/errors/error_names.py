"""Other names of Kafka's error codes (older releases, exceptions, client libraries), and librdkafka's own errors.

Names that differ from the standard one in case, in separators, or in what clients put around a name (`ERR_`, `Err…`,
`…Error`, `…Exception`, a package) are not listed: `error_codes.find_error_code` takes those away itself.
"""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple

# Code → names, as they are written: in the enum `Errors` of Kafka 0.8.2 to 4.4 and its exceptions, in librdkafka's
# `rd_kafka_resp_err_t`, Sarama's `KError` and the module `kafka.errors` of kafka-python.
OTHER_NAMES: Final[dict[int, str]] = {
    -1: "UNKNOWN",
    0: "NO_ERROR",
    2: "CorruptRecordException INVALID_MESSAGE INVALID_MSG",
    3: "UNKNOWN_TOPIC_OR_PART",
    4: "INVALID_MESSAGE_SIZE INVALID_MSG_SIZE",
    6: "NOT_LEADER_FOR_PARTITION",
    7: "TimeoutException KafkaTimeoutError",
    10: "RecordTooLargeException MESSAGE_SIZE_TOO_LARGE MSG_SIZE_TOO_LARGE",
    11: "ControllerMovedException STALE_CONTROLLER_EPOCH_CODE STALE_CTRL_EPOCH",
    14: "GROUP_LOAD_IN_PROGRESS OFFSETS_LOAD_IN_PROGRESS",
    15: "GROUP_COORDINATOR_NOT_AVAILABLE CONSUMER_COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR_FOR_GROUP NOT_COORDINATOR_FOR_CONSUMER",
    17: "TOPIC_EXCEPTION",
    18: "RecordBatchTooLargeException MESSAGE_SET_SIZE_TOO_LARGE",
    29: "TopicAuthorizationException",
    30: "GroupAuthorizationException",
    31: "ClusterAuthorizationException",
    36: "TopicExistsException",
    40: "InvalidConfigurationException",
    45: "OutOfOrderSequenceException",
    46: "DuplicateSequenceException",
    49: "InvalidPidMappingException",
    50: "InvalidTxnTimeoutException",
    53: "TransactionalIdAuthorizationException",
    58: "SaslAuthenticationException",
    61: "DelegationTokenDisabledException",
    64: "UnsupportedByAuthenticationException",
    65: "DelegationTokenAuthorizationException",
    68: "GroupNotEmptyException",
    97: "PrincipalDeserializationException",
}


class ClientError(NamedTuple):
    """An error that a client library makes itself; no broker sends it."""

    name: str
    meaning: str


# `rd_kafka_resp_err_t` below RD_KAFKA_RESP_ERR__END, of librdkafka 2.x.
LIBRDKAFKA_ERRORS: Final[dict[int, ClientError]] = {
    -199: ClientError("_BAD_MSG", "a message that came from the broker cannot be read"),
    -198: ClientError("_BAD_COMPRESSION", "compressed data that came from the broker cannot be read"),
    -197: ClientError("_DESTROY", "the broker's handle is being taken down"),
    -196: ClientError("_FAIL", "the call to a broker failed for a reason without a code of its own"),
    -195: ClientError("_TRANSPORT", "the connection to a broker failed or was lost; librdkafka connects again"),
    -194: ClientError("_CRIT_SYS_RESOURCE", "the system has too little memory or too few descriptors or threads"),
    -193: ClientError("_RESOLVE", "the name of a broker's host could not be resolved"),
    -192: ClientError("_MSG_TIMED_OUT", "a message was not acknowledged within message.timeout.ms"),
    -191: ClientError("_PARTITION_EOF", "the consumer read to the end of a partition; no failure"),
    -190: ClientError("_UNKNOWN_PARTITION", "the metadata of the cluster lacks the partition"),
    -189: ClientError("_FS", "a file or folder could not be used"),
    -188: ClientError("_UNKNOWN_TOPIC", "the metadata of the cluster lacks the topic"),
    -187: ClientError("_ALL_BROKERS_DOWN", "no broker is connected; librdkafka goes on trying"),
    -186: ClientError("_INVALID_ARG", "an argument or a configuration value is invalid"),
    -185: ClientError("_TIMED_OUT", "the operation was not finished within its time limit"),
    -184: ClientError("_QUEUE_FULL", "the producer's queue is full: queue.buffering.max.messages or .kbytes"),
    -183: ClientError("_ISR_INSUFF", "fewer replicas are in sync than the producer demands"),
    -182: ClientError("_NODE_UPDATE", "the address of a broker changed"),
    -181: ClientError("_SSL", "the TLS handshake or a certificate failed"),
    -180: ClientError("_WAIT_COORD", "the group's coordinator is not known yet"),
    -179: ClientError("_UNKNOWN_GROUP", "the group is not known"),
    -178: ClientError("_IN_PROGRESS", "the operation is under way"),
    -177: ClientError("_PREV_IN_PROGRESS", "an earlier operation has to finish first"),
    -176: ClientError("_EXISTING_SUBSCRIPTION", "the operation collides with a subscription that exists"),
    -175: ClientError("_ASSIGN_PARTITIONS", "partitions are being assigned: an event of a rebalance, no failure"),
    -174: ClientError("_REVOKE_PARTITIONS", "partitions are being revoked: an event of a rebalance, no failure"),
    -173: ClientError("_CONFLICT", "the operation conflicts with another one"),
    -172: ClientError("_STATE", "the client is in a state in which it cannot do this"),
    -171: ClientError("_UNKNOWN_PROTOCOL", "the group's protocol is not known"),
    -170: ClientError("_NOT_IMPLEMENTED", "librdkafka cannot do this"),
    -169: ClientError("_AUTHENTICATION", "the broker refused the login, or the login could not be made"),
    -168: ClientError("_NO_OFFSET", "no offset is stored that could be committed or read from"),
    -167: ClientError("_OUTDATED", "the operation has been overtaken by a newer one"),
    -166: ClientError("_TIMED_OUT_QUEUE", "a request ran out of time while it waited to be sent"),
    -165: ClientError("_UNSUPPORTED_FEATURE", "the broker is too old for what was asked"),
    -164: ClientError("_WAIT_CACHE", "the metadata are being refreshed first"),
    -163: ClientError("_INTR", "the operation was interrupted"),
    -162: ClientError("_KEY_SERIALIZATION", "the serializer of keys failed"),
    -161: ClientError("_VALUE_SERIALIZATION", "the serializer of values failed"),
    -160: ClientError("_KEY_DESERIALIZATION", "the deserializer of keys failed"),
    -159: ClientError("_VALUE_DESERIALIZATION", "the deserializer of values failed"),
    -158: ClientError("_PARTIAL", "a response was incomplete"),
    -157: ClientError("_READ_ONLY", "the value is read-only"),
    -156: ClientError("_NOENT", "the entry does not exist"),
    -155: ClientError("_UNDERFLOW", "a response ended before its last field"),
    -154: ClientError("_INVALID_TYPE", "a value has the wrong type"),
    -153: ClientError("_RETRY", "the client tries the operation again"),
    -152: ClientError("_PURGE_QUEUE", "the message was purged while it waited to be sent"),
    -151: ClientError("_PURGE_INFLIGHT", "the message was purged while it was under way: it may have been written"),
    -150: ClientError("_FATAL", "the client cannot go on; rd_kafka_fatal_error() has the cause"),
    -149: ClientError("_INCONSISTENT", "the client's state contradicts the broker's"),
    -148: ClientError("_GAPLESS_GUARANTEE", "going on would leave a gap in what an idempotent producer wrote"),
    -147: ClientError("_MAX_POLL_EXCEEDED", "the application did not poll within max.poll.interval.ms"),
    -146: ClientError("_UNKNOWN_BROKER", "the broker is not known"),
    -145: ClientError("_NOT_CONFIGURED", "a setting that the operation needs is missing"),
    -144: ClientError("_FENCED", "a newer instance has taken this one's place"),
    -143: ClientError("_APPLICATION", "the application itself reported an error"),
    -142: ClientError("_ASSIGNMENT_LOST", "the group took the partitions away before they were given back"),
    -141: ClientError("_NOOP", "there was nothing to do"),
    -140: ClientError("_AUTO_OFFSET_RESET", "there is no offset to begin at, and auto.offset.reset is error"),
    -139: ClientError("_LOG_TRUNCATION", "the partition's log was truncated below what was read"),
    -138: ClientError("_INVALID_DIFFERENT_RECORD", "another record of the same batch was refused"),
    -137: ClientError("_DESTROY_BROKER", "the broker left the cluster, and its handle is taken down"),
}
