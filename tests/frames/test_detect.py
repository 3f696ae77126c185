"""First bytes of connections: recognised as Kafka or not, and which side is the client."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.exchanges.exchange import Skipped
from decoders.frames.detect_kafka_connection import UndecidedConnection
from decoders.frames.read_and_judge_headers import FITS, HEAD, NO, YES, judge_request, judge_response
from decoders.limits import UNDECIDED_MAX
from decoders.protocols.recognise_protocols import describe_likely_protocol, find_likely_protocol, find_proven_protocol
from decoders.tcp.stream_chunks import Close, Gap
from tests.exchanges.chunked import Line, Row, play, told
from tests.exchanges.talks import framed, request, response

METADATA, HEARTBEAT, API_VERSIONS, PRODUCE = 3, 12, 18, 0
ASKED = request(METADATA, 1, 5, "app", {"topics": [{"name": "orders"}]})
ANSWERED = response(METADATA, 1, 5, {"brokers": [], "topics": []})
PRODUCED = request(
    PRODUCE, 3, 9, "app", {"acks": 1, "topic_data": [{"name": "t", "partition_data": [{"records": bytes(500)}]}]}
)
ZOOKEEPER = framed(bytes(4) + bytes(8) + pack(">i", 30000) + bytes(8) + pack(">i", 16) + bytes(16) + b"\0")


def test_a_request_that_decodes_to_its_last_byte_decides() -> None:
    line = Line()
    undecided = UndecidedConnection(line.connection, 0)
    *before, last = line.chunks(*(("c", ASKED[at : at + 1]) for at in range(len(ASKED))))
    assert not any(undecided.feed(chunk) for chunk in before)
    assert undecided.feed(last)
    assert undecided.client is line.connection.first


def test_its_answer_decides_where_the_request_cannot() -> None:
    newer = framed(pack(">hhi", API_VERSIONS, 7, 1) + b"\0\1a\0???")
    line = Line()
    undecided = UndecidedConnection(line.connection, 0)
    assert not undecided.feed(*line.chunks(("c", newer)))
    answer = framed(pack(">ihi", 1, 35, 0))
    assert undecided.feed(*line.chunks(("b", answer)))
    assert undecided.client is line.connection.first


@pytest.mark.parametrize("body", [ASKED[4:] + b"abc", ASKED[4:].replace(b"\0\6orders", b"\xff\xfforders")])
def test_an_answer_decides_where_the_body_of_its_request_is_in_no_layout(body: bytes) -> None:
    assert judge_request(framed(body), 0) == NO
    for answer in (ANSWERED, ANSWERED[:7] + b"\6" + ANSWERED[8:]):
        line = Line()
        undecided = UndecidedConnection(line.connection, 0)
        assert not undecided.feed(*line.chunks(("c", framed(body))))
        assert undecided.feed(*line.chunks(("b", answer))) == (answer == ANSWERED)


def test_who_is_the_client_is_told_by_content() -> None:
    """The content tells who is the client: mid-stream, the first segment may be the broker's."""
    line = Line(opened=False)
    undecided = UndecidedConnection(line.connection, 0)
    assert not undecided.feed(*line.chunks(("c", ANSWERED)))
    assert undecided.feed(*line.chunks(("b", ASKED)))
    assert undecided.client is line.connection.second


def test_a_head_alone_does_not_decide() -> None:
    lost = play(("c", framed(pack(">hhi", METADATA, 99, 1) + b"\0\1a")), close="rst")
    assert told(lost) == ["not_kafka None 15"]


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (ASKED, YES),
        (ASKED + b"more", YES),
        (ASKED[:-1], HEAD),
        (ASKED[:13], NO),
        (PRODUCED, YES),
        (PRODUCED[:300], FITS),
        (ASKED[:4] + b"\x7f\xff" + ASKED[6:], NO),  # no such API
        (ASKED[:6] + b"\x7f\xff" + ASKED[8:], NO),  # no such version
        (ASKED[:6] + b"\0\x10" + ASKED[8:], HEAD),  # of a newer release
        (ASKED.replace(b"app", b"a\1p"), NO),
        (ASKED.replace(b"\0\6orders", b"\0\5orders"), NO),
        (b"\x7f" + ASKED[1:], NO),
        (ZOOKEEPER, NO),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", NO),
        (request(7, 0, 3, None, {"broker_id": 1}), YES),
        (b"", NO),
    ],
)
def test_verdicts_on_requests(data: bytes, verdict: int) -> None:
    assert judge_request(data, 0) == verdict
    assert judge_request(b"xyz" + data, 3) == verdict


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (ANSWERED, YES),
        (ANSWERED[:-1], HEAD),
        (ANSWERED[:6], NO),
        (framed(ANSWERED[4:] + b"x"), NO),
        (framed(b"ab"), NO),
    ],
)
def test_verdicts_on_responses(data: bytes, verdict: int) -> None:
    assert judge_response(data, 0, METADATA, 1) == verdict


def test_the_client_id_of_the_connection_is_looked_at() -> None:
    assert judge_request(ASKED, 0, b"app") == YES
    assert judge_request(ASKED, 0, b"other") == NO


FOREIGN = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS", True),
    (b"GET /metrics HTTP/1.1\r\n", "HTTP/1", True),
    (b"HTTP/1.1 200 OK\r\n", "HTTP/1", True),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2", True),
    (b"*2\r\n$4\r\nLLEN\r\n", "Redis", True),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH", True),
    (pack("<iiii", 60, 1, 0, 2013) + bytes(44), "MongoDB", False),
    (pack(">ii", 8, 80877103), "PostgreSQL", False),
    (pack(">ii", 41, 196608) + b"user\0app\0\0", "PostgreSQL", False),
    (ZOOKEEPER, "ZooKeeper", False),
    (ASKED, "", False),
]


@given(st.binary(max_size=64) | st.sampled_from([row[0] for row in FOREIGN]))
def test_no_certain_mark_begins_with_a_zero_as_frames_do(data: bytes) -> None:
    assert find_proven_protocol(b"\0" + data) == find_proven_protocol(b"\0" + data[1:]) == ""


@pytest.mark.parametrize(("data", "name", "sure"), FOREIGN, ids=[row[1] or "Kafka" for row in FOREIGN])
def test_marks_of_other_protocols(data: bytes, name: str, sure: bool) -> None:
    assert find_proven_protocol(data) == (name if sure else "")
    assert find_likely_protocol(data) == name
    if name:
        (skipped,) = play(("c", data), ("b", b"whatever comes back"))
        assert isinstance(skipped, Skipped)
        assert (skipped.reason, skipped.size) == ("tls" if name == "TLS" else "not_kafka", len(data) + 19)
        assert skipped.detail == describe_likely_protocol(data)


def test_a_connection_without_bytes_is_nothing() -> None:
    assert play() == []


def test_what_is_held_of_an_undecided_connection_is_bounded() -> None:
    line = Line()
    undecided = UndecidedConnection(line.connection, 0)
    for _ in range(400):
        assert not undecided.feed(*line.chunks(("c", b"\0\0\0\7nonsense" * 100)))
        assert undecided.held <= UNDECIDED_MAX
    assert undecided.foreign
    assert undecided.sizes[True] == 400 * 1200


def test_in_the_middle_of_a_stream_the_oldest_bytes_are_let_go() -> None:
    rows: list[Row] = [("b", b"\xee" * 1400)] * 500
    settled = play(*rows, ("c", ASKED), ("b", ANSWERED), opened=False)
    assert told(settled) == ["midstream response 700000", "Metadata 1 #5 complete"]
    assert settled[0].time_ns == 1_000_000


def test_a_large_first_request_is_believed_before_its_end() -> None:
    value = {"acks": 1, "topic_data": [{"name": "t", "partition_data": [{"records": bytes(UNDECIDED_MAX * 2)}]}]}
    large = request(PRODUCE, 3, 1, "app", value)
    pieces: list[Row] = [("c", large[at : at + 60000]) for at in range(0, len(large), 60000)]
    assert told(play(*pieces, ("b", response(PRODUCE, 3, 1, {})))) == ["Produce 3 #1 complete"]


def test_heads_that_answer_one_another_decide_where_all_bodies_are_cut() -> None:
    rows: list[Row] = []
    for number in range(5):
        asked = request(METADATA, 1, 10 + number, "app", {"topics": [{"name": "orders"}]})
        answered = response(METADATA, 1, 10 + number, {"brokers": [], "topics": []})
        rows += [("c", asked[:22]), ("c", Gap(len(asked) - 22, "snaplen"))]
        rows += [("b", answered[:10]), ("b", Gap(len(answered) - 10, "snaplen"))]
    assert told(play(*rows)) == [f"Metadata 1 #{10 + number} undecoded snaplen" for number in range(5)]


def test_a_named_port_needs_no_recognition() -> None:
    odd = framed(pack(">hhi", METADATA, 99, 1) + b"\0\1a")
    assert told(play(("c", odd), ports=[9092], close="rst")) == ["Metadata 99 #1 unanswered at rst"]
    assert told(play(("c", ASKED), ("b", ANSWERED), ports=[9093])) == [f"not_kafka None {len(ASKED + ANSWERED)}"]
    assert told(play(("c", b"\x16\x03\x01\x02\x00\x01"), ports=[9092])) == ["tls None 6"]
    assert told(play(("c", b"GET / HTTP/1.1\r\n\r\n"), ports=[9092])) == ["garbage request 18"]


def test_a_closed_connection_is_forgotten() -> None:
    line = Line()
    undecided = UndecidedConnection(line.connection, 0)
    assert not undecided.feed(*line.chunks(("c", Close("fin"))))
    assert undecided.chunks == []
