"""One frame of a known API version, without an exchange around it, in; its record out (`{"kind": "message", …}`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from decoders.exchanges.body_reader import ApiReader, DecodeFailure, Needs
from decoders.exchanges.exchange import ConnectionInfo, Exchange
from decoders.exchanges.topic_and_node_names import Topics
from decoders.exchanges.topic_arrays import RECORD_ARRAYS
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.messages.build_body_json import (
    ECHOING,
    PLAIN,
    Options,
    conceal_echoed_secrets,
    make_concealer_of_exchange,
    read_body_json,
)
from decoders.messages.exchange_json import undecoded_json, with_number_words
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.schema.api_declaration import Plan, Side
from decoders.schema.decode_and_encode import decode_partial
from decoders.wire.redact_text import Conceal

_NO_NEEDS: Final = Needs()
_SIZE: Final = 4


@dataclass(frozen=True, slots=True)
class SingleMessage:
    """A frame with its size field. `shift`: how many bytes of it were not given but made up (4: the size field).

    `missing` is why the end of the frame is not there, if so.
    """

    frame: bytes
    side: Side
    key: int
    version: int
    shift: int = 0
    missing: str | None = None

    @property
    def is_bare_body(self) -> bool:
        """Whether only the body was given."""
        return self.shift > _SIZE


class Told(NamedTuple):
    """The record of a message, the layout that its body was read by, and what went wrong."""

    record: dict[str, Any]
    plan: Plan | None
    failure: DecodeFailure | None


def is_readable_message(alone: SingleMessage) -> bool:
    """Whether the body of a message decodes to its end."""
    return (
        alone.missing is None
        and _make_exchange_of_message(alone)._api_reader.project_side(alone.side, alone.frame) is not None
    )


def make_concealer_of_message(alone: SingleMessage) -> Conceal | None:
    """The function that takes the secrets of a response out of its error messages; None where there are none."""
    return make_concealer_of_exchange(_make_exchange_of_message(alone))


def size_before_body(side: Side, key: int, version: int) -> int:
    """How many bytes `framed` puts before a body: the size field and a header."""
    return len(frame_body(b"", side, key, version))


def frame_body(body: bytes, side: Side, key: int, version: int) -> bytes:
    """A bare body as a frame, with a header that is empty but for the API key and version of a request."""
    if side == "request":
        kind = request_header_version(key, version)
        head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + (b"", b"\xff\xff", b"\xff\xff\0")[kind]
    else:
        head = bytes(4 + response_header_version(key, version))
    return with_size_field(head + body)


def message_json(alone: SingleMessage, options: Options = PLAIN) -> Told:
    """The record of a message, with the fields before a failure to decode it, and with bytes after the message."""
    exchange = _make_exchange_of_message(alone)
    side, api_reader = alone.side, exchange._api_reader
    body, failure, early_layout, plan, trailing, remarks = read_body_json(exchange, side, options)
    if options.records and api_reader.key in RECORD_ARRAYS:
        from decoders.messages.internal_topic_records import decode_structures_in_records

        bodies = (body, None) if side == "request" else (None, body)
        decode_structures_in_records(exchange, *bodies, reveal=options.reveal_secrets, values=options.values)
    echoing = api_reader.key in ECHOING and side == "response" and not options.reveal_secrets
    hidden = echoing and conceal_echoed_secrets(exchange, None, body)
    header = None if alone.is_bare_body else _decode_header_json(alone)
    size = None if alone.is_bare_body else int.from_bytes(alone.frame[:_SIZE], "big", signed=True)
    record: dict[str, Any] = {
        "kind": "message",
        "side": side,
        "size": size,
        "api_key": api_reader.key,
        "api": api_reader.name,
        "api_version": api_reader.version,
        "correlation_id": (header or {}).get("correlation_id"),
        "client_id": (header or {}).get("client_id"),
        "header": header,
        "body": body,
    }
    if hidden:
        record["messages_hidden"] = True
    if early_layout is not None:
        record["layout"] = early_layout
    if trailing is not None:
        record["trailing"] = trailing
    if remarks:
        shift = max(alone.shift - _SIZE, 0)
        record["remarks"] = [{**remark, "offset": max(remark["offset"] - shift, 0)} for remark in remarks]
    if failure is not None:
        if alone.missing is not None and not failure.text:  # the bytes that there are end with a field
            failure = failure._replace(offset=len(alone.frame) - _SIZE)
        failure = failure._replace(offset=max(failure.offset - max(alone.shift - _SIZE, 0), 0))
        record["undecoded"] = undecoded_json(exchange, side, failure, options)
        plan = _stable_plan(api_reader, side)
    return Told(with_number_words(record) if options.names else record, plan, failure)


def _make_exchange_of_message(alone: SingleMessage) -> Exchange:
    """An exchange that has one frame alone."""
    exchange = Exchange()
    exchange._api_reader = ApiReader(alone.key, alone.version, _NO_NEEDS)
    exchange.api_key = alone.key
    exchange.connection_info = ConnectionInfo(0, "", "", 0, Topics())
    exchange._topics_known = 0
    exchange.extra = {alone.side: alone.missing} if alone.missing is not None else None
    exchange.outcome = "complete"
    exchange.request_raw = alone.frame if alone.side == "request" else None
    exchange.response_raw = alone.frame if alone.side == "response" else None
    return exchange


def _decode_header_json(alone: SingleMessage) -> dict[str, Any]:
    """The fields of the header, as far as they are there, in JSON form."""
    key, version = alone.key, alone.version
    if alone.side == "request":
        plan = request_header_plan(request_header_version(key, version))
    else:
        plan = response_header_plan(response_header_version(key, version))
    # A body follows, so bytes after the header are no failure.
    value, _ = decode_partial(plan, alone.frame, _SIZE, json=True)
    return value


def _stable_plan(api_reader: ApiReader, side: Side) -> Plan | None:
    found = api_reader.list_layouts(side)
    return found[0].plan if found else None
