"""Words that only `kw pipeline` takes: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import click
import pytest

from kwcli.pipeline.command_words import Moment, Point, TableNames

TABLES = ("exchanges", "topic_partitions", "connections")


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("1970-01-01", 0),
        ("2026-11-21", 1_795_219_200_000_000_000),
        ("2026-11-21T03:04", 1_795_230_240_000_000_000),
        ("2026-11-21 03:04:05", 1_795_230_245_000_000_000),
        ("2026-11-21T03:04:05Z", 1_795_230_245_000_000_000),
        ("2026-11-21T03:04:05.000000001Z", 1_795_230_245_000_000_001),
        ("2026-11-21T03:04:05.5+01:00", 1_795_226_645_500_000_000),
        ("2026-11-21T03:04:05,5-0230", 1_795_239_245_500_000_000),
        ("1969-12-31T23:59:59.25Z", -750_000_000),
    ],
)
def test_times(text: str, time_ns: int) -> None:
    assert Moment().convert(text, None, None) == time_ns


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-01", "2026-02-30", "2026-11-21T25:00", "2026-11-21T03:04:05+99:00", "03:04", "20261121"],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no time \(write 2026-11-21, "):
        Moment().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("b1=b1-*.pcap", ("b1", "b1-*.pcap")),
        ("eu.broker-1=s3://bucket/a=b/*.gz", ("eu.broker-1", "s3://bucket/a=b/*.gz")),
    ],
)
def test_points(text: str, point: tuple[str, str]) -> None:
    assert Point().convert(text, None, None) == point


@pytest.mark.parametrize("text", ["b1", "=x.pcap", "b1=", "../b1=x.pcap", "b 1=x.pcap"])
def test_what_is_no_point(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no capture point"):
        Point().convert(text, None, None)


def test_tables_are_taken_once_and_in_their_own_order() -> None:
    assert TableNames(TABLES).convert("connections, exchanges,connections", None, None) == ("exchanges", "connections")
    with pytest.raises(click.BadParameter, match="'' is no table"):
        TableNames(TABLES).convert("exchanges,", None, None)
    with pytest.raises(click.BadParameter, match=r"'findings' is no table \(they are exchanges, topic_partitions, "):
        TableNames(TABLES).convert("exchanges,findings", None, None)
