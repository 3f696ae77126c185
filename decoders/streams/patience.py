"""What time does to connections: holes that nobody fills, resets that nothing follows, silence; and how one ends.

What waits for its own next packet is decided by then as if nobody had looked at it before, and so by its own packets
and the time that has passed: looks in between (`_look`) only give it earlier. A look is at those connections whose time
has come (`waiting.py`), so that the work grows with the packets, not with the connections that wait meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, get_args

from decoders.limits import HELD_MAX, IDLE_NS
from decoders.streams.chunks import Close, How
from decoders.streams.connections import Connections
from decoders.streams.flow import PATIENCE, PATIENCE_NS, TcpConnection
from decoders.streams.giving import Giver
from decoders.streams.waiting import Waiting

__all__ = ["Patience"]

# Connections looked at in one go: time jumps as the capture wants, work does not. While more of them wait, what they
# hold should not be held longer than it must: the next look comes after some packets, not after some seconds.
LOOK_MAX: Final = 256
LOOK_PACKETS: Final = PATIENCE
_CLOSES: Final[dict[How, Close]] = {how: Close(how) for how in get_args(How)}


class Patience:
    """The connections of a capture, and those that wait for something."""

    def __init__(self) -> None:
        self._connections = Connections()
        self._giver = Giver()
        self._waiting = Waiting()  # holding segments, or lacking some
        # After a RST, with its time and packet number; ordered, for those that end are taken from the front.
        self._resets: OrderedDict[TcpConnection, tuple[int, int]] = OrderedDict()
        self._look_ns = 0  # when to look for holes that nobody will fill
        self._look_packet = 0  # at which that was done last

    def _pass(self, connection: TcpConnection, *, idle: bool = False) -> None:
        """What the time that has passed since its latest packet does to a connection.

        Whenever it is looked at, and however often, it is the same by the time its next packet comes.
        """
        giver = self._giver
        time_ns, packet = giver.time_ns, giver.packet
        silent = connection.last_ns < time_ns - IDLE_NS
        idle = idle or silent  # then it is no matter how many packets others have sent
        if connection in self._waiting:
            giver.time_ns, giver.packet = connection.at
            connection.meet(time_ns, packet, idle=idle)
            giver.release(connection)
            self._settle(connection)
            giver.time_ns, giver.packet = time_ns, packet
        while connection in self._waiting:
            since = connection.lapsed(time_ns, packet, idle=idle)
            if since is None or (self._reset_is_due(connection, idle=idle) and self._resets[connection] <= since):
                break
            giver.time_ns, giver.packet = connection.at
            connection.lapse(time_ns, packet, since, idle=idle)
            giver.lose(connection)
            self._settle(connection)
            giver.time_ns, giver.packet = time_ns, packet
        if self._reset_is_due(connection, idle=idle):
            self._close(connection, "rst")
        elif silent and not connection.over:
            self._close(connection, "idle")

    def _reset_is_due(self, connection: TcpConnection, *, idle: bool) -> bool:
        if connection not in self._resets:
            return False
        reset_ns, packet = self._resets[connection]
        passed = abs(self._giver.packet - packet)
        return self._giver.time_ns >= reset_ns + PATIENCE_NS and (idle or passed >= PATIENCE)

    def _settle(self, connection: TcpConnection) -> None:
        """What follows from the state of a connection."""
        if connection.ended:
            self._close(connection, "fin")
            return
        waits = connection.settle()
        if not waits:
            self._waiting.discard(connection)
        elif connection not in self._waiting:
            self._waiting.add(connection)
            for flow in (connection.first, connection.second):
                flow.sure = 0
                flow.remember(self._giver.time_ns, self._giver.packet)
        if not connection.reset:
            self._resets.pop(connection, None)
        elif connection not in self._resets:
            self._resets[connection] = (self._giver.time_ns, self._giver.packet)
        if waits:
            self._waiting.note(connection, self._resets.get(connection))

    def _make_room(self) -> None:
        """Give up what was waited for longest."""
        for connection in list(self._waiting):
            self._giver.flush(connection)
            self._settle(connection)
            if self._giver.held <= HELD_MAX * 9 // 10:
                return

    def _looks(self) -> bool:
        """Whether to look with the packet at hand."""
        if self._giver.time_ns < self._look_ns:
            return False
        return len(self._waiting) <= LOOK_MAX or abs(self._giver.packet - self._look_packet) >= LOOK_PACKETS

    def _look(self, *, idle: bool = False) -> None:
        """Do what the passing of time does; `idle`: it passes without packets."""
        time_ns = self._giver.time_ns
        self._look_packet = self._giver.packet
        if len(self._waiting) <= LOOK_MAX:
            self._look_ns = time_ns + PATIENCE_NS
        for connection in self._waiting.take_due(time_ns, self._resets, LOOK_MAX):
            self._pass(connection, idle=idle)
            if not connection.over:
                connection.park()
        while self._resets:
            connection = next(iter(self._resets))
            if not self._reset_is_due(connection, idle=idle):
                break
            self._pass(connection, idle=idle)

    def _close(self, connection: TcpConnection, how: How) -> None:
        """The end of a connection: what is held comes first."""
        giver = self._giver
        time_ns, packet = giver.time_ns, giver.packet
        giver.time_ns, giver.packet = connection.at
        connection.park()  # from now on `place` alone says how far a direction has come
        giver.flush(connection)
        giver.time_ns, giver.packet = time_ns, packet
        self._waiting.discard(connection)
        self._resets.pop(connection, None)
        if connection.reset:
            how = "rst"
        elif connection.ended or (how == "idle" and (connection.first.ended or connection.second.ended)):
            how = "fin"
        if how != "capture_end":
            time_ns = connection.last_ns
        giver.out.append((connection.first, time_ns, packet, _CLOSES[how]))
        for flow in (connection.first, connection.second):
            giver.forget(flow)
        self._connections.end(connection, remembered=how != "capture_end")
