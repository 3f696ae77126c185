"""Live captures on the loopback interface: rows as they settle, an end by Ctrl-C, packets kept, remedies for errors."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import decoders
from decoders.capture.read_capture import CaptureReader
from kwcli.reading.live_capture import KernelFilter, LiveCapture
from kwcli.run_environment import Environment, Exit
from tests.cli.bpf_machine import libpcap
from tests.cli.worlds import kw

ROOT = Path(__file__).resolve().parents[2]
HEARTBEAT = {"group_id": "billing", "generation_id": 1, "member_id": "m-1"}


def may_capture() -> bool:
    """Whether this process may open a capture socket."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except OSError:
        return False
    return True


needs_capture_socket = pytest.mark.skipif(sys.platform != "linux" or not may_capture(), reason="needs a capture socket")


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def read_frame(sock: socket.socket) -> bytes:
    size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    return sock.recv(size, socket.MSG_WAITALL)


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    """A client's socket to a server that answers heartbeats."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            while len(head := peer.recv(4, socket.MSG_WAITALL)) == 4:
                request = decoders.decode_request(peer.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
                answer = decoders.encode_response(12, 4, {}, correlation_id=request.correlation_id)
                peer.sendall(frame(answer))

    thread = threading.Thread(target=answer)
    thread.start()
    with listener, socket.create_connection(listener.getsockname()) as client:
        yield client
        client.shutdown(socket.SHUT_WR)
        thread.join()


@needs_capture_socket
def test_rows_come_as_they_settle(broker: socket.socket, tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    port = str(broker.getpeername()[1])
    words = [sys.executable, "-m", "kwcli.main", "sniff", "-i", "lo", "--port", port, "--bpf", f"port {port}"]
    words += ["-o", "ndjson", "-w", str(kept)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"kw: listening on lo; Ctrl-C ends\n"
        waited: list[float] = []
        for number in range(5):
            broker.sendall(frame(decoders.encode_request(12, 4, HEARTBEAT, correlation_id=number, client_id="live")))
            assert decoders.decode_response(read_frame(broker), 12, 4).correlation_id == number
            settled = time.monotonic()
            row = json.loads(process.stdout.readline())
            waited.append(time.monotonic() - settled)
            assert (row["api"], row["correlation_id"], row["request"]["group_id"]) == ("Heartbeat", number, "billing")
        assert min(waited) < 1.0
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()
        assert process.returncode == Exit.INTERRUPTED
        assert b"Heartbeat" not in rest
        assert b"5 exchanges, 1 client, 1 broker" in err
        assert b" dropped by the kernel" in err
    assert kept.stat().st_mode & 0o777 == 0o600
    again = kw("sniff", str(kept), "--port", port, "-q")
    assert again.code == Exit.DONE
    assert [json.loads(line)["correlation_id"] for line in again.out.splitlines()] == [0, 1, 2, 3, 4]


def test_an_interface_that_is_not_there(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("older")
    outcome = kw("sniff", "-i", "nope0", "-w", str(there))
    assert there.read_text() == "older"
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith("kw: nope0: no such interface (there are: ")
    assert outcome.err.count("\n") == 1


def test_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    import scapy.arch

    def refuse(*_words: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(scapy.arch, "get_if_list", lambda: ["lo"])
    monkeypatch.setattr("kwcli.reading.live_capture.socket.socket", refuse)
    outcome = kw("sniff", "-i", "lo")
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith("kw: lo: no permission to capture; run as root, or: sudo setcap cap_net_raw+eip ")
    assert outcome.err.count("\n") == 1


@needs_capture_socket
def test_packets_that_cannot_be_kept_are_told_and_rows_go_on(broker: socket.socket) -> None:
    port = str(broker.getpeername()[1])
    words = [sys.executable, "-m", "kwcli.main", "sniff", "-i", "lo", "--port", port, "-w", "/dev/full", "-o", "ndjson"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.readline()
        large = HEARTBEAT | {"member_id": "m" * 20_000}  # more than is buffered in memory
        for number in range(3):
            broker.sendall(frame(decoders.encode_request(12, 4, large, correlation_id=number, client_id="live")))
            read_frame(broker)
            assert json.loads(process.stdout.readline())["correlation_id"] == number
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()  # communicate() would lose bytes that were read ahead of a line
    assert process.returncode == Exit.FAILURE
    assert err.count(b"kw: /dev/full: no space left on device; nothing more is written to it\n") == 1
    assert b"3 exchanges, 1 client, 1 broker" in err


@needs_capture_socket
def test_a_kernel_filter_that_is_none() -> None:
    outcome = kw("sniff", "-i", "lo", "--bpf", "tcp prt 9092")
    assert outcome.code == Exit.USAGE
    assert outcome.err.startswith("kw: --bpf 'tcp prt 9092': ")
    assert outcome.err.count("\n") == 1


def without_libpcap(*_words: Any) -> None:
    raise ImportError("libpcap is not available. Cannot compile filter !")


@needs_capture_socket
@pytest.mark.parametrize(
    ("bpf", "line"),
    [
        ("tcp[13] & 2 != 0", "--bpf 'tcp[13] & 2 != 0': 'tcp[13]' needs libpcap (Debian: apt install libpcap0.8); "),
        ("port 70000", "--bpf 'port 70000': 70000 is no port: they end at 65535\n"),
        ("(tcp", "--bpf '(tcp': a bracket that is not closed\n"),
        ("host name.invalid", "--bpf: name.invalid: "),
        ("host a..b", "--bpf: 'a..b' is no name of a host\n"),
        ("port \udcff", "--bpf 'port \\udcff': "),
        ("(" * 400 + "tcp" + ")" * 400, "--bpf: the expression is too long, or has too many brackets\n"),
        (" or ".join(["port 1"] * 3000), "--bpf: the expression is too long, or has too many brackets\n"),
    ],
)
def test_without_libpcap_its_language_is_smaller(bpf: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy.arch.common.compile_filter", without_libpcap)
    outcome = kw("sniff", "-i", "lo", "--bpf", bpf)
    assert outcome.code == Exit.USAGE
    assert outcome.err.startswith(f"kw: {line}")
    assert outcome.err.count("\n") == 1


@needs_capture_socket
@pytest.mark.parametrize("interface", ["lo", "any"])
@pytest.mark.parametrize("bpf", [None, "host 127.0.0.1 and (port {} or portrange 1-2)", "tcp[0:2] != 0"])
def test_the_kernel_lets_through_what_was_asked_for(
    bpf: str | None, interface: str, broker: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own count: under traffic of another port, it took the packets that came through, and no others."""
    port = broker.getpeername()[1]
    if bpf is None or "[" not in bpf:
        monkeypatch.setattr("scapy.arch.common.compile_filter", without_libpcap)
    elif libpcap() is None:
        pytest.skip("needs libpcap")
    ports = [port] if bpf is None or "[" in bpf else []
    capture = LiveCapture(interface, KernelFilter(ports, bpf and bpf.format(port)), Environment.of_process())
    with socket.create_server(("127.0.0.1", 0)) as other:
        for number in range(20):
            socket.create_connection(other.getsockname()).close()
            broker.sendall(frame(decoders.encode_request(12, 4, HEARTBEAT, correlation_id=number, client_id="live")))
            read_frame(broker)
    stream = capture.stream_pcapng()
    reader = CaptureReader()
    segments = reader.feed(next(stream))
    while piece := next(stream):
        segments += reader.feed(piece)
    capture.close()
    assert capture.received == len(segments) >= 40
    assert {port} <= {int.from_bytes(segment[0][-4:-2], "big") for segment in segments}
    assert all(port.to_bytes(2, "big") in (segment[0][-4:-2], segment[0][-2:]) for segment in segments)


@needs_capture_socket
def test_a_file_to_keep_packets_in_that_cannot_be(tmp_path: Path) -> None:
    outcome = kw("sniff", "-i", "lo", "-w", str(tmp_path / "no" / "x.pcapng"))
    assert (outcome.code, outcome.err) == (Exit.FAILURE, f"kw: {tmp_path}/no/x.pcapng: no such file or directory\n")


def test_a_slow_pipe_shows_rows_as_they_settle() -> None:
    """`tcpdump -w - | kw sniff -` shows rows before the pipe is at its end."""
    data = (ROOT / "captures" / "first-steps.pcapng").read_bytes()
    reading, writing = os.pipe()
    words = [sys.executable, "-m", "kwcli.main", "sniff", "-", "-q", "-o", "ndjson"]
    with subprocess.Popen(words, cwd=ROOT, stdin=reading, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.close(reading)
        os.write(writing, data[:60_000])
        assert json.loads(process.stdout.readline())["kind"] == "exchange"
        os.close(writing)
        process.communicate()
        assert process.returncode == Exit.FAILURE  # the capture was cut
