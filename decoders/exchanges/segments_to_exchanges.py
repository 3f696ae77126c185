"""TCP segments in, settled exchanges and skipped runs out: all stages put together."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.errors import Malformed
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Settled, Summary
from decoders.exchanges.topic_and_node_names import TOPICS_MAX
from decoders.frames.read_and_judge_headers import may_begin_frame
from decoders.mypyc_modules import mypyc_attr
from decoders.tcp.connection_and_halves import NOT_TLS, format_endpoints
from decoders.tcp.find_connections_captured_twice import ConnectionCopies
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Close, Segment
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.capture.segments_of_cut_out_packets import TopicName
    from decoders.tls.decrypt_chunks import Decryption
    from decoders.tls.key_log import KeyLog

_UUID_SIZE: Final = 16


@mypyc_attr(allow_interpreted_subclasses=True)
class Engine:
    """All stages for one capture: TCP segments in, settled exchanges and skipped runs out.

    With `ports`, connections to these and no others are taken for Kafka, without a look at their bytes. `needs`: the
    fields that `Exchange.view` holds. TLS is decrypted as far as `keys` go, to which keys may be added meanwhile. With
    `connections`, each connection gives one `Ended` at its end, after everything settled of it.
    """

    def __init__(
        self,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        connections: bool = False,
        keys: KeyLog | None = None,
    ) -> None:
        self.reassembly = Reassembly()
        self._keys = keys
        self._decryption: Decryption | None = None
        self.pairer = Pairer(ports, needs, connections=connections)
        self.pairer.context.awake = deque()
        # Is given the chunks of all connections, decrypted, where another stage reads them as well.
        self.on_chunks: Callable[[list[Chunk]], object] | None = None
        self._names: list[TopicName] = []  # names of topics to learn at a time, the earliest first
        self._chosen: dict[tuple[str, str], set[int]] = {}  # client and broker → places of the chosen exchanges

    @property
    def decryption(self) -> Decryption:
        """The stage that decrypts TLS; it is made when a connection may need it, which is never in most captures."""
        if self._decryption is None:
            from decoders.tls.decrypt_chunks import Decryption

            self._decryption = Decryption(self._keys)
        return self._decryption

    @property
    def summary(self) -> Summary:
        """The counts so far."""
        return self.pairer.summary

    def enable_guessing_of_requests(self) -> None:
        """Guess the API version of responses without requests, where only one version fits
        (guess_request_of_response.py).

        Connections with only responses in the capture then give exchanges. To be called before the first `feed`, and
        after `resume`: the setting is no part of the state.
        """
        self.pairer.context.guesses = True

    def enable_rows_of_ended_connections(self) -> None:
        """Give an `Ended` for each connection, and the owners of delegation tokens as well.

        To be called before the first `feed`, and after `resume`: the setting is no part of the state.
        """
        self.pairer.context.connections = True

    def enable_leaving_out_of_copies(self) -> None:
        """Leave out connections that the capture has twice, under other addresses (find_connections_captured_twice.py).

        To be called before the first `feed`, and before `resume`: the setting is no part of the state.
        """
        self.pairer.context.copies = ConnectionCopies()

    def feed(self, segments: list[Segment], now_ns: int = 0) -> list[Settled]:
        """The exchanges and skipped runs that settle with these segments."""
        if self._names:
            return self._feed_learning_names_in_time(segments, now_ns)
        return self._feed_segments(segments, now_ns)

    def _feed_segments(self, segments: list[Segment], now_ns: int) -> list[Settled]:
        chunks = self._decrypt_chunks(self.reassembly.feed(segments, now_ns), now_ns)
        if self.on_chunks is not None:
            self.on_chunks(chunks)
        settled = self.pairer.feed(chunks, now_ns)
        self.pairer.context.drop_state_of_idle_pairings()
        return self._select_chosen_rows(settled) if self._chosen else settled

    def accept_broker(self, broker: str) -> None:
        """Take connections to this host:port for Kafka without a look; a note in a cut-out capture says so."""
        self.pairer.context.brokers.setdefault(broker, 0)

    def add_topic_name(self, topic: TopicName) -> None:
        """Learn a topic's name when its time has come; a note in a cut-out capture gives it."""
        if len(self._names) < TOPICS_MAX:
            insort(self._names, topic)

    def _feed_learning_names_in_time(self, segments: list[Segment], now_ns: int) -> list[Settled]:
        """The exchanges and skipped runs that settle with these segments, each topic name learnt at its time."""
        topics, settled = self.pairer.context.topics, []
        for segment in segments:
            if self._names and segment[1] >= self._names[0].since_ns:
                break
        else:
            return self._feed_segments(segments, now_ns)
        at = 0
        for place, segment in enumerate(segments):
            while self._names and segment[1] >= self._names[0].since_ns:
                settled += self._feed_segments(segments[at:place], now_ns)
                at = place
                topic = self._names.pop(0)
                if topic.identity not in topics.names and len(topics.names) < TOPICS_MAX:
                    topics.add(topic.identity, topic.name)
        return settled + self._feed_segments(segments[at:], now_ns)

    def restrict_to_exchanges_at(self, client_key: bytes, request_places: Iterable[int]) -> None:
        """Give only those exchanges of a connection whose request begins at one of these places of the client's stream.

        `client_key` is the connection's, as its client sends. The places of several calls add up; a note in a cut-out
        capture names a place before the request comes.
        """
        client, broker = format_endpoints(client_key)
        self._chosen.setdefault((client, broker), set()).update(request_places)

    def _select_chosen_rows(self, settled: list[Any]) -> list[Settled]:
        """The settled rows, ends of connections too, without exchanges not chosen and skipped runs between them."""
        out: list[Settled] = []
        for row in settled:
            places = self._chosen.get((row.connection_info.sender, row.broker))
            if places is None or (row.kind == "exchange" and (row.is_orphan or row.place in places)):
                out.append(row)
        return out

    def _decrypt_chunks(self, chunks: list[Chunk], now_ns: int = 0) -> list[Chunk]:
        """The chunks, with TLS decrypted."""
        if chunks:
            self.pairer.note_chunk_times(chunks)
        if self._decryption is None and _mark_connections_without_tls(chunks):
            return chunks
        return self.decryption.feed(chunks, now_ns)

    def export(self) -> bytes:
        """The engine's state between two feeds, for `resume`."""
        from decoders.exchanges.serialize_pairer_state import export_context

        names = [(topic.since_ns, topic.identity.bytes, topic.name) for topic in self._names]
        chosen = [(client, broker, sorted(places)) for (client, broker), places in self._chosen.items()]
        pairer = export_context(self.pairer.context)
        return pack([self.reassembly.export(), pairer, self.decryption.export(), names, chosen])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave, maybe in another process. Raises DecodeError for anything else."""
        from decoders.exchanges.serialize_pairer_state import resume_context

        reassembly, pairer, decryption, names, chosen = state_fields(unpack(state), bytes, bytes, bytes, list, list)
        self.reassembly.resume(reassembly)
        self.decryption.resume(decryption, self.reassembly.connections())
        resume_context(self.pairer.context, pairer, self.reassembly.connections())
        if names or chosen:
            self._resume_names_and_chosen(names, chosen)

    def _resume_names_and_chosen(self, names: list[Any], chosen: list[Any]) -> None:
        """Restore the topic names and chosen exchanges that notes in a cut-out capture had given."""
        from decoders.capture.segments_of_cut_out_packets import TopicName

        for each in names:
            since_ns, identity, name = state_fields(each, int, bytes, str)
            if len(identity) != _UUID_SIZE:
                raise Malformed("a topic's id in a saved engine that cannot be one")
            self.add_topic_name(TopicName(since_ns, UUID(bytes=identity), name))
        for each in chosen:
            client, broker, places = state_fields(each, str, str, list)
            if not all(isinstance(place, int) for place in places):
                raise Malformed("a chosen exchange in a saved engine that cannot be one")
            self._chosen[client, broker] = set(places)

    def finish(self) -> list[Settled]:
        """The exchanges and skipped runs that the end of the capture settles."""
        chunks = self._decrypt_chunks(self.reassembly.finish())
        if self._decryption is not None:
            chunks = [*chunks, *self._decryption.finish()]
        if self.on_chunks is not None:
            self.on_chunks(chunks)
        settled = self.pairer.feed(chunks) + self.pairer.finish()
        return self._select_chosen_rows(settled) if self._chosen else settled


def _mark_connections_without_tls(chunks: Iterable[Chunk]) -> bool:
    """Mark connections that begin as Kafka's do as not TLS; False once one of these chunks may be of TLS."""
    for half, _, _, data in chunks:
        connection = half.connection
        if connection.tls is NOT_TLS or isinstance(data, Close):
            continue
        if connection.tls is not None or not (connection.opened and isinstance(data, bytes) and may_begin_frame(data)):
            return False
        connection.tls = NOT_TLS
    return True
