"""Frames of a connection in, the filters that match them out, judged by what is known at that moment.

`FilterContext` is the state that all connections share, `FilteredConnection` the state of one. Before a request is
intercepted, `prefilter_by_header` says by its header and bytes whether a filter may match it
(decoders/filters/prefilter.py). A request that is intercepted becomes an exchange, which filters are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from decoders.errors import DecodeError
from decoders.exchanges.body_reader import SOFTWARE_SINCE, ApiReaders, Needs, has_topic_ids_with_names
from decoders.exchanges.connection_pairing import (
    set_initial_values,
    set_request_missing,
    set_request_of_exchange,
    set_response_missing,
    set_response_of_exchange,
)
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, client_software
from decoders.exchanges.topic_and_node_names import Topics
from decoders.filters import Filter, Phase
from decoders.filters.prefilter import Possible, Prefilter, TopicIds, join_by_or
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD
from decoders.frames.framing import Frame
from decoders.frames.read_and_judge_headers import read_request_head
from decoders.protocol_facts.api_keys import API_VERSIONS
from decoders.schema.api_declaration import Side
from kwcli.net.parse_addresses import format_address

if TYPE_CHECKING:
    from kwcli.proxy.deciding.ask_deciders import ClientConnection
    from kwcli.proxy.relay.frame_decisions import InterceptedExchange

_SOFTWARE: Final = frozenset({"software", "software_version"})
# The node that a connection's listener is for; known as soon as a client connects.
NODE: Final = "node.id"


class RuleWithFilter(Protocol):
    """An object that wants the requests, or the answers, that its filter matches."""

    @property
    def side(self) -> Side:
        """Whether requests or answers are wanted."""

    @property
    def filter(self) -> Filter:
        """The filter that the requests or answers have to match."""

    def may_match(self, api_key: int) -> bool:
        """Whether the filter may match exchanges of this API, as far as the API alone decides."""


RuleType = TypeVar("RuleType", bound=RuleWithFilter)


class FilterNeeds(Needs):
    """The fields that filters read of bodies."""

    __slots__ = ("_filters",)

    def __init__(self, filters: Iterable[Filter]) -> None:
        super().__init__()
        self._filters = tuple(filters)

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The paths of the fields that filters read in requests or answers of an API."""
        return frozenset().union(*(each.needs(key, side) for each in self._filters))


class FilterContext:
    """The state that all connections share: how bodies are read, and the names of topic ids."""

    def __init__(
        self,
        filters: Iterable[Filter],
        topics: Topics | None = None,
        rules_changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`rules_changed` is called when topic names or client software are learnt: then prefilters may differ."""
        self.rules_changed = rules_changed
        filters = tuple(filters)
        self.api_readers = ApiReaders(FilterNeeds(filters))
        self.topics = Topics() if topics is None else topics
        self._ids = TopicIds(self.topics)
        self._learns = any(atom.row.entity == "topicName" for each in filters for atom in each.list_atoms())
        self._software = any(atom.name in _SOFTWARE for each in filters for atom in each.list_atoms())

    def is_needed_by_filters(self, api_key: int, version: int) -> bool:
        """Whether such exchanges tell topic names or client software that filters need."""
        if api_key == API_VERSIONS and version >= SOFTWARE_SINCE:
            return self._software
        return self._learns and has_topic_ids_with_names(api_key, version)

    def learn_topic_names(self, exchange: Exchange) -> None:
        """Learn the names of topic ids from an answer."""
        known = len(self.topics.names)
        exchange._api_reader.add_topic_names(exchange, self.topics)
        if len(self.topics.names) > known:
            self.rules_changed()

    def make_prefilter(self, head: Exchange) -> Prefilter:
        """The prefilter that says whether a request with this header may match a filter."""
        software = head.client_software is not None  # else an ApiVersions request may still tell it
        return Prefilter(head, self._ids, known=_KNOWN, unknown=_VARYING if software else _VARYING | _SOFTWARE)


_KNOWN: Final = frozenset({NODE})
_VARYING: Final = frozenset({"time"})


class FilteredConnection:
    """One connection, whose frames become exchanges that filters are asked about."""

    __slots__ = ("_ends", "_node", "_relay", "_software")

    def __init__(self, relay: ClientConnection) -> None:
        self._relay = relay
        self._ends: ConnectionInfo | None = None
        self._software: ClientSoftware | None = None
        self._node: int | None = relay.listener.node_id

    def _begin_exchange_of_connection(self, filter_context: FilterContext, now_ns: int) -> Exchange:
        relay = self._relay
        if self._ends is None:
            self._ends = ConnectionInfo(
                relay.number, relay.peer, format_address(relay.listener.address), now_ns, Topics()
            )
            self._ends.via_address = relay.via_address
        self._ends.topics = filter_context.topics
        exchange = Exchange()
        set_initial_values(exchange, self._ends, filter_context.api_readers.unknown)
        exchange.time_ns = now_ns
        exchange._topics_known = len(filter_context.topics.names)
        set_response_missing(exchange)
        if self._node is not None:
            exchange.extra = {"node": {"id": self._node}}
        return exchange

    def build_exchange_of_client(self, filter_context: FilterContext, now_ns: int) -> Exchange:
        """An exchange of what is known when a client has connected: no request, no answer."""
        exchange = self._begin_exchange_of_connection(filter_context, now_ns)
        set_request_missing(exchange)
        return exchange

    def build_exchange_of_header(
        self, filter_context: FilterContext, api_key: int, version: int, client_id: bytes | None, now_ns: int
    ) -> Exchange:
        """An exchange of what all requests with such a header have in common."""
        exchange = self._begin_exchange_of_connection(filter_context, now_ns)
        exchange._api_reader = filter_context.api_readers.get_reader(api_key, version)
        exchange.api_key, exchange.api_version = api_key, version
        exchange.client_id = None if client_id is None else client_id.decode("utf-8", "surrogateescape")
        exchange.client_software = self._software
        return exchange

    def build_exchange_of_request(self, filter_context: FilterContext, frames: InterceptedExchange) -> Exchange:
        """The exchange of an intercepted request, without its answer."""
        frame = frames.request
        try:
            name = read_request_head(frame, 0, len(frame)).client_id
        except (DecodeError, IndexError):
            name = None
        exchange = self.build_exchange_of_header(filter_context, frames.api_key, frames.version, name, frames.at_ns)
        exchange.correlation_id = frames.correlation_id
        set_request_of_exchange(
            exchange, Frame(frame, len(frame) - SIZE_FIELD, (frames.at_ns, 0), (frames.at_ns, 0), 0)
        )
        if frames.api_key == API_VERSIONS and frames.version >= SOFTWARE_SINCE:
            self._remember_client_software(filter_context, client_software(exchange))
        exchange.client_software = self._software
        return exchange

    def _remember_client_software(self, filter_context: FilterContext, software: ClientSoftware | None) -> None:
        """Remember the client's software, which an ApiVersions request names."""
        before, self._software = self._software, software or self._software
        if before is not None and self._software != before:
            filter_context.rules_changed()

    def build_exchange_of_answer(
        self, filter_context: FilterContext, frames: InterceptedExchange, now_ns: int
    ) -> Exchange:
        """The exchange of an intercepted request and its answer."""
        exchange = self.build_exchange_of_request(filter_context, frames)
        assert frames.response is not None
        frame = frames.response
        set_response_of_exchange(exchange, Frame(frame, len(frame) - SIZE_FIELD, (now_ns, 0), (now_ns, 0), 0))
        return exchange

    def learn_from_answer(self, filter_context: FilterContext, frames: InterceptedExchange, seen: Exchange) -> None:
        """Learn from the broker's answer; `seen` is the answer as deciders before have left it."""
        if not filter_context.is_needed_by_filters(frames.api_key, frames.version):
            return
        if frames.broker_answer is not None and frames.broker_answer is not frames.response:
            frame = frames.broker_answer
            seen = self.build_exchange_of_request(filter_context, frames)
            set_response_of_exchange(
                seen, Frame(frame, len(frame) - SIZE_FIELD, (seen.time_ns, 0), (seen.time_ns, 0), 0)
            )
        filter_context.learn_topic_names(seen)

    def prefilter_by_header(
        self,
        filter_context: FilterContext,
        rules: Iterable[RuleType],
        api_key: int,
        version: int,
        client_id: bytes | None,
    ) -> Possible:
        """Which requests with such a header have to be intercepted for one of the rules."""
        if filter_context.is_needed_by_filters(api_key, version):
            return True
        prefilter = filter_context.make_prefilter(
            self.build_exchange_of_header(filter_context, api_key, version, client_id, 0)
        )
        return join_by_or(
            prefilter.make_test_of_selection(each.filter, answered=each.side == "response")
            for each in rules
            if each.may_match(api_key)
        )

    def find_rules_for_request(
        self, filter_context: FilterContext, rules: Iterable[RuleType], frames: InterceptedExchange
    ) -> tuple[list[RuleType], bool]:
        """The rules that want a request, and whether its answer is to be shown too."""
        rules = [each for each in rules if each.may_match(frames.api_key)]
        learns = filter_context.is_needed_by_filters(frames.api_key, frames.version)
        if not rules and not learns:
            return [], False
        seen = self.build_exchange_of_request(filter_context, frames)
        show_answer = learns or any(
            each.side == "response" and each.filter.decide(seen, Phase.REQUEST) is not False for each in rules
        )
        return [
            each for each in rules if each.side == "request" and each.filter.matches(seen)
        ], show_answer and frames.answered

    def find_rules_for_answer(
        self, filter_context: FilterContext, rules: Iterable[RuleType], frames: InterceptedExchange, now_ns: int
    ) -> list[RuleType]:
        """The rules that want an answer."""
        seen = self.build_exchange_of_answer(filter_context, frames, now_ns)
        self.learn_from_answer(filter_context, frames, seen)
        wanted = [each for each in rules if each.side == "response" and each.may_match(frames.api_key)]
        return [each for each in wanted if each.filter.matches(seen)]
