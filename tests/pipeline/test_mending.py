"""Rows that know no name of a topic by its id, told the names and since when, are those of an engine that saw all."""

from __future__ import annotations

import pytest

from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.parts import Facts
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
