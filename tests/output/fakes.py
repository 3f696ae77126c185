"""Exchanges made by hand: what the renderers look at, with defaults that make a row of a test short."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast
from uuid import UUID

from decoders.apis import api
from decoders.apis.error_codes import ApiError, error_name
from decoders.apis.expected_errors import expected_codes
from decoders.exchanges.api_versions import ApiVersion, Failure, Needs
from decoders.exchanges.exchange import Exchange, Skipped
from decoders.exchanges.topics import WELL_KNOWN

# 2026-11-21 03:04:05.123456 UTC
TIME_NS = 1_795_230_245_123_456_000


@cache
def _spec(key: int | None, version: int | None) -> ApiVersion:
    return ApiVersion(key, version, Needs())


class FakeEnds:
    """A connection that is not wrapped."""

    tls = None


@dataclass
class Fake:
    """The attributes of an Exchange."""

    api_key: int | None = 3
    api_version: int | None = 12
    request_view: dict[str, Any] | None = field(default_factory=dict)
    response_view: dict[str, Any] | None = field(default_factory=dict)
    codes: list[tuple[str, int]] = field(default_factory=list)
    time_ns: int = TIME_NS
    latency_ms: float | None = 1.234
    duration_ms: float | None = 1.5
    client: str = "127.0.0.1:54321"
    broker: str = "127.0.0.1:9092"
    connection: int = 3
    correlation_id: int | None = 7
    client_id: str | None = "rdkafka"
    client_software: dict[str, str] | None = None
    user: str | None = None
    mechanism: str | None = None
    request_size: int | None = 51
    response_size: int | None = 999
    status: str = "complete"
    reason: str | None = None
    record: dict[str, Any] | None = None
    closed: str | None = None
    failures: dict[str, Failure] = field(default_factory=dict)
    fetch_session: dict[str, Any] | None = None
    request_raw: bytes | None = None
    response_raw: bytes | None = None
    topics: dict[UUID, str] = field(default_factory=dict)
    ends: object = field(default_factory=FakeEnds)
    kind: str = "exchange"
    extra: dict[str, Any] | None = None

    @property
    def spec(self) -> ApiVersion:
        return _spec(self.api_key, self.api_version)

    @property
    def outcome(self) -> str:
        return "complete" if self.status == "undecoded" else self.status

    @property
    def failed(self) -> dict[str, Failure] | None:
        return self.failures or None

    @property
    def error_codes(self) -> list[tuple[str, int]] | None:
        return self.codes or None

    @property
    def unexpected(self) -> list[tuple[str, int]]:
        return [(path, code) for path, code in self.codes if code not in expected_codes(self.api_key)]

    @property
    def is_orphan(self) -> bool:
        return self.status == "orphan_response"

    @property
    def request_end_ns(self) -> int | None:
        return None if self.latency_ms is None else self.time_ns

    @property
    def response_ns(self) -> int | None:
        return None if self.latency_ms is None else self.time_ns + round(self.latency_ms * 1e6)

    @property
    def api(self) -> str | None:
        return None if self.api_key is None else api(self.api_key).name

    @property
    def time(self) -> str:
        return "2026-11-21T03:04:05.123456Z"

    @property
    def errors(self) -> list[ApiError]:
        return [ApiError(path, code, error_name(code)) for path, code in self.codes]

    def view(self, side: str) -> dict[str, Any] | None:
        return self.request_view if side == "request" else self.response_view

    def topic_name(self, identity: UUID) -> str | None:
        return self.topics.get(identity) or WELL_KNOWN.get(identity)


def exchange(key: int | None = 3, version: int | None = 12, **attributes: Any) -> Exchange:
    """An exchange of an API."""
    attributes.setdefault("request_view", {})
    return cast(Exchange, Fake(key, version, **attributes))


@dataclass
class FakeSkipped:
    """The attributes of a Skipped."""

    reason: str = "lost"
    size: int = 1400
    direction: str | None = "request"
    detail: str = "in step again at .011"
    time_ns: int = TIME_NS
    client: str = "10.0.0.9:40000"
    broker: str = "127.0.0.1:9092"
    connection: int = 4
    kind: str = "skipped"
    time: str = "2026-11-21T03:04:05.123456Z"


def skipped(**attributes: Any) -> Skipped:
    """A run of bytes that is no exchange."""
    return cast(Skipped, FakeSkipped(**attributes))
