"""`kw pipeline report` has the numbers of `kw stats` on the same captures, on one machine and on Spark."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from decoders.protocol_facts.kafka_releases import RELEASES
from kwcli.help.handbook_pages import read_page
from kwcli.output.output_settings import Settings
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.report.run_report import run_report
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world
from tests.help.reading import block

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
NAMES = ("tour.pcapng", "three-nodes.pcapng.zst", "sasl-framed.pcapng")


def write(folder: Path, name: str, *words: str) -> Path:
    """The tables of a capture that ships."""
    outcome = kw("pipeline", "run", str(CAPTURES / name), "--out", str(folder), "-q", *words)
    assert outcome.code == Exit.DONE, outcome.err
    return folder


def found(folder: Path, **options: Any) -> dict[str, Any]:
    """The report as JSON; asserts its exit code."""
    env = world()
    code = run_report(env, Settings(format="json"), str(folder), **options)
    assert isinstance(env.stdout, io.BytesIO)
    made: dict[str, Any] = json.loads(env.stdout.getvalue())
    found_some = "target" in options and made["old_versions"]["old"]
    assert code == (Exit.FINDINGS if found_some else Exit.DONE)
    return made


def shown(folder: Path, width: int | None, **options: Any) -> list[str]:
    """The lines of the report as text."""
    env = world()
    assert run_report(env, Settings(format="text", width=width, **options), str(folder)) == Exit.DONE
    assert isinstance(env.stdout, io.BytesIO)
    return env.stdout.getvalue().decode().splitlines()


@pytest.mark.long
@pytest.mark.one_in(4)
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


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_spark_counts_the_same(spark: SparkSession, name: str, tmp_path: Path) -> None:
    assert spark.version
    folder = write(tmp_path, name)
    assert found(folder, master="local[2]") == found(folder)


@pytest.mark.long
def test_spark_finds_the_same_in_bodies(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    folder = write(tmp_path, "tour.pcapng", "--bodies")
    here = found(folder)
    assert here["findings"]
    assert found(folder, master="local[2]") == here


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


def test_clients_that_the_target_turns_away_are_what_a_check_found(tmp_path: Path) -> None:
    folder = str(write(tmp_path / "tables", "tour.pcapng"))
    for words, code, err in [
        (["--target", "4.0"], Exit.FINDINGS, "kw: Kafka 4.0 turns away 1 client\n"),
        (["--target", "v4.0.1", "-q"], Exit.FINDINGS, ""),
        (["--target", "latest", "-q"], Exit.FINDINGS, ""),
        (["--target", "3.9"], Exit.DONE, ""),
        ([], Exit.DONE, ""),
    ]:
        outcome = kw("pipeline", "report", folder, *words)
        assert (outcome.code, outcome.err) == (code, err), words


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [80, 100, 200])
def test_text_fits_the_terminal(width: int, tmp_path: Path) -> None:
    lines = shown(write(tmp_path, "three-nodes.pcapng.zst"), width)
    assert len(lines) > 60
    assert max(map(len, lines)) <= width


def test_tables_that_are_not_there_are_told(tmp_path: Path) -> None:
    folder = write(tmp_path, "tour.pcapng", "--tables", "exchanges,topic_partitions")
    made = found(folder)
    assert made["tables"]["connections"] is None
    assert made["connections"] is made["summary"]["connections"] is None
    assert "not there: the tables connections, skipped" in shown(folder, 100)


@pytest.mark.parametrize("width", [None, 80])
def test_tables_without_rows_make_an_empty_report(width: int | None, tmp_path: Path) -> None:
    folder = write(tmp_path, "tour.pcapng", "-f", "latency > 1h")
    made = found(folder)
    assert made["tables"]["exchanges"] == made["summary"]["count"] == 0
    assert made["first"] is made["summary"]["p99"] is None
    assert made["latency"]["api"] == made["errors"] == made["slowest"] == made["over_time"] == []
    lines = shown(folder, width)
    assert lines[0].startswith("0 exchanges")
    assert "  no exchanges" in lines


def test_connections_are_those_of_the_table(tmp_path: Path) -> None:
    made = found(write(tmp_path, "tour.pcapng"))["connections"]
    assert made["kafka"] == sum(row["count"] for row in made["client"]) > 10
    assert sum(made["closed"].values()) == made["count"]
    assert sum(row["exchanges"] for row in made["client"]) == 193


def test_connections_that_are_not_kafka_are_counted_apart(tmp_path: Path) -> None:
    folder = write(tmp_path, "three-nodes.pcapng.zst")
    whole = found(folder)
    made = whole["connections"]
    kafka = sum(row["count"] for row in made["client"])
    others = sum(row["count"] for row in made["not_kafka"])
    assert (kafka, kafka + others) == (made["kafka"], made["count"])
    assert whole["summary"]["not_kafka"] == others > 100
    assert all(row["exchanges"] for row in made["client"])
    lines = shown(folder, 100)
    assert any(f"({others:,} not Kafka)" in line for line in lines)
    assert any("nothing was said" in line for line in lines)


def test_a_folder_without_tables_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no tables"):
        found(tmp_path)
    folder = write(tmp_path / "tables", "tour.pcapng")
    (file,) = (folder / "exchanges").rglob("*.parquet")
    file.write_bytes(b"PAR1 nonsense")
    with pytest.raises(Failure) as failure:
        found(folder)
    assert "\n" not in failure.value.text


@pytest.mark.plain
@pytest.mark.parametrize("master", [None, pytest.param("local[2]", marks=pytest.mark.full)])
def test_what_is_too_much_is_left_out_and_told(
    master: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if master is not None:
        request.getfixturevalue("spark")
    folder = write(tmp_path / "tables", "tour.pcapng")
    monkeypatch.setattr("decoders.analysis.sum_amounts_by_key.GROUPS_MAX", 4)
    monkeypatch.setattr("decoders.analysis.heavy_keys.KEYS_SHOWN_MAX", 4)
    made = found(folder, master=master)
    left_out = {each["what"] for each in made["left_out"]}
    assert {"versions", "clients"} <= left_out
    assert made["old_versions"] is made["summary"]["clients"] is None
    *clients, others = made["latency"]["client"]
    assert (len(clients), others["client"]) == (4, None)
    assert others["others"] > 4
    assert sum(row["count"] for row in made["latency"]["client"]) == made["summary"]["count"]
    assert len(made["latency"]["broker"]) == 3
    assert "not shown: versions: more than 4 versions of APIs used by clients" in shown(folder, 100)
    page = tmp_path / "page.html"
    assert kw("pipeline", "report", str(folder), "--html", str(page), "-q").code == Exit.DONE
    assert "Not shown: versions: more than 4 versions of APIs used by clients" in page.read_text()


def test_connections_alone_make_a_report_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "tables", "tour.pcapng", "--tables", "connections")
    made = found(folder)
    assert made["latency"] is made["errors"] is made["slowest"] is made["batches"] is None
    assert made["connections"]["count"] > 10
    lines = shown(folder, 100)
    assert "not there: the tables exchanges, topic_partitions, skipped" in lines
    assert any(line.startswith("Connections by client") for line in lines)
    page = tmp_path / "page.html"
    assert kw("pipeline", "report", str(folder), "--html", str(page), "-q").code == Exit.DONE


@pytest.mark.parametrize("missing", ["numpy", "pyarrow"])
def test_what_is_not_installed_is_one_line(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"reading tables needs pyarrow: {pip_command_for_extra('report')}"
    monkeypatch.setattr("kwcli.pipeline.report.run_report.find_spec", lambda name: None if name == missing else True)
    outcome = kw("pipeline", "report", str(tmp_path), "--html", str(tmp_path / "page.html"))
    assert (outcome.code, outcome.out, outcome.err) == (Exit.FAILURE, "", f"kw: {said}\n")


def test_what_the_handbook_shows_is_what_is_printed(tmp_path: Path) -> None:
    _, *told = block(read_page("report"), "$ kw pipeline report tables --target 4.0")
    env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
    folder = write(tmp_path, "tour.pcapng")
    printed = kw("pipeline", "report", str(folder), "--target", "4.0", env=env).out.splitlines()
    lines = [line for line in told if line not in ("…", "")]
    places = [printed.index(line) for line in lines]
    assert len(places) > 10
    assert places == sorted(places)


def test_every_key_that_is_told_is_there(tmp_path: Path) -> None:
    page = read_page("report")
    section = page[page.index("`-o json` is one object") :]
    told = {
        key for line in re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE) for key in re.findall(r"`(\w+)`", line)
    }
    assert told == set(found(write(tmp_path, "tour.pcapng"))) - {"kind", "schema"}
