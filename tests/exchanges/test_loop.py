"""The loop with short cuts against one without, for good and bad bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from random import Random

import pytest

from decoders.capture.read_capture import CaptureReader
from decoders.exchanges import chunks_to_exchanges
from decoders.exchanges.chunks_to_exchanges import Context, UnusualHandler
from decoders.exchanges.exchange import Exchange
from decoders.frames.framing import FrameDirection, take_bytes
from decoders.messages.exchange_json import to_json_dict
from decoders.tcp.stream_chunks import Chunk, Segment
from tests.captures.plain import read_bytes
from tests.exchanges.talks import Talker, interleaved, records, run, segments
from tests.exchanges.test_captures import CAPTURES, NEGATIVE, VALIDATOR
from tests.sampling import sampled


def plainly(context: Context, chunks: Iterable[Chunk], unusual: UnusualHandler) -> None:
    """engine.pair_frames_in_chunks() without its short cuts."""
    for half, time_ns, packet, data in chunks:
        if isinstance(half.state, FrameDirection) and isinstance(data, bytes):
            take_bytes(half.state, time_ns, packet, data)
            if context.budget.held > context.budget.most:
                context.drop_oldest_held_bodies(half.state)
        else:
            unusual(half, time_ns, packet, data)


@cache
def captured(name: str) -> list[Segment]:
    """The segments of a shipping capture."""
    path = next(path for path in CAPTURES + NEGATIVE if path.name == name)
    return CaptureReader().feed(read_bytes(path))


def same(every: list[Segment], monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that both loops give the same records."""
    quick = records(run(every))
    with monkeypatch.context() as patch:
        patch.setattr(chunks_to_exchanges, "pair_frames_in_chunks", plainly)
        slow = records(run(every))
    assert quick == slow


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [path.name for path in CAPTURES])
def test_short_cuts_change_nothing_in_captures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same(captured(name), monkeypatch)


@pytest.mark.parametrize("seed", range(20))
def test_short_cuts_change_nothing_in_damaged_conversations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    talks = [segments(Talker(rng).talk.turns, rng, most=rng.choice([1448, 80]), port=port) for port in (50000, 50001)]
    every = [each for each in interleaved(rng, *talks) if rng.random() > 0.05]
    same(every, monkeypatch)


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [path.name for path in CAPTURES + NEGATIVE])
@pytest.mark.parametrize("seed", sampled(range(3), 3))
def test_corrupt_bytes_give_records_and_nothing_else(name: str, seed: int) -> None:
    rng = Random(f"{seed} {name}")
    every = []
    for each in captured(name):
        data = each[6]
        if data and rng.random() < 0.15:
            changed = bytearray(data)
            for _ in range(rng.choice([1, 1, 4, 30])):
                changed[rng.randrange(min(len(changed), rng.choice([4, 16, 10**6])))] = rng.randrange(256)
            data = bytes(changed[: rng.choice([None, None, len(changed) // 2])])
        every.append((*each[:6], data, each[7]))
    for settled in run(every, ports=rng.choice([None, None, [9092, 9093, 9094]])):
        record = to_json_dict(settled)
        VALIDATOR.validate(record)
        if isinstance(settled, Exchange):
            assert settled.status == record["status"]
            assert settled.reason == record["reason"]
            assert settled.errors == [tuple(error.values())[:3] for error in record["errors"]]


@pytest.mark.parametrize("seed", range(30))
def test_noise_gives_no_exchange(seed: int) -> None:
    rng = Random(seed)
    turns = [(rng.random() < 0.5, rng.randbytes(rng.choice([3, 14, 100, 3000]))) for _ in range(20)]
    assert [each for each in run(segments(turns, rng)) if isinstance(each, Exchange)] == []
