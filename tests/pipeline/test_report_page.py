"""The page of `kw pipeline report --html`: the numbers of the JSON, no other file needed, no injection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoders.wire.format_and_escape_text import format_latency
from kwcli.output.short_texts import cut
from kwcli.report.report_as_html_page import NAME, ROWS
from kwcli.report.report_sections import SECTIONS, format_section_title, list_totals
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.pipeline.made import Names, make, usual
from tests.report.browser import Browser, find_browser
from tests.report.pages import HOSTILE, OVERLAPS, TOO_WIDE, WIDTHS, Page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables whose clients and topics have names that are HTML and scripts."""
    names = usual()
    some = Names([*HOSTILE, *names.clients], [*HOSTILE[:3], *names.topics])
    return make(tmp_path_factory.mktemp("made") / "tables", 20_000, some)


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    path = folder.parent / "page.html"
    outcome = kw("pipeline", "report", str(folder), "--target", "4.0", "--html", str(path), "-q")
    assert (outcome.code, outcome.out, outcome.err) == (Exit.FINDINGS, "", "")
    return path


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    outcome = kw("pipeline", "report", str(folder), "--target", "4.0", "-o", "json")
    assert outcome.code == Exit.FINDINGS, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_tables_and_tiles_say_what_the_json_says(page: Path, report: dict[str, Any]) -> None:
    parsed = Page(page.read_text())
    assert parsed.tiles == [value for _, value in list_totals(report)]
    told = 0
    for section in SECTIONS:
        rows = section.find_rows(report)
        if not rows:
            assert section.name not in parsed.cells
            continue
        shown = [row for row in parsed.cells[section.name] if row]
        assert len(shown) == min(len(rows), ROWS)
        for cells, row in zip(shown, rows, strict=False):
            said = [(cut(one.say(row), NAME) if one.cut else one.say(row)) for one in section.columns]
            assert [text for text in said if text in cells] == cells or set(cells) <= set(said)
            told += 1
    assert told > 100
    old = next(section for section in SECTIONS if section.name == "old-versions")
    assert format_section_title(old, report) == "Clients that Kafka 4.0 turns away"
    assert format_section_title(old, report) in page.read_text()


@pytest.mark.long
def test_charts_say_the_numbers_of_the_json(page: Path, report: dict[str, Any]) -> None:
    data = next(text for text in Page(page.read_text()).scripts if text.startswith('{"charts"'))
    latency, counts, sizes, *by = json.loads(data)["charts"]
    assert len(by) == 4
    points = report["over_time"]
    assert len(latency) == len(counts) == len(sizes) == len(points) > 50
    for line, point in zip(latency, points, strict=True):
        assert line.split(" · ")[1:] == [
            f"{name} {format_latency(point[name])}" for name in ("p50", "p90", "p99", "max")
        ]
    numbers = [[int(part.rpartition(" ")[2].replace(",", "")) for part in line.split(" · ")[1:]] for line in counts]
    assert sum(map(sum, numbers)) == report["summary"]["count"]
    assert sum(bad for _, bad in numbers) == report["summary"]["errors"]


@pytest.mark.long
def test_nothing_is_loaded_from_anywhere(page: Path) -> None:
    parsed = Page(page.read_text())
    assert {address for address in parsed.loads if not address.startswith("#")} == {"data:,"}
    assert not {"img", "iframe", "object", "embed", "base", "form", "b", "use", "image", "foreignObject"} & set(
        parsed.tags
    )
    style = re.findall(r"<style>(.*?)</style>", page.read_text(), re.DOTALL)
    assert not re.search(r"url\(|@import", "".join(style))


@pytest.mark.long
def test_names_of_the_capture_stay_text(page: Path, folder: Path) -> None:
    text = page.read_text()
    parsed = Page(text)
    assert parsed.tags.count("script") == text.count("<script") == 2
    shown = {cell for rows in parsed.cells.values() for row in rows for cell in row}
    assert {cut(name, NAME) for name in HOSTILE} <= shown
    lines = kw("pipeline", "report", str(folder), "-o", "text").out
    assert HOSTILE[0] in lines


def test_an_empty_report_is_a_page_too(tmp_path: Path) -> None:
    folder, path = make(tmp_path / "tables", 0, Names(["a"], ["b"])), tmp_path / "page.html"
    assert kw("pipeline", "report", str(folder), "--html", str(path), "-q").code == Exit.DONE
    parsed = Page(path.read_text())
    assert parsed.tiles[0] == "0"
    assert "no exchanges" in path.read_text()


def test_a_page_that_cannot_be_written_is_one_line(folder: Path, tmp_path: Path) -> None:
    outcome = kw("pipeline", "report", str(folder), "--html", str(tmp_path))
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err == f"kw: {tmp_path}: is a directory\n"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with Browser(program, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.long  # the page of captures is tested without this mark (tests/report)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_it(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("document.querySelectorAll('.chart').length") == 7
    assert browser.run(TOO_WIDE) == []
    assert browser.run(OVERLAPS) == []
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 21, 26)" if dark else "rgb(251, 252, 253)")


@pytest.mark.long
def test_it_follows_the_reader_to_the_dark(browser: Browser, page: Path) -> None:
    browser.open(page, 1440)
    color = "getComputedStyle(document.querySelector('.numbers text')).fill"
    light = browser.run(color)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run(color) != light
    assert browser.complaints() == []
