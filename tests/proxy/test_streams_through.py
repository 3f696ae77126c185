"""Every message of every API without a row in the rewrite table goes through byte by byte, in pieces of any size."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoders
from decoders.apis import NAMES, api
from decoders.protocol_facts.api_keys import API_VERSIONS
from kwcli.proxy.relay.rewrite_addresses import are_responses_buffered, find_address_row
from tests.proxy.stage import METADATA, PRODUCE, SASL_HANDSHAKE, Stage, framed, metadata, pieces, request, response

EVERY = [(key, version) for key in sorted(NAMES) for version in api(key).versions]
WHERE = {1: ("127.0.0.1", 19094), 2: ("127.0.0.1", 19095)}


def asked(key: int, version: int, number: int = 5) -> bytes:
    value = {"acks": 1, "timeout_ms": 1} if key == PRODUCE else {}
    return request(key, version, value, id=number)


@pytest.mark.parametrize(("key", "version"), EVERY, ids=[f"{api(key).name}-{version}" for key, version in EVERY])
def test_requests_go_through_as_they_are(key: int, version: int) -> None:
    data = asked(key, version)
    for step in (1, 3, len(data)):
        stage = Stage().client(*pieces(data, step))
        assert stage.at_server == data
        assert stage.closed is None


STREAMED = [
    (key, version)
    for key, version in EVERY
    if not are_responses_buffered(key, version) and (key, version) != (SASL_HANDSHAKE, 0)
]


@pytest.mark.parametrize(("key", "version"), STREAMED, ids=[f"{api(key).name}-{version}" for key, version in STREAMED])
def test_responses_outside_the_table_go_through_in_their_pieces(key: int, version: int) -> None:
    # The body may be any bytes: the proxy does not read it.
    answer = framed((5).to_bytes(4, "big") + bytes(range(200)))
    for chunks in ([answer], [answer[:8], answer[8:]], [answer[:100], answer[100:150], answer[150:]]):
        stage = Stage().client(asked(key, version)).server(*chunks)
        assert stage.to_client == chunks
    assert Stage().client(asked(key, version)).server(*pieces(answer, 1)).at_client == answer


BUFFERED = [(key, version) for key, version in EVERY if find_address_row(key, version) is not None]


@pytest.mark.parametrize(("key", "version"), BUFFERED, ids=[f"{api(key).name}-{version}" for key, version in BUFFERED])
def test_responses_of_the_table_that_name_nobody_are_not_touched(key: int, version: int) -> None:
    answer = response(key, version, {}, id=5)
    for step in (1, 9, len(answer)):
        stage = Stage().client(asked(key, version)).server(*pieces(answer, step))
        assert stage.at_client == answer
        assert stage.closed is None


@pytest.mark.parametrize("version", api(API_VERSIONS).versions)
def test_offers_that_need_no_cap_are_not_touched(version: int) -> None:
    rows = [{"api_key": key, "min_version": 0, "max_version": 1} for key in (3, 12, 999)]
    answer = response(API_VERSIONS, version, {"api_keys": rows}, id=5)
    assert Stage().client(asked(API_VERSIONS, version)).server(answer).at_client == answer


# Random requests and answers in any pieces; the output does not depend on the pieces.

MIX = [(12, 4), (METADATA, 12), (METADATA, 1), (PRODUCE, 9), (PRODUCE, 10), (9, 8), (API_VERSIONS, 3)]


def exchange(kind: int, number: int) -> tuple[bytes, bytes, bytes]:
    """A request, the broker's answer, and the answer that the client must get."""
    key, version = MIX[kind]
    if key == METADATA:
        before = metadata((1, "kafka-1.invalid", 9092), (2, "k2.invalid", 1), version=version, id=number)
        after = metadata((1, *WHERE[1]), (2, *WHERE[2]), version=version, id=number)
        return asked(key, version, number), before, after
    same = response(key, version, {}, id=number)
    return asked(key, version, number), same, same


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % len(data) for place in places}), len(data)] if data else []
    return [data[a:b] for a, b in itertools.pairwise(edges) if a != b]


PLACES = st.lists(st.integers(0, 10_000), max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, len(MIX)), min_size=1, max_size=8), PLACES, PLACES, st.booleans())
def test_the_pieces_make_no_difference(kinds: list[int], up: list[int], down: list[int], at_once: bool) -> None:
    questions = answers = expected = b""
    for number, kind in enumerate(kinds):
        if kind == len(MIX):
            questions += request(PRODUCE, 9, {"acks": 0, "timeout_ms": 1}, id=number)
            continue
        question, answer, seen = exchange(kind, number)
        questions += question
        answers += answer
        expected += seen
    stage = Stage(WHERE, at_once=at_once).client(*cut(questions, up)).server(*cut(answers, down))
    while not at_once and stage.waiting:
        stage.answer()
    assert stage.at_server == questions
    assert stage.at_client == expected
    assert stage.closed is None
    assert stage.connection.is_idle
    assert stage.shared_memory.used == 0


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, len(MIX) - 1), min_size=1, max_size=5), st.integers(0, 10_000), PLACES, PLACES)
def test_a_talk_may_be_cut_anywhere(kinds: list[int], at: int, up: list[int], down: list[int]) -> None:
    talk = [exchange(kind, number) for number, kind in enumerate(kinds)]
    questions, answers = b"".join(each[0] for each in talk), b"".join(each[1] for each in talk)
    expected = b"".join(each[2] for each in talk)
    stage = Stage(WHERE).client(*cut(questions, up)).server(*cut(answers[: at % (len(answers) + 1)], down))
    stage.handle_broker_eof()
    assert expected.startswith(stage.at_client)
    assert stage.closed is not None
    assert stage.closed.startswith("the broker closed the connection")
    assert stage.shared_memory.used == 0


@pytest.mark.long
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), PLACES, st.binary(max_size=300), PLACES)
def test_any_bytes_end_in_a_reason_and_never_in_an_error(
    up: bytes, up_cut: list[int], down: bytes, down_cut: list[int]
) -> None:
    stage = Stage(WHERE).client(asked(METADATA, 12, 1)).client(*cut(up, up_cut)).server(*cut(down, down_cut))
    stage.handle_client_eof().handle_broker_eof()
    assert stage.closed is not None
    assert (asked(METADATA, 12, 1) + up).startswith(stage.at_server)
    for _, host, _ in stage.resolved:
        assert host.encode() not in stage.at_client


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(5)))
def test_answers_in_any_other_order_end_the_connection(order: list[int]) -> None:
    stage = Stage().client(*(asked(12, 4, number) for number in range(5)))
    for number in order:
        stage.server(response(12, 4, id=number))
    good = list(itertools.takewhile(lambda pair: pair[0] == pair[1], enumerate(order)))
    assert stage.at_client == b"".join(response(12, 4, id=number) for number, _ in good)
    assert (stage.closed is None) == (order == list(range(5)))


def test_the_table_is_not_everything() -> None:
    assert len(STREAMED) > 5 * len(BUFFERED) > 0
    assert decoders.api("Metadata").key == METADATA
