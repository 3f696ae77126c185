"""`kw sniff -i … -w FILE --rotate-size --rotate-interval --keep`: a ring of files, each readable alone."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import decoders
from decoders.capture.pcapng_writer import PcapngWriter
from kwcli.capture_options import Rotation
from kwcli.reading.sinks.write_live_capture import PacketFile, open_packet_file
from kwcli.run_environment import Exit, Failure
from tests.cli.test_live import HEARTBEAT, frame, needs_capture_socket, read_frame
from tests.cli.worlds import kw, world, written

WRITER: Final = PcapngWriter(1, interface="lo")
SECOND: Final = 10**9
NAME: Final = re.compile(r"k_(\d{5,})_20(\d{12})\.pcapng")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.s = 1_767_225_600.0

    def ring(self, name: Path, rotation: Rotation) -> PacketFile:
        self.env = world()
        self.env.monotonic = lambda: self.s
        self.env.now_ns = lambda: int(self.s * SECOND)
        ring = open_packet_file(str(name), rotation, self.env)
        ring.write(WRITER.make_file_header())
        return ring

    @property
    def said(self) -> str:
        return written(self.env.stderr).decode()


def packet(number: int, size: int = 100) -> bytes:
    return WRITER.make_packet_block(number * SECOND, number.to_bytes(size, "big"))


def times(path: Path) -> list[int]:
    """The seconds of the packets in a file, which must be a complete capture."""
    from decoders.capture.find_cut_points import CutPointFinder

    walk = CutPointFinder()
    data = path.read_bytes()
    found = []
    for at in range(len(data)):
        walk.feed(data[at : at + 1])
        low = walk.mark_cut_point().low_ns
        found += [] if low is None else [low // SECOND]
    walk.finish()
    assert walk.problem is None
    return found


def files(folder: Path) -> list[Path]:
    """The files of a ring, sorted by name; all have a ring's name and mode 600."""
    found = sorted(folder.iterdir())
    assert all(NAME.fullmatch(path.name) for path in found)
    assert {path.stat().st_mode & 0o777 for path in found} <= {0o600}
    return found


def test_files_of_a_size(tmp_path: Path) -> None:
    """No file is larger than --rotate-size, and no packet is lost or split, in whatever portions packets arrive."""
    clock = Clock()
    ring = clock.ring(tmp_path / "k.pcapng", Rotation(size=1000))
    for first in range(0, 60, 6):
        ring.write(b"".join(map(packet, range(first, first + 6))))
        clock.s += 1
    ring.write(WRITER.make_statistics_block(0, received=60))
    ring.close()
    found = files(tmp_path)
    assert max(path.stat().st_size for path in found) <= 1000
    assert min(path.stat().st_size for path in found[:-1]) > 1000 - len(packet(0))
    assert [number for path in found for number in times(path)] == list(range(60))
    assert [NAME.fullmatch(path.name)[1] for path in found] == [f"{n + 1:05}" for n in range(len(found))]  # type: ignore[index]
    assert clock.said == ""


def test_a_packet_that_is_larger_has_a_file_of_its_own(tmp_path: Path) -> None:
    clock = Clock()
    ring = clock.ring(tmp_path / "k.pcapng", Rotation(size=1000))
    ring.write(packet(1) + packet(2, 5000) + packet(3))
    ring.close()
    assert [times(path) for path in files(tmp_path)] == [[1], [2], [3]]


def test_files_of_a_time(tmp_path: Path) -> None:
    """Files of ten seconds; a file without a packet stays open until one has come."""
    clock = Clock()
    ring = clock.ring(tmp_path / "k.pcapng", Rotation(interval_s=10.0))
    for second in range(100):
        ring.write(packet(second) if second in (31, 32, 33, 60, 99) else b"")
        clock.s += 1
    ring.write(WRITER.make_statistics_block(0, received=5))
    ring.close()
    found = files(tmp_path)
    assert [times(path) for path in found] == [[31], [32, 33], [60], [99]]
    assert [path.stem[-6:] for path in found] == ["000000", "000032", "000100", "000139"]


def test_the_latest_are_kept_those_of_earlier_runs_among_them(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("k.pcapng", "kk_00001_20260101000000.pcapng", "k_00001_20260101000000.pcap", "k_1_2.pcapng"):
        (other / name).write_bytes(b"not of the ring")
    mine = sorted(path.name for path in other.iterdir())
    clock = Clock()
    for run in range(3):
        ring = clock.ring(other / "k.pcapng", Rotation(size=1000, keep=2))
        for number in range(run * 20, run * 20 + 20):
            ring.write(packet(number))
        ring.close()
        clock.s += 1
        found = sorted(path for path in other.iterdir() if path.name not in mine)
        assert len(found) == 2
        assert times(found[-1])[-1] == run * 20 + 19
    assert sorted(path.name for path in other.iterdir() if path not in found) == mine


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no such file or directory"):
        open_packet_file(str(tmp_path / "nothing" / "k.pcapng"), Rotation(size=1000), world())


def test_a_file_that_cannot_be_begun_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    ring = clock.ring(tmp_path / "k.pcapng", Rotation(size=1000))
    ring.write(packet(1))

    def refuse(*_words: Any, **_named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("builtins.open", refuse)
    for number in range(2, 40):
        ring.write(packet(number))
    ring.close()
    assert clock.said.count("\n") == 1
    assert "no space left on device; nothing more is written to it" in clock.said
    assert ring.failed


@contextlib.contextmanager
def serving() -> Iterator[socket.socket]:
    """A client's socket to a server that answers heartbeats."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            while len(head := peer.recv(4, socket.MSG_WAITALL)) == 4:
                request = decoders.decode_request(peer.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
                peer.sendall(frame(decoders.encode_response(12, 4, {}, correlation_id=request.correlation_id)))

    thread = threading.Thread(target=answer)
    thread.start()
    with listener, socket.create_connection(listener.getsockname()) as client:
        yield client
        client.shutdown(socket.SHUT_WR)
        thread.join()


def heartbeats(client: socket.socket, count: int, *, size: int = 0, pause_s: float = 0.0) -> list[int]:
    """Send `count` heartbeats, and give their correlation ids."""
    request = HEARTBEAT | {"member_id": "m" * size}
    for number in range(count):
        client.sendall(frame(decoders.encode_request(12, 4, request, correlation_id=number, client_id="live")))
        read_frame(client)
        time.sleep(pause_s)
    return list(range(count))


@pytest.mark.long
@pytest.mark.one_in(2)
@needs_capture_socket
@pytest.mark.parametrize("limit", [None, 30_000])
def test_a_ring_is_followed_while_it_is_written_and_a_full_disk_ends_with_1(tmp_path: Path, limit: int | None) -> None:
    """`limit` is RLIMIT_FSIZE: below the rotation size, it makes the live run fail as a full disk does."""
    from tests.cli.test_following import running

    def full() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    path = str(tmp_path / "k.pcapng")
    with serving() as client, running("sniff", path, "--follow", "-o", "ndjson") as follower:
        port = str(client.getpeername()[1])
        words = ["-i", "lo", "--port", port, "--bpf", f"port {port}", "-o", "ndjson", "-w", path]
        unlimited = {"env": {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}}  # byte code would be cut at the limit
        with running("sniff", *words, "--rotate-size", "50kB", preexec_fn=full, **unlimited) as live:
            assert live.stdout is not None
            assert live.stderr is not None
            assert live.stderr.readline() == b"kw: listening on lo; Ctrl-C ends\n"
            sent = heartbeats(client, 40, size=5000)
            for number in sent:
                assert json.loads(live.stdout.readline())["correlation_id"] == number
            live.send_signal(signal.SIGINT)
            said = live.stderr.read()
            live.wait()
        assert follower.stdout is not None
        if limit is not None:
            assert live.returncode == Exit.FAILURE
            assert said.count(b"file too large; nothing more is written to it\n") == 1
            follower.send_signal(signal.SIGINT)
            follower.communicate()
            return
        assert live.returncode == Exit.INTERRUPTED
        for number in sent:
            assert json.loads(follower.stdout.readline())["correlation_id"] == number
        follower.send_signal(signal.SIGINT)
        follower.communicate()
        assert follower.returncode == Exit.INTERRUPTED
    assert len(files(tmp_path)) > 3
    again = kw("sniff", str(tmp_path), "-q")
    assert [json.loads(row)["correlation_id"] for row in again.out.splitlines()] == sent
