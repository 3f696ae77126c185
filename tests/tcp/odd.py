"""Odd TCP connections by seed: segments to cut anywhere.

Resets with any number (a FIN's own as well), both sides closing at once, ports taken again with and without a SYN,
bytes that were not captured, copies, segments from long ago, keep-alives and probes of a closed window, numbers that
jump, snapshot lengths, pauses, an endpoint that talks to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from decoders.tcp.connection_and_halves import reverse_key
from decoders.tcp.stream_chunks import Segment
from tests.tcp.conversations import ACK, CLIENT, FIN, MS, RST, SYN

FAR: Final = 1 << 28
S: Final = 10**9
# Another connection of the same hosts, one of IPv6, and an endpoint that talks to itself.
OTHER: Final = CLIENT[:9] + b"\x51" + CLIENT[10:]
IPV6: Final = bytes(15) + b"\1" + bytes(15) + b"\2" + CLIENT[-4:]
ITSELF: Final = CLIENT[:4] + CLIENT[:4] + CLIENT[-2:] * 2
KEYS: Final = (CLIENT, CLIENT, CLIENT, OTHER, IPV6, ITSELF)
PAUSES: Final = (1, 1000, MS, MS, MS, 100 * MS, S, 4 * S, 130 * S, 4000 * S, 12_000 * S)
# The distance from the number that is due, for resets and for whatever begins.
STEPS: Final = (0, 0, 0, -1, 1, 7, -7, FAR - 1, 1 - FAR, FAR, 3 << 27, -(3 << 27), 1 << 31)

Say = Callable[[bool, int], bytes]  # (from the client, size) → the next bytes of that direction


class Speaker:
    """One side: `due` is the number of the byte that it sends next, `told` the number that it acknowledges."""

    def __init__(self, key: bytes, due: int) -> None:
        self.key = key
        self.due = due
        self.told = 0
        self.begun = due
        self.kept = b""  # the bytes from `begun` on, as far as they are known


class Odd:
    """Makes one connection after the other on the same ports, a segment at a time."""

    def __init__(self, rng: Random, key: bytes, say: Say) -> None:
        self.rng = rng
        self.say = say
        self.key = key
        self.out: list[Segment] = []
        self.time_ns = S
        self.connect()

    def connect(self) -> None:
        """Begin a connection, with a random sequence number on each side."""
        starts = [self.rng.choice([0, 1, 100, 2**31 - 5, 2**32 - 1, 2**32 - 30, FAR]) for _ in range(2)]
        client, broker = Speaker(self.key, starts[0]), Speaker(reverse_key(self.key), starts[1])
        client.told, broker.told = broker.due, client.due
        self.sides = (client, broker)
        self.shake(self.rng.choice([0, 0, 1, 2, 3]))

    def shake(self, missing: int) -> None:
        """The handshake, with `missing` of its segments not captured."""
        client, broker = self.sides
        begun = len(self.out)
        self.emit(client, SYN, due=client.due)
        client.due += 1
        broker.told = client.due
        self.emit(broker, SYN | ACK, due=broker.due)
        broker.due += 1
        client.told = broker.due
        self.emit(client, ACK)
        del self.out[begun : begun + missing]
        for side in self.sides:
            side.begun = side.due

    def emit(self, side: Speaker, flags: int, data: bytes = b"", cut: int = 0, due: int | None = None) -> None:
        """Put one segment into the capture."""
        seq = (side.due if due is None else due) % 2**32
        ack = side.told % 2**32 if flags & ACK else 0
        self.out.append((side.key, self.time_ns, 0, seq, ack, flags, data, cut))

    def step(self) -> None:
        """Do something at random on one side."""
        self.time_ns += self.rng.choice(PAUSES[:5]) if self.rng.random() < 0.8 else self.rng.choice(PAUSES)
        which = self.rng.randrange(2)
        side, peer = self.sides[which], self.sides[1 - which]
        if self.rng.random() < 0.6:
            side.told = peer.due
        self.rng.choice(DOINGS)(self, side, peer)

    def speak(self, side: Speaker, peer: Speaker) -> None:
        """Send bytes that are captured, or not, or only in part."""
        del peer
        data = self.say(side is self.sides[0], self.rng.choice([1, 2, 5, 30]))
        missing, rest = self.rng.random() < 0.2, self.rng.choice([0, 0, 0, 0, min(3, len(data))])
        if not missing:
            flags = ACK | (FIN if self.rng.random() < 0.05 else 0)
            self.emit(side, flags, data[: len(data) - rest], rest)
            side.due += flags & FIN
        side.kept += data
        side.due += len(data)

    def acknowledge(self, side: Speaker, peer: Speaker) -> None:
        """Send an acknowledgement without bytes, of a number that may be wrong."""
        side.told = peer.due + self.rng.choice([0, 0, 0, 0, 1, 10, FAR - 1, FAR])
        self.emit(side, ACK)
        side.told = peer.due

    def end(self, side: Speaker, peer: Speaker) -> None:
        """Send a FIN, maybe on both sides at once, maybe with bytes, maybe not captured."""
        both = [side, peer] if self.rng.random() < 0.4 else [side]
        for each in both:
            data = self.say(each is self.sides[0], 3) if self.rng.random() < 0.3 else b""
            if self.rng.random() < 0.85:
                self.emit(each, FIN | ACK, data)
            each.kept += data
            each.due += len(data) + 1

    def reset(self, side: Speaker, peer: Speaker) -> None:
        """Send a RST, with a number and flags as systems have them, or others."""
        del peer
        flags = RST | self.rng.choice([0, ACK, ACK, ACK | FIN])
        self.emit(side, flags, self.rng.choice([b"", b"", b"no"]), due=side.due + self.rng.choice(STEPS))

    def repeat(self, side: Speaker, peer: Speaker) -> None:
        """Repeat a segment, sent lately or long ago."""
        del side, peer
        if self.out:
            key, _, *rest = self.rng.choice(self.out[-self.rng.choice([1, 5, 60]) :])
            self.out.append((key, self.time_ns, *rest))  # type: ignore[arg-type]  # the rest of a segment

    def send_again(self, side: Speaker, peer: Speaker) -> None:
        """Send bytes again, cut elsewhere, with or without new ones behind them."""
        del peer
        back = self.rng.choice([1, 4, 20, 200])
        again = side.kept[-back:]
        data = again + (self.say(side is self.sides[0], 4) if self.rng.random() < 0.5 else b"")
        self.emit(side, ACK, data, due=side.due - len(again))
        side.kept += data[len(again) :]
        side.due += len(data) - len(again)

    def probe(self, side: Speaker, peer: Speaker) -> None:
        """Send a keep-alive, or a probe of a closed window."""
        del peer
        data = self.rng.choice([b"", b"", b"?"])
        self.emit(side, ACK, data, due=side.due + self.rng.choice([-1, -1, 0]))

    def take_ports(self, side: Speaker, peer: Speaker) -> None:
        """Begin another connection on the same ports."""
        del side, peer
        self.connect()

    def begin_again(self, side: Speaker, peer: Speaker) -> None:
        """Send a SYN, with a number of this connection or of none."""
        del peer
        due = side.begun - 1 + self.rng.choice([0, 0, -5, 5, 1 << 23, -(1 << 23), 1 << 25, 1 << 31])
        self.emit(side, SYN | self.rng.choice([0, ACK]), due=due)

    def jump(self, side: Speaker, peer: Speaker) -> None:
        """Let the sequence numbers jump."""
        del peer
        side.due += self.rng.choice([100_000, FAR - 1, 1 - FAR, FAR, 2 * FAR, 3 << 27, 1 << 31])
        side.kept = b""

    def do_anything(self, side: Speaker, peer: Speaker) -> None:
        """Send any flags and numbers."""
        del peer
        data = self.rng.randbytes(self.rng.choice([0, 0, 1, 3]))
        due = side.due + self.rng.choice(STEPS)
        self.emit(side, self.rng.randrange(256), data, self.rng.choice([0, 0, 3]), due=due)


DOINGS: Final = (
    *(Odd.speak,) * 10,
    *(Odd.acknowledge,) * 3,
    *(Odd.end,) * 3,
    *(Odd.reset,) * 2,
    *(Odd.repeat, Odd.send_again, Odd.probe, Odd.take_ports, Odd.begin_again, Odd.jump, Odd.do_anything),
)


def odd_segments(rng: Random, count: int, say: Say | None = None, keys: tuple[bytes, ...] = KEYS) -> list[Segment]:
    """About `count` segments of one connection, or of two side by side, with packet numbers."""
    speak = say or (lambda _, size: rng.randbytes(size))
    lines = [Odd(rng, key, speak) for key in rng.sample(sorted(set(keys)), min(rng.choice([1, 1, 2]), len(set(keys))))]
    while sum(len(line.out) for line in lines) < count:
        line = rng.choice(lines)
        line.time_ns = max(line.time_ns, max(each.time_ns for each in lines))
        line.step()
    every = sorted((segment for line in lines for segment in line.out), key=lambda segment: segment[1])
    every = every[rng.choice([0, 0, 0, 3, 5]) :]
    return [(segment[0], segment[1], number, *segment[3:]) for number, segment in enumerate(every, 1)]
