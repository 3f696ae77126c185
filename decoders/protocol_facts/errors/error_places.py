"""Where the answer of an API carries errors, and what of a request it says again: a row for every API.

A row is what the answer holds besides the defaults of its fields. In it a field is one of these:

- `CODE`: the error; `TEXT`: the words given with it, or nothing; `MEANING`: these words, or what the error means;
- `Same(names)`: the value of that field of the request, or of the request's element inside an `Each`;
- `Each(path, row)`: an element for each element that the path finds in the request, beside each other by ` + `;
- `Until(version, value)`: a value that only versions up to this one have;
- anything else: that value.

A field that a version lacks is left out, so one row serves all versions. The throttle time is no part of it.

Kafka's own `AbstractRequest.getErrorResponse` is the oracle of this table (tests/oracle/test_java_error_answers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from decoders.named_tuple import NamedTuple

__all__ = [
    "CODE",
    "ERROR_PLACES",
    "IN_PARTITIONS",
    "MEANING",
    "TEXT",
    "EachElement",
    "ErrorMark",
    "Row",
    "SameField",
    "UntilVersion",
]

Row = Mapping[str, Any]


class ErrorMark(Enum):
    """What is known only with the error itself."""

    CODE = "code"
    TEXT = "text"
    MEANING = "meaning"


CODE: Final = ErrorMark.CODE
TEXT: Final = ErrorMark.TEXT
MEANING: Final = ErrorMark.MEANING


class SameField(NamedTuple):
    """A field of the request's element: the first of these names that there is.

    `.` is an element that is no struct, `^name` a field of the struct around it.
    """

    names: str


class EachElement(NamedTuple):
    """An array with an element for each of the request's elements at `path`."""

    path: str
    row: Row


class UntilVersion(NamedTuple):
    """A value that later versions leave at its default."""

    version: int
    value: Any


def _fields_of_same_name(*names: str) -> dict[str, SameField]:
    return {name: SameField(name) for name in names}


_TOP: Final[Row] = {"error_code": CODE}
_TOP_TEXT: Final[Row] = {"error_code": CODE, "error_message": TEXT}
_TOP_MEANING: Final[Row] = {"error_code": CODE, "error_message": MEANING}
_INDEX: Final = {"partition_index": SameField("partition_index"), "error_code": CODE}
_NUMBER: Final = {"partition_index": SameField("."), "error_code": CODE}
_RESOURCE: Final = {"error_code": CODE, "error_message": TEXT, **_fields_of_same_name("resource_type", "resource_name")}
_STATE: Final = EachElement(
    "partitions", {"partition": SameField("partition"), "error_code": CODE, "error_message": TEXT}
)
_STATE_MEANING: Final = EachElement(
    "partitions", {"partition": SameField("partition"), "error_code": CODE, "error_message": MEANING}
)
_COMMITTED: Final[Row] = {
    "topics": EachElement(
        "topics", {**_fields_of_same_name("name", "topic_id"), "partitions": EachElement("partitions", _INDEX)}
    )
}
_GROUP: Final = {"group_id": SameField("."), "error_code": CODE, "error_message": TEXT}
_NOWHERE: Final = {"offset": -1, "timestamp": -1, "leader_epoch": -1}
_FETCHED: Final = EachElement(
    "topics",
    {
        **_fields_of_same_name("topic", "topic_id"),
        "partitions": EachElement(
            "partitions",
            {
                "partition_index": SameField("partition"),
                "error_code": CODE,
                "high_watermark": -1,
                "last_stable_offset": -1,
                "log_start_offset": -1,
                "preferred_read_replica": -1,
                "records": b"",
            },
        ),
    },
)
# A partition as controllers of ZooKeeper's time told it: each for itself, or by topic.
_TOLD: Final = "ungrouped_partition_states + topic_states.partition_states"
_STOPPED: Final = "ungrouped_partitions + topics.partition_indexes + topic_states.partition_states"

ERROR_PLACES: Final[dict[int, Row]] = {
    0: {
        "responses": EachElement(
            "topic_data",
            {
                **_fields_of_same_name("name", "topic_id"),
                "partition_responses": EachElement(
                    "partition_data",
                    {
                        "index": SameField("index"),
                        "error_code": CODE,
                        "error_message": TEXT,
                        "base_offset": -1,
                        "log_append_time_ms": -1,
                        "log_start_offset": -1,
                    },
                ),
            },
        )
    },
    1: {
        "error_code": CODE,
        "session_id": SameField("session_id"),
        "responses": UntilVersion(12, _FETCHED),
    },
    2: {
        "topics": EachElement(
            "topics",
            {"name": SameField("name"), "partitions": EachElement("partitions", {**_INDEX, **_NOWHERE})},
        )
    },
    3: {
        "error_code": CODE,
        "controller_id": -1,
        "topics": EachElement("topics", {"error_code": CODE, **_fields_of_same_name("name", "topic_id")}),
    },
    4: {
        "error_code": CODE,
        "partition_errors": EachElement(
            _TOLD,
            {
                "topic_name": SameField("topic_name ^topic_name"),
                "partition_index": SameField("partition_index"),
                "error_code": CODE,
            },
        ),
        "topics": EachElement(
            "topic_states",
            {"topic_id": SameField("topic_id"), "partition_errors": EachElement("partition_states", _INDEX)},
        ),
    },
    5: {
        "error_code": CODE,
        "partition_errors": EachElement(
            _STOPPED,
            {
                "topic_name": SameField("topic_name ^topic_name ^name"),
                "partition_index": SameField("partition_index ."),
                "error_code": CODE,
            },
        ),
    },
    6: _TOP,
    7: _TOP,
    8: _COMMITTED,
    9: {
        "error_code": CODE,
        "topics": UntilVersion(
            1,
            EachElement(
                "topics",
                {
                    "name": SameField("name"),
                    "partitions": EachElement("partition_indexes", {**_NUMBER, "committed_offset": -1, "metadata": ""}),
                },
            ),
        ),
        "groups": EachElement("groups", {"group_id": SameField("group_id"), "error_code": CODE}),
    },
    10: {
        "error_code": CODE,
        "error_message": MEANING,
        "node_id": -1,
        "port": -1,
        "coordinators": EachElement(
            "coordinator_keys",
            {"key": SameField("."), "error_code": CODE, "error_message": MEANING, "node_id": -1, "port": -1},
        ),
    },
    11: {"error_code": CODE, "generation_id": -1, "protocol_name": None},
    12: _TOP,
    13: _TOP,
    14: _TOP,
    15: {"groups": EachElement("groups", _GROUP)},
    16: _TOP,
    17: _TOP,
    18: _TOP,
    19: {
        "topics": EachElement(
            "topics",
            {
                "name": SameField("name"),
                "error_code": CODE,
                "error_message": TEXT,
                "num_partitions": -1,
                "replication_factor": -1,
            },
        )
    },
    20: {
        "responses": EachElement(
            "topic_names + topics",
            {"name": SameField("name ."), "topic_id": SameField("topic_id"), "error_code": CODE, "error_message": TEXT},
        )
    },
    21: {
        "topics": EachElement(
            "topics",
            {"name": SameField("name"), "partitions": EachElement("partitions", {**_INDEX, "low_watermark": -1})},
        )
    },
    22: {"error_code": CODE, "producer_id": -1, "producer_epoch": -1},
    23: {
        "topics": EachElement(
            "topics",
            {
                "topic": SameField("topic"),
                "partitions": EachElement(
                    "partitions",
                    {"partition": SameField("partition"), "error_code": CODE, "leader_epoch": -1, "end_offset": -1},
                ),
            },
        )
    },
    24: {
        "error_code": CODE,
        "results_by_topic_v3_and_below": EachElement(
            "v3_and_below_topics",
            {
                "name": SameField("name"),
                "results_by_partition": EachElement(
                    "partitions", {"partition_index": SameField("."), "partition_error_code": CODE}
                ),
            },
        ),
    },
    25: _TOP,
    26: _TOP,
    27: {
        "markers": EachElement(
            "markers",
            {
                "producer_id": SameField("producer_id"),
                "topics": EachElement(
                    "topics", {"name": SameField("name"), "partitions": EachElement("partition_indexes", _NUMBER)}
                ),
            },
        )
    },
    28: _COMMITTED,
    29: _TOP_TEXT,
    30: {"results": EachElement("creations", _TOP_TEXT)},
    31: {"filter_results": EachElement("filters", _TOP_TEXT)},
    32: {"results": EachElement("resources", {**_RESOURCE, "error_message": MEANING})},
    33: {"responses": EachElement("resources", _RESOURCE)},
    34: {
        "results": EachElement(
            "dirs.topics", {"topic_name": SameField("name"), "partitions": EachElement("partitions", _NUMBER)}
        )
    },
    35: _TOP,
    36: _TOP_TEXT,
    37: {"results": EachElement("topics", {"name": SameField("name"), "error_code": CODE, "error_message": TEXT})},
    38: {
        "error_code": CODE,
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    39: _TOP,
    40: _TOP,
    41: _TOP,
    42: {"results": EachElement("groups_names", _GROUP)},
    43: {
        "error_code": CODE,
        "replica_election_results": EachElement(
            "topic_partitions",
            {
                "topic": SameField("topic"),
                "partition_result": EachElement(
                    "partitions", {"partition_id": SameField("."), "error_code": CODE, "error_message": TEXT}
                ),
            },
        ),
    },
    44: {"responses": EachElement("resources", _RESOURCE)},
    45: {
        "error_code": CODE,
        "error_message": TEXT,
        "allow_replication_factor_change": SameField("allow_replication_factor_change"),
        "responses": EachElement(
            "topics",
            {"name": SameField("name"), "partitions": EachElement("partitions", {**_INDEX, "error_message": TEXT})},
        ),
    },
    46: {
        "error_code": CODE,
        "error_message": TEXT,
        "topics": EachElement(
            "topics",
            {
                "name": SameField("name"),
                "partitions": EachElement("partition_indexes", {"partition_index": SameField(".")}),
            },
        ),
    },
    47: _TOP,
    48: {"error_code": CODE, "error_message": TEXT, "entries": None},
    49: {
        "entries": EachElement(
            "entries",
            {
                "error_code": CODE,
                "error_message": MEANING,
                "entity": EachElement("entity", _fields_of_same_name("entity_type", "entity_name")),
            },
        )
    },
    50: {
        "error_code": CODE,
        "error_message": TEXT,
        "results": EachElement("users", {**_TOP_TEXT, "user": SameField("name")}),
    },
    51: {"results": EachElement("deletions + upsertions", {**_TOP_TEXT, "user": SameField("name")})},
    52: _TOP,
    53: _TOP,
    54: _TOP,
    55: _TOP_MEANING,
    56: _TOP,
    57: _TOP_TEXT,
    58: _TOP,
    59: _TOP,
    60: _TOP_TEXT,
    61: {
        "topics": EachElement(
            "topics",
            {
                "name": SameField("name"),
                "partitions": EachElement("partition_indexes", {**_NUMBER, "error_message": TEXT}),
            },
        )
    },
    62: {"error_code": CODE, "broker_epoch": -1},
    63: _TOP,
    64: _TOP_MEANING,
    65: {
        "transaction_states": EachElement("transactional_ids", {"transactional_id": SameField("."), "error_code": CODE})
    },
    66: _TOP,
    67: _TOP,
    68: _TOP_TEXT,
    69: {"groups": EachElement("group_ids", _GROUP)},
    70: _TOP_MEANING,
    71: _TOP,
    72: _TOP,
    73: _TOP,
    74: _TOP,
    75: {"topics": EachElement("topics", {"error_code": CODE, "name": SameField("name")})},
    76: _TOP_TEXT,
    77: {"groups": EachElement("group_ids", _GROUP)},
    78: _TOP_TEXT,
    79: _TOP_TEXT,
    80: _TOP_MEANING,
    81: _TOP_MEANING,
    82: _TOP,
    83: {"results": EachElement("topics", {"topic_id": SameField("topic_id"), "partitions": _STATE})},
    84: {"results": EachElement("topics", {"topic_id": SameField("topic_id"), "partitions": _STATE_MEANING})},
    85: {"results": EachElement("topics", {"topic_id": SameField("topic_id"), "partitions": _STATE_MEANING})},
    86: {"results": EachElement("topics", {"topic_id": SameField("topic_id"), "partitions": _STATE})},
    87: {"results": EachElement("topics", {"topic_id": SameField("topic_id"), "partitions": _STATE_MEANING})},
    88: _TOP_TEXT,
    89: {"groups": EachElement("group_ids", _GROUP)},
    90: {
        "groups": EachElement(
            "groups", {"group_id": SameField("group_id"), "error_code": CODE, "error_message": MEANING}
        )
    },
    91: _TOP_MEANING,
    92: _TOP_MEANING,
    93: _TOP_TEXT,
    94: _TOP_MEANING,
}

_SHARED: Final = {"topic_id": SameField("topic_id")}
# API key → the errors that brokers say of a partition, not of the request, and the row for those. A Fetch without an
# error of its own, before version 7, says all of them so. Its session id stays 0, by which clients understand that
# the session is over: the broker, which did not see the request, would expect its epoch once more.
IN_PARTITIONS: Final[dict[int, tuple[str, Row]]] = {
    1: (
        "OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER "
        "REPLICA_NOT_AVAILABLE MESSAGE_TOO_LARGE TOPIC_AUTHORIZATION_FAILED KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH "
        "UNKNOWN_LEADER_EPOCH UNSUPPORTED_COMPRESSION_TYPE OFFSET_NOT_AVAILABLE UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID "
        "OFFSET_MOVED_TO_TIERED_STORAGE",
        {"responses": _FETCHED},
    ),
    78: (
        "CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER TOPIC_AUTHORIZATION_FAILED "
        "KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH UNKNOWN_TOPIC_ID",
        {
            "responses": EachElement(
                "topics",
                {**_SHARED, "partitions": EachElement("partitions", {**_INDEX, "error_message": TEXT, "records": b""})},
            )
        },
    ),
    79: (
        "UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER TOPIC_AUTHORIZATION_FAILED KAFKA_STORAGE_ERROR "
        "UNKNOWN_TOPIC_ID INVALID_RECORD_STATE",
        {
            "responses": EachElement(
                "topics", {**_SHARED, "partitions": EachElement("partitions", {**_INDEX, "error_message": TEXT})}
            )
        },
    ),
}
