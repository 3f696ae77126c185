"""A connection that is over in, what is to be said of it as a whole out: how it ended, who spoke, what lacks."""

from __future__ import annotations

from typing import Final, Literal

from decoders.errors import Malformed
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, Seen, Skipped
from decoders.streams.chunks import Connection, Half, How

__all__ = ["Ended", "Row"]


class Ended(Seen):
    """One connection at its end, Kafka or not. `time_ns` is its first packet's time: with the ends its identity.

    `kafka` says whether it showed to be Kafka; where it did not, `reason` (`tls`, `not_kafka`) and `detail` are those
    of its Skipped, empty where no byte came. `opened`: its SYN came before its bytes. `exchanges` counts those that
    were settled of it. Each direction (the client is who opened it, where it is no Kafka) has the packets and bytes of
    its stream, those of gaps included, its gaps and their bytes, and the segments sent again.
    """

    __slots__ = (
        *("client_again", "client_bytes", "client_gaps", "client_id", "client_missing", "client_packets"),
        *("client_software", "detail", "ends", "exchanges", "how", "kafka", "last_ns", "opened", "reason"),
        *("server_again", "server_bytes", "server_gaps", "server_missing", "server_packets", "time_ns"),
    )

    kind: Literal["connection"] = "connection"

    def __init__(self, ends: ConnectionInfo, connection: Connection, client: Half, how: How) -> None:
        server = client.peer
        self.ends = ends
        self.how: How = how
        self.time_ns = ends.began_ns
        self.last_ns = max(client.last_ns, server.last_ns)
        self.opened = connection.opened
        self.kafka = False
        self.reason = ""
        self.detail = ""
        self.client_id: str | None = None  # of the latest request
        self.client_software: ClientSoftware | None = None
        self.exchanges = 0
        self.client_packets, self.server_packets = client.packets, server.packets
        self.client_bytes, self.server_bytes = client.size, server.size
        self.client_gaps, self.server_gaps = client.gaps, server.gaps
        self.client_missing, self.server_missing = client.missing, server.missing
        self.client_again, self.server_again = client.again, server.again

    def export(self) -> list[object]:
        """All but its ends, as built-in values."""
        return [getattr(self, name) for name in _SAID]

    @classmethod
    def resumed(cls, ends: ConnectionInfo, state: object) -> Ended:
        """The end of this connection, of which `export` gave the rest. Raises DecodeError when it is something else."""
        if not isinstance(state, list) or len(state) != len(_SAID):
            raise Malformed("no end of a connection")
        ended = cls.__new__(cls)
        ended.ends = ends
        for name, value in zip(_SAID, state, strict=True):
            setattr(ended, name, value)
        return ended


_SAID: Final = tuple(name for name in Ended.__slots__ if name != "ends")
# What comes of an engine that gives connections too.
Row = Exchange | Skipped | Ended
