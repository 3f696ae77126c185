"""Guesses for responses without their request: thousands of real ones, and ones that tell nothing."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.messages.build_body_json import read_body_json
from decoders.messages.guess_api import Candidate, guess_request, guess_response
from decoders.messages.whole_messages import encode_message
from decoders.schema.api_declaration import Versions
from tests.captures.reading import exchanges
from tests.captures.shipped import CLEAN, capture_bytes
from tests.exchanges.talks import framed, request, response

# A thirtieth of it is usual, and machines differ; non-linear work takes minutes.
SLOWEST_S = 10.0
# The number of responses of one API version in one capture that are tried.
ALIKE_MAX = 30


def guess(frame: bytes) -> list[Candidate]:
    """What a frame may be, request or response, best first."""
    return sorted([*guess_request(frame), *guess_response(frame)], key=lambda candidate: -candidate.score)


def holds(candidate: Candidate, key: int | None, version: int) -> bool:
    """Whether a candidate is the response of this API version, alone or among others."""
    return candidate.side == "response" and any(
        kind.key == key and version in kind.versions for kind in candidate.kinds
    )


@pytest.mark.full
def test_of_all_responses_of_the_captures_the_right_one_is_found_and_nearly_always_first() -> None:
    first: Counter[bool] = Counter()
    seen: Counter[tuple[object, ...]] = Counter()
    slowest = 0.0
    for name in CLEAN:
        for exchange in exchanges(capture_bytes(name)):
            if exchange.response_raw is None or exchange.api_key is None or exchange.outcome != "complete":
                continue
            kind = name, exchange.api_key, exchange.api_version
            seen[kind] += 1
            if seen[kind] > ALIKE_MAX:
                continue
            _, failure, _, plan, *_ = read_body_json(exchange, "response")
            assert failure is None
            assert plan is not None
            begun = time.process_time()
            found = guess(exchange.response_raw)
            slowest = max(slowest, time.process_time() - begun)
            # The answer to ApiVersions may be of version 0: then version 0 is right.
            right = [holds(candidate, exchange.api_key, plan.version) for candidate in found]
            assert any(right), (exchange.api, exchange.api_version)
            assert sum(right) == 1
            first[right[0]] += 1
    assert sum(first.values()) >= 1000
    assert first[True] / sum(first.values()) >= 0.99, first
    assert slowest < SLOWEST_S


def test_requests_are_what_they_say() -> None:
    count = 0
    for exchange in exchanges(capture_bytes("tour.pcapng")):
        if exchange.request_raw is not None and exchange.outcome == "complete":
            found = guess(exchange.request_raw)
            assert (found[0].side, found[0].api_key) == ("request", exchange.api_key)
            assert exchange.api_version == found[0].newest_version
            count += 1
    assert count > 150


METADATA = {"brokers": [{"node_id": 1, "host": "kafka1", "port": 9092}], "cluster_id": "5L6g3nShT-eMCtK--X86sw"}


def test_versions_that_read_the_same_are_one_candidate() -> None:
    found = guess(response(3, 12, 7, METADATA))
    assert found[0].name_with_versions == "Metadata 11-12"
    assert (found[0].api_key, found[0].newest_version) == (3, 12)
    beat = guess(response(12, 2, 7, {}))[0]
    assert beat.name_with_versions.startswith("Heartbeat 1-3 or LeaveGroup 1-2 or ")
    assert Versions(1, 3) in [kind.versions for kind in beat.kinds]


def test_only_the_apis_that_are_asked_for_are_looked_at() -> None:
    frame = response(12, 2, 7, {})
    assert {kind.key for each in guess_response(frame, [26]) for kind in each.kinds} == {26}
    assert guess_response(frame, []) == []


def test_early_layouts_are_tried_where_no_other_fits() -> None:
    value = {"member_id": "m-1", "member_epoch": 3, "heartbeat_interval_ms": 5000}
    body = encode_message(68, 0, "response", value, layout="3.5")
    found = guess_response(framed(bytes(4) + b"\0" + body), [68])
    assert found[0].name_with_versions == "ConsumerGroupHeartbeat 0 (layout of 3.5)"


def test_early_layouts_lack_what_later_ones_have() -> None:
    frame = bytes.fromhex("00000024cb6e73e20000000a000000000000000100066f726465727300000002000000000000000000010000")[
        :40
    ]
    assert [each.name_with_versions for each in guess(frame)] == ["JoinGroup 0 (layout of 0.8.2)"]


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\4", framed(b"\0\0\0\1"), framed(b"\xff" * 40), framed(b"text " * 9)])
def test_what_is_nothing_is_nothing(frame: bytes) -> None:
    assert [each for each in guess(frame) if each.score > 0] == []


@pytest.mark.long
@pytest.mark.parametrize(("version", "name"), [(8, "Metadata 8"), (12, "Metadata 11-12")])
def test_a_large_response_is_guessed_in_time(version: int, name: str) -> None:
    partitions = [
        {"partition_index": number, "leader_id": 1, "replica_nodes": [1, 2, 3], "isr_nodes": [1, 2, 3]}
        for number in range(500)
    ]
    topics = [{"name": f"topic-{number}", "partitions": partitions} for number in range(10)]
    frame = response(3, version, 7, {**METADATA, "topics": topics})
    begun = time.process_time()
    assert guess(frame)[0].name_with_versions == name
    assert time.process_time() - begun < SLOWEST_S


@pytest.mark.long
def test_frames_made_to_be_read_by_many_layouts_take_no_time() -> None:
    begun = time.process_time()
    for frame in (framed(bytes(4) + b"\2" * 200_000), framed(bytes(8) + b"\0\0\0\1" * 100_000), framed(bytes(10**6))):
        guess(frame)
    assert time.process_time() - begun < 3 * SLOWEST_S


@pytest.mark.long
@settings(max_examples=100)
@given(st.binary(max_size=100), st.binary(max_size=30))
def test_whatever_comes(body: bytes, noise: bytes) -> None:
    for frame in (body, framed(body), framed(b"\0\0\0\7" + body), request(3, 1, 1, "a", {"topics": []}) + noise):
        for candidate in guess(frame):
            assert candidate.name_with_versions
