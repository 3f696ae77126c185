"""The exchange record in, the exchange back: what was written as NDJSON is read as if it came from a capture.

Bodies are those of the record, in JSON form, and so are views; the frames' bytes are not in a record. When the
request's last byte came is not in it either: it is taken for the time of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from decoders.errors import Malformed
from decoders.exchanges.api_versions import SIDES, ApiVersion, Failure, Sides
from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled, Skipped
from decoders.exchanges.needs import Needs
from decoders.exchanges.pairing import begin
from decoders.exchanges.topics import Topics
from decoders.schema.model import Side
from decoders.wire.primitives import uuid_bytes
from decoders.wire.units import parse_time

EXTRA: Final = ("closed", "retransmitted", "via", "fault", "upstream_latency_ms")


class Recorded(ApiVersion):
    """Stands for the API version of a record, and reads from it."""

    __slots__ = ("record",)

    record: Mapping[str, Any]

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__(record["api_key"], record["api_version"], Needs())
        self.record = record
        self.quick = False

    def look(self, exchange: Sides) -> None:
        """Views are the bodies."""
        record = self.record
        failures: dict[Side, Failure] = {
            side: Failure(row["reason"], row["offset"], row["path"], "")
            for side, row in record.get("undecoded", {}).items()
        }
        codes = [(error["path"], error["code"]) for error in record["errors"]]
        exchange.note(record["request"], record["response"], codes or None, failures or None, record.get("layout"))

    def values(self, exchange: Sides, side: Side) -> Any:  # noqa: ARG002 - as ApiVersion has it
        """A body in JSON form."""
        return self.record[side]

    def topic_names(self, exchange: Sides) -> dict[str, str]:  # noqa: ARG002 - as ApiVersion has it
        """The names in the record."""
        names: dict[str, str] = self.record.get("topic_names", {})
        return names


def from_json_dict(record: Mapping[str, Any]) -> Settled:
    """The exchange or skipped run of a record. Raises Malformed when it is none."""
    try:
        return _skipped(record) if record["kind"] == "skipped" else _exchange(record)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Malformed(f"no exchange record: {problem!r}") from None


def _ends(record: Mapping[str, Any]) -> ConnectionInfo:
    topics = Topics()
    for identity, name in record.get("topic_names", {}).items():
        topics.add(UUID(bytes=uuid_bytes(identity)), name)
    ends = ConnectionInfo(record["connection"], record["client"], record["broker"], 0, topics)
    ends.tls = record.get("tls")
    return ends


def _skipped(record: Mapping[str, Any]) -> Skipped:
    return Skipped(
        _ends(record),
        record["direction"],
        record["size"],
        record["reason"],
        record["detail"],
        parse_time(record["time"]),
    )


def _exchange(record: Mapping[str, Any]) -> Exchange:
    exchange = Exchange()
    begin(exchange, _ends(record), Recorded(record))
    for name in ("api_key", "api_version", "correlation_id", "request_size", "response_size"):
        setattr(exchange, name, record[name])
    client_id = record["client_id"]
    exchange.client_id = client_id if client_id is None or isinstance(client_id, str) else _text(client_id)
    exchange.client_software = record.get("client_software")
    exchange.outcome = "complete" if record["status"] == "undecoded" else record["status"]
    extra = {name: record[name] for name in EXTRA if name in record}
    if record["reason"] is not None and record["status"] != "undecoded":
        extra["reason"] = record["reason"]
    exchange.extra = extra or None
    exchange.request_raw = exchange.response_raw = None
    exchange.known = len(exchange.ends.topics.names)
    _times(exchange, record)
    return exchange


def _times(exchange: Exchange, record: Mapping[str, Any]) -> None:
    exchange.time_ns = begun = parse_time(record["time"])
    latency, duration = record["latency_ms"], record["duration_ms"]
    request, response = (record["packets"][side] or (None, None) for side in SIDES)
    exchange.request_packet, exchange.request_packet_end = request
    exchange.response_packet, exchange.response_packet_end = response
    exchange.request_end_ns = None if request[0] is None else begun
    orphan = begun if response[0] is not None and request[0] is None else None
    exchange.response_ns = orphan if latency is None else begun + round(latency * 1e6)
    exchange.response_end_ns = orphan if duration is None else begun + round(duration * 1e6)


def _text(client_id: Mapping[str, str]) -> str:
    from base64 import b64decode  # only for client ids that are no text

    return b64decode(client_id["base64"]).decode("utf-8", "surrogateescape")
