"""Ladder, findings, top, exports and copies: keys in, the text on the screen and the files written out."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
from array import array
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

import kwcli.browse.background_processes.spool as spool_module
from decoders.analysis.statistics import Statistics
from decoders.wire.parse_units import parse_moment
from kwcli.browse.background_processes.count_top import TopCounter
from kwcli.browse.background_processes.search_messages import CountTop, RowsFound
from kwcli.browse.background_processes.search_spool import Searcher
from kwcli.browse.background_processes.share_schemas_between_processes import NewSchemas
from kwcli.browse.background_work_and_source import Source
from kwcli.browse.exports.call_line import make_call_line
from kwcli.browse.exports.cut_packets import find_reason_against_cutting, make_cutting_words
from kwcli.browse.panes.findings_pane import describe_evidence_of_filter, make_evidence_filter
from kwcli.capture_options import CaptureOptions
from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.browse.test_live import release_blocks
from tests.cli.worlds import kw, world


async def press(browsing: Browsing, pilot: Any, *keys: str) -> str:
    await pilot.press(*keys)
    await browsing.settle(pilot)
    return browsing.screen_text


# The ladder


def test_a_ladder_has_an_arrow_for_each_message_by_time() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane = browsing.app.ladder_pane
        browsing.app.list_pane.move_to(14)
        text = await press(browsing, pilot, "L")
        assert "ladder of connection == 6" in text
        lines = [pane.make_line(at).text for at in range(pane.count_lines())]
        times = [line[:12] for line in lines]
        assert times == sorted(times)
        assert sum("───▶" in line for line in lines) == sum("◀───" in line for line in lines) == 3
        assert any(re.search(r"◀─── 2 +558ms  TOPIC_ALREADY_EXISTS CreateTopics", line) for line in lines)
        # The cursor is on the request of the row that the ladder was asked from; o goes to its answer and back.
        assert "───▶ 2              CreateTopics 4 orders 3×3" in lines[pane.cursor]
        await press(browsing, pilot, "o")
        assert "TOPIC_ALREADY_EXISTS" in lines[pane.cursor]
        await press(browsing, pilot, "enter")
        assert browsing.app.list_pane.cursor == 14
        assert "→ request" in browsing.screen_text
        assert "ladder of" in await press(browsing, pilot, "escape")
        assert "ladder of" not in await press(browsing, pilot, "escape")
        assert "ladder of" in await press(browsing, pilot, "2")

    run_steps(Browsing(), steps, (110, 24))


@pytest.mark.long
def test_gaps_times_and_unanswered_requests_are_on_the_ladder() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        pane, rows = browsing.app.ladder_pane, browsing.app.list_pane
        at = next(at for at in range(193) if getattr(rows.row_at(at), "outcome", "") == "unanswered")
        rows.move_to(at)
        await press(browsing, pilot, "c", "L")
        lines = [pane.make_line(at).text for at in range(pane.count_lines())]
        assert any("ListOffsets 0 unanswered at close" in line for line in lines)
        browsing.app.list_pane.show_rows_by_number(None)
        await press(browsing, pilot, "1", "F", "g", "R")
        assert "this row is of no group" in browsing.screen_text
        await press(browsing, pilot, "j")
        rows.move_to(next(at for at in range(193) if getattr(rows.row_at(at), "groups", ())))
        await press(browsing, pilot, "R", "t")
        lines = [pane.make_line(at).text for at in range(pane.count_lines())]
        assert any(re.fullmatch(r" {14}⋮ \d.*s", line) for line in lines)
        assert lines[0].startswith("   +0.000000")

    run_steps(Browsing(), steps, (110, 24))


def test_a_ladder_of_40_columns_has_the_names_of_requests() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app.list_pane.move_to(14)
        text = await press(browsing, pilot, "L")
        assert "17:34:44.688 admin  ─▶ 2  CreateTopics 4\n" in text
        assert "17:34:45.246 admin  ◀─ 2  558ms TOPIC_AL\n" in text
        assert "0028  00 00 00 00 00 00 00 ea  ........" in await press(browsing, pilot, "1", "enter", "x")

    run_steps(Browsing(), steps, (40, 24))


@pytest.mark.parametrize("seed", range(3))
def test_a_ladder_is_the_same_whatever_parts_its_rows_come_in(seed: int) -> None:
    """Rows are found as they settle, so that messages come before ones that are there already."""
    generator = random.Random(seed)
    count = 60
    sent = [generator.randrange(1, 40 * 10**9) for _ in range(count)]
    rows = sorted((at + generator.choice((0, 5, 3 * 10**9)), at) for at in sent)
    both = [(began, ended if ended > began else 0) for ended, began in rows]

    async def steps(browsing: Browsing, _: Any) -> None:
        pane = browsing.app.ladder_pane
        pane.begin_ladder(1, "", None)
        begin = 0
        while begin < count:
            end = min(begin + generator.randrange(1, 9), count)
            if pane.steps:
                pane.cursor = generator.randrange(len(pane.steps))
            on = pane.steps[pane.cursor] if pane.steps else None
            times = array("Q", [each for pair in both[begin:end] for each in pair])
            pane.take_answer_part(RowsFound(1, array("Q", range(begin, end)).tobytes(), end, times.tobytes()))
            if on is not None and on[2] != 2:
                assert pane.steps[pane.cursor] == on
            begin = end
        messages = sorted(
            (time_ns, number, kind) for number, pair in enumerate(both) for kind, time_ns in enumerate(pair) if time_ns
        )
        expected = messages[:1]
        for before, step in pairwise(messages):
            if step[0] - before[0] >= 10**9:
                expected.append((before[0], step[0] - before[0], 2))
            expected.append(step)
        assert pane.steps == expected

    run_steps(Browsing("tests/browse/empty.pcap"), steps)


def test_a_transaction_has_a_ladder() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        rows = browsing.app.list_pane
        at = next(at for at in range(193) if getattr(rows.row_at(at), "api", "") == "EndTxn")
        rows.move_to(at)
        text = await press(browsing, pilot, "X")
        assert 'ladder of transaction.id == "ledger"' in text
        assert "EndTxn" in text

    run_steps(Browsing(), steps, (110, 24))


# Findings


def test_findings_are_those_of_doctor_and_enter_lists_their_evidence() -> None:
    titles = [json.loads(line)["title"] for line in kw("doctor", TOUR, "-o", "ndjson").out.splitlines()]

    async def steps(browsing: Browsing, pilot: Any) -> None:
        text = await press(browsing, pilot, "3")
        assert "findings: 2 errors, 2 notes" in text
        found = browsing.app.findings_pane.found
        assert found is not None
        assert [row["title"] for row in found.rows] == titles
        await press(browsing, pilot, "n")
        assert (
            "ListOffsets 0 of report-1" in browsing.app.findings_pane.make_line(browsing.app.findings_pane.cursor).text
        )
        text = await press(browsing, pilot, "enter")
        assert browsing.app.list_pane.has_focus
        assert browsing.app.list_pane.count_lines() == 1
        assert "ListOffsets 0" in text
        assert "all that show it" in text

    run_steps(Browsing(), steps, (110, 30))


def test_a_finding_quotes_what_the_broker_said() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        text = " ".join((await press(browsing, pilot, "3")).split())
        assert 'SASL_AUTHENTICATION_FAILED: "Authentication failed: Invalid username or password"' in text

    run_steps(Browsing("captures/incidents/wrong-password.pcap.zst"), steps)


def test_evidence_says_of_how_many_it_is_a_part() -> None:
    assert describe_evidence_of_filter({"evidence": [{}, {}, {}], "count": 1200}) == "3 examples of 1,200"
    assert describe_evidence_of_filter({"evidence": [{}, {}], "count": 2}) == "all that show it"
    assert describe_evidence_of_filter({"count": 0}) == "all that show it"


def test_the_other_side_begins_at_the_top_of_the_pane() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "e", "enter", "plus", "g", "o")
        pane = browsing.app.message_pane
        assert pane.scroll_offset.y == min(pane.cursor, pane.count_lines() - pane.size.height)
        assert pane.cursor > pane.size.height > 3

    run_steps(Browsing(), steps, (100, 14))


def test_evidence_is_a_filter() -> None:
    evidence = [{"connection": 3, "correlation_id": 7}, {"connection": 4, "correlation_id": None}]
    assert (
        make_evidence_filter({"evidence": evidence}) == "(connection == 3 and correlation_id == 7) or connection == 4"
    )
    assert make_evidence_filter({}) == ""


# Top


@pytest.mark.one_in(4)
@pytest.mark.parametrize("by", ["client_id", "api", "topic", "broker"])
def test_top_has_the_numbers_of_stats(by: str) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "4")
        while browsing.app.top_pane.by != by:
            await press(browsing, pilot, "b")
        counted = browsing.app.top_pane.counted
        assert counted is not None
        words = kw("stats", TOUR, "--by", by, "-o", "ndjson").out.splitlines()
        expected = {row[by]: row for row in map(json.loads, words) if row["kind"] == "statistics"}
        assert expected
        assert {row[by] for row, _ in counted.rows} == set(expected)
        for row, slices in counted.rows:
            same = expected[row[by]]
            assert all(row[key] == same[key] for key in ("count", "p50", "p99", "request_bytes", "rate"))
            assert row["errors"] <= same["errors"] + same["unanswered"] + same["undecoded"]
            assert bool(slices) == bool(row["values"])
        assert [row["count"] for row, _ in counted.rows] == sorted(
            (row["count"] for row, _ in counted.rows), reverse=True
        )
        assert counted.slowest[0]["api"] == "Produce"
        first = counted.rows[0][0]
        await press(browsing, pilot, "enter")
        if first[by] is not None:
            assert browsing.app.list_pane.count_lines() == first["count"]

    run_steps(Browsing(), steps, (110, 30))


def test_keys_that_come_before_the_counts_are_done_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(browsing.work, "collect_messages", lambda _: [])
            await pilot.press("4", "j", "j", "enter")
            assert "counting" in browsing.screen_text
        await browsing.settle(pilot)
        assert browsing.app.row_filter.text == 'client_id == "audit-1"'
        assert "21 matches: client_id" in browsing.screen_text
        text = await press(browsing, pilot, "F", "exclamation_mark")
        assert "9 matches: errors · Metadata 5 UNKNOWN_TOPIC_OR_PARTITION" in text

    run_steps(Browsing(), steps)


def test_top_of_live_traffic_is_that_of_the_last_minutes() -> None:

    answers: list[Any] = []
    browsing = Browsing()
    rows = [row for message in [browsing.work.collect_messages(1000)] for row in message]
    for each in rows:
        if hasattr(each, "place"):
            browsing.rows.add_block(each)
    searcher = Searcher(browsing.rows, browsing.settings, answers.append)
    counter = TopCounter(CountTop(1, "api", window=True), searcher)
    found = [browsing.rows.find_row(number) for number in range(browsing.rows.end)]
    whole = Statistics(("api",), "latency")
    for lap in range(4):
        for row in found:
            row.time_ns += (lap > 0) * 61 * 10**9
        counter.process_rows_of_block(0, found, [])
    for row in found:
        assert row.kind == "exchange"
        whole.add(row)
    counter.note_all_rows_searched()
    assert sum(row["count"] for row, _ in answers[-1].rows) == 2 * sum(row["count"] for row in whole.rows())


# Exports and copies


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "output"), [("rows.ndjson", "ndjson"), ("rows.csv", "csv"), ("rows.hex", "hex"), ("rows.json", "json")]
)
def test_rows_are_written_as_sniff_writes_them(tmp_path: Path, name: str, output: str) -> None:
    path = tmp_path / name
    expected = kw("sniff", TOUR, "-f", "error", "-o", output, *(["--records"] if output in ("ndjson", "json") else []))

    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("W")
        browsing.app.filter_bar.line.value = str(path)
        await press(browsing, pilot, "enter")
        assert "28 rows" in browsing.screen_text
        await pilot.press("W")
        browsing.app.filter_bar.line.value = str(path)
        assert "exists: Enter overwrites it" in await press(browsing, pilot, "enter")

    run_steps(Browsing(text="error"), steps, (200, 24))
    if output == "hex":
        assert len(re.findall("^  → ", path.read_text(), re.MULTILINE)) == 28
    else:
        # A single capture is not named in the rows of the spool.
        assert path.read_text() == re.sub(",captures/tour.pcapng$", ",", expected.out, flags=re.MULTILINE)
    assert path.stat().st_mode & 0o77 == 0
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_escape_in_the_list_closes_the_message_before_it_quits() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app.list_pane.move_to(0)
        await press(browsing, pilot, "enter")
        browsing.app.list_pane.focus()
        await press(browsing, pilot, "escape")
        assert not browsing.app.is_message_shown
        await press(browsing, pilot, "j")
        assert browsing.app.list_pane.cursor == 1

    run_steps(Browsing(), steps, (200, 24))


@pytest.mark.long
def test_the_open_message_is_written_alone_and_odd_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.ndjson"

    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app.list_pane.move_to(14)
        for name, said in (
            (str(path), "1 row"),
            ("x.exe", ".exe is none of them"),
            ("/none/x.csv", "no such file"),
        ):
            await press(browsing, pilot, "enter", "W")
            browsing.app.filter_bar.line.value = name
            assert said in await press(browsing, pilot, "enter")
            await press(browsing, pilot, "escape")

    run_steps(Browsing(), steps, (200, 24))
    (row,) = map(json.loads, path.read_text().splitlines())
    assert (row["api"], row["connection"]) == ("CreateTopics", 6)


@pytest.mark.long
def test_packets_of_rows_are_those_that_sniff_cuts_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.pcapng"

    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("W")
        browsing.app.filter_bar.line.value = str(path)
        await pilot.press("enter")
        await browsing.app.workers.wait_for_complete()
        await browsing.settle(pilot)
        assert re.search(r"rows.pcapng: \d+ packets of 28 exchanges", browsing.screen_text)

    run_steps(Browsing(text="error"), steps, (200, 24))
    assert len(kw("sniff", str(path)).out.splitlines()) == 28


def test_a_call_line_asks_the_same_again() -> None:
    browsing = Browsing()
    for each in browsing.work.collect_messages(1000):
        if hasattr(each, "place"):
            browsing.rows.add_block(each)
    seen: set[tuple[str, int]] = set()
    for number in range(browsing.rows.end):
        row = browsing.rows.find_row(number)
        assert row.kind == "exchange"
        if row.api is None or (row.api, row.api_version) in seen or row.api == "Produce":
            continue
        seen.add((row.api, row.api_version or 0))
        words = shlex.split(make_call_line(row, browsing.settings))
        assert words[:3] == ["kw", "call", row.api]
        assert words[-2:] == ["-b", row.broker]
        assert row.request_raw is not None
        header = ("--correlation-id", str(row.correlation_id), "--client-id", row.client_id or "")
        made = kw("encode", words[2], words[4], *(words[5:-2] or ["{}"]), "--frame", *header)
        assert made.out.strip() == row.request_raw.hex(), words
    assert len(seen) > 25


def test_values_paths_lines_and_calls_are_copied() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        app.list_pane.move_to(14)
        await press(browsing, pilot, "y")
        assert app.clipboard.startswith("17:34:44.688  558ms admin")
        await press(browsing, pilot, "C")
        assert app.clipboard.startswith('kw call CreateTopics --api-version 4 \'topics:=[{"name":"orders"')
        await press(browsing, pilot, "enter")
        assert app.message_pane.search("num_partitions")
        await press(browsing, pilot, "y")
        assert app.clipboard == "3"
        await press(browsing, pilot, "Y")
        assert app.clipboard == "request.topics.num_partitions"

    run_steps(Browsing(), steps)


@pytest.mark.long
def test_another_zone_is_chosen_by_its_name() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await press(browsing, pilot, "Z", *"Asia/Kolkata", "enter")
        assert "23:04:43.293" in browsing.screen_text
        await press(browsing, pilot, "Z")
        browsing.app.filter_bar.line.value = "Nowhere/Land"
        assert "is no time zone" in await press(browsing, pilot, "enter")

    run_steps(Browsing(), steps)


def test_packets_are_cut_by_all_that_chose_the_rows(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 broker-one\n")
    capture = CaptureOptions((TOUR,), since=parse_moment("17:34:50"), hosts=str(hosts), names_from=TOUR)
    source = Source("tour", None, capture, partial(capture.time_filter_text, world(), ""), ("captures/values",))
    path = tmp_path / "cut.pcapng"
    words = make_cutting_words(source, 'broker_name == "broker-one" and client_id == billing-1', str(path))
    assert words[words.index("--schemas") + 1] == "captures/values"
    del words[words.index("--schemas") : words.index("--schemas") + 2]
    assert kw(*words).code == 0
    expected = kw("sniff", TOUR, "--since", "17:34:50", "-f", "client_id == billing-1", "-o", "ndjson").out
    found = kw("sniff", str(path), "-o", "ndjson").out
    assert 0 < found.count("\n") == expected.count("\n")
    aligned = capture._replace(files=(TOUR, TOUR), align_clocks=True)
    assert "--align-clocks" in find_reason_against_cutting(aligned)


# Schemas that come after the values in the traffic

LATER = "captures/values/schemas-topic-later.pcapng.zst"


def test_values_are_decoded_once_their_schemas_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "BLOCK_ROWS", 6)

    expected = kw("sniff", LATER, "-f", 'value.customer ~ "Ann"', "-o", "ndjson").out.count("\n")

    async def steps(browsing: Browsing, pilot: Any) -> None:
        app = browsing.app
        release_blocks(browsing, 1)
        await browsing.settle(pilot)
        app.filter_by('value.customer ~ "Ann"')
        await browsing.settle(pilot)
        assert app.list_pane.count_lines() == 0
        app.filter_by("")
        app.list_pane.move_to(3)
        await pilot.press("enter")
        await browsing.settle(pilot)
        values = [field.text for field in app.message_pane.message.fields if "record" in field.path]
        assert any("schema" in text or "#2" in text for text in values)
        assert not any("shop.Order" in text for text in values)
        app.filter_by('value.customer ~ "Ann"')
        await browsing.settle(pilot)
        release_blocks(browsing, 1000)
        await browsing.settle(pilot)
        assert app.list_pane.count_lines() == expected > 0
        app.list_pane.move_to(0)
        await pilot.press("enter")
        await browsing.settle(pilot)
        texts = [f"{field.name} {field.text}" for field in app.message_pane.message.fields]
        assert any("shop.Order" in text for text in texts)
        assert any("Ann" in text for text in texts)

    browsing = Browsing(LATER)
    browsing.work.waits = True
    # The whole capture is read at once, and so all schemas were known before the first block: here they come later.
    learned = [message for message in browsing.work.held if isinstance(message, NewSchemas)]
    assert learned
    for message in learned:
        browsing.work.held.remove(message)
        browsing.work.held.append(message)
    run_steps(browsing, steps, (160, 40))


def test_what_questions_need_is_loaded_once_all_is_read() -> None:
    work = Browsing().work
    assert not work.searcher.work_on_questions()
    assert work.searcher._unloaded
    while work.held:
        work.searcher.handle_message(work.held.popleft())
    while work.searcher.work_on_questions():
        pass
    assert not work.searcher._unloaded


@pytest.mark.one_in(2)
def test_the_screen_is_there_before_what_its_keys_need() -> None:
    """The first row waits for no module of `import_modules_ahead`; the screen loads no analysis at all."""
    code = (
        "import sys; from kwcli.browse.import_modules_ahead import LOADED_AHEAD, import_modules_ahead;"
        "import kwcli.browse.app;"
        "print([name for name in LOADED_AHEAD if name in sys.modules]);"
        "import_modules_ahead(lambda _, load: load());"
        "print(all(name in sys.modules for name in LOADED_AHEAD), 'decoders.analysis.doctor.doctor' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nTrue False\n"
