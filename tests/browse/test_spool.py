"""Rows that go through the spool come out as they went in; a full spool gives up its oldest rows, or takes no more."""

from __future__ import annotations

import json

import pytest

import decoders
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.topic_and_node_names import Topics
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.background_processes.spool import BlockLost, NewBlock, Spool, SpooledRows, SpoolFull, SpoolWriter
from kwcli.output.renderers import WantedPaths
from tests.browse.browsing import TOUR, Browsing
from tests.cli.worlds import kw


def read_tour() -> list[Exchange]:
    with open(TOUR, "rb") as file:
        return list(decoders.read_exchanges(file))


def test_rows_come_out_of_the_spool_as_they_went_in() -> None:
    browsing = Browsing()
    for message in browsing.work.collect_messages(1000):
        if isinstance(message, NewBlock):
            browsing.rows.add_block(message)
    found = [browsing.rows.find_row(number) for number in range(browsing.rows.end)]
    lines = kw("sniff", TOUR, "-o", "ndjson", "--records").out.splitlines()
    assert len(lines) == 193
    assert [to_json_dict(row, Options(True, values=browsing.settings.values)) for row in found] == [
        json.loads(line) for line in lines
    ]


def spool_rows(capacity: int, *, wraps: bool, block: int = 10) -> tuple[SpooledRows, list[Exchange]]:
    spool, rows = Spool(capacity), read_tour()
    writer = SpoolWriter(spool, Topics(), wraps=wraps)
    spooled = SpooledRows(spool, WantedPaths())
    for at in range(0, len(rows), block):
        for row in rows[at : at + block]:
            writer.add_row(row)
        spooled.add_block(writer.write_block())
    return spooled, rows


@pytest.mark.parametrize("capacity", [9_000, 12_345, 30_000])
def test_a_full_spool_of_live_traffic_keeps_the_latest_rows(capacity: int) -> None:
    spooled, rows = spool_rows(capacity, wraps=True)
    assert 0 < spooled.first < spooled.end == len(rows)
    for number in range(spooled.first, spooled.end):
        row = spooled.find_row(number)
        assert isinstance(row, Exchange)
        assert (row.time_ns, row.request_raw, row.response_raw) == (
            rows[number].time_ns,
            rows[number].request_raw,
            rows[number].response_raw,
        )
    with pytest.raises(BlockLost):
        spooled.find_row(spooled.first - 1)


def test_a_block_that_was_overwritten_is_lost_before_it_is_told() -> None:
    spool = Spool(20_000)
    writer = SpoolWriter(spool, Topics(), wraps=True)
    spooled = SpooledRows(spool, WantedPaths())
    lost = 0
    for row in read_tour():
        writer.add_row(row)
        block = writer.write_block()
        lost += block.lost
        spooled.add_block(block._replace(lost=0))
    assert lost > 10
    with pytest.raises(BlockLost):
        spooled.unpack_block(0)


def test_a_full_spool_of_files_takes_no_more() -> None:
    with pytest.raises(SpoolFull):
        spool_rows(9_000, wraps=False)


def test_a_reading_that_fills_the_spool_ends_and_says_so() -> None:
    browsing = Browsing(capacity=6_000)
    assert browsing.work.held[-1].full


def test_names_of_topics_and_nodes_come_with_the_blocks() -> None:
    browsing = Browsing()
    for message in browsing.work.collect_messages(1000):
        if isinstance(message, NewBlock):
            browsing.rows.add_block(message)
    assert {"orders", "payments"} <= browsing.rows.names_of_kind("topics")
    assert browsing.rows.names_of_kind("nodes") == {"1", "2", "3"}
    assert browsing.rows.names_of_kind("groups") == set()
