"""No control sequence of others reaches a terminal, whatever its source; in a pipe no byte is changed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from decoders.schema.body_json_form import encode_text_for_cell
from decoders.wire.format_and_escape_text import escape_text
from kwcli.commands import decode
from kwcli.main import COMMANDS
from kwcli.options import ANSWER_FORMATS, FORMATS, WITHOUT_BODIES
from kwcli.output.csv import format_csv_lines
from kwcli.output.short_texts import COLORED
from kwcli.pipeline.spark.find_java import find_java
from kwcli.run_environment import Failure
from kwcli.stats.render_statistics import FORMATS as STATS_FORMATS
from kwcli.terminal_escaping import Terminal
from tests.cli.hostile import (
    NAME,
    TURNED,
    WORD,
    HostileBroker,
    OnTerminal,
    Seen,
    capture,
    kw_on_terminal,
    messages,
)
from tests.cli.hostile_messages import once
from tests.cli.worlds import in_format, kw, world, written
from tests.pipeline.made import Names, make
from tests.proxy.hidden import port_base

ANSWERS = ("clients", "topics", "brokers", "doctor", "audit")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    (path / "plain.pcap").write_bytes(capture())
    (path / f"{WORD[:60]}.pcap").write_bytes(capture())
    (path / f"{WORD[:60]}.bad").write_bytes(b"no capture")
    return path


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[str, str]]:
    """A broker that advertises its real address, and one that advertises another."""
    with HostileBroker(reachable=True) as one, HostileBroker(reachable=False) as other:
        yield f"127.0.0.1:{one.address[1]}", f"127.0.0.1:{other.address[1]}"


def check(commands: Sequence[tuple[str, ...]], variables: Mapping[str, str] | None = None) -> list[Seen]:
    """Run all commands on a terminal: each must print something, and no control sequence but kw's own."""
    assert commands
    seen = kw_on_terminal(*commands, variables=variables)
    for words, each in zip(commands, seen, strict=True):
        assert each.text, words
        assert (words, each.faults(lines="csv" not in words)) == (words, [])
    return seen


def test_rows_of_a_capture(folder: Path) -> None:
    words = ("sniff", str(folder / "plain.pcap"), "--port", "9092")
    commands = [(*words, *in_format(output), *more) for output in FORMATS for more in ((), ("-vv",))]
    commands += [(*words, *in_format(output), "--records") for output in FORMATS if output not in WITHOUT_BODIES]
    for command, each in zip(commands, check(commands), strict=True):
        wanted = ("FindCoordinator",) if "csv" in command else ("EVIL", "FindCoordinator")  # in CSV it is base64
        missing = [word for word in wanted if word not in each.text]
        assert (each.code, missing) == (0, []), " ".join(command)


def test_statistics(folder: Path) -> None:
    words = ("stats", str(folder / "plain.pcap"), "--port", "9092", "--slowest", "3", "--by")
    formats = [output for output in STATS_FORMATS if output != "csv"]
    commands: list[tuple[str, ...]] = [
        (*words, by, *in_format(output, by)) for output in formats for by in ("client", "topic", "group")
    ]
    commands += [("stats", *words[1:4], "--by", by, "-o", "csv") for by in ("client", "topic", "group")]
    seen = check(commands)
    assert all(each.code == 0 for each in seen)
    assert sum("EVIL" in each.text for each in seen) >= 6  # in JSON and CSV a text with control characters is base64


def test_answers_about_a_capture(folder: Path) -> None:
    words = (str(folder / "plain.pcap"), "--port", "9092")
    outputs = [output for output in ANSWER_FORMATS if output != "fields"]
    seen = check([(command, *words, "-o", output) for command in ANSWERS for output in outputs])
    assert all(each.code in (0, 4) for each in seen)
    assert sum("EVIL" in each.text for each in seen) >= 2 * len(ANSWERS)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ("Metadata",),
        ("Metadata", "--node", "all"),
        ("DescribeConfigs", "resources[].resource_name=x", "resources[0].resource_type=2"),
        ("FindCoordinator", f"key={WORD}", "-vv"),
        ("ApiVersions", "--node", "all"),
        ("DescribeCluster", "--select", "cluster_id"),
        ("Metadata", "--dry-run", f"topics[].name={WORD}"),
        # The look-up of its coordinator goes on until the time-out.
        pytest.param(("DescribeGroups", f"groups[]={WORD}"), marks=pytest.mark.long),
    ],
    ids=["topics", "nodes", "configs", "coordinator", "versions", "selected", "unsent", "groups"],
)
def test_answers_of_a_broker(brokers: tuple[str, str], words: tuple[str, ...]) -> None:
    more = ("--client-id", WORD, "--timeout", "1s")
    check([("call", *words, "-b", broker, *more, *in_format(output)) for broker in brokers for output in FORMATS])


def test_a_check_before_a_proxy(brokers: tuple[str, str], tmp_path: Path) -> None:
    words = ("proxy", "--check", "--port-base", str(port_base(4)), "--timeout", "1s", "-o")
    formats = ("text", "ndjson", "json")
    commands = [(*words, output, "-b", broker) for broker in brokers for output in formats]
    assert all("EVIL" in each.text for each in check(commands, {"XDG_STATE_HOME": str(tmp_path)}))


@pytest.mark.parametrize("output", ["text", "ndjson"])
def test_rows_of_a_proxy(brokers: tuple[str, str], tmp_path: Path, output: str) -> None:
    base = str(port_base(4))
    state = {"XDG_STATE_HOME": str(tmp_path)}
    words = ("proxy", "-b", brokers[0], "--port-base", base, "-vv", "-o", output)
    proxy = OnTerminal(*words, variables=state)
    proxy.until(b"ready")
    for api in (("Metadata",), ("FindCoordinator", f"key={WORD}")):
        assert kw("call", *api, "-b", f"127.0.0.1:{base}", "--client-id", WORD, "--timeout", "5s").out
    proxy.until(b"FindCoordinator")
    seen = proxy.end()
    assert (seen.code, seen.faults()) == (0, [])
    assert "EVIL" in seen.text or output == "ndjson"  # as base64


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_messages_of_any_api(tmp_path: Path, seed: int) -> None:
    assert sum(once(Random(seed * 10 + at), tmp_path) for at in range(5)) > 0


@pytest.mark.long
def test_messages_alone() -> None:
    commands: list[tuple[str, ...]] = []
    for key, version, request, response in messages():
        for output in decode.FORMATS:
            commands.append(("decode", request, "-o", output, "-v"))
            words = ("decode", "--api", str(key), "--version", str(version), "--response", "-o", output)
            commands += [(*words, response), (*words, response[:-8])]
    check(commands)


@pytest.mark.long
def test_words_of_the_command_line(tmp_path: Path) -> None:
    nobody = ("-b", "127.0.0.1:1")
    commands = [
        (WORD,),
        ("errors", WORD),
        ("apis", WORD),
        ("apis", "--grep", f"x{WORD}"),
        ("apis", "--release", WORD),
        ("apis", "--diff", WORD, "4.0"),
        ("sniff", f"--{WORD}"),
        ("sniff", WORD),
        ("sniff", "x", "-f", WORD),
        ("sniff", "x", "-o", WORD),
        ("decode", WORD),
        ("decode", "--explain", WORD),
        ("encode", "Metadata", "12", f"topics[].name={WORD}", "--skeleton"),
        ("encode", "Metadata", "12", f"{WORD}=1"),
        ("call", "Metadata", f"topics[].name={WORD}", "--skeleton"),
        ("call", "Metadata", "-b", WORD),
        ("call", "Metadata", *nobody, "-X", f"{WORD}=1"),
        ("call", "Metadata", *nobody, "-X", f"security.protocol={WORD}"),
        ("call", "Metadata", *nobody, "-F", WORD),
        ("call", "Metadata", *nobody, "--node", WORD),
        ("call", "CreateTopics", *nobody),
        ("call", "Metadata", "--profile", WORD),
        ("proxy", *nobody, "--bind", WORD, "--check"),
        ("proxy", *nobody, "--check", "--dial-map", WORD),
        ("profile", "show", WORD),
        ("profile", "import", WORD, WORD),
        ("profile", "import", "good", WORD),
        ("pipeline", "run", WORD, "--out", WORD, "--explain"),
        ("pipeline", "report", WORD),
        ("pipeline", "report", WORD, "--target", WORD),
        ("playground", "--topics", WORD, "--listeners", WORD),
        ("completion", WORD),
    ]
    check(commands, {"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.long
def test_names_of_files(folder: Path, tmp_path: Path) -> None:
    files = [str(path) for path in sorted(folder.iterdir())]
    commands = [("sniff", "-o", "text"), ("stats",), ("pipeline", "run", "--explain", "--out", str(tmp_path / "out"))]
    assert all("EVIL" in each.text for each in check([(*words, *files) for words in commands]))


def test_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "kw" / "profiles" / "evil.properties"
    file.parent.mkdir(parents=True)
    escaped = "".join(f"\\u{ord(c):04x}" for c in WORD)
    file.write_text(f"bootstrap.servers={escaped}\n{escaped}={escaped}\nclient.id={escaped}\n")
    commands: list[tuple[str, ...]] = [("call", "Metadata", "--profile", "evil")]
    for output in ("text", "ndjson", "json"):
        for words in (("show", "evil"), ("show", "evil", "--reveal-secrets"), ("list",)):
            commands.append(("profile", *words, "-o", output))
    assert all("EVIL" in each.text for each in check(commands, {"XDG_CONFIG_HOME": str(tmp_path)}))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = Names([f"{NAME}{at}" for at in range(3)], [f"{NAME}{at}" for at in range(3)], [NAME])
    return make(tmp_path_factory.mktemp("tables") / "tables", 2000, names)


@pytest.mark.long
def test_a_report(tables: Path) -> None:
    commands: list[tuple[str, ...]] = [
        ("pipeline", "report", str(tables), "-o", output) for output in ("text", "ndjson", "json")
    ]
    commands.append(("pipeline", "report", str(tables), "-o", "text", "-v"))
    seen = check(commands)
    assert all(each.code == 0 for each in seen)
    assert ["EVIL" in each.text for each in seen] == [True, False, False, True]  # in JSON it is base64


@pytest.mark.full
def test_a_query_of_tables(tables: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java(os.environ)
    except Failure as failure:
        pytest.skip(failure.text)
    query = "select client_id, client_id as `a\x1b[31mEVIL\u202eb` from exchanges limit 2"
    seen = check(
        [("pipeline", "sql", str(tables), query, "-o", output) for output in ("text", "table", "ndjson", "json", "csv")]
    )
    assert all(each.code == 0 and "EVIL" in each.text for each in seen)


def test_a_report_as_a_page(tmp_path: Path) -> None:
    """Names are escaped for HTML, and bidirectional marks in them are not written."""
    page = tmp_path / "page.html"
    marked = make(tmp_path / "tables", 500, Names([f"<script>{NAME}</script>"], [f"'\"><img src=x>{NAME}"], [NAME]))
    assert kw("pipeline", "report", str(marked), "--html", str(page), "-q").code == 0
    text = page.read_text()
    assert text.count("EVIL") > 3
    assert all(found.isprintable() for found in re.findall(r"EVIL[^<>]*", text))
    assert all(mark not in text for mark in ("<script>\\x1b", "<script>\x1b", "<img src=x"))


def test_help() -> None:
    check([(command, "--help") for command in COMMANDS])


def test_in_a_pipe_values_are_as_they_are(folder: Path, tmp_path: Path) -> None:
    """In a pipe, JSON and CSV are escaped by their own rules (RFC 4180) alone, not for a terminal."""
    turned = tmp_path / "turned.pcap"
    turned.write_bytes(capture(TURNED))
    words = ("sniff", str(turned), "--port", "9092", "-q", "-o")
    piped = {output: kw(*words, output).out for output in ("ndjson", "json", "csv")}
    assert f'"client_id":"{TURNED}"' in piped["ndjson"]
    assert [row["client_id"] for row in json.loads(piped["json"])] == [TURNED] * 8
    assert f",{TURNED}," in piped["csv"]
    lines = kw("sniff", str(folder / "plain.pcap"), "--port", "9092", "-o", "csv").out.splitlines()
    assert {row["client_id"] for row in csv.DictReader(lines)} == {encode_text_for_cell(NAME)}
    shown = kw_on_terminal((*words, "ndjson"))[0].text
    assert "".join(shown.split("\n")).isprintable()
    lines, others = (text.split("\n")[:-1] for text in (shown, piped["ndjson"]))
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in others]
    assert len(lines) == 8


class Counting(io.BytesIO):
    """A stream that counts the writes."""

    writes = 0

    def write(self, data: Any) -> int:
        self.writes += 1
        return super().write(data)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain é 漢 \t\n", "plain é 漢 \t\n"),
        ("a\x1b[2Jb", r"a\u001b[2Jb"),
        ("\r\x07\x08\x00", r"\u000d\u0007\u0008\u0000"),
        ("\x7f\x80\x9f\xa0", "\\u007f\\u0080\\u009f\xa0"),
        ("\u061b\u061c\u061d", "\u061b\\u061c\u061d"),
        ("\u200d\u200e\u200f\u2010", "\u200d\\u200e\\u200f\u2010"),
        ("\u2029\u202a\u202e\u202f", "\u2029\\u202a\\u202e\u202f"),
        ("\u2065\u2066\u2069\u206a", "\u2065\\u2066\\u2069\u206a"),
    ],
)
def test_what_reaches_a_terminal(given: str, shown: str) -> None:
    memory = Counting()
    terminal = Terminal(memory)
    assert terminal.write(given.encode()) == len(given.encode())
    assert (memory.getvalue().decode(), memory.writes) == (shown, 1)


def test_a_character_in_two_pieces_is_one() -> None:
    for text in ("é\x9b漢\u202e\x1b[31mé", "\u061c\u2066"):
        data = text.encode()
        for cut in range(len(data) + 1):
            memory = io.BytesIO()
            terminal = Terminal(memory)
            terminal.write(data[:cut])
            terminal.write(data[cut:])
            assert memory.getvalue().decode() == "".join(
                f"\\u{ord(c):04x}" if c in "\x9b\u202e\x1b\u061c\u2066" else c for c in text
            )


def test_a_byte_that_is_no_utf8_is_shown() -> None:
    memory = io.BytesIO()
    Terminal(memory).write(b"a\x9b31mb\xff\n")
    assert memory.getvalue() == b"a\\x9b31mb\\xff\n"


def test_colours_of_the_palette_pass_where_values_are_clean() -> None:
    codes = [COLORED.off, COLORED.dim, COLORED.client, COLORED.api, COLORED.bad, COLORED.name]
    codes += [*COLORED.sign.values(), *COLORED.fields]
    memory = io.BytesIO()
    terminal = Terminal(memory)
    terminal.allow_colors(True)
    terminal.write("".join(codes).encode())
    assert memory.getvalue().decode() == "".join(codes)
    terminal.write(b"\x1b[5m\x1b[8m\x1b[38;5;1m\x1b[31;1m\x1b[41m")
    assert memory.getvalue().decode().removeprefix("".join(codes)).count("\\u001b") == 5
    terminal.allow_colors(False)
    terminal.write(codes[0].encode())
    assert memory.getvalue().endswith(b"\\u001b[0m")


def test_a_value_is_one_printable_line() -> None:
    assert escape_text(NAME).isprintable()
    assert escape_text("orders é") == "orders é"
    assert escape_text("a\udc9bb") == r"a\x9bb"


def test_formulas_of_csv_are_texts_where_that_is_asked_for() -> None:
    cells = ["=1", "+1", "-1", "@a", "\ta", "\ra", "\na", "＝1", "a=1", "", -1, -1.5, None, "'"]
    assert format_csv_lines([cells], safe=False).startswith("=1,+1,-1,@a,")
    assert format_csv_lines([cells], safe=True).split(",") == [
        *("'=1", "'+1", "'-1", "'@a", "'\ta", "'\ra", '"\'\na"', "'＝1", "a=1", "", "-1", "-1.5", "", "'\n")
    ]


def test_csv_safe_is_an_option_of_what_has_csv() -> None:
    outcome = kw("sniff", "captures/tour.pcapng", "-o", "ndjson", "--csv-safe")
    assert (outcome.code, outcome.err) == (2, "kw: --csv-safe is for -o csv\n")


def test_a_formula_in_the_rows_of_a_capture(tmp_path: Path) -> None:
    (tmp_path / "formula.pcap").write_bytes(capture("=cmd|' /C calc'!A0"))
    file = str(tmp_path / "formula.pcap")
    for words in (("sniff", file), ("stats", file, "--by", "client"), ("stats", file, "--by", "topic")):
        words = (*words, "--port", "9092", "-o", "csv", "-q")
        assert "\n=cmd|' /C calc'!A0," in kw(*words).out.replace(",=", "\n=")
        safe = kw(*words, "--csv-safe").out.replace(",", "\n")
        assert "\n'=cmd|' /C calc'!A0\n" in safe
        assert "\n=cmd" not in safe


def test_diagnostics_are_one_clean_line() -> None:
    env = world(terminal=True)
    env.report(f"kw: {NAME}")
    assert written(env.stderr).decode() == f"kw: {escape_text(NAME)}\n"
