"""Messages of the data path in, chunks for rows and file out: what is kept of each connection between the two."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from decoders.streams.chunks import Chunk, Close, Connection, Gap, How
from kwcli.proxy.log.rows import Rows
from kwcli.proxy.log.wire import COUNTS, SERVER, SIZE, TIMES, Kind
from kwcli.render.units import amount, counted

if TYPE_CHECKING:
    from kwcli.env import Environment
    from kwcli.proxy.log.plan import Plan
    from kwcli.proxy.log.wire import Message

__all__ = ["Keeping"]


class Keeping:
    """All connections that are open, and where what they carry goes."""

    def __init__(self, env: Environment, plan: Plan) -> None:
        self._env = env
        self._rows = Rows(env, plan)
        self._connections: dict[int, Connection] = {}
        self._count = 0
        self._chunks: list[Chunk] = []
        self._ended: list[int] = []
        self._notes: list[str] = []
        self._dropped = (0, 0, 0)

    @property
    def over(self) -> bool:
        """Whether nobody wants anything any more."""
        return not self._rows.listening

    def take(self, messages: list[Message]) -> None:
        """What came together."""
        connections = self._connections
        chunks = self._chunks
        for kind, number, time_ns, content in messages:
            connection = connections.get(number)
            if connection is None:
                if kind == Kind.OPENED:
                    self._open(number, time_ns, content)
                elif kind == Kind.DROPPED:
                    self._dropped = COUNTS.unpack(content)
                elif kind == Kind.NOTE:
                    self._env.say(f"kw: {content.decode('utf-8', 'replace')}")
            elif kind <= SERVER:
                chunks.append((connection.second if kind else connection.first, time_ns, 0, content))
            elif kind == Kind.UPSTREAM:
                correlation_id, sent_ns, first_ns = TIMES.unpack(content)
                self._rows.upstream(connection.number, correlation_id, (first_ns - sent_ns) / 1e6)
            elif kind in (Kind.GAP, Kind.GAP_SERVER):
                half = connection.second if kind == Kind.GAP_SERVER else connection.first
                chunks.append((half, time_ns, 0, Gap(SIZE.unpack(content)[0], "lost")))
            elif kind == Kind.CLOSED:
                self._close(number, connection, time_ns, content)
        self._settle()

    def finish(self) -> None:
        """The data path has ended."""
        more = []
        if any(self._dropped):
            size, exchanges, connections = self._dropped
            more.append(f"left out because the log was too slow: {amount(size)}, {counted(exchanges, 'answer')}")
            if connections:
                more.append(f"{counted(connections, 'connection')} left out")
        self._rows.finish(more)

    def _open(self, number: int, time_ns: int, content: bytes) -> None:
        client, listener, _upstream = json.loads(content)
        self._count += 1
        connection = self._connections[number] = Connection(self._count, client, listener, time_ns, opened=True)
        self._rows.opened(connection)

    def _close(self, number: int, connection: Connection, time_ns: int, content: bytes) -> None:
        how: How = "rst" if content == b"rst" else "fin"
        self._chunks.append((connection.first, time_ns, 0, Close(how)))
        del self._connections[number]
        self._ended.append(connection.number)

    def _settle(self) -> None:
        if self._chunks:
            self._rows.take(self._chunks)
            self._chunks = []
        for number in self._ended:
            self._rows.closed(number)
        self._ended = []
