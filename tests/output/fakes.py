"""Hand-made exchanges: the attributes that renderers read, with defaults that keep a test's row short."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from decoders.exchanges.body_reader import ApiReader, DecodeFailure, Needs
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, Login, Skipped, Status
from decoders.exchanges.topic_and_node_names import Topics
from decoders.schema.api_declaration import Side

# 2026-11-21 03:04:05.123456 UTC
TIME_NS = 1_795_230_245_123_456_000


@cache
def _api_reader(key: int | None, version: int | None) -> ApiReader:
    return ApiReader(key, version, Needs())


class Fake(NamedTuple):
    """The attributes of a hand-made exchange. Times are in milliseconds; without a latency it has no answer."""

    request_view: dict[str, Any] | None = None
    response_view: dict[str, Any] | None = None
    codes: tuple[tuple[str, int], ...] = ()
    time_ns: int = TIME_NS
    latency_ms: float | None = 1.234
    duration_ms: float | None = 1.5
    client: str = "127.0.0.1:54321"
    broker: str = "127.0.0.1:9092"
    connection: int = 3
    correlation_id: int | None = 7
    client_id: str | None = "rdkafka"
    client_software: ClientSoftware | None = None
    login: Login | None = None
    request_size: int | None = 51
    response_size: int | None = 999
    status: Status = "complete"
    closed: str | None = None
    failures: Mapping[Side, DecodeFailure] = {}
    topics: Mapping[UUID, str] = {}


def exchange(key: int | None = 3, version: int | None = 12, **attributes: Any) -> Exchange:
    """A hand-made exchange of an API."""
    attributes.setdefault("request_view", {})
    attributes.setdefault("response_view", {})
    said = Fake(**attributes)
    topics = Topics()
    for identity, name in said.topics.items():
        topics.add(identity, name)
    made = Exchange()
    made.connection_info = ConnectionInfo(said.connection, said.client, said.broker, said.time_ns, topics)
    made._api_reader, made.api_key, made.api_version = _api_reader(key, version), key, version
    made.correlation_id, made.client_id, made.client_software = (
        said.correlation_id,
        said.client_id,
        said.client_software,
    )
    made.login, made._topics_known, made.place = said.login, len(topics.names), 0
    made.outcome = "complete" if said.status == "undecoded" else said.status
    made.extra = {"closed": said.closed} if said.closed else None
    made.time_ns, made.request_size, made.response_size = said.time_ns, said.request_size, said.response_size
    made.request_raw = made.response_raw = None
    made.request_packet = made.request_packet_end = made.response_packet = made.response_packet_end = None
    made.request_end_ns = made.response_ns = made.response_end_ns = None
    if said.latency_ms is not None:
        made.request_end_ns, made.response_ns = said.time_ns, said.time_ns + round(said.latency_ms * 1e6)
    if said.duration_ms is not None:
        made.response_end_ns = said.time_ns + round(said.duration_ms * 1e6)
    made._looked = True
    made._set_views(said.request_view, said.response_view, list(said.codes) or None, dict(said.failures) or None, None)
    return made


def skipped() -> Skipped:
    """A skipped run of bytes."""
    info = ConnectionInfo(4, "10.0.0.9:40000", "127.0.0.1:9092", TIME_NS, Topics())
    return Skipped(info, "request", 1400, "lost", "in step again at .011", TIME_NS)
