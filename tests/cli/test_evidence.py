"""Evidence of findings: its file and packets are those of Wireshark, and the command beside it, copied, shows it."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from decoders.protocol_facts.api_keys import METADATA
from kwcli.analyses.finding_renderer import quote_shell_word
from kwcli.output.table import escape_markdown
from tests.analysis.scenes import FIN, Scene
from tests.analysis.silence_scenes import refused
from tests.capture.spoken import spoken
from tests.captures.shipped import FOLDER, capture_bytes
from tests.cli.worlds import kw, world
from tests.pipeline.odd import packets
from tests.pipeline.test_watch import ring

COUNT = 7


def run_json(*words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw(*words, "-o", "ndjson").out.splitlines()]


def identify(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["time"], row["client"], row["broker"], row["correlation_id"]


def whole_packet_number(pieces: list[Path], file: str, number: int) -> int:
    """The number that a packet of a piece has in the whole capture."""
    at = [str(path) for path in pieces].index(file)
    return sum(sum(1 for _ in packets(gzip_or_plain(path))) for path in pieces[:at]) + number


def gzip_or_plain(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A capture as the files of a ring, one of them compressed, in a folder whose name has to be quoted."""
    made = ring(tmp_path_factory.mktemp("rings") / "the ring's", capture_bytes("old-clients.pcap.gz"), COUNT)
    made[2].write_bytes(gzip.compress(made[2].read_bytes()))
    return made


@pytest.fixture(scope="module")
def whole() -> dict[str, list[dict[str, Any]]]:
    """The evidence of the findings in the whole capture, by id and title."""
    found = run_json("doctor", str(FOLDER / "old-clients.pcap.gz"))
    return {f"{row['id']} {row['title']}": row["evidence"] for row in found if row["evidence"]}


@pytest.mark.parametrize("how", ["files", "folder", "pattern", pytest.param("jobs", marks=pytest.mark.long), "tables"])
def test_evidence_names_the_file_and_its_packets(
    how: str, pieces: list[Path], whole: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    folder = str(pieces[0].parent)
    words = {
        "files": [*map(str, pieces)],
        "folder": [folder],
        "pattern": [f"{folder}/dump.pcap00*"],
        "jobs": [folder, "--jobs", "2"],
        "tables": [str(tmp_path / "tables")],
    }[how]
    if how == "tables":
        assert kw("pipeline", "run", folder, "--out", words[0], "--bodies", "--engine", "local").code == 0
    rows = {f"{row['id']} {row['title']}": row["evidence"] for row in run_json("doctor", *words) if row["evidence"]}
    assert rows.keys() == whole.keys()
    files = set()
    for title, evidence in rows.items():
        for each, expected in zip(evidence, whole[title], strict=True):
            assert identify(each) == identify(expected)
            assert (each["packets"] is None) is (expected["packets"] is None)
            if each["packets"] is not None:
                files.add(each["file"])
                assert whole_packet_number(pieces, each["file"], each["packets"][0]) == expected["packets"][0]
    assert len(files) > 2


@pytest.mark.long
def test_the_command_of_a_finding_shows_its_evidence(pieces: list[Path]) -> None:
    """A shell takes the command apart; it reads the same inputs, however they were named."""
    folder, ways = str(pieces[0].parent), set()
    for words in ([*map(str, pieces)], [folder], [*map(str, pieces[:3])]):
        rows = [row for row in run_json("doctor", *words) if "command" in row]
        assert len(rows) > 1
        for row in rows:
            split = subprocess.run(["bash", "-c", f"printf '%s\\0' {row['command']}"], capture_output=True, check=True)
            program, name, *copied, verbose = split.stdout.decode().split("\0")[:-1]
            assert (program, name, verbose) == ("kw", "sniff", "-v")
            ways.add(copied[0].removeprefix(folder))
            shown = {identify(each) for each in run_json("sniff", *copied)}
            assert {identify(each) for each in row["evidence"]} <= shown
            assert len(shown) <= 3 * len(row["evidence"])
        text = kw("doctor", *words, "-o", "text").out
        missing = [row for row in rows if row["severity"] != "note" and f"see: {row['command']}\n" not in text]
        assert not missing
        page = kw("report", *words, "-o", "md").out
        assert all(f"    - see: {escape_markdown(row['command'])}\n" in page for row in rows)
    assert ways == {"/dump.pcap00*", "", "/dump.pcap000"}


SHIPPED = [*sorted((FOLDER / "incidents").glob("*.pcap.zst")), *sorted(FOLDER.glob("*.pcap*"))]


def check_commands(file: Path) -> list[dict[str, Any]]:
    """Run the command of each finding, as it is printed; gives the findings with evidence."""
    found = [row for row in run_json("doctor", str(file)) if row["evidence"]]
    for row in found:
        _, *words = shlex.split(row["command"])
        assert kw(*words, "-q", "-o", "text").out.strip(), row["command"]
        if words[0] != "sniff":
            continue  # kw trace shows the records, not the exchanges
        shown = run_json(*words)
        exchanges = {identify(each)[1:] for each in shown if each["kind"] == "exchange"}
        connections = {(each["client"], each["broker"]) for each in shown}
        for each in row["evidence"][:3]:
            if each["correlation_id"] is None:
                assert (each["client"], each["broker"]) in connections, row["command"]
            else:
                assert identify(each)[1:] in exchanges, row["command"]
    return found


@pytest.mark.one_in(15)
@pytest.mark.parametrize("file", SHIPPED, ids=[file.name for file in SHIPPED])
def test_each_command_shows_its_evidence(file: Path) -> None:
    check_commands(file)


CUT = reduce(
    lambda scene, number: scene.ask(number, (METADATA, 9), line=number).reset(number + 90),
    range(4),
    Scene(),
)
SHUT = Scene().ask(0, (METADATA, 9)).shut(1, 12, broker=True).ask(20, (METADATA, 9))
CLOSED = Scene(None).ask(0, (METADATA, 9)).speak(1, b"GET / HTTP/1.0\r\n\r\n", ends=FIN)


@pytest.mark.parametrize(
    ("scene", "finding", "shown"),
    [
        (refused(5.0, 6.0, 7.0), "no-connection", "from port 40001: SYN, refused (RST) 1µs later"),
        (CUT, "idle-cut", "reset (RST) from the broker's side, which had sent nothing for 90s"),
        (SHUT, "zero-window", "the TCP window of the broker's side was 0 for 11s at least"),
        (CLOSED, "not-kafka", "closed (FIN) 5µs after its first packet"),
    ],
    ids=lambda part: part if isinstance(part, str) and " " not in part else "",
)
def test_a_command_shows_the_end_of_a_connection(scene: Scene, finding: str, shown: str, tmp_path: Path) -> None:
    file = tmp_path / "scene.pcap"
    file.write_bytes(spoken(scene.segments()))
    (row,) = [row for row in check_commands(file) if row["id"] == finding]
    _, *words = shlex.split(row["command"])
    assert "--connection" in words
    assert shown in kw(*words, "-o", "text").out
    assert any(each["detail"] in shown for each in run_json(*words) if each["kind"] == "skipped")
    again = tmp_path / "again.ndjson"
    again.write_text(kw(*words, "-o", "ndjson").out)
    assert kw("sniff", str(again), "-o", "ndjson").out == again.read_text()
    silent = kw(*words[:-1], "-o", "text")
    assert silent.out or "kw sniff -v says how they began and ended" in silent.err


@pytest.mark.long
def test_a_command_shows_the_end_of_a_connection_in_tables(tmp_path: Path) -> None:
    file, out = FOLDER / "incidents" / "advertised-port-closed.pcap.zst", str(tmp_path / "tables")
    assert kw("pipeline", "run", str(file), "--out", out, "--bodies", "--engine", "local").code == 0
    assert check_commands(Path(out))[0]["id"] == "no-connection"


def test_packets_of_a_connection_without_exchanges_are_written(tmp_path: Path) -> None:
    file, out = tmp_path / "scene.pcap", tmp_path / "out.pcapng"
    file.write_bytes(spoken(refused(5.0).segments()))
    assert kw("sniff", str(file), "--connection", "2", "-w", str(out)).code == 0
    assert "2 packets" in kw("sniff", str(out)).err


@pytest.mark.parametrize("scene", [CUT, SHUT, CLOSED], ids=["reset", "window", "closed"])
def test_packets_of_the_end_of_a_connection_are_written(scene: Scene, tmp_path: Path) -> None:
    file, out = tmp_path / "scene.pcap", tmp_path / "out.pcapng"
    file.write_bytes(spoken(scene.segments()))
    words = "-f", "connection > 0"
    assert kw("sniff", str(file), *words, "-w", str(out)).code == 0
    ends, again = (
        [row["detail"] for row in run_json("sniff", str(each), *words) if row["kind"] == "skipped" and not row["size"]]
        for each in (file, out)
    )
    assert ends
    assert again == ends


def test_with_ports_the_ends_of_other_connections_are_left_out() -> None:
    file = str(FOLDER / "incidents" / "advertised-port-closed.pcap.zst")
    words = "sniff", file, "-f", "connection > 0"
    assert sum(row["broker"].endswith(":23608") for row in run_json(*words)) == 12
    assert {row["broker"] for row in run_json(*words, "--port", "23605")} == {"127.0.0.1:23605"}
    assert "no-connection" in [row["id"] for row in run_json("doctor", file)]
    assert "no-connection" not in [row["id"] for row in run_json("doctor", file, "--port", "23605")]


def test_a_file_that_stands_alone_is_not_named_again() -> None:
    (row, *_) = run_json("doctor", str(FOLDER / "tour.pcapng"), "--port", "9092,9093,9094")
    assert row["command"] == f"kw sniff {FOLDER}/tour.pcapng --port 9092,9093,9094 --packet 760,772,775 -v"


def test_what_can_be_read_only_once_has_no_command() -> None:
    env = world(stdin=capture_bytes("tour.pcapng"))
    rows = [json.loads(line) for line in kw("doctor", "-", "-o", "ndjson", env=env).out.splitlines()]
    assert rows
    assert not any("command" in row for row in rows)


@pytest.mark.parametrize("word", ["a.pcap", "a b", "it's", "$HOME", "*", "!x", "\\", "a\nb", "a\x1b\udcff1'\\"])
def test_a_quoted_word_is_that_word_for_a_shell(word: str) -> None:
    ran = subprocess.run(["bash", "-c", f"printf %s {quote_shell_word(word)}"], capture_output=True, check=True)
    assert ran.stdout == word.encode("utf-8", "surrogateescape")
    assert quote_shell_word(word).isprintable()


# --packet and --connection

RAW = capture_bytes("sasl-raw.pcap")
EVERY = [*packets(RAW)]


@pytest.mark.long
def test_every_packet_of_an_exchange_finds_it_also_where_its_sides_are_in_two_files(tmp_path: Path) -> None:
    made = ring(tmp_path / "ring", RAW, len(EVERY) // 2)
    (tmp_path / "whole.pcap").write_bytes(RAW)
    rows = {identify(row): row for row in run_json("sniff", str(tmp_path / "ring"), "-f", "file or not file")}
    expected = run_json("sniff", str(tmp_path / "whole.pcap"))
    assert rows.keys() == {identify(row) for row in expected}
    apart = 0
    for each in expected:
        row = rows[identify(each)]
        apart += "response_file" in row
        for side in ("request", "response"):
            if each["packets"][side] is None:
                continue
            for at, key in enumerate((f"{side}_file", f"{side}_end_file")):
                file, number = row.get(key, row["file"]), row["packets"][side][at]
                assert whole_packet_number(made, file, number) == each["packets"][side][at]
    assert apart > 3
    row = next(row for row in rows.values() if "response_file" in row)
    place = f"{Path(row['response_file']).name}:{row['packets']['response'][0]}"
    assert [identify(each) for each in run_json("sniff", str(tmp_path / "ring"), "--packet", place)] == [identify(row)]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--packet", "17"), 0),
        (("--packet", "17-22"), 3),
        (("--packet", "760,772,775"), 3),
        (("--packet", "tour.pcapng:760"), 1),
        (("--packet", "captures/tour.pcapng:760", "--packet", "772"), 2),
        (("--packet", "our.pcapng:760"), 0),
        (("--connection", "39"), 5),
        (("--connection", "1,39"), 7),
        (("-f", "packet == 760 or connection == 1"), 3),
        (("-f", "packet != 760"), 192),
    ],
)
def test_packets_and_connections_choose_exchanges(words: tuple[str, ...], count: int) -> None:
    rows = run_json("sniff", str(FOLDER / "tour.pcapng"), *words)
    assert sum(row["kind"] == "exchange" for row in rows) == count


@pytest.mark.parametrize("word", ["0", "x", "a:b", "9-7", "-7", "7-", "", "1099511627777"])
def test_what_is_no_packet_is_told(word: str) -> None:
    ran = kw("sniff", str(FOLDER / "tour.pcapng"), "--packet", word)
    assert (ran.code, ran.out) == (2, "")
    assert "is no packet: write 105, 105-109 or kafka.pcap07:105" in ran.err
