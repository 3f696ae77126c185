"""Pairing in unusual cases: duplicates, orphans, tokens, fall-backs, limits, the end of a connection."""

from __future__ import annotations

import re
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from decoders.apis import api
from decoders.exchanges import chunks_to_exchanges, connection_pairing
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Exchange
from decoders.frames import framing, read_and_judge_headers
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.schema.api_declaration import resolve
from decoders.schema.decode_and_encode import encode
from decoders.tcp.stream_chunks import Close, Gap, Retransmission
from tests.exchanges.chunked import MS, Line, Row, exchanges, play, told
from tests.exchanges.talks import framed, request, response
from tests.messages.json_lines import to_json_bytes

METADATA, API_VERSIONS, HEARTBEAT, PRODUCE, FETCH, HANDSHAKE, AUTHENTICATE = 3, 18, 12, 0, 1, 17, 36
TOPIC = UUID("00112233-4455-6677-8899-aabbccddeeff")


def beat(number: int, member: str = "m", client_id: str | None = "app") -> bytes:
    """A Heartbeat 3 request."""
    return request(HEARTBEAT, 3, number, client_id, {"group_id": "g", "generation_id": 1, "member_id": member})


def beaten(number: int, error_code: int = 0) -> bytes:
    """A Heartbeat 3 response."""
    return response(HEARTBEAT, 3, number, {"error_code": error_code})


def produce(number: int, acks: int, version: int = 9, transactional_id: str | None = None) -> bytes:
    """A Produce request."""
    value: dict[str, Any] = {"acks": acks, "topic_data": [{"name": "orders", "partition_data": [{"records": None}]}]}
    if version >= 3:
        value["transactional_id"] = transactional_id
    return request(PRODUCE, version, number, "app", value)


def handshake(number: int, version: int = 0, mechanism: str = "PLAIN", error_code: int = 0) -> tuple[bytes, bytes]:
    """SaslHandshake and its answer."""
    return (
        request(HANDSHAKE, version, number, "app", {"mechanism": mechanism}),
        response(HANDSHAKE, version, number, {"error_code": error_code}),
    )


def test_times_sizes_and_packets_are_those_of_first_and_last_byte() -> None:
    asked, answered = beat(7), beaten(7, 25)
    (exchange,) = exchanges(
        play(("c", asked[:6]), ("c", asked[6:20]), ("c", asked[20:]), ("b", answered[:9]), ("b", answered[9:]))
    )
    assert exchange.packets == {"request": [1, 3], "response": [4, 5]}
    assert exchange.time_ns == MS
    assert (exchange.latency_ms, exchange.duration_ms) == (1.0, 4.0)
    assert (exchange.request_size, exchange.response_size) == (len(asked) - 4, len(answered) - 4)
    assert exchange.errors == [("error_code", 25, "UNKNOWN_MEMBER_ID")]


def test_an_answer_before_the_last_byte_of_its_request_gives_a_negative_latency() -> None:
    asked = beat(7)
    first = (("c", beat(6)), ("b", beaten(6)))
    both = exchanges(play(*first, ("c", asked[:20]), ("b", beaten(7)), ("c", asked[20:])))
    assert [each.latency_ms for each in both] == [1.0, -1.0]
    assert both[1].duration_ms == 1.0
    assert both[1].status == "complete"


def test_the_same_correlation_id_twice_is_first_in_first_out() -> None:
    asked: list[Row] = [("c", beat(1, name)) for name in "xyz"]
    settled = exchanges(play(*asked, *(("b", beaten(1, code)) for code in (1, 2, 3))))
    pairs = [(each.request["member_id"], each.response["error_code"]) for each in settled]
    assert pairs == [("x", 1), ("y", 2), ("z", 3)]


def test_answers_may_come_out_of_order() -> None:
    settled = exchanges(play(*(("c", beat(number)) for number in (1, 2, 3)), *(("b", beaten(n)) for n in (3, 1, 2))))
    assert [each.correlation_id for each in settled] == [3, 1, 2]
    assert {each.status for each in settled} == {"complete"}


@pytest.mark.parametrize(
    ("version", "transactional_id"),
    [*((version, None) for version in range(14)), *((version, "t-1") for version in range(3, 14))],
)
def test_acks_0_wants_no_answer(version: int, transactional_id: str | None) -> None:
    frames = [produce(number, acks, version, transactional_id) for number, acks in enumerate((0, 1, 0, -1))]
    answers = [response(PRODUCE, version, number, {}) for number in (1, 3)]
    rows: list[Row] = [*(("c", frame) for frame in frames), *(("b", answer) for answer in answers)]
    settled = exchanges(play(*rows))
    assert [(each.correlation_id, each.status) for each in settled] == [
        (0, "no_response_expected"),
        (2, "no_response_expected"),
        (1, "complete"),
        (3, "complete"),
    ]
    assert settled[0].latency_ms is None
    assert exchanges(play(("c", b"".join(frames)), ("b", b"".join(answers)))) != []
    assert told(play(("c", b"".join(frames)), ("b", b"".join(answers)))) == told(play(*rows))


def test_what_is_unanswered_says_how_the_connection_ended() -> None:
    rows: list[Row] = [("c", beat(1)), ("b", beaten(1)), ("c", beat(2)), ("c", beat(3)), ("b", beaten(3))]
    for how in ("fin", "rst", "idle", "capture_end"):
        assert told(play(*rows, close=how))[2:] == [f"Heartbeat 3 #2 unanswered at {how}"]
    assert told(play(*rows, close=""))[2:] == ["Heartbeat 3 #2 unanswered at capture_end"]


def test_what_was_begun_when_the_connection_ended_is_shown_as_far_as_it_came() -> None:
    rows: list[Row] = [("c", beat(1)), ("b", beaten(1)), ("c", beat(2)), ("c", beat(3)[:-2]), ("b", beaten(2)[:-1])]
    settled = exchanges(play(*rows))
    assert told(settled)[1:] == [
        "Heartbeat 3 #2 unanswered incomplete at fin",
        "Heartbeat 3 #3 unanswered at fin",
    ]
    record = to_json_dict(settled[1])
    assert record["response"] == {"throttle_time_ms": 0}
    assert record["undecoded"]["response"]["reason"] == "incomplete"
    assert (record["latency_ms"], record["duration_ms"]) == (2.0, None)
    assert to_json_dict(settled[2])["undecoded"]["request"]["reason"] == "incomplete"
    assert to_json_dict(settled[2])["request"]["group_id"] == "g"
    assert told(play(*rows[:2], ("c", b"\0\0")))[1:] == ["garbage request 2"]


def test_a_response_without_its_request_is_an_orphan() -> None:
    rows: list[Row] = [("c", beat(1)), ("b", beaten(1)), ("c", Gap(40, "lost")), ("b", beaten(2))]
    settled = play(*rows, ("c", beat(3)), ("b", beaten(3)))
    assert told(settled) == [
        "Heartbeat 3 #1 complete",
        "None None #2 orphan_response",
        "lost request 40",
        "Heartbeat 3 #3 complete",
    ]
    record = to_json_dict(settled[1])
    assert (record["api_key"], record["request"], record["response"]) == (None, None, None)
    assert record["undecoded"]["response"]["raw"] == {"redacted": 10}
    assert record["packets"] == {"request": None, "response": [4, 4]}


def test_a_hole_in_a_body_costs_that_frame_only() -> None:
    asked, answered = beat(2), response(METADATA, 1, 3, {"brokers": [], "topics": [], "controller_id": 5})
    wanted = request(METADATA, 1, 3, "app", {"topics": None})
    rows: list[Row] = [
        *(("c", beat(1)), ("b", beaten(1)), ("c", asked[:19]), ("c", Gap(len(asked) - 19, "snaplen"))),
        *(("b", beaten(2)), ("c", wanted), ("b", answered[:9]), ("b", Gap(len(answered) - 9, "lost"))),
        *(("c", beat(4)), ("b", beaten(4))),
    ]
    settled = exchanges(play(*rows))
    assert told(settled) == [
        "Heartbeat 3 #1 complete",
        "Heartbeat 3 #2 undecoded snaplen",
        "Metadata 1 #3 undecoded lost",
        "Heartbeat 3 #4 complete",
    ]
    record = to_json_dict(settled[1])
    assert record["response"] == {"throttle_time_ms": 0, "error_code": 0}
    assert record["undecoded"]["request"]["offset"] == 15
    assert record["request_size"] == len(asked) - 4


def test_apiversions_of_a_version_nobody_knows_is_answered_in_version_0() -> None:
    newest = api(API_VERSIONS).versions.high
    odd = framed(pack(">hhi", API_VERSIONS, newest + 2, 1) + pack(">h", 3) + b"app" + b"\0" + b"\1\2\3")
    keys = [{"api_key": 18, "min_version": 0, "max_version": 4}]
    answer = framed(pack(">i", 1) + encode(resolve(api(18).response, 0), {"error_code": 35, "api_keys": keys}))
    again = request(API_VERSIONS, 4, 2, "app", {"client_software_name": "new", "client_software_version": "9"})
    good = response(API_VERSIONS, 4, 2, {"api_keys": keys})
    settled = exchanges(play(("c", odd), ("b", answer), ("c", again), ("b", good), ("c", beat(3)), ("b", beaten(3))))
    assert told(settled)[0] == f"ApiVersions {newest + 2} #1 undecoded unsupported_version"
    assert [error.name for error in settled[0].errors] == ["UNSUPPORTED_VERSION"]
    assert settled[0].response["api_keys"][0]["max_version"] == 4
    assert to_json_dict(settled[0])["response"]["error_code"] == 35
    software = {"name": "new", "version": "9"}
    assert [each.client_software for each in settled] == [None, software, software]


def test_a_known_version_may_be_answered_in_version_0_too() -> None:
    asked = request(API_VERSIONS, 4, 1, "app", {"client_software_name": "a", "client_software_version": "1"})
    answer = framed(pack(">i", 1) + encode(resolve(api(18).response, 0), {"error_code": 35, "api_keys": []}))
    (exchange,) = exchanges(play(("c", asked), ("b", answer)))
    assert (exchange.status, exchange.response) == ("complete", {"error_code": 35, "api_keys": []})


def test_apis_and_versions_that_nobody_knows_are_shown() -> None:
    rows: list[Row] = [("c", beat(1)), ("b", beaten(1))]
    strange = framed(pack(">hhi", 777, 1, 2) + pack(">h", 3) + b"app" + b"secret?")
    newer = framed(pack(">hhi", METADATA, 44, 3) + pack(">h", 3) + b"app" + b"\0abc")
    settled = exchanges(play(*rows, ("c", strange), ("b", framed(pack(">i", 2) + b"xy")), ("c", newer)))
    assert told(settled)[1:] == [
        "UNKNOWN(777) 1 #2 undecoded unknown_api",
        "Metadata 44 #3 unanswered at fin",
    ]
    assert settled[1].client_id == "app"
    undecoded = to_json_dict(settled[1])["undecoded"]
    assert undecoded["request"]["raw"] == {"redacted": len(strange) - 4}
    assert to_json_dict(settled[2])["undecoded"]["request"]["reason"] == "unsupported_version"


def test_controlled_shutdown_0_has_no_client_id() -> None:
    asked = request(7, 0, 5, "app", {"broker_id": 3})
    settled = exchanges(play(("c", asked), ("b", response(7, 0, 5, {})), ("c", beat(6)), ("b", beaten(6))))
    assert told(settled) == ["ControlledShutdown 0 #5 complete", "Heartbeat 3 #6 complete"]
    assert (settled[0].client_id, settled[0].request) == (None, {"broker_id": 3})


def test_a_null_client_id_is_null_and_a_strange_one_is_base64() -> None:
    odd = beat(2).replace(b"\0\x03app", b"\0\x03a\xff\x01")
    settled = exchanges(play(("c", beat(1, client_id=None)), ("b", beaten(1)), ("c", odd), ("b", beaten(2))))
    assert [to_json_dict(each)["client_id"] for each in settled] == [None, {"base64": "Yf8B"}]
    assert [each.client_id for each in settled] == [None, "a\udcff\x01"]


def test_plain_tokens_follow_a_handshake_0() -> None:
    asked, answered = handshake(1)
    token = framed(b"\0alice\0wonderland")
    rows: list[Row] = [
        ("c", asked),
        ("b", answered),
        ("c", token),
        ("b", framed(b"")),
        ("c", beat(2)),
        ("b", beaten(2)),
    ]
    settled = exchanges(play(*rows))
    assert told(settled) == ["SaslHandshake 0 #1 complete", "None None #None token", "Heartbeat 3 #2 complete"]
    assert (settled[1].request, settled[1].response) == (b"\0alice\0wonderland", b"")
    record = to_json_dict(settled[1])
    assert (record["request"], record["response"]) == ({"redacted": 17}, {"redacted": 0})
    assert (record["request_size"], record["response_size"]) == (17, 0)
    assert all(b"wonderland" not in to_json_bytes(each) for each in settled)
    assert to_json_dict(settled[1], Options(reveal_secrets=True))["request"] == {"base64": "AGFsaWNlAHdvbmRlcmxhbmQ="}


def test_a_wrong_password_is_a_token_without_an_answer() -> None:
    asked, answered = handshake(1)
    settled = exchanges(play(("c", asked), ("b", answered), ("c", framed(b"\0a\0wrong"))))
    assert told(settled)[1:] == ["None None #None token at fin"]
    assert settled[1].response is None


def test_after_a_failed_handshake_0_kafka_goes_on() -> None:
    asked, answered = handshake(1, error_code=34)
    settled = exchanges(play(("c", asked), ("b", answered), ("c", beat(2)), ("b", beaten(2))))
    assert told(settled) == ["SaslHandshake 0 #1 complete", "Heartbeat 3 #2 complete"]


def test_after_handshake_1_tokens_are_framed_and_redacted() -> None:
    asked, answered = handshake(1, 1)
    authenticate = request(AUTHENTICATE, 1, 2, "app", {"auth_bytes": b"\0a\0secret"})
    done = response(AUTHENTICATE, 1, 2, {"auth_bytes": b"salted"})
    settled = exchanges(play(("c", asked), ("b", answered), ("c", authenticate), ("b", done)))
    assert told(settled)[1] == "SaslAuthenticate 1 #2 complete"
    record = to_json_dict(settled[1])
    assert record["request"] == {"auth_bytes": {"redacted": 9}}
    (_, cut) = exchanges(play(("c", asked), ("b", answered), ("c", authenticate[:-1]), close="rst"))
    assert b"c2VjcmV" not in to_json_bytes(cut)
    assert to_json_dict(cut)["undecoded"]["request"]["raw"] == {"redacted": len(authenticate) - 5}


def test_scram_has_two_pairs_of_tokens() -> None:
    asked, answered = handshake(1, mechanism="SCRAM-SHA-512")
    rows: list[Row] = [("c", asked), ("b", answered)]
    for number in range(2):
        rows += [("c", framed(b"c=%d" % number)), ("b", framed(b"r=%d" % number))]
    settled = exchanges(play(*rows, ("c", beat(2)), ("b", beaten(2))))
    assert [each.status for each in settled] == ["complete", "token", "token", "complete"]
    assert [(each.request, each.response) for each in settled[1:3]] == [(b"c=0", b"r=0"), (b"c=1", b"r=1")]


def test_gssapi_tokens_end_where_a_request_decodes() -> None:
    token = framed(b"\x60\x82\x02\x10" + bytes(range(40)))
    rows: list[Row] = [("c", token), ("b", framed(b"\x60\x33" + bytes(40))), ("c", framed(b"\x05\x04last"))]
    after = [("c", beat(2)), ("b", beaten(2))]
    asked, answered = handshake(1, mechanism="GSSAPI")
    assert told(play(("c", asked), ("b", answered), *rows, *after)) == [
        "SaslHandshake 0 #1 complete",
        *["None None #None token"] * 2,
        "Heartbeat 3 #2 complete",
    ]
    # Clients of 0.9 send no handshake.
    assert told(play(*rows, *after)) == [*["None None #None token"] * 2, "Heartbeat 3 #2 complete"]


def test_the_early_layout_of_a_version_is_said() -> None:
    key = 87
    ((_, version, release), message) = next(item for item in api(key).early.items() if item[0][0] == "response")
    value = {"results": [{"topic_id": TOPIC, "partitions": [{"partition": 1, "error_code": 3, "start_offset": 9}]}]}
    answer = framed(pack(">i", 1) + b"\0" + encode(resolve(message, version), value))
    asked = request(key, version, 1, "app", {"group_id": "g", "topics": []})
    (exchange,) = exchanges(play(("c", asked), ("b", answer)))
    assert (exchange.status, exchange.layout) == ("complete", {"response": release})
    assert exchange.response["results"][0]["partitions"][0]["start_offset"] == 9
    record = to_json_dict(exchange)
    assert record["layout"] == {"response": release}
    assert record["errors"] == [error._asdict() for error in exchange.errors]
    assert [error.path for error in exchange.errors] == ["results[0].partitions[0].error_code"]


def test_topic_ids_have_the_names_learnt_before() -> None:
    fetch = request(FETCH, 13, 1, "app", {"topics": [{"topic_id": TOPIC, "partitions": []}], "session_id": 5})
    fetched = response(FETCH, 13, 1, {"responses": [{"topic_id": TOPIC, "partitions": []}], "session_id": 5})
    asked = request(METADATA, 12, 2, "app", {"topics": None})
    topics = [{"name": "orders", "topic_id": TOPIC, "partitions": []}]
    answered = response(METADATA, 12, 2, {"brokers": [], "topics": topics})
    fetching: list[Row] = [("c", fetch), ("b", fetched)]
    settled = exchanges(play(*fetching, ("c", asked), ("b", answered), *fetching))
    assert [each.topic_names for each in settled] == [{}, {}, {"ABEiM0RVZneImaq7zN3u_w": "orders"}]
    assert [to_json_dict(each).get("topic_names", {}) for each in settled] == [each.topic_names for each in settled]
    assert settled[0].topic_name(TOPIC) is None
    assert settled[2].topic_name(TOPIC) == "orders"


@pytest.mark.parametrize(
    ("session_id", "epoch", "given", "shown"),
    [
        (0, -1, 0, None),
        (0, 0, 0, None),
        (0, 0, 77, {"id": 77, "epoch": 0, "incremental": False}),
        (77, 4, 77, {"id": 77, "epoch": 4, "incremental": True}),
        (77, -1, 0, {"id": 77, "epoch": -1, "incremental": False}),
    ],
)
def test_a_fetch_says_its_session(session_id: int, epoch: int, given: int, shown: dict[str, Any] | None) -> None:
    asked = request(FETCH, 12, 1, "app", {"session_id": session_id, "session_epoch": epoch})
    (exchange,) = exchanges(play(("c", asked), ("b", response(FETCH, 12, 1, {"session_id": given}))))
    assert to_json_dict(exchange).get("fetch_session") == shown


def test_what_was_sent_again_while_it_waited_is_marked() -> None:
    size = len(beat(1))
    rows: list[Row] = [
        ("c", beat(1)),
        ("b", beaten(1)),
        ("c", beat(2)),
        ("c", beat(3)),
        ("c", Retransmission(size, size)),
    ]
    settled = exchanges(play(*rows, ("b", beaten(2)), ("b", beaten(3))))
    assert [each.retransmitted for each in settled] == [False, True, False]
    assert to_json_dict(settled[1])["retransmitted"] is True
    assert "retransmitted" not in to_json_dict(settled[2])


@pytest.mark.plain
def test_too_many_in_flight_gives_up_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pairing, "IN_FLIGHT_MAX", 3)
    monkeypatch.setattr("decoders.exchanges.chunks_to_exchanges.IN_FLIGHT_MAX", 3)
    rows: list[Row] = [("c", beat(number)) for number in range(5)]
    settled = exchanges(play(*rows, *(("b", beaten(number)) for number in range(2, 5))))
    assert told(settled)[:2] == ["Heartbeat 3 #0 unanswered limit", "Heartbeat 3 #1 unanswered limit"]
    assert [each.status for each in settled[2:]] == ["complete"] * 3


@pytest.mark.plain
def test_a_frame_beyond_the_limit_keeps_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (framing, connection_pairing, read_and_judge_headers):
        monkeypatch.setattr(module, "FRAME_MAX", 1000)
    large = request(METADATA, 1, 2, "app", {"topics": [{"name": "x" * 2000}]})
    rows: list[Row] = [("c", beat(1)), ("b", beaten(1)), ("c", large[:900]), ("c", large[900:])]
    answered = response(METADATA, 1, 2, {"brokers": [], "topics": []})
    settled = exchanges(play(*rows, ("b", answered), ("c", beat(3)), ("b", beaten(3))))
    assert told(settled)[1:] == ["Metadata 1 #2 undecoded limit", "Heartbeat 3 #3 complete"]
    assert settled[1].request_size == len(large) - 4


@pytest.mark.plain
def test_too_many_bytes_held_gives_up_the_oldest_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks_to_exchanges, "HELD_MAX", 8000)
    monkeypatch.setattr(chunks_to_exchanges, "STEP", 0)
    monkeypatch.setattr(framing, "HELD_MAX", 8000)
    asked = [request(METADATA, 1, number, "app", {"topics": [{"name": "x" * 1500}]}) for number in range(8)]
    answered = [response(METADATA, 1, number, {"brokers": [], "topics": []}) for number in range(8)]
    settled = exchanges(play(*(("c", frame) for frame in asked), *(("b", frame) for frame in answered)))
    statuses = [each.status for each in settled]
    assert statuses == sorted(statuses, reverse=True)
    assert {"complete", "undecoded"} == set(statuses)
    assert {each.reason for each in settled if each.status == "undecoded"} == {"limit"}


def test_an_idle_address_that_serves_again_is_known_as_a_broker() -> None:
    first, second = Line(number=1), Line(number=2)
    stage = Pairer()
    settled = stage.feed(first.chunks(("c", beat(1)), ("b", beaten(1)), ("c", Close("fin"))))
    # Nothing on this connection decodes, but its broker is known.
    settled += stage.feed(second.chunks(("c", framed(pack(">hhi", 0, 99, 9) + b"\0\1xyz")), ("c", Close("rst"))))
    settled += stage.finish()
    assert told(settled) == ["Heartbeat 3 #1 complete", "Produce 99 #9 unanswered at rst"]


def test_every_line_of_json_is_one_line() -> None:
    (exchange,) = exchanges(play(("c", beat(1)), ("b", beaten(1))))
    assert isinstance(exchange, Exchange)
    assert re.fullmatch(rb"\{[^\n]*\}\n", to_json_bytes(exchange))
