"""The captures that ship: complete as they are, and the same streams with packets swapped."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from decoders.capture.read_capture import CaptureReader
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Gap, Segment

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcapng"))


def streams(segments: list[Segment]) -> dict[tuple[str, str], bytes]:
    """All bytes from each address to another."""
    stage = Reassembly()
    out: dict[tuple[str, str], bytes] = {}
    for half, _, _, data in stage.feed(segments) + stage.finish():
        assert not isinstance(data, Gap)
        if isinstance(data, bytes):
            ends = (half.source, half.target)
            out[ends] = out.get(ends, b"") + data
    assert stage.counts["after_close"] == 0
    return out


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_packets_that_change_places_change_nothing(path: Path) -> None:
    reader = CaptureReader()
    segments = reader.feed(path.read_bytes()) + reader.finish()
    assert reader.problem is None
    assert reader.counts["tcp"] == len(segments)
    whole = streams(segments)
    for seed in range(3):
        random = Random(seed)
        places = [(number + random.random() * 8, segment) for number, segment in enumerate(segments)]
        places += [(place + random.random() * 8, segment) for place, segment in places if random.random() < 0.1]
        places.sort(key=lambda item: item[0])
        times = [segment[1] for segment in segments] + [segments[-1][1]] * len(segments)
        mixed = [(segment[0], times[number], number + 1, *segment[3:]) for number, (_, segment) in enumerate(places)]
        assert streams(mixed) == whole
