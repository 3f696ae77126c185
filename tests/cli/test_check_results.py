"""Answers that judge as SARIF, JUnit and Markdown: their required structure, what fails, and what --fail-on names.

The structure is that of SARIF 2.1.0 (OASIS, sections named beside the checks) and of JUnit as Jenkins' and Apache Ant's
schemas have it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import duckdb
import pytest
from markdown_it import MarkdownIt

from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

TOUR, OLD, GSSAPI = (str(FOLDER / name) for name in ("tour.pcapng", "old-clients.pcap.gz", "sasl-gssapi.pcap.gz"))
RUNS = [
    ("audit", TOUR),
    ("audit", OLD, "--clients", "4.0"),
    ("audit", OLD, "--security"),
    ("audit", GSSAPI, "--advisories"),
    ("doctor", TOUR),
]
IDS = ["audit", "audit-clients", "security", "advisories", "doctor"]


def rows_of(*words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw(*words, "-o", "ndjson").out.splitlines()]


def check_text(message: Any) -> None:
    """A message object with text (3.11.8)."""
    assert isinstance(message["text"], str)
    assert message["text"]


@pytest.mark.parametrize("words", RUNS, ids=IDS)
def test_sarif_has_the_structure_of_its_specification(words: tuple[str, ...]) -> None:
    ran = kw(*words, "-o", "sarif")
    log = json.loads(ran.out)
    assert log["version"] == "2.1.0"  # 3.13.2
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")  # 3.13.3
    (run,) = log["runs"]  # 3.13.4
    driver = run["tool"]["driver"]  # 3.18.2
    assert driver["name"]  # 3.19.8
    assert re.match(r"\d+\.\d+\.\d+", driver["semanticVersion"])  # 3.19.12
    identifiers = [rule["id"] for rule in driver["rules"]]  # 3.49.3
    assert len(identifiers) == len(set(identifiers))  # 3.19.23: an array of unique elements
    for rule in driver["rules"]:
        check_text(rule["shortDescription"])  # 3.49.9
        # Code scanning of GitHub takes no rule without these, and shows no result without a file.
        check_text(rule["fullDescription"])  # 3.49.10
        check_text(rule["help"])  # 3.49.13
        assert "helpUri" not in rule or rule["helpUri"].startswith("https://")  # 3.49.12
    assert [each["executionSuccessful"] for each in run["invocations"]] == [True]  # 3.20.14
    rows = rows_of(*words)
    assert len(run["results"]) == len(rows)
    for result in run["results"]:
        check_text(result["message"])  # 3.27.11
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.5, 3.27.6
        assert result["kind"] in ("pass", "open", "fail")  # 3.27.9
        assert result["level"] in ("none", "note", "warning", "error")  # 3.27.10
        assert (result["kind"] == "fail") == (result["level"] != "none")  # 3.27.9: level of other kinds is none
        assert result["locations"]  # 3.27.12
        for location in result["locations"]:
            assert location["logicalLocations"][0]["fullyQualifiedName"]  # 3.33.5
            uri = location["physicalLocation"]["artifactLocation"]["uri"]  # 3.29.3, 3.4.3
            assert uri.endswith(Path(words[1]).name)
            assert " " not in uri
        assert all(isinstance(each, str) for each in result["partialFingerprints"].values())  # 3.27.17


def test_rules_of_sarif_are_about_no_single_result() -> None:
    (run,) = json.loads(kw("doctor", TOUR, "-o", "sarif").out)["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["topic-unknown"]["shortDescription"]["text"] == "topic unknown"
    (result,) = [each for each in run["results"] if each["ruleId"] == "topic-unknown"]
    assert "topic order does not exist" in result["message"]["text"]
    (run,) = json.loads(kw("audit", GSSAPI, "--advisories", "-o", "sarif").out)["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["CVE-2026-35554"]["help"]["text"].startswith("fixed in 3.9.2, 4.0.2, 4.1.2, 4.2.0")


@pytest.mark.parametrize("words", RUNS, ids=IDS)
def test_junit_has_the_structure_of_both_schemas(words: tuple[str, ...]) -> None:
    ran = kw(*words, "-o", "junit")
    root = ElementTree.fromstring(ran.out)
    assert root.tag == "testsuites"
    (suite,) = root
    assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"} == {
        *suite.attrib
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    tags = [each.tag for each in suite]
    cases = [each for each in suite if each.tag == "testcase"]
    assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
    for case in cases:
        assert {*case.attrib} == {"classname", "name", "time"}
        assert [each.tag for each in case] in ([], ["failure"], ["skipped"])
        assert all({*each.attrib} == {"type", "message"} for each in case.iter("failure"))
    assert int(suite.attrib["tests"]) == len(cases) == len(rows_of(*words))
    assert int(suite.attrib["failures"]) == len(list(suite.iter("failure")))
    assert int(suite.attrib["skipped"]) == len(list(suite.iter("skipped")))
    assert (int(suite.attrib["failures"]) > 0) == (ran.code == 4)


@pytest.mark.parametrize(
    "words", [*RUNS, *((word, TOUR) for word in ("clients", "groups", "topics", "brokers", "stats"))]
)
def test_markdown_is_one_table(words: tuple[str, ...]) -> None:
    heading, rule, *lines = kw(*words, "-o", "md").out.splitlines()
    cells = heading.count(" | ")
    assert cells
    assert re.fullmatch(r"\|( -{3}:? \|)+", rule)
    assert lines
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {cells + 2}
    assert len(lines) == len(rows_of(*words))


DIFFERENT: Final = ("diff", *(str(FOLDER / "differences" / f"{name}.pcap.zst") for name in ("steady", "other-linger")))
TABLES: Final = [*RUNS, DIFFERENT, *((word, TOUR) for word in ("clients", "groups", "topics", "brokers"))]


def read_markdown(text: str) -> list[list[str]]:
    """The cells of a document of Markdown that is one table, as a reader of CommonMark with tables shows them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert [each.type for each in tokens if each.level == 0] == ["table_open", "table_close"]
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            children = token.children or []
            assert {each.type for each in children} <= {"text", "text_special"}
            rows[-1].append("".join(each.content for each in children))
    return rows


@pytest.mark.parametrize("words", TABLES)
def test_markdown_shows_the_cells_of_csv(words: tuple[str, ...]) -> None:
    heading, *rows = read_markdown(kw(*words, "-o", "md").out)
    told = list(csv.DictReader(io.StringIO(kw(*words, "-o", "csv").out)))
    assert len(rows) == len(told) > 0
    for row, cells in zip(rows, told, strict=True):
        for name, cell in zip(heading, row, strict=True):
            # A long cell is cut.
            assert cells[name] == cell or (len(cell) > 100 and cells[name].startswith(cell.rstrip("…")))
        assert not any(cells[name] for name in cells.keys() - {*heading})


@pytest.mark.parametrize("words", TABLES)
def test_duckdb_reads_the_cells_of_csv(words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    path.write_text(kw(*words, "-o", "csv").out)
    read = duckdb.read_csv(str(path), header=True, all_varchar=True)
    with path.open(newline="") as file:
        heading, *rows = csv.reader(file)
    assert read.columns == heading
    assert [[cell or "" for cell in row] for row in read.fetchall()] == rows


def test_markdown_shows_what_an_audit_refuses() -> None:
    heading, _, row, *_ = kw("audit", OLD, "--target", "4.0", "-o", "md").out.splitlines()
    names = [cell.strip().replace("\\", "") for cell in heading.strip("|").split("|")]
    cells = dict(zip(names, [cell.strip() for cell in row.strip("|").split("|")], strict=True))
    assert cells["refused"].startswith("Produce 0 1 2 (3-12), Fetch 1 3 (4-17), ListOffsets 0 (1-10)")
    assert int(cells["count"]) > 0
    assert cells["last"].startswith("2026-11-21T")


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (("audit", TOUR), {"": 4, "breaks": 4, "unknown": 4, "never": 0}),
        (("audit", OLD, "--client-id", "broker-*"), {"": 0, "unknown": 4, "never": 0}),
        (("audit", GSSAPI, "--advisories"), {"": 4, "affected": 4, "never": 0}),
        (("audit", TOUR, "--advisories", "--client-id", "web-1"), {"": 0, "affected": 0, "unknown": 4}),
        (("audit", GSSAPI, "--security"), {"": 4, "error": 4, "warning": 4, "never": 0}),
    ],
    ids=lambda value: "-".join(value[2:]) or value[0] if isinstance(value, tuple) else "",
)
def test_fail_on_says_what_ends_with_exit_code_4(words: tuple[str, ...], codes: dict[str, int]) -> None:
    assert {level: kw(*words, *(["--fail-on", level] if level else [])).code for level in codes} == codes


def test_verdict_chooses_rows_and_leaves_the_summary() -> None:
    whole, some = kw("audit", TOUR), kw("audit", TOUR, "--verdict", "breaks")
    assert (whole.code, some.code) == (4, 4)
    assert whole.err.splitlines()[-1] == some.err.splitlines()[-1]
    assert {row["verdict"] for row in rows_of("audit", TOUR, "--verdict", "breaks,unknown")} <= {"breaks", "unknown"}
    assert {row["verdict"] for row in rows_of("audit", GSSAPI, "--advisories", "--verdict", "maybe")} == {"maybe"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--verdict", "affected"), "--verdict affected: no verdict of --target"),
        (("--advisories", "--verdict", "breaks"), "--verdict breaks: no verdict of --advisories"),
        (("--advisories", "--fail-on", "breaks"), "--fail-on breaks: with --advisories it is affected, unknown, never"),
        (("--advisories", "--target", "4.0"), "--advisories and --target audit different things"),
        (("--security", "--fail-on", "unknown"), "--fail-on unknown: with --security it is error, warning, never"),
    ],
)
def test_words_of_another_audit_are_refused(words: tuple[str, ...], told: str) -> None:
    ran = kw("audit", TOUR, *words)
    assert (ran.code, told in ran.err) == (2, True)


def test_a_list_leaves_advisories_out(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    until = "reason: known, until: 2200-01-01"
    found = {row["id"] for row in rows_of("audit", GSSAPI, "--advisories") if row["verdict"] == "affected"}
    path.write_text("".join(f"- {{id: {each}, {until}}}\n" for each in sorted(found)))
    ran = kw("audit", GSSAPI, "--advisories", "--ignore", str(path))
    assert ran.code == 0
    assert "ignored" in ran.err
    path.write_text(f"- {{id: affected, client_id: nobody, {until}}}\n- {{id: CVE-2026-35555, {until}}}\n")
    ran = kw("audit", GSSAPI, "--advisories", "--ignore", str(path))
    assert (ran.code, "did you mean" in ran.err) == (2, True)


def test_text_of_an_audit_folds_brokers_and_what_is_true_of_many() -> None:
    lines = kw("audit", str(FOLDER / "three-nodes.pcapng.zst"), "-o", "text").out.splitlines()
    assert sum("clients of brokers" in line for line in lines) == 1
    assert not any(line.startswith("?  broker-1-fetcher") for line in lines)
    assert len(rows_of("audit", str(FOLDER / "three-nodes.pcapng.zst"))) > 10


def test_duckdb_reads_the_csv_of_an_audit(tmp_path: Path) -> None:
    text = kw("audit", OLD, "--target", "4.0", "-o", "csv").out
    path = tmp_path / "audit.csv"
    path.write_text(text)
    read = duckdb.read_csv(str(path), header=True)
    (row,) = read.filter("verdict = 'breaks'").project("client_id, refused, count, last").fetchall()
    told = next(each for each in csv.DictReader(io.StringIO(text)) if each["verdict"] == "breaks")
    assert (row[0], row[1], row[2]) == ("java-1", told["refused"], int(told["count"]))
