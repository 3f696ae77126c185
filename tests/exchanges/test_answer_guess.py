"""Answers without requests: each guess is the API and version that was asked, in every shipped capture.

The captures are played without the clients' packets; also without the beginnings of connections, and with losses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

import decoders
from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.guess_request_of_response import SIZE_MIN, find_only_fitting_api_version
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, HEARTBEAT, METADATA, PRODUCE
from decoders.tcp.stream_chunks import Segment
from kwcli.reading.capture_sources import open_source
from tests.captures.shipped import FOLDER, NEGATIVE
from tests.captures.shipped import segments as shipped_segments
from tests.cli.worlds import kw, world
from tests.habits.faulty_captures import answers_of as answers_only
from tests.habits.faulty_captures import in_packets
from tests.habits.faulty_captures import requests_of as requests_only

CAPTURES: Final = sorted(path.name for path in FOLDER.iterdir() if ".pcap" in path.name)
SYN: Final = 2
Choose = Callable[[int, Segment], bool]


def segments_of(name: str) -> list[Segment]:
    reader = CaptureReader()
    return [
        segment
        for piece in open_source(str(FOLDER / name), world()).read_capture_pieces()
        for segment in reader.feed(piece)
    ]


def answers_of(name: str) -> tuple[list[Segment], dict[tuple[str, int, bytes], tuple[int, int]]]:
    """The segments of brokers; and (API, version) of each answer, by client, correlation id and bytes."""
    engine = Engine()
    sources: dict[bytes, str] = {}
    truth: dict[tuple[str, int, bytes], tuple[int, int]] = {}
    rows: list[Settled] = []
    segments = segments_of(name)
    for segment in segments:
        rows += engine.feed([segment])
        half = engine.reassembly.find_half(segment[0])
        if half is not None:
            sources[segment[0]] = half.source
    rows += engine.finish()
    for row in rows:
        if isinstance(row, Exchange) and row.request_raw and row.response_raw and row.api_key is not None:
            assert row.api_version is not None
            assert row.correlation_id is not None
            truth[row.client, row.correlation_id, bytes(row.response_raw)] = row.api_key, row.api_version
    return [each for each in segments if sources.get(each[0]) in engine.summary.brokers], truth


def guessed(segments: list[Segment]) -> Iterator[Exchange]:
    engine = Engine()
    engine.enable_guessing_of_requests()
    for row in [*engine.feed(segments), *engine.finish()]:
        if isinstance(row, Exchange) and row.extra and row.extra.get("guessed"):
            assert row.outcome == "orphan_response"
            yield row


# The part of the answers that is captured → the share that is guessed at least, in all captures together.
PARTS: Final[dict[str, tuple[Choose, float]]] = {
    "all": (lambda number, segment: True, 0.15),  # noqa: ARG005
    "from the middle": (lambda number, segment: number > 40 and not segment[5] & SYN, 0.02),
    "with losses": (lambda number, segment: bool(number % 7) or bool(segment[5] & SYN), 0.05),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("all", ["tour.pcapng", "old-clients.pcap.gz"]),
        *(pytest.param(each, CAPTURES, marks=pytest.mark.long) for each in PARTS),
    ],
    ids=["some", *PARTS],
)
def test_what_is_guessed_is_what_was_asked(part: str, names: list[str]) -> None:
    choose, share = PARTS[part]
    found = total = 0
    for name in names:
        segments, truth = _played(name)
        total += len(truth)
        chosen = [each for number, each in enumerate(segments) if choose(number, each)]
        for row in guessed(chosen):
            found += 1
            assert row.response_raw is not None
            assert row.correlation_id is not None
            known = truth[row.client, row.correlation_id, bytes(row.response_raw)]
            assert (row.api_key, row.api_version) == known, name
    assert found / total > share


_cache: dict[str, Any] = {}


def _played(name: str) -> Any:
    if name not in _cache:
        _cache[name] = answers_of(name)
    return _cache[name]


def answer(key: int, version: int, body: dict[str, Any], correlation_id: int = 7) -> bytes:
    frame = decoders.encode_response(key, version, body, correlation_id=correlation_id)
    return len(frame).to_bytes(4, "big") + frame


BROKER: Final = {"node_id": 1, "host": "kafka1", "port": 9092, "rack": None}
TOPIC: Final = {"error_code": 0, "name": "orders", "is_internal": False, "partitions": []}
SERVED: Final = [{"api_key": key, "min_version": 0, "max_version": 9} for key in range(30)]
ROWS: Final[list[tuple[bytes, tuple[int, int] | None]]] = [
    (answer(METADATA, 0, {"brokers": [{"node_id": 1, "host": "k", "port": 9}], "topics": []}), (METADATA, 0)),
    (answer(METADATA, 1, {"brokers": [BROKER], "controller_id": 1, "topics": [TOPIC]}), (METADATA, 1)),
    (answer(API_VERSIONS, 0, {"error_code": 0, "api_keys": SERVED}), (API_VERSIONS, 0)),
    # Two versions with the same layout.
    (answer(API_VERSIONS, 1, {"error_code": 0, "api_keys": SERVED, "throttle_time_ms": 0}), None),
    (answer(FETCH, 13, {"responses": []}), None),
    # The answer to a version that the broker does not have has the layout of version 0.
    (answer(API_VERSIONS, 0, {"error_code": 35, "api_keys": SERVED}), None),
    # Zeros fit many APIs.
    (answer(HEARTBEAT, 4, {}), None),
    (answer(PRODUCE, 9, {"responses": []}), None),
    (bytes([0, 0, 0, 40]) + bytes(40), None),
    # Not an answer: tokens, text, a number that no client counts to.
    (len(token := b"r=abcdefgh,s=ijklmnop,i=8192").to_bytes(4, "big") + token, None),
    ((60).to_bytes(4, "big") + b"\x60" * 60, None),
    (answer(METADATA, 1, {"brokers": [BROKER], "controller_id": 1, "topics": [TOPIC]}, -5), None),
    # Values that no broker sends.
    (answer(METADATA, 1, {"brokers": [BROKER], "controller_id": 1, "topics": [TOPIC | {"error_code": 9999}]}), None),
    (answer(METADATA, 1, {"brokers": [BROKER | {"host": "a\n"}], "controller_id": 1, "topics": []}), None),
    (b"", None),
    (b"\0\0\0\4\0\0\0\1", None),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "expected"), ROWS, ids=range(len(ROWS)))
def test_one_answer(frame: bytes, expected: tuple[int, int] | None) -> None:
    assert find_only_fitting_api_version(frame) == expected


def test_a_part_of_an_answer_is_not_guessed_for_a_whole_one() -> None:
    frame = ROWS[1][0]
    assert len(frame) > SIZE_MIN + 8
    assert [find_only_fitting_api_version(frame[:end]) for end in range(len(frame))] == [None] * len(frame)
    assert find_only_fitting_api_version(frame + b"\0") is None


def test_never_without_being_asked() -> None:
    segments, _ = _played("tour.pcapng")
    engine = Engine()
    rows = [*engine.feed(segments), *engine.finish()]
    assert not [row for row in rows if isinstance(row, Exchange) and row.api_key is not None]
    assert Counter(row.kind for row in rows)["skipped"] > 10


@pytest.mark.long
def test_a_state_in_between_is_taken_up() -> None:
    every = answers_only("tour.pcapng")
    whole = [to_json_dict(row) for row in guessed(every)]
    assert len(whole) > 40
    for cut in (1, len(every) // 3, len(every) // 2, len(every) - 5):
        one, other = Engine(), Engine()
        one.enable_guessing_of_requests()
        rows = one.feed(every[:cut])
        other.resume(one.export())
        other.enable_guessing_of_requests()
        rows += other.feed(every[cut:]) + other.finish()
        found = [
            to_json_dict(row) for row in rows if isinstance(row, Exchange) and row.extra and "guessed" in row.extra
        ]
        assert sorted(found, key=str) == sorted(whole, key=str)


@pytest.mark.parametrize("name", NEGATIVE)
def test_what_is_not_kafka_stays_so(name: str) -> None:
    for segments in (answers_only(name), requests_only(name), [*shipped_segments(name)]):
        engine = Engine()
        engine.enable_guessing_of_requests()
        assert not [row for row in [*engine.feed(segments), *engine.finish()] if isinstance(row, Exchange)]


@pytest.fixture
def one_way(tmp_path: Path) -> str:
    path = tmp_path / "answers.pcap"
    path.write_bytes(in_packets(answers_only("tour.pcapng")))
    return str(path)


@pytest.mark.long
def test_rows_say_that_they_are_guessed(one_way: str, tmp_path: Path) -> None:
    without = kw("sniff", one_way, "-q")
    assert "guessed" not in without.out
    outcome = kw("sniff", one_way, "-q", "--guess-requests")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    known = [row for row in rows if row.get("guessed")]
    assert len(known) > 40
    schema = json.loads((FOLDER.parent / "decoders/messages/record.schema.json").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    for row in rows:
        validator.validate(row)
    assert {row["status"] for row in known} == {"orphan_response"}
    assert {row["request"] for row in known if row["request"]} == set()
    assert all(row["api"] and row["response"] and row["latency_ms"] is None for row in known)
    assert all(row["api"] is None for row in rows if row["kind"] == "exchange" and "guessed" not in row)
    # The output can be read again, and filters know the word.
    (tmp_path / "rows.ndjson").write_text(outcome.out)
    assert kw("sniff", str(tmp_path / "rows.ndjson"), "-q").out == outcome.out
    chosen = kw("sniff", one_way, "-q", "--guess-requests", "-f", "guessed").out
    assert [json.loads(line) for line in chosen.splitlines()] == known
    text = kw("sniff", one_way, "-q", "--guess-requests", "-f", "guessed", "-o", "text").out.splitlines()[1:]
    assert len(text) == len(known)
    assert all(" guessed" in line and " ← " in line for line in text)


@pytest.mark.long
def test_statistics_count_them(one_way: str) -> None:
    assert not kw("stats", one_way, "-q", "-o", "csv").out.splitlines()[1:]
    rows = kw("stats", one_way, "-q", "-o", "csv", "--guess-requests").out
    assert "Metadata" in rows
