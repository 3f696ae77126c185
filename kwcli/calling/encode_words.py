"""The words of `kw encode` in, the bytes of the message out: the body, or the whole frame."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from decoders.embedded import (
    FRAME,
    STRUCTURES,
    TYPE,
    VERSION,
    encode_embedded_from_json,
    exact_structure_name,
    parse_structure_declaration,
)
from decoders.errors import EncodeError, UnknownApi
from decoders.limits import FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import Api, Side, Versions
from decoders.schema.body_json_form import bytes_from_json
from decoders.schema.decode_and_encode import TRAILING
from kwcli.calling.check_field_values import infer_types_of_plain_words
from kwcli.calling.read_bodies import SourceBody
from kwcli.calling.words import SHORT_WORDS
from kwcli.calling.words.path_value_words import compose_body, encode_composed_body, parse_body_words, read_object_word
from kwcli.calling.words.resolve_body_paths import raise_failure
from kwcli.names_in_any_spelling import find_api, find_version, parse_api_version
from kwcli.run_environment import Environment, Exit

_SIZE = 4


class HeaderValues(NamedTuple):
    """Values for the header of a frame; None takes the value of the record that was given, if any."""

    correlation_id: int | None
    client_id: str | None


def encode_message_words(
    name: str, word: str | int, words: Sequence[str], env: Environment, side: Side, header: HeaderValues | None
) -> bytes:
    """The body of a message, or with a header its frame with the size field. Raises Failure."""
    if not words and env.stdin_terminal:
        raise_failure("no body: give path=value words, @FILE, or JSON on standard input ({} for defaults)")
    if is_structure_name(name):
        if header is not None or side == "response":
            raise_failure(f"{name} is a structure, no message: it has no frame and no sides")
        return encode_structure_words(exact_structure_name(name), str(word), words, env)
    api = find_api(name)
    version = find_version(api, word)
    start, words = _apply_short_words(api, version, words, env) if words and side == "request" else (None, words)
    given = parse_body_words(api, words or (() if start else ("-",)), env=env, side=side)
    layout = None if given.body is None else given.body.layout
    data = encode_composed_body(
        api,
        version,
        compose_body(api, version, given, start=start, side=side),
        side=side,
        layout=layout,
        code=Exit.USAGE if given.body is None else Exit.FAILURE,
    )
    if given.body is not None and given.body.trailing is not None and not given.words:
        data += _encode_trailing_bytes(infer_types_of_plain_words(given.body.trailing, "trailing"), given.body.source)
    if header is not None:
        record = {} if given.body is None else given.body.record
        data = _encode_frame_header(api.key, version, side, header, record) + data
        if len(data) > FRAME_MAX:
            raise_failure(f"a frame of {len(data)} bytes is larger than any broker takes", Exit.FAILURE)
        data = len(data).to_bytes(_SIZE, "big") + data
    return data


def _apply_short_words(
    api: Api, version: int, words: Sequence[str], env: Environment
) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
    """The body that short words describe (`topic=orders value=v`; None: there are none), and the other words."""
    if api.key not in SHORT_WORDS:
        return None, words
    from kwcli.calling.words.short_request_words import RecordOptions, parse_short_request

    short, rest = parse_short_request(api.key, words, RecordOptions(), env)
    if short is None:
        return None, words
    short.narrow_versions(Versions(version, version), connected=False)
    return short.build_body(version, None), rest


def is_structure_name(name: str) -> bool:
    """Whether this is the name of a structure inside bytes fields, not of an API."""
    try:
        exact_structure_name(name)
    except UnknownApi:
        return False
    return True


def encode_structure_words(name: str, word: str, words: Sequence[str], env: Environment) -> bytes:
    """The bytes of a structure with its framing. Raises Failure."""
    message, row = parse_structure_declaration(name), STRUCTURES[name]
    pseudo_api = Api(-1, name, message.versions, message.flexible, message, message)
    version = parse_api_version(pseudo_api, word)
    if row.framing == "key" and version == row.number:
        version = 0
    if version not in message.versions:
        raise_failure(f"{name} has versions {message.versions}, not {version}")
    around: dict[str, Any] = {}
    body = None
    if not words or (len(words) == 1 and (words[0] == "-" or words[0][:1] in {"@", "{"})):
        value, source = read_object_word(words[0] if words else "-", env)
        value = value.get("value", value) if value.get("kind") == "structure" else value
        around = {key: value[key] for key in (FRAME, TRAILING) if key in value}
        plain = {key: inner for key, inner in value.items() if key not in {TYPE, VERSION, *around}}
        body, words = SourceBody(plain, source), ()
    given = parse_body_words(pseudo_api, words, env=env, body=body)
    made = compose_body(pseudo_api, version, given)
    try:
        return encode_embedded_from_json({TYPE: name, VERSION: version, **made, **around}, "")
    except EncodeError as failure:
        raise_failure(str(failure).lstrip("."), Exit.USAGE if body is None else Exit.FAILURE)


def _encode_trailing_bytes(value: Any, source: str) -> bytes:
    """The bytes that follow a recorded message."""
    try:
        return bytes_from_json(value, "trailing")
    except EncodeError as failure:
        raise_failure(f"{source}: {failure}", Exit.FAILURE)


def format_message_skeleton(name: str, word: str | int, words: Sequence[str], env: Environment, side: Side) -> bytes:
    """The body of the words, all other fields at their defaults, as annotated YAML. Raises Failure."""
    from kwcli.calling.format_skeleton import format_skeleton

    api = find_api(name)
    version = find_version(api, word)
    return format_skeleton(api, version, compose_body(api, version, words, env=env, side=side), side=side).encode()


def _encode_frame_header(key: int, version: int, side: Side, header: HeaderValues, record: Mapping[str, Any]) -> bytes:
    """The bytes of the header: the record's fields where it has them, overridden by what was asked for."""
    from decoders.messages.whole_messages import encode_header_json

    names = ("correlation_id", "client_id") if side == "request" else ("correlation_id",)
    fields: dict[str, Any] = {name: record[name] for name in names if record.get(name) is not None}
    stated = record.get("header")
    if isinstance(stated, Mapping):
        fields.update(stated)
    fields = infer_types_of_plain_words(fields, "header")
    if header.correlation_id is not None:
        fields["correlation_id"] = header.correlation_id
    if header.client_id is not None and side == "request":
        fields["client_id"] = header.client_id
    try:
        return encode_header_json(key, version, side, fields)
    except EncodeError as failure:
        raise_failure(f"header: {failure}", Exit.FAILURE)


def format_output_bytes(data: bytes, form: str) -> bytes:
    """Bytes in an output format: raw, hex or base64."""
    if form == "raw":
        return data
    return (data.hex() if form == "hex" else b64encode(data).decode()).encode() + b"\n"
