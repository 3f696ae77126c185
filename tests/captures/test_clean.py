"""Every capture that ships is read to its last byte, and other protocols give no exchange."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from decoders.exchanges.exchange import Exchange, Skipped
from tests.captures.plain import Conversation, conversations, frames
from tests.captures.reading import settled
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE, capture_bytes

_SIZE_MAX = 1 << 20


def _exchanges(name: str) -> list[Exchange]:
    found = settled(capture_bytes(name))
    skipped = [each for each in found if isinstance(each, Skipped)]
    assert skipped == [], [(each.client, each.broker, each.reason, each.size) for each in skipped]
    return [each for each in found if isinstance(each, Exchange)]


def _on_the_wire(name: str) -> list[Exchange]:
    """The exchanges that are frames on the wire: not those inside an Envelope."""
    return [each for each in _exchanges(name) if each.envelope is None]


@pytest.mark.parametrize("name", CLEAN)
def test_every_exchange_decodes_and_none_is_an_orphan(name: str) -> None:
    found = _exchanges(name)
    assert found
    counts = Counter(each.status for each in found)
    assert set(counts) <= {"complete", "no_response_expected", "unanswered", "token"}
    assert counts["complete"] > 10 * counts["unanswered"]
    for each in found:
        if each.status == "unanswered":
            assert each.closed in ("fin", "rst", "capture_end")
            # A side that closes may stop in the middle of an answer.
            assert {failure.reason for failure in each.failures.values()} <= {"incomplete"}


@pytest.mark.parametrize("name", CLEAN)
def test_every_byte_is_in_exactly_one_frame(name: str) -> None:
    ours: Counter[tuple[str, str, bytes]] = Counter()
    for each in _on_the_wire(name):
        if each.request_raw is not None:
            ours[each.client, each.broker, each.request_raw] += 1
        if each.response_raw is not None:
            ours[each.broker, each.client, each.response_raw] += 1
    plain: Counter[tuple[str, str, bytes]] = Counter()
    size = 0
    for talk in conversations(capture_bytes(name)):
        assert talk.holes == 0
        size += len(talk.first.data) + len(talk.second.data)
        for source, target, frame in _frames(talk):
            plain[source, target, frame] += 1
    assert ours == plain
    assert sum(len(frame) * count for (_, _, frame), count in ours.items()) == size


def _frames(talk: Conversation) -> Iterator[tuple[str, str, bytes]]:
    for side in (talk.first, talk.second):
        for frame in frames(bytes(side.data)):
            yield side.source, side.target, frame


@pytest.mark.parametrize("name", CLEAN)
def test_requests_come_in_the_order_of_the_wire(name: str) -> None:
    ours: dict[int, list[tuple[int, bytes]]] = {}
    for each in _on_the_wire(name):
        if each.request_raw is not None:
            assert each.request_packet is not None
            ours.setdefault(each.connection, []).append((each.request_packet, each.request_raw))
    assert ours
    wanted = []
    for talk in conversations(capture_bytes(name)):
        if talk.first.data:
            wanted.append(bytes(talk.first.data))
    in_order = [b"".join(raw for _, raw in sorted(rows, key=lambda row: row[0])) for rows in ours.values()]
    assert sorted(in_order) == sorted(wanted)


@pytest.mark.parametrize("name", NEGATIVE)
def test_other_protocols_give_no_exchange(name: str) -> None:
    found = settled(capture_bytes(name))
    assert [each for each in found if isinstance(each, Exchange)] == []
    assert {each.reason for each in found if isinstance(each, Skipped)} <= {"not_kafka", "tls"}
    spoken = [talk for talk in conversations(capture_bytes(name)) if talk.first.data or talk.second.data]
    assert len(found) == len(spoken)


def test_the_table_names_every_capture_and_each_is_small() -> None:
    text = (FOLDER / "README.md").read_text()
    named = set(re.findall(r"`([a-z0-9-]+\.pcap[a-z.]*)`", text))
    assert named == {name.rpartition("/")[2] for name in CLEAN + NEGATIVE}
    for name in CLEAN + NEGATIVE:
        assert (FOLDER / name).stat().st_size <= _SIZE_MAX, name


@pytest.mark.parametrize("name", CLEAN)
def test_a_program_makes_each_capture(name: str) -> None:
    program = FOLDER / "make" / f"{name.partition('.')[0].replace('-', '_')}.py"
    assert name in program.read_text()
