"""What kw says of connections in step with odd keys, client ids, tokens and answers."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest

from decoders.exchanges import chunks_to_exchanges
from decoders.exchanges.exchange import Ended, Exchange, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.frames.framing import make_unframed_sizes
from decoders.frames.read_and_judge_headers import NO, YES, judge_request
from decoders.tcp.stream_chunks import Segment
from kwcli.reading.sinks.closing_lines import describe_skipped_runs
from tests.cli.worlds import kw
from tests.exchanges.prefixes import kafka
from tests.exchanges.talks import Turns, framed, request, response, rows, run, segments
from tests.exchanges.test_loop import plainly
from tests.tls.wrapping import pcapng_of

KERBEROS = bytes.fromhex("60 82 02 2c 06 09 2a 86 48 86 f7 12 01 02 02 01 00") + bytes(range(200)) * 2


def settled(turns: Turns) -> list[Any]:
    return run(segments(turns, Random(1)))


def asked(key: int, correlation_id: int, client_id: bytes = b"app-1") -> bytes:
    """A request of version 0 without a body."""
    return framed(pack(">hhih", key, 0, correlation_id, len(client_id)) + client_id)


@pytest.mark.parametrize("key", [94, 512, 1000, 10000, 10001, 32767])
def test_a_connection_in_step_takes_every_key(key: int) -> None:
    turns = [*kafka(), (True, asked(key, 4)), (False, framed(pack(">i", 4) + b"abc"))]
    assert rows(settled(turns))[3:] == [(key, 0, 4, "app-1", "undecoded")]


def test_a_key_below_zero_is_no_request() -> None:
    found = settled([*kafka(), (True, asked(-2, 4))])
    assert [row.reason for row in found if isinstance(row, Skipped)] == ["garbage"]


@pytest.mark.parametrize("client_id", ["Müller-1".encode("latin-1"), "注文".encode("shift_jis"), b"\xff\xfe"])
def test_a_client_id_that_is_no_utf8_hides_nothing(client_id: bytes) -> None:
    letters = "x" * len(client_id)
    first = request(3, 9, 1, letters, {"topics": None}).replace(letters.encode(), client_id)
    assert judge_request(first, 0) == YES
    assert judge_request(first[:-1], 0) == NO  # only a whole request is believed
    assert len(rows(run(segments([(True, first), *kafka()[1:]], Random(1))))) == 3


def test_a_kerberos_token_without_a_handshake_is_named() -> None:
    found = settled([*kafka(), (True, framed(KERBEROS))])
    (skipped,) = [row for row in found if isinstance(row, Skipped)]
    assert (skipped.reason, skipped.size) == ("garbage", len(KERBEROS) + 4)
    assert "Kerberos token without SaslHandshake" in skipped.detail
    assert "24706" in skipped.detail
    assert describe_skipped_runs({"garbage": 1}, {"garbage": 564}) == ["564B that are no frame"]
    sizes = make_unframed_sizes("garbage", skipped.detail, 564)
    words = "564B that are no frame (a Kerberos token without SaslHandshake)"
    assert describe_skipped_runs({"garbage": 1}, sizes) == [words]
    assert describe_skipped_runs({"garbage": 1}, make_unframed_sizes("garbage", "not the head of a frame", 5)) == [
        "5B that are no frame"
    ]
    assert describe_skipped_runs({"lost": 1}, {"lost": 54}) == ["1 gap (54B)"]


def test_the_doctor_names_a_token_without_a_handshake(tmp_path: Path) -> None:
    path = tmp_path / "token.pcapng"
    every = segments([*kafka(), (True, framed(KERBEROS))], Random(1))
    path.write_bytes(pcapng_of(every))
    (finding,) = [json.loads(line) for line in kw("doctor", str(path), "-o", "ndjson").out.splitlines()]
    assert finding["id"] == "not-kafka"
    assert "sends a Kerberos token without SaslHandshake to 10.0.0.2:9092" in finding["title"]
    engine = Engine(connections=True)
    rows_and_ends: list[Any] = [*engine.feed(every), *engine.finish()]
    (ended,) = [row for row in rows_and_ends if isinstance(row, Ended)]
    assert (ended.kafka, ended.reason, ended.detail) == (True, "", "a Kerberos token without SaslHandshake")


def test_an_answer_with_a_foreign_id() -> None:
    wrong = response(3, 9, 4697, {"cluster_id": "c"})
    found = [row for row in settled([*kafka()[:3], (False, wrong)]) if isinstance(row, Exchange)]
    orphan = next(row for row in found if row.is_orphan)
    assert orphan.reason == "unasked"
    assert orphan.extra is not None
    assert [remark["id"] for remark in orphan.extra["remarks"]] == ["wrong_id"]


def remarks(row: Exchange) -> list[str]:
    return [] if row.extra is None else [remark["id"] for remark in row.extra.get("remarks", ())]


def noted(every: list[Segment]) -> list[tuple[int | None, str, list[str]]]:
    """Correlation id, status and remarks of the exchanges of a capture."""
    return [(row.correlation_id, row.outcome, remarks(row)) for row in run(every) if isinstance(row, Exchange)]


ASKED_2, ASKED_3, ASKED_4 = (
    (True, request(3, 9, each, "app-1", {"topics": None, "allow_auto_topic_creation": True})) for each in (2, 3, 4)
)
TOLD_2, TOLD_3, TOLD_4 = ((False, response(3, 9, each, {"cluster_id": "c"})) for each in (2, 3, 4))
SILENT_3 = (True, request(0, 7, 3, "app-1", {"transactional_id": None, "acks": 0, "timeout_ms": 1, "topic_data": []}))
TOLD_OF_PRODUCE_3 = (False, response(0, 7, 3, {}))
LATE: list[tuple[str, Turns, list[tuple[int, str, list[str]]]]] = [
    ("in order", [ASKED_2, ASKED_3, TOLD_2, TOLD_3], [(2, "complete", []), (3, "complete", [])]),
    ("overtaken", [ASKED_2, ASKED_3, TOLD_3, TOLD_2], [(3, "complete", []), (2, "complete", ["out_of_order"])]),
    (
        "overtaken by two",
        [ASKED_2, ASKED_3, ASKED_4, TOLD_3, TOLD_4, TOLD_2],
        [(3, "complete", []), (4, "complete", []), (2, "complete", ["out_of_order"])],
    ),
    (
        "acks=0 has no answer",
        [ASKED_2, SILENT_3, ASKED_4, TOLD_2, TOLD_4],
        [(3, "no_response_expected", []), (2, "complete", []), (4, "complete", [])],
    ),
    (
        "acks=0 is answered all the same",
        [SILENT_3, ASKED_4, TOLD_OF_PRODUCE_3, TOLD_4],
        [(3, "no_response_expected", []), (3, "orphan_response", ["answered_twice"]), (4, "complete", [])],
    ),
    ("never answered", [ASKED_2, ASKED_3, TOLD_3], [(3, "complete", []), (2, "unanswered", [])]),
    (
        "answered twice",
        [ASKED_2, TOLD_2, TOLD_2, ASKED_3, TOLD_3],
        [(2, "complete", []), (2, "orphan_response", ["answered_twice"]), (3, "complete", [])],
    ),
    (
        "answered again after the next one",
        [ASKED_2, TOLD_2, ASKED_3, TOLD_3, ASKED_4, TOLD_2, TOLD_4],
        [(2, "complete", []), (3, "complete", []), (2, "orphan_response", ["answered_twice"]), (4, "complete", [])],
    ),
    (
        "an id below all",
        [ASKED_3, TOLD_2, TOLD_3],
        [(2, "orphan_response", ["wrong_id"]), (3, "complete", [])],
    ),
    (
        "one id for all requests",
        [ASKED_2, TOLD_2, ASKED_2, TOLD_2, ASKED_2, ASKED_2, TOLD_2, TOLD_2],
        [(2, "complete", [])] * 4,
    ),
    ("ids that count down", [ASKED_4, ASKED_3, TOLD_4, TOLD_3], [(4, "complete", []), (3, "complete", [])]),
]


@pytest.mark.parametrize(("turns", "expected"), [row[1:] for row in LATE], ids=[row[0] for row in LATE])
def test_remarks_on_the_order_of_answers(
    turns: Turns, expected: list[tuple[int, str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = segments([*kafka()[:2], *turns], Random(1))
    assert noted(every)[1:] == expected
    monkeypatch.setattr(chunks_to_exchanges, "pair_frames_in_chunks", plainly)
    assert noted(every)[1:] == expected


@pytest.mark.parametrize("left_out", [TOLD_4, SILENT_3], ids=["an answer", "a request"])
def test_no_remark_on_order_where_bytes_are_not_in_the_capture(left_out: tuple[bool, bytes]) -> None:
    turns = [ASKED_4, TOLD_4, SILENT_3, ASKED_2, ASKED_3, TOLD_3, TOLD_2]
    every = segments([*kafka()[:2], *turns], Random(1))
    kept = [each for each in every if each[6] != left_out[1]]
    assert len(kept) < len(every)
    assert not any(found for _, _, found in noted(kept))
    assert not any(found for _, _, found in noted(every[3:]))  # the capture begins inside the connection


def test_an_answer_whose_request_may_be_lost_is_not_judged() -> None:
    every = segments(kafka(), Random(1))
    found = [row for row in run(every[3:]) if isinstance(row, Exchange)]
    assert len(found) == 3
    lossy = [each for each in every if each[6] != kafka()[2][1]]
    assert {row.reason for row in run(lossy) if isinstance(row, Exchange) and row.is_orphan} == {None}


def test_an_answer_in_lost_bytes_is_told() -> None:
    answer = kafka()[5][1]
    every = [each for each in segments(kafka(), Random(1)) if each[6] != answer]
    last = [row for row in run(every) if isinstance(row, Exchange)][-1]
    assert (last.status, last.reason) == ("unanswered", "lost")
