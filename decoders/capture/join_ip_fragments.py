"""IP fragments in, the payload of the whole packet out once every fragment of it has been seen.

The first copy of a fragment counts; a packet whose fragments overlap otherwise, or were cut by snaplen, is given up
(RFC 5722), and so is the oldest one when too many wait.
"""

from __future__ import annotations

from decoders.errors import Malformed
from decoders.limits import FRAGMENTED_MAX
from decoders.wire.state_serialization import state_fields

# Largest payload that fragment offsets can describe (RFC 791).
_SIZE_MAX = 65_535


class _FragmentedPacket:
    __slots__ = ("end", "have", "number", "parts", "protocol")

    def __init__(self, number: int) -> None:
        self.number = number  # in order of appearance
        self.parts: dict[int, bytes] = {}
        self.have = 0
        self.end = -1  # known once the last fragment was seen
        self.protocol = -1  # known once the first fragment was seen


class Fragments:
    """IP packets seen in fragments: `begun` counts all of them, `given_up` those that will never be whole."""

    def __init__(self) -> None:
        self.begun = 0
        self.given_up = 0
        self._open: dict[bytes, _FragmentedPacket] = {}

    def add_fragment(
        self, name: bytes, at: int, more: bool, protocol: int, data: bytes | None
    ) -> tuple[int, bytes] | None:
        """Add a fragment of the IP packet `name`, at byte `at` of its payload; `data` is None where it was cut.

        Gives (protocol, payload) when the packet is whole with this fragment.
        """
        packet = self._open.get(name)
        if packet is None:
            if len(self._open) >= FRAGMENTED_MAX:
                self._give_up_packet(next(iter(self._open)))
            packet = self._open[name] = _FragmentedPacket(self.begun)
            self.begun += 1
        if data is None or at + len(data) > _SIZE_MAX or (more and not data):
            return self._give_up_packet(name)
        if at in packet.parts:
            return None if len(packet.parts[at]) == len(data) else self._give_up_packet(name)
        packet.parts[at] = data
        packet.have += len(data)
        if not more:
            packet.end = at + len(data)
        if at == 0:
            packet.protocol = protocol
        if packet.end < 0 or packet.protocol < 0 or packet.have < packet.end:
            return None
        del self._open[name]
        place = 0
        for start, part in sorted(packet.parts.items()):
            if start != place:
                self.given_up += 1
                return None
            place += len(part)
        return packet.protocol, b"".join(part for _, part in sorted(packet.parts.items()))

    def finish(self, since_number: int = 0, until_number: int | None = None) -> None:
        """Give up waiting packets, as no fragment follows; of a part of a file, those with numbers in this range."""
        self.given_up += sum(
            since_number <= packet.number and (until_number is None or packet.number < until_number)
            for packet in self._open.values()
        )
        self._open.clear()

    def _give_up_packet(self, name: bytes) -> tuple[int, bytes] | None:
        del self._open[name]
        self.given_up += 1
        return None

    def export(self) -> object:
        """The state as built-in values, for `resume`."""
        return [
            self.begun,
            self.given_up,
            [[name, packet.number, packet.parts, packet.end, packet.protocol] for name, packet in self._open.items()],
        ]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        self.begun, self.given_up, packets = state_fields(state, int, int, list)
        self._open.clear()
        for row in packets:
            name, number, parts, end, protocol = state_fields(row, bytes, int, dict, int, int)
            if not all(isinstance(at, int) and isinstance(part, bytes) for at, part in parts.items()):
                raise Malformed("a saved fragment is none")
            packet = self._open[name] = _FragmentedPacket(number)
            packet.parts, packet.end, packet.protocol = parts, end, protocol
            packet.have = sum(map(len, parts.values()))
