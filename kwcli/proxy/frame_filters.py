"""Frames of a connection in, what filters say about them out, as far as they are known at that moment.

`Watching` is what all connections share, `WatchedConnection` one of them. Before a request is held, `possible` says by
its header and bytes whether a filter may want it (decoders/filters/prefilter.py); of one that is held an exchange is
made, which filters are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from decoders.apis.keys import API_VERSIONS
from decoders.errors import DecodeError
from decoders.exchanges.api_versions import SOFTWARE_SINCE, ApiVersions, Needs, teaches
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, client_software
from decoders.exchanges.pairing import begin, put_no_request, put_no_response, put_request, put_response
from decoders.exchanges.topics import Topics
from decoders.filters import Filter, Phase
from decoders.filters.prefilter import Possible, Prefilter, TopicIds, some
from decoders.frames.framing import Frame
from decoders.frames.headers import request_head
from decoders.frames.live_framing import SIZE_FIELD
from decoders.schema.model import Side
from kwcli.net.addresses import shown

if TYPE_CHECKING:
    from kwcli.proxy.deciders import ClientConnection
    from kwcli.proxy.relay.intervention import HeldExchange

_SOFTWARE: Final = frozenset({"software", "software_version"})
# What the listener of a connection is for, which is known as soon as a client connects.
NODE: Final = "node.id"


class HasFilter(Protocol):
    """Somebody who wants requests or answers that a filter lets pass."""

    @property
    def side(self) -> Side:
        """Which of the two."""

    @property
    def when(self) -> Filter:
        """The filter."""

    def can_be(self, api_key: int) -> bool:
        """Whether it may want such exchanges, as far as the API decides."""


Asker = TypeVar("Asker", bound=HasFilter)


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

    def __init__(
        self,
        filters: Iterable[Filter],
        topics: Topics | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`changed` is called when something was learnt by which more requests may be wanted (`possible`)."""
        self.changed = changed
        filters = tuple(filters)
        self.specs = ApiVersions(FilterNeeds(filters))
        self.topics = Topics() if topics is None else topics
        self._ids = TopicIds(self.topics)
        self._learns = any(atom.row.entity == "topicName" for each in filters for atom in each.atoms())
        self._software = any(atom.name in _SOFTWARE for each in filters for atom in each.atoms())

    def wants(self, api_key: int, version: int) -> bool:
        """Whether something is learnt of such exchanges."""
        if api_key == API_VERSIONS and version >= SOFTWARE_SINCE:
            return self._software
        return self._learns and teaches(api_key, version)

    def learn(self, exchange: Exchange) -> None:
        """The names of topic ids in an answer."""
        known = len(self.topics.names)
        exchange.spec.teach(exchange, self.topics)
        if len(self.topics.names) > known:
            self.changed()

    def prefilter(self, head: Exchange) -> Prefilter:
        """What says of filters whether a request with this header may pass."""
        software = head.client_software is not None  # else it may still be told
        return Prefilter(head, self._ids, known=_KNOWN, unknown=_VARYING if software else _VARYING | _SOFTWARE)


_KNOWN: Final = frozenset({NODE})
_VARYING: Final = frozenset({"time"})


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

    def head(self, watching: Watching, api_key: int, version: int, client_id: bytes | None, now_ns: int) -> Exchange:
        """What all requests with such a header have in common."""
        exchange = self._begun(watching, now_ns)
        exchange.spec = watching.specs.get(api_key, version)
        exchange.api_key, exchange.api_version = api_key, version
        exchange.client_id = None if client_id is None else client_id.decode("utf-8", "surrogateescape")
        exchange.client_software = self._software
        return exchange

    def asked(self, watching: Watching, held: HeldExchange) -> Exchange:
        """A request."""
        frame = held.request
        try:
            name = request_head(frame, 0, len(frame)).client_id
        except (DecodeError, IndexError):
            name = None
        exchange = self.head(watching, held.api_key, held.version, name, held.at_ns)
        exchange.correlation_id = held.correlation_id
        put_request(exchange, Frame(frame, len(frame) - SIZE_FIELD, (held.at_ns, 0), (held.at_ns, 0), 0))
        if held.api_key == API_VERSIONS and held.version >= SOFTWARE_SINCE:
            self._introduce(watching, client_software(exchange))
        exchange.client_software = self._software
        return exchange

    def _introduce(self, watching: Watching, software: ClientSoftware | None) -> None:
        """The client says which library it is."""
        before, self._software = self._software, software or self._software
        if before is not None and self._software != before:
            watching.changed()

    def answered(self, watching: Watching, held: HeldExchange, now_ns: int) -> Exchange:
        """A request and its answer."""
        exchange = self.asked(watching, held)
        assert held.response is not None
        frame = held.response
        put_response(exchange, Frame(frame, len(frame) - SIZE_FIELD, (now_ns, 0), (now_ns, 0), 0))
        return exchange

    def possible(
        self, watching: Watching, askers: Iterable[Asker], api_key: int, version: int, client_id: bytes | None
    ) -> Possible:
        """Which requests with such a header have to be held for somebody."""
        if watching.wants(api_key, version):
            return True
        prefilter = watching.prefilter(self.head(watching, api_key, version, client_id, 0))
        return some(
            prefilter.possible(each.when, answered=each.side == "response") for each in askers if each.can_be(api_key)
        )

    def requested(self, watching: Watching, askers: Iterable[Asker], held: HeldExchange) -> tuple[list[Asker], bool]:
        """Who wants a request, and whether its answer is to be shown too."""
        askers = [each for each in askers if each.can_be(held.api_key)]
        learns = watching.wants(held.api_key, held.version)
        if not askers and not learns:
            return [], False
        seen = self.asked(watching, held)
        look = learns or any(
            each.side == "response" and each.when.decide(seen, Phase.REQUEST) is not False for each in askers
        )
        return [each for each in askers if each.side == "request" and each.when.matches(seen)], look and held.answered

    def responded(self, watching: Watching, askers: Iterable[Asker], held: HeldExchange, now_ns: int) -> list[Asker]:
        """Who wants an answer."""
        seen = self.answered(watching, held, now_ns)
        if watching.wants(held.api_key, held.version):
            watching.learn(seen)
        wanted = [each for each in askers if each.side == "response" and each.can_be(held.api_key)]
        return [each for each in wanted if each.when.matches(seen)]
