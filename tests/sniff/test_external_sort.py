"""Records sorted in memory or in files, whatever fits: the same records in the same order."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from kwcli.sniff.external_sort import SortedRecords

PREFIX: Final = 2


def make_records(seed: int) -> list[bytes]:
    """Records with few prefixes, some alike, one longer than what is read at once, some no longer than a prefix."""
    rng = Random(seed)
    records = [
        bytes([rng.randrange(3), rng.randrange(4)]) + rng.randbytes(rng.choice([0, 1, 7, 300])) for _ in range(400)
    ]
    records += [*records[:9], b"\1\2" + rng.randbytes(200_000), b"\0\0", b"\xff\xff"]
    rng.shuffle(records)
    return records


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("held_max", [1, 1000, 20_000, 1 << 40])
def test_records_come_in_order(held_max: int, seed: int) -> None:
    records = make_records(seed)
    kept = SortedRecords(PREFIX, held_max)
    for record in records:
        kept.add(record)
    assert kept.count == len(records)
    assert list(kept) == sorted(records)
    assert list(kept) == sorted(records)  # as often as one likes
    prefixes = {record[:PREFIX] for record in records} | {b"\0\7", b"\7\7", b"\xff\0"}
    for prefix in prefixes:
        assert list(kept.records_with_prefix(prefix)) == sorted(each for each in records if each.startswith(prefix))
    kept.close()


def test_a_run_begins_where_memory_is_full() -> None:
    kept = SortedRecords(PREFIX, 3 * (100 + 64))
    runs = []
    for _ in range(7):
        kept.add(bytes(100))
        runs.append(len(kept._runs))
    assert runs == [0, 0, 1, 1, 1, 2, 2]
    kept.close()


@pytest.mark.parametrize("held_max", [1, 1 << 40])
def test_nothing_is_sorted(held_max: int) -> None:
    kept = SortedRecords(PREFIX, held_max)
    assert list(kept) == []
    assert list(kept.records_with_prefix(b"\0\0")) == []
    kept.close()
