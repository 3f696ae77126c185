"""The segments of one connection, read again between any two packets of a split, equal the first reading."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from decoders.splits.split_parts import canonical_connection_key
from decoders.tcp.stream_chunks import Segment
from kwcli.pipeline.plan_splits import plan_splits
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.read.read_split_segments import SplitReader, read_segments_between
from kwcli.pipeline.spark import stitch_stage
from kwcli.pipeline.spark.stitch_stage import Rereader
from tests.captures.shipped import FOLDER, capture_bytes

NAMES = ("tour.pcapng", "three-nodes.pcapng.zst", "sasl-raw.pcap")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_any_part_of_any_connection(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    monkeypatch.setattr(stitch_stage, "WINDOW", rng.choice([1, 5000, 30_000]))
    monkeypatch.setattr("kwcli.pipeline.read.read_split_segments.PIECE_SIZE", rng.choice([300, 4000]))
    splits = plan_splits(find_captures([str(FOLDER / name)]).files, rng.choice([20_000, 60_000])).splits
    again = Rereader(splits)
    again.set_point("")
    for split in rng.sample(splits, min(3, len(splits))):
        every = [segment for batch in SplitReader(split) for segment in batch]
        again.number = split.ord
        for _ in range(15):
            begin, end = sorted(rng.sample(range(len(every)), 2))
            key = canonical_connection_key(rng.choice(every)[0])
            until = rng.choice([None, every[end][2]])
            found = [segment for batch in again(key, every[begin][2], until) for segment in batch]
            assert found == [
                one for one in every[begin + 1 : end if until else None] if canonical_connection_key(one[0]) == key
            ]


def test_where_a_connection_is_not_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stitch_stage, "WINDOW", 1000)
    monkeypatch.setattr("kwcli.pipeline.read.read_split_segments.PIECE_SIZE", 1000)
    path = tmp_path / "plain.pcap"
    path.write_bytes(capture_bytes("sasl-raw.pcap"))
    (split,) = plan_splits(find_captures([str(path)]).files).splits
    every = [segment for batch in SplitReader(split) for segment in batch]
    last = canonical_connection_key(every[-1][0])
    read: list[Segment] = []
    real = read_segments_between

    def counted(*words: object) -> object:
        for batch in real(*words):  # type: ignore[arg-type]
            read.extend(batch)
            yield batch

    monkeypatch.setattr(stitch_stage, "read_segments_between", counted)
    again = Rereader([split])
    again.set_point("")
    found = [segment for batch in again(last, every[0][2], None) for segment in batch]
    assert found == [one for one in every[1:] if canonical_connection_key(one[0]) == last]
    assert 0 < len(read) < len(every) / 2
