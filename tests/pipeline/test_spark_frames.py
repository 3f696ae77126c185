"""Tables of captures as DataFrames: the rows of the tables, lazily, and the handbook's example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.run_environment import Failure
from tests.captures.shipped import FOLDER
from tests.help.reading import TEXTS, python_of
from tests.pipeline.jobs import job_of, rows_in, run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.long

TOUR = str(FOLDER / "tour.pcapng")
# One process reads all: values learnt from another connection's packets are known in time.
OUTSIDE = ("connection", "topics", "topic_names", "error_topics", "topic")


def shown(rows: list[dict[str, Any]]) -> list[str]:
    """Rows without columns that may differ, sorted; of their times only the numbers."""
    return sorted(
        repr({name: value for name, value in row.items() if name not in (*OUTSIDE, "time", "date")}) for row in rows
    )


def collected(frame: DataFrame) -> list[str]:
    return shown([row.asDict(recursive=True) for row in frame.collect()])


@pytest.mark.parametrize("table", ["exchanges", "topic_partitions", "connections"])
def test_a_frame_has_the_rows_of_the_table(spark: SparkSession, tmp_path: Path, table: str) -> None:
    from kwcli.pipeline import spark as pipeline

    run(tmp_path / "tables", job_of([TOUR]))
    frame = getattr(pipeline, table)(spark, TOUR, split_size=60_000, partitions=2)
    assert frame.columns == SCHEMAS[table].names
    assert collected(frame) == shown(rows_in(tmp_path / "tables", table))


def test_a_filter_selects(spark: SparkSession) -> None:
    from kwcli.pipeline.spark import exchanges

    frame = exchanges(spark, [TOUR], filter="api == Produce", ports=[9092], partitions=2)
    assert {row[0] for row in frame.select("api").collect()} == {"Produce"}


def test_what_cannot_be_is_a_failure_at_once(spark: SparkSession) -> None:
    from kwcli.pipeline.spark import exchanges

    with pytest.raises(Failure, match="no such file"):
        exchanges(spark, "/nowhere/*.pcap")
    with pytest.raises(Failure, match='write "==" for equal'):
        exchanges(spark, TOUR, filter="api = Produce")
    with pytest.raises(TypeError, match="no option 'port'"):
        exchanges(spark, TOUR, port=9092)  # type: ignore[call-arg]  # that is the mistake


def test_the_example_of_the_handbook(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark.version
    (tmp_path / "captures").symlink_to(FOLDER)
    monkeypatch.chdir(tmp_path)
    exec(compile(python_of(TEXTS["spark"]), "example", "exec"), {})
    heading, *lines = (tmp_path / "latency.csv").read_text().splitlines()
    assert heading.startswith("api,count,mean")
    assert any(line.startswith("JoinGroup,") for line in lines)
