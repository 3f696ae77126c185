"""`python -m tests.bench.completion`: what a TAB waits for, `kw __complete` beside a Python that does nothing.

Runs are interleaved, so that a busy machine is busy for all of them, and the best of each counts: noise only ever adds.
`CPU` is the processor time of the best run: on a quiet machine a TAB takes little more. It is to be at most 150 ms;
`bare` is its ratio to that of a Python that does nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Final

from tests.bench.process import Cost, run

BARE: Final = "python -c pass"
MOST_MS: Final = 150
BREAKS: Final = " \t\n\"'><=;|&(:"
# What is completed → the words of __complete. No cluster is asked: its names have a limit of their own.
TABS: Final = {
    "a command": ("fish", "", "sni"),
    "an option": ("fish", "", "sniff", "--col"),
    "an option, bash": ("bash", BREAKS, "kw sniff --col"),
    "an API": ("fish", "", "call", "Meta"),
    "a version": ("fish", "", "call", "Metadata", "--api-version", ""),
    "a field": ("zsh", "", "call", "Metadata", "topics[].n"),
    "a field, bash": ("bash", BREAKS, "kw call Metadata topics[].n"),
    "a value": ("zsh", "", "call", "Fetch", "isolation_level="),
    "an error": ("fish", "", "errors", "NOT_"),
    "a file, bash": ("bash", BREAKS, "kw sniff cap"),
    "a property": ("fish", "", "call", "-X", "secur"),
    "a filter": ("fish", "'", "sniff", "-f", "api == Fe"),
}


def main() -> int:
    """Measure every TAB; 1 if the slowest takes longer than it may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs: int = parser.parse_args().runs
    commands = {BARE: [sys.executable, "-c", "pass"]}
    commands |= {name: [sys.executable, "-m", "kwcli.main", "__complete", *words] for name, words in TABS.items()}
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(-1, runs):
        for name, command in commands.items():
            cost = run(command)
            if cost.exit_code:
                sys.exit(f"{name} ended with {cost.exit_code}: {' '.join(command)}")
            if number >= 0:
                costs[name].append(cost)
    cpu = {name: min(cost.cpu_s for cost in found) for name, found in costs.items()}
    print(f"{'':18}{'best':>9}{'median':>9}{'CPU':>9}{'bare':>7}")
    for name, found in costs.items():
        wall = [cost.wall_s for cost in found]
        figures = "".join(f"{1e3 * each:6.0f} ms" for each in (min(wall), statistics.median(wall), cpu[name]))
        print(f"{name:18}{figures}{cpu[name] / cpu[BARE]:6.1f}x")
    slowest = max(cpu, key=lambda name: cpu[name])
    print(f"the slowest, {slowest}: {1e3 * cpu[slowest]:.0f} ms of CPU; at most {MOST_MS} ms")
    return int(1e3 * cpu[slowest] > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
