"""`--keylog` of the commands: librdkafka's and Java's TLS; key logs that are wrong, that grow, that stay secret."""

from __future__ import annotations

import io
import json
import os
import resource
import ssl
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from decoders.capture.decompress_gzip_zstd_lz4 import PIECE_SIZE
from decoders.capture.pcapng_writer import PcapngWriter
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.reading.sinks.closing_lines import DROPPED_KEYS_LINE
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world
from tests.tls.wrapping import pcapng_of, segments_of, wrap

FOLDER: Final = Path(__file__).resolve().parents[2] / "captures"
CAPTURE: Final = str(FOLDER / "tls" / "librdkafka-jsse.pcap")
KEYS: Final = str(FOLDER / "tls" / "librdkafka-jsse.keys")


def records(*words: str) -> list[dict[str, Any]]:
    """The rows that `kw sniff WORDS… -o ndjson` prints."""
    outcome = kw("sniff", *words, "-o", "ndjson")
    assert outcome.code == Exit.DONE
    return [json.loads(line) for line in outcome.out.splitlines()]


def secrets() -> list[str]:
    """The secrets in the key log, in hex."""
    lines = [line.split() for line in Path(KEYS).read_text().splitlines()]
    return [secret.lower().removeprefix("master-key:") for _, _, secret in lines]


def assert_secret(outcome: Outcome) -> None:
    """Assert that no part of the key log is in the output."""
    shown = (outcome.out + outcome.err).lower()
    assert not any(secret[:16] in shown for secret in secrets())
    assert "traffic_secret" not in shown


def test_a_capture_of_librdkafka_and_java() -> None:
    rows = records(CAPTURE, "--keylog", KEYS)
    assert {row["client_id"] for row in rows} == {"orders-1", "billing-2"}
    assert {(row["client_id"], row["tls"]["version"]) for row in rows} == {("orders-1", "1.3"), ("billing-2", "1.2")}
    assert {"Produce", "Fetch", "JoinGroup", "CreateTopics", "Metadata"} <= {row["api"] for row in rows}
    assert {row["status"] for row in rows} <= {"complete", "unanswered", "undecoded"}
    produced = [row for row in rows if row["api"] == "Produce"]
    batches = [
        partition["records"][0]["record_count"]
        for row in produced
        for topic in row["request"]["topic_data"]
        for partition in topic["partition_data"]
    ]
    assert sum(batches) == 100


def test_text_marks_the_rows() -> None:
    outcome = kw("sniff", CAPTURE, "--keylog", KEYS, "-o", "text")
    lines = outcome.out.splitlines()[1:]
    assert all(line.endswith(("TLS1.3", "TLS1.2")) for line in lines)
    assert_secret(outcome)


def test_without_a_key_log_the_handshake_is_told() -> None:
    rows = records(CAPTURE, "-v")
    assert {row["reason"] for row in rows} == {"tls"}
    assert all(row["detail"].startswith(("TLS 1.3, TLS_", "TLS 1.2, TLS_")) for row in rows)
    outcome = kw("sniff", CAPTURE, "-o", "text", "-v")
    assert "certificate CN=" in outcome.out


def test_the_variable_names_a_key_log_for_who_reads() -> None:
    with_variable = kw("sniff", CAPTURE, "-o", "ndjson", env=world(variables={"SSLKEYLOGFILE": KEYS}))
    assert with_variable.out == kw("sniff", CAPTURE, "-o", "ndjson", "--keylog", KEYS).out
    gone = kw("sniff", CAPTURE, "-o", "text", env=world(variables={"SSLKEYLOGFILE": "/nowhere/keys.log"}))
    assert gone.code == Exit.DONE
    assert "nowhere" not in gone.err
    assert "all 14 connections are TLS and none was decrypted: give its key log with --keylog FILE" in gone.err


def test_several_key_logs(tmp_path: Path) -> None:
    lines = Path(KEYS).read_text().splitlines(keepends=True)
    parts = [tmp_path / "a", tmp_path / "b"]
    for number, part in enumerate(parts):
        part.write_text("".join(lines[number::2]))
    words = [word for part in parts for word in ("--keylog", str(part))]
    assert records(CAPTURE, *words) == records(CAPTURE, "--keylog", KEYS)


def test_the_last_line_of_a_key_log_needs_no_newline(tmp_path: Path) -> None:
    lines = [line for line in Path(KEYS).read_text().splitlines() if line.startswith("CLIENT_TRAFFIC_SECRET_0")]
    needed = records(CAPTURE, "--keylog", KEYS)
    cut = tmp_path / "keys"
    for last in (lines[0], lines[-1]):
        others = [line for line in Path(KEYS).read_text().splitlines() if line != last]
        cut.write_text("\n".join([*others, ""]))
        assert records(CAPTURE, "--keylog", str(cut)) != needed
        cut.write_text("\n".join([*others, last]))
        assert records(CAPTURE, "--keylog", str(cut)) == needed


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "no such file"),
        (b"not a key log\n" * 3, "not a key log: none of its 3 lines has a key (kw help tls)"),
        (b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n", "not a key log: none of its 2 lines has a key"),
        (b"RSA 0011223344556677 " + b"42" * 48 + b"\n", "1 with RSA or pre-master secrets: such lines are not used"),
        (b"", ""),
    ],
)
def test_a_key_log_that_is_none(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "keys.log"
    if content is not None:
        path.write_bytes(content)
    outcome = kw("sniff", CAPTURE, "--keylog", str(path), "-o", "text")
    assert outcome.code == (Exit.DONE if content is not None else Exit.FAILURE)
    assert text in outcome.err
    assert "42" * 20 not in outcome.err
    assert "c2VjcmV0" not in outcome.err
    assert outcome.err.count("keys.log") == (1 if text else 0)


@pytest.mark.parametrize("command", ["sniff", "stats"])
@pytest.mark.parametrize("words", [[], ["-v"], ["--debug"]])
def test_no_key_is_ever_shown(command: str, words: list[str]) -> None:
    assert_secret(kw(command, CAPTURE, "--keylog", KEYS, *words, "-o", "text"))
    assert_secret(kw(command, CAPTURE, "--keylog", KEYS, *words, "-o", "json"))


# Commands that write files from the traffic of a capture, which they decrypt. The last one writes tables.
WRITING: Final = [
    ["sniff", CAPTURE, "-w", "OUT/cut.pcapng"],
    ["sniff", CAPTURE, "-w", "OUT/cut.pcapng", "--whole-connections"],
    ["scrub", CAPTURE, "OUT/clean.pcapng", "--names", "OUT/names.ndjson", "--salt-file", "OUT/salt"],
    ["report", CAPTURE, "--html", "OUT/page.html"],
    pytest.param(["pipeline", "run", CAPTURE, "--out", "OUT/tables"], marks=pytest.mark.long),
]


@pytest.mark.parametrize("words", WRITING)
def test_no_key_is_in_a_file_that_was_not_to_hold_one(words: list[str], tmp_path: Path) -> None:
    outcome = kw(*(word.replace("OUT", str(tmp_path)) for word in words), "--keylog", KEYS, "--debug")
    assert outcome.code == Exit.DONE, outcome.err
    assert_secret(outcome)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in written) > 1000
    for path in written:
        content = path.read_bytes()
        for held in (content, *texts_of(path)):
            for secret in secrets():
                assert bytes.fromhex(secret)[:8] not in held, path
                assert secret[:16].encode() not in held.lower(), path


def texts_of(path: Path) -> list[bytes]:
    """The content of a Parquet file's columns as text; nothing for other files."""
    return [str(pq.read_table(path).to_pydict()).encode()] if path.suffix == ".parquet" else []


def test_stats_count_what_was_decrypted() -> None:
    outcome = kw("stats", CAPTURE, "--keylog", KEYS, "-o", "ndjson")
    assert {"Produce", "Fetch"} <= {json.loads(line)["api"] for line in outcome.out.splitlines()}


# -- when and how much is read ----------------------------------------------------------------------------------------

PLAIN: Final = str(FOLDER / "first-steps.pcapng")
CONFINED: Final = ("KEY_LOG_SILENCE_S", "KEY_LOG_PIPE_S")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened as key logs."""
    names: list[str] = []
    really = os.open

    def note(name: Any, *rest: Any, **more: Any) -> int:
        names.append(str(name))
        return really(name, *rest, **more)

    monkeypatch.setattr("kwcli.reading.tls_key_log_files.os.open", note)
    return names


def test_a_key_log_is_read_when_there_is_tls(opened: list[str], tmp_path: Path) -> None:
    assert kw("sniff", PLAIN, "--keylog", KEYS).code == Exit.DONE
    assert kw("stats", PLAIN, "--keylog", KEYS).code == Exit.DONE
    assert kw("scrub", PLAIN, str(tmp_path / "out.pcapng"), "--keylog", KEYS).code == Exit.DONE
    assert KEYS not in opened
    assert kw("sniff", CAPTURE, "--keylog", KEYS).code == Exit.DONE
    assert opened.count(KEYS) == 1


@pytest.mark.parametrize("capture", [PLAIN, CAPTURE])
def test_a_name_that_cannot_be_read_is_told_before_anything_is(capture: str, tmp_path: Path) -> None:
    for name, text in ((str(tmp_path / "no.keys"), "no such file"), (str(tmp_path), "is a directory")):
        for command in (["sniff", capture], ["stats", capture], ["scrub", capture, str(tmp_path / "out.pcapng")]):
            outcome = kw(*command, "--keylog", name)
            assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
            assert outcome.err == f"kw: {name}: {text}\n"
    assert not (tmp_path / "out.pcapng").exists()


@pytest.mark.parametrize("command", ["sniff", "stats", "scrub"])
def test_a_pipe_that_nobody_writes_to_comes_to_an_end(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in CONFINED:
        monkeypatch.setattr(f"kwcli.reading.tls_key_log_files.{name}", 0.1)
    pipe, out = str(tmp_path / "keys"), tmp_path / "out.pcapng"
    os.mkfifo(pipe)
    more = [str(out)] if command == "scrub" else []
    assert kw(command, PLAIN, *more, "--keylog", pipe).code == Exit.DONE
    out.unlink(missing_ok=True)
    outcome = kw(command, CAPTURE, *more, "--keylog", pipe)
    assert outcome.code == Exit.FAILURE
    assert f"kw: {pipe}: no program wrote to it in 0.1 s: no key was read" in outcome.err
    assert outcome.err.count(pipe) == 1
    assert not out.exists()


def writing(
    pipe: str, *pieces: bytes, wait: threading.Event | None = None, written: threading.Event | None = None
) -> threading.Thread:
    """A thread that writes to a named pipe, says that all is written, and keeps the pipe open until it may go."""

    def write() -> None:
        with open(pipe, "wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
            if written is not None:
                written.set()
            if wait is not None:
                wait.wait(60)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = str(tmp_path / "keys")
    os.mkfifo(pipe)
    data = Path(KEYS).read_bytes()
    thread = writing(pipe, *(data[at : at + 1000] for at in range(0, len(data), 1000)))
    assert records(CAPTURE, "--keylog", pipe) == records(CAPTURE, "--keylog", KEYS)
    thread.join()


def test_a_pipe_that_stays_open_is_read_as_long_as_it_says_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.reading.tls_key_log_files.KEY_LOG_SILENCE_S", 0.3)
    pipe, go = str(tmp_path / "keys"), threading.Event()
    os.mkfifo(pipe)
    thread = writing(pipe, Path(KEYS).read_bytes(), wait=go)
    outcome = kw("sniff", CAPTURE, "--keylog", pipe, "-o", "ndjson")
    go.set()
    thread.join()
    assert outcome.code == Exit.DONE
    assert f"kw: {pipe}: it did not end: what came until then was read" in outcome.err
    assert [json.loads(line) for line in outcome.out.splitlines()] == records(CAPTURE, "--keylog", KEYS)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_comes_to_an_end(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.reading.tls_key_log_files.KEY_LOG_JUNK_MAX", 3 << 20)
    before = most_memory()
    outcome = kw("sniff", CAPTURE, "--keylog", device)
    assert outcome.code == Exit.FAILURE
    assert f"kw: {device}: not a key log: none of the first 3.1MB is a key (kw help tls)" in outcome.err.splitlines()
    assert most_memory() - before < 200 << 20


def test_lines_without_end_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.reading.tls_key_log_files.KEY_LOG_READ_MAX", 1 << 20)
    pipe, go = str(tmp_path / "keys"), threading.Event()
    os.mkfifo(pipe)
    line = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"

    def write() -> None:
        with suppress(BrokenPipeError), open(pipe, "wb", buffering=0) as file:
            while not go.is_set():
                file.write(line * 1000)

    thread = threading.Thread(target=write)
    thread.start()
    outcome = kw("sniff", CAPTURE, "--keylog", KEYS, "--keylog", pipe, "-o", "ndjson")
    go.set()
    thread.join()
    assert outcome.code == Exit.FAILURE
    assert f"kw: {pipe}: it has no end: its first 1." in outcome.err
    assert [json.loads(each) for each in outcome.out.splitlines()] == records(CAPTURE, "--keylog", KEYS)


def test_of_a_large_key_log_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Path(KEYS).read_bytes()
    large = tmp_path / "large.keys"
    old = b"".join(b"CLIENT_RANDOM %064x %096x\n" % (number, number) for number in range(2000))
    large.write_bytes(old + keys)
    monkeypatch.setattr("kwcli.reading.tls_key_log_files.KEY_LOG_READ_MAX", len(keys) + 1000)
    outcome = kw("sniff", CAPTURE, "--keylog", str(large), "-o", "ndjson")
    assert [json.loads(line) for line in outcome.out.splitlines()] == records(CAPTURE, "--keylog", KEYS)
    assert f"kw: {large}: only the last " in outcome.err


@pytest.mark.plain
@pytest.mark.parametrize(
    "words",
    [
        ["sniff", CAPTURE],
        pytest.param(["stats", CAPTURE], marks=pytest.mark.long),
        ["scrub", CAPTURE, "OUT/clean.pcapng"],
        ["pipeline", "run", CAPTURE, "--out", "OUT/tables", "--engine", "local"],
        ["pipeline", "watch", str(FOLDER / "tls"), "--once", "--out", "OUT/tables"],
    ],
)
def test_that_the_oldest_keys_went_is_told(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = len({line.split()[1] for line in Path(KEYS).read_bytes().splitlines()})
    monkeypatch.setattr("decoders.tls.key_log.TLS_SECRETS_MAX", sessions)
    many = tmp_path / "many.keys"
    old = b"".join(b"CLIENT_RANDOM %064x %096x\n" % (number, number) for number in range(50))
    many.write_bytes(old + Path(KEYS).read_bytes())
    read_keys.cache_clear()
    outcome = kw(*(word.replace("OUT", str(tmp_path)) for word in words), "--keylog", str(many))
    read_keys.cache_clear()
    assert outcome.code == Exit.DONE
    assert outcome.err.count(DROPPED_KEYS_LINE) == 1
    assert "no key that fits" not in outcome.err
    if words[0] == "sniff":
        assert len(outcome.out.splitlines()) == len(records(CAPTURE, "--keylog", KEYS))


def test_secrets_in_a_capture_have_the_same_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tls.key_log.TLS_SECRETS_MAX", 20)
    made = wrap(segments_of(FOLDER / "first-steps.pcapng")[:400])
    old = [b"".join(b"CLIENT_RANDOM %064x %096x\n" % (k * 100 + n, n) for n in range(100)) for k in range(3)]
    (tmp_path / "c.pcapng").write_bytes(pcapng_of(made.segments, [*old, made.key_log]))
    (tmp_path / "few.pcapng").write_bytes(pcapng_of(made.segments, [made.key_log]))
    outcome, few = (kw("sniff", str(tmp_path / name), "-o", "ndjson") for name in ("c.pcapng", "few.pcapng"))
    assert outcome.out == few.out
    assert outcome.out.count('"kind":"exchange"') > 20
    assert (outcome.err.count(DROPPED_KEYS_LINE), few.err.count(DROPPED_KEYS_LINE)) == (1, 0)


@pytest.mark.parametrize("words", [["pipeline", "run"], ["pipeline", "watch", "--once"]])
def test_the_pipeline_wants_files(words: list[str], tmp_path: Path) -> None:
    pipe = str(tmp_path / "keys")
    os.mkfifo(pipe)
    outcome = kw(*words, CAPTURE, "--out", str(tmp_path / "tables"), "--keylog", pipe)
    assert outcome.code == Exit.USAGE
    assert outcome.err.startswith(f"kw: {pipe}: a pipe or a device can be read once")
    assert not (tmp_path / "tables").exists()


def most_memory() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Slow(io.RawIOBase):
    """Standard input that gives a capture piece by piece; `meanwhile` runs before the second piece."""

    def __init__(self, pieces: list[bytes], meanwhile: Any) -> None:
        self._pieces = pieces
        self._meanwhile = meanwhile
        self._given = 0

    def readable(self) -> bool:
        return True

    def read1(self, _size: int = -1, /) -> bytes:
        if self._given == 1:
            self._meanwhile()
        self._given += 1
        return self._pieces.pop(0) if self._pieces else b""


def test_a_key_log_is_followed_while_it_grows(tmp_path: Path) -> None:
    made = wrap(segments_of(FOLDER / "first-steps.pcapng")[:600])
    capture = pcapng_of(made.segments)
    path = tmp_path / "keys.log"
    wanted = tmp_path / "all.log"
    wanted.write_bytes(made.key_log)

    def write() -> None:
        path.write_bytes(made.key_log)
        time.sleep(0.1)

    pieces = [capture[:9000], *(capture[at : at + 5000] for at in range(9000, len(capture), 5000))]
    env = world()
    env.stdin = Slow(pieces, write)
    outcome = kw("sniff", "-", "--keylog", str(path), "-o", "ndjson", env=env)
    (tmp_path / "c.pcapng").write_bytes(capture)
    whole = kw("sniff", str(tmp_path / "c.pcapng"), "--keylog", str(wanted), "-o", "ndjson")
    assert len(whole.out.splitlines()) > 20
    assert outcome.out == whole.out


@pytest.mark.parametrize("there", [True, False])
def test_a_followed_key_log_that_nothing_came_from_is_told(there: bool, tmp_path: Path) -> None:
    name = str(tmp_path / "keys")
    if there:
        os.mkfifo(name)
    outcome = kw("sniff", "-", "--keylog", name, env=world(Path(CAPTURE).read_bytes()))
    assert outcome.code == Exit.DONE
    assert outcome.err.count(f"kw: {name}: nothing came from this key log\n") == 1
    assert name not in kw("sniff", "-", "--keylog", name, env=world(Path(PLAIN).read_bytes())).err


def test_a_pipe_is_followed_while_it_grows(tmp_path: Path) -> None:
    made = wrap(segments_of(FOLDER / "first-steps.pcapng")[:600])
    capture = pcapng_of(made.segments)
    pipe, go = str(tmp_path / "keys.fifo"), threading.Event()
    os.mkfifo(pipe)
    wanted = tmp_path / "all.log"
    wanted.write_bytes(made.key_log)
    threads: list[threading.Thread] = []

    def write() -> None:
        written = threading.Event()
        threads.append(writing(pipe, made.key_log, wait=go, written=written))
        assert written.wait(60)

    env = world()
    env.stdin = Slow([capture[:9000], *(capture[at : at + 5000] for at in range(9000, len(capture), 5000))], write)
    outcome = kw("sniff", "-", "--keylog", pipe, "-o", "ndjson", env=env)
    go.set()
    threads[0].join()
    (tmp_path / "c.pcapng").write_bytes(capture)
    whole = kw("sniff", str(tmp_path / "c.pcapng"), "--keylog", str(wanted), "-o", "ndjson")
    assert len(whole.out.splitlines()) > 20
    assert outcome.out == whole.out


def test_secrets_behind_the_packets_are_found(tmp_path: Path) -> None:
    made = wrap(segments_of(FOLDER / "first-steps.pcapng")[:400])
    front, behind = pcapng_of(made.segments, [made.key_log]), tmp_path / "behind.pcapng"
    blocks = len(pcapng_of((), [made.key_log])) - len(pcapng_of(()))
    start = len(pcapng_of(()))
    behind.write_bytes(front[:start] + front[start + blocks :] + front[start : start + blocks])
    (tmp_path / "front.pcapng").write_bytes(front)
    wanted = kw("sniff", str(tmp_path / "front.pcapng"), "-o", "ndjson").out
    assert wanted.count('"kind":"exchange"') > 20
    assert kw("sniff", str(behind), "-o", "ndjson").out == wanted


def test_a_connection_cut_out_takes_the_key_of_the_session_it_resumes(tmp_path: Path) -> None:
    made = wrap(segments_of(FOLDER / "tour.pcapng"), resumed=True, version=ssl.TLSVersion.TLSv1_2)
    capture, keys, out = (tmp_path / name for name in ("tls.pcapng", "keys.log", "out.pcapng"))
    capture.write_bytes(pcapng_of(made.segments))
    keys.write_bytes(made.first_key_log)
    asked = [
        "sniff",
        str(capture),
        "--keylog",
        str(keys),
        "-f",
        "client_id == ledger and api == Produce",
        "-o",
        "ndjson",
    ]
    rows = [json.loads(line) for line in kw(*asked, "-w", str(out), "--with-keys").out.splitlines()]
    again = [json.loads(line) for line in kw("sniff", str(out), "-o", "ndjson").out.splitlines()]
    sent = [row["request"] for row in again if row["kind"] == "exchange" and row["api"] == "Produce"]
    assert sent == [row["request"] for row in rows] != []
    assert {row["client_id"] for row in again if row["kind"] == "exchange"} == {"ledger"}


def test_secrets_behind_the_first_piece_of_a_capture_are_read(tmp_path: Path) -> None:
    """A capture may begin with more secrets than one piece holds: they are read up to its first packet."""
    path, keys = tmp_path / "large.pcapng", Path(KEYS).read_bytes()
    writer = PcapngWriter(1)
    blocks = [writer.make_secrets_block(b"# %060d\n" % number * 500) for number in range(5)]
    path.write_bytes(writer.make_file_header() + b"".join(blocks) + writer.make_secrets_block(keys))
    assert path.stat().st_size > 2 * PIECE_SIZE
    read_keys.cache_clear()
    found = read_keys((), (str(path),))
    read_keys.cache_clear()
    client_randoms = {bytes.fromhex(line.split()[1].decode()) for line in keys.splitlines() if b"TRAFFIC" in line}
    assert client_randoms
    assert all(found.count_secrets(each) for each in client_randoms)


@pytest.mark.parametrize("path", ["request.acks", "response.topics[].name", "request"])
def test_rows_without_a_body_have_no_value_at_its_paths(path: str) -> None:
    outcome = kw("sniff", CAPTURE, "-v", "-o", "fields", "-e", "reason", "-e", path)
    assert outcome.code == Exit.DONE
    assert {line.strip() for line in outcome.out.splitlines()[:14]} == {"tls"}
