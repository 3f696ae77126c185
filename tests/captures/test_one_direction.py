"""Captures of one direction: a broker's answers are recognised without their requests, and no other bytes are."""

from __future__ import annotations

from random import Random
from struct import pack
from typing import cast

import pytest

from decoders.exchanges.exchange import Ended, Exchange, Row, Settled, Skipped, Summary
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.frames.detect_responses_only import Stretches, find_first_response_chain
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, HEARTBEAT, METADATA, SASL_HANDSHAKE
from decoders.tcp.stream_chunks import Segment
from tests.captures.shipped import CLEAN, NEGATIVE, segments
from tests.exchanges.talks import framed, response
from tests.habits.faulty_captures import CAPTURES, answers_of, in_packets, requests_of
from tests.splits.cut_captures import cut, stitched, whole


def settled(found: list[Segment], *, connections: bool = False) -> tuple[list[Settled], Summary]:
    engine = Engine(connections=connections)
    return engine.feed(found) + engine.finish(), engine.summary


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_answers_alone_are_recognised(name: str) -> None:
    rows, summary = settled(answers_of(name))
    runs = [row for row in rows if isinstance(row, Skipped)]
    assert len(runs) == len(rows)
    known = [row for row in runs if row.reason == "one_direction"]
    assert len(known) > 0.8 * len(runs)
    assert {row.reason for row in runs} <= {"one_direction", "not_kafka"}
    assert {row.direction for row in known} == {"response"}
    assert sum(summary.answers_only.values()) == summary.connections == len(known)
    brokers = {row.broker for row in settled(list(segments(name)))[0] if isinstance(row, Exchange)}
    assert {row.broker for row in known} <= brokers
    # Without handshakes, the side that spoke first is not known to be the client.
    middle, _ = settled([each for each in answers_of(name) if not each[5] & 2])
    later = [row for row in middle if isinstance(row, Skipped) and row.reason == "one_direction"]
    assert len(later) > 0.7 * len(known)
    assert {row.broker for row in later} <= brokers


@pytest.mark.parametrize("name", CLEAN)
def test_requests_alone_are_unanswered_for_that(name: str) -> None:
    rows, summary = settled(requests_of(name))
    asked = [row for row in rows if isinstance(row, Exchange) and row.status == "unanswered"]
    assert asked
    assert {row.reason for row in asked} == {"one_direction"}
    assert sum(summary.requests_only.values()) == summary.connections > 0
    assert not summary.answers_only


@pytest.mark.parametrize("name", CLEAN)
def test_both_directions_are_none(name: str) -> None:
    rows, summary = settled(list(segments(name)))
    assert not summary.answers_only
    assert not summary.requests_only
    assert all(row.reason != "one_direction" for row in rows)


@pytest.mark.parametrize("part", [answers_of, requests_of], ids=["answers", "requests"])
@pytest.mark.parametrize("name", NEGATIVE)
def test_one_direction_of_something_else_is_not_kafka(name: str, part: object) -> None:
    found = answers_of(name) if part is answers_of else requests_of(name)
    for kept in (found, [each for each in found if not each[5] & 2]):
        rows, summary = settled(kept)
        assert {row.reason for row in rows} <= {"not_kafka", "tls"}
        assert not summary.connections


def test_the_end_of_such_a_connection_says_so() -> None:
    found, _ = settled(answers_of("tour.pcapng"), connections=True)
    rows = cast(list[Row], found)
    ended = [row for row in rows if isinstance(row, Ended) and row.reason == "one_direction"]
    assert len(ended) == 47
    for row in ended:
        assert (row.kafka, row.client_packets) == (True, 0)
        assert row.server_packets > 0
        assert row.connection_info.broker.endswith((":9092", ":9093", ":9094"))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name in CAPTURES if name.endswith(".pcap") and "cut" not in name])
def test_splits_give_the_same(name: str) -> None:
    from decoders.capture.read_capture import CaptureReader

    reader = CaptureReader()
    every = reader.feed(CAPTURES[name]()) + reader.finish()
    if every:
        splits = cut(every, (len(every) * number // 4 for number in range(1, 4)))
        assert stitched(splits) == whole(every)


def test_a_state_in_between_is_taken_up() -> None:
    every = answers_of("tour.pcapng")
    at = len(every) // 2
    one, other = Engine(), Engine()
    rows = [to_json_dict(row) for row in one.feed(every[:at])]
    other.resume(one.export())
    rows += [to_json_dict(row) for row in other.feed(every[at:]) + other.finish()]
    assert rows == [to_json_dict(row) for row in settled(every)[0]]
    assert other.summary.answers_only == settled(every)[1].answers_only


BEATS = [response(HEARTBEAT, 0, number, {}) for number in range(5, 12)]
VERSIONS = response(
    API_VERSIONS, 3, 0, {"api_keys": [{"api_key": key, "min_version": 0, "max_version": 3} for key in range(12)]}
)


@pytest.mark.parametrize(
    ("data", "recognised"),
    [
        (b"".join(BEATS[:3]), True),
        (b"".join(BEATS[:2]), False),
        (b"".join(reversed(BEATS)), True),
        (b"".join([BEATS[0]] * 6), False),  # ids repeat
        (BEATS[0] + BEATS[1] + framed(pack(">i", 7) + b"\xff" * 20), False),
        (VERSIONS, True),
        (VERSIONS + b"rest", True),
        (VERSIONS[:-1], False),
        (response(API_VERSIONS, 0, 1, {"api_keys": []}), False),
        (response(METADATA, 1, 1, {"brokers": [{"node_id": 1, "host": "kafka1", "port": 9092}]}), True),
        (response(METADATA, 1, 1, {"brokers": [{"node_id": 1, "host": "kafka1", "port": 0}]}), False),
        (response(METADATA, 1, 1, {}), False),
        (response(SASL_HANDSHAKE, 0, -1, {"mechanisms": ["PLAIN", "SCRAM-SHA-256"]}), True),
        (response(SASL_HANDSHAKE, 0, -1, {"mechanisms": ["XYZ"]}), False),
        (b"".join(response(FETCH, 4, number, {}) for number in (3, 900, 70_000)), False),  # no client counts like this
        (b"".join(response(FETCH, 4, number, {}) for number in (3, 900, 7_000)), True),
        (b"\0\0\0\4" * 40, False),
        (b"", False),
        (bytes(400), False),
    ],
)
def test_chains(data: bytes, recognised: bool) -> None:
    assert (find_first_response_chain(Stretches([(0, data)])) is not None) is recognised
    in_pieces = Stretches([(at, data[at : at + 7]) for at in range(0, len(data), 7)])
    assert (find_first_response_chain(in_pieces) is not None) is recognised
    assert (find_first_response_chain(Stretches([(0, b"\xee" * 9), (9, data)])) is not None) is recognised


def test_a_hole_in_a_body_breaks_no_chain() -> None:
    large = [response(METADATA, 1, number, {"topics": [{"name": "x" * 900}]}) for number in range(7)]
    pieces, place = [], 0
    for each in large:
        pieces.append((place, each[:60]))
        place += len(each)
    assert find_first_response_chain(Stretches(pieces)) is not None
    assert find_first_response_chain(Stretches(pieces[:5])) is None


@pytest.mark.parametrize("seed", range(40))
def test_counters_behind_lengths_are_no_answers(seed: int) -> None:
    """Frames of a length, a counter and random bytes, as many protocols have them, are not taken for answers."""
    rng = Random(seed)
    frames = [framed(pack(">i", number) + rng.randbytes(rng.randrange(20, 60))) for number in range(8)]
    assert find_first_response_chain(Stretches([(0, b"".join(frames))])) is None


@pytest.mark.parametrize("seed", range(20))
def test_answers_of_zookeeper_are_none(seed: int) -> None:
    """ZooKeeper's answers (length, counting id, transaction id, error code, body) are not taken for Kafka's."""
    rng = Random(seed)
    frames = []
    for xid in range(1, 9):
        head = pack(">iqi", xid, rng.randrange(1 << 33), rng.choice([0, 0, 0, -101]))
        stat = pack(">qqqqiiiqiiq", *(rng.randrange(1 << 31) for _ in range(11)))
        body = rng.choice([b"", stat, pack(">i", 5) + b"value" + stat, pack(">ii", 1, 3) + b"abc"])
        frames.append(framed(head + body))
    assert find_first_response_chain(Stretches([(0, b"".join(frames))])) is None


def test_what_is_made_of_captures_reads_as_they_do() -> None:
    """A capture made of segments reads as the segments that it was made of."""
    from decoders.capture.read_capture import CaptureReader

    reader = CaptureReader()
    again = reader.feed(in_packets(segments("tour.pcapng"))) + reader.finish()
    assert [each[:2] + each[3:] for each in again] == [each[:2] + each[3:] for each in segments("tour.pcapng")]
