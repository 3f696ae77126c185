"""`python -m tests.bench.watch [--minutes 30] [--rate 20] [--file 50]`: `kw pipeline watch` of a ring that never ends.

Writes a ring of captures at so many MB a second, each file of so many MB, and watches it meanwhile; old files of the
ring are deleted. Prints what was written, CPU seconds for each MB, lag, how long after a file was closed its last row
was committed, and the memory of the watch over time. Ends with 1 where a file was lost, where freshness exceeds 15 s,
or where the memory of the last quarter is more than a tenth above that of the second one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from kwcli.pipeline.store.commits import newest_commit
from kwcli.pipeline.store.files import OutputFolder
from kwcli.pipeline.watch.captures import TrackedFile
from tests.bench.volume import write
from tests.pipeline.odd import packets

# A pass over the template has clients of its own: so many passes until a client comes again.
PASSES: Final = 250
FRESH_S: Final = 15.0
FLAT: Final = 1.1
RING: Final = 20
_IP: Final = 16 + 14 + 12  # of the source, in a record of Ethernet


class Template:
    """A capture that is written again and again, each time later and by other clients."""

    def __init__(self, size: int, folder: Path) -> None:
        path = folder / "template.pcap"
        write(path, size, connections=40)
        data = path.read_bytes()
        path.unlink()
        self.header = data[:24]
        self._records = [bytearray(record) for record in packets(data)]
        self._begin = struct.unpack_from("<II", self._records[0])[0]
        last = struct.unpack_from("<II", self._records[-1])[0]
        self._span = last - self._begin + 1
        self._client = self._records[0][_IP : _IP + 4]

    def bytes_of(self, number: int, now_s: int) -> bytes:
        """All records, as if they came at this time."""
        other = bytes([*self._client[:2], number % PASSES, self._client[3]])
        for record in self._records:
            seconds = struct.unpack_from("<I", record)[0]
            struct.pack_into("<I", record, 0, now_s + (seconds - self._begin) % self._span)
            for at in (_IP, _IP + 4):
                if record[at : at + 2] == self._client[:2] and record[at + 3] == self._client[3]:
                    record[at + 2] = other[2]
        self._begin = now_s
        return b"".join(self._records)


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Write and watch; whether all was well."""
    source, out = folder / "in", folder / "out"
    source.mkdir()
    template = Template(int(options.file * 1e6), folder)
    command = [sys.executable, "-m", "kwcli.main", "pipeline", "watch", str(source), "--out", str(out), "-v"]
    command += ["--master", options.master] if options.master else []
    log = folder / "said"
    closed: dict[str, float] = {}
    fresh: list[float] = []
    memory: list[tuple[float, float]] = []
    lags: list[float] = []
    files = OutputFolder(str(out))
    with log.open("wb") as said, subprocess.Popen(command, stderr=said) as process:
        begun = time.monotonic()
        number, written = 0, 0
        due = begun
        while time.monotonic() - begun < options.minutes * 60:
            data = template.bytes_of(number, int(time.time()))
            path = source / f"dump{number:06}.pcap"
            place = 0
            with path.open("wb") as file:
                file.write(template.header)
                while place < len(data):  # a tenth of a second at a time
                    step = int(options.rate * 1e5)
                    file.write(data[place : place + step])
                    file.flush()
                    place += step
                    due += 0.1
                    time.sleep(max(due - time.monotonic(), 0))
            written += len(data)
            closed[path.name] = time.monotonic()
            _look(files, closed, fresh, lags)
            memory.append((time.monotonic() - begun, _memory_mb(process.pid)))
            number += 1
            if number > RING:
                (source / f"dump{number - RING - 1:06}.pcap").unlink()
        took = time.monotonic() - begun
        while closed and time.monotonic() - begun < took + 60:
            _look(files, closed, fresh, lags)
            time.sleep(0.2)
        cpu = _cpu_s(process.pid)
        process.terminate()
        process.wait(60)
    lost = log.read_bytes().count(b"are lost") + len(closed)
    second, last = _quarter(memory, 1), _quarter(memory, 3)
    print(f"{written / 1e6:,.0f} MB in {took:.0f} s: {written / 1e6 / took:.1f} MB/s, {number} files, {lost} lost")
    print(f"CPU {cpu:.0f} s: {cpu / (written / 1e6) * 1000:.1f} ms for a MB, {cpu / took:.2f} cores")
    print(f"fresh behind the end of a file: {median(fresh):.1f} s, at most {max(fresh):.1f} s")
    print(f"bytes that wait: {median(lags) / 1e6:.1f} MB, at most {max(lags) / 1e6:.1f} MB")
    print(f"memory: {second:.0f} MB in the second quarter, {last:.0f} MB in the last ({last / second:.2f})")
    return not lost and max(fresh) <= FRESH_S and last <= second * FLAT


def _look(files: OutputFolder, closed: dict[str, float], fresh: list[float], lags: list[float]) -> None:
    """Which files are committed to their end."""
    value: dict[str, Any] | None = newest_commit(files)
    if value is None:
        return
    now = time.monotonic()
    rows = [TrackedFile.of_row(row) for row in value["watch"]["captures"]["files"]]
    behind = 0
    for file in rows:
        name = os.path.basename(file.path)
        try:
            size = os.stat(file.path).st_size
        except FileNotFoundError:
            continue
        behind += size - file.at
        if name in closed and file.at >= size:
            fresh.append(now - closed.pop(name))
    lags.append(behind)


def _tree(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def _memory_mb(pid: int) -> float:
    total = 0
    for one in _tree(pid):
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total / 1e6


def _cpu_s(pid: int) -> float:
    total = 0.0
    for one in _tree(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _quarter(memory: list[tuple[float, float]], which: int) -> float:
    size = max(len(memory) // 4, 1)
    return max(mb for _, mb in memory[which * size : (which + 1) * size] or memory[-1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="MB a second")
    parser.add_argument("--file", type=float, default=50.0, help="MB of a file")
    parser.add_argument("--master", help="on Spark")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kw-watch-"))
    try:
        return 0 if soak(options, folder) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
