"""`python -m tests.bench.stats`: `kw stats` and `kw doctor` against `kw sniff -o text` on the same capture, same run.

One pass over the capture each; prints the ratio of CPU seconds beside its limit. `--profile clients` and the other
kinds of tests.bench.real are recorded traffic.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.process import best
from tests.bench.real.plays import KINDS
from tests.bench.real.recording import capture

PROFILES = ("small", "mixed")
KW = [sys.executable, "-m", "kwcli.main"]
# Words of a command, and the highest ratio allowed.
ASKED: tuple[tuple[list[str], float], ...] = (
    (["stats"], 1.3),
    (["stats", "--by", "api,client,topic"], 1.3),
    (["stats", "--by", "api,client", "--bucket", "1s"], 1.3),
    (["stats", "--metric", "records"], 1.3),
    (["stats", "--metric", "bytes", "--by", "client,broker"], 1.3),
    (["stats", "--metric", "errors"], 1.3),
    (["stats", "--metric", "throttle"], 1.3),
    (["stats", "--slowest", "10"], 1.3),
    (["doctor", "--fail-on", "never"], 2.0),
    (["groups"], 2.0),
    (["topics"], 4.0),
    (["audit", "--security"], 2.0),
    (["report"], 7.0),
)


def measure(path: Path, runs: int) -> None:
    """Print the cost of each command."""
    one = ["--jobs", "1", str(path)]  # CPU is compared, not its distribution over processes
    sniff = best([*KW, "sniff", "-o", "text", *one], runs=runs)
    print(f"  {'kw sniff -o text':44} {sniff.cpu_s:7.2f} s CPU {sniff.peak_mb:5.0f} MB")
    for words, most in ASKED:
        cost = best([*KW, *words, "-o", "text", *one], runs=runs)
        state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
        ratio = cost.cpu_s / sniff.cpu_s
        name = f"kw {' '.join(words)}"
        print(f"  {name:44} {cost.cpu_s:7.2f} s CPU {cost.peak_mb:5.0f} MB  {ratio:.2f}x (most {most:g}x){state}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, metavar="MB", help="80; of what is recorded 100")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="append", choices=(*PROFILES, *KINDS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        for profile in options.profile or PROFILES:
            if profile in KINDS:
                print(f"{profile}: recorded")
                measure(capture(profile, options.size or 100), options.runs)
                continue
            path = Path(folder) / f"{profile}.pcap"
            made = [sys.executable, "-m", "tests.bench.traffic", profile, str(path), str((options.size or 80) << 20)]
            count, size = map(int, subprocess.run(made, check=True, capture_output=True, text=True).stdout.split())
            print(f"{profile}: {count:,} exchanges, {size / 1e6:,.0f} MB")
            measure(path, options.runs)
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
