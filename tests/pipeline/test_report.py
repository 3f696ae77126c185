"""`kw pipeline report`: what it says is what `kw stats` says of the same captures, on one machine and on Spark."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from decoders.apis.releases import RELEASES
from kwcli.config import Settings
from kwcli.exits import Exit, Failure
from kwcli.pipeline.report import report
from kwcli.pipeline.tables.schemas import SCHEMAS
from kwcli.pipeline.tables.write import TableWriter
from tests.captures.shipped import segments
from tests.cli.worlds import kw, world
from tests.pipeline.rows import batch_of, settled_for_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
NAMES = ("tour.pcapng", "three-nodes.pcapng.zst", "sasl-framed.pcapng")
TABLES = ("exchanges", "topic_partitions", "connections", "skipped")


def write(folder: Path, name: str, connections: list[dict[str, Any]] | None = None) -> Path:
    """The tables of a capture that ships."""

    def opened(path: str) -> BinaryIO:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        return (folder / path).open("wb")

    with TableWriter(opened, TABLES) as writer:
        settled = settled_for_tables(segments(name))
        for at in range(0, len(settled), 50):
            writer.write(batch_of(settled[at : at + 50]))
        if connections:
            import pyarrow as pa

            writer.write_table("connections", pa.RecordBatch.from_pylist(connections, SCHEMAS["connections"]))
        writer.close()
    return folder


def found(folder: Path, **options: Any) -> dict[str, Any]:
    """The report as JSON."""
    env = world()
    assert report(env, Settings(format="json"), str(folder), **options) == Exit.DONE
    assert isinstance(env.stdout, io.BytesIO)
    made: dict[str, Any] = json.loads(env.stdout.getvalue())
    return made


def shown(folder: Path, width: int, **options: Any) -> list[str]:
    """The lines of its text."""
    env = world()
    assert report(env, Settings(format="text", width=width, **options), str(folder)) == Exit.DONE
    assert isinstance(env.stdout, io.BytesIO)
    return env.stdout.getvalue().decode().splitlines()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", ["api", "client", "topic", "broker"])
def test_latencies_are_those_of_kw_stats(name: str, by: str, tmp_path: Path) -> None:
    outcome = kw("stats", str(CAPTURES / name), "--by", by, "-o", "ndjson")
    expected = [json.loads(line) for line in outcome.out.splitlines()]
    rows = found(write(tmp_path, name))["latency"][by]
    for row in rows:
        row.pop("over_time", None)
    stats = {row[by]: {key: value for key, value in row.items() if key not in ("kind", "schema")} for row in expected}
    assert {row[by]: row for row in rows} == stats


def test_what_is_over_time_adds_up(tmp_path: Path) -> None:
    made = found(write(tmp_path, "tour.pcapng"))
    for key in ("count", "errors", "waited"):
        assert sum(point[key] for point in made["over_time"]) == made["summary"][key]
    for by, rows in made["latency"].items():
        told = [row for row in rows if "over_time" in row]
        assert len(told) >= min(6, len(rows))
        for row in told:
            assert sum(point["count"] for point in row["over_time"]) == row["count"], by
    assert len({point["time"] for point in made["over_time"]}) == len(made["over_time"]) <= 60


@pytest.mark.parametrize("name", NAMES)
def test_spark_counts_the_same(spark: SparkSession, name: str, tmp_path: Path) -> None:
    assert spark.version
    folder = write(tmp_path, name)
    assert found(folder, master="local[2]") == found(folder)


def test_old_versions_are_held_against_the_release_named(tmp_path: Path) -> None:
    folder = write(tmp_path, "tour.pcapng")
    (old,) = found(folder, target="4.0.1")["old_versions"]["old"]
    assert old["client_id"] == "report-1"
    assert [(each["api"], each["api_version"], each["serves"]) for each in old["old"]] == [("ListOffsets", 0, [1, 10])]
    assert (old["since"], old["asks"]) == ("0.10.1", False)
    assert found(folder, target="3.9")["old_versions"]["old"] == []
    assert found(folder)["old_versions"]["target"] == RELEASES[-1]
    with pytest.raises(Failure, match=r"no release 9\.9") as failure:
        found(folder, target="9.9")
    assert failure.value.code == Exit.USAGE


@pytest.mark.parametrize("width", [80, 100, 200])
def test_text_fits_the_terminal(width: int, tmp_path: Path) -> None:
    lines = shown(write(tmp_path, "three-nodes.pcapng.zst"), width)
    assert len(lines) > 60
    assert max(map(len, lines)) <= width


def test_tables_that_are_not_there_are_told(tmp_path: Path) -> None:
    folder = write(tmp_path, "tour.pcapng")
    made = found(folder)
    assert made["tables"]["connections"] is None
    assert made["connections"] is made["summary"]["connections"] is None
    assert "not there: the tables connections, skipped" in shown(folder, 100)


def test_a_folder_without_tables_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no tables of kw pipeline"):
        found(tmp_path)
    broken = tmp_path / "exchanges" / "date=2026-11-21"
    broken.mkdir(parents=True)
    (broken / "a.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(Failure) as failure:
        found(tmp_path)
    assert "\n" not in failure.value.text
