"""Columns that are no attribute of an exchange: the schema's version, the node's id, the line's facts."""

from __future__ import annotations

from pathlib import Path

from tests.cli.worlds import kw

TOUR = str(Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng")


def test_columns_of_a_row() -> None:
    columns = [word for name in ("schema", "api", "node", "facts") for word in ("-e", name)]
    done = kw("sniff", TOUR, "-o", "fields", *columns, "--limit", "3")
    assert [line.split("\t")[:3] for line in done.out.splitlines()] == [
        ["1", "ApiVersions", "1"],
        ["1", "Metadata", "1"],
        ["1", "ApiVersions", "3"],
    ]
    assert [line.split("\t")[3].rpartition("→ ")[2] for line in done.out.splitlines()] == [
        "75 APIs",
        "3 brokers controller 3",
        "75 APIs",
    ]
