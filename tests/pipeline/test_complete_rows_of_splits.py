"""Rows without the names of topics by id, mended with names and times, equal those of an engine that saw all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.splits.split_parts import SharedFacts
from decoders.wire.state_serialization import pack
from kwcli.pipeline.spark.complete_rows_of_splits import RowCompletion
from kwcli.pipeline.spark.stage_schemas import IDENTITY, STITCHED
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from tests.captures.shipped import segments
from tests.pipeline.rows import ROW_TABLES, batch_of

# The captures with topic ids.
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
        exchange._topics_known = 0
    alone = batch_of(settled)
    facts = SharedFacts()
    facts.add_fact_part(pack([{}, {identity: list(row) for identity, row in since.items()}, {}, [], {}, (0, 0)]))
    mended = RowCompletion(facts).complete_rows(alone)
    assert alone.column("topic_names") != whole.column("topic_names")
    for column in ("topics", "topic_ids", "topic_names", "error_topics", "partitions"):
        assert mended.column(column).to_pylist() == whole.column(column).to_pylist()


def test_each_run_gets_the_connection_that_its_past_says() -> None:
    engine = Engine(needs=TableNeeds(ROW_TABLES))
    settled = [row for row in engine.feed(list(segments(NAMES[0]))) if isinstance(row, Exchange)]
    whole = batch_of(settled)
    runs = pa.array([0 if at < 5 else 1 if at < 105 else 2 for at in range(whole.num_rows)], pa.int32())
    where = ("[::1]:1234", "::1", 1234, "10.0.0.1:9092", "10.0.0.1", 9092, 42, "10.0.0.9:5")
    verdicts = _verdicts([(1, True, *where, 1000, "new", "1"), (0, False), (2, True, *where, 0)])
    before = whole.to_pylist()
    made = RowCompletion.apply_verdicts(whole, runs, verdicts.sort_by("run")).to_pylist()
    assert {row["client_software_name"] for row in before[5:105]} > {None}
    assert len(made) == len(before) - 5  # the rows of the invalid run are gone
    for at, (row, old) in enumerate(zip(made, before[5:], strict=True), 5):
        expected = {**old, **dict(zip(IDENTITY, where, strict=True)), "place": old["place"] + (1000 if at < 105 else 0)}
        if old["client_software_name"] is None and at < 105:
            expected |= {"client_software_name": "new", "client_software_version": "1"}
        assert row == expected


@pytest.mark.parametrize("numbers", [(0, 2), (1,), (0, 1, 1)])
def test_a_run_that_nobody_has_judged_is_no_silence(numbers: tuple[int, ...]) -> None:
    whole = batch_of([])
    with pytest.raises(RuntimeError, match="without a verdict, or with several"):
        RowCompletion.apply_verdicts(
            whole, pa.array([], pa.int32()), _verdicts([(number, False) for number in numbers])
        )


def _verdicts(rows: list[tuple[object, ...]]) -> pa.Table:
    """A table of verdicts; the last columns of a row may be left out."""
    schema = pa.schema([STITCHED.field(name) for name in STITCHED.names if name not in ("split", "rows", "ended")])
    full = [dict(zip(schema.names, row, strict=False)) for row in rows]
    return pa.Table.from_pylist(full, schema)
