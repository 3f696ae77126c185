"""An intercepted frame in, the frame as a fault changes it out; None where the fault cannot change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any, Final
from uuid import UUID

from decoders.errors import DecodeError, EncodeError
from decoders.exchanges.topic_arrays import RECORD_ARRAYS, partitions_in
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, with_size_field
from decoders.frames.read_and_judge_headers import find_response_body_offset, find_stable_plan, read_request_head
from decoders.messages.whole_messages import decode_message, encode_message
from decoders.protocol_facts.api_keys import FETCH, METADATA
from decoders.protocol_facts.field_paths import FieldPathStep
from decoders.schema.api_declaration import Side
from kwcli.proxy.deciding.faults.parse_rule import Arguments
from kwcli.proxy.relay.frame_decisions import InterceptedExchange

Change = Callable[[dict[str, Any], Arguments], bool]

UNKNOWN_TOPIC: Final = 3
UNKNOWN_TOPIC_ID: Final = 100
_MAGIC_AT: Final = 16
# Where the CRC of a batch is, by its magic.
_CRC_AT: Final = {0: 12, 1: 12, 2: 17}
# Offset and size before each batch, whatever its magic.
_BATCH_HEAD: Final = Struct(">qi")
# Where Fetch answers have records.
_FETCHED: Final = RECORD_ARRAYS[FETCH]


def decode_body_of_side(exchange: InterceptedExchange, side: Side) -> tuple[bytes, dict[str, Any]] | None:
    """The bytes before the body of a request or answer, and the body; None where the body cannot be read."""
    key, version = exchange.api_key, exchange.version
    frame = exchange.request if side == "request" else exchange.response
    if frame is None or find_stable_plan(key, version, side) is None:
        return None
    try:
        at = (
            read_request_head(frame, 0, len(frame)).body
            if side == "request"
            else find_response_body_offset(frame, 0, len(frame), key, version)
        )
        return frame[:at], decode_message(key, version, side, frame[at:])
    except (DecodeError, IndexError):
        return None


def build_frame(exchange: InterceptedExchange, side: Side, head: bytes, body: Mapping[str, Any]) -> bytes | None:
    """A frame with another body behind `head`; None where the body cannot be encoded at this version."""
    try:
        data = head[SIZE_FIELD:] + encode_message(exchange.api_key, exchange.version, side, body)
    except (EncodeError, DecodeError):
        return None
    return with_size_field(data)


def change_body(exchange: InterceptedExchange, side: Side, change: Change, arguments: Arguments) -> bytes | None:
    """The frame of a request or answer whose body `change` has changed; None where it cannot."""
    found = decode_body_of_side(exchange, side)
    if found is None or not change(found[1], arguments):
        return None
    return build_frame(exchange, side, *found)


def replace_correlation_id(frame: bytes, correlation_id: int) -> bytes:
    """A response frame with another correlation id."""
    return frame[:SIZE_FIELD] + correlation_id.to_bytes(4, "big", signed=True) + frame[8:]


def set_throttle_time(body: dict[str, Any], arguments: Arguments) -> bool:
    """Set the throttle time of an answer; False where it has no such field."""
    if "throttle_time_ms" not in body:
        return False
    body["throttle_time_ms"] = arguments.time_ns // 1_000_000
    return True


def mark_topics_unknown(body: dict[str, Any], _arguments: Arguments) -> bool:
    """Let a Metadata answer say that its topics do not exist; its brokers stay. False where it has no topics."""
    topics = body.get("topics") or ()
    for topic in topics:
        by_id = topic.get("name", "") is None
        topic["error_code"] = UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC
        topic["partitions"] = []
        if "topic_id" in topic and not by_id:
            topic["topic_id"] = UUID(int=0)
    return bool(topics)


def set_leader(body: dict[str, Any], arguments: Arguments) -> bool:
    """Make one node the leader of all partitions of a Metadata answer; False where it has none."""
    found = False
    for topic in body.get("topics") or ():
        for partition in topic.get("partitions") or ():
            partition["leader_id"] = arguments.node
            found = True
    return found


def _find_partitions_with_records(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The partitions of a Fetch answer that have records."""
    return [each for _, each in partitions_in(body, _FETCHED) if each.get(_FETCHED.records)]


def remove_records(body: dict[str, Any], _arguments: Arguments) -> bool:
    """Remove all records from a Fetch answer; False where it has none."""
    found = _find_partitions_with_records(body)
    for partition in found:
        partition[_FETCHED.records] = b""
    return bool(found)


def _find_batch_spans(records: bytes | bytearray) -> list[tuple[int, int]]:
    """Where record batches begin and end; the end of the records cuts the last one short."""
    found = []
    at = 0
    while at + _BATCH_HEAD.size <= len(records):
        size = _BATCH_HEAD.unpack_from(records, at)[1]
        if size <= 0:
            break
        found.append((at, min(at + _BATCH_HEAD.size + size, len(records))))
        at += _BATCH_HEAD.size + size
    return found


def corrupt_records(body: dict[str, Any], _arguments: Arguments) -> bool:
    """Make the CRC wrong in every record batch of a Fetch answer that has one; False where none has."""
    found = False
    for partition in _find_partitions_with_records(body):
        records = bytearray(partition[_FETCHED.records])
        for at, end in _find_batch_spans(records):
            place = _CRC_AT.get(records[at + _MAGIC_AT]) if at + _MAGIC_AT < end else None
            if place is not None and at + place + 4 <= end:
                records[at + place + 3] ^= 0x01
                found = True
        partition[_FETCHED.records] = bytes(records)
    return found


def truncate_records(body: dict[str, Any], _arguments: Arguments) -> bool:
    """Cut the last record batch of each partition in its middle; False where there is none."""
    found = False
    for partition in _find_partitions_with_records(body):
        batches = _find_batch_spans(partition[_FETCHED.records])
        if batches:
            at, end = batches[-1]
            partition[_FETCHED.records] = partition[_FETCHED.records][: (at + end) // 2]
            found = True
    return found


def set_field_at_path(body: dict[str, Any], arguments: Arguments) -> bool:
    """Set every field that the path leads to; False where it leads to none."""
    return _set_at_path(body, arguments.path, arguments.value)


def _set_at_path(value: Any, steps: Sequence[FieldPathStep], new: Any) -> bool:
    step, rest = steps[0], steps[1:]
    if not isinstance(value, dict) or step.name not in value:
        return False
    inner = value[step.name]
    if not isinstance(inner, list):
        if rest:
            return _set_at_path(inner, rest, new)
        value[step.name] = new
        return True
    wanted = step.indices[0] if step.indices else None
    places = range(len(inner)) if wanted is None else [wanted] if wanted < len(inner) else []
    if rest:
        return any([_set_at_path(inner[place], rest, new) for place in places])  # noqa: C419 - all of them
    if not step.indices:
        return False  # a list takes no single value
    for place in places:
        inner[place] = new
    return bool(places)


CHANGES: Final[dict[str, Change]] = {
    "throttle": set_throttle_time,
    "leader": set_leader,
    "empty fetch": remove_records,
    "corrupt records": corrupt_records,
    "truncate records": truncate_records,
    "rewrite": set_field_at_path,
}


class FirstAnswers:
    """The first Metadata answer to each different request, up to a bound of bytes."""

    MOST: Final = 8 << 20

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], bytes] = {}
        self._size = 0

    def find_first_answer(self, exchange: InterceptedExchange) -> bytes | None:
        """The first answer to an equal request, with this one's correlation id; None where this answer is the first."""
        assert exchange.api_key == METADATA
        assert exchange.response is not None
        try:
            at = read_request_head(exchange.request, 0, len(exchange.request)).body
        except (DecodeError, IndexError):
            return None
        key = (exchange.version, exchange.request[at:])
        known = self._known.get(key)
        if known is not None:
            return replace_correlation_id(known, exchange.correlation_id)
        size = len(exchange.response) + len(key[1])
        if self._size + size <= self.MOST:
            self._size += size
            self._known[key] = exchange.response
        return None
