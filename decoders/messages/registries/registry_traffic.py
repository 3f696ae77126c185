"""Chunks of all connections in; what registries say over HTTP/1.1 into the store of schemas.

Most captures have no such connection, so that what reads HTTP is loaded when the first one begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from decoders.limits import HTTP_CONNECTIONS_MAX
from decoders.tcp.stream_chunks import Chunk, Close, Gap
from decoders.values.schemas_and_decoded_values import RegisteredSchema

if TYPE_CHECKING:
    from decoders.messages.registries.learn_apicurio_schemas import ApicurioTraffic
    from decoders.protocols.read_http_exchanges import HttpConversation, HttpExchange

__all__ = ["SCHEMAS_TOPIC", "RegistryTraffic"]

# Where registries of Confluent, Redpanda and Karapace keep their schemas.
SCHEMAS_TOPIC: Final = "_schemas"
_METHODS: Final = (b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS", b"PATCH")
_REQUEST_LINES: Final = tuple(method + target for method in _METHODS for target in (b" /", b" http"))
_HTTP2_PREFACE: Final = b"PRI * HTTP/2"


class RegistryTraffic:
    """Learns from the HTTP/1.1 connections among all chunks of a capture, plain or decrypted.

    `http2` counts connections that cannot be read, since they are HTTP/2.
    """

    def __init__(
        self, learn: Callable[[RegisteredSchema], object], note_unregistered_id: Callable[[int], object]
    ) -> None:
        """`learn` takes schemas, `note_unregistered_id` the ids that a registry says it does not know."""
        self._learn = learn
        self._note_unregistered = note_unregistered_id
        self._apicurio: ApicurioTraffic | None = None
        self._conversations: dict[int, tuple[HttpConversation, object]] = {}  # with the client's half
        self._others: set[int] = set()  # connections that are none of HTTP
        self.http2 = 0

    def feed(self, chunks: Iterable[Chunk]) -> None:
        """Learn from these chunks."""
        others = self._others
        for half, _, packet, data in chunks:
            number = half.connection.number
            if data.__class__ is bytes and number in others:
                continue
            if isinstance(data, Close):
                others.discard(number)
                self._end_conversation(number, packet)
            elif isinstance(data, bytes):
                self._feed_bytes(number, half, packet, data)
            elif isinstance(data, Gap) and number in self._conversations:
                self._forget_conversation(number)

    def _feed_bytes(self, number: int, half: Any, packet: int, data: bytes) -> None:
        kept = self._conversations.get(number) or self._begin_conversation(number, half, data)
        if kept is None:
            return
        talk, client = kept
        found = talk.feed_client(data) if half is client else talk.feed_server(data, packet)
        for exchange in found:
            self._learn_from_exchange(exchange, exchange.host or half.connection.first.target)
        if talk.ended:
            self._forget_conversation(number)

    def _begin_conversation(self, number: int, half: Any, data: bytes) -> tuple[HttpConversation, object] | None:
        if not data.startswith(_REQUEST_LINES) or len(self._conversations) >= HTTP_CONNECTIONS_MAX:
            self.http2 += data.startswith(_HTTP2_PREFACE)
            self._others.add(number)
            return None
        from decoders.protocols.read_http_exchanges import HttpConversation

        kept = self._conversations[number] = HttpConversation(), half
        return kept

    def _end_conversation(self, number: int, packet: int) -> None:
        kept = self._conversations.pop(number, None)
        if kept is not None:
            for exchange in kept[0].feed_server(b"", packet):  # a body may end with its connection
                self._learn_from_exchange(exchange, exchange.host or "")

    def _learn_from_exchange(self, exchange: HttpExchange, registry: str) -> None:
        from decoders.messages.registries.learn_apicurio_schemas import ApicurioTraffic
        from decoders.messages.registries.learn_registry_schemas import find_unregistered_id, learn_from_http

        self._apicurio = self._apicurio or ApicurioTraffic(self._learn)
        learn_from_http(exchange, self._learn, registry)
        self._apicurio.learn_from_exchange(exchange, registry)
        schema_id = find_unregistered_id(exchange)
        if schema_id is not None:
            self._note_unregistered(schema_id)

    def _forget_conversation(self, number: int) -> None:
        del self._conversations[number]
        self._others.add(number)
