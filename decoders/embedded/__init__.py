"""Structures inside bytes fields: a structure's name and its bytes in, its fields out, and back.

Every one of them begins with its version as an int16: some before their first field, some as their first field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from decoders.apis.names import current_names
from decoders.errors import DecodeError, EncodeError, Truncated, UnknownApi, UnsupportedVersion
from decoders.limits import EMBEDDED_MAX
from decoders.schema.codec import decode, encode
from decoders.schema.json_form import Makers, from_json, shown, to_json
from decoders.schema.model import Message, Plan, parse_message, resolve

__all__ = [
    "STRUCTURES",
    "TYPE",
    "VERSION",
    "decode_embedded",
    "embedded_from_json",
    "embedded_json",
    "encode_embedded",
    "structure",
]

TYPE: Final = "$type"
VERSION: Final = "$version"


class StructureRow(NamedTuple):
    """One structure: the module that declares it, and whether its version stands before its fields."""

    module: str
    prefixed: bool


STRUCTURES: Final[dict[str, StructureRow]] = {
    "ConsumerProtocolAssignment": StructureRow("consumer_protocol_assignment", True),
    "ConsumerProtocolSubscription": StructureRow("consumer_protocol_subscription", True),
    "ControlRecordTypeSchema": StructureRow("control_record_type_schema", True),
    "EndTxnMarker": StructureRow("end_txn_marker", True),
    "KRaftVersionRecord": StructureRow("kraft_version_record", False),
    "LeaderChangeMessage": StructureRow("leader_change_message", False),
    "SnapshotFooterRecord": StructureRow("snapshot_footer_record", False),
    "SnapshotHeaderRecord": StructureRow("snapshot_header_record", False),
    "VotersRecord": StructureRow("voters_record", False),
}
_BY_NAME: Final = {name.lower(): name for name in STRUCTURES}


@cache
def structure(name: str) -> Message:
    """The declaration of a structure by its exact name. Raises KeyError."""
    text: str = import_module(f"decoders.embedded.{STRUCTURES[name].module}").DECLARATION
    return parse_message(text)


def decode_embedded(name: str, data: bytes) -> dict[str, Any]:
    """The structure in `data`: `$type`, `$version`, then its fields as Python values. Raises DecodeError."""
    name, plan, at = _begin(name, data)
    return {TYPE: name, VERSION: plan.version, **decode(plan, data, at)}


def encode_embedded(name: str, version: int, value: Mapping[str, Any]) -> bytes:
    """The bytes of a structure with its version; `$type` and `$version` in the value are passed over.

    Raises EncodeError.
    """
    name = _known(name)
    message = structure(name)
    if version not in message.versions:
        raise EncodeError(f"{name} has versions {message.versions}, not {version}")
    fields = {key: inner for key, inner in value.items() if key not in {TYPE, VERSION}}
    if STRUCTURES[name].prefixed:
        return version.to_bytes(2, "big") + encode(resolve(message, version), fields)
    return encode(resolve(message, version), {"version": version, **fields})


def embedded_json(name: str, data: bytes | None) -> dict[str, Any] | None:
    """The structure in JSON form, or None unless `data` is exactly what encoding it gives, and not too large."""
    if data is None or not 2 <= len(data) <= EMBEDDED_MAX:
        return None
    try:
        name, plan, at = _begin(name, data)
        value = decode(plan, data, at)
        if data[:at] + encode(plan, value) != data:
            return None
    except (DecodeError, EncodeError):
        return None
    return {TYPE: name, VERSION: plan.version, **to_json(plan, value)}


def embedded_from_json(value: Mapping[str, Any], path: str) -> bytes:
    """The bytes of a structure in JSON form, told by its `$type` and `$version`. Raises EncodeError under `path`."""
    name, version = value.get(TYPE), value.get(VERSION)
    exact = _BY_NAME.get(_folded(name)) if isinstance(name, str) else None
    if exact is None:
        raise EncodeError(f"no structure {shown(name)}; there are {', '.join(STRUCTURES)}", path=f"{path}.{TYPE}")
    message = structure(exact)
    if not isinstance(version, int) or isinstance(version, bool) or version not in message.versions:
        text = f"{exact} has versions {message.versions}, not {shown(version)}"
        raise EncodeError(text, path=f"{path}.{VERSION}")
    fields = {key: inner for key, inner in value.items() if key not in {TYPE, VERSION}}
    try:
        named = current_names(message.fields, version, fields)
        return encode_embedded(exact, version, from_json(resolve(message, version), named, _NOTHING_INSIDE))
    except EncodeError as failure:
        raise EncodeError(failure.text, path=f"{path}.{failure.path}" if failure.path else path) from None


def _nothing(value: object, path: str) -> bytes:
    raise EncodeError(f"bytes expected, not {shown(value)}", path=path)


_NOTHING_INSIDE: Final = Makers(_nothing, _nothing)


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _known(name: str) -> str:
    found = _BY_NAME.get(_folded(name))
    if found is None:
        raise UnknownApi(f"no structure {name!r}")
    return found


def _begin(name: str, data: bytes) -> tuple[str, Plan, int]:
    """The structure's exact name, its plan, and where its fields begin."""
    name = _known(name)
    if len(data) < 2:
        raise Truncated(f"need 2 bytes, have {len(data)}", offset=0)
    version = int.from_bytes(data[:2], "big", signed=True)
    message = structure(name)
    if version not in message.versions:
        raise UnsupportedVersion(f"{name} has versions {message.versions}, not {version}", offset=0)
    return name, resolve(message, version), 2 if STRUCTURES[name].prefixed else 0
