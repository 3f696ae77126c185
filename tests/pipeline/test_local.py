"""The engine `local` writes the rows that an engine settles, however the captures are cut."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from decoders.exchanges.exchange import Ended, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.exchange_json import to_json_dict
from kwcli.pipeline.tables.table_columns import TABLES
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE, segments
from tests.pipeline.jobs import job_of, rows_in, run
from tests.sampling import sampled


@pytest.mark.parametrize("name", sampled([*CLEAN, *NEGATIVE], 4))
def test_the_tables_hold_what_the_engine_gives(tmp_path: Path, name: str) -> None:
    engine = Engine(connections=True)
    settled: list[Row] = [*engine.feed(list(segments(name))), *engine.finish()]
    run(tmp_path, job_of([str(FOLDER / name)]))
    for table, kind in (("exchanges", "exchange"), ("skipped", "skipped")):
        records = [to_json_dict(row) for row in settled if not isinstance(row, Ended) and row.kind == kind]
        rows = rows_in(tmp_path, table)
        keys = ("client", "broker", "connection", "reason", "status", "request_size", "response_size", "size")
        assert Counter(tuple(record.get(key) for key in keys) for record in records) == Counter(
            tuple(row.get(key) for key in keys) for row in rows
        )
        assert all(row["source_file"] == str(FOLDER / name) for row in rows if kind == "exchange")
    _compare_connections([row for row in settled if isinstance(row, Ended)], rows_in(tmp_path, "connections"))


def _compare_connections(ended: list[Ended], rows: list[dict[str, Any]]) -> None:
    assert len(ended) == len(rows)
    found = {(row["client"], row["broker"], row["connection_began_ns"]): row for row in rows}
    for one in ended:
        row = found[one.client, one.broker, one.connection_info.began_ns]
        assert row["time_ns"] == one.time_ns
        assert row["closed"] == one.how
        assert (row["reason"] or "", row["detail"] or "") == (one.reason, one.detail)
        for side in ("client", "server"):
            assert row[f"{side}_retransmissions"] == getattr(one, f"{side}_again")
            for name in ("packets", "bytes", "gaps", "missing"):
                assert row[f"{side}_{name}"] == getattr(one, f"{side}_{name}")
        same = ("last_ns", "kafka", "opened", "client_id", "exchanges")
        assert [row[name] for name in same] == [getattr(one, name) for name in same]


@pytest.mark.long
def test_the_cuts_make_no_difference(tmp_path: Path) -> None:
    words = [str(FOLDER / name) for name in ("tour.pcapng", "share-groups.pcapng", "three-nodes.pcapng.zst")]
    whole, cut = job_of(words, bodies=True), job_of(words, bodies=True, size=50_000)
    assert len(cut.splits) > len(whole.splits)
    one, two = run(tmp_path / "whole", whole), run(tmp_path / "cut", cut)
    assert (one.counts, one.problems, one.taken) == (two.counts, two.problems, two.taken)
    assert one.tally.export() == two.tally.export()
    for table in TABLES:
        assert rows_in(tmp_path / "whole", table) == rows_in(tmp_path / "cut", table)


def test_points_are_apart_and_files_keep_their_names(tmp_path: Path) -> None:
    tour, sasl = str(FOLDER / "tour.pcapng"), str(FOLDER / "sasl-raw.pcap")
    run(tmp_path, job_of([], points=[("a", tour), ("b", sasl)]))
    for table in ("exchanges", "connections"):
        rows = rows_in(tmp_path, table)
        assert {row["point"] for row in rows} == {"a", "b"}
        if table == "exchanges":
            assert {(row["point"], row["source_file"]) for row in rows} == {("a", tour), ("b", sasl)}
    parts = rows_in(tmp_path, "topic_partitions")
    exchanges = {
        (row["point"], row["client"], row["connection_began_ns"], row["place"]): row
        for row in rows_in(tmp_path, "exchanges")
    }
    for part in parts:
        row = exchanges[part["point"], part["client"], part["connection_began_ns"], part["place"]]
        assert row["api"] == part["api"]


def test_a_filter_and_times_choose_rows(tmp_path: Path) -> None:
    name = str(FOLDER / "tour.pcapng")
    run(tmp_path / "all", job_of([name]))
    everything = rows_in(tmp_path / "all", "exchanges")
    middle = everything[len(everything) // 2]["time_ns"]
    run(tmp_path / "some", job_of([name], filter="api == Fetch", since_ns=middle))
    wanted = [row for row in everything if row["api"] == "Fetch" and row["time_ns"] >= middle]
    assert rows_in(tmp_path / "some", "exchanges") == wanted
    run(tmp_path / "early", job_of([name], until_ns=middle))
    assert rows_in(tmp_path / "early", "exchanges") == [row for row in everything if row["time_ns"] < middle]
    connections = rows_in(tmp_path / "all", "connections")
    early = rows_in(tmp_path / "early", "connections")
    assert early == [row for row in connections if row["time_ns"] < middle]


def test_only_the_tables_asked_for_are_written(tmp_path: Path) -> None:
    run(tmp_path, job_of([str(FOLDER / "tour.pcapng")], tables=("connections",)))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["_kw", "connections"]


def test_secrets_stay_out_of_bodies(tmp_path: Path) -> None:
    name = str(FOLDER / "sasl-raw.pcap")
    run(tmp_path / "hidden", job_of([name], bodies=True))
    run(tmp_path / "shown", job_of([name], bodies=True, reveal_secrets=True))
    hidden, shown = (rows_in(tmp_path / folder, "exchanges") for folder in ("hidden", "shown"))
    tokens = [(a, b) for a, b in zip(hidden, shown, strict=True) if a["status"] == "token"]
    assert tokens
    for one, other in tokens:
        assert one["request_body"].startswith('{"redacted":')
        assert not other["request_body"].startswith('{"redacted":')
