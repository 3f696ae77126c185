"""Equal answers are read and rewritten once, and never mistaken for others."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.proxy.relay.rewrite_addresses import RewriteFailed, rewrite_addresses
from kwcli.proxy.relay.rewrite_cache import ENDPOINT_COST, ENTRY_COST, RewrittenAnswers
from tests.proxy.stage import API_VERSIONS, FETCH, METADATA, Stage, metadata, request, response

WHERE = {1: ("127.0.0.1", 19094), 2: ("127.0.0.1", 19095)}
NODES = ((1, "kafka-1.invalid", 9092), (2, "kafka-2.invalid", 9092))
FIND_COORDINATOR, DESCRIBE_CLUSTER = 10, 60
ANSWERS = [
    (METADATA, 12, {"brokers": [{"node_id": 1, "host": "kafka-1.invalid", "port": 9092}]}),
    (FIND_COORDINATOR, 3, {"node_id": 2, "host": "kafka-2.invalid", "port": 9092}),
    (DESCRIBE_CLUSTER, 0, {"brokers": [{"broker_id": 1, "host": "kafka-1.invalid", "port": 9092}]}),
]


def offered(most: int, version: int = 3, id: int = 1) -> bytes:
    rows = [{"api_key": METADATA, "min_version": 0, "max_version": most}]
    return response(API_VERSIONS, version, {"api_keys": rows}, id=id)


@pytest.mark.parametrize(("key", "version", "value"), ANSWERS)
def test_the_same_bytes_are_read_and_rewritten_once(key: int, version: int, value: dict[str, Any]) -> None:
    known = RewrittenAnswers()
    for number in range(50):
        frame = response(key, version, value, id=number)
        made = known.rewrite_answer(known.read_answer(key, version, frame), frame, WHERE)
        assert made == rewrite_addresses(key, version, frame, WHERE)
    assert (known.read, known.made) == (1, 1)


def test_offered_versions_are_capped_once_and_said_for_everybody() -> None:
    known = RewrittenAnswers()
    for number in range(50):
        frame, commands = known.cap_answer(3, offered(99, id=number))
        assert frame == offered(13, id=number)
        assert len(commands) == 2
    assert known.read == 1
    assert known.cap_answer(3, offered(12))[0] == offered(12)
    assert known.cap_answer(3, offered(12, id=2))[0] == offered(12, id=2)
    assert known.read == 2


def test_versions_are_told_apart() -> None:
    """Version 4 has the bytes of version 3, but results for one are not used for the other."""
    known = RewrittenAnswers()
    for version in (3, 4, 3, 4):
        assert known.cap_answer(version, offered(99, version))[0] == offered(13, version)
    assert known.read == 2


def test_what_cannot_be_read_is_said_each_time() -> None:
    known = RewrittenAnswers()
    strange = (12).to_bytes(4, "big") + bytes(4) + b"\0\0\0\0\0\x63\0\0"
    assert known.cap_answer(3, strange) == known.cap_answer(3, strange)
    assert "passes unchanged" in known.cap_answer(3, strange)[1][0][1]
    assert known.read == 1
    for _ in range(2):
        with pytest.raises(RewriteFailed):
            known.read_answer(METADATA, 12, metadata(*NODES)[:-1])


def test_listeners_that_move_are_seen() -> None:
    known = RewrittenAnswers()
    frame = metadata(*NODES)
    moved = {**WHERE, 2: ("127.0.0.1", 20000)}
    for where in (WHERE, moved, moved, WHERE):
        made = known.rewrite_answer(known.read_answer(METADATA, 12, frame), frame, where)
        assert made == rewrite_addresses(METADATA, 12, frame, where)
    assert (known.read, known.made) == (1, 3)
    for _ in range(2):
        with pytest.raises(RewriteFailed, match="node 2 has no listener"):
            known.rewrite_answer(known.read_answer(METADATA, 12, frame), frame, {1: WHERE[1]})


def test_one_byte_makes_another_answer() -> None:
    known = RewrittenAnswers()
    frames = [metadata(NODES[0], (2, "kafka-2.invalid", port)) for port in range(9000, 9100)]
    for frame in frames * 2:
        made = known.rewrite_answer(known.read_answer(METADATA, 12, frame), frame, WHERE)
        assert made == rewrite_addresses(METADATA, 12, frame, WHERE)
    assert known.read == known.made == 100


def test_there_is_a_bound_and_the_oldest_go() -> None:
    most = 20 * ENTRY_COST
    known = RewrittenAnswers(most)
    frames = [metadata((1, f"kafka-{number}.invalid", 9092)) for number in range(200)]
    for frame in frames:
        known.rewrite_answer(known.read_answer(METADATA, 12, frame), frame, WHERE)
        known.rewrite_answer(known.read_answer(METADATA, 12, frames[0]), frames[0], WHERE)
        assert 0 < known.size <= most
    assert known.read == 200
    known.read_answer(METADATA, 12, frames[1])
    assert known.read == 201


def test_what_is_large_or_never_comes_again_is_not_kept() -> None:
    known = RewrittenAnswers(4000)
    large = metadata(*((number, "kafka.invalid", 9092) for number in range(1, 100)))
    fetched = response(FETCH, 16, {"node_endpoints": [{"node_id": 1, "host": "kafka-1.invalid", "port": 9092}]})
    for _ in range(2):
        assert len(known.read_answer(METADATA, 12, large).found) == 99
        assert known.rewrite_answer(known.read_answer(FETCH, 16, fetched), fetched, WHERE).frame != fetched
    assert known.size == 0
    assert known.read == 2


def test_an_answer_may_have_a_quarter_of_the_bound() -> None:
    frame = metadata((1, "kafka.invalid", 9092))
    size = len(frame) + ENDPOINT_COST + ENTRY_COST
    for most, times_read, kept in ((4 * size, 1, size), (4 * size - 1, 2, 0)):
        known = RewrittenAnswers(most)
        for _ in range(2):
            known.read_answer(METADATA, 12, frame)
        assert (known.read, known.size) == (times_read, kept)


def test_connections_share_what_is_known() -> None:
    known = RewrittenAnswers()
    for number in range(5):
        stage = Stage(WHERE, rewritten_answers=known)
        stage.client(request(METADATA, 12, id=number)).server(metadata(*NODES, id=number))
        assert stage.at_client == rewrite_addresses(METADATA, 12, metadata(*NODES, id=number), WHERE).frame
        assert stage.resolved == list(NODES)  # listeners learn of every answer
    assert (known.read, known.made) == (1, 1)
