"""Captures made at random: every format, both byte orders, several clocks, and packets of many kinds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from random import Random
from struct import pack

from tests.capture.blocks import block, enhanced, interface, obsolete, section, simple, statistics
from tests.capture.frames import ACK, ethernet, ipv4, ipv6, tcp
from tests.capture.pcap_writer import PcapWriter

__all__ = ["SECOND_NS", "capture", "damaged", "frames", "pcap", "pcapng"]

SECOND_NS = 10**9
_WIRE = Callable[[], int]


def frames(random: Random, count: int, *, fragments: bool = True) -> Iterator[tuple[bytes, int]]:
    """Ethernet frames, cut as by a snaplen, each with its size on the wire."""
    numbers = itertools.count(random.randrange(60_000))
    waiting: list[bytes] = []
    for _ in range(count):
        if waiting and random.random() < 0.6:
            frame = waiting.pop(0)
        else:
            frame = _frame(random, numbers, waiting, fragments=fragments)
        kept = frame[: random.choice([2000, 2000, 2000, 60])] + random.choice([b"", b"", bytes(6)])
        yield kept, max(len(frame), len(kept))


def _frame(random: Random, numbers: Iterator[int], waiting: list[bytes], *, fragments: bool) -> bytes:
    """A frame; if it is a fragment, its other fragments are put into `waiting`."""
    flow = (40_000 + random.randrange(3), 9092, random.randrange(2**32), 9, ACK)
    segment = tcp(*flow, random.randbytes(random.choice([0, 5, 80, 700])), random.choice([b"", bytes(12)]))
    kind = random.random()
    if kind < 0.6:
        return ethernet(ipv4("10.0.0.1", "10.0.0.2", segment))
    if kind < 0.75:
        return ethernet(ipv6("::1", "::2", segment), 0x86DD)
    if kind < 0.8:
        return ethernet(ipv4("10.0.0.1", "10.0.0.2", segment, protocol=17))
    if kind < 0.85 or not fragments:
        return random.randbytes(random.choice([0, 3, 60]))
    data = segment + bytes(-len(segment) % 8) + random.randbytes(24)
    ident = next(numbers)
    cut = random.choice([8, 16])
    parts = [
        ethernet(ipv4("10.0.0.1", "10.0.0.2", data[:cut], fragment=0x2000, ident=ident)),
        ethernet(ipv4("10.0.0.1", "10.0.0.2", data[cut:24], fragment=0x2000 | cut // 8, ident=ident)),
        ethernet(ipv4("10.0.0.1", "10.0.0.2", data[24:], fragment=3, ident=ident)),
    ]
    if cut == 24:
        del parts[1]
    random.shuffle(parts)
    waiting += parts[1 : random.choice([3, 3, 3, 2])]
    return parts[0]


def times(random: Random, begin_ns: int) -> Iterator[int]:
    """Rising times, with a step back now and then."""
    now = begin_ns
    while True:
        now += random.choice([0, 1000, 1000, 1_000_000, -3000, 700_000_000])
        yield max(now, begin_ns)


def pcap(random: Random, count: int, begin_ns: int, *, fragments: bool = True) -> bytes:
    """Classic pcap in one of its forms."""
    writer = PcapWriter(1, order=random.choice("<>"), nanoseconds=random.random() < 0.5)
    out = [writer.make_file_header()]
    clock = times(random, begin_ns)
    out += [writer.make_packet_block(next(clock), *frame) for frame in frames(random, count, fragments=fragments)]
    return b"".join(out)


def pcapng(random: Random, count: int, begin_ns: int, *, fragments: bool = True) -> bytes:
    """Sections of interfaces with different clocks, packets in blocks of every kind, and blocks of other kinds."""
    out: list[bytes] = []
    clock = times(random, begin_ns)
    order, ticks = _section(random, out)
    for data, wire in frames(random, count, fragments=fragments):
        kind = random.random()
        if kind < 0.01:
            order, ticks = _section(random, out)
        elif kind < 0.03:
            out.append(statistics(order, 0, 9, random.randrange(4), random.randrange(4)))
        elif kind < 0.05:
            out.append(block(order, random.choice([4, 0x80000BAD]), random.randbytes(random.choice([4, 400]))))
        number = random.choice([0, 0, 0, random.randrange(len(ticks))])
        tick = next(clock) // ticks[number]
        kind = random.random()
        if kind < 0.85:
            out.append(enhanced(order, number, tick, data, wire))
        elif kind < 0.95:
            out.append(enhanced(order, number, tick, data, wire, rows=((1, b"a comment"),)))
        elif kind < 0.97:
            out.append(obsolete(order, number, tick, data))
        else:
            out.append(simple(order, data))
    return b"".join(out)


def _section(random: Random, out: list[bytes]) -> tuple[str, list[int]]:
    """Begin a section; gives its byte order and the nanoseconds in a tick of each interface's clock."""
    order = random.choice("<>")
    powers = [random.choice([6, 9, 9, 3]) for _ in range(random.choice([1, 1, 3]))]
    out.append(section(order, random.choice([(), ((4, b"some program"),)])))
    out += [interface(order, 1, rows=((9, bytes([power])),)) for power in powers]
    return order, [10 ** (9 - power) for power in powers]


def capture(random: Random, count: int, begin_ns: int = 1_700_000_000 * SECOND_NS, *, fragments: bool = True) -> bytes:
    """A capture of `count` packets, in a random format."""
    return random.choice([pcap, pcapng])(random, count, begin_ns, fragments=fragments)


def damaged(random: Random, data: bytes) -> bytes:
    """The data with some bits wrong, or cut, or both, or unchanged."""
    for _ in range(random.choice([0, 1, 3])):
        at = random.randrange(len(data))
        wrong = random.choice([b"\0", b"\xff", bytes([data[at] ^ 1 << random.randrange(8)]), pack(">I", 2**31)])
        data = data[:at] + wrong + data[at + len(wrong) :]
    return data[: random.choice([len(data), random.randint(0, len(data))])]
