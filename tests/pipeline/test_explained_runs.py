"""The plan of a run in, all lines that `--explain` says of it out."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.pipeline import explain_run
from kwcli.pipeline.captures_covered_by_run import CoveredCaptures
from kwcli.pipeline.choose_engine import EngineChoice
from kwcli.pipeline.plan_splits import SplitPlan
from kwcli.pipeline.read.find_captures import SourceFile
from kwcli.pipeline.read.split_and_file_range import FileRange, Split
from kwcli.pipeline.run_options import RunOptions
from kwcli.run_environment import Exit, Failure

SECOND = 10**9
NOON = 1_790_078_400 * SECOND
OPTIONS = RunOptions(
    *(
        ("a.pcap",),
        (),
        "out",
        None,
        None,
        "",
        (),
        ("exchanges", "connections"),
        False,
        False,
        "auto",
        None,
        None,
        False,
    ),
    *(True, 0, False),
)
END_TO_END = "splits   none: one process reads each capture from end to end"
SPARK, LOCAL = EngineChoice("stitch", "as asked", "local[2]"), EngineChoice("local", "no Java")


def file(name: str, size: int, point: str = "") -> SourceFile:
    return SourceFile(point, f"/{name}", size, "f", name)


def piece(number: int, low: float | None, high: float | None) -> FileRange:
    """A piece of a file, with its times in seconds after noon."""
    first, last = (None if at is None else NOON + round(at * SECOND) for at in (low, high))
    return FileRange(number, "/x", "x", 0, 10, low_ns=first, high_ns=last)


def explain(
    files: list[SourceFile], splits: list[Split], engine: EngineChoice = SPARK, java: str = "/java", **options: Any
) -> list[str]:
    def find_java(_: object) -> str:
        if not java:
            raise Failure("there is none", Exit.USAGE)
        return java

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(explain_run, "find_required_java", find_java)
        covered = CoveredCaptures(files, [], [], 1, 1)
        asked = OPTIONS._replace(**options)
        return [*explain_run.format_run_explanation(asked, covered, SplitPlan(splits, [], []), engine, "is new", {})]


A, B, C = file("a.pcap", 2000), file("long-b.pcap", 3_000_000), file("c.pcap", 24)
ONE, TWO = Split("", 0, (piece(0, 0, 5),)), Split("", 1, (piece(0, 5, 7), piece(1, 6, 9)), merged=True)


@pytest.mark.parametrize(
    ("files", "splits", "engine", "lines"),
    [
        (
            [A],
            [ONE],
            SPARK,
            ["  a.pcap    2.0kB  1 split  2026-09-22 12:00:00–12:00:05 UTC", "splits   1 split of at most 268.4MB"],
        ),
        (
            [A, B, C],
            [ONE, TWO],
            SPARK,
            [
                "  a.pcap         2.0kB  2 splits  2026-09-22 12:00:00–12:00:07 UTC",
                "  long-b.pcap    3.0MB  1 split  2026-09-22 12:00:06–12:00:09 UTC",
                "  c.pcap           24B  nothing in it",
                "splits   2 splits of at most 268.4MB, 1 of them of captures that overlap in time",
            ],
        ),
        (
            [A, B, C],
            [ONE, TWO],
            LOCAL,
            [
                "  a.pcap         2.0kB  2026-09-22 12:00:00–12:00:07 UTC",
                "  long-b.pcap    3.0MB  2026-09-22 12:00:06–12:00:09 UTC",
                "  c.pcap           24B  nothing in it",
                f"{END_TO_END}, those that overlap in time side by side",
            ],
        ),
        (
            [A, B],
            [ONE],
            LOCAL,
            [
                "  a.pcap         2.0kB  2026-09-22 12:00:00–12:00:05 UTC",
                "  long-b.pcap    3.0MB  nothing in it",
                END_TO_END,
            ],
        ),
        (
            [A],
            [Split("", 0, (piece(0, 0.5, None),))],
            SPARK,
            ["  a.pcap    2.0kB  1 split  2026-09-22 12:00:00–… UTC", "splits   1 split of at most 268.4MB"],
        ),
        (
            [A],
            [Split("", 0, (piece(0, None, 3), piece(0, 2, None), piece(0, 1, 9)))],
            SPARK,
            ["  a.pcap    2.0kB  3 splits  2026-09-22 12:00:01–12:00:09 UTC", "splits   1 split of at most 268.4MB"],
        ),
        (
            [A],
            [Split("", 0, (piece(0, None, None),))],
            SPARK,
            ["  a.pcap    2.0kB  1 split", "splits   1 split of at most 268.4MB"],
        ),
        (
            [file("a.pcap", 10, "east"), file("b.pcap", 10)],
            [ONE],
            SPARK,
            [
                "  east  a.pcap      10B  1 split  2026-09-22 12:00:00–12:00:05 UTC",
                "  –     b.pcap      10B  nothing in it",
                "splits   1 split of at most 268.4MB",
            ],
        ),
    ],
    ids=range(8),
)
def test_lines_of_captures_and_splits(
    files: list[SourceFile], splits: list[Split], engine: EngineChoice, lines: list[str]
) -> None:
    said = explain(files, splits, engine)
    assert said[1 : len(files) + 2] == lines
    assert [line.partition(" ")[0] for line in said if line[0] != " "] == (
        ["sources", "splits", "select", "tables", "out", "engine", "java"]
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"split_size": 5_000_000}, "splits   1 split of at most 5.0MB"),
        ({"since_ns": NOON}, "select   since 2026-09-22T12:00:00Z"),
        ({"until_ns": NOON + 500_000_000}, "select   until 2026-09-22T12:00:00.5Z"),
        (
            {"since_ns": 0, "until_ns": NOON + 1, "filter": "api == Fetch", "ports": (9093, 9092, 9093)},
            "select   since 1970-01-01T00:00:00Z; until 2026-09-22T12:00:00.000000001Z; api == Fetch; ports 9092,9093",
        ),
        ({"since_ns": NOON + 10 * SECOND}, "select   since 2026-09-22T12:00:10Z"),
        ({}, "select   everything"),
        ({"bodies": True}, "tables   exchanges, connections with bodies"),
        ({"bodies": True, "records": True}, "tables   exchanges, connections with bodies and records"),
        ({"records": True, "tables": ("topics",)}, "tables   topics"),
        ({"out": "b"}, "out      b: is new"),
    ],
    ids=range(10),
)
def test_what_is_asked_for_is_said(options: dict[str, Any], line: str) -> None:
    assert line in explain([A], [ONE], **options)


def test_captures_engine_and_java() -> None:
    assert explain([A, B, C], [ONE])[0] == "sources  3 captures, 3.0MB"
    assert explain([A], [ONE])[-2:] == ["engine   stitch: as asked, on local[2]", "java     /java"]
    assert explain([A], [ONE], LOCAL, java="")[-2:] == ["engine   local: no Java", "java     there is none"]
