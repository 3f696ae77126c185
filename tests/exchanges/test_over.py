"""Connections that are over leave nothing in memory but what marks late packets, without garbage collection."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from decoders import encode_request, encode_response
from decoders.exchanges import chunks_to_exchanges
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp import connection_table
from decoders.tcp.connection_and_halves import Connection, reverse_key
from decoders.tcp.reassembly import ACK, FIN, RST, SYN
from decoders.tcp.stream_chunks import Segment

SECOND = 10**9
BROKER = bytes([10, 9, 9, 9])


def framed(data: bytes) -> bytes:
    """A frame with its size."""
    return len(data).to_bytes(4, "big") + data


REQUEST = framed(encode_request(3, 12, {}, correlation_id=7, client_id="app"))
RESPONSE = framed(encode_response(3, 12, {}, correlation_id=7))
FOREIGN = b"*1\r\n$4\r\nPING\r\n"
# The end of a connection: flags of the client's last packet, and of the broker's.
ENDS = {"fin": (FIN | ACK, FIN | ACK), "rst": (RST | ACK, 0), "idle": (0, 0), "half": (FIN | ACK, 0)}


def conversation(number: int, how: str, asked: bytes, answered: bytes, packet: int, time_ns: int) -> list[Segment]:
    """One connection with one request and its answer."""
    to = (
        bytes([10, 1, number >> 8, 1])
        + BROKER
        + (40_000 + (number & 255)).to_bytes(2, "big")
        + (9092).to_bytes(2, "big")
    )
    back = reverse_key(to)
    begin, other = 1000 + number, 5000 + number
    behind, after = begin + 1 + len(asked), other + 1 + len(answered)
    rows = [
        (to, begin, 0, SYN, b""),
        (back, other, begin + 1, SYN | ACK, b""),
        (to, begin + 1, other + 1, ACK, asked),
        (back, other + 1, behind, ACK, answered),
        (to, behind, after, ENDS[how][0], b""),
        (back, after, behind + 1, ENDS[how][1], b""),
    ]
    return [
        (key, time_ns + at * 1000, packet + at, seq, ack, flags, data, 0)
        for at, (key, seq, ack, flags, data) in enumerate(rows)
        if flags
    ]


@pytest.fixture(autouse=True)
def without_gc() -> Iterator[None]:
    """Disable garbage collection, so that cycles stay in memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def fed(engine: Engine, how: str, count: int, begin: int, asked: bytes, answered: bytes) -> None:
    """Feed `count` connections, a tenth of a second apart (a second if they end by RST)."""
    for number in range(begin, begin + count):
        step = SECOND if how == "rst" else SECOND // 10
        engine.feed(conversation(number, how, asked, answered, 1 + 6 * number, SECOND + number * step))


def count_connections() -> int:
    """The number of connection objects in this process, other tests included."""
    return sum(isinstance(one, Connection) for one in gc.get_objects())


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(("asked", "answered"), [(REQUEST, RESPONSE), (FOREIGN, FOREIGN), (b"", b"")])
@pytest.mark.parametrize("how", ["fin", pytest.param("rst", marks=pytest.mark.long)])
@pytest.mark.parametrize("connections_too", [pytest.param(False, marks=pytest.mark.full), True])
def test_a_connection_that_is_over_is_gone(how: str, asked: bytes, answered: bytes, connections_too: bool) -> None:
    before = count_connections()
    engine = Engine(connections=connections_too)
    fed(engine, how, 400, 0, asked, answered)
    alive = count_connections() - before
    # Some seconds and packets pass until a RST is known to be real.
    assert alive == len(engine.reassembly.connections())
    assert alive < 20
    assert engine.summary.exchanges == (400 if asked == REQUEST else 0)


@pytest.mark.long
@pytest.mark.parametrize("how", ["fin", pytest.param("rst", marks=pytest.mark.long)])
def test_what_stays_of_a_connection_is_small(how: str) -> None:
    engine = Engine()
    fed(engine, how, 500, 0, REQUEST, RESPONSE)
    tracemalloc.start()
    fed(engine, how, 2000, 500, REQUEST, RESPONSE)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / 2000 < 1000


@pytest.mark.long
@pytest.mark.parametrize("how", [pytest.param("idle", marks=pytest.mark.long), "half"])
def test_a_connection_that_says_nothing_is_small(how: str) -> None:
    engine = Engine()
    # The newest 1,500 connections are not at rest, however long they are silent: the measurement begins behind them.
    fed(engine, how, 1500, 0, REQUEST, RESPONSE)
    tracemalloc.start()
    fed(engine, how, 4000, 1500, REQUEST, RESPONSE)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(engine.reassembly.connections()) == 5500
    assert sum(pairing.resting for pairing in engine.pairer.context.pairings.values()) > 4000
    assert held / 4000 < 2200


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_connection_at_rest_goes_on(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    rested, awake = Engine(), Engine()
    awake.pairer.context.awake = None
    monkeypatch.setattr(chunks_to_exchanges, "AWAKE_MIN", 0)
    given: list[list[tuple[object, ...]]] = [[], []]
    for step in range(3):
        later = 600 * SECOND * step
        for number in range(120):
            rows = conversation(number, "idle", REQUEST, RESPONSE, 1 + 6 * number, SECOND + number * SECOND)
            packet = 1000 * step
            rows = [moved(row, step, later, packet) for row in rows[2 * (step > 0) :]]
            for engine, its in zip((rested, awake), given, strict=True):
                its += [told(row) for row in engine.feed(rows)]
        pairings = rested.pairer.context.pairings.values()
        assert sum(pairing.resting for pairing in pairings) > (40 if step == 0 else 0)
        if step == cut:
            other = Engine()
            other.resume(rested.export())
            assert sum(pairing.resting for pairing in pairings) > (40 if step == 0 else 0)
            rested = other
    for engine, its in zip((rested, awake), given, strict=True):
        its += [told(row) for row in engine.finish()]
    assert given[0] == given[1]
    assert len(given[0]) == 360


def moved(segment: Segment, step: int, later_ns: int, packets: int) -> Segment:
    """A segment as it comes `step` exchanges later."""
    key, time_ns, packet, seq, ack, flags, data, cut = segment
    mine, other = len(REQUEST), len(RESPONSE)
    if key[:4] == BROKER:
        mine, other = other, mine
    return key, time_ns + later_ns, packet + packets, seq + step * mine, ack + step * other, flags, data, cut


def told(row: Settled) -> tuple[object, ...]:
    """The known facts of an exchange."""
    assert isinstance(row, Exchange)
    return (
        row.connection,
        row.client,
        row.broker,
        row.client_id,
        row.outcome,
        row.correlation_id,
        row.place,
        row.time_ns,
    )


@pytest.mark.plain
def test_connections_given_up_at_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_table, "CONNECTIONS_MAX", 100)
    monkeypatch.setattr(connection_table, "SWEEP_MIN", 100)
    engine = Engine()
    engine.reassembly._connections._sweep_at = 100
    fed(engine, "idle", 100, 0, REQUEST, RESPONSE)
    assert engine.reassembly.counts["surplus"] == 0
    fed(engine, "idle", 1, 100, REQUEST, RESPONSE)
    assert engine.reassembly.counts["surplus"] == 10
    assert len(engine.reassembly.connections()) == 91
    assert engine.summary.exchanges == 101
