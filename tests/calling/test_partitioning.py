"""Kafka's murmur2, against vectors of its own UtilsTest and against its own code."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.records.hash_keys import fnv1a, murmur2
from kwcli.calling.words.record_words import choose_partition_by_key
from tests.oracle.asking import ask

# org.apache.kafka.common.utils.UtilsTest#testMurmur2, as signed 32-bit numbers.
VECTORS = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "expected"), VECTORS)
def test_vectors(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_a_partition_is_one_of_them(key: bytes, count: int) -> None:
    assert 0 <= choose_partition_by_key(key, count) < count


@pytest.mark.long
@pytest.mark.oracle
def test_as_java_hashes() -> None:
    dice = random.Random(30)
    keys = [dice.randbytes(dice.choice([0, 1, 2, 3, 4, 5, 7, 8, 30, 300])) for _ in range(300)]
    assert [murmur2(key) for key in keys] == [
        answer & 0xFFFFFFFF for answer in ask([["murmur2", key.hex()] for key in keys])
    ]


def test_fnv1a_is_that_of_sarama() -> None:
    """The absolute value of FNV-1a's published vectors, as numbers with a sign."""
    published = {b"": 0x811C9DC5, b"a": 0xE40C292C, b"foobar": 0xBF9CF968, b"b": 0xE70C2DE5}
    assert {key: fnv1a(key) for key in published} == {key: (1 << 32) - each for key, each in published.items()}
