"""The page of `kw pipeline report --html`: it says what the JSON says, needs nothing else, and nothing breaks out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from kwcli.env import Exit
from kwcli.output.units import cut
from kwcli.pipeline.report.page import NAME, ROWS
from kwcli.pipeline.report.sections import SECTIONS, title_of, totals
from tests.cli.worlds import kw
from tests.pipeline.browser import Browser, find_browser
from tests.pipeline.made import Names, make, usual

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "%{x} <b>bold</b> &amp; $\\alpha$",
    '<a href="javascript:alert(1)">x</a>',
    "x" * 249,
)
WIDTHS = (390, 1440)


class Page(HTMLParser):
    """The text of every element that matters, and every address that is mentioned in an attribute."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.cells: dict[str, list[list[str]]] = {}
        self.tiles: list[str] = []
        self.scripts: list[str] = []
        self._section = ""
        self._open: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.loads += [str(named[name]) for name in ("src", "href", "srcset", "data", "action") if name in named]
        self.loads += [name for name, _ in attrs if name.startswith("on")]
        if tag == "section":
            self._section = str(named["id"])
            self.cells[self._section] = []
        elif tag == "tr":
            self.cells[self._section].append([])
        elif tag == "td":
            self.cells[self._section][-1].append("")
            self._open = self.cells[self._section][-1]
        elif tag == "dd":
            self.tiles.append("")
            self._open = self.tiles
        elif tag == "script":
            self.scripts.append("")
            self._open = self.scripts

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "dd", "script"):
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables whose clients and topics have names that would rather be programs."""
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
    assert parsed.tiles == [value for _, value in totals(report)]
    told = 0
    for section in SECTIONS:
        rows = section.rows(report)
        assert rows is not None, section.name
        shown = [row for row in parsed.cells[section.name] if row]
        assert len(shown) == min(len(rows), ROWS)
        for cells, row in zip(shown, rows, strict=False):
            said = [(cut(one.say(row), NAME) if one.cut else one.say(row)) for one in section.columns]
            assert [text for text in said if text in cells] == cells or set(cells) <= set(said)
            told += 1
    assert told > 100
    assert title_of(SECTIONS[6], report) in page.read_text()


def test_charts_draw_the_numbers_of_the_json(page: Path, report: dict[str, Any]) -> None:
    data = next(text for text in Page(page.read_text()).scripts if text.startswith("[{"))
    charts = json.loads(data)
    assert len(charts) == 11
    for chart in charts:
        go.Figure(chart)  # knows every name and value that plotly.js takes
    latency = {trace["name"]: trace for trace in charts[0]["data"]}
    for name in ("p50", "p90", "p99", "max"):
        points = [point[name] / 1000 for point in report["over_time"]]
        assert [value for value in latency[name]["y"] if value is not None] == points
    without, with_errors = charts[1]["data"]
    assert sum(without["y"]) + sum(with_errors["y"]) == report["summary"]["count"]
    assert sum(with_errors["y"]) == report["summary"]["errors"]
    assert sum(sum(trace["y"]) for trace in charts[2]["data"]) == sum(
        report["summary"][f"{side}_bytes"] for side in ("request", "response")
    )
    assert charts[8]["data"][0]["x"] == [row["request_bytes"] for row in report["talkers"]["client"][:10]]


def test_nothing_is_loaded_from_anywhere(page: Path) -> None:
    parsed = Page(page.read_text())
    assert {address for address in parsed.loads if not address.startswith("#")} == {"data:,"}
    assert not {"img", "iframe", "object", "embed", "base", "form", "b"} & set(parsed.tags)
    style = re.findall(r"<style>(.*?)</style>", page.read_text(), re.DOTALL)
    assert not re.search(r"url\(|@import", "".join(style))


def test_names_of_the_capture_stay_text(page: Path, folder: Path) -> None:
    text = page.read_text()
    parsed = Page(text)
    assert parsed.tags.count("script") == text.count("<script") == 3
    shown = {cell for rows in parsed.cells.values() for row in rows for cell in row}
    assert {cut(name, NAME) for name in HOSTILE} <= shown
    lines = kw("pipeline", "report", str(folder), "-o", "text").out
    assert HOSTILE[0] in lines


def test_an_empty_report_is_a_page_too(tmp_path: Path) -> None:
    folder, path = make(tmp_path / "tables", 0, Names(["a"], ["b"])), tmp_path / "page.html"
    assert kw("pipeline", "report", str(folder), "--html", str(path), "-q").code == Exit.DONE
    parsed = Page(path.read_text())
    assert parsed.tiles[0] == "0"
    assert "No exchanges." in path.read_text()


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_it(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("document.querySelectorAll('.chart').length") == 11
    assert browser.run("[...document.querySelectorAll('.chart')].filter((e) => !e.querySelector('svg')).length") == 0
    assert browser.run(TOO_WIDE) == []
    assert browser.run(OVERLAPS) == []
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")


TOO_WIDE = """[...document.querySelectorAll('.table')].filter((e) => e.scrollWidth > e.clientWidth)
  .map((e) => e.closest('section').id)"""
OVERLAPS = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
  const frame = chart.getBoundingClientRect();
  return ['.xtick text', '.ytick text'].flatMap((kind) => {
    const boxes = [...chart.querySelectorAll(kind)].map((e) => e.getBoundingClientRect());
    const out = boxes.filter((b) => b.left < frame.left - 1 || b.right > frame.right + 1);
    const over = boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 1 && b.top < a.bottom - 1));
    return [...out.map((b) => [chart.id, kind, 'outside']), ...over.map((b) => [chart.id, kind, 'overlaps'])];
  });
})"""


def test_it_follows_the_reader_to_the_dark(browser: Browser, page: Path) -> None:
    browser.open(page, 1440)
    color = "getComputedStyle(document.querySelector('.ytick text')).fill"
    light = browser.run(color)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run(color) != light
    assert browser.complaints() == []
