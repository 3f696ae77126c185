"""Rows that a split made without its past: with what the past says they are those of the whole capture."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Ends, Exchange
from decoders.exchanges.parts import Facts, Patch
from kwcli.pipeline.spark.mending import Mending
from kwcli.pipeline.tables.columns import TABLES
from kwcli.pipeline.tables.needs import TableNeeds
from kwcli.pipeline.tables.rows import ExchangeColumns
from tests.captures.shipped import segments

NAME = "tour.pcapng"


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    """All of a capture with topic ids."""
    engine = Engine(needs=TableNeeds(TABLES))
    rows = engine.feed(list(segments(NAME))) + engine.finish()
    return [row for row in rows if isinstance(row, Exchange)]


def batch(rows: list[Exchange]) -> pa.RecordBatch:
    columns = ExchangeColumns("", [NAME], tuple(TABLES))
    for row in rows:
        columns.add(row)
    return columns.batch()


def facts_of(exchanges: list[Exchange]) -> Facts:
    """The names that the capture shows, since its beginning."""
    facts = Facts()
    for identity, (name, _) in exchanges[0].ends.topics.names.items():
        facts.topics[identity.bytes] = (name, 0)
    assert len(facts.topics) == 3
    return facts


def without_names(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """As a split has them that did not see the names: ids in their place."""
    found: list[dict[str, Any]] = rows.to_pylist()
    for row in found:
        ids = dict(zip(row["topic_names"], row["topic_ids"], strict=True))
        row["topics"] = [ids.get(name, name) for name in row["topics"]]
        row["error_topics"] = [ids.get(name, name) for name in row["error_topics"]]
        row["topic_names"] = [None] * len(row["topic_ids"])
        for part in row["partitions"] or ():
            if part["topic_id"] is not None:
                part["topic"] = None
    return found


def test_names_of_topics_by_their_ids(exchanges: list[Exchange]) -> None:
    whole = batch([row for row in exchanges if None not in without_topics(row)])
    mending = Mending(facts_of(exchanges))
    bare = pa.RecordBatch.from_pylist(without_names(whole), schema=whole.schema)
    assert bare.column("topic_names").to_pylist() != whole.column("topic_names").to_pylist()
    for part in (slice(0, None), slice(40, 110)):  # of a batch, too
        rows = slice_of(bare, part)
        expected = slice_of(mending.unnumbered(whole), part).to_pylist()
        assert mending.told(rows).to_pylist() == expected


def without_topics(row: Exchange) -> list[str | None]:
    """The names of the ids in an exchange, as far as they were known when it came."""
    return batch([row]).column("topic_names").to_pylist()[0] or []


def slice_of(rows: pa.RecordBatch, part: slice) -> pa.RecordBatch:
    start, stop, _ = part.indices(rows.num_rows)
    return rows.slice(start, stop - start)


def test_a_name_that_is_learnt_later_is_not_used(exchanges: list[Exchange]) -> None:
    facts = facts_of(exchanges)
    late = max(row.time_ns for row in exchanges) + 1
    facts.topics = {identity: (name, late) for identity, (name, _) in facts.topics.items()}
    whole = batch(exchanges)
    bare = pa.RecordBatch.from_pylist(without_names(whole), schema=whole.schema)
    mending = Mending(facts)
    assert mending.told(bare).to_pylist() == mending.unnumbered(bare).to_pylist()


def test_the_connection_is_put_in(exchanges: list[Exchange]) -> None:
    whole = batch(exchanges)
    ends = Ends(7, "[::1]:1234", "10.0.0.1:9092", 42, exchanges[0].ends.topics)
    made = Mending(None).patched(whole, Patch(ends, 1000, {"name": "new", "version": "1"})).to_pylist()
    for row, before in zip(made, whole.to_pylist(), strict=True):
        expected = {
            **before,
            "client": "[::1]:1234",
            "client_ip": "::1",
            "client_port": 1234,
            "broker": "10.0.0.1:9092",
            "broker_ip": "10.0.0.1",
            "broker_port": 9092,
            "connection_began_ns": 42,
            "place": before["place"] + 1000,
        }
        if before["client_software_name"] is None:
            expected |= {"client_software_name": "new", "client_software_version": "1"}
        assert row == expected
