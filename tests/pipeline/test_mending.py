"""Rows that know no name of a topic by its id, told the names and since when, are those of an engine that saw all."""

from __future__ import annotations

import pytest

from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Ends, Exchange
from decoders.exchanges.parts import Facts, Patch
from decoders.wire.state import pack
from kwcli.pipeline.spark.mending import Mending
from kwcli.pipeline.tables.needs import TableNeeds
from tests.captures.shipped import segments
from tests.pipeline.rows import ROW_TABLES, batch_of

# The captures that have topic ids.
NAMES = ("tour.pcapng", "three-nodes.pcapng.zst", "share-groups.pcapng")


@pytest.mark.parametrize("name", NAMES)
def test_names_learnt_elsewhere_are_those_that_the_whole_capture_knew(name: str) -> None:
    engine = Engine(needs=TableNeeds(ROW_TABLES))
    settled: list[Exchange] = []
    since: dict[bytes, tuple[str, int]] = {}
    for segment in segments(name):
        settled += [row for row in engine.feed([segment]) if isinstance(row, Exchange)]
        for identity, (topic, _) in engine.pairer.context.topics.names.items():
            since.setdefault(identity.bytes, (topic, segment[1]))
    whole = batch_of(settled)
    for exchange in settled:
        exchange.known = 0
    alone = batch_of(settled)
    facts = Facts()
    facts.add(pack([{}, {identity: list(row) for identity, row in since.items()}, (0, 0)]))
    mended = Mending(facts).told(alone)
    assert alone.column("topic_names") != whole.column("topic_names")
    for column in ("topics", "topic_ids", "topic_names", "error_topics", "partitions"):
        assert mended.column(column).to_pylist() == whole.column(column).to_pylist()


def test_each_run_gets_the_connection_that_its_past_says() -> None:
    engine = Engine(needs=TableNeeds(ROW_TABLES))
    settled = [row for row in engine.feed(list(segments(NAMES[0]))) if isinstance(row, Exchange)]
    whole = batch_of(settled)
    ends = Ends(7, "[::1]:1234", "10.0.0.1:9092", 42, settled[0].ends.topics)
    patch = Patch(ends, 1000, {"name": "new", "version": "1"})
    parts = [(whole.slice(0, 5), None), (whole.slice(5, 100), patch), (whole.slice(105), Patch(ends, 0, None))]
    made, before = Mending(None).patched(parts).to_pylist(), whole.to_pylist()
    assert made[:5] == before[:5]
    assert {row["client_software_name"] for row in before[5:105]} > {None}
    for at, (row, old) in enumerate(zip(made[5:], before[5:], strict=True), 5):
        expected = {
            **old,
            "client": "[::1]:1234",
            "client_ip": "::1",
            "client_port": 1234,
            "broker": "10.0.0.1:9092",
            "broker_ip": "10.0.0.1",
            "broker_port": 9092,
            "connection_began_ns": 42,
            "place": old["place"] + (1000 if at < 105 else 0),
        }
        if old["client_software_name"] is None and at < 105:
            expected |= {"client_software_name": "new", "client_software_version": "1"}
        assert row == expected
