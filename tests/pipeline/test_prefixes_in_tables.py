"""Who sent the bytes, where a PROXY head names another client, in tables, and in the answers that are made of them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from kwcli.pipeline.report.read_tables import Tables
from kwcli.pipeline.tables.exchange_columns import BODY_COLUMNS
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.exchanges.prefixes import PREFIXES, PROXY_1, kafka
from tests.exchanges.talks import segments
from tests.pipeline.jobs import job_of
from tests.pipeline.test_spark_engines import run_spark
from tests.tls.wrapping import pcapng_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SENDER: Final = "10.0.0.1:50000"


def capture(folder: Path, *, head: bool = True) -> str:
    path = folder / "lb.pcapng"
    path.write_bytes(pcapng_of(segments([*([(True, PROXY_1)] if head else []), *kafka()], Random(1), most=11)))
    return str(path)


def rows_of(*words: str) -> list[dict[str, Any]]:
    outcome = kw(*words)
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def assert_tables_name_the_sender(tables: str, client: str) -> None:
    expected = [{"client": client, "via_address": SENDER}]
    for table in ("exchanges", "connections"):
        assert rows_of("sql", tables, f"select distinct client, via_address from {table}", "-o", "ndjson") == expected


@pytest.mark.parametrize("more", [("--bodies",), ()])
def test_tables_and_what_is_made_of_them_name_the_sender(tmp_path: Path, more: tuple[str, ...]) -> None:
    path, out = capture(tmp_path), str(tmp_path / "tables")
    assert kw("pipeline", "run", path, *more, "--out", out).code == Exit.DONE
    assert_tables_name_the_sender(out, PREFIXES["proxy 1"][1])
    shown = rows_of("sniff", out, "-o", "ndjson")
    assert [row.get("via_address") for row in shown] == [SENDER] * 3 + [None]  # the last is the head
    assert [row["via_addresses"] for row in rows_of("clients", out, "-o", "ndjson")] == [["10.0.0.1"]]
    assert rows_of("sniff", out, "-f", f"via_address != {SENDER}", "-o", "ndjson") == []
    for batch in Tables(out).read_rows_of_captures("exchanges", BODY_COLUMNS, 10):
        further = [json.loads(row["further_keys"] or "{}") for row in batch.to_pylist()]
        assert not any("via_address" in keys for keys in further)


def test_without_a_head_nothing_is_said(tmp_path: Path) -> None:
    path, out = capture(tmp_path, head=False), str(tmp_path / "tables")
    assert kw("pipeline", "run", path, "--out", out).code == Exit.DONE
    counted = rows_of("sql", out, "select count(via_address) as n, count(*) as rows from exchanges", "-o", "ndjson")
    assert counted == [{"n": 0, "rows": 3}]
    assert "via_addresses" not in rows_of("clients", path, "-o", "ndjson")[0]
    assert "  via  " not in kw("clients", path, "-o", "text").out


def test_clients_name_the_sender(tmp_path: Path) -> None:
    path = capture(tmp_path)
    assert rows_of("clients", path, "-o", "ndjson")[0]["via_addresses"] == ["10.0.0.1"]
    columns = kw("clients", path, "-o", "csv").out.splitlines()
    assert dict(zip(columns[0].split(","), columns[1].split(","), strict=True))["via_addresses"] == "10.0.0.1"
    name = rows_of("clients", path, "-o", "ndjson")[0]["client_id"]
    assert "  via                10.0.0.1\n" in kw("clients", path, "--name", name, "-o", "text").out
    assert "  via  " in kw("clients", path, "-o", "text").out


@pytest.mark.long
def test_spark_names_the_sender_of_a_cut_connection(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    run_spark(spark, out, job_of([capture(tmp_path)], size=500, bodies=False), raw=False)
    assert_tables_name_the_sender(str(out), PREFIXES["proxy 1"][1])
