"""Requests that pass because no rule can match their bytes, against the answers of the whole filters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders import read_exchanges
from decoders.exchanges.exchange import Exchange
from decoders.filters import Filter, Phase, parse
from decoders.filters.prefilter import Possible
from kwcli.proxy.deciding.ask_deciders import ConnectionDeciders
from kwcli.proxy.deciding.faults.decide_by_fault_rules import prefilter_fetch_session
from kwcli.proxy.deciding.match_filters import FilterContext, FilteredConnection
from kwcli.proxy.node_listeners import Listener
from kwcli.proxy.relay.frame_decisions import InterceptedExchange
from kwcli.proxy.relay.handling_by_api_version import RequestHandling, read_client_id
from tests.captures.shipped import FOLDER, capture_bytes
from tests.proxy.faults.playing import FaultyStage
from tests.proxy.stage import FETCH, HEARTBEAT, METADATA, PRODUCE, Stage, pieces, request, response
from tests.proxy.test_interventions import Judge, beat, beaten

CAPTURES: Final = sorted(path.name for path in FOLDER.glob("*.pcap*"))
# The number of requests of each API, version and client in each capture.
_FEW: Final = 1


class Client:
    """The connection that all requests come on."""

    number = 7
    peer = "10.0.0.7:54321"
    via_address: str | None = None

    def __init__(self) -> None:
        self.connection_deciders: ConnectionDeciders | None = None
        self.listener = Listener(1, ("127.0.0.1", 19094), (("kafka-1.invalid", 9092),), None)

    def apply_decision(self, *_: object) -> None:
        raise AssertionError

    def log_refusal(self, *_: object) -> None:
        """Ignore a refusal."""

    def log_fault(self, *_: object) -> None:
        raise AssertionError


@cache
def exchanges(name: str) -> tuple[Exchange, ...]:
    """The exchanges of a capture whose requests are complete, with the size field."""
    rows = read_exchanges(capture_bytes(name))
    found = (row for row in rows if row.kind == "exchange" and isinstance(row, Exchange))
    return tuple(row for row in found if row.api_key is not None and _whole(row.request_raw, row.request_size))


def _whole(raw: bytes | None, size: int | None) -> bool:
    return raw is not None and size is not None and len(raw) == size + 4


@cache
def requests() -> tuple[tuple[int, int, bytes], ...]:
    """Key, version and bytes of a few requests of each kind."""
    seen: dict[Any, int] = {}
    found = []
    for name in CAPTURES:
        for row in exchanges(name):
            kind = name, row.api_key, row.api_version, row.client_id
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= _FEW:
                assert row.api_key is not None
                assert row.api_version is not None
                assert row.request_raw is not None
                found.append((row.api_key, row.api_version, row.request_raw))
    return tuple(found)


def verdicts(one: Filter, filter_context: FilterContext, *, answered: bool) -> Iterator[tuple[bool, bool]]:
    """For each request: whether it may pass by its bytes, and whether it may by the filter itself."""
    watched = FilteredConnection(Client())
    known: dict[tuple[int, int, bytes | None], Possible] = {}
    for key, version, frame in requests():
        client_id = read_client_id(key, version, frame, 0, len(frame))
        if client_id is None:
            continue
        held = InterceptedExchange(
            RequestHandling(key, version, 0, 0), int.from_bytes(frame[8:12], "big"), frame, 1, answered=True
        )
        seen = watched.build_exchange_of_request(filter_context, held)
        kind = key, version, client_id[1]
        if kind not in known:
            prefilter = filter_context.make_prefilter(watched.build_exchange_of_header(filter_context, *kind, 1))
            known[kind] = prefilter.make_test_of_selection(one, answered=answered)
        possible = known[kind]
        short = possible if isinstance(possible, bool) else possible(b"??" + frame + b"orders", 2, 2 + len(frame))
        # With the answer still to come, only a decision on the request is certain.
        yield short, one.decide(seen, Phase.REQUEST) is True if answered else one.matches(seen)


def learnt(*filters: Filter) -> FilterContext:
    """Filters on a connection of a proxy that knows the topic names of all captures."""
    from decoders.exchanges.topic_and_node_names import Topics

    topics = Topics()
    for name in CAPTURES:
        for row in exchanges(name):
            for identity, (topic, _) in row.connection_info.topics.names.items():
                if identity not in topics.names:
                    topics.add(identity, topic)
    assert len(topics.names) > 3
    return FilterContext(filters, topics)


@pytest.mark.parametrize("client_id", [None, "", "c" * 40])
@pytest.mark.parametrize("version", range(4, 19))
def test_a_fetch_outside_of_sessions_is_known_by_its_bytes(version: int, client_id: str | None) -> None:
    asked = prefilter_fetch_session(version, None if client_id is None else client_id.encode())
    for session, inside in (((0, -1), False), ((0, 0), True), ((5, 3), True), ((5, -1), True)):
        said = dict(zip(("session_id", "session_epoch"), session, strict=True)) if version >= 7 else {}
        frame = request(FETCH, version, {"max_wait_ms": -1, "min_bytes": 0, **said}, client_id=client_id)
        if isinstance(asked, bool):
            assert (asked, version < 7) == (False, True)
        else:
            assert asked(b"??" + frame, 2, 2 + len(frame)) is inside
            assert asked(frame[:30], 0, 30)  # too short to tell


@pytest.mark.parametrize(("epoch", "held"), [(-1, False), (0, True)])
def test_an_error_holds_only_fetches_of_sessions(epoch: int, held: bool) -> None:
    stage = FaultyStage("error NOT_LEADER_OR_FOLLOWER, when topic == nosuch")
    topics = [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 1}]}]
    frame = request(FETCH, 11, {"topics": topics, "session_epoch": epoch}, client_id="c")
    possible = stage._deciding.prefilter_by_header(FETCH, 11, b"c")
    assert not isinstance(possible, bool)
    assert possible(frame, 0, len(frame)) is held
    named = frame.replace(b"orders", b"nosuch")
    assert possible(named, 0, len(named))


# A filter → the percentage of all requests that its bytes must exclude.
SHARES: Final = {
    "client_id == nobody": 100,
    "client_id != nobody": 0,
    "client == 10.0.0.8": 100,
    "client == 10.0.0.0/8 and node.id == 1": 0,
    "node.id == 2 or broker == :1": 100,
    "topic == nosuch": 95,  # the type of resources has to be read as well
    "topic == orders": 50,
    "topic like 'order*' and client_id ~ '.'": 50,
    "topic ~ '^orders$' or group == nobody": 50,
    "not topic == orders": 0,
    "topic in (nosuch, nothing)": 95,
    "group == nobody or txn == nobody": 99,
    "request.group_id == nobody": 100,
    "request.topics.name == nosuch": 80,
    "request_size > 1GiB": 100,
    "not (request_size > 1GiB)": 0,
    "correlation_id == -77": 100,
    "api == Fetch and client_id == nobody": 100,
    "api_version > 100": 100,
    "request.acks == 0": 80,
    "partition == 0": 0,
    "key == a and client_id == nobody": 100,
    "software == nothing": 0,
    "topic": 30,
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", SHARES)
def test_bytes_say_no_of_what_a_filter_does_not_mean(text: str) -> None:
    one = parse(text)
    found = list(verdicts(one, learnt(one), answered=False))
    assert [number for number, (short, whole) in enumerate(found) if whole and not short] == []
    assert sum(not short for short, _ in found) >= len(found) * SHARES[text] / 100 > -1
    assert len(found) > 300, "too few to say something"


ATOMS: Final = (
    *("client_id == producer-1", "client_id like '*a*'", "client == 10.0.0.7", "connection == 8", "api == Produce"),
    *("topic == orders", "topic == payments", "topic ~ met", "topic like '*s'", "topic", "group == billing", "group"),
    *("txn == t", "api_version >= 7", "request_size < 100", "correlation_id > 5", "node.id == 1", "request.acks == -1"),
    *(
        "request.topics.name == orders",
        "request.group_id like '?*'",
        "partition == 0",
        "records > 1",
        "time > 1970-01-01T00:00:00Z",
    ),
    *("request.topic_data.name == orders", "request.client_software_name == nothing", "software", "request.topics"),
)
FILTERS: Final = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map("not ({})".format),
    ),
    max_leaves=4,
)


@pytest.mark.long
@given(FILTERS, st.booleans())
@settings(max_examples=8)
def test_bytes_never_say_no_of_what_a_filter_means(text: str, answered: bool) -> None:
    one = parse(text)
    found = verdicts(one, learnt(one), answered=answered)
    assert [number for number, (short, whole) in enumerate(found) if whole and not short] == []


@pytest.mark.long
@given(FILTERS, st.booleans())
@settings(max_examples=150)
def test_bytes_never_say_no_of_what_many_filters_mean(text: str, answered: bool) -> None:
    one = parse(text)
    found = verdicts(one, learnt(one), answered=answered)
    assert [number for number, (short, whole) in enumerate(found) if whole and not short] == []


RULES: Final = (
    "error NOT_LEADER_OR_FOLLOWER, every 3, when topic == orders and not api == Fetch",
    "error 6 after, every 2, when api in (Fetch, Produce) and topic == metrics",
    "delay 1ms, every 5, when client_id like 'p*'",
    "delay 2ms answer, first 2, when group ~ a",
    "rewrite request.timeout_ms=7, first 3, when api == Produce and topic == payments",
    "error UNKNOWN_SERVER_ERROR, every 7, when api == Fetch and topic in (orders, payments)",
    "delay 3ms, when correlation_id == 9 or software == nothing",
)


@pytest.mark.parametrize(
    "name", ["tour.pcapng", *(pytest.param(n, marks=pytest.mark.long) for n in CAPTURES if n != "tour.pcapng")]
)
def test_faults_do_the_same_to_a_capture_as_when_all_is_held(name: str) -> None:
    made = [_played(name, short=short) for short in (True, False)]
    assert made[0] == made[1]
    assert made[0] or name not in ("tour.pcapng", "three-nodes.pcapng.zst")


def _played(name: str, *, short: bool) -> list[Any]:
    """The result of each connection of a capture under RULES, with its log entries."""
    by_connection: dict[int, list[Exchange]] = {}
    for row in exchanges(name):
        by_connection.setdefault(row.connection, []).append(row)
    where = {number: ("127.0.0.1", 19094 + number) for number in range(10)}
    faults = None
    found: list[Any] = []
    for number, rows in by_connection.items():
        stage = FaultyStage(*RULES, where=where, faults=faults, number=number)
        faults = stage.faults
        if not short:
            stage.hold_all()
        for row in rows:
            if stage.closed is not None or not _whole(row.response_raw, row.response_size) or row.api_key == 17:
                break
            assert row.request_raw is not None
            assert row.response_raw is not None
            before = len(stage.at_server)
            stage.client(row.request_raw)
            while stage.timers:
                stage.advance_time()
            if len(stage.at_server) > before:
                stage.server(row.response_raw)
                while stage.timers:
                    stage.advance_time()
        found.append((number, stage.at_server, stage.at_client, stage.told, stage.closed, stage.notes))
    assert faults is not None
    found.append(faults.format_closing_lines())
    return found if any(each[3] for each in found[:-1]) else []


# The relay's use of it


@pytest.mark.parametrize("step", [1, 2, 3, 5, 13, 64, 10_000])
@pytest.mark.parametrize("possible", [False, lambda _data, _at, _stop: False])
def test_what_nobody_may_want_is_not_shown(step: int, possible: Possible) -> None:
    asked, answers = beat(1) + beat(2) + beat(3), beaten(1) + beaten(2) + beaten(3)
    judge = Judge(possible=possible)
    stage = Stage(frame_decider=judge).client(*pieces(asked, step)).server(*pieces(answers, step))
    assert (stage.at_server, stage.at_client) == (asked, answers)
    if step > 64:
        assert judge.asked == []
    assert (judge.kept, stage.connection.is_idle, stage.closed) == (0, True, None)


def test_each_request_is_told_by_its_own_bytes() -> None:
    judge = Judge(possible=lambda data, at, stop: data[at:stop].endswith(b"\x02n\x00\x00"))
    frames = [request(HEARTBEAT, 4, {"group_id": "g", "member_id": name}, id=n) for n, name in enumerate("mnmn")]
    Stage(frame_decider=judge).client(b"".join(frames))
    assert [each.request for each in judge.asked] == [frames[1], frames[3]]


def test_another_client_id_or_tags_are_asked_about_anew() -> None:
    stage = FaultyStage("close, when client_id == b")
    frames = [request(HEARTBEAT, 4, {"group_id": "g"}, id=n, client_id=name) for n, name in enumerate(["a", None, "b"])]
    stage.client(b"".join(frames))
    assert (stage.at_server, stage.closed) == (b"".join(frames[:2]), "fault 1 (close)")
    tagged = frames[0][:15] + bytes.fromhex("01 00 01 78") + frames[0][16:]  # one tag in the header
    tagged = (len(tagged) - 4).to_bytes(4, "big") + tagged[4:]
    for rule, closed in (("close, when client_id != a", None), ("close, when client_id == a", "fault 1 (close)")):
        assert FaultyStage(rule).client(tagged).closed == closed


def test_a_topic_that_goes_by_its_id_is_meant_once_its_name_is_known() -> None:
    stage = FaultyStage("delay 1ms, when topic == orders", where={1: ("127.0.0.1", 19094)})
    identity = "AAAAAAAAAAAAAAAAAAAAAg"
    fetch = request(FETCH, 13, {"topics": [{"topic_id": identity, "partitions": [{"partition": 0}]}]})
    stage.client(fetch).server(response(FETCH, 13))
    assert stage.timers == []
    names = [{"topic_id": identity, "name": "orders"}]
    stage.client(request(METADATA, 12)).server(response(METADATA, 12, {"topics": names}))
    stage.client(fetch)
    assert len(stage.timers) == 1


def test_a_rule_that_is_over_wants_nothing_any_more() -> None:
    stage = FaultyStage("delay 1ms, first 1, when topic == orders")
    produce = request(PRODUCE, 9, {"acks": 1, "topic_data": [{"name": "orders", "partition_data": []}]})
    stage.client(produce).advance_time()
    assert stage.deciders.handling_table.find_handling(9).reads >= 8
    stage.client(produce)
    assert stage.deciders.handling_table.find_handling(9).reads < 8
    assert stage.faults.format_closing_lines() == ["fault 1 (delay 1ms): hit 1 of 1 exchange"]
