"""The keys of groups that an exchange counts for: one of each dimension, topics and partitions in pairs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from decoders import read_exchanges
from decoders.analysis import read_dimension_values
from decoders.analysis.read_dimension_values import make_key_reader, read_partitions
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import Exchange
from decoders.schema.api_declaration import Side

TOUR = Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng"


class Dimensions(Needs):
    """What topics and partitions read of bodies."""

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        return read_dimension_values.paths_of_dimensions(["topic", "partition"], key, side)


@pytest.fixture(scope="module")
def produced() -> Exchange:
    """An exchange that names one partition of one topic in both sides."""
    with TOUR.open("rb") as file:
        return next(each for each in read_exchanges(file, needs=Dimensions()) if each.api == "Produce")


def test_topics_and_partitions_come_in_pairs(produced: Exchange) -> None:
    pairs = list(dict.fromkeys(read_partitions(produced)))
    assert len(pairs) == 1
    ((topic, number),) = pairs
    assert isinstance(number, int)
    for names, key in (
        (["topic", "partition"], (topic, number)),
        (["partition", "topic"], (number, topic)),
        (["partition"], (number,)),
        (["api", "partition", "broker", "topic"], ("Produce", number, produced.broker, topic)),
        (["api", "topic"], ("Produce", topic)),
        (["api", "broker"], ("Produce", produced.broker)),
        (["broker"], (produced.broker,)),
        (["time"], (produced.time_ns // 7 * 7,)),
        (["time", "topic"], (produced.time_ns // 7 * 7, topic)),
        (["error"], (None,)),
        (["topic", "error"], (topic, None)),
    ):
        assert list(make_key_reader(names, 7)(produced)) == [key], names


@pytest.mark.plain
@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], [None]),
        (["a"], ["a"]),
        (["a", "a"], ["a"]),
        (["a", "b"], ["a", "b"]),
        (["a", "b", "a"], ["a", "b"]),
        (["b", "a", "a", "c"], ["b", "a", "c"]),
    ],
)
def test_each_value_counts_once(values: list[str], found: list[str | None]) -> None:
    exchange: Any = SimpleNamespace(values=values)
    row = read_dimension_values.Dimension(lambda each: each.values, "", several=True)
    read_dimension_values.DIMENSIONS["test"] = row
    try:
        assert [key for (key,) in make_key_reader(["test"], 1)(exchange)] == found
        assert list(make_key_reader(["test", "test"], 1)(exchange)) == [(a, b) for a in found for b in found]
    finally:
        del read_dimension_values.DIMENSIONS["test"]


@pytest.mark.parametrize(
    ("client_id", "address", "client"), [("a", "h:1", "a"), ("", "h:1", "h"), (None, "[::1]:9092", "[::1]")]
)
def test_a_client_is_its_id_or_its_host(client_id: str | None, address: str, client: str) -> None:
    assert read_dimension_values.client_of(client_id, address) == client


@pytest.mark.parametrize(
    ("name", "version", "software"),
    [("lib", "1.2", "lib 1.2"), ("lib", None, "lib"), ("", "1", "1"), (None, "1", None)],
)
def test_software_has_its_version(name: str | None, version: str | None, software: str | None) -> None:
    assert read_dimension_values.software_of(name, version) == software
