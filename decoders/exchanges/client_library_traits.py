"""Exchanges of one connection in, traits that tell client libraries apart out: versions used and offered, defaults.

A trait is the values that a library puts into request fields that few people set; the first on the connection count.
Of each API the highest version used counts, and the one that the broker's ApiVersions response offered on the
connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, JOIN_GROUP, METADATA, PRODUCE
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["TRAITS", "Traits"]

# API → the fields, by their paths, whose values make its trait.
TRAITS: Final[Mapping[int, tuple[str, ...]]] = {
    PRODUCE: ("timeout_ms",),
    FETCH: ("max_wait_ms", "min_bytes", "max_bytes", "topics[].partitions[].partition_max_bytes"),
    JOIN_GROUP: ("protocol_type", "protocols[].name"),
    METADATA: ("allow_auto_topic_creation",),
}
_ASKED: Final = {key: frozenset(paths) for key, paths in TRAITS.items()}
_OFFERED: Final = frozenset({"error_code", "api_keys[].api_key", "api_keys[].max_version"})
_REPLICA: Final = frozenset({"replica_id", "replica_state.replica_id"})
# The APIs kept of requests and offers: those of clients, which tell libraries apart.
_KEPT: Final = frozenset({*range(4), *range(8, 15), 18, 22})


class Traits:
    """The traits of one connection. `library`: what its exchanges get by them (find_client_library.py)."""

    __slots__ = ("client_id", "library", "offered", "opened", "replica", "values", "versions")

    def __init__(self, *, opened: bool) -> None:
        self.opened = opened  # the connection was seen from its first byte on
        self.client_id: str | None = None
        self.versions: dict[int, int] = {}
        self.offered: dict[int, int] = {}
        self.values: dict[int, str] = {}
        self.replica = False  # it has sent a Fetch of a broker
        self.library: dict[str, Any] | None = None

    def has_traits_of(self, exchange: Exchange) -> bool:
        """Whether an exchange adds nothing to the traits."""
        key = exchange.api_key
        if key is None or key not in _KEPT:
            return True
        return self.versions.get(key, -1) >= (exchange.api_version or 0) and (key not in TRAITS or key in self.values)

    def add_traits_of(self, exchange: Exchange) -> None:
        """Add the traits that a settled exchange shows."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return
        if self.client_id is None:
            self.client_id = exchange.client_id
        if self.versions.get(key, -1) < version:
            self.versions[key] = version
            if key == API_VERSIONS:
                self._add_version_offers(exchange)
        if key in TRAITS and key not in self.values:
            self._add_request_values(exchange, key)

    def _add_request_values(self, exchange: Exchange, key: int) -> None:
        view: Any = exchange._api_reader.read_wanted_fields(
            exchange, "request", _ASKED[key] | (_REPLICA if key == FETCH else frozenset())
        )
        if view is None:
            return
        if key == FETCH:
            replica = view.get("replica_id", (view.get("replica_state") or {}).get("replica_id"))
            self.replica = isinstance(replica, int) and replica >= 0
        self.values[key] = " ".join(_format_value_at_path(view, path) for path in TRAITS[key])

    def _add_version_offers(self, exchange: Exchange) -> None:
        answer: Any = exchange._api_reader.read_wanted_fields(exchange, "response", _OFFERED)
        if answer is not None and not answer.get("error_code"):
            for row in answer.get("api_keys") or ():
                if row["api_key"] in _KEPT:
                    self.offered[row["api_key"]] = row["max_version"]

    def export(self) -> list[object]:
        """The traits as built-in values."""
        return [self.opened, self.client_id, self.versions, self.offered, self.values, self.replica]

    @classmethod
    def make_resumed(cls, state: object) -> Traits:
        """The traits that `export` gave. Raises DecodeError when the state is something else."""
        opened, client_id, versions, offered, values, replica = state_fields(state, bool, str | None, *[dict] * 3, bool)
        traits = cls(opened=opened)
        traits.client_id, traits.replica = client_id, replica
        traits.versions, traits.offered, traits.values = dict(versions), dict(offered), dict(values)
        return traits


def _format_value_at_path(view: Any, path: str) -> str:
    """The value at a path as text, in the first element of each list, but of all protocols; `-` where it is missing."""
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
