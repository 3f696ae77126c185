"""Kafka's error codes: number, name, whether a client may simply try again, and what it means."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_names import OTHER_NAMES

__all__ = ["ERRORS", "ApiError", "ErrorCode", "ExpectedApiError", "error_name", "find_error_code"]


class ErrorCode(NamedTuple):
    """One row of the table; `retriable` as the Java client sees it."""

    name: str
    retriable: bool
    meaning: str


_RETRY: Final = True
_FATAL: Final = False

ERRORS: Final[dict[int, ErrorCode]] = {
    -1: ErrorCode("UNKNOWN_SERVER_ERROR", _FATAL, "the broker failed in a way it has no code for; its log says more"),
    0: ErrorCode("NONE", _FATAL, "no error"),
    1: ErrorCode(
        "OFFSET_OUT_OF_RANGE",
        _FATAL,
        "the offset asked for lies before the start or after the end of the partition's log",
    ),
    2: ErrorCode(
        "CORRUPT_MESSAGE",
        _RETRY,
        "a record batch does not match its checksum, has a bad size or lacks a key that a compacted topic needs",
    ),
    3: ErrorCode(
        "UNKNOWN_TOPIC_OR_PARTITION",
        _RETRY,
        "this broker does not know the topic or partition, or the client may not see it",
    ),
    4: ErrorCode("INVALID_FETCH_SIZE", _FATAL, "the size asked for in the fetch is not valid"),
    5: ErrorCode(
        "LEADER_NOT_AVAILABLE", _RETRY, "the partition has no leader: one is being elected, or no replica is up"
    ),
    6: ErrorCode(
        "NOT_LEADER_OR_FOLLOWER",
        _RETRY,
        "this broker is not the leader, or not a replica, of the partition; refresh the metadata",
    ),
    7: ErrorCode("REQUEST_TIMED_OUT", _RETRY, "the request was not finished within its own time limit"),
    8: ErrorCode("BROKER_NOT_AVAILABLE", _FATAL, "the broker needed for the request is not available"),
    9: ErrorCode(
        "REPLICA_NOT_AVAILABLE", _RETRY, "the replica needed for the request is not available; refresh the metadata"
    ),
    10: ErrorCode("MESSAGE_TOO_LARGE", _FATAL, "a record batch is larger than the topic's max.message.bytes"),
    11: ErrorCode("STALE_CONTROLLER_EPOCH", _FATAL, "the controller that sent this has been replaced by a newer one"),
    12: ErrorCode(
        "OFFSET_METADATA_TOO_LARGE",
        _FATAL,
        "the metadata string of a committed offset is longer than allowed",
    ),
    13: ErrorCode("NETWORK_EXCEPTION", _RETRY, "the connection was lost before the answer came"),
    14: ErrorCode("COORDINATOR_LOAD_IN_PROGRESS", _RETRY, "the coordinator is still reading its state from the log"),
    15: ErrorCode("COORDINATOR_NOT_AVAILABLE", _RETRY, "there is no coordinator yet, or its topic is being created"),
    16: ErrorCode(
        "NOT_COORDINATOR",
        _RETRY,
        "another broker coordinates this group or transaction; look the coordinator up again",
    ),
    17: ErrorCode(
        "INVALID_TOPIC_EXCEPTION",
        _FATAL,
        "the topic's name is not legal, or the topic may not be used this way",
    ),
    18: ErrorCode("RECORD_LIST_TOO_LARGE", _FATAL, "the batch is larger than a segment of the log can hold"),
    19: ErrorCode(
        "NOT_ENOUGH_REPLICAS",
        _RETRY,
        "fewer replicas are in sync than min.insync.replicas demands; nothing was written",
    ),
    20: ErrorCode(
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        _RETRY,
        "the records were written, but then fewer replicas were in sync than min.insync.replicas demands",
    ),
    21: ErrorCode("INVALID_REQUIRED_ACKS", _FATAL, "acks was neither 0, 1 nor -1"),
    22: ErrorCode("ILLEGAL_GENERATION", _FATAL, "the group has moved on to another generation than the one given"),
    23: ErrorCode(
        "INCONSISTENT_GROUP_PROTOCOL",
        _FATAL,
        "the member's protocol type or protocols do not fit those of the group",
    ),
    24: ErrorCode("INVALID_GROUP_ID", _FATAL, "the group id is empty or not legal"),
    25: ErrorCode("UNKNOWN_MEMBER_ID", _FATAL, "the coordinator does not know this member (any more); join again"),
    26: ErrorCode("INVALID_SESSION_TIMEOUT", _FATAL, "the session timeout lies outside what the broker allows"),
    27: ErrorCode("REBALANCE_IN_PROGRESS", _FATAL, "the group is rebalancing; join again"),
    28: ErrorCode("INVALID_COMMIT_OFFSET_SIZE", _FATAL, "the offset commit was too large to be written"),
    29: ErrorCode("TOPIC_AUTHORIZATION_FAILED", _FATAL, "the principal may not do this with the topic"),
    30: ErrorCode("GROUP_AUTHORIZATION_FAILED", _FATAL, "the principal may not do this with the group"),
    31: ErrorCode("CLUSTER_AUTHORIZATION_FAILED", _FATAL, "the principal may not do this with the cluster"),
    32: ErrorCode("INVALID_TIMESTAMP", _FATAL, "the timestamp of a record lies outside what the topic accepts"),
    33: ErrorCode("UNSUPPORTED_SASL_MECHANISM", _FATAL, "the broker does not offer this SASL mechanism"),
    34: ErrorCode("ILLEGAL_SASL_STATE", _FATAL, "the request does not belong at this point of the SASL exchange"),
    35: ErrorCode("UNSUPPORTED_VERSION", _FATAL, "the broker does not speak this version of the API"),
    36: ErrorCode("TOPIC_ALREADY_EXISTS", _FATAL, "there is a topic of this name already"),
    37: ErrorCode("INVALID_PARTITIONS", _FATAL, "the number of partitions is not valid"),
    38: ErrorCode(
        "INVALID_REPLICATION_FACTOR",
        _FATAL,
        "the replication factor is below 1 or above the number of brokers",
    ),
    39: ErrorCode("INVALID_REPLICA_ASSIGNMENT", _FATAL, "the replica assignment given by hand is not legal"),
    40: ErrorCode("INVALID_CONFIG", _FATAL, "a setting has an illegal name or value"),
    41: ErrorCode("NOT_CONTROLLER", _RETRY, "this node is not the active controller; look it up again"),
    42: ErrorCode(
        "INVALID_REQUEST",
        _FATAL,
        "the request contradicts itself or does not make sense here; see the message and the broker's log",
    ),
    43: ErrorCode("UNSUPPORTED_FOR_MESSAGE_FORMAT", _FATAL, "the log's old message format cannot do this"),
    44: ErrorCode("POLICY_VIOLATION", _FATAL, "a policy plugged into the broker forbids it"),
    45: ErrorCode(
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        _FATAL,
        "a sequence number is missing between this batch and the last one of the producer",
    ),
    46: ErrorCode(
        "DUPLICATE_SEQUENCE_NUMBER",
        _FATAL,
        "the batch has been written before; a retry that was not needed",
    ),
    47: ErrorCode("INVALID_PRODUCER_EPOCH", _FATAL, "the producer's epoch is older than the one the broker knows"),
    48: ErrorCode("INVALID_TXN_STATE", _FATAL, "the transaction is in a state in which this cannot be done"),
    49: ErrorCode(
        "INVALID_PRODUCER_ID_MAPPING",
        _FATAL,
        "the producer id is not the one that belongs to the transactional id",
    ),
    50: ErrorCode("INVALID_TRANSACTION_TIMEOUT", _FATAL, "the transaction timeout is longer than the broker allows"),
    51: ErrorCode(
        "CONCURRENT_TRANSACTIONS",
        _RETRY,
        "the last transaction of this transactional id is still being completed, or another change is under way",
    ),
    52: ErrorCode("TRANSACTION_COORDINATOR_FENCED", _FATAL, "a newer coordinator has taken the transaction over"),
    53: ErrorCode("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", _FATAL, "the principal may not use the transactional id"),
    54: ErrorCode("SECURITY_DISABLED", _FATAL, "the broker has no authorizer, so there are no access rules"),
    55: ErrorCode(
        "OPERATION_NOT_ATTEMPTED",
        _FATAL,
        "not tried, because something else in the same request failed before",
    ),
    56: ErrorCode("KAFKA_STORAGE_ERROR", _RETRY, "the disk below the log failed on the broker"),
    57: ErrorCode("LOG_DIR_NOT_FOUND", _FATAL, "the broker has no such log directory"),
    58: ErrorCode("SASL_AUTHENTICATION_FAILED", _FATAL, "the credentials were refused"),
    59: ErrorCode(
        "UNKNOWN_PRODUCER_ID",
        _FATAL,
        "the broker has forgotten the producer because all of its records are deleted",
    ),
    60: ErrorCode("REASSIGNMENT_IN_PROGRESS", _FATAL, "a move of this partition is under way already"),
    61: ErrorCode("DELEGATION_TOKEN_AUTH_DISABLED", _FATAL, "the broker has delegation tokens switched off"),
    62: ErrorCode("DELEGATION_TOKEN_NOT_FOUND", _FATAL, "the broker knows no such delegation token"),
    63: ErrorCode("DELEGATION_TOKEN_OWNER_MISMATCH", _FATAL, "the token belongs to somebody else"),
    64: ErrorCode(
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        _FATAL,
        "a token cannot be asked for over a connection like this one (plain, one-way TLS or token-authenticated)",
    ),
    65: ErrorCode(
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        _FATAL,
        "the principal may not do this with the delegation token",
    ),
    66: ErrorCode("DELEGATION_TOKEN_EXPIRED", _FATAL, "the delegation token has expired"),
    67: ErrorCode("INVALID_PRINCIPAL_TYPE", _FATAL, "the principal type is not supported here"),
    68: ErrorCode("NON_EMPTY_GROUP", _FATAL, "the group still has members"),
    69: ErrorCode("GROUP_ID_NOT_FOUND", _FATAL, "there is no such group"),
    70: ErrorCode("FETCH_SESSION_ID_NOT_FOUND", _RETRY, "the broker has dropped this fetch session; start a full one"),
    71: ErrorCode("INVALID_FETCH_SESSION_EPOCH", _RETRY, "the fetch session's epoch is not the expected next one"),
    72: ErrorCode(
        "LISTENER_NOT_FOUND", _RETRY, "the leader has no listener with the name of the one that the client uses"
    ),
    73: ErrorCode("TOPIC_DELETION_DISABLED", _FATAL, "the broker has deletion of topics switched off"),
    74: ErrorCode(
        "FENCED_LEADER_EPOCH",
        _RETRY,
        "the leader epoch given is older than the broker's; refresh the metadata",
    ),
    75: ErrorCode("UNKNOWN_LEADER_EPOCH", _RETRY, "the leader epoch given is newer than any the broker has heard of"),
    76: ErrorCode(
        "UNSUPPORTED_COMPRESSION_TYPE",
        _FATAL,
        "the client's version cannot read the compression of these records",
    ),
    77: ErrorCode("STALE_BROKER_EPOCH", _FATAL, "the broker has registered again since it sent this"),
    78: ErrorCode(
        "OFFSET_NOT_AVAILABLE",
        _RETRY,
        "the leader is new and does not know its high watermark yet; ask again",
    ),
    79: ErrorCode("MEMBER_ID_REQUIRED", _FATAL, "join again with the member id in this answer"),
    80: ErrorCode("PREFERRED_LEADER_NOT_AVAILABLE", _RETRY, "the preferred leader is not alive or not in sync"),
    81: ErrorCode("GROUP_MAX_SIZE_REACHED", _FATAL, "the group has as many members as it may have"),
    82: ErrorCode("FENCED_INSTANCE_ID", _FATAL, "another member has taken over this static instance id"),
    83: ErrorCode("ELIGIBLE_LEADERS_NOT_AVAILABLE", _RETRY, "no replica that could become leader is alive"),
    84: ErrorCode("ELECTION_NOT_NEEDED", _RETRY, "the partition has the wanted leader already"),
    85: ErrorCode("NO_REASSIGNMENT_IN_PROGRESS", _FATAL, "there is no move of this partition to cancel"),
    86: ErrorCode(
        "GROUP_SUBSCRIBED_TO_TOPIC",
        _FATAL,
        "a member still subscribes to the topic whose offsets were to be deleted",
    ),
    87: ErrorCode(
        "INVALID_RECORD",
        _FATAL,
        "a record was refused by the broker; the batch's record errors say which and why",
    ),
    88: ErrorCode(
        "UNSTABLE_OFFSET_COMMIT",
        _RETRY,
        "an open transaction has offsets pending for the partition; ask again",
    ),
    89: ErrorCode(
        "THROTTLING_QUOTA_EXCEEDED",
        _RETRY,
        "the quota for changes of topics is used up; wait for the throttle time",
    ),
    90: ErrorCode("PRODUCER_FENCED", _FATAL, "a newer producer with the same transactional id has shut this one out"),
    91: ErrorCode("RESOURCE_NOT_FOUND", _FATAL, "no such user, group or resource"),
    92: ErrorCode("DUPLICATE_RESOURCE", _FATAL, "the same thing is named twice"),
    93: ErrorCode(
        "UNACCEPTABLE_CREDENTIAL",
        _FATAL,
        "the credential breaks a rule (too few iterations, no such mechanism …)",
    ),
    94: ErrorCode("INCONSISTENT_VOTER_SET", _FATAL, "the voters given are not those of the receiver"),
    95: ErrorCode("INVALID_UPDATE_VERSION", _FATAL, "the new version is not one that could follow the current one"),
    96: ErrorCode("FEATURE_UPDATE_FAILED", _FATAL, "the controller could not change the feature level"),
    97: ErrorCode(
        "PRINCIPAL_DESERIALIZATION_FAILURE",
        _FATAL,
        "the controller could not read the principal inside the Envelope",
    ),
    98: ErrorCode("SNAPSHOT_NOT_FOUND", _FATAL, "the snapshot is not there (any more)"),
    99: ErrorCode("POSITION_OUT_OF_RANGE", _FATAL, "the position lies outside the snapshot"),
    100: ErrorCode("UNKNOWN_TOPIC_ID", _RETRY, "this broker knows no topic with this id"),
    101: ErrorCode("DUPLICATE_BROKER_REGISTRATION", _FATAL, "another running broker has registered the same id"),
    102: ErrorCode("BROKER_ID_NOT_REGISTERED", _FATAL, "the broker has not registered with the controller"),
    103: ErrorCode(
        "INCONSISTENT_TOPIC_ID",
        _RETRY,
        "the topic's id in the log is not the one asked for; refresh the metadata",
    ),
    104: ErrorCode("INCONSISTENT_CLUSTER_ID", _FATAL, "the node belongs to another cluster"),
    105: ErrorCode("TRANSACTIONAL_ID_NOT_FOUND", _FATAL, "the coordinator knows no such transactional id"),
    106: ErrorCode(
        "FETCH_SESSION_TOPIC_ID_ERROR",
        _RETRY,
        "a fetch session cannot mix topic ids and names; start a new one",
    ),
    107: ErrorCode(
        "INELIGIBLE_REPLICA",
        _FATAL,
        "the new in-sync set names a replica that may not be in it (fenced or stopping)",
    ),
    108: ErrorCode("NEW_LEADER_ELECTED", _FATAL, "the partition has been given another leader by this change"),
    109: ErrorCode("OFFSET_MOVED_TO_TIERED_STORAGE", _FATAL, "the records asked for are only in tiered storage"),
    110: ErrorCode(
        "FENCED_MEMBER_EPOCH",
        _FATAL,
        "the member's epoch is not the coordinator's: it has been fenced and must join again",
    ),
    111: ErrorCode("UNRELEASED_INSTANCE_ID", _FATAL, "another member still holds this static instance id"),
    112: ErrorCode("UNSUPPORTED_ASSIGNOR", _FATAL, "the group cannot use any assignor that the member offers"),
    113: ErrorCode("STALE_MEMBER_EPOCH", _FATAL, "the member's epoch is behind; heartbeat first, then repeat"),
    114: ErrorCode(
        "MISMATCHED_ENDPOINT_TYPE",
        _FATAL,
        "the endpoint is of the other kind: broker instead of controller, or the reverse",
    ),
    115: ErrorCode("UNSUPPORTED_ENDPOINT_TYPE", _FATAL, "the receiver does not know this kind of endpoint"),
    116: ErrorCode("UNKNOWN_CONTROLLER_ID", _FATAL, "no controller with this id is known"),
    117: ErrorCode("UNKNOWN_SUBSCRIPTION_ID", _FATAL, "the telemetry subscription has changed; fetch it again"),
    118: ErrorCode("TELEMETRY_TOO_LARGE", _FATAL, "the pushed metrics are larger than the broker takes"),
    119: ErrorCode(
        "INVALID_REGISTRATION",
        _FATAL,
        "the controller refuses the registration, as it contradicts the cluster's state",
    ),
    120: ErrorCode(
        "TRANSACTION_ABORTABLE", _FATAL, "the transaction has to be aborted; after that the producer can go on"
    ),
    121: ErrorCode(
        "INVALID_RECORD_STATE",
        _FATAL,
        "the acknowledged record is not held by this share consumer (any more)",
    ),
    122: ErrorCode("SHARE_SESSION_NOT_FOUND", _RETRY, "the broker has dropped this share session; start a new one"),
    123: ErrorCode("INVALID_SHARE_SESSION_EPOCH", _RETRY, "the share session's epoch is not the expected next one"),
    124: ErrorCode("FENCED_STATE_EPOCH", _FATAL, "a newer share coordinator or leader has written the state since"),
    125: ErrorCode("INVALID_VOTER_KEY", _FATAL, "the voter's id and directory do not fit the receiver's"),
    126: ErrorCode("DUPLICATE_VOTER", _FATAL, "the controller is a voter already"),
    127: ErrorCode("VOTER_NOT_FOUND", _FATAL, "no such voter"),
    128: ErrorCode("INVALID_REGULAR_EXPRESSION", _FATAL, "the broker cannot compile the regular expression"),
    129: ErrorCode(
        "REBOOTSTRAP_REQUIRED",
        _FATAL,
        "forget all that is known of the cluster and start again from the bootstrap servers",
    ),
    130: ErrorCode("STREAMS_INVALID_TOPOLOGY", _FATAL, "the topology is not legal"),
    131: ErrorCode("STREAMS_INVALID_TOPOLOGY_EPOCH", _FATAL, "the topology's epoch is not the one the group uses"),
    132: ErrorCode("STREAMS_TOPOLOGY_FENCED", _FATAL, "the topology is older than the one the group has moved on to"),
    133: ErrorCode("SHARE_SESSION_LIMIT_REACHED", _RETRY, "the broker holds as many share sessions as it may"),
    134: ErrorCode("GROUP_DELETION_FAILED", _FATAL, "the group could not be deleted; the message says why"),
    135: ErrorCode(
        "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
        _FATAL,
        "the description of the topology could not be stored",
    ),
    136: ErrorCode("CONTROLLER_ID_NOT_REGISTERED", _FATAL, "the controller has not registered"),
}


class ApiError(NamedTuple):
    """One error code of a response that is not 0."""

    path: str
    code: int
    name: str

    @property
    def expected(self) -> bool:
        """Whether the protocol means it so (`errors_expected` of its declaration)."""
        return False


class ExpectedApiError(ApiError):
    """One that the protocol means so."""

    __slots__ = ()

    @property
    def expected(self) -> bool:
        """It does."""
        return True

    def _asdict(self) -> dict[str, Any]:
        """As in the exchange record."""
        return {**super()._asdict(), "expected": True}


def error_name(code: int) -> str:
    """The standard name, or `UNKNOWN(n)`."""
    error = ERRORS.get(code)
    return error.name if error else f"UNKNOWN({code})"


def find_error_code(number_or_name: str) -> int | None:
    """The code that a number or a name means, if there is one.

    A name counts in any case and with any separators, as it was in older releases, as an exception of Kafka's Java
    client (with its package or without), and as librdkafka, Sarama, kafka-python and others write it.
    """
    try:
        code = int(number_or_name)
    except ValueError:
        return _codes_by_known_name().get(_strip_error_name(number_or_name))
    return code if code in ERRORS else None


@cache
def _codes_by_known_name() -> dict[str, int]:
    known = {_strip_error_name(name): code for code, names in OTHER_NAMES.items() for name in names.split()}
    return known | {_strip_error_name(error.name): code for code, error in ERRORS.items()}


def _strip_error_name(error_word: str) -> str:
    """A name without what clients put around it: a package, a prefix, the word for errors at its end."""
    last = error_word.strip().rpartition(".")[2]
    for prefix in _PREFIXES:
        if last.startswith(prefix):
            last = last[len(prefix) :]
            break
    folded = "".join(letter for letter in last.lower() if letter.isalnum())
    for suffix in ("exception", "error"):
        folded = folded.removesuffix(suffix) or folded
    return folded


# Of librdkafka, of its bindings, of Sarama.
_PREFIXES: Final = ("RD_KAFKA_RESP_ERR_", "ERR_", "Err")
