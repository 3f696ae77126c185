"""`python -m tests.bench.browse [--sizes 1000,5000]`: what somebody waits for on the screen of `kw browse`.

Captures of so many MB, the first one also as .zst, are made in the folder of temporary files, which is removed. Each is
opened on a terminal of 80 columns and 24 lines. Measured are the time to
the first row on the screen, and to the last one in the list; the time from a key to what it changes, while the reading
goes on and behind it; the memory of each process; the spool on disk. Promised are a first row within 1 s, a key within
50 ms, 300 MB in all. The machine should be quiet: a process reads, one searches, one draws.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from struct import pack
from typing import Final, NamedTuple

from tests.bench import volume

PROMISED_FIRST_S: Final = 1.0
PROMISED_KEY_MS: Final = 50.0
PROMISED_MB: Final = 300.0
_CODE: Final = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")
_LINES, _COLUMNS = 24, 80
_PATIENCE_S: Final = 60.0


class Seen(NamedTuple):
    """What was measured on one capture."""

    first_s: float
    first_cpu_s: float
    last_s: float
    keys_ms: list[float]
    later_ms: list[float]
    memory_mb: list[float]
    rows: int


class Screen:
    """`kw browse FILE` on a terminal."""

    def __init__(self, *words: str) -> None:
        self.began_s = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execv(sys.executable, [sys.executable, "-m", "kwcli", "browse", *words])
        import fcntl

        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, pack("HHHH", _LINES, _COLUMNS, 0, 0))

    def read_output(self, limit_s: float) -> bytes:
        """What is drawn within a time, up to a pause of 20 ms."""
        found = b""
        wait_s = limit_s
        while select.select([self.terminal], [], [], wait_s)[0]:
            try:
                found += os.read(self.terminal, 1 << 16)
            except OSError:
                break
            wait_s = 0.02
        return found

    def wait_for(self, pattern: bytes) -> re.Match[bytes]:
        """Wait until a text is drawn."""
        end = time.perf_counter() + _PATIENCE_S
        drawn = b""
        while time.perf_counter() < end:
            drawn = (drawn + _CODE.sub(b"", self.read_output(0.05)))[-100_000:]
            if found := re.search(pattern, drawn):
                return found
        raise AssertionError(f"{pattern!r} was not drawn: {drawn[-2000:]!r}")

    def time_key(self, key: bytes, shown: bytes) -> float:
        """Milliseconds from a key to a text that it draws."""
        self.read_output(0)
        began = time.perf_counter()
        os.write(self.terminal, key)
        drawn = b""
        while time.perf_counter() - began < 10:
            if select.select([self.terminal], [], [], 0.005)[0]:
                drawn += os.read(self.terminal, 1 << 16)
                if shown in _CODE.sub(b"", drawn):
                    return (time.perf_counter() - began) * 1000
        return 10_000.0

    def peak_memory_mb(self) -> list[float]:
        """The peak memory of each process: screen, then reader and searcher."""
        children = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True, check=False).stdout
        return [read_peak_mb(int(pid)) for pid in (str(self.pid), *children.split())]

    def close(self) -> None:
        """Quit."""
        os.write(self.terminal, b"Q")
        end = time.perf_counter() + 10
        while time.perf_counter() < end and not os.waitpid(self.pid, os.WNOHANG)[0]:
            self.read_output(0.05)
        os.close(self.terminal)


def read_peak_mb(pid: int) -> float:
    """The largest resident set of a process, shared pages of its fork included."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


def read_cpu_s(pid: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(path: Path) -> Seen:
    """Open a capture, press keys while it is read, and wait for its end."""
    screen = Screen(str(path))
    try:
        screen.wait_for(rb"\d\d:\d\d:\d\d\.\d\d\d")
        first_s = time.perf_counter() - screen.began_s
        first_cpu_s = read_cpu_s(screen.pid)
        keys: list[float] = []
        number = 1
        for _ in range(30):
            number += 1
            keys.append(screen.time_key(b"j", f" {number} of".encode()))
            time.sleep(0.05)
        memory = screen.peak_memory_mb()
        while not has_read_all(screen.pid):
            screen.read_output(0.05)
            memory = [max(pair) for pair in zip(memory, screen.peak_memory_mb(), strict=True)]
        last_s = time.perf_counter() - screen.began_s
        os.write(screen.terminal, b"G")
        rows = int(screen.wait_for(rb"(?<![\d,])([\d,]+) of \1(?=\d\d:\d\d:|(?![\d,]))")[1].replace(b",", b""))
        os.write(screen.terminal, b"g")
        screen.wait_for(rb" 1 of ")
        number = 1
        later = []
        for _ in range(30):
            number += 1
            later.append(screen.time_key(b"j", f" {number} of".encode()))
            time.sleep(0.02)
        memory = [max(pair) for pair in zip(memory, screen.peak_memory_mb(), strict=True)]
        return Seen(first_s, first_cpu_s, last_s, keys, later, memory, rows)
    finally:
        screen.close()


def has_read_all(pid: int) -> bool:
    """Whether the reader has ended: two processes are left then, and one that nobody has waited for."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return any(Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[0] == "Z" for each in found)


def report(title: str, seen: Seen) -> None:
    """Print what was measured, beside what is promised."""

    def judge(value: float, promised: float) -> str:
        return "" if value <= promised else f"  (promised: {promised:g})"

    keys, later = sorted(seen.keys_ms), sorted(seen.later_ms)
    print(f"{title}: {seen.rows:,} rows")
    print(f"  first row       {seen.first_s:8.2f} s{judge(seen.first_s, PROMISED_FIRST_S)}")
    print(f"  its screen's CPU{seen.first_cpu_s:7.2f} s")
    print(f"  last row        {seen.last_s:8.2f} s")
    for name, times in (("key, reading", keys), ("key, later", later)):
        median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
        print(f"  {name:<15} {median:8.1f} ms median, {p95:.1f} ms p95{judge(median, PROMISED_KEY_MS)}")
    total = sum(seen.memory_mb)
    each = ", ".join(f"{part:.0f}" for part in seen.memory_mb)
    print(f"  memory          {total:8.0f} MB ({each}){judge(total, PROMISED_MB)}")


def main() -> None:
    """Make the captures, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,5000", help="MB of the captures")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="kw-browse-"))
    try:
        for size in sizes:
            plain = folder / "large.pcap"
            volume.write(plain, size * 1_000_000)
            report(f"{size} MB plain", measure(plain))
            if size == sizes[0]:
                packed = folder / "large.pcap.zst"
                compress(plain, packed)
                report(f"{size} MB as .zst ({packed.stat().st_size / 1e6:.0f} MB)", measure(packed))
                packed.unlink()
            plain.unlink()
    finally:
        shutil.rmtree(folder)


def compress(path: Path, into: Path) -> None:
    """Compress a file with zstd."""
    import zstandard

    with path.open("rb") as source, into.open("wb") as target:
        zstandard.ZstdCompressor(level=3).copy_stream(source, target)


if __name__ == "__main__":
    main()
