"""`python -m tests.bench.sniff`: kw against tshark on the same capture in the same run, CPU seconds and peak memory.

One process of each (`--jobs 1`; several: `tests.bench.jobs`). Prints each ratio beside the minimum and the aim; needs
tshark on the PATH. `--capture FILE` measures one's own capture.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.process import Cost, best

PROFILES = ("small", "mixed", "big")
SNIFF = [sys.executable, "-m", "kwcli.main", "sniff", "--jobs", "1"]
KAFKA = ["-d", "tcp.port==9092,kafka"]
FIELDS = ["frame.time_epoch", "ip.src", "kafka.api_key", "kafka.correlation_id", "kafka.client_id", "kafka.topic_name"]
COMMANDS: dict[str, list[str]] = {
    "kw text": [*SNIFF, "-o", "text"],
    "kw ndjson": [*SNIFF, "-o", "ndjson"],
    "kw ndjson --records": [*SNIFF, "-o", "ndjson", "--records"],
    "tshark one-liners": ["tshark", *KAFKA, "-r"],
    "tshark -T fields": ["tshark", *KAFKA, "-T", "fields", *(w for f in FIELDS for w in ("-e", f)), "-r"],
    "tshark -T json": ["tshark", *KAFKA, "-T", "json", "-r"],
}
# The comparisons, their profiles, and the figures to reach.
RATIOS = (
    ("kw text", "tshark -T fields", ("small",), 4.0, 5.0),
    ("kw ndjson --records", "tshark -T json", ("small", "mixed", "big"), 15.0, 20.0),
)
PEAK_MB = (100, 80)


def captures(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Path]]:
    if options.capture:
        yield "own", options.capture
        return
    for profile in options.profile:
        path = folder / f"{profile}.pcap"
        made = [sys.executable, "-m", "tests.bench.traffic", profile, str(path), str(options.size << 20)]
        count, size = map(int, subprocess.run(made, check=True, capture_output=True, text=True).stdout.split())
        print(f"{profile}: {count:,} exchanges, {size / 1e6:,.0f} MB")
        yield profile, path


def measure(path: Path, runs: int) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    for name, command in COMMANDS.items():
        costs[name] = cost = best([*command, str(path)], runs=runs)
        state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
        print(f"  {name:22} {cost.cpu_s:8.2f} s CPU {cost.wall_s:8.2f} s wall {cost.peak_mb:7.0f} MB{state}")
    return costs


def judge(profile: str, costs: dict[str, Cost]) -> None:
    for ours, theirs, profiles, minimum, aim in RATIOS:
        if profile in profiles or profile == "own":
            ratio = costs[theirs].cpu_s / costs[ours].cpu_s
            print(f"  {ours} against {theirs}: {ratio:.1f}x (minimum {minimum:g}x, aim {aim:g}x)")
    peak = max(cost.peak_mb for name, cost in costs.items() if name.startswith("kw"))
    print(f"  peak memory: {peak:.0f} MB (minimum {PEAK_MB[0]} MB, aim {PEAK_MB[1]} MB)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, metavar="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--profile", action="append", choices=PROFILES)
    parser.add_argument("--capture", type=Path)
    options = parser.parse_args()
    options.profile = options.profile or list(PROFILES)
    if shutil.which("tshark") is None:
        print("tshark is not on the PATH: nothing to compare with")
        return 1
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        for profile, path in captures(options, Path(folder)):
            judge(profile, measure(path, options.runs))
            if not options.capture:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
