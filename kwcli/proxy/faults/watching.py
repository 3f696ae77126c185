"""Held frames of a connection in, what filters ask about out: the exchange as far as it is known at that moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from decoders.apis.keys import API_VERSIONS
from decoders.errors import DecodeError
from decoders.exchanges.api_versions import SOFTWARE_SINCE, ApiVersions, teaches
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, client_software
from decoders.exchanges.needs import Needs
from decoders.exchanges.pairing import begin, put_no_request, put_no_response, put_request, put_response
from decoders.exchanges.topics import Topics
from decoders.filters import Filter
from decoders.frames.framing import Frame
from decoders.frames.headers import request_head
from decoders.frames.live_framing import SIZE_FIELD
from decoders.schema.model import Side
from kwcli.net.addresses import shown

if TYPE_CHECKING:
    from kwcli.proxy.deciders import ClientConnection
    from kwcli.proxy.relay.intervention import HeldExchange

_SOFTWARE: Final = frozenset({"software", "software_version"})


class FilterNeeds(Needs):
    """What filters read of bodies."""

    __slots__ = ("_filters",)

    def __init__(self, filters: Iterable[Filter]) -> None:
        super().__init__()
        self._filters = tuple(filters)

    def of(self, key: int, side: Side) -> frozenset[str]:
        """The paths wanted of a side of an API."""
        return frozenset().union(*(each.needs(key, side) for each in self._filters))


class Watching:
    """What all connections share: how bodies are read, and names of topic ids."""

    def __init__(self, filters: Iterable[Filter], topics: Topics | None = None) -> None:
        filters = tuple(filters)
        self.specs = ApiVersions(FilterNeeds(filters))
        self.topics = Topics() if topics is None else topics
        self._learns = any(atom.row.entity == "topicName" for each in filters for atom in each.atoms())
        self._software = any(atom.name in _SOFTWARE for each in filters for atom in each.atoms())

    def wants(self, api_key: int, version: int) -> bool:
        """Whether something is learnt of such exchanges."""
        if api_key == API_VERSIONS and version >= SOFTWARE_SINCE:
            return self._software
        return self._learns and teaches(api_key, version)

    def learn(self, exchange: Exchange) -> None:
        """The names of topic ids in an answer."""
        exchange.spec.teach(exchange, self.topics)


class WatchedConnection:
    """One connection."""

    __slots__ = ("_ends", "_node", "_relay", "_software")

    def __init__(self, relay: ClientConnection) -> None:
        self._relay = relay
        self._ends: ConnectionInfo | None = None
        self._software: ClientSoftware | None = None
        self._node: int | None = relay.listener.node_id

    def _begun(self, watching: Watching, now_ns: int) -> Exchange:
        relay = self._relay
        if self._ends is None:
            self._ends = ConnectionInfo(relay.number, relay.peer, shown(relay.listener.address), now_ns, Topics())
        self._ends.topics = watching.topics
        exchange = Exchange()
        begin(exchange, self._ends, watching.specs.unknown)
        exchange.time_ns = now_ns
        exchange.known = len(watching.topics.names)
        put_no_response(exchange)
        if self._node is not None:
            exchange.extra = {"node": {"id": self._node}}
        return exchange

    def connected(self, watching: Watching, now_ns: int) -> Exchange:
        """What is known when a client has connected."""
        exchange = self._begun(watching, now_ns)
        put_no_request(exchange)
        return exchange

    def asked(self, watching: Watching, held: HeldExchange) -> Exchange:
        """A request."""
        exchange = self._begun(watching, held.at_ns)
        exchange.spec = watching.specs.get(held.api_key, held.version)
        exchange.api_key, exchange.api_version = held.api_key, held.version
        exchange.correlation_id = held.correlation_id
        frame = held.request
        put_request(exchange, Frame(frame, len(frame) - SIZE_FIELD, (held.at_ns, 0), (held.at_ns, 0), 0))
        try:
            name = request_head(frame, 0, len(frame)).client_id
        except (DecodeError, IndexError):
            name = None
        exchange.client_id = None if name is None else name.decode("utf-8", "surrogateescape")
        if held.api_key == API_VERSIONS and held.version >= SOFTWARE_SINCE:
            self._software = client_software(exchange) or self._software
        exchange.client_software = self._software
        return exchange

    def answered(self, watching: Watching, held: HeldExchange, now_ns: int) -> Exchange:
        """A request and its answer."""
        exchange = self.asked(watching, held)
        assert held.response is not None
        frame = held.response
        put_response(exchange, Frame(frame, len(frame) - SIZE_FIELD, (now_ns, 0), (now_ns, 0), 0))
        return exchange
