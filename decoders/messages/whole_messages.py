"""The library's calls for whole messages: API key, version and bytes in, dicts out, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.apis import api
from decoders.errors import DecodeError, EncodeError, Truncated, UnsupportedVersion
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS
from decoders.protocol_facts.convert_field_names import rename_to_current_names
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.schema.api_declaration import Message, Plan, Side, resolve
from decoders.schema.body_json_form import Makers, body_from_json
from decoders.schema.codegen_support import CRUDE
from decoders.schema.decode_and_encode import decode, encode
from decoders.schema.lazy_decoder import get_decoder
from decoders.schema.plan_walker import decode_by_walking

__all__ = [
    "Request",
    "Response",
    "decode_message",
    "decode_request",
    "decode_response",
    "encode_header_json",
    "encode_json",
    "encode_message",
    "encode_request",
    "encode_response",
]

_UNSUPPORTED: Final = (35).to_bytes(2, "big")


class Request(NamedTuple):
    """A request's frame, decoded."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    header: dict[str, Any]
    body: dict[str, Any]


class Response(NamedTuple):
    """A response's frame, decoded. `api_version` is that of its layout: 0 if the broker did not know the request's."""

    api_key: int
    api_version: int
    correlation_id: int
    header: dict[str, Any]
    body: dict[str, Any]


def decode_message(
    api_key: int, version: int, kind: Side, body: bytes, *, strict: bool = True, layout: str | None = None
) -> dict[str, Any]:
    """The body of a request or response, without its header. Raises DecodeError.

    `layout` names a release (`"3.5"`) whose early layout of this version is meant. Bytes after the message are an
    error when strict, else they are kept under `_trailing`.
    """
    return decode(_resolve_plan(api_key, version, kind, layout), body, strict=strict)


def encode_message(
    api_key: int, version: int, kind: Side, value: Mapping[str, Any], *, layout: str | None = None
) -> bytes:
    """The bytes of a body; missing fields take their defaults, older and camelCase names are understood.

    Raises EncodeError, or UnknownApi and UnsupportedVersion.
    """
    plan = _resolve_plan(api_key, version, kind, layout)
    try:
        return encode(plan, value)
    except EncodeError:
        if not isinstance(value, Mapping):
            raise
        renamed = rename_to_current_names(_find_message(api_key, version, kind, layout).fields, version, value)
        if renamed == value:
            raise
        return encode(plan, renamed)


def encode_json(api_key: int, version: int, kind: Side, value: object, *, layout: str | None = None) -> bytes:
    """The bytes of a body in JSON form, as exchange records show it; defaults, names and errors as encode_message().

    Raises EncodeError also for values that a record leaves out: redacted secrets, batches without their records.
    """
    plan = _resolve_plan(api_key, version, kind, layout)
    try:
        try:
            return encode(plan, body_from_json(plan, value, _MAKERS))
        except EncodeError:
            if not isinstance(value, Mapping):
                raise
            renamed = rename_to_current_names(_find_message(api_key, version, kind, layout).fields, version, value)
            if renamed == value:
                raise
            return encode(plan, body_from_json(plan, renamed, _MAKERS))
    except RecursionError:
        raise EncodeError("arrays and objects inside each other too deep") from None


def encode_header_json(api_key: int, version: int, kind: Side, value: object) -> bytes:
    """The bytes of the header of a message, of which API key and version are known. Raises EncodeError."""
    plan = (
        request_header_plan(request_header_version(api_key, version))
        if kind == "request"
        else response_header_plan(response_header_version(api_key, version))
    )
    fields = body_from_json(plan, value, _MAKERS)
    if kind == "request":
        fields |= {"request_api_key": api_key, "request_api_version": version}
    return encode(plan, {name: inner for name, inner in fields.items() if name not in plan.absent})


def _encode_batches_json(batches: list[Any], path: str) -> bytes:
    from decoders.records.encode_batches import records_from_json

    return records_from_json(batches, path)


def _encode_structure_json(value: Mapping[str, Any], path: str) -> bytes:
    from decoders.embedded import encode_embedded_from_json

    return encode_embedded_from_json(value, path)


# These load their modules when there is something to make.
_MAKERS: Final = Makers(_encode_batches_json, _encode_structure_json)


def decode_request(frame: bytes, *, strict: bool = True) -> Request:
    """A request as it follows its size field: header and body. Raises DecodeError, offsets from the frame's start."""
    if len(frame) < 4:
        raise Truncated(f"need 4 bytes for API key and version, have {len(frame)}", offset=0, path="request_api_key")
    key = int.from_bytes(frame[:2], "big", signed=True)
    version = int.from_bytes(frame[2:4], "big", signed=True)
    plan = _resolve_plan(key, version, "request", None)
    header, at = _decode_header(request_header_plan(request_header_version(key, version)), frame)
    body = decode(plan, frame, at, strict=strict)
    return Request(key, version, header["correlation_id"], header.get("client_id"), header, body)


def decode_response(frame: bytes, api_key: int, version: int, *, strict: bool = True) -> Response:
    """A response as it follows its size field, to a request of this API and version. Raises DecodeError.

    A broker answers an ApiVersions request of a version that it does not know in the layout of version 0.
    """
    plan = _resolve_plan(api_key, version, "response", None)
    header, at = _decode_header(response_header_plan(response_header_version(api_key, version)), frame)
    try:
        body = decode(plan, frame, at, strict=strict)
    except DecodeError as failure:
        if api_key != API_VERSIONS or not version or frame[at : at + 2] != _UNSUPPORTED:
            raise
        try:
            body, version = decode(_resolve_plan(api_key, 0, "response", None), frame, at, strict=strict), 0
        except DecodeError:
            raise failure from None
    return Response(api_key, version, header["correlation_id"], header, body)


def encode_request(
    api_key: int, version: int, value: Mapping[str, Any], *, correlation_id: int = 0, client_id: str | None = None
) -> bytes:
    """The frame of a request, without its size field. Raises as encode_message."""
    body = encode_message(api_key, version, "request", value)
    header: dict[str, Any] = {
        "request_api_key": api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
    }
    header_version = request_header_version(api_key, version)
    if header_version:  # the oldest header has no place for it
        header["client_id"] = client_id
    return encode(request_header_plan(header_version), header) + body


def encode_response(api_key: int, version: int, value: Mapping[str, Any], *, correlation_id: int = 0) -> bytes:
    """The frame of a response, without its size field. Raises as encode_message."""
    body = encode_message(api_key, version, "response", value)
    header = {"correlation_id": correlation_id}
    return encode(response_header_plan(response_header_version(api_key, version)), header) + body


def _decode_header(plan: Plan, frame: bytes) -> tuple[dict[str, Any], int]:
    """The header at the start of a frame, and the offset of the body."""
    end = len(frame)
    try:
        header, at = get_decoder(plan)(frame, 0, end)
    except CRUDE:
        return decode_by_walking(plan, frame, 0, end)
    return (header, at) if at <= end else decode_by_walking(plan, frame, 0, end)


def _find_message(api_key: int, version: int, kind: Side, layout: str | None) -> Message:
    if kind not in ("request", "response"):
        raise ValueError(f"kind is request or response, not {kind!r}")
    found = api(api_key)
    if layout is not None:
        early = found.early.get((kind, version, layout))
        if early is None:
            raise UnsupportedVersion(f"{found.name} {kind} version {version} has no layout of {layout}")
        return early
    return found.message(kind)


def _resolve_plan(api_key: int, version: int, kind: Side, layout: str | None) -> Plan:
    return resolve(_find_message(api_key, version, kind, layout), version)
