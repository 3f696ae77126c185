"""What stands before Kafka on a connection changes no exchange; the client that it names is the client."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # jsonschema ships no types
import pytest

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.exchanges.exchange import Exchange, Settled, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.filters import parse
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.protocols.read_connection_prefix import read_connection_prefix
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.prefixes import PREFIXES, PROXY_1, REFUSED, kafka, proxy_2
from tests.exchanges.talks import Turns, run, segments
from tests.splits.cut_captures import cut, shown, stitched, whole
from tests.tls.test_wrapped import SCHEMA

SENDER: Final = "10.0.0.1:50000"


def records(settled: list[Settled]) -> list[dict[str, Any]]:
    """The records of exchanges without what a prefix changes: addresses, packets, times."""
    found = [to_json_dict(row) for row in settled if isinstance(row, Exchange)]
    for record in found:
        for name in ("client", "via_address", "packets", "time", "latency_ms", "duration_ms"):
            record.pop(name, None)
    return found


def spoken(turns: Turns, **options: Any) -> list[Segment]:
    return segments(turns, Random(1), **options)


@pytest.mark.parametrize("most", [1448, 5, 1])
@pytest.mark.parametrize("name", PREFIXES)
def test_exchanges_behind_a_prefix_are_as_without(name: str, most: int) -> None:
    turns, client, target, protocol = PREFIXES[name]
    settled = run(spoken(turns + kafka(), most=most))
    assert records(settled) == records(run(spoken(kafka())))
    assert len(records(settled)) == 3
    (skipped,) = [row for row in settled if isinstance(row, Skipped)]
    size = sum(len(data) for _, data in turns)
    assert (skipped.reason, skipped.size) == ("prefix", size)
    assert skipped.detail.startswith(f"{protocol}: " if client or target else protocol)
    assert skipped.detail.endswith(f"client {client} from {SENDER}" if client else target)
    for row in settled:
        assert row.client == (client or SENDER)
        assert row.via_address == (SENDER if client else None)
        assert row.connection_info.target == (target or None)


def test_a_place_counts_the_prefix() -> None:
    settled = [row for row in run(spoken([(True, PROXY_1), *kafka()])) if isinstance(row, Exchange)]
    assert settled[0].place == len(PROXY_1)


def test_the_prefix_and_a_request_in_one_segment() -> None:
    (_, first), *others = kafka()
    settled = run(spoken([(True, PROXY_1 + first), *others]))
    assert records(settled) == records(run(spoken(kafka())))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_prefix_stays_what_it_is(name: str) -> None:
    turns, said = REFUSED[name]
    (row,) = run(spoken(turns))
    assert isinstance(row, Skipped)
    assert row.reason == "not_kafka"
    assert row.detail.startswith(said)
    behind = sum(len(data) for _, data in turns) - (len(PROXY_1) if "web" in name else 0)
    assert row.size == behind


@pytest.mark.parametrize("name", PREFIXES)
def test_any_cut_gives_the_same_rows(name: str) -> None:
    every = spoken(PREFIXES[name][0] + kafka(), most=40)
    wanted = whole(every)
    for at in range(1, len(every)):
        engine = Engine(connections=True)
        rows = engine.feed(every[:at])
        state = engine.export()
        again = Engine(connections=True)
        again.resume(state)
        assert again.export() == state
        assert sorted(map(shown, rows + again.feed(every[at:]) + again.finish())) == wanted
        assert stitched(cut(every, [at])) == wanted
    one_by_one = Engine(connections=True)
    rows = [row for segment in every for row in one_by_one.feed([segment])]
    assert sorted(map(shown, rows + one_by_one.finish())) == wanted


@pytest.mark.parametrize("name", ["proxy 1", "proxy 2, tlvs", "connect", "two heads"])
def test_a_connection_without_its_syn(name: str) -> None:
    every = spoken(PREFIXES[name][0] + kafka())[3:]
    settled = run(every)
    assert records(settled) == records(run(spoken(kafka())))
    assert {row.client for row in settled} == {PREFIXES[name][1] or SENDER}


def test_a_head_in_the_middle_is_no_prefix() -> None:
    every = spoken([*kafka()[:2], (True, PROXY_1), *kafka()[2:]])
    settled = run(every)
    assert [row.reason for row in settled if isinstance(row, Skipped)] == ["garbage"]
    assert {row.client for row in settled} == {SENDER}


def test_a_lost_segment_of_a_head() -> None:
    every = spoken([(True, PROXY_1), *kafka()], most=20)
    settled = run([each for each in every if not each[6].startswith(b"PROXY")])
    assert [row.client for row in settled] == [SENDER] * len(settled)
    assert sum(isinstance(row, Exchange) and row.status == "complete" for row in settled) >= 2


def test_the_record_and_the_filter() -> None:
    settled = run(spoken([(True, PROXY_1), *kafka()]))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    matches = parse(f"via_address == {SENDER} and client == 203.0.113.7").matches
    for row in settled:
        record = json.loads(json.dumps(to_json_dict(row)))
        validator.validate(record)
        if isinstance(row, Exchange):
            assert record["via_address"] == SENDER
            again = FromRecords().read(record)
            assert to_json_dict(again) == record
            assert matches(row)


def test_records_read_again_behind_the_skipped_head() -> None:
    settled = sorted(run(spoken([(True, PROXY_1), *kafka()])), key=lambda row: row.time_ns)
    reader = FromRecords()
    again = [reader.read(json.loads(json.dumps(to_json_dict(row)))) for row in settled]
    assert isinstance(again[0], Skipped)
    assert {row.via_address for row in again} == {SENDER}


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_that_is_cut_off_may_go_on(name: str) -> None:
    turns, client, target, protocol = PREFIXES[name]
    asked, answered = (b"".join(data for from_client, data in turns if from_client is side) for side in (True, False))
    found = read_connection_prefix(asked + b"\0", answered)
    assert (found.protocol, found.client, found.target) == (protocol, client, target)
    assert found.sizes == (len(asked), len(answered))
    for end in range(len(asked) + 1):
        with pytest.raises(Truncated):
            read_connection_prefix(asked[:end], b"")
    for end in range(len(answered)):
        with pytest.raises(Truncated):
            read_connection_prefix(asked + b"\0", answered[:end])


@pytest.mark.parametrize("seed", range(300))
def test_changed_bytes_raise_nothing_else(seed: int) -> None:
    rng = Random(seed)
    turns = PREFIXES[rng.choice([*PREFIXES])][0]
    sides = [bytearray(b"".join(data for side, data in turns if side is client)) for client in (True, False)]
    for side in sides:
        for _ in range(rng.randint(0, 3) if side else 0):
            side[rng.randrange(len(side))] = rng.randrange(256)
    with suppress(DecodeError):
        read_connection_prefix(bytes(sides[0]) + b"\0", bytes(sides[1]))
    changed = [(client, bytes(sides[not client])) for client in (True, False) if sides[not client]]
    run(spoken(changed + kafka(), most=rng.choice([1448, 7])))


def test_a_head_without_end_is_given_up() -> None:
    with pytest.raises(Malformed):
        read_connection_prefix(b"CONNECT " + b"a" * (1 << 17), b"")
    row, *_ = run(spoken([(True, b"CONNECT kafka1:9092 HTTP/1.1\r\n" + b"A: b\r\n" * 9000)]))
    assert isinstance(row, Skipped)
    assert row.detail.startswith("HTTP/1: CONNECT kafka1:9092")


def test_a_local_head_names_no_client() -> None:
    rows = run(spoken([(True, proxy_2(0, 0x11, bytes(12))), *kafka()]))
    assert {row.client for row in rows} == {SENDER}
