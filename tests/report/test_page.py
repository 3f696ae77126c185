"""`kw report --html`: pages of hostile names and of shipped captures in a real browser, and their content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.report.browser import Browser, find_browser
from tests.report.pages import NAMES, OVERLAPS, TOO_WIDE, WIDTHS, Page

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = CAPTURES / "tour.pcapng"
# Names of the tour that are replaced by hostile ones; bodies, client ids and values derived from them.
MET = (
    *("orders", "payments", "metrics", "order", "billing", "report", "audit", "fraud", "ledger"),
    *("checkout-7", "checkout-8", "billing-1", "billing-2", "report-1", "sensor-3", "admin", "web-1", "audit-1"),
    *("confluent-kafka-python", "2.16.1-rdkafka-2.16.0", "range", "roundrobin"),
)


def disguised(value: Any) -> Any:
    """A record with a hostile name for each name in MET."""
    if isinstance(value, str):
        return NAMES[MET.index(value) % len(NAMES)] if value in MET else value
    if isinstance(value, dict):
        return {name: disguised(each) for name, each in value.items()}
    return [disguised(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a session whose clients, topics and groups have names that are HTML and scripts."""
    lines = kw("sniff", str(TOUR), "-o", "ndjson", "-q").out.splitlines()
    path = tmp_path_factory.mktemp("hostile") / "hostile.ndjson"
    path.write_text("".join(json.dumps(disguised(json.loads(line))) + "\n" for line in lines))
    return path


def written(source: Path, page: Path, *words: str) -> Path:
    """Write the page of a capture."""
    outcome = kw("report", str(source), "--html", str(page), "-q", *words)
    assert (outcome.code, outcome.out, outcome.err) == (Exit.DONE, "", "")
    return page


@pytest.fixture(scope="module")
def hostile_page(hostile: Path) -> Path:
    return written(hostile, hostile.parent / "hostile.html")


@pytest.fixture(scope="module")
def tour_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(TOUR, tmp_path_factory.mktemp("tour") / "tour.html")


def test_hostile_names_stay_text(hostile_page: Path) -> None:
    text = hostile_page.read_text()
    parsed = Page(text)
    assert parsed.tags.count("script") == text.count("<script") == 2
    assert {address for address in parsed.loads if not address.startswith("#")} == {"data:,"}
    assert not {"img", "iframe", "object", "embed", "base", "form", "b", "use", "image", "foreignobject"} & {
        *parsed.tags
    }
    assert parsed.tags.count("style") == 1
    shown = {cell for rows in parsed.cells.values() for row in rows for cell in row}
    assert {*NAMES[:3]} & shown
    data = next(script for script in parsed.scripts if script.startswith('{"charts"'))
    assert not re.search("[<>&\u2028\u2029]", data)
    assert any(name in str(json.loads(data)) for name in NAMES)
    assert not re.search("[\x00\x1b\u202e\u2028\u2029]", text)


def test_the_policy_lets_nothing_load_and_names_the_script(tour_page: Path) -> None:
    text = tour_page.read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'$", policy)
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")
    assert " style=" not in text  # the page's policy would block it


def test_a_page_of_a_small_capture_is_small(tour_page: Path, hostile_page: Path) -> None:
    assert tour_page.stat().st_size < 400_000
    assert hostile_page.stat().st_size < 1_500_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with Browser(program, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["tour", "hostile"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_it(
    browser: Browser, tour_page: Path, hostile_page: Path, name: str, width: int, dark: bool
) -> None:
    page = {"tour": tour_page, "hostile": hostile_page}[name]
    browser.open(page, width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("document.scripts.length") == 2
    assert browser.run(TOO_WIDE) == []
    assert browser.run(OVERLAPS) == []
    assert browser.run(UNEQUAL) == []
    assert browser.run("document.querySelectorAll('#ladder .arrow').length") > 5
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") == width
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 21, 26)" if dark else "rgb(251, 252, 253)")


# Tables with rows that have another number of cells than their heads.
UNEQUAL = """[...document.querySelectorAll('table')].filter((table) =>
  [...table.rows].some((row) => row.cells.length !== table.rows[0].cells.length)).map((table) => table.outerHTML)"""


def test_the_keyboard_reads_charts_and_chooses_ladders(browser: Browser, tour_page: Path) -> None:
    browser.open(tour_page, 1440)
    browser.run("document.querySelector('.plot').focus()")
    for key in ("Home", "ArrowRight", "ArrowRight"):
        browser.run(f"document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
    said = browser.run("document.querySelector('.readout').textContent")
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3}", said)
    steps = "document.getElementById('ladder-steps').textContent"
    before = browser.run(steps)
    browser.run("""(() => { const pick = document.getElementById('connection');
      pick.value = '0'; pick.dispatchEvent(new Event('change')); })()""")
    assert browser.run(steps) not in ("", before)
    unnamed = "[...document.querySelectorAll('svg[role=img], [role=region], section, nav, select')]"
    named = "(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || (e.labels || []).length)"
    assert browser.run(f"{unnamed}.filter((e) => !{named}).length") == 0
    # Everything can be reached: scrolling parts are in the keyboard's order.
    assert browser.run("[...document.querySelectorAll('.table, .plot')].filter((e) => e.tabIndex < 0).length") == 0


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(browser: Browser, tour_page: Path, dark: bool) -> None:
    """Text has a contrast of 4.5 to 1 at least (WCAG 2.2, 1.4.3)."""
    browser.open(tour_page, 1440, dark=dark)
    assert browser.run(FAINT) == []


FAINT = """(() => {
  const light = (color) => {
    const parts = color.match(/[0-9.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!color.endsWith(', 0)')) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = new Set();
  for (const element of document.querySelectorAll('p, td, th, dt, dd, li, a, h1, h2, h3, summary, .tag, .dim, text')) {
    const style = getComputedStyle(element);
    const [one, other] = [light(element.tagName === 'text' ? style.fill : style.color), light(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.add(`${element.tagName} ${element.className.baseVal ?? element.className} ${contrast}`);
  }
  return [...found];
})()"""


def test_markdown_has_no_markup_of_names(hostile: Path) -> None:
    lines = kw("report", str(hostile), "-o", "md", "-q").out.splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) > 40
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
    heads = [at for at, line in enumerate(tables) if set(line) <= set("|- :")]
    for at, count in enumerate(columns):
        head = max((each for each in heads if each - 1 <= at), default=0)
        assert count == columns[head], tables[at]
    text = "\n".join(lines)
    assert not re.search(r"(?<!\\)[<>&`\[\]]", text.replace("**", ""))
    assert not re.search(r"(?<!\\):(?=//)", text)


def bodies(*words: str) -> str:
    """The bodies of the slowest exchanges on a page."""
    outcome = kw("report", str(CAPTURES / "first-steps.pcapng"), "-o", "json", "-q", *words)
    return json.dumps([[row["request"], row["response"]] for row in json.loads(outcome.out)["slowest"]])


def test_records_are_shown_only_where_they_are_asked_for() -> None:
    assert '"headers"' not in bodies()
    assert '"headers"' in bodies("--records")


@pytest.mark.long
def test_records_that_were_written_down_are_shown_only_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "records.ndjson"
    path.write_text(kw("sniff", str(CAPTURES / "first-steps.pcapng"), "-o", "ndjson", "--records", "-q").out)
    plain = kw("report", str(path), "-o", "json", "-q").out
    whole = kw("report", str(path), "-o", "json", "-q", "--records").out
    assert '"headers"' in whole
    assert '"headers"' not in plain
    assert '"record_count"' in plain


def test_records_of_kw_have_bodies_too(hostile: Path) -> None:
    rows = json.loads(kw("report", str(hostile), "-o", "json", "-q").out)["slowest"]
    assert len(rows) == 20
    assert all(row["request"] and row["response"] for row in rows)


def test_secrets_are_not_on_the_page(tmp_path: Path) -> None:
    capture = CAPTURES / "sasl-raw.pcap"
    page = written(capture, tmp_path / "page.html").read_text()
    plain = kw("report", str(capture), "-o", "json", "-q").out
    revealed = kw("report", str(capture), "-o", "json", "-q", "--reveal-secrets").out
    assert "redacted" in plain
    assert plain.count("redacted") > revealed.count("redacted")
    assert "-secret" not in page + plain


@pytest.mark.long
def test_a_page_of_several_days_has_room_for_its_times(tmp_path: Path) -> None:
    """Times of several days are wide enough, and refused connections have no correlation id."""
    second = TOUR.parent / "faults" / "no-connection.pcap.zst"
    page = written(TOUR, tmp_path / "page.html", str(second)).read_text()
    assert page.count('class="clocks days"') == page.count('class="clocks') > 0
    assert "see</dt><dd>kw sniff " in page
    assert "None of connection" not in page


def test_an_empty_capture_gives_a_page(tmp_path: Path) -> None:
    page = written(TOUR, tmp_path / "page.html", "-f", "latency > 1h")
    parsed = Page(page.read_text())
    assert parsed.tiles[0] == "0"
    assert "no exchanges" in page.read_text()


def test_one_thing_is_written_to_one_place(tmp_path: Path) -> None:
    page = str(tmp_path / "page.html")
    assert kw("report", str(TOUR), "--html", page, "-o", "json").code == Exit.USAGE
    outcome = kw("report", str(TOUR), "--html", page, "--target", "4.0")
    assert outcome.code == Exit.FINDINGS
    assert "kw: Kafka 4.0 turns away 1 client\n" in outcome.err
    assert kw("report", str(TOUR), "--target", "3.9", "-q").code == Exit.DONE
    assert kw("report", str(TOUR), "-q", "-o", "json").code == Exit.DONE
