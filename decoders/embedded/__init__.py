"""The name and the bytes of a structure inside a bytes field in, its fields out, and back.

The bytes begin with a frame: the structure's version, its type, or both (`Framing`). Each module of `declarations`
declares the structures that are found in one place; the table below says which module has which structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal

from decoders.embedded.otlp_metrics import METRICS, encode_metrics_from_json
from decoders.errors import DecodeError, EncodeError, Truncated, UnknownApi, UnsupportedVersion
from decoders.limits import EMBEDDED_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.convert_field_names import rename_to_current_names
from decoders.protocol_facts.public_configs import is_public_config
from decoders.schema.api_declaration import Message, Plan, parse_message, resolve
from decoders.schema.body_json_form import (
    PUBLIC,
    Makers,
    base64_json,
    body_from_json,
    body_to_json,
    bytes_from_json,
    quote_json,
)
from decoders.schema.decode_and_encode import TRAILING, decode, encode
from decoders.wire.primitive_types import encode_uvarint, read_uvarint
from decoders.wire.suggest_similar_words import did_you_mean

__all__ = [
    "FRAME",
    "INSIDE",
    "INSTEAD",
    "STRUCTURES",
    "TOPICS",
    "TYPE",
    "VERSION",
    "decode_embedded",
    "embedded_structure_json",
    "encode_embedded",
    "encode_embedded_from_json",
    "exact_structure_name",
    "locate_structure",
    "parse_structure_declaration",
    "split_declarations",
    "structure_or_stand_in_json",
    "structure_plan_and_json",
    "structures_of_record",
]

TYPE: Final = "$type"
VERSION: Final = "$version"
# The version of the frame, if it is not 1: Kafka 2.8 wrote 0.
FRAME: Final = "$frame"
_WORDS: Final = frozenset({TYPE, VERSION, FRAME})
_FRAME: Final = 1
# Keys whose type says that they are an older structure, which releases before 4.1 call by the same name.
_OLDER: Final = {("OffsetCommitKey", 0): "LegacyOffsetCommitKey"}
# Structures that may stand in place of these: those of members of Connect groups, and of assignors other than Streams'.
INSTEAD: Final = {
    "ConsumerProtocolSubscription": ("ConnectProtocolMetadata",),
    "ConsumerProtocolAssignment": ("ConnectProtocolAssignment",),
    "SubscriptionInfoData": ("StickyAssignorUserData", "CooperativeStickyAssignorUserData"),
}
# Any four bytes can be a generation; the data of other assignors hardly begin with a number below this.
_GENERATION_MAX: Final = 1 << 24
# Record types of Kafka 2.8 whose numbers later releases use for other records.
_OF_FRAME_0: Final = {14: "QuotaRecord"}


class StructureRow(NamedTuple):
    """One structure: the module of `declarations` that has it, its framing, and its type number in that framing."""

    module: str
    framing: Framing
    number: int | None = None


# The bytes before the fields. `prefix`: the version as an int16. `own`: nothing, the version is the first field, an
# int16; `own4`: an int32. `bare`: nothing, and there is no version: the newest one that reads all bytes is taken.
# `key`: the type of a coordinator's record as an int16 (the version is in its value). `framed`: the version of the
# frame, the type and its version as unsigned varints, as in the logs of KRaft and of tiered storage.
Framing = Literal["prefix", "own", "own4", "bare", "key", "framed"]

STRUCTURES: Final[dict[str, StructureRow]] = {
    "ControlRecordTypeSchema": StructureRow("control_records", "prefix"),
    "EndTxnMarker": StructureRow("control_records", "prefix"),
    "LeaderChangeMessage": StructureRow("control_records", "own"),
    "SnapshotHeaderRecord": StructureRow("control_records", "own"),
    "SnapshotFooterRecord": StructureRow("control_records", "own"),
    "KRaftVersionRecord": StructureRow("control_records", "own"),
    "VotersRecord": StructureRow("control_records", "own"),
    "ConsumerProtocolSubscription": StructureRow("consumer_subscription_and_assignment", "prefix"),
    "ConnectProtocolMetadata": StructureRow("connect_worker_metadata_and_assignment", "prefix"),
    "ConnectProtocolAssignment": StructureRow("connect_worker_metadata_and_assignment", "prefix"),
    "ConsumerProtocolAssignment": StructureRow("consumer_subscription_and_assignment", "prefix"),
    "StickyAssignorUserData": StructureRow("assignor_user_data", "bare"),
    "CooperativeStickyAssignorUserData": StructureRow("assignor_user_data", "bare"),
    "SubscriptionInfoData": StructureRow("assignor_user_data", "own4"),
    "AssignmentInfo": StructureRow("assignor_user_data", "own4"),
    "LegacyOffsetCommitKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 0),
    "LegacyOffsetCommitValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "OffsetCommitKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 1),
    "OffsetCommitValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "GroupMetadataKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 2),
    "GroupMetadataValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupMetadataKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 3),
    "ConsumerGroupMetadataValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupPartitionMetadataKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 4),
    "ConsumerGroupPartitionMetadataValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupMemberMetadataKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 5),
    "ConsumerGroupMemberMetadataValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupTargetAssignmentMetadataKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 6),
    "ConsumerGroupTargetAssignmentMetadataValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupTargetAssignmentMemberKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 7),
    "ConsumerGroupTargetAssignmentMemberValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupCurrentMemberAssignmentKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 8),
    "ConsumerGroupCurrentMemberAssignmentValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ConsumerGroupRegularExpressionKey": StructureRow("consumer_offsets_topic_consumer_groups", "key", 16),
    "ConsumerGroupRegularExpressionValue": StructureRow("consumer_offsets_topic_consumer_groups", "prefix"),
    "ShareGroupPartitionMetadataKey": StructureRow("consumer_offsets_topic_share_groups", "key", 9),
    "ShareGroupPartitionMetadataValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupMemberMetadataKey": StructureRow("consumer_offsets_topic_share_groups", "key", 10),
    "ShareGroupMemberMetadataValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupMetadataKey": StructureRow("consumer_offsets_topic_share_groups", "key", 11),
    "ShareGroupMetadataValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupTargetAssignmentMetadataKey": StructureRow("consumer_offsets_topic_share_groups", "key", 12),
    "ShareGroupTargetAssignmentMetadataValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupTargetAssignmentMemberKey": StructureRow("consumer_offsets_topic_share_groups", "key", 13),
    "ShareGroupTargetAssignmentMemberValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupCurrentMemberAssignmentKey": StructureRow("consumer_offsets_topic_share_groups", "key", 14),
    "ShareGroupCurrentMemberAssignmentValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "ShareGroupStatePartitionMetadataKey": StructureRow("consumer_offsets_topic_share_groups", "key", 15),
    "ShareGroupStatePartitionMetadataValue": StructureRow("consumer_offsets_topic_share_groups", "prefix"),
    "StreamsGroupMetadataKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 17),
    "StreamsGroupMetadataValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "StreamsGroupMemberMetadataKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 19),
    "StreamsGroupMemberMetadataValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "StreamsGroupTargetAssignmentMetadataKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 20),
    "StreamsGroupTargetAssignmentMetadataValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "StreamsGroupTargetAssignmentMemberKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 21),
    "StreamsGroupTargetAssignmentMemberValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "StreamsGroupCurrentMemberAssignmentKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 22),
    "StreamsGroupCurrentMemberAssignmentValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "StreamsGroupTopologyKey": StructureRow("consumer_offsets_topic_streams_groups", "key", 23),
    "StreamsGroupTopologyValue": StructureRow("consumer_offsets_topic_streams_groups", "prefix"),
    "TransactionLogKey": StructureRow("transaction_state_topic", "key", 0),
    "TransactionLogValue": StructureRow("transaction_state_topic", "prefix"),
    "ShareSnapshotKey": StructureRow("share_group_state_topic", "key", 0),
    "ShareSnapshotValue": StructureRow("share_group_state_topic", "prefix"),
    "ShareUpdateKey": StructureRow("share_group_state_topic", "key", 1),
    "ShareUpdateValue": StructureRow("share_group_state_topic", "prefix"),
    "RegisterBrokerRecord": StructureRow("cluster_metadata_topic", "framed", 0),
    "UnregisterBrokerRecord": StructureRow("cluster_metadata_topic", "framed", 1),
    "TopicRecord": StructureRow("cluster_metadata_topic", "framed", 2),
    "PartitionRecord": StructureRow("cluster_metadata_topic", "framed", 3),
    "ConfigRecord": StructureRow("cluster_metadata_topic", "framed", 4),
    "PartitionChangeRecord": StructureRow("cluster_metadata_topic", "framed", 5),
    "AccessControlRecord": StructureRow("cluster_metadata_topic", "framed", 6),
    "FenceBrokerRecord": StructureRow("cluster_metadata_topic", "framed", 7),
    "UnfenceBrokerRecord": StructureRow("cluster_metadata_topic", "framed", 8),
    "RemoveTopicRecord": StructureRow("cluster_metadata_topic", "framed", 9),
    "DelegationTokenRecord": StructureRow("cluster_metadata_topic", "framed", 10),
    "UserScramCredentialRecord": StructureRow("cluster_metadata_topic", "framed", 11),
    "FeatureLevelRecord": StructureRow("cluster_metadata_topic", "framed", 12),
    "ClientQuotaRecord": StructureRow("cluster_metadata_topic", "framed", 14),
    "QuotaRecord": StructureRow("cluster_metadata_topic", "framed", 14),
    "ProducerIdsRecord": StructureRow("cluster_metadata_topic", "framed", 15),
    "RemoveFeatureLevelRecord": StructureRow("cluster_metadata_topic", "framed", 16),
    "BrokerRegistrationChangeRecord": StructureRow("cluster_metadata_topic", "framed", 17),
    "AccessControlEntryRecord": StructureRow("cluster_metadata_topic", "framed", 18),
    "RemoveAccessControlEntryRecord": StructureRow("cluster_metadata_topic", "framed", 19),
    "NoOpRecord": StructureRow("cluster_metadata_topic", "framed", 20),
    "ZkMigrationStateRecord": StructureRow("cluster_metadata_topic", "framed", 21),
    "RemoveUserScramCredentialRecord": StructureRow("cluster_metadata_topic", "framed", 22),
    "BeginTransactionRecord": StructureRow("cluster_metadata_topic", "framed", 23),
    "EndTransactionRecord": StructureRow("cluster_metadata_topic", "framed", 24),
    "AbortTransactionRecord": StructureRow("cluster_metadata_topic", "framed", 25),
    "RemoveDelegationTokenRecord": StructureRow("cluster_metadata_topic", "framed", 26),
    "RegisterControllerRecord": StructureRow("cluster_metadata_topic", "framed", 27),
    "ClearElrRecord": StructureRow("cluster_metadata_topic", "framed", 28),
    "UnregisterControllerRecord": StructureRow("cluster_metadata_topic", "framed", 29),
    "RemoteLogSegmentMetadataRecord": StructureRow("remote_log_metadata_topic", "framed", 0),
    "RemoteLogSegmentMetadataUpdateRecord": StructureRow("remote_log_metadata_topic", "framed", 1),
    "RemotePartitionDeleteMetadataRecord": StructureRow("remote_log_metadata_topic", "framed", 2),
    "RemoteLogSegmentMetadataSnapshotRecord": StructureRow("remote_log_metadata_topic", "framed", 3),
    "AbortedTxn": StructureRow("broker_files_and_envelope_principals", "prefix"),
    "ProducerSnapshot": StructureRow("broker_files_and_envelope_principals", "prefix"),
    "QuorumStateData": StructureRow("broker_files_and_envelope_principals", "prefix"),
    "DefaultPrincipalData": StructureRow("broker_files_and_envelope_principals", "prefix"),
}
# Structure → path (without indices) of a field that holds another structure → that structure, or one of `INSTEAD`.
INSIDE: Final[dict[str, dict[str, str]]] = {
    "GroupMetadataValue": {
        "members.subscription": "ConsumerProtocolSubscription",
        "members.assignment": "ConsumerProtocolAssignment",
    },
    "ConsumerGroupMemberMetadataValue": {
        "classic_member_metadata.supported_protocols.metadata": "ConsumerProtocolSubscription",
    },
    "ConsumerProtocolSubscription": {"user_data": "SubscriptionInfoData"},
    "ConsumerProtocolAssignment": {"user_data": "AssignmentInfo"},
    "ConnectProtocolMetadata": {"allocation": "ConnectProtocolAssignment"},
}
_SECRETS: Final = {PUBLIC: is_public_config}
_BY_NAME: Final = {name.lower(): name for name in STRUCTURES}


@cache
def parse_structure_declaration(name: str) -> Message:
    """The declaration of a structure by its exact name. Raises KeyError."""
    text: str = import_module(f"decoders.embedded.declarations.{STRUCTURES[name].module}").DECLARATION
    return parse_message(next(part for part in split_declarations(text) if part.startswith(f"message {name}\n")))


def split_declarations(module_text: str) -> list[str]:
    """The texts of the declarations in a module, each beginning with its `message NAME`."""
    return [f"message {part}" for part in f"\n{module_text.strip()}\n".split("\nmessage ")[1:]]


def decode_embedded(name: str, data: bytes) -> dict[str, Any]:
    """The structure in `data`: `$type`, `$version`, then its fields as Python values. Raises DecodeError.

    Bytes after it are kept under `_trailing`; `$frame` is set if the frame has another version than 1.
    """
    head = _read_structure_head(name, data)
    return {**head.type_and_version_json(), **decode(head.plan, data, head.end, strict=False)}


def encode_embedded(name: str, version: int, value: Mapping[str, Any]) -> bytes:
    """The bytes of a structure in a version, frame included; `$type` and `$version` in the value are ignored.

    For a key, `version` is 0, or the key's type, which releases before 4.1 call its version. Raises EncodeError.
    """
    name = exact_structure_name(name)
    message, row = parse_structure_declaration(name), STRUCTURES[name]
    if row.framing == "key" and version == row.number:
        version = 0
    if version not in message.versions:
        raise EncodeError(f"{name} has versions {message.versions}, not {version}")
    if not isinstance(value, Mapping):
        raise EncodeError(f"a struct (dict) expected, not {value!r:.80}")
    fields = {key: inner for key, inner in value.items() if key not in _WORDS}
    behind = fields.pop(TRAILING, b"")
    if not isinstance(behind, bytes):
        raise EncodeError(f"bytes expected, not {quote_json(behind)}", path=TRAILING)
    plan = resolve(message, version)
    if row.framing in ("own", "own4"):
        return encode(plan, {"version": version, **fields}) + behind
    frame = value.get(FRAME, _FRAME)
    if not isinstance(frame, int) or not 0 <= frame < 1 << 31:
        raise EncodeError(f"a number is expected, not {quote_json(frame)}", path=FRAME)
    return _encode_structure_framing(row, version, frame) + encode(plan, fields) + behind


def _encode_structure_framing(row: StructureRow, version: int, frame: int) -> bytes:
    """The bytes before the fields of a structure."""
    if row.framing == "framed":
        return encode_uvarint(frame) + encode_uvarint(row.number or 0) + encode_uvarint(version)
    if row.framing == "bare":
        return b""
    return ((row.number or 0) if row.framing == "key" else version).to_bytes(2, "big")


def embedded_structure_json(
    name: str, data: bytes | None, *, allow_trailing: bool = False, reveal: bool = False
) -> dict[str, Any] | None:
    """The structure in JSON form; None if `data` is too large, or is not exactly what encoding the structure gives.

    With `allow_trailing`, for bytes that are known to hold this structure, other bytes may follow it; they are kept
    under `_trailing`. Secrets are redacted unless `reveal` shows them.
    """
    if data is None or not 2 <= len(data) <= EMBEDDED_MAX:
        return None
    try:
        head = _read_structure_head(name, data)
        value = decode(head.plan, data, head.end, strict=not allow_trailing)
        rest = value.pop(TRAILING, b"")
        if data[: head.end] + encode(head.plan, value) + rest != data:
            return None
        if (
            _encode_structure_framing(STRUCTURES[head.name], head.plan.version, head.frame) != data[: head.end]
            and head.end
        ):
            return None  # a varint of more bytes than needed
    except (DecodeError, EncodeError):
        return None
    return _structure_json(head, value, rest, reveal=reveal)


def structure_plan_and_json(name: str, data: bytes, *, reveal: bool) -> tuple[Plan, dict[str, Any]]:
    """The plan of the structure in `data`, and its JSON form, with bytes after it under `_trailing`.

    `reveal` shows secrets. Raises DecodeError.
    """
    head = _read_structure_head(name, data)
    value = decode(head.plan, data, head.end, strict=False)
    return head.plan, _structure_json(head, value, value.pop(TRAILING, b""), reveal=reveal)


def locate_structure(name: str, data: bytes) -> tuple[str, Plan, int]:
    """The exact name of the structure in `data`, its plan, and where its fields begin. Raises DecodeError."""
    head = _read_structure_head(name, data)
    return head.name, head.plan, head.end


def _structure_json(head: _StructureHead, value: dict[str, Any], rest: bytes, *, reveal: bool) -> dict[str, Any]:
    made = {**head.type_and_version_json(), **body_to_json(head.plan, value, table=_SECRETS, reveal=reveal)}
    for path, name in INSIDE.get(head.name, {}).items():
        *above, field = path.split(".")
        for row, inner in _structs_at_path(made, value, above):
            if field in inner:  # not in every version
                row[field] = structure_or_stand_in_json(name, inner[field]) or row[field]
    if rest:
        made[TRAILING] = base64_json(rest)
    return made


def _structs_at_path(
    json_form: Any, value: Any, steps: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The structs at a path, in JSON form and as values; each element of an array, none where a struct is absent."""
    if value is None:
        return
    if isinstance(value, list):
        for one, other in zip(json_form, value, strict=True):
            yield from _structs_at_path(one, other, steps)
    elif not steps:
        yield json_form, value
    else:
        yield from _structs_at_path(json_form.get(steps[0]), value.get(steps[0]), steps[1:])


def structure_or_stand_in_json(name: str, data: bytes | None) -> dict[str, Any] | None:
    """The JSON form of a field's bytes as this structure, or as one that may stand in its place; None if neither."""
    for each in (name, *INSTEAD.get(name, ())):
        found = embedded_structure_json(each, data)
        if found is not None and -1 <= found.get("generation", 0) < _GENERATION_MAX:
            return found
    return None


def encode_embedded_from_json(value: Mapping[str, Any], path: str) -> bytes:
    """The bytes of a structure in JSON form, by its `$type` and `$version`. Raises EncodeError under `path`."""
    name, version = value.get(TYPE), value.get(VERSION)
    if name == METRICS:
        return encode_metrics_from_json(value, path)
    exact = _BY_NAME.get(_fold_structure_name(name)) if isinstance(name, str) else None
    if exact is None:
        raise EncodeError(f"no structure {quote_json(name)}", path=f"{path}.{TYPE}")
    message = parse_structure_declaration(exact)
    if not isinstance(version, int) or isinstance(version, bool) or version not in message.versions:
        text = f"{exact} has versions {message.versions}, not {quote_json(version)}"
        raise EncodeError(text, path=f"{path}.{VERSION}")
    fields = {key: inner for key, inner in value.items() if key not in _WORDS}
    around = {FRAME: value[FRAME]} if FRAME in value else {}
    try:
        if TRAILING in fields:
            around[TRAILING] = bytes_from_json(fields.pop(TRAILING), TRAILING)
        named = rename_to_current_names(message.fields, version, fields)
        made = body_from_json(resolve(message, version), named, Makers(_refuse_records, encode_embedded_from_json))
        return encode_embedded(exact, version, {**made, **around})
    except EncodeError as failure:
        raise EncodeError(failure.text, path=f"{path}.{failure.path}" if failure.path else path) from None


def _refuse_records(value: object, path: str) -> bytes:
    raise EncodeError(f"bytes expected, not {quote_json(value)}", path=path)


def _fold_structure_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def exact_structure_name(name: str) -> str:
    """The exact name of a structure from its name in any spelling. Raises UnknownApi."""
    found = _BY_NAME.get(_fold_structure_name(name))
    if found is None:
        raise UnknownApi(f"no structure {name!r}{did_you_mean(name, STRUCTURES)}")
    return found


class _StructureHead(NamedTuple):
    """The frame of a structure: the structure's exact name, its plan, where its fields begin, the frame's version."""

    name: str
    plan: Plan
    end: int
    frame: int

    def type_and_version_json(self) -> dict[str, Any]:
        """The first keys of the structure in JSON form: `$type`, `$version`, and `$frame` if it is not 1."""
        found: dict[str, Any] = {TYPE: self.name, VERSION: self.plan.version}
        return found if self.frame == _FRAME else {**found, FRAME: self.frame}


def _read_structure_head(name: str, data: bytes) -> _StructureHead:
    """Read the frame of a structure. Raises DecodeError."""
    name = exact_structure_name(name)
    row = STRUCTURES[name]
    if row.framing == "framed":
        return _read_framed_head(name, row, data)
    if row.framing == "bare":
        return _find_version_of_unframed_structure(name, data)
    number, version = _read_leading_number(data, 4 if row.framing == "own4" else 2), 0
    if row.framing == "key":
        name = _OLDER.get((name, number), name)
        if number != STRUCTURES[name].number:
            raise UnsupportedVersion(f"{name} is a key of type {row.number}, not {number}", offset=0)
    else:
        version = number
    message = parse_structure_declaration(name)
    if version not in message.versions:
        raise UnsupportedVersion(f"{name} has versions {message.versions}, not {version}", offset=0)
    return _StructureHead(name, resolve(message, version), 2 if row.framing in ("prefix", "key") else 0, _FRAME)


def _find_version_of_unframed_structure(name: str, data: bytes) -> _StructureHead:
    message = parse_structure_declaration(name)
    plans = [resolve(message, version) for version in range(message.versions.high, message.versions.low - 1, -1)]
    for plan in plans:
        try:
            decode(plan, data)
        except DecodeError:
            continue
        return _StructureHead(name, plan, 0, _FRAME)
    return _StructureHead(name, plans[-1], 0, _FRAME)


def _read_framed_head(name: str, row: StructureRow, data: bytes) -> _StructureHead:
    frame, at = read_uvarint(data, 0, len(data))
    number, at = read_uvarint(data, at, len(data))
    version, at = read_uvarint(data, at, len(data))
    if number != row.number:
        raise UnsupportedVersion(f"{name} is a record of type {row.number}, not {number}", offset=0)
    message = parse_structure_declaration(name)
    if version not in message.versions:
        raise UnsupportedVersion(f"{name} has versions {message.versions}, not {version}", offset=0)
    return _StructureHead(name, resolve(message, version), at, frame)


def _read_leading_number(data: bytes, size: int = 2) -> int:
    if len(data) < size:
        raise Truncated(f"need {size} bytes, have {len(data)}", offset=0)
    return int.from_bytes(data[:size], "big", signed=True)


# Which structures the records of internal topics hold: the first bytes of their keys and values tell.


# Topic → the modules whose structures its records hold.
TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "__consumer_offsets": (
        "consumer_offsets_topic_consumer_groups",
        "consumer_offsets_topic_share_groups",
        "consumer_offsets_topic_streams_groups",
    ),
    "__transaction_state": ("transaction_state_topic",),
    "__share_group_state": ("share_group_state_topic",),
    "__cluster_metadata": ("cluster_metadata_topic",),
    "__remote_log_metadata": ("remote_log_metadata_topic",),
}


@cache
def _structures_by_type_number(topic: str) -> dict[tuple[Framing, int], str]:
    """The structures of a topic: framing and type number → name; the newest where several have the same number."""
    found: dict[tuple[Framing, int], str] = {}
    for name, row in STRUCTURES.items():
        if row.module in TOPICS[topic] and row.number is not None:
            found.setdefault((row.framing, row.number), name)
    return found


def structures_of_record(topic: str, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    """The names of the structures in a record's key and value, for an internal topic; None where none is known."""
    if topic not in TOPICS:
        return None, None
    known = _structures_by_type_number(topic)
    try:
        if not any(framing == "framed" for framing, _ in known):
            name = None if key is None else known.get(("key", _read_leading_number(key)))
            return name, None if name is None else f"{name.removesuffix('Key')}Value"
        if value is not None:
            frame, at = read_uvarint(value, 0, len(value))
            number, _ = read_uvarint(value, at, len(value))
            old = None if frame else _OF_FRAME_0.get(number)
            return None, old or known.get(("framed", number))
    except DecodeError:
        pass
    return None, None
