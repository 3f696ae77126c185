"""Decisions about single frames as plays: decisions in, bytes to each side out, in pieces of any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decoders
from decoders.filters.prefilter import Possible
from kwcli.proxy.relay.frame_decisions import PASS, AnswerDelivery, Decision, HandlingTable, InterceptedExchange, Then
from kwcli.proxy.relay.handling_by_api_version import WANTED
from tests.proxy.stage import CLIENT, FETCH, HEARTBEAT, METADATA, PRODUCE, Stage, metadata, pieces, request, response

SERVER = 1
HERE = {1: ("127.0.0.1", 19094)}
MS = 1_000_000
LIST_GROUPS = 16
LOOK = Decision(show_answer=True)
Decide = Callable[[InterceptedExchange], Decision | None]


class Judge:
    """A decider with prepared decisions about all frames of some APIs; `asked` and `answered` are the frames it got."""

    def __init__(
        self,
        request: Decision | Decide | None = PASS,
        response: Decision | Decide | None = PASS,
        *,
        apis: tuple[int, ...] = (HEARTBEAT,),
        total: int = 1 << 20,
        possible: Possible = True,
    ) -> None:
        self._possible = possible
        self.handling_table = HandlingTable(lambda key, _: key in apis)
        self._request, self._response = request, response
        self.asked: list[InterceptedExchange] = []
        self.answered: list[InterceptedExchange] = []
        self.total = total
        self.kept = 0

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        assert (version >= 0, client_id) == (True, b"c")
        return self._possible if self.handling_table.find_handling(api_key << 16 | version).reads >= WANTED else False

    def reserve_bytes(self, size: int) -> bool:
        if self.kept + size > self.total:
            return False
        self.kept += size
        return True

    def release_bytes(self, size: int) -> None:
        self.kept -= size
        assert self.kept >= 0

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        assert now_ns
        self.asked.append(exchange)
        return self._request(exchange) if callable(self._request) else self._request

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        assert now_ns
        self.answered.append(exchange)
        return self._response(exchange) if callable(self._response) else self._response


def beat(number: int) -> bytes:
    return request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"}, id=number)


def beaten(number: int, error: int = 0) -> bytes:
    return response(HEARTBEAT, 4, {"error_code": error}, id=number)


def listed(number: int) -> bytes:
    return request(LIST_GROUPS, 2, id=number)


def groups(number: int) -> bytes:
    return response(LIST_GROUPS, 2, id=number)


ASKED = beat(1) + listed(2) + beat(3)
ANSWERS = beaten(1) + groups(2) + beaten(3)
STEPS = [1, 2, 3, 5, 13, 64, 10_000]


def refused(exchange: InterceptedExchange) -> Decision:
    return Decision(reply=beaten(exchange.correlation_id, 27))


def play(judge: Judge, asked: bytes, answers: bytes, step: int, **stage: Any) -> Stage:
    made = Stage(frame_decider=judge, **stage)
    made.client(*pieces(asked, step))
    if answers and made.closed is None and made.reset is None:
        made.server(*pieces(answers, step))
    return made


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("decision", [PASS, LOOK])
def test_what_nobody_wants_otherwise_passes_as_it_is(step: int, decision: Decision) -> None:
    judge = Judge(decision)
    stage = play(judge, ASKED, ANSWERS, step)
    assert (stage.at_server, stage.at_client) == (ASKED, ANSWERS)
    assert [each.correlation_id for each in judge.asked] == [1, 3]
    assert len(judge.answered) == (2 if decision.show_answer else 0)
    assert (judge.kept, stage.connection.is_idle, stage.closed) == (0, True, None)


def test_a_whole_chunk_of_requests_that_pass_stays_one() -> None:
    stage = Stage(frame_decider=Judge(LOOK)).client(ASKED)
    assert stage.to_server == [ASKED]


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_of_our_own_comes_in_its_turn(step: int) -> None:
    judge = Judge(lambda x: refused(x) if x.correlation_id == 1 else PASS)
    asked = listed(9) + ASKED
    stage = play(judge, asked, groups(9) + groups(2) + beaten(3), step)
    assert stage.at_server == listed(9) + listed(2) + beat(3)
    assert stage.at_client == groups(9) + beaten(1, 27) + groups(2) + beaten(3)
    assert (judge.kept, stage.connection.is_idle) == (0, True)


def test_an_answer_of_our_own_needs_no_broker() -> None:
    stage = Stage(frame_decider=Judge(refused)).client(beat(1), beat(2))
    assert stage.at_client == beaten(1, 27) + beaten(2, 27)
    assert stage.at_server == b""


def test_our_own_answer_waits_for_the_end_of_the_one_before() -> None:
    judge = Judge(refused)
    stage = Stage(frame_decider=judge).client(listed(1)).server(groups(1)[:9]).client(beat(2))
    assert stage.at_client == groups(1)[:9]
    stage.server(groups(1)[9:])
    assert stage.at_client == groups(1) + beaten(2, 27)


@pytest.mark.parametrize("step", STEPS)
def test_a_changed_request_and_a_changed_answer(step: int) -> None:
    judge = Judge(
        Decision(beat(7)[:8] + beat(1)[8:], show_answer=True), lambda x: Decision(beaten(x.correlation_id, 25))
    )
    stage = play(judge, beat(1) + listed(2), beaten(1) + groups(2), step)
    assert stage.at_server == beat(7)[:8] + beat(1)[8:] + listed(2)
    assert stage.at_client == beaten(1, 25) + groups(2)


ENDS: Mapping[Then, tuple[str | None, str | None]] = {
    Then.CLOSE: ("because", None),
    Then.RESET: (None, "because"),
    Then.SWALLOW: (None, None),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("then", ENDS)
def test_a_request_that_ends_the_connection_is_not_sent(step: int, then: Then) -> None:
    judge = Judge(lambda x: Decision(b"", then=then, reason="because") if x.correlation_id == 3 else PASS)
    stage = Stage(frame_decider=judge)
    stage.client(*pieces(beat(1) + listed(2), step)).server(*pieces(beaten(1) + groups(2), step))
    for piece in pieces(beat(3), step):
        stage.client(piece)
    assert stage.at_server == beat(1) + listed(2)
    assert stage.at_client == beaten(1) + groups(2)
    assert (stage.closed, stage.reset) == ENDS[then]
    assert stage.connection.is_swallowed == (then is Then.SWALLOW)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("then", ENDS)
def test_an_answer_that_ends_the_connection_is_lost(step: int, then: Then) -> None:
    judge = Judge(LOOK, lambda x: Decision(b"", then=then, reason="because") if x.correlation_id == 1 else PASS)
    stage = Stage(frame_decider=judge).client(ASKED)
    for piece in pieces(ANSWERS, step):
        if stage.closed is None and stage.reset is None:
            stage.server(piece)
    assert stage.at_server == ASKED
    assert stage.at_client == b""
    assert (stage.closed, stage.reset) == ENDS[then]


@pytest.mark.parametrize("step", STEPS)
def test_swallowed_both_sides_are_read_and_nothing_passes(step: int) -> None:
    judge = Judge(Decision(b"", then=Then.SWALLOW))
    stage = Stage(frame_decider=judge).client(listed(1), *pieces(beat(2) + listed(3), step))
    stage.server(*pieces(groups(1), step)).client(listed(4))
    assert (stage.at_server, stage.at_client) == (listed(1), b"")
    assert stage.stopped == [False, False]
    assert stage.connection.is_idle


@pytest.mark.parametrize("step", STEPS)
def test_withheld_requests_go_on_and_no_answer_comes_any_more(step: int) -> None:
    judge = Judge(LOOK, Decision(b"", then=Then.WITHHOLD))
    stage = play(judge, listed(1) + ASKED, groups(1) + ANSWERS, step)
    stage.client(*pieces(ASKED, step)).server(*pieces(ANSWERS, step))
    assert stage.at_server == listed(1) + ASKED + ASKED
    assert stage.at_client == groups(1)
    assert [each.correlation_id for each in judge.answered] == [1]
    assert stage.connection.is_idle
    assert stage.handle_client_eof().handle_broker_eof().closed == "the broker closed the connection"


@pytest.mark.parametrize("step", STEPS)
def test_a_delayed_request_holds_what_is_behind_it_and_not_the_answers(step: int) -> None:
    judge = Judge(lambda x: Decision(delay_ns=50 * MS) if x.correlation_id == 1 else PASS)
    stage = Stage(frame_decider=judge).client(listed(9)).client(*pieces(ASKED, step))
    assert (stage.at_server, stage.stopped[CLIENT]) == (listed(9), True)
    stage.server(*pieces(groups(9), step))
    assert stage.at_client == groups(9)
    stage.advance_time()
    assert (stage.at_server, stage.stopped[CLIENT]) == (listed(9) + ASKED, False)
    assert stage.now_ns >= 50 * MS
    stage.server(*pieces(ANSWERS, step))
    assert stage.at_client == groups(9) + ANSWERS


@pytest.mark.parametrize("step", STEPS)
def test_a_delayed_answer_holds_those_behind_it_and_not_the_requests(step: int) -> None:
    judge = Judge(LOOK, lambda x: Decision(delay_ns=50 * MS) if x.correlation_id == 1 else PASS)
    stage = play(judge, ASKED, ANSWERS, step)
    assert (stage.at_client, stage.stopped[SERVER]) == (b"", True)
    stage.client(*pieces(listed(4), step))
    assert stage.at_server == ASKED + listed(4)
    stage.advance_time()
    assert (stage.at_client, stage.stopped[SERVER]) == (ANSWERS, False)
    stage.server(*pieces(groups(4), step))
    assert stage.at_client == ANSWERS + groups(4)
    assert (judge.kept, stage.shared_memory.used, stage.connection.is_idle) == (0, 0, True)


@pytest.mark.parametrize("step", STEPS)
def test_a_client_that_leaves_meanwhile_is_told_of_in_its_turn(step: int) -> None:
    judge = Judge(lambda x: Decision(delay_ns=MS) if x.correlation_id == 1 else PASS)
    stage = Stage(frame_decider=judge).client(*pieces(ASKED, step)).handle_client_eof()
    assert "END" not in stage.done
    assert not stage.connection.is_idle
    stage.advance_time()
    assert stage.at_server == ASKED
    assert stage.done[-1] == "END"


@pytest.mark.parametrize("step", STEPS)
def test_decisions_may_come_later(step: int) -> None:
    judge = Judge(lambda x: None if x.correlation_id == 1 else LOOK, None)
    stage = play(judge, ASKED, b"", step)
    assert (stage.at_server, stage.stopped) == (b"", [True, False])
    stage.apply_decision(judge.asked[0], LOOK)
    assert (stage.at_server, stage.stopped) == (ASKED, [False, False])
    stage.server(*pieces(ANSWERS, step))
    assert (stage.at_client, stage.stopped) == (b"", [False, True])
    stage.apply_decision(judge.answered[0], PASS)
    assert stage.at_client == beaten(1) + groups(2)
    stage.apply_decision(judge.answered[1], Decision(beaten(3, 16)))
    assert (stage.at_client, stage.stopped) == (beaten(1) + groups(2) + beaten(3, 16), [False, False])


def test_a_late_decision_about_a_connection_that_is_over_does_nothing() -> None:
    judge = Judge(None)
    stage = Stage(frame_decider=judge).client(beat(1)).handle_broker_eof()
    assert stage.closed is not None
    assert stage.connection.apply_decision(judge.asked[0], PASS, 1) == []


DELIVERIES = {
    AnswerDelivery(times=2): [(0, "all"), (0, "all")],
    AnswerDelivery(cut=7): [(0, "7")],
    AnswerDelivery(cut=10_000): [(0, "all")],
    AnswerDelivery(cut=0): [],
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_an_answer_in_another_manner(step: int, delivery: AnswerDelivery) -> None:
    judge = Judge(LOOK, Decision(delivery=delivery))
    stage = play(judge, beat(1) + listed(2), beaten(1) + groups(2), step)
    what = b"".join(beaten(1)[: None if text == "all" else int(text)] for _, text in DELIVERIES[delivery])
    assert stage.at_client == what + groups(2)


@pytest.mark.parametrize("step", STEPS)
def test_slices_are_sent_one_by_one(step: int) -> None:
    judge = Judge(LOOK, Decision(delivery=AnswerDelivery(piece=6)))
    stage = play(judge, beat(1), beaten(1), step)
    assert stage.to_client == pieces(beaten(1), 6)


def test_a_slow_answer_takes_its_time_and_holds_the_next() -> None:
    judge = Judge(LOOK, Decision(delivery=AnswerDelivery(rate=500.0)))
    stage = play(judge, beat(1) + listed(2), beaten(1) + groups(2), 10_000)
    assert stage.at_client == beaten(1)[:10]
    while stage.timers:
        assert stage.stopped[SERVER]
        stage.advance_time()
    assert stage.at_client == beaten(1) + groups(2)
    assert stage.now_ns >= 20 * MS
    assert not stage.stopped[SERVER]


def test_a_mute_comes_behind_the_answer() -> None:
    judge = Judge(LOOK, Decision(mute_ns=70 * MS))
    stage = play(judge, beat(1), beaten(1), 10_000)
    assert (stage.at_client, stage.muted_ns, stage.done[-2:]) == (beaten(1), 70 * MS, ["SEND_CLIENT", "MUTE"])


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_is_shown_with_the_brokers_places_and_rewritten_afterwards(step: int) -> None:
    judge = Judge(LOOK, Decision(delay_ns=MS, then=Then.CLOSE, reason="done"), apis=(METADATA,))
    stage = Stage(HERE, frame_decider=judge).client(*pieces(request(METADATA, 12), step))
    stage.server(*pieces(metadata((1, "kafka-1.invalid", 9092)), step)).advance_time()
    (exchange,) = judge.answered
    assert exchange.response == metadata((1, "kafka-1.invalid", 9092))
    assert stage.at_client == metadata((1, "127.0.0.1", 19094))
    assert stage.closed == "done"


def test_an_answer_of_our_own_is_rewritten_as_well() -> None:
    judge = Judge(Decision(reply=metadata((1, "kafka-1.invalid", 9092))), apis=(METADATA,))
    stage = Stage(HERE, frame_decider=judge).client(request(METADATA, 12) + listed(2))
    assert stage.at_client == metadata((1, "127.0.0.1", 19094))
    assert stage.at_server == listed(2)


@pytest.mark.parametrize("step", STEPS)
def test_a_request_without_an_answer_is_judged_and_gets_none(step: int) -> None:
    silent = request(PRODUCE, 9, {"acks": 0})
    judge = Judge(Decision(reply=response(PRODUCE, 9)), apis=(PRODUCE,))
    stage = play(judge, silent + listed(2), groups(2), step)
    assert not judge.asked[0].answered
    assert (stage.at_server, stage.at_client) == (listed(2), groups(2))


def test_too_many_bytes_pass_without_being_looked_at_and_it_is_said() -> None:
    judge = Judge(refused, total=10)
    stage = play(judge, beat(1), beaten(1), 10_000)
    assert (stage.at_server, stage.at_client, judge.asked) == (beat(1), beaten(1), [])
    assert stage.notes == ["a Heartbeat 4 passed unchecked: too many bytes of requests are held (--fault, --script)"]


@pytest.mark.parametrize("step", STEPS)
def test_a_client_that_leaves_inside_a_request_had_its_bytes_sent(step: int) -> None:
    stage = Stage(frame_decider=Judge(LOOK)).client(*pieces(listed(1) + beat(2)[:-3], step)).handle_client_eof()
    assert stage.at_server == listed(1) + beat(2)[:-3]
    assert stage.notes == ["the client closed the connection inside a request"]


def test_what_is_wanted_may_change() -> None:
    apis = [HEARTBEAT]
    judge = Judge(refused)
    judge.handling_table = HandlingTable(lambda key, _: key in apis)
    stage = Stage(frame_decider=judge).client(beat(1))
    apis.clear()
    judge.handling_table.forget_handlings()
    stage.client(beat(2)).server(beaten(2))
    assert stage.at_client == beaten(1, 27) + beaten(2)


TRAFFIC = st.lists(st.sampled_from([HEARTBEAT, LIST_GROUPS, METADATA, FETCH, PRODUCE]), min_size=1, max_size=8)


@given(TRAFFIC, st.data())
def test_without_a_decision_bytes_are_those_of_a_proxy_without_anybody(keys: list[int], data: st.DataObject) -> None:
    versions = {HEARTBEAT: 4, LIST_GROUPS: 2, METADATA: 12, FETCH: 13, PRODUCE: 9}
    asked = b"".join(request(key, versions[key], id=number) for number, key in enumerate(keys))
    answers = b"".join(
        metadata((1, "kafka-1.invalid", 9092), id=number)
        if key == METADATA
        else response(key, versions[key], id=number)
        for number, key in enumerate(keys)
        if not (key == PRODUCE and not decoders.decode_request(request(key, 9)[4:]).body["acks"])
    )
    wanted = tuple(data.draw(st.sets(st.sampled_from(sorted(versions)))))
    decision = data.draw(st.sampled_from([PASS, LOOK]))
    plain = Stage(HERE)
    judged = Stage(HERE, frame_decider=Judge(decision, apis=wanted))
    for stage in (plain, judged):
        for side, whole in ((stage.client, asked), (stage.server, answers)):
            cuts = sorted(data.draw(st.sets(st.integers(1, max(len(whole) - 1, 1)), max_size=6)))
            side(*(whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b))
    assert (judged.at_server, judged.at_client) == (plain.at_server, plain.at_client) == (asked, plain.at_client)
    assert (judged.notes, judged.closed, judged.connection.is_idle) == (plain.notes, plain.closed, True)
