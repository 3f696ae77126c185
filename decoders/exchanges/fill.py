"""An exchange and the frames of its sides in, its attributes set: the plain form of what the loop does in line."""

from __future__ import annotations

from typing import Any

from decoders.errors import DecodeError
from decoders.exchanges.exchange import ConnectionInfo, Exchange
from decoders.exchanges.specs import ApiVersion
from decoders.schema.model import Side
from decoders.streams.framing import Frame
from decoders.wire.varints import read_uvarint


def begin(exchange: Exchange, ends: ConnectionInfo, spec: ApiVersion) -> None:
    """What every exchange begins with."""
    exchange.ends = ends
    exchange.spec = spec
    exchange.api_key = None
    exchange.api_version = None
    exchange.client_id = None
    exchange.client_software = None
    exchange.outcome = "complete"
    exchange.extra = None
    exchange.looked = False
    exchange.place = 0
    exchange.known = 0


def orphan(ends: ConnectionInfo, spec: ApiVersion, frame: Frame, correlation_id: int) -> Exchange:
    """A response whose request is not in the capture."""
    exchange = Exchange()
    begin(exchange, ends, spec)
    exchange.outcome = "orphan_response"
    exchange.correlation_id = correlation_id
    put_no_request(exchange)
    put_response(exchange, frame)
    exchange.time_ns = frame.first_ns
    return exchange


def put_request(exchange: Exchange, frame: Frame) -> None:
    """Take over a request's frame."""
    exchange.time_ns = frame.first_ns
    exchange.request_end_ns = frame.last_ns
    exchange.request_packet = frame.first_packet
    exchange.request_packet_end = frame.last_packet
    exchange.request_size = frame.size
    exchange.request_raw = frame.data
    exchange.place = frame.place
    if frame.missing or frame.again:
        _put_damage(exchange, frame, "request")


def put_response(exchange: Exchange, frame: Frame) -> None:
    """Take over a response's frame."""
    exchange.response_ns = frame.first_ns
    exchange.response_end_ns = None if frame.missing == "incomplete" else frame.last_ns
    exchange.response_packet = frame.first_packet
    exchange.response_packet_end = frame.last_packet
    exchange.response_size = frame.size
    exchange.response_raw = frame.data
    if frame.missing or frame.again:
        _put_damage(exchange, frame, "response")


def _put_damage(exchange: Exchange, frame: Frame, side: Side) -> None:
    """What is missing of a frame, and that bytes of it were sent again."""
    said: dict[str, Any] = {side: frame.missing} if frame.missing else {}
    if frame.again:
        said["retransmitted"] = True
    exchange.extra = {**(exchange.extra or {}), **said}


def put_no_request(exchange: Exchange) -> None:
    """There is no request."""
    exchange.request_end_ns = None
    exchange.request_packet = None
    exchange.request_packet_end = None
    exchange.request_size = None
    exchange.request_raw = None


def put_no_response(exchange: Exchange) -> None:
    """There is no response."""
    exchange.response_ns = None
    exchange.response_end_ns = None
    exchange.response_packet = None
    exchange.response_packet_end = None
    exchange.response_size = None
    exchange.response_raw = None


def wants_no_answer(spec: ApiVersion, data: bytes, body: int) -> bool:
    """Whether a Produce request, whose body begins at `body`, has acks=0; unseen acks count as others."""
    if not spec.null_id:
        return data[body : body + 2] == b"\0\0"
    if not spec.flexible:
        body += 2 + max(int.from_bytes(data[body : body + 2], "big", signed=True), 0)
    else:
        try:
            size, body = read_uvarint(data, body, len(data))
        except DecodeError:
            return False
        body += max(size - 1, 0)
    return data[body : body + 2] == b"\0\0"
