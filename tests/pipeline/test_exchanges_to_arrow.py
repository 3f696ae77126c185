"""`to_arrow`: exchanges of the library as the rows of the pipeline's tables, whatever was asked of them before."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

import pyarrow as pa
import pytest

from decoders import Exchange, Needs, read_exchanges
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_from_json import FromRecords
from kwcli.pipeline import to_arrow
from kwcli.pipeline.tables import exchanges_to_arrow
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
from kwcli.pipeline.tables.split_by_table_and_date import split_by_table
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from tests.captures.shipped import FOLDER, segments

TOUR: Final = FOLDER / "tour.pcapng"


def exchanges(**options: Any) -> list[Exchange]:
    with TOUR.open("rb") as file:
        return list(read_exchanges(file, **options))


def rows_of_pipeline(table: str) -> list[dict[str, Any]]:
    """The rows that a run of the pipeline makes of the same exchanges."""
    engine = Engine(needs=TableNeeds((table,)))
    columns = ExchangeColumns("", [""], (table,))
    for row in [*engine.feed(list(segments("tour.pcapng"))), *engine.finish()]:
        if row.kind == "exchange":
            columns.add_row(row)
    return [row for _, batch in split_by_table(columns.take_batch(), (table,)) for row in batch.to_pylist()]


@pytest.mark.long
@pytest.mark.parametrize("table", ["exchanges", "topic_partitions"])
@pytest.mark.parametrize("weight", [1, 50, 16_384])
def test_the_rows_are_those_of_the_pipeline(table: Any, weight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges_to_arrow, "_BATCH_WEIGHT", weight)
    found = to_arrow(exchanges(), table=table)
    assert found.schema == SCHEMAS[table]
    assert found.to_pylist() == rows_of_pipeline(table)
    assert found.num_rows > 60
    assert (found.column(0).num_chunks > 10) is (weight == 1)


def test_exchanges_that_were_looked_at_have_the_same_rows_and_keep_their_views() -> None:
    needs = Needs({("Fetch", "response"): ["throttle_time_ms"], ("Fetch", "request"): ["max_bytes"]})
    looked_at, untouched = exchanges(needs=needs), exchanges(needs=needs)
    views = [(each.view("request"), each.view("response"), each.errors, each.remarks) for each in looked_at]
    assert to_arrow(looked_at).equals(to_arrow(untouched))
    assert [(each.view("request"), each.view("response"), each.errors, each.remarks) for each in looked_at] == views
    assert [(each.view("request"), each.view("response"), each.errors, each.remarks) for each in untouched] == views
    assert {"throttle_time_ms": 0} in [each.view("response") for each in untouched]


def test_records_read_back_have_rows() -> None:
    found = exchanges()
    read = FromRecords()
    again = [read.read(exchange.to_dict()) for exchange in found]
    table = to_arrow(row for row in again if isinstance(row, Exchange))
    for name in ("time", "api", "api_version", "client", "status", "error_names", "topics", "groups"):
        assert [*map(str, table.column(name).to_pylist())] == [*map(str, to_arrow(found).column(name).to_pylist())]


def test_secrets_in_bodies_are_redacted() -> None:
    with (FOLDER / "sasl-framed.pcapng").open("rb") as file:
        found = [each for each in read_exchanges(file) if each.api == "SaslAuthenticate"]
    bodies = to_arrow(found, bodies=True).column("request_body").to_pylist()
    assert [json.loads(body) for body in bodies] == [each.to_dict()["request"] for each in found]
    assert any(found[0].request["auth_bytes"] for each in found)
    assert set(to_arrow(found).column("request_body").to_pylist()) == {None}


def test_no_exchange_is_a_table_without_rows() -> None:
    assert to_arrow([]).num_rows == 0
    assert to_arrow([]).schema == SCHEMAS["exchanges"]


def test_what_has_no_rows_is_told() -> None:
    with pytest.raises(TypeError, match=r"to_arrow takes exchanges, as read_exchanges\(\) gives them, not dict"):
        to_arrow([{}])  # type: ignore[list-item]  # that is the point
    with pytest.raises(ValueError, match=r'no table \'exchange\' \(did you mean "exchanges"\?\)'):
        to_arrow([], table="exchange")  # type: ignore[arg-type]  # that is the point


def test_without_pyarrow_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None; from kwcli.pipeline import to_arrow\n"
        "try: to_arrow([])\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "to_arrow needs pyarrow: install kafka-wire[report]" in done.stdout


def test_pandas_polars_and_duckdb_are_one_line() -> None:
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    table_of_exchanges = to_arrow(exchanges())  # DuckDB finds it by its name
    assert isinstance(table_of_exchanges, pa.Table)
    frame = table_of_exchanges.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    slowest = frame.groupby("api").latency_ms.max().idxmax()
    rows = duckdb.sql("SELECT api FROM table_of_exchanges ORDER BY latency_ms DESC NULLS LAST LIMIT 1").fetchall()
    assert rows == [(slowest,)]
