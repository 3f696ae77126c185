"""What `kw encode` was given in, the bytes of the message out: the body, or the whole frame."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from decoders.errors import EncodeError
from decoders.limits import FRAME_MAX
from decoders.schema.json_form import bytes_from_json
from decoders.schema.model import Side
from kwcli.calling.validate import generic
from kwcli.calling.words.assignments import check_words, compose, encode_body
from kwcli.calling.words.paths import fail
from kwcli.env import Environment, Exit
from kwcli.spelling import find_api, find_version

_SIZE = 4


class Header(NamedTuple):
    """What the header of a frame says; None leaves it to the record that was given, if any."""

    correlation_id: int | None
    client_id: str | None


def encode_words(
    name: str, word: str | int, words: Sequence[str], env: Environment, side: Side, header: Header | None
) -> bytes:
    """The body of a message, or with a header its frame with the size field. Raises Failure."""
    api = find_api(name)
    version = find_version(api, word)
    if not words and env.stdin_terminal:
        fail("no body: give path=value words, @FILE, or JSON on standard input ({} for defaults)")
    given = check_words(api, words or ("-",), env=env, side=side)
    layout = None if given.body is None else given.body.layout
    data = encode_body(
        api,
        version,
        compose(api, version, given, side=side),
        side=side,
        layout=layout,
        code=Exit.USAGE if given.body is None else Exit.FAILURE,
    )
    if given.body is not None and given.body.trailing is not None and not given.words:
        data += _trailing(generic(given.body.trailing, "trailing"), given.body.source)
    if header is not None:
        record = {} if given.body is None else given.body.record
        data = _header(api.key, version, side, header, record) + data
        if len(data) > FRAME_MAX:
            fail(f"a frame of {len(data)} bytes is larger than any broker takes", Exit.FAILURE)
        data = len(data).to_bytes(_SIZE, "big") + data
    return data


def _trailing(value: Any, source: str) -> bytes:
    """The bytes behind a recorded message."""
    try:
        return bytes_from_json(value, "trailing")
    except EncodeError as failure:
        fail(f"{source}: {failure}", Exit.FAILURE)


def print_skeleton(name: str, word: str | int, words: Sequence[str], env: Environment, side: Side) -> bytes:
    """The body that the words say, all else at its defaults, as annotated YAML. Raises Failure."""
    from kwcli.calling.skeleton import skeleton

    api = find_api(name)
    version = find_version(api, word)
    return skeleton(api, version, compose(api, version, words, env=env, side=side), side=side).encode()


def _header(key: int, version: int, side: Side, header: Header, record: Mapping[str, Any]) -> bytes:
    """The header: that of the record where it has one, with what was asked for instead."""
    from decoders.messages.whole_messages import encode_header_json

    names = ("correlation_id", "client_id") if side == "request" else ("correlation_id",)
    fields: dict[str, Any] = {name: record[name] for name in names if record.get(name) is not None}
    stated = record.get("header")
    if isinstance(stated, Mapping):
        fields.update(stated)
    fields = generic(fields, "header")
    if header.correlation_id is not None:
        fields["correlation_id"] = header.correlation_id
    if header.client_id is not None and side == "request":
        fields["client_id"] = header.client_id
    try:
        return encode_header_json(key, version, side, fields)
    except EncodeError as failure:
        fail(f"header: {failure}", Exit.FAILURE)


def format_bytes(data: bytes, form: str) -> bytes:
    """Bytes as they are put out."""
    if form == "raw":
        return data
    return (data.hex() if form == "hex" else b64encode(data).decode()).encode() + b"\n"
