"""Sequence numbers that jump: a step that no window reaches is told as a jump, never as so many missing bytes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.serialize_pairer_state import export_context, resume_context
from decoders.tcp.connection_and_halves import FAR
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Gap, Segment
from tests.exchanges.talks import request, response
from tests.tcp.conversations import ACK, BROKER, CLIENT, MS, SYN, numbered
from tests.tcp.test_alone import capture
from tests.tcp.test_reassembly_properties import EXAMPLES


@pytest.mark.long
@given(st.integers(0, 2**48))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_gap_is_larger_than_a_window_or_empty(seed: int) -> None:
    segments = capture(Random(seed))
    note("\n".join(map(str, segments)))
    stage = Reassembly()
    gaps = [data for *_, data in stage.feed(segments) + stage.finish() if isinstance(data, Gap)]
    assert [gap for gap in gaps if (gap.size == 0) != (gap.why == "jump") or not 0 <= gap.size < FAR] == []


def test_a_late_syn_of_a_stream_that_has_gone_round_does_not_move_it_by_4_gib() -> None:
    """The answer to a SYN begins the stream; then a SYN with another number comes, as in a broken capture."""
    begin = 2**32 - 1000
    rows = numbered([("broker", 499, 100, SYN, b""), ("client", begin, 500, SYN, b"")])
    rows += [
        (CLIENT, number * MS, number, (begin + 1 + 10 * (number - 3)) % 2**32, 500, ACK, bytes(10), 0)
        for number in range(3, 200)
    ]
    stage = Reassembly()
    out = stage.feed(rows) + stage.finish()
    gaps = [data.size for *_, data in out if isinstance(data, Gap)]
    assert len(gaps) == 1
    assert 0 < gaps[0] <= 1099  # from one number to the other, less the bytes in between


def jumping(step: int, count: int = 12, at: int = 5) -> list[Segment]:
    """Requests whose sequence numbers jump by `step` before one of them, then their answers."""
    rows: list[tuple[object, ...]] = [("client", 99, None, SYN, b""), ("broker", 499, 100, SYN, b"")]
    client, broker = 100, 500
    for number in range(count):
        if number == at:
            client += step
        asked = request(12, 0, number, "app", {"group_id": "g"})
        rows.append(("client", client, broker, 0, asked))
        client += len(asked)
    for number in range(count):
        answer = response(12, 0, number, {})
        rows.append(("broker", broker, client, 0, answer))
        broker += len(answer)
    return numbered(rows)


@given(st.sampled_from([FAR, FAR + 1, 2**30, 2**31 - 1, 2**31, 2**32 - 2 * FAR]), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_a_jump_costs_no_exchange_and_no_bytes(step: int, cut: int) -> None:
    segments = jumping(step)
    stage, pairer = Reassembly(), Pairer(connections=True)
    rows: list[Any] = list(pairer.feed(stage.feed(segments[:cut])))
    heir, other = Reassembly(), Pairer(connections=True)
    heir.resume(stage.export())
    resume_context(other.context, export_context(pairer.context), heir.connections())
    rows += other.feed(heir.feed(segments[cut:])) + other.feed(heir.finish())
    assert [row.correlation_id for row in rows if row.kind == "exchange"] == list(range(12))
    runs = [(row.reason, row.size, row.detail.partition(",")[0]) for row in rows if row.kind == "skipped"]
    assert runs == [("lost", 0, "sequence numbers jump")]
    (ended,) = (row for row in rows if row.kind == "connection")
    assert (ended.client_gaps, ended.client_missing) == (1, 0)
    assert ended.client_bytes == sum(len(segment[6]) for segment in segments if segment[0] == CLIENT)
    assert ended.server_bytes == sum(len(segment[6]) for segment in segments if segment[0] == BROKER)


def test_a_jump_inside_a_frame_breaks_it_off() -> None:
    asked = [request(12, 0, number, "app", {"group_id": "g" * 50}) for number in range(6)]
    rows: list[tuple[object, ...]] = [("client", 99, None, SYN, b""), ("broker", 499, 100, SYN, b"")]
    place = 100
    for number, data in enumerate(asked):
        data = data[:40] if number == 2 else data
        rows.append(("client", place, 500, 0, data))
        place += len(data) + (2**30 if number == 2 else 0)
    stage, pairer = Reassembly(), Pairer()
    settled: list[Any] = pairer.feed(stage.feed(numbered(rows)) + stage.finish())
    exchanges = [row for row in settled if row.kind == "exchange"]
    assert [row.correlation_id for row in exchanges] == [0, 1, 2, 3, 4, 5]
    assert [row.extra and row.extra.get("request") for row in exchanges] == [None, None, "lost", None, None, None]
    assert [row.size for row in settled if row.kind == "skipped"] == [0]
    assert pairer.context.budget.held == 0


def test_what_is_headless_counts_what_came_and_not_what_its_size_says() -> None:
    """A size field of 100 MB, then a gap of ten bytes, then the end."""
    rows: list[tuple[object, ...]] = [("client", 99, None, SYN, b""), ("broker", 499, 100, SYN, b"")]
    place = 100
    for number in range(3):
        asked = request(12, 0, number, "app", {})
        rows.append(("client", place, 500, 0, asked))
        place += len(asked)
    rows.append(("client", place, 500, 0, (100_000_000).to_bytes(4, "big")))
    rows.append(("broker", 500, place + 14, 0, b""))
    stage, pairer = Reassembly(), Pairer()
    settled: list[Any] = pairer.feed(stage.feed(numbered(rows)) + stage.finish())
    assert [(row.reason, row.size) for row in settled if row.kind == "skipped"] == [("lost", 14)]
