"""A session's conversation, played without sockets: every answer at once and byte by byte."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.limits import FRAME_MAX
from decoders.messages.whole_messages import encode_response
from kwcli.net.explain_connection_end import Cause
from kwcli.net.session.broker_session import OPENING_FRAME_MAX, Session, SessionPhase
from kwcli.net.session.version_negotiation import make_assumed_offer
from kwcli.run_environment import Exit
from tests.net.playbook import MODERN, PIECES, Play, framed, offers, plain

# Negotiation


@PIECES
@pytest.mark.parametrize(
    ("knows", "answers", "asked"),
    [
        pytest.param(False, [(4, 0, {18: (0, 4)})], [4], id="3.9 and later"),
        pytest.param(False, [(0, 35, {18: (0, 3)}), (3, 0, {18: (0, 3)})], [4, 3], id="2.4: it names its range"),
        pytest.param(False, [(0, 35, {}), (0, 0, {18: (0, 2)})], [4, 0], id="0.10: it names nothing"),
        pytest.param(True, [(5, 0, {18: (0, 5)})], [5], id="4.4, asked for by name"),
        pytest.param(True, [(0, 35, {18: (0, 4)}), (4, 0, {18: (0, 4)})], [5, 4], id="4.3, asked for by name"),
        pytest.param(False, [(0, 35, {18: (0, 9)}), (3, 0, {18: (0, 9)})], [4, 3], id="one that contradicts itself"),
    ],
)
def test_the_highest_version_of_api_versions_that_both_know_is_found(
    pieces: int | None,
    knows: bool,
    answers: list[tuple[int, int, Mapping[int, tuple[int, int]]]],
    asked: list[int],
) -> None:
    identity = {"cluster_id": "MkU3OEVBNTcwNTJENDM2Qk", "node_id": 1} if knows else {}
    play = Play(Session(client_id="kw", **identity), pieces).open()  # type: ignore[arg-type]  # of two types, by name
    for version, error, ranges in answers:
        play.answer(version, offers(ranges, error=error))
    assert play.stop is None
    assert play.said == [f"ApiVersions {version}" for version in asked]
    assert play.opened == 1
    assert play.session.phase is SessionPhase.READY
    assert play.session.offer is not None
    assert str(play.session.versions[18]) == f"0-{answers[-1][2][18][1]}"


@PIECES
def test_a_refusal_that_is_broken_behind_its_error_code_is_one(pieces: int | None) -> None:
    """librdkafka's mock counts the rows in version 3's encoding and writes them in version 0's."""
    play = Play(Session(client_id="kw"), pieces).open()
    correlation_id = play.last.correlation_id.to_bytes(4, "big")
    play.give(framed(correlation_id + bytes.fromhex("0023  01  0012 0000 0002  00000000")))
    play.answer(0, offers({18: (0, 2)}))
    assert play.said == ["ApiVersions 4", "ApiVersions 0"]
    assert play.opened == 1


def test_a_broker_that_refuses_every_version_is_given_up() -> None:
    play = Play(Session(client_id="kw")).open()
    play.answer(0, offers({18: (0, 4)}, error=35)).answer(0, offers({18: (0, 4)}, error=35))
    for _ in range(4):
        if play.stop is None:
            play.answer(0, offers({18: (0, 4)}, error=35))
    assert play.stop is not None
    assert len(play.said) <= 4
    assert play.session.phase is SessionPhase.OVER


def test_ranges_that_are_none_are_left_out_and_of_two_the_first_counts() -> None:
    play = Play(Session(client_id="kw")).open()
    value = offers({3: (0, 13), 4: (2, 1), 5: (-3, -1), 18: (0, 4)})
    value["api_keys"].append({"api_key": 3, "min_version": 0, "max_version": 1})
    play.answer(4, value)
    assert {key: str(versions) for key, versions in play.session.versions.items()} == {3: "0-13", 18: "0-4"}


def test_a_broker_of_before_api_versions_gives_a_sign_of_life() -> None:
    play = Play(Session(client_id="kw", assumed=make_assumed_offer("0.9.0"))).open()
    assert play.said == ["OffsetFetch 0"]
    play.answer(0, {"topics": []})
    assert play.opened == 1
    assert str(play.session.versions[3]) == "0"
    assert 18 not in play.session.versions


# Requests


def ready(pieces: int | None = None) -> Play:
    return Play(Session(client_id="kw"), pieces).open().answer(4, offers(MODERN))


@PIECES
def test_answers_come_in_the_order_of_the_requests(pieces: int | None) -> None:
    play = ready(pieces)
    first, second = play.session.queue_request(3, 0, bytes(4)), play.session.queue_request(3, 1, bytes(4))
    produce = play.session.queue_request(0, 3, b"", respond=False)
    assert [first.correlation_id, second.correlation_id, produce.correlation_id] == [2, 3, 4]
    play.give(framed(first.correlation_id.to_bytes(4, "big") + b"a") + framed(second.correlation_id.to_bytes(4, "big")))
    assert play.answers[1:] == ["Metadata 0", "Metadata 1"]
    assert play.said[1:] == ["Metadata 0", "Metadata 1", "Produce 3"]
    assert play.session.due is None


def test_a_frame_has_the_header_that_its_version_wants() -> None:
    play = ready()
    assert play.session.queue_request(7, 0, b"!").frame == bytes.fromhex("00000009 0007 0000 00000002") + b"!"
    assert play.session.queue_request(3, 8, b"!").frame == bytes.fromhex("0000000d 0003 0008 00000003 0002 6b77") + b"!"
    assert (
        play.session.queue_request(3, 9, b"!").frame == bytes.fromhex("0000000e 0003 0009 00000004 0002 6b77 00") + b"!"
    )
    tagged = play.session.queue_request(3, 9, b"", header_tags={7: b"ab"}).frame
    assert tagged == bytes.fromhex("00000011 0003 0009 00000005 0002 6b77 01 07 02 6162")
    unknown = play.session.queue_request(4711, 3, b"").frame
    assert unknown == bytes.fromhex("0000000c 1267 0003 00000006 0002 6b77")


@PIECES
@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param("00000004 00000007", "answered Metadata 0 with correlation id 7, not 2", id="another's answer"),
        pytest.param(
            "00000004 00000002 00000004 00000002", "sent 8 bytes that answer no request", id="an answer twice"
        ),
        pytest.param("00000000", "sent a frame of 0 bytes", id="an empty frame"),
        pytest.param("00000003 000000", "sent a frame of 3 bytes", id="a frame too short for an id"),
        pytest.param("ffffffff", "sent a frame of -1 bytes", id="a negative size"),
        pytest.param("7fffffff", "sent a frame of 2,147,483,647 bytes", id="a huge size"),
        pytest.param("08000001", f"sent a frame of {FRAME_MAX + 1:,} bytes", id="one byte too many"),
    ],
)
def test_what_breaks_the_rules_ends_the_session(pieces: int | None, data: str, said: str) -> None:
    play = ready(pieces)
    play.session.queue_request(3, 0, bytes(4))
    play.give(bytes.fromhex(data))
    assert play.stop is not None
    assert play.stop.text.startswith(said)
    assert play.stop.cause is Cause.BROKEN
    assert play.session.phase is SessionPhase.OVER


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "closed the connection instead of answering Metadata 0"),
        ("0000", "closed the connection after 2 bytes of the answer to Metadata 0"),
        ("00000064 00000002 00", "closed the connection after 9 of 104 bytes of the answer to Metadata 0"),
    ],
)
def test_a_close_says_what_was_waited_for(given: str, said: str) -> None:
    play = ready()
    play.session.queue_request(3, 0, bytes(4))
    play.give(bytes.fromhex(given)).close()
    assert play.stop is not None
    assert play.stop.text == said


@PIECES
def test_a_broker_that_closes_inside_its_first_answer_speaks_kafka_all_the_same(pieces: int | None) -> None:
    answer = framed(encode_response(18, 4, offers(MODERN), correlation_id=1))
    for cut in range(4, len(answer)):
        play = Play(Session(client_id="kw"), pieces).open().give(answer[:cut]).close()
        assert play.stop is not None
        said = f"closed the connection after {cut} of {len(answer)} bytes of the answer to ApiVersions 4"
        assert (play.stop.text, play.stop.remedy) == (said, "the broker's log says why")
        assert (play.stop.cause, play.stop.code) == (Cause.BROKEN, Exit.UNREACHABLE)


def test_a_close_with_nothing_due_is_no_failure() -> None:
    assert ready().close().stop is None


# Not Kafka


@PIECES
@pytest.mark.parametrize(
    ("greeting", "said", "remedy"),
    [
        (bytes.fromhex("15030300020246"), "speaks TLS", "try -X security.protocol=SSL"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "speaks HTTP/1 (answer 400 Bad Request), not Kafka",
            "check host and port",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "speaks SSH (2.0-OpenSSH_9.6), not Kafka", "check host and port"),
        (b"-ERR unknown command\r\n", "speaks Redis (answer -ERR unknown command), not Kafka", "check host and port"),
        (bytes.fromhex("deadbeef00"), "does not speak Kafka: it sent de ad be ef 00", "check host and port"),
        (b"hello there\r\n", 'does not speak Kafka: it sent "hello there"', "check host and port"),
    ],
)
def test_other_protocols_are_named(pieces: int | None, greeting: bytes, said: str, remedy: str) -> None:
    play = Play(Session(client_id="kw")).open().give(greeting)
    assert play.stop is not None
    assert (play.stop.text, play.stop.remedy) == (said, remedy)
    assert play.stop.cause is Cause.FOREIGN
    assert play.stop.code is Exit.UNREACHABLE
    cut = Play(Session(client_id="kw"), pieces).open().give(greeting)
    assert cut.stop is not None
    assert cut.stop.cause is Cause.FOREIGN


# Any bytes


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_nothing_but_a_stop_comes_of_any_bytes(data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(["opening", "handshake", "token", "ready"]))
    play = Play(Session(client_id="kw", mechanism=None if at in ("opening", "ready") else plain)).open()
    if at != "opening":
        play.answer(4, offers(MODERN))
    if at == "token":
        play.answer(1, {"mechanisms": []})
    if at == "ready":
        play.session.queue_request(3, 13, b"\0")
    correct = play.session.due.correlation_id.to_bytes(4, "big") if play.session.due else b""
    frame = st.binary(max_size=64).map(lambda body: framed(correct + body))
    for piece in data.draw(st.lists(st.one_of(frame, st.binary(max_size=64)), max_size=6)):
        play.give(piece)
    play.close()
    assert play.session.phase in (SessionPhase.OVER, SessionPhase.READY)
    assert play.session.phase is SessionPhase.OVER or play.opened


def test_a_size_that_is_only_claimed_takes_no_memory() -> None:
    import tracemalloc

    play = ready()
    play.session.queue_request(3, 0, bytes(4))
    tracemalloc.start()
    try:
        play.give(FRAME_MAX.to_bytes(4, "big") + bytes(4096))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert play.stop is None
    assert peak < 64 * 1024


def test_an_opening_takes_no_large_frames() -> None:
    play = Play(Session(client_id="kw")).open().give((OPENING_FRAME_MAX + 1).to_bytes(4, "big"))
    assert play.stop is not None
