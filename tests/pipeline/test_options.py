"""Options of `kw pipeline` alone: their meaning, and the messages for wrong ones."""

from __future__ import annotations

import click
import pytest

from kwcli.pipeline.pipeline_option_types import Point, TableNames

TABLES = ("exchanges", "topic_partitions", "connections")


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
