"""`kw proxy` with its log, in front of librdkafka's mock: rows and file of real clients, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from kwcli.playground.run_playground import LibrdkafkaMock
from tests.cli.worlds import kw
from tests.proxy.hidden import ROOT, port_base
from tests.proxy.stage import API_VERSIONS, FETCH, METADATA, request
from tests.waiting import until

SCHEMA = json.loads((ROOT / "decoders" / "messages" / "record.schema.json").read_bytes())
DESCRIBE_CLUSTER = 60
START_S = 60.0


@pytest.fixture
def mock() -> Iterator[str]:
    with LibrdkafkaMock(3) as cluster:
        cluster.create_topic("orders")
        yield cluster.bootstrap()


class Logged:
    """`kw proxy` as a child, with its standard output and error in files."""

    def __init__(
        self,
        mock: str,
        folder: Path,
        *words: str,
        stdout: int | None = None,
        host: str = "127.0.0.1",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.base = port_base(3)
        self.bootstrap = f"{host}:{self.base}"
        self.out, self.err = folder / "out", folder / "err"
        command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", mock, "--port-base", str(self.base), *words]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=out if stdout is None else stdout, stderr=err, env=env
            )
        deadline = time.monotonic() + START_S
        while f"ready {self.bootstrap}" not in self.err.read_text():
            assert self.process.poll() is None, self.err.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def talk(self, count: int = 20) -> None:
        """Let one client produce, and another read the records."""
        from confluent_kafka import Consumer, Producer

        producer = Producer({"bootstrap.servers": self.bootstrap, "client.id": "shop"})
        for number in range(count):
            producer.produce("orders", f"order {number}")
        assert producer.flush(60) == 0
        del producer
        group = f"billing-{time.monotonic_ns()}"
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
        reader.subscribe(["orders"])
        deadline, got = time.monotonic() + 60, 0
        while got < count and time.monotonic() < deadline:
            got += reader.poll(0.5) is not None
        reader.close()
        assert got >= count

    def end(self, code: int = 0) -> str:
        """Interrupt the proxy; gives its standard error."""
        self.process.send_signal(signal.SIGINT)
        return self.wait(code)

    def wait(self, code: int = 0) -> str:
        """Wait until the proxy has ended; gives its standard error."""
        assert self.process.wait(20) == code, self.err.read_text()
        return self.err.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def rows(self) -> list[dict[str, Any]]:
        """The records of standard output."""
        return [json.loads(line) for line in self.out.read_text().splitlines()]


def test_rows_and_file_say_the_same(mock: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    with Logged(mock, tmp_path, "-o", "ndjson", "-w", str(path), "--record", "both") as proxy:
        proxy.talk()
        said = proxy.end()
    rows = proxy.rows()
    assert {"Metadata", "ApiVersions", "Produce", "Fetch", "JoinGroup"} <= {row["api"] for row in rows}
    assert {row["via"] for row in rows} == {"proxy"}
    answered = [row for row in rows if row["latency_ms"] is not None]
    assert all(0 < row["upstream_latency_ms"] <= row["latency_ms"] for row in answered)
    listeners = {f"127.0.0.1:{proxy.base + place}" for place in (0, 2, 3, 4)}
    assert {row["broker"] for row in rows} <= listeners
    assert "left out" not in said
    assert f"kw: {len(rows)}" not in said
    assert f"{len(rows)} exchanges, " in said

    def key(row: dict[str, Any]) -> str:
        # Facts about other connections are learnt in another order if the file has the brokers' side as well.
        left_out = ("via", "upstream_latency_ms", "connection", "node", "group", "transaction")
        return json.dumps({name: value for name, value in row.items() if name not in left_out}, sort_keys=True)

    read = [json.loads(line) for line in kw("sniff", str(path), "-o", "ndjson").out.splitlines()]
    assert sorted(key(row) for row in read if row["broker"] in listeners) == sorted(map(key, rows))
    brokers = set(mock.split(","))
    assert len([row for row in read if row["broker"] in brokers]) == len(rows)


@pytest.mark.long
def test_filters_and_text(mock: str, tmp_path: Path) -> None:
    with Logged(
        mock, tmp_path, "-o", "text", "--color", "never", "-f", "api == Produce and client_id == shop"
    ) as proxy:
        proxy.talk()
        said = proxy.end()
    heading, *lines = proxy.out.read_text().splitlines()
    assert heading.split()[:3] == ["time", "UTC", "took"]
    assert lines
    assert all("Produce" in line and "orders[" in line for line in lines)
    assert f"{len(lines)} of " in said


@pytest.mark.long
def test_clients_go_on_when_nobody_reads_or_the_log_dies(mock: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with Logged(mock, tmp_path, stdout=writer) as proxy:
        os.close(writer)
        proxy.talk()
        proxy.talk()
        said = proxy.end()
    assert said.count("the log has ended; clients go on without it") == 1
    assert "Traceback" not in said


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="finds the log's process in /proc")
def test_a_killed_log_is_started_again_and_shows_every_text(mock: str, tmp_path: Path) -> None:
    """A client keeps its connection while the log's process is killed; its names are no UTF-8 at first."""

    def ask(number: int, name: str) -> None:
        link.sendall(request(METADATA, 2, {"topics": [{"name": name}]}, id=number, client_id=name))
        size = int.from_bytes(link.recv(4, socket.MSG_WAITALL), "big")
        assert int.from_bytes(link.recv(size, socket.MSG_WAITALL)[:4], "big") == number

    with Logged(mock, tmp_path, "-o", "ndjson") as proxy:
        host, _, port = proxy.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port)), 20) as link:
            ask(1, "order\udcff")
            until(lambda: len(proxy.rows()) == 1)
            for number in range(2, 4):
                (log,) = children(proxy.process.pid)
                os.kill(log, signal.SIGKILL)
                until(lambda: proxy.err.read_text().count("was started again") == number - 1)  # noqa: B023
                ask(number, "orders")
                ask(number + 10, "orders")
                until(lambda: proxy.rows()[-1].get("correlation_id") == number + 10)  # noqa: B023
        said = proxy.end(1)
    rows = [row for row in proxy.rows() if row["kind"] == "exchange"]
    assert [row["correlation_id"] for row in rows if row["client_id"] == {"base64": "b3JkZXL/"}] == [1]
    assert {12, 13} <= {row["correlation_id"] for row in rows if row["client_id"] == "orders"}
    assert "Traceback" not in said
    assert "the log has ended" not in said


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            continue
        if int(parent) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.long
def test_a_full_disk_for_packets_leaves_the_rows_and_ends_in_1(mock: str, tmp_path: Path) -> None:
    with Logged(mock, tmp_path, "-w", "/dev/full", "-o", "ndjson") as proxy:
        proxy.talk()
        said = proxy.end(1)
        rows = proxy.out.read_bytes().splitlines()
    assert said.count("the capture file: no space left on device; nothing more is written to it") == 1
    assert "did not finish" not in said
    assert len([row for row in rows if json.loads(row)["api"] == "Produce"]) > 0


@pytest.mark.long
def test_a_full_disk_for_rows_leaves_the_packets_and_ends_in_1(mock: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    with open("/dev/full", "wb") as full, Logged(mock, tmp_path, "-w", str(kept), stdout=full.fileno()) as proxy:
        proxy.talk()
        proxy.talk()
        said = proxy.end(1)
    assert said.count("standard output cannot be written: no space left on device; no more rows are written") == 1
    assert "the log has ended" not in said
    assert kept.stat().st_mode & 0o777 == 0o600
    produced = kw("sniff", str(kept), "--api", "Produce", "-o", "ndjson", "-q").out.splitlines()
    assert sum(json.loads(row)["request"]["topic_data"] != [] for row in produced) > 1


@pytest.mark.long
def test_without_anything_to_write_the_log_ends_and_so_does_the_proxy_in_1(mock: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full, Logged(mock, tmp_path, stdout=full.fileno()) as proxy:
        proxy.talk()
        proxy.talk()
        said = proxy.end(1)
    assert said.count("no more rows are written") == 1
    assert said.count("the log has ended; clients go on without it") == 1
    assert "did not finish" not in said


@pytest.mark.long
def test_no_log_at_all(mock: str, tmp_path: Path) -> None:
    with Logged(mock, tmp_path, "--no-log") as proxy:
        proxy.talk()
        assert "exchanges" not in proxy.end()
    assert proxy.out.read_bytes() == b""


@pytest.mark.long
def test_the_broker_of_a_row_is_where_the_proxy_listens(mock: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    with Logged(mock, tmp_path, "--advertise", "localhost", "-o", "ndjson", "-w", str(path), host="localhost") as proxy:
        proxy.talk()
        proxy.end()
    brokers = {row["broker"].rpartition(":")[0] for row in proxy.rows()}
    assert brokers == {"127.0.0.1"}
    read = [json.loads(line)["broker"] for line in kw("sniff", str(path), "-o", "ndjson").out.splitlines()]
    assert sorted(read) == sorted(row["broker"] for row in proxy.rows())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--rotate-size", "1MB"), "--rotate-size is for a capture file: it needs -w FILE.pcapng"),
        (("--record", "both"), "--record both is for a capture file: it needs -w FILE.pcapng"),
        (("-f", "api = Fetch"), "-f: "),
        (("-w", "/not/there/x.pcapng"), "/not/there/x.pcapng: no such file or directory"),
        (("-w", "x.pcapng", "--rotate-size", "3"), "invalid value for '--rotate-size': '3' is too little for a file"),
    ],
)
def test_what_is_asked_wrongly(mock: str, words: tuple[str, ...], text: str) -> None:
    outcome = kw("proxy", "-b", mock, "--port-base", str(port_base(3)), *words)
    assert outcome.code in (1, 2)
    assert outcome.err.startswith(f"kw: {text}")
    assert outcome.err.count("\n") == 1


@pytest.mark.long
def test_a_refused_request_names_the_option_that_refused_it(mock: str, tmp_path: Path) -> None:
    words = ("-o", "ndjson", "--as-kafka", "2.8", "--hide", "DescribeCluster")
    with Logged(mock, tmp_path, *words) as proxy:
        for frame in (request(FETCH, 13), request(DESCRIBE_CLUSTER, 0), request(API_VERSIONS, 5)):
            with socket.create_connection(("127.0.0.1", proxy.base), timeout=20) as client:
                client.sendall(frame)
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
        said = proxy.end()
    rows = {row["api"]: row for row in proxy.rows()}
    assert {name: (row["status"], row["refused"]["by"], row["refused"]["reason"]) for name, row in rows.items()} == {
        "Fetch": ("unanswered", "--as-kafka 2.8", "0 to 12 are served"),
        "DescribeCluster": ("unanswered", "--hide DescribeCluster", "is not served"),
        "ApiVersions": ("complete", "--as-kafka 2.8", "0 to 3 are served"),
    }
    valid = jsonschema.Draft202012Validator(SCHEMA)
    assert [error.message for row in rows.values() for error in valid.iter_errors(row)] == []
    assert "3 exchanges refused, as other brokers would (-f refused shows them)" in said
    shown = kw("sniff", str(proxy.out), "-o", "text", "-f", "refused ~ as-kafka and api == Fetch")
    assert (shown.out.count("Fetch 13"), shown.out.count("⚡ refused by --as-kafka 2.8 unanswered")) == (1, 1)
