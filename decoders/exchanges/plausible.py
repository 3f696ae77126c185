"""A message that a layout has read in, how likely its values are out: a number to compare layouts by.

Each value speaks for or against by its type and by what its name promises. The numbers are natural logarithms by rule
of thumb; a value that never occurs costs so much that nothing else makes up for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from decoders.apis import NAMES
from decoders.apis.error_codes import ERRORS
from decoders.records.read import first_batch
from decoders.schema.model import Plan, PlanField
from decoders.schema.walk import Span

# So many values are looked at.
VALUES_MAX: Final = 3000
NEVER: Final = -25.0
_INDEX: Final = re.compile(r"\[\d+\]")
_EPOCHS: Final = re.compile(r"epoch|generation|version")
_NODES: Final = re.compile(
    r"(^|_)(node|broker|leader|controller|replica|isr|voter|observer|directory)?_?(id|nodes?|replicas|brokers?|elr)$|leader$"
)
_OFFSETS: Final = re.compile(r"offset|watermark|position|deadline|size|bytes")
_TIMES_MS: Final = re.compile(r"timestamp|_ms$")
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
_NOW_MS: Final = range(1_200_000_000_000, 2_600_000_000_000)


class LayoutReading(NamedTuple):
    """What a layout has read: the spans of the first values, and all values; None where only those were read."""

    spans: list[Span]
    root: dict[str, Any] | None


def plausibility(plan: Plan, reading: LayoutReading) -> float:
    """The score of a message."""
    fields = _flat(plan)
    score = 0.0
    for span in reading.spans:
        field = fields.get(_INDEX.sub("", span.path))
        if field is None:
            if span.what == "tags":
                score += 0.3 if not span.value else -1.0
            else:  # a tagged field that nobody knows
                score -= 8
        else:
            score += _of_span(span, field)
    return score if reading.root is None else score + _of_whole(plan, reading.root)


@cache
def _flat(plan: Plan) -> dict[str, PlanField]:
    return dict(_fields(plan, ""))


def _fields(plan: Plan, prefix: str) -> Iterator[tuple[str, PlanField]]:
    for field in (*plan.fields, *plan.tagged):
        yield prefix + field.name, field
        if field.plan is not None:
            yield from _fields(field.plan, f"{prefix}{field.name}.")


def _of_span(span: Span, field: PlanField) -> float:
    if span.what == "value":
        return _VALUES[field.kind](span.value, field.name)
    if span.what == "size":
        number = int(str(span.value))
        if number < 0:
            return -0.2
        if number == 0:
            return -2.0 if field.array and field.name == "partitions" else -0.5
        return 0.2
    if span.what == "tag":
        return 1.0
    return 0.0


def _bool(value: Any, _name: str) -> float:
    return 0.0 if isinstance(value, bool) else NEVER


def _int8(value: int, _name: str) -> float:
    return 0.3 if 0 <= value <= 40 else -1.0 if -1 <= value <= 127 else -4.0


def _int16(value: int, name: str) -> float:
    if name.endswith("error_code"):
        if value == 0:
            return 1.0
        return -0.5 if value in ERRORS else NEVER
    if name == "api_key":
        return 0.5 if value in NAMES else -3.0
    if _EPOCHS.search(name):
        return 0.3 if -1 <= value <= 1000 else -4.0
    return 0.2 if -1 <= value <= 1000 else -3.0


def _int32(value: int, name: str) -> float:
    if name == "throttle_time_ms":
        if not 0 <= value <= _DAY_MS:
            return NEVER
        return 2.0 if value == 0 else -0.5 if value <= _MINUTE_MS else -3.0 if value <= _HOUR_MS else -12.0
    if name == "port":
        return 1.0 if 0 < value < 65536 else -2.0 if value == -1 else NEVER if value else -3.0
    if name == "partition_index" or name.endswith("partitions") or name == "partition":
        return 0.5 if 0 <= value < 10_000 else -6.0
    if name.endswith("authorized_operations"):
        return 1.0 if value == -(1 << 31) else 0.3 if 0 <= value < 1 << 16 else -6.0
    if _EPOCHS.search(name):
        return 0.5 if -1 <= value < 100_000 else -5.0
    if _NODES.search(name):
        return 0.5 if -1 <= value < 100_000 else -3.0
    if _TIMES_MS.search(name):
        return 0.3 if -1 <= value <= _DAY_MS * 24 else -4.0
    return 0.3 if -1 <= value < 1_000_000 else -1.5


def _int64(value: int, name: str) -> float:
    if _TIMES_MS.search(name):
        return 1.0 if value == -1 or value in _NOW_MS else 0.2 if 0 <= value < 100 * _DAY_MS else -5.0
    if value > 0 and not value & 0xFFFF:
        return -3.0 if not value & 0xFFFFFFFF else -1.0  # more likely the zeros of other fields
    if -1 <= value < 1 << 48:
        return 1.0 if value < 1 << 32 else 0.2
    return 0.5 if value in (-2, -(1 << 63), (1 << 63) - 1) else -6.0


def _unsigned(value: int, name: str) -> float:
    return 0.5 if not name.endswith("port") or value else -2.0


def _float64(value: float, _name: str) -> float:
    return 0.5 if value == 0 or 1e-9 < abs(value) < 1e15 else -6.0


def _string(value: str, name: str) -> float:
    if not value:
        return -0.5
    if not value.isprintable() and not (name.endswith("message") and value.replace("\n", "").isprintable()):
        return -12.0
    if name.endswith(("topic_name", "host", "cluster_id", "topic")) and not _WORD.fullmatch(value):
        return -3.0
    if value.startswith("/"):
        return 0.5 if not name.endswith(("dir", "path")) else min(len(value), 40) * 0.4
    return min(len(value), 30) * 0.4


# The errors of ApiVersions: a version, or a request, that the broker does not take.
_REFUSALS: Final = (35, 42)
_WORD: Final = re.compile(r"[\w.:%-]+")


def _uuid(value: UUID, _name: str) -> float:
    if value.int in (0, 1):
        return 0.5
    # Kafka's own ids are random ones (RFC 9562, version 4).
    return 4.0 if value.version == 4 else -5.0


def _bytes(value: bytes, _name: str) -> float:
    return 0.5 if value else -0.2


def _records(value: bytes, _name: str) -> float:
    if not value:
        return 0.0
    first = first_batch(value)
    if first.crc == "ok":
        return 25.0
    return 0.0 if first.truncated else -12.0


_VALUES: Final[dict[str, Callable[[Any, str], float]]] = {
    "bool": _bool,
    "int8": _int8,
    "int16": _int16,
    "uint16": _unsigned,
    "int32": _int32,
    "uint32": _unsigned,
    "int64": _int64,
    "float64": _float64,
    "uuid": _uuid,
    "string": _string,
    "bytes": _bytes,
    "records": _records,
}


def _of_whole(plan: Plan, root: dict[str, Any]) -> float:
    """What values say together; early layouts may lack any of them."""
    look = _WHOLES.get(plan.name)
    score = look(root) if look else 0.0
    name = plan.name.removesuffix("Response")
    error = root.get("error_code", 0)
    for first, last, words in _FAMILIES:
        if first <= error <= last:
            score += 1.0 if any(word in name for word in words) else -1.5
    if error and name in _OF_GROUPS and error not in _GROUP_ERRORS:
        score -= 2.0
    if not error and name not in _OFTEN_EMPTY:
        score -= 2.0 * sum(field.array and not root[field.name] for field in plan.fields)
    return score


_OF_GROUPS: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})
_GROUP_ERRORS: Final = frozenset({-1, 14, 15, 16, *range(22, 28), 30, 35, 42, 79, 81, 82})
# Responses about nothing are everyday for these; others answer about what was asked.
_OFTEN_EMPTY: Final = frozenset(
    {
        *("Metadata", "DescribeConfigs", "ListGroups", "ListTransactions", "ListPartitionReassignments"),
        *("DescribeDelegationToken", "DescribeClientQuotas", "DescribeUserScramCredentials", "ListConfigResources"),
        *("ShareFetch", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
    }
)
# Error codes of one subject, and words of which the names of the APIs that return them have one.
_FAMILIES: Final[tuple[tuple[int, int, tuple[str, ...]], ...]] = (
    (22, 27, ("Group", "Heartbeat", "Offset")),
    (33, 34, ("Sasl",)),
    (
        41,
        41,
        ("Create", "Delete", "Alter", "Elect", "Update", "Broker", "Controller", "Partition", "Allocate", "Assign"),
    ),
    (47, 53, ("Txn", "Transactions", "Producer", "Produce")),
    (58, 58, ("SaslAuthenticate",)),
    (61, 67, ("DelegationToken",)),
    (68, 69, ("Group", "OffsetDelete")),
    (70, 71, ("Fetch",)),
    (79, 82, ("Group", "Heartbeat", "Offset")),
    (94, 98, ("Quorum", "Vote", "Features", "Snapshot", "Envelope", "Fetch")),
    (110, 113, ("Group", "Heartbeat", "Offset")),
    (117, 118, ("Telemetry",)),
    (121, 124, ("Share",)),
    (125, 127, ("Voter", "Quorum", "Vote", "Fetch")),
    (130, 132, ("Streams",)),
)


def _api_versions(root: dict[str, Any]) -> float:
    keys = [each["api_key"] for each in root.get("api_keys", ())]
    if root.get("error_code") not in (0, *_REFUSALS):
        return NEVER
    if not keys:
        return 0.0 if root.get("error_code") else NEVER
    ordered = keys == sorted(set(keys)) and all(
        each["min_version"] <= each["max_version"] for each in root.get("api_keys", ())
    )
    return 20.0 if ordered and NAMES.keys() & set(keys) else NEVER


def _metadata(root: dict[str, Any]) -> float:
    return 2.0 if root.get("brokers") else -8.0


def _join_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("member_id", True) else NEVER


def _sasl_authenticate(root: dict[str, Any]) -> float:
    token = root.get("auth_bytes", b"")
    if root.get("error_code"):
        return 6.0 if root.get("error_message") else -6.0
    if token:
        return 8.0 if token.startswith((b"r=", b"v=", b"e=", b"{", b"\x60", b"\5\4")) else -3.0
    lifetime = root.get("session_lifetime_ms", 0)
    return 2.0 if not lifetime else 1.0 if lifetime & 0xFF else -1.0


def _init_producer_id(root: dict[str, Any]) -> float:
    return 0.0 if root.get("producer_id", True) else -2.5  # that of the first producer of a new cluster


def _sync_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("assignment", True) else -4.0


def _leave_group(root: dict[str, Any]) -> float:
    return 0.0 if root.get("error_code") or root.get("members", True) else -4.0


def _produce(root: dict[str, Any]) -> float:
    return 0.0 if root.get("responses", True) else -10.0


def _fetch(root: dict[str, Any]) -> float:
    # Only the answers of fetch sessions may be empty (KIP-227).
    return 0.0 if root.get("responses", True) else 2.0 if "session_id" in root else -10.0


_WHOLES: Final[dict[str, Callable[[dict[str, Any]], float]]] = {
    "ApiVersionsResponse": _api_versions,
    "JoinGroupResponse": _join_group,
    "MetadataResponse": _metadata,
    "SaslAuthenticateResponse": _sasl_authenticate,
    "ProduceResponse": _produce,
    "FetchResponse": _fetch,
    "InitProducerIdResponse": _init_producer_id,
    "LeaveGroupResponse": _leave_group,
    "SyncGroupResponse": _sync_group,
}
