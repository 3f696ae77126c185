"""An answer whose inputs were not read to their end says so in every format; so does an audit whose filter chose."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
import yaml

import decoders
from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.output.report_partial_input import describe_judged_part, describe_partial_run
from kwcli.reading.run_coverage import PartialRun, RunCoverage
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import Outcome, kw, world, written

TOUR: Final = FOLDER / "tour.pcapng"
TIMES: Final = 6
# Answer → its command line around the file, and the schema of its rows.
ANSWERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "audit": (("audit",), "audit"),
    "audit brokers": (("audit", "--clients", "4.0"), "audit"),
    "audit security": (("audit", "--security"), "security"),
    "doctor": (("doctor",), "doctor"),
    "stats": (("stats",), "statistics"),
    "clients": (("clients",), "portraits"),
    "groups": (("groups",), "portraits"),
    "transactions": (("transactions",), "portraits"),
    "topics": (("topics",), "portraits"),
    "brokers": (("brokers",), "portraits"),
}
FORMATS: Final = ("text", "table", "csv", "ndjson", "json", "yaml", "fields")
SQL_FORMATS: Final = ("text", "table", "csv", "ndjson", "json")
REPORT_FORMATS: Final = ("text", "md", "ndjson", "json")
INTERRUPTED: Final = r"interrupted at \d+ % \(\d+\.\dkB of \d\.\dMB\)"
QUERY: Final = "select api, count(*) as n from exchanges group by api"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture that is read in many pieces."""
    path = tmp_path_factory.mktemp("interrupted") / "big.pcapng"
    path.write_bytes(TOUR.read_bytes() * TIMES)
    return path


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the fourth piece of the capture is decoded."""
    feed, count = Engine.feed, iter(range(1000))

    def feed_until_interrupted(self: Engine, segments: Any, *more: Any) -> Any:
        rows = feed(self, segments, *more)
        if next(count) == 3:
            signal.raise_signal(signal.SIGINT)
        return rows

    monkeypatch.setattr(Engine, "feed", feed_until_interrupted)


def rows_of(output: str, found: Outcome) -> list[dict[str, Any]]:
    """The rows of an answer in a format of rows."""
    if output == "csv":
        return list(csv.DictReader(io.StringIO(found.out)))
    if output == "ndjson":
        return [json.loads(line) for line in found.out.splitlines()]
    return list(json.loads(found.out)) if output == "json" else list(yaml.safe_load_all(found.out))


def check_partial(output: str, found: Outcome, how: str) -> list[dict[str, Any]]:
    """Check that the answer says that the run was partial where its format says it; the rows, where there are any."""
    sentence = rf"{how}; the rest is not (read|counted)"
    if output in ("text", "table", "md"):
        plain = found.out.replace("\\", "").replace("*", "")
        assert re.search(rf"^{sentence}$", plain, re.MULTILINE), found.out
        return []
    assert re.search(rf"^kw: {sentence}$", found.err, re.MULTILINE), found.err
    if output == "fields":
        return []
    rows = rows_of(output, found)
    assert rows
    for row in rows:
        if output == "csv":
            assert list(row)[-1] == "partial"
            assert re.fullmatch(how, row["partial"])
        else:
            assert row["partial"].keys() == {"why", "read", "of"}
    return rows


@pytest.mark.one_in(5)
@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.usefixtures("interrupted")
def test_an_interrupted_answer_says_so(answer: str, output: str, capture: Path) -> None:
    words, schema = ANSWERS[answer]
    found = kw(*words, str(capture), "-o", output)
    assert found.code == 130
    rows = check_partial(output, found, INTERRUPTED)
    if output == "ndjson":
        published = json.loads((Path(decoders.__file__).parent / "messages" / f"{schema}.schema.json").read_text())
        for row in rows:
            jsonschema.validate(row, published)
            assert row["partial"]["of"] == capture.stat().st_size


@pytest.mark.one_in(5)
@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_limited_answer_says_so(answer: str, output: str, capture: Path) -> None:
    words, _ = ANSWERS[answer]
    found = kw(*words, str(capture), "-o", output, "--limit", "150")
    check_partial(output, found, r"ended by --limit at \d+ % \([^)]*\)")


@pytest.mark.long
@pytest.mark.parametrize("output", SQL_FORMATS)
@pytest.mark.usefixtures("interrupted")
def test_an_interrupted_query_says_so(output: str, capture: Path) -> None:
    pytest.importorskip("duckdb")
    found = kw("sql", str(capture), QUERY, "-o", output)
    assert found.code == 130
    check_partial(output, found, INTERRUPTED)


@pytest.mark.usefixtures("interrupted")
def test_the_column_of_a_query_that_is_called_partial_stays(capture: Path) -> None:
    pytest.importorskip("duckdb")
    found = kw("sql", str(capture), 'select 1 as "partial"', "-o", "csv")
    assert found.out.startswith("partial,partial_2\n1,interrupted at ")


@pytest.mark.long
@pytest.mark.parametrize("output", REPORT_FORMATS)
@pytest.mark.parametrize("limited", [False, True])
def test_a_partial_report_says_so(output: str, capture: Path, request: pytest.FixtureRequest, *, limited: bool) -> None:
    if not limited:
        request.getfixturevalue("interrupted")
    found = kw("report", str(capture), "-o", output, *(["--limit", "150"] if limited else []))
    how = r"ended by --limit at \d+ % \([^)]*\)" if limited else INTERRUPTED
    if output == "json":
        report = json.loads(found.out)
        assert report["partial"]["why"] == ("limit" if limited else "interrupted")
        published = json.loads((Path(decoders.__file__).parent / "messages" / "report.schema.json").read_text())
        jsonschema.validate(report, published)
        assert {row["verdict"] for row in report["audit"]["clients"]} <= {"breaks", "unknown"}
    else:
        check_partial(output, found, how)


@pytest.mark.usefixtures("interrupted")
def test_a_partial_page_says_so(capture: Path, tmp_path: Path) -> None:
    found = kw("report", str(capture), "--html", str(tmp_path / "page.html"))
    assert '<p class="bad">interrupted at ' in (tmp_path / "page.html").read_text()
    assert "kw: interrupted at " in found.err


@pytest.mark.long
def test_whole_answers_say_nothing(capture: Path) -> None:
    for words, _ in ANSWERS.values():
        for output in ("text", "csv", "ndjson"):
            found = kw(*words, str(capture), "-o", output)
            assert "partial" not in found.out
            assert "is not read" not in found.out + found.err


def verdicts(found: Outcome) -> set[str]:
    return {row["verdict"] for row in rows_of("ndjson", found)}


def test_nothing_is_judged_as_working_when_not_all_was_read(capture: Path, request: pytest.FixtureRequest) -> None:
    audit = ("audit", str(capture), "--target", "4.0", "-o", "ndjson")
    brokers = ("audit", str(capture), "--clients", "4.0", "-o", "ndjson")
    assert "works" in verdicts(kw(*audit))
    assert "works" in verdicts(kw(*brokers))
    assert "works" not in verdicts(kw(*audit, "--limit", "100"))
    assert verdicts(kw(*brokers, "--limit", "100")) == {"unknown"}
    request.getfixturevalue("interrupted")
    found = kw(*audit)
    assert "works" not in verdicts(found)
    assert " 0 work; interrupted at " in found.err


@pytest.mark.parametrize("words", [("--errors",), ("-f", 'api == "Produce"'), ("--topic", "orders")])
@pytest.mark.parametrize("output", ["text", "table", "csv", "ndjson"])
def test_an_audit_says_by_how_many_exchanges_it_judged(output: str, words: tuple[str, ...]) -> None:
    found = kw("audit", str(TOUR), "-o", output, *words)
    said = r"judged by [\d,]+ of [\d,]+ exchanges"
    assert re.search(said, found.err)
    if output in ("text", "table"):
        assert re.search(rf"^{said}$", found.out, re.MULTILINE)
    assert "is not read" not in found.out + found.err


@pytest.mark.parametrize(
    ("partial", "text"),
    [
        (
            PartialRun("interrupted", 70_000_000, 2_060_000_000),
            "interrupted at 3 % (70.0MB of 2.1GB); the rest is not read",
        ),
        (
            PartialRun("interrupted", 1000, 2_060_000_000),
            "interrupted at less than 1 % (1.0kB of 2.1GB); the rest is not read",
        ),
        (PartialRun("interrupted", 999, 1000), "interrupted at 99 % (999B of 1.0kB); the rest is not read"),
        (PartialRun("interrupted", 70_000_000, None), "interrupted after 70.0MB; the rest is not read"),
        (PartialRun("limit", 500, 1000), "ended by --limit at 50 % (500B of 1.0kB); the rest is not read"),
        (PartialRun("limit", 1000, 1000), "ended by --limit; the rest is not counted"),
    ],
)
def test_the_sentence(partial: PartialRun, text: str) -> None:
    assert describe_partial_run(partial) == text


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        (RunCoverage(None, 17, 472, filtered=True), "judged by 17 of 472 exchanges"),
        (RunCoverage(None, 472, 472, filtered=True), ""),
        (RunCoverage(None, 17, 472), ""),
        (RunCoverage(PartialRun("limit", 1, 2), 17, 472), "judged by 17 of 472 exchanges"),
        (RunCoverage(PartialRun("interrupted", 1, 2), 17, 18), ""),
    ],
)
def test_the_sentence_about_filters(coverage: RunCoverage, text: str) -> None:
    assert describe_judged_part(coverage) == text


@pytest.mark.parametrize("answer", ["sniff", "audit", "stats", "report"])
def test_missing_inputs_are_told_before_reading_begins(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, feed = world(), Engine.feed
    told: list[bytes] = []

    def feed_and_look(self: Engine, segments: Any, *more: Any) -> Any:
        told.append(written(env.stderr))
        return feed(self, segments, *more)

    monkeypatch.setattr(Engine, "feed", feed_and_look)
    found = kw(answer, str(TOUR), str(tmp_path / "none.pcap"), env=env)
    line = f"kw: {tmp_path}/none.pcap: no such file\n"
    assert told[0].decode() == line
    assert found.err.count(line) == 1
    assert found.code == Exit.FAILURE


@pytest.mark.parametrize(
    "words",
    [
        ("trace", str(TOUR), "orders/2@0"),
        ("trace", str(TOUR), "key=customer-3", "--downstream"),
        ("groups", str(TOUR), "billing"),
    ],
)
def test_what_was_not_found_in_a_part_says_that_it_was_a_part(words: tuple[str, ...]) -> None:
    found = kw(*words, "--limit", "2")
    assert (found.code, found.out) == (Exit.FAILURE, "")
    assert re.search(r"in what was read.*; ended by --limit at \d+ % .*; the rest is not read$", found.err, re.M)
