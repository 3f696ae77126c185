"""`python -m tests.bench.watch [--minutes 30] [--rate 20] [--file 50] [-- WORDS]`: a watch of a ring that never ends.

Writes a ring of captures at `--rate` MB a second, in files of `--file` MB, packets with the time at which they are
written, while `kw pipeline watch` (WORDS are more of its options) decodes it; old files of the ring are deleted. Prints
the amount written, CPU seconds for each MB and how long the watch waited for a core, freshness (the time from a packet
to its row in the tables, of all rows; and from the end of a file to its last row), lag, batches, and memory over time,
by process. Ends with 1 where a file was lost, where rows are not as many as were written, where a row was older than 15
s, or where the memory of the last quarter is more than a tenth above that of the second one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow.parquet as pq

from kwcli.pipeline.store.finish_commits import COMMITS, read_newest_commit
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.watch.track_captures import TrackedFile
from tests.bench.traffic import PORT
from tests.bench.tree import ROLES
from tests.bench.volume import write
from tests.pipeline.odd import packets

FRESH_S: Final = 15.0
FLAT: Final = 1.1
RING: Final = 20
# Seconds between two writes, and two looks.
STEP_S: Final = 0.1
MEMORY_S: Final = 2.0
# The source address in a record of Ethernet; the target address follows.
_IP: Final = 16 + 14 + 12
_PORT: Final = _IP + 8
_STAMP: Final = struct.Struct("<II")
_BATCH: Final = re.compile(rb"in ([\d.]+) s; ")


class Template:
    """A capture that is written again and again, each time later and by other clients."""

    def __init__(self, size: int, folder: Path) -> None:
        path = folder / "template.pcap"
        self.exchanges = write(path, size, connections=40).exchanges
        data = path.read_bytes()
        path.unlink()
        self.header = data[:24]
        self.size = len(data) - 24
        self._records = [bytearray(record) for record in packets(data)]
        broker = PORT.to_bytes(2, "big")
        self._clients = [
            (record, _IP + 4 * side)
            for record in self._records
            for side in (0, 1)
            if record[_PORT + 2 * side : _PORT + 2 * side + 2] != broker
        ]

    def slices(self, number: int, step: int) -> Iterator[bytes]:
        """All records in blocks of about `step` bytes, stamped with the time at which each block is asked for."""
        # New clients for each file: repeated ones would look like retransmissions, since sequence numbers repeat.
        own = number.to_bytes(2, "big")
        for record, at in self._clients:
            record[at + 1 : at + 3] = own
        some: list[bytearray] = []
        size = 0
        for record in self._records:
            some.append(record)
            size += len(record)
            if size >= step:
                yield _stamped(some)
                some, size = [], 0
        yield _stamped(some)


def _stamped(records: list[bytearray]) -> bytes:
    now = _STAMP.pack(*divmod(time.time_ns() // 1000, 10**6))
    for record in records:
        record[:8] = now
    return b"".join(records)


@dataclass
class Seen:
    """Observations of a watch; `fresh` counts rows by tenths of a second from packet to row."""

    files: OutputFolder
    closed: dict[str, float] = field(default_factory=dict)  # names → end of writing, until its last row is there
    ends: list[float] = field(default_factory=list)
    fresh: Counter[int] = field(default_factory=Counter)
    lags: list[int] = field(default_factory=list)
    memory: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    _commits: list[str] = field(default_factory=list)
    _paths: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Record the rows that a new commit has brought."""
        commits = self.files.list_names(COMMITS)
        if commits == self._commits:
            return
        value: dict[str, Any] | None = read_newest_commit(self.files)
        if value is None:
            return
        now_s, now_ns = time.monotonic(), time.time_ns()
        for path in value["sizes"].keys() - self._paths:
            if path.startswith("exchanges/"):
                if not self.files.exists(path):
                    return  # the file is being renamed: try again soon
                for at in pq.read_table(self.files.full_path(path), columns=["time_ns"])["time_ns"].to_pylist():
                    self.fresh[(now_ns - at) // 10**8] += 1
            self._paths.add(path)
        self._commits = commits
        behind = 0
        for file in (TrackedFile.from_row(row) for row in value["watch"]["captures"]["files"]):
            name = os.path.basename(file.path)
            try:
                size = os.stat(file.path).st_size
            except FileNotFoundError:
                continue
            behind += size - file.at
            if name in self.closed and file.at >= size:
                self.ends.append(now_s - self.closed.pop(name))
        self.lags.append(behind)

    def quantile(self, share: float) -> float:
        """The seconds within which a share of the rows was there."""
        rows = sorted(self.fresh.elements())
        return (rows[int(share * (len(rows) - 1))] + 1) / 10


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Write captures and watch them; returns whether all requirements are met."""
    source, out = folder / "in", folder / "out"
    source.mkdir()
    template = Template(int(options.file * 1e6), folder)
    command = [sys.executable, "-m", "kwcli.main", "pipeline", "watch", str(source), "--out", str(out), "-v"]
    log = folder / "said"
    seen = Seen(OutputFolder(str(out)))
    with log.open("wb") as said, subprocess.Popen([*command, *options.words], stdout=said, stderr=said) as process:
        begun = time.monotonic()
        number = 0
        due = begun
        while time.monotonic() - begun < options.minutes * 60:
            path = source / f"dump{number:06}.pcap"
            with path.open("wb") as file:
                file.write(template.header)
                for data in template.slices(number, int(options.rate * 1e6 * STEP_S)):
                    file.write(data)
                    file.flush()
                    due += len(data) / (options.rate * 1e6)
                    if process.poll() is not None:
                        raise SystemExit(f"the watch has ended: {log.read_text()}")
                    seen.look()
                    _remember(seen, begun, process.pid)
                    time.sleep(max(due - time.monotonic(), 0))
            seen.closed[path.name] = time.monotonic()
            number += 1
            if number > RING:
                (source / f"dump{number - RING - 1:06}.pcap").unlink()
        took = time.monotonic() - begun
        while seen.closed and time.monotonic() - begun < took + 60:
            seen.look()
            time.sleep(STEP_S)
        cpu, waited = _cpu_s(process.pid)
        process.terminate()
        process.wait(60)
    words = log.read_bytes()
    lost = words.count(b"are lost") + len(seen.closed)
    written, rows = template.size * number / 1e6, template.exchanges * number
    print(f"{written:,.0f} MB in {took:.0f} s: {written / took:.1f} MB/s, {number} files, {lost} lost")
    print(f"CPU {cpu:.0f} s: {cpu / written * 1000:.1f} ms for a MB, {cpu / took:.2f} cores; {waited:.0f} s for a core")
    print(
        f"from a packet to its row, {seen.fresh.total():,} rows of {rows:,}: median {seen.quantile(0.5):.1f} s,"
        f" p99 {seen.quantile(0.99):.1f} s, at most {seen.quantile(1):.1f} s"
    )
    print(f"from the end of a file to its last row: median {median(seen.ends):.1f} s, at most {max(seen.ends):.1f} s")
    print(f"bytes that wait: median {median(seen.lags) / 1e6:.1f} MB, at most {max(seen.lags) / 1e6:.1f} MB")
    batches = sorted(float(found) for found in _BATCH.findall(words))
    print(f"{len(batches)} batches: median {median(batches):.1f} s, at most {batches[-1]:.1f} s")
    flat = [_memory_line(role, seen.memory) for role in sorted({role for _, one in seen.memory for role in one})]
    return not lost and seen.fresh.total() == rows and seen.quantile(1) <= FRESH_S and all(flat)


def _memory_line(role: str, memory: list[tuple[float, dict[str, float]]]) -> bool:
    """Print the memory of a role; returns whether it did not grow."""
    size = max(len(memory) // 8, 1)
    parts = [max(one.get(role, 0.0) for _, one in memory[at : at + size]) for at in range(0, len(memory), size)][:8]
    print(f"memory of {role}: {', '.join(f'{part:.0f}' for part in parts)} MB, each the most of an eighth of the time")
    return max(parts[6:], default=0.0) <= FLAT * max(parts[2:4], default=parts[-1])


def _remember(seen: Seen, begun: float, pid: int) -> None:
    at = time.monotonic() - begun
    if not seen.memory or at - seen.memory[-1][0] >= MEMORY_S:
        seen.memory.append((at, _memory_mb(pid)))


def process_tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def _memory_mb(pid: int) -> dict[str, float]:
    """Memory in MB of all processes below one, by role."""
    total: Counter[str] = Counter()
    for one in process_tree(pid):
        try:
            words = Path(f"/proc/{one}/cmdline").read_text(errors="replace")
            pages = int(Path(f"/proc/{one}/statm").read_text().split()[1])
        except OSError:
            continue
        role = next((role for word, role in ROLES if one != pid and word in words), "kw")
        total[role] += pages * os.sysconf("SC_PAGE_SIZE")
    return {role: size / 1e6 for role, size in total.items()}


def _cpu_s(pid: int) -> tuple[float, float]:
    """CPU seconds of a process and all its descendants, and seconds that its first thread waited for a core."""
    total = 0.0
    for one in process_tree(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total, int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="MB a second")
    parser.add_argument("--file", type=float, default=50.0, help="MB of a file")
    parser.add_argument("words", nargs="*", help="more options of the watch, behind --")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kw-watch-"))
    try:
        return 0 if soak(options, folder) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
