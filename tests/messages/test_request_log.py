"""A request log gives the exchanges that a capture of the same session gives, and facts that only the broker knows."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.messages.request_log import RequestLogLines
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import Outcome, kw, world
from tests.oracle.log_input import compare_inputs

LOG: Final = FOLDER / "first-steps.requests.log.gz"
CAPTURE: Final = FOLDER / "first-steps.pcapng"
LINE: Final = gzip.decompress(LOG.read_bytes()).splitlines()[1].decode()


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.mark.parametrize("words", [[], ["--reveal-secrets"]])
def test_the_exchanges_are_those_of_the_capture(words: list[str]) -> None:
    log = rows_of(kw("sniff", str(LOG), "-o", "ndjson", *words))
    found = compare_inputs(log, rows_of(kw("sniff", str(CAPTURE), "-o", "ndjson", *words)))
    assert (found.problems, found.alone, found.same) == ([], [], 263)
    # The wire adds to the broker's latency; the time of a log line has milliseconds.
    assert min(found.later) > -1


@pytest.mark.long
def test_statistics_and_answers_count_the_same() -> None:
    def counts(name: Path, *words: str) -> dict[str, Any]:
        found = rows_of(kw(*words, str(name), "-o", "ndjson"))
        key = words[-1] if words[0] == "stats" else words[0].removesuffix("s")
        return {row[key]: (row["count"], row["errors"]) for row in found if row[key] not in ("Envelope", None)}

    for words in (("stats", "--by", "api"), ("stats", "--by", "topic"), ("topics",), ("groups",)):
        assert counts(LOG, *words) == counts(CAPTURE, *words), words


def test_the_brokers_times_are_metrics_fields_and_columns() -> None:
    rows = rows_of(kw("stats", str(LOG), "--metric", "local", "-o", "ndjson"))
    raw = Counter[str]()
    for line in gzip.decompress(LOG.read_bytes()).splitlines():
        said = json.loads(line[line.index(b"{") : line.rindex(b"}") + 1])
        raw[said["requestHeader"]["requestApiKeyName"].replace("_", "")] += round(said["localTimeMs"] * 1e6)
    assert {row["api"].upper(): round(row["sum"] * 1e6) for row in rows} == dict(raw)
    assert {row["request_bytes"] for row in rows} == {None}
    slow = rows_of(kw("sniff", str(LOG), "-f", "server.local_ms > 60", "-o", "ndjson"))
    assert [row["server"]["local_ms"] > 60 for row in slow] == [True] * len(slow) != []
    shown = kw("sniff", str(LOG), "-o", "csv", "--columns", "server.listener,server.principal", "-n", "1")
    assert shown.out.splitlines()[1] == "CONTROLLER,User:ANONYMOUS"
    assert "–" in kw("stats", str(LOG), "-o", "text").out
    assert "? rec" in kw("sniff", str(LOG), "--api", "produce", "-o", "text").out


def test_times_are_those_of_the_broker() -> None:
    (row,) = rows_of(kw("sniff", "-", "-o", "ndjson", env=world(stdin=LINE.encode())))
    assert LINE.startswith("2026-11-21T16:48:26.704")
    assert row["time"] == "2026-11-21T16:48:26.641547Z"  # 62.453 ms before the log line
    assert (row["latency_ms"], row["duration_ms"]) == (60.858, 62.453)
    said = kw("sniff", "-", env=world(stdin=LINE.encode())).err
    assert "a broker's request log has no sizes, packets, records and logins" in said


@pytest.mark.parametrize(
    "head",
    ["[2026-11-21 16:48:26,704] DEBUG ", "2026-11-21T16:48:26.704 ", "[2026-11-21 16:48:26,704] TRACE [thread-1] "],
)
@pytest.mark.parametrize("tail", ["", " (kafka.request.logger)"])
def test_layouts_of_lines(head: str, tail: str) -> None:
    line = head + LINE[LINE.index("Completed") :] + tail
    lines = RequestLogLines()
    (row,) = lines.feed(line.encode() + b"\n")
    assert (row.kind, lines.broken) == ("exchange", 0)
    assert row.time_ns == 1795279706641547000


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "[2020-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11) -- {}",
            "the log is of a release before Kafka 2.7: kw reads request logs in JSON, of 2.7 and later",
        ),
        (LINE[LINE.index("Completed") :], "the line has no time before the request"),
        (LINE[:-40], "no JSON ("),
        (LINE.replace('"requestApiKey":70', '"requestApiKey":9999'), "no request of a request log: "),
        (LINE.replace('"requestApiVersion":0', '"requestApiVersion":99'), "no request of a request log: "),
        (LINE.replace('"requestApiVersion":0', '"requestApiVersion":"x"'), "no request of a request log: "),
        (
            LINE.replace('"connection":"127', '"connection":"nowhere'[:14] + '","was":"127'),
            "no request of a request log: ",
        ),
        (LINE.replace('"connection"', '"other"'), "no request of a request log: it has no connection"),
        (LINE.replace('"controllerId":1', '"controllerId":"one"'), "no request of a request log: "),
        (LINE.replace('"controllerId":1', '"controllerId":99999999999'), "no request of a request log: "),
        (LINE.replace('"listeners":[', '"listeners":7,"more":['), "no request of a request log: "),
        (LINE.replace("totalTimeMs", "otherTimeMs"), "no request of a request log: it has no totalTimeMs"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_and_the_others_are_read(line: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_text(f"{LINE}\n{line}\njust another logger's line\n\n{LINE}\n")
    outcome = kw("sniff", str(path), "-o", "ndjson")
    assert len(outcome.out.splitlines()) == 2
    assert outcome.code == Exit.FAILURE
    assert f"{path}: line 2: {text}" in outcome.err
    assert [number for number in range(1, 6) if f"line {number}:" in outcome.err] == [2]
    path.write_text(f"{line}\n")
    outcome = kw("stats", str(path))
    assert outcome.code == Exit.FAILURE
    assert f"{path}: a broker's request log, but kw can read none of its lines: line 1: {text}" in outcome.err


def test_a_log_that_is_cut_off_and_a_folder_of_logs(tmp_path: Path) -> None:
    whole = LOG.read_bytes()
    (tmp_path / "a.log.gz").write_bytes(whole[: len(whole) // 2])
    outcome = kw("sniff", str(tmp_path / "a.log.gz"), "-o", "ndjson")
    assert outcome.code == Exit.FAILURE
    assert len(outcome.out.splitlines()) > 20
    assert "a.log.gz" in outcome.err
    (tmp_path / "a.log.gz").write_bytes(whole)
    (tmp_path / "b.log").write_text(f"{LINE}\n")
    (tmp_path / "notes.txt").write_text("nothing\n")
    found = kw("sniff", str(tmp_path), "-o", "fields", "-e", "file").out.splitlines()
    assert Counter(Path(name).name for name in found) == {"a.log.gz": 263, "b.log": 1}


def test_what_was_written_as_ndjson_comes_back() -> None:
    written = kw("sniff", str(LOG), "-o", "ndjson").out
    again = kw("sniff", "-", "-o", "ndjson", env=world(stdin=written.encode()))
    assert again.out == written
