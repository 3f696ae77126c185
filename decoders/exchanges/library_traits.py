"""Exchanges of one connection in, what tells client libraries apart out: versions used and asked, defaults of fields.

A trait is a request's field that has a default in each library and that few people set: the first value that is seen
on the connection counts. Versions are the highest used of each API; `offered` is what the broker's answer to
ApiVersions on this connection said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from decoders.apis.keys import API_VERSIONS, FETCH, JOIN_GROUP, METADATA, PRODUCE

__all__ = ["TRAITS", "Traits"]

_PARTS: Final = "topics[].partitions[].partition_max_bytes"
# API → the fields, by their paths, whose values make its trait.
TRAITS: Final[Mapping[int, tuple[str, ...]]] = {
    PRODUCE: ("timeout_ms",),
    FETCH: ("max_wait_ms", "min_bytes", "max_bytes", _PARTS),
    JOIN_GROUP: ("session_timeout_ms", "rebalance_timeout_ms", "protocols[].name"),
    METADATA: ("allow_auto_topic_creation",),
}
ASKED: Final = {key: frozenset(paths) for key, paths in TRAITS.items()}
_OFFERED: Final = frozenset({"error_code", "api_keys[].api_key", "api_keys[].max_version"})
_REPLICA: Final = frozenset({"replica_id", "replica_state.replica_id"})


class Read(Protocol):
    """What is read of an exchange's version (api_versions.py)."""

    def read(self, exchange: Any, side: Any, paths: frozenset[str]) -> Any:
        """These fields of a side."""


class Traits:
    """What one connection has shown."""

    __slots__ = ("client_id", "offered", "replica", "software", "values", "versions")

    def __init__(self) -> None:
        self.client_id: str | None = None
        self.software: str | None = None
        self.versions: dict[int, int] = {}
        self.offered: dict[int, int] = {}
        self.values: dict[int, str] = {}
        self.replica = False  # a Fetch as brokers ask

    def add(self, exchange: Any) -> bool:
        """Take a settled exchange; whether it says something new."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return False
        news = False
        if exchange.client_id is not None and self.client_id is None:
            self.client_id, news = exchange.client_id, True
        if self.versions.get(key, -1) < version:
            self.versions[key], news = version, True
            if key == API_VERSIONS:
                self._take_offers(exchange)
        if key in TRAITS and key not in self.values:
            view = exchange.spec.read(exchange, "request", ASKED[key])
            if view is not None:
                self.values[key], news = " ".join(_flat(view, path) for path in TRAITS[key]), True
        if key == FETCH and not self.replica:
            view = exchange.spec.read(exchange, "request", _REPLICA)
            its = None if view is None else view.get("replica_id", (view.get("replica_state") or {}).get("replica_id"))
            self.replica = isinstance(its, int) and its >= 0
            news |= self.replica
        return news

    def _take_offers(self, exchange: Any) -> None:
        answer = exchange.spec.read(exchange, "response", _OFFERED)
        if answer is not None and not answer.get("error_code"):
            for row in answer.get("api_keys") or ():
                self.offered[row["api_key"]] = row["max_version"]

    def facts(self) -> dict[str, Any]:
        """As built-in values."""
        return {
            "client_id": self.client_id,
            "versions": dict(self.versions),
            "offered": dict(self.offered),
            "values": dict(self.values),
            "replica": self.replica,
        }


def _flat(view: Any, path: str) -> str:
    """The values at a path: of lists those of the first topic and its first partition, but all protocols."""
    at = view
    names = path.split(".")
    for number, name in enumerate(names):
        if not isinstance(at, Mapping):
            return "-"
        if not name.endswith("[]"):
            at = at.get(name)
            continue
        rows = at.get(name[:-2]) or []
        if names[number:] == ["protocols[]", "name"]:
            return ",".join(str(row.get("name")) for row in rows)
        at = rows[0] if rows else None
    return "-" if at is None else str(at).lower() if isinstance(at, bool) else str(at)
