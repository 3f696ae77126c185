"""A connection that a capture has twice under other addresses counts once; two that are alike count twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import pytest

from decoders import read_exchanges
from decoders.exchanges.exchange import Ended, Exchange, Row, Settled, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from decoders.wire.state_serialization import pack, unpack
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.exchanges.prefixes import kafka
from tests.exchanges.talks import segments
from tests.tls.wrapping import pcapng_of

US: Final = 1000
# The client before the translation, the broker behind another one.
POD, POD_BROKER = bytes([172, 17, 0, 5]), bytes([192, 168, 7, 7])


def translated(
    every: list[Segment],
    *,
    client: bytes = POD,
    broker: bytes | None = None,
    port: int | None = None,
    later_ns: int = 10 * US,
    shift: int = 0,
) -> list[Segment]:
    """The segments with other addresses, a moment later; `shift`: with other sequence numbers."""
    ours = every[0][0][:4]
    found = []
    for key, time_ns, packet, seq, ack, flags, data, cut in every:
        ends = [key[:4] + key[8:10], key[4:8] + key[10:]]
        for at, end in enumerate(ends):
            if end[:4] == ours:
                ends[at] = client + (end[4:] if port is None else port.to_bytes(2, "big"))
            elif broker is not None:
                ends[at] = broker + end[4:]
        key = ends[0][:4] + ends[1][:4] + ends[0][4:] + ends[1][4:]
        numbers = ((seq + shift) % 2**32, (ack + shift) % 2**32 if ack else 0)
        found.append((key, time_ns + later_ns, packet, *numbers, flags, data, cut))
    return found


def together(*each: list[Segment]) -> list[Segment]:
    """The segments of several connections by their time, with packet numbers."""
    rows = sorted((segment for every in each for segment in every), key=lambda row: row[1])
    return [(key, time_ns, at, *rest) for at, (key, time_ns, _, *rest) in enumerate(rows, 1)]  # type: ignore[misc]


def settle_in_two_engines(every: list[Segment], at: int, change: Callable[[bytes], bytes] = bytes) -> list[Row]:
    """The rows of an engine that goes on at a segment with the state that another has left, changed by `change`."""
    engines = [Engine(connections=True) for _ in range(2)]
    for engine in engines:
        engine.enable_leaving_out_of_copies()
    rows: list[Any] = engines[0].feed(every[:at])
    engines[1].resume(change(engines[0].export()))
    return rows + engines[1].feed(every[at:]) + engines[1].finish()


def drop_begun_connections(state: bytes) -> bytes:
    """A state as older versions saved it, that did not save the connections that have begun."""
    parts = cast(list[Any], unpack(state))
    return pack([parts[0], pack(cast(list[Any], unpack(parts[1]))[:9]), *parts[2:]])


def settle(every: list[Segment], step: int | None = None) -> list[Row]:
    engine = Engine(connections=True)
    engine.enable_leaving_out_of_copies()
    rows: list[Any] = []
    for at in range(0, len(every), step or len(every)):
        rows += engine.feed(every[at : at + (step or len(every))])
    return rows + engine.finish()


def exchanges(rows: list[Row] | list[Settled]) -> int:
    return sum(isinstance(row, Exchange) for row in rows)


TALK: Final = segments(kafka(), Random(1), most=20)
COPIES: Final = {
    "the client's address": translated(TALK),
    "the client's address and port": translated(TALK, port=61000),
    "the broker's address": translated(TALK, client=TALK[0][0][:4], broker=POD_BROKER),
    "both addresses": translated(TALK, broker=POD_BROKER),
    "a moment later": translated(TALK, later_ns=50_000 * US),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("step", [None, 1])
def test_a_copy_counts_once(name: str, step: int | None) -> None:
    rows = settle(together(TALK, COPIES[name]), step)
    assert exchanges(rows) == 3
    (skipped,) = [row for row in rows if isinstance(row, Skipped)]
    assert (skipped.reason, skipped.size) == ("copy", sum(len(data) for _, data in kafka()))
    assert skipped.detail == "copy of 10.0.0.1:50000 → 10.0.0.2:9092"
    assert [row.kafka for row in rows if isinstance(row, Ended)] == [True]


def test_a_copy_of_a_connection_without_its_beginning() -> None:
    assert exchanges(settle(together(TALK[3:], translated(TALK[3:])))) == 3


def test_two_copies_and_another_connection() -> None:
    other = segments(kafka(), Random(2), port=50001)
    rows = settle(together(TALK, translated(TALK), translated(TALK, client=bytes([10, 9, 9, 9])), other))
    assert exchanges(rows) == 6
    assert sum(isinstance(row, Skipped) and row.reason == "copy" for row in rows) == 2


ALIKE: Final = {
    "other sequence numbers": translated(TALK, shift=1),
    "the same hosts, another port": translated(TALK, client=TALK[0][0][:4], port=50001),
    "much later": translated(TALK, later_ns=10**9),
    "other bytes": translated(segments(kafka()[2:] + kafka()[:2], Random(1), most=20)),
}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("begin", [0, 3])
def test_connections_that_are_alike_count_twice(name: str, begin: int) -> None:
    rows = settle(together(TALK[begin:], ALIKE[name][begin:]))
    assert exchanges(rows) == 6
    assert not [row for row in rows if isinstance(row, Skipped) and row.reason == "copy"]


def test_who_does_not_ask_for_it_gets_both() -> None:
    assert exchanges(Engine().feed(together(TALK, translated(TALK)))) == 6


def test_the_state_between_original_and_copy_is_saved() -> None:
    every = together(TALK, translated(TALK, later_ns=10 * US))
    expected = exchanges(settle(every))
    assert expected == 3
    for at in range(len(every)):
        assert exchanges(settle_in_two_engines(every, at)) == expected, at


def test_a_state_of_an_older_version_is_read() -> None:
    assert exchanges(settle_in_two_engines(TALK, 8, drop_begun_connections)) == 3


def test_the_library_gives_it_once() -> None:
    assert len(list(read_exchanges(pcapng_of(together(TALK, translated(TALK)))))) == 3


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_commands_count_it_once_and_say_so(jobs: str, tmp_path: Path) -> None:
    path = tmp_path / "nat.pcapng"
    path.write_bytes(pcapng_of(together(TALK, translated(TALK))))
    outcome = kw("sniff", str(path), "-o", "ndjson", "--jobs", jobs)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["client"] for row in rows if row["kind"] == "exchange"] == ["10.0.0.1:50000"] * 3
    assert "3 exchanges, 1 client, 1 broker, 1 translated copy" in outcome.err
    assert "1 connection is in the capture a second time with other addresses: NAT or a bridge" in outcome.err
    assert kw("sniff", str(path), "-o", "ndjson", "--strict").code == Exit.DONE
    counted = [json.loads(line) for line in kw("stats", str(path), "-o", "ndjson").out.splitlines()]
    assert sum(row["count"] for row in counted) == 3
    (client,) = [json.loads(line) for line in kw("clients", str(path), "-o", "ndjson").out.splitlines()]
    assert (client["count"], client["addresses"]) == (3, ["10.0.0.1"])
    assert "no Kafka" not in kw("doctor", str(path), "-o", "text").out
    assert "copy of 10.0.0.1:50000 → 10.0.0.2:9092" in kw("sniff", str(path), "-v", "-o", "text").out


def numbered_from(client: int, broker: int) -> list[Segment]:
    """The talk with sequence numbers from these on."""
    first: dict[bytes, int] = {}
    for key, _, _, seq, *_ in TALK:
        first.setdefault(key, seq - (broker if first else client))
    return [
        (key, time_ns, packet, (seq - first[key]) % 2**32, 0, flags, data, cut)
        for key, time_ns, packet, seq, _, flags, data, cut in TALK
    ]


@pytest.mark.parametrize(
    ("numbers", "change", "count"),
    [
        ((0, 0), {}, 6),
        ((1000, 5000), {}, 3),
        ((1000, 5000), {"later_ns": 2_000_000}, 6),
        ((1000, 5000), {"port": 50001}, 6),
        ((1000, 5000), {"broker": POD_BROKER}, 6),
    ],
)
def test_numbers_that_were_not_drawn_are_little_proof(
    numbers: tuple[int, int], change: dict[str, Any], count: int
) -> None:
    """Programs that make captures begin all connections with the same small numbers."""
    made = numbered_from(*numbers)
    assert exchanges(settle(together(made, translated(made, **change)))) == count
