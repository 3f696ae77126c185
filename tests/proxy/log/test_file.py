"""Files of -w: `kw sniff` gives the rows of the log for them, Wireshark reads them, and they have no secret."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from decoders.tcp.stream_chunks import Close
from kwcli.proxy.log.log_protocol import CLIENT, SERVER, SIZE, LogPlan, Message, MessageKind
from kwcli.proxy.log.record_messages import Recorder
from kwcli.proxy.log.start_log_process import start
from tests.bench.proxy_log import conversation
from tests.captures.test_secrets import _all_secrets
from tests.cli.worlds import kw, world
from tests.proxy.log.played import FOLDER, NDJSON, chunks_of, logged, play, play_with_gaps, records, sniffed
from tests.sampling import sampled

WHOLE = ["first-steps.pcapng", "sasl-framed.pcapng", "sasl-raw.pcap", "share-groups.pcapng", "tour.pcapng"]
SECRET = ["first-steps.pcapng", "sasl-framed.pcapng", "sasl-raw.pcap"]


def _on_the_wire(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "envelope" not in row]


def _lines(text: str | bytes) -> list[dict[str, Any]]:
    """The rows without keys that only the proxy has, and without requests inside Envelopes, which files do not show."""
    rows = _on_the_wire([json.loads(line) for line in text.splitlines()])
    for row in rows:
        for name in ("via", "user", "sasl"):  # a file has stars in place of tokens
            row.pop(name, None)
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("seed", sampled([None, 3], 2))
def test_the_file_gives_the_rows_that_were_logged(name: str, seed: int | None, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    out, err = logged(tmp_path, LogPlan(NDJSON, write=str(path)), chunks_of(name), seed=seed)
    assert err == ""
    # Connections and packets have the numbers of the file, so whole rows are equal.
    assert _lines(out) == _lines(kw("sniff", str(path), "-o", "ndjson").out)
    assert records(out) == sniffed(FOLDER / name)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SECRET)
@pytest.mark.parametrize("seed", [None, 5])
def test_no_secret_is_in_the_file(name: str, seed: int | None, tmp_path: Path) -> None:
    secrets = _all_secrets(name)
    plain, starred = tmp_path / "plain.pcapng", tmp_path / "x.pcapng"
    for path, plan in ((plain, LogPlan(NDJSON._replace(reveal_secrets=True))), (starred, LogPlan(NDJSON))):
        logged(tmp_path, plan._replace(write=str(path)), chunks_of(name), seed=seed)
    # A secret that is cut into chunks would not be found in one piece.
    if seed is None:
        assert any(secret in plain.read_bytes() for secret in secrets)
    assert [secret for secret in secrets if secret in starred.read_bytes()] == []
    assert plain.stat().st_size == starred.stat().st_size
    revealed = kw("sniff", str(plain), "-o", "ndjson", "--reveal-secrets").out
    assert records(revealed) == sniffed(FOLDER / name, "--reveal-secrets")


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["first-steps.pcapng", "sasl-raw.pcap", "tour.pcapng"])
def test_wireshark_finds_nothing_wrong_that_it_does_not_find_in_the_original(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    out, _ = logged(tmp_path, LogPlan(NDJSON, write=str(path)), chunks_of(name))
    ports = {json.loads(line)["broker"].rpartition(":")[2] for line in out.splitlines()}
    shown = [_told(source, ports, "_ws.malformed") for source in (path, FOLDER / name)]
    assert shown[0] == shown[1]
    assert _told(path, ports, "tcp.analysis.flags or ip.checksum.status == 0") == []


def _told(path: Path, ports: set[str], display: str) -> list[str]:
    """tshark's text for the frames that pass a display filter."""
    ways = [word for port in ports for word in ("-d", f"tcp.port=={port},kafka")]
    words = ["tshark", "-r", str(path), *ways, "-o", "ip.check_checksum:TRUE", "-Y", display]
    run = subprocess.run(
        [*words, "-T", "fields", "-e", "_ws.col.Info"], capture_output=True, text=True, timeout=60, check=True
    )
    # tshark takes a token for a request, whose number now consists of stars.
    return sorted(re.sub(r"Unknown -?\d+ v-?\d+", "Unknown", line) for line in run.stdout.splitlines())


def test_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    log = start(LogPlan(NDJSON, write=str(path), record="both"), stdout=subprocess.DEVNULL)
    chunks = [chunk for chunk in chunks_of("tour.pcapng") if chunk[0].connection.number == 2]
    connection = chunks[0][0].connection
    play(log.queue, chunks[:0])
    log.queue.log_connection_opened(9, "[::1]:5000", "[::1]:19093", "192.0.2.7:9092", 1)
    log.queue.log_broker_connection(9, "192.0.2.1:777", "192.0.2.7:9092", 2)
    for half, time_ns, _, data in chunks:
        side = CLIENT if half is connection.first else SERVER
        if isinstance(data, bytes):
            log.queue.log_broker_bytes(9, side, time_ns, data)
            log.queue.log_client_bytes(9, side, time_ns, data)
        elif isinstance(data, Close):
            log.queue.log_connection_closed(9, data.how, time_ns)
    assert log.finish()
    rows = [json.loads(line) for line in kw("sniff", str(path), "-o", "ndjson").out.splitlines()]
    by_broker = {
        broker: records(
            "\n".join(json.dumps({**row, "client": "", "broker": ""}) for row in rows if row["broker"] == broker)
        )
        for broker in ("[::1]:19093", "192.0.2.7:9092")
    }
    assert by_broker["[::1]:19093"] == by_broker["192.0.2.7:9092"] != []
    data = path.read_bytes()
    assert b"kw-proxy-clients" in data
    assert b"kw-proxy-brokers" in data


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("rotation", "least"), [({"rotate_size": 50_000}, 3), ({"rotate_interval": 2.0}, 3), ({"rotate_size": 10**9}, 1)]
)
def test_rotation(rotation: dict[str, Any], least: int, tmp_path: Path) -> None:
    plan = LogPlan(NDJSON, write=str(tmp_path / "x.pcapng"), **rotation)
    out, _ = logged(tmp_path, plan, chunks_of("first-steps.pcapng"))
    files = sorted(str(path) for path in tmp_path.glob("x-*.pcapng"))
    assert len(files) >= least
    assert files[0].endswith("x-00001.pcapng")
    if "rotate_size" in rotation:
        assert all(Path(name).stat().st_size <= rotation["rotate_size"] for name in files)
    # Connections go on in the next file: all files together are one capture.
    assert records(kw("sniff", *files, "-o", "ndjson").out) == _on_the_wire(records(out))


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    from kwcli.run_environment import Failure

    with pytest.raises(Failure, match="no such file or directory"):
        start(LogPlan(NDJSON, write=str(tmp_path / "not there" / "x.pcapng")))


def test_the_rows_go_on_when_the_file_is_full(tmp_path: Path) -> None:
    out, err = logged(tmp_path, LogPlan(NDJSON, write="/dev/full"), chunks_of("tour.pcapng"))
    assert err == "kw: the capture file: no space left on device; nothing more is written to it\n"
    assert records(out) == sniffed(FOLDER / "tour.pcapng")


WHOLLY = ("complete", "no_response_expected", "token")
# Keys learnt from exchanges that may be among the missing ones.
LEARNT = (
    *("topic_names", "fetch_session", "client_software"),
    *("user", "mechanism", "sasl", "group", "transaction", "node", "library"),
)


def _by_status(rows: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _on_the_wire(rows):
        kept = {name: value for name, value in row.items() if name not in LEARNT}
        found[row["reason"] if row["kind"] == "skipped" else row["status"]][json.dumps(kept, sort_keys=True)] += 1
    return found


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("seed", sampled(range(3), 3))
def test_what_is_around_a_gap_is_right_in_rows_and_file(name: str, seed: int, tmp_path: Path) -> None:
    """Rows and file lack some exchanges and have no wrong one; the file lacks the rest of a broken frame."""
    dice = random.Random(seed)
    chunks = chunks_of(name)
    lost: set[int] = set()
    for _ in range(4):
        begin = dice.randrange(len(chunks))
        lost.update(range(begin, begin + dice.randrange(1, 20)))
    path = tmp_path / "x.pcapng"
    with (tmp_path / "out").open("w+b") as out:
        log = start(LogPlan(NDJSON, write=str(path)), stdout=out, most=1 << 30)
        gaps = play_with_gaps(log.queue, chunks, lost)
        assert log.finish()
        out.seek(0)
        rows = _by_status(records(out.read()))
    read, real = _by_status(sniffed(path)), _by_status(sniffed(FOLDER / name))
    assert gaps
    assert rows["complete"] <= real["complete"]
    assert read["complete"] <= rows["complete"]
    assert (rows["complete"] - read["complete"]).total() <= 2 * gaps
    assert (real["complete"] - rows["complete"]).total() <= len(lost) + 2 * gaps
    assert set(read) <= {*WHOLLY, "undecoded", "lost", "unanswered", "orphan_response"}
    assert all(json.loads(row)["reason"] == "lost" for row in read["undecoded"])
    for status in WHOLLY[1:]:
        assert (read[status] - rows[status]).total() <= gaps


def test_a_gap_of_one_connection_costs_no_rows_of_another(tmp_path: Path) -> None:
    """The second connection opens when the file can no longer be written: its bytes go to the rows alone."""
    env = world()
    keeping = Recorder(env, LogPlan(NDJSON, write=str(tmp_path / "x.pcapng")))
    told = conversation(6)
    ends = json.dumps(["127.0.0.1:5000", "127.0.0.1:19093", "127.0.0.1:9092"]).encode()
    keeping.record_messages([(MessageKind.OPENED, 1, 1, ends)])
    assert keeping._files is not None
    keeping._files.close()
    keeping._files = None
    messages: list[Message] = [(MessageKind.OPENED, 2, 2, ends.replace(b"5000", b"5001"))]
    messages += [(MessageKind.GAP, 1, 3, SIZE.pack(10_000))]
    for side, time_ns, data in told:
        messages += [(side, 1, time_ns, data), (side, 2, time_ns, data)]
    keeping.record_messages(messages)
    keeping.finish()
    rows = [json.loads(line) for line in env.stdout.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert sum(row["client"].endswith(":5001") and row["status"] == "complete" for row in rows) == 6


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_ends_in_the_file_as_it_ended(how: str, tmp_path: Path) -> None:
    env, path = world(), tmp_path / "x.pcapng"
    recorder = Recorder(env, LogPlan(NDJSON, write=str(path)))
    ends = json.dumps(["127.0.0.1:5000", "127.0.0.1:19093", "127.0.0.1:9092"]).encode()
    side, time_ns, request = conversation(1)[0]
    recorder.record_messages([(MessageKind.OPENED, 1, time_ns, ends), (side, 1, time_ns, request)])
    recorder.record_messages([(MessageKind.CLOSED, 1, time_ns + 1, f"{how}\n".encode())])
    recorder.finish()
    (logged_row,), (row,) = records(env.stdout.getvalue()), sniffed(path)  # type: ignore[attr-defined]
    assert (logged_row["status"], logged_row["closed"]) == (row["status"], row["closed"]) == ("unanswered", how)


@pytest.mark.long
def test_rows_and_file_find_their_step_again_behind_a_gap(tmp_path: Path) -> None:
    told = conversation(30_000)
    path = tmp_path / "x.pcapng"
    with (tmp_path / "out").open("w+b") as out:
        log = start(LogPlan(NDJSON, write=str(path)), stdout=out, most=300_000)
        log.queue.log_connection_opened(1, "127.0.0.1:5000", "127.0.0.1:19093", "127.0.0.1:9092", told[0][1])
        for number, (side, time_ns, data) in enumerate(told):
            log.queue.log_client_bytes(1, side, time_ns, data)
            if number % 50 == 0:
                log.queue.flush()
        log.queue.log_connection_closed(1, "fin", told[-1][1] + 1)
        dropped = log.queue.dropped_bytes
        assert log.finish()
        out.seek(0)
        rows = records(out.read())
    assert dropped > 0
    read = sniffed(path)
    complete = [sum(row.get("status") == "complete" for row in each) for each in (rows, read)]
    assert complete[0] > 1000
    assert complete[1] > complete[0] * 0.9
    assert {row["reason"] for each in (rows, read) for row in each if row["kind"] == "skipped"} == {"lost"}
