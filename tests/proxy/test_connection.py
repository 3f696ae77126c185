"""The core as a play: bytes of clients and brokers in, bytes to each side out, in order."""

from __future__ import annotations

import random

import pytest

import decoders
from tests.proxy.stage import (
    API_VERSIONS,
    CLIENT,
    FETCH,
    HEARTBEAT,
    METADATA,
    PRODUCE,
    SASL_HANDSHAKE,
    Stage,
    framed,
    metadata,
    pieces,
    request,
    response,
)

HERE = {1: ("127.0.0.1", 19094), 2: ("127.0.0.1", 19095)}
NODES = ((1, "kafka-1.invalid", 9092), (2, "kafka-2.invalid", 9093))


def heartbeat(number: int) -> bytes:
    return request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"}, id=number)


def beaten(number: int) -> bytes:
    return response(HEARTBEAT, 4, id=number)


def places(frame: bytes, version: int = 12) -> list[tuple[int, str, int]]:
    body = decoders.decode_response(frame[4:], METADATA, version).body
    return [(each["node_id"], each["host"], each["port"]) for each in body["brokers"]]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 13, 64, 10_000])
def test_places_are_those_of_listeners_whatever_the_pieces(step: int) -> None:
    stage = Stage(HERE)
    asked = request(METADATA, 12, id=7) + heartbeat(8)
    stage.client(*pieces(asked, step)).server(*pieces(metadata(*NODES, id=7) + beaten(8), step))
    assert stage.at_server == asked
    first = int.from_bytes(stage.at_client[:4], "big") + 4
    assert places(stage.at_client[:first]) == [(1, "127.0.0.1", 19094), (2, "127.0.0.1", 19095)]
    assert stage.at_client[first:] == beaten(8)
    assert stage.resolved == list(NODES)
    assert stage.closed is None
    assert stage.shared_memory.used == 0
    assert stage.connection.is_idle


def test_what_is_not_held_goes_on_in_the_chunks_in_which_it_came() -> None:
    stage = Stage()
    asked = [heartbeat(1) + heartbeat(2)[:20], heartbeat(2)[20:], heartbeat(3)]
    answers = [beaten(1) + beaten(2)[:9], beaten(2)[9:] + beaten(3)]
    stage.client(*asked).server(*answers)
    assert stage.to_server == asked
    assert stage.to_client == answers


def test_the_rest_of_a_chunk_waits_for_the_listeners() -> None:
    stage = Stage(HERE, at_once=False)
    stage.client(request(METADATA, 12, id=1), heartbeat(2), heartbeat(3))
    stage.server(metadata(*NODES, id=1) + beaten(2)).server(beaten(3))
    assert stage.done[-1] == "RESOLVE"
    assert stage.to_client == []
    stage.answer()
    assert stage.at_client.endswith(beaten(2) + beaten(3))
    assert stage.connection.is_idle


def test_room_is_asked_for_before_the_body_is_read() -> None:
    stage = Stage(HERE, at_once=False)
    answer = metadata(*NODES)
    stage.client(request(METADATA, 12)).server(answer[:8])
    assert stage.done[-1] == "RESERVE"
    stage.server(answer[8:20]).answer().server(answer[20:])
    assert stage.done[-1] == "RESOLVE"
    stage.answer()
    assert stage.done[-2:] == ["SEND_CLIENT", "RELEASE"]
    assert len(stage.to_client) == 1


def test_a_whole_frame_needs_no_room() -> None:
    stage = Stage(HERE)
    stage.client(request(METADATA, 12)).server(metadata(*NODES))
    assert stage.done == ["SEND_SERVER", "RESOLVE", "SEND_CLIENT"]


def test_a_node_without_a_listener_ends_the_connection() -> None:
    stage = Stage({1: HERE[1]})
    stage.client(request(METADATA, 12)).server(metadata(*NODES))
    assert stage.at_client == b""
    assert stage.closed == "Metadata 12 cannot be passed on: node 2 has no listener"


def test_new_leaders_without_a_listener_are_left_out() -> None:
    stage = Stage()
    value = {"responses": [], "node_endpoints": [{"node_id": 3, "host": "kafka-3.invalid", "port": 9092, "rack": None}]}
    stage.client(request(FETCH, 16)).server(response(FETCH, 16, value))
    assert "node_endpoints" not in decoders.decode_response(stage.at_client[4:], FETCH, 16).body
    assert len(stage.notes) == 1
    assert stage.closed is None


def test_a_broken_frame_that_names_brokers_is_not_passed_on() -> None:
    stage = Stage(HERE)
    broken = framed(metadata(*NODES)[4:-3])
    stage.client(request(METADATA, 12)).server(broken)
    assert stage.at_client == b""
    assert stage.closed is not None
    assert stage.closed.startswith("Metadata 12 cannot be passed on")


def test_versions_that_could_not_be_rewritten_are_not_offered() -> None:
    rows = [
        {"api_key": METADATA, "min_version": 0, "max_version": 99},
        {"api_key": 12, "min_version": 0, "max_version": 9},
    ]
    stage = Stage().client(request(API_VERSIONS, 3)).server(response(API_VERSIONS, 3, {"api_keys": rows}))
    offered = decoders.decode_response(stage.at_client[4:], API_VERSIONS, 3).body["api_keys"]
    assert [(each["api_key"], each["max_version"]) for each in offered] == [(METADATA, 13), (12, 9)]
    assert stage.notes == ["the proxy offers clients Metadata only up to 13: brokers offer 99, which kw cannot rewrite"]


def test_an_api_of_a_row_at_a_version_that_nobody_knows_is_refused() -> None:
    newer = bytearray(request(METADATA, 12, id=4))
    newer[7] = 99
    stage = Stage().client(heartbeat(3) + bytes(newer))
    assert stage.at_server == heartbeat(3)
    assert stage.closed is not None
    assert "Metadata 99" in stage.closed


def test_an_api_that_nobody_knows_goes_through() -> None:
    asked = framed(bytes.fromhex("7fff 0001 00000009 0001 63 deadbeef"))
    answer = framed(bytes.fromhex("00000009 cafe"))
    stage = Stage().client(heartbeat(1), asked).server(beaten(1), answer)
    assert stage.to_server == [heartbeat(1), asked]
    assert stage.to_client == [beaten(1), answer]


def test_times_of_the_upstream_side_are_told() -> None:
    stage = Stage(timed=True)
    stage.client(heartbeat(5)[:9], heartbeat(5)[9:]).server(beaten(5)[:8], beaten(5)[8:])
    assert stage.answered == [(5, 2, 3, HEARTBEAT)]


# Errors of brokers

WRONG = [
    ([beaten(2), beaten(1)], "out of order: correlation id 2 came before 1 (Heartbeat 4)"),
    ([beaten(1), beaten(1)], "twice, with correlation id 1"),
    ([beaten(9)], "with correlation id 9 where 1 (Heartbeat 4) was due"),
    ([beaten(1), beaten(2), beaten(2)], "twice, with correlation id 2"),
    ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "HTTP"),
    ([bytes.fromhex("15030300020228")], "TLS"),
    ([bytes.fromhex("ffffffff00000001")], "a size of -1"),
    ([bytes.fromhex("7fffffff00000001")], "a size of 2147483647"),
    ([bytes.fromhex("0000000300000001")], "a size of 3"),
]


@pytest.mark.parametrize(("answers", "reason"), WRONG, ids=[reason for _, reason in WRONG])
@pytest.mark.parametrize("together", [False, True])
def test_a_broker_out_of_step_ends_the_connection(answers: list[bytes], reason: str, together: bool) -> None:
    stage = Stage().client(heartbeat(1), heartbeat(2))
    answers = [b"".join(answers)] if together else answers
    for data in answers:
        stage.server(data)
    if stage.closed is None:
        stage.server(b"\0\0\0")  # an incomplete frame waits for more bytes
    assert stage.closed is not None
    assert reason in stage.closed
    assert stage.loud
    assert stage.server(b"more").client(b"more").done[-1] == "CLOSE"


def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    stage = Stage().server(b"SSH-2.0-OpenSSH_9.2\r\n")
    assert stage.to_client == []
    assert stage.closed is not None
    assert "SSH" in stage.closed


# Errors of clients

STRANGE = [
    (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"),
    (bytes.fromhex("16030100c8010000c40303") + bytes(32), "TLS"),
    (bytes.fromhex("80000000 0003 0001"), "a size of -2147483648"),
    (bytes.fromhex("7fffffff 0003 0001"), "a size of 2147483647"),
    (bytes.fromhex("06400001 0003 0001"), "a size of 104857601"),
    (bytes.fromhex("00000007 0003 0001"), "a size of 7"),
    (bytes.fromhex("00000000"), "a size of 0"),
]


@pytest.mark.parametrize(("data", "reason"), STRANGE, ids=[reason for _, reason in STRANGE])
@pytest.mark.parametrize("later", [False, True])
def test_a_client_that_speaks_something_else_is_told_so(data: bytes, reason: str, later: bool) -> None:
    stage = Stage()
    good = heartbeat(1) if later else b""
    stage.client(good + data)
    assert stage.at_server == good
    assert stage.closed is not None
    assert reason in stage.closed


def test_the_first_bytes_of_a_stranger_reach_no_broker() -> None:
    stage = Stage().client(*pieces(b"GET / HTTP/1.1\r\n\r\n", 1)[:4])
    assert stage.to_server == []
    assert stage.closed is not None


# Ends


def test_a_client_that_vanishes_inside_a_request() -> None:
    stage = Stage().client(heartbeat(1)[:-3]).handle_client_eof()
    assert stage.notes == ["the client closed the connection inside a request"]
    assert stage.done[-1] == "END"


def test_answers_still_come_after_the_client_ended_its_side() -> None:
    stage = Stage().client(heartbeat(1)).handle_client_eof().server(beaten(1))
    assert stage.at_client == beaten(1)
    assert stage.handle_broker_eof().closed == "the client closed the connection"
    assert not stage.loud


def test_a_client_may_leave_with_requests_unanswered() -> None:
    stage = Stage().client(heartbeat(1), heartbeat(2)).handle_client_eof().handle_broker_eof()
    assert stage.closed == "the client closed the connection with 2 unanswered"
    assert not stage.loud


def test_a_broker_that_closes_with_requests_unanswered() -> None:
    stage = Stage().client(heartbeat(1), heartbeat(2)).server(beaten(1)[:6]).handle_broker_eof()
    assert stage.at_client == beaten(1)[:6]
    assert stage.closed == "the broker closed the connection inside an answer with 2 unanswered, Heartbeat 4 first"
    assert stage.loud


def test_an_end_waits_for_what_waits() -> None:
    stage = Stage(HERE, at_once=False).client(request(METADATA, 12)).server(metadata(*NODES)).handle_broker_eof()
    assert stage.closed is None
    assert stage.answer().closed == "the broker closed the connection"
    assert len(stage.to_client) == 1


def test_a_close_after_acks_0_is_explained() -> None:
    stage = Stage().client(request(PRODUCE, 9, {"acks": 0, "timeout_ms": 1})).handle_broker_eof()
    assert stage.closed is not None
    assert "acks=0" in stage.closed
    assert stage.loud


def test_many_requests_in_flight_pause_the_client_and_never_end_it() -> None:
    stage = Stage()
    for number in range(10_000):
        stage.client(heartbeat(number))
    assert stage.paused[CLIENT]
    for number in range(5_000):
        stage.server(beaten(number))
    assert stage.paused[CLIENT]
    stage.server(beaten(5_000))
    assert not stage.paused[CLIENT]
    assert stage.closed is None


# Logging in


def handshake(mechanism: str, number: int = 1, version: int = 0) -> bytes:
    return request(SASL_HANDSHAKE, version, {"mechanism": mechanism}, id=number)


def shaken(number: int = 1, error: int = 0) -> bytes:
    return response(SASL_HANDSHAKE, 0, {"error_code": error, "mechanisms": ["PLAIN"]}, id=number)


LOGINS = [
    ("PLAIN", [(b"\0alice\0secret", b"")]),
    ("SCRAM-SHA-256", [(b"n,,n=alice,r=abc", b"r=abcdef,s=MTIz,i=4096"), (b"c=biws,r=abcdef,p=cA==", b"v=cg==")]),
    ("OAUTHBEARER", [(b"n,,\1auth=Bearer x\1\1", b"")]),
    ("GSSAPI", [(bytes.fromhex("60820100") + bytes(256), b"\x60\x10" + bytes(16)), (b"", b"\5\4" * 8)]),
]


@pytest.mark.parametrize(("mechanism", "tokens"), LOGINS, ids=[name for name, _ in LOGINS])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_bare_tokens_go_through_and_kafka_follows(mechanism: str, tokens: list[tuple[bytes, bytes]], step: int) -> None:
    stage = Stage(HERE)
    asked, answers = handshake(mechanism), shaken()
    stage.client(*pieces(asked, step)).server(*pieces(answers, step))
    for token, answer in tokens:
        stage.client(*pieces(framed(token), step)).server(*pieces(framed(answer), step))
        asked += framed(token)
        answers += framed(answer)
    if mechanism == "GSSAPI":  # its last token is not answered
        last = framed(b"\5\4\5" * 10)
        stage.client(*pieces(last, step))
        asked += last
    asked += request(METADATA, 12, id=5)
    stage.client(*pieces(request(METADATA, 12, id=5), step))
    stage.server(*pieces(metadata(*NODES, id=5), step))
    assert stage.closed is None
    assert stage.at_server == asked
    assert stage.at_client.startswith(answers)
    assert places(stage.at_client[len(answers) :])[0] == (1, "127.0.0.1", 19094)


def test_a_token_sent_at_once_waits_for_the_answer_to_the_handshake() -> None:
    asked = handshake("PLAIN") + framed(b"\0alice\0secret") + request(METADATA, 12, id=2)
    stage = Stage(HERE).client(asked)
    assert stage.at_server == handshake("PLAIN")
    assert stage.paused[CLIENT]
    stage.server(shaken())
    assert stage.at_server == asked
    assert not stage.paused[CLIENT]
    stage.server(framed(b"") + metadata(*NODES, id=2))
    assert stage.closed is None
    assert stage.resolved == list(NODES)


def test_kafka_follows_a_handshake_that_failed() -> None:
    stage = Stage().client(handshake("PLAIN")).server(shaken(error=33)).client(heartbeat(2)).server(beaten(2))
    assert stage.to_client == [shaken(error=33), beaten(2)]
    assert stage.closed is None


def test_a_bare_gssapi_token_may_open_a_connection() -> None:
    token = framed(bytes.fromhex("60820100") + bytes(256))
    stage = Stage(HERE).client(token).server(framed(b"answer"))
    stage.client(request(METADATA, 1, id=2)).server(metadata(*NODES, version=1, id=2))
    assert stage.resolved == list(NODES)
    assert stage.closed is None


def test_logging_in_again_in_mid_connection_is_traffic_like_any() -> None:
    token = request(36, 2, {"auth_bytes": b"\0a\0b"}, id=3)
    stage = Stage().client(heartbeat(1), handshake("PLAIN", 2, version=1), token)
    answers = beaten(1) + response(SASL_HANDSHAKE, 1, id=2) + response(36, 2, id=3)
    assert stage.server(answers).to_client == [answers]


# Produce without an answer


@pytest.mark.one_in(8)
@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("txn", [None, "", "t" * 300])
@pytest.mark.parametrize("tags", [False, True])
@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize("client_id", ["c", None, "", "c" * 32767])
def test_acks_are_read_in_every_version(
    version: int, txn: str | None, tags: bool, acks: int, client_id: str | None
) -> None:
    value = {"acks": acks, "timeout_ms": 1, "topic_data": []}
    if version >= 3:
        value["transactional_id"] = txn
    frame = request(PRODUCE, version, value, id=6, client_id=client_id)
    if tags and version >= 9:
        # Behind size, key, version, correlation id and the client id: no tags → two of them.
        at = 14 + len(client_id or "")
        frame = framed(frame[4:at] + bytes.fromhex("02 05 01 aa 07 03 000102") + frame[at + 1 :])
    for step in (1, 11, 10_000) if len(frame) < 1000 else (10_000, 100_000):
        stage = Stage().client(*pieces(frame, step))
        assert stage.at_server == frame
        assert stage.connection.in_flight == (acks != 0)


def test_a_thousand_requests_at_once_with_acks_0_among_them() -> None:
    dice = random.Random(1)
    asked, answers = [], []
    for number in range(1000):
        if dice.random() < 0.4:
            asked.append(request(PRODUCE, 9, {"acks": 0, "timeout_ms": 1}, id=number))
        else:
            asked.append(heartbeat(number))
            answers.append(beaten(number))
    stage = Stage().client(b"".join(asked)).server(*pieces(b"".join(answers), 1000))
    assert stage.closed is None
    assert stage.connection.is_idle
    assert stage.at_client == b"".join(answers)
