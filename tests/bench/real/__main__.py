"""`python -m tests.bench.real`: kw against tshark and other kws, on traffic of many kinds, same files, same run.

Kinds: recorded ones (plays.py; the first use takes minutes), captures that ship, replicated (replicas.py), and records
of 30 bytes (`tiny`). All are kept in the cache; `--size 5` makes quick ones, `--capture FILE` takes another.

`--against NAME=DIR` adds a kw, run alternately with this one: that of an environment (`DIR/bin/python`) or of a tree
(`DIR/kwcli`, plain or with compiled modules beside its sources). Prints CPU and wall seconds and peak memory for each
`--jobs`, and the ratios: to our aims, to text, to tshark's one-liners, and of this kw to each other one.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import volume
from tests.bench.process import Cost, run
from tests.bench.real.plays import KINDS
from tests.bench.real.recording import PORTS, capture
from tests.bench.real.replicas import REPLICAS, write
from tests.bench.sniff import FIELDS
from tests.broker.wheels import fetched_once

KW: Final = ("-m", "kwcli.main")
ROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("sniff", "-o", "text"),
    "ndjson": ("sniff", "-o", "ndjson"),
    "ndjson --records": ("sniff", "-o", "ndjson", "--records"),
}
ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (name,) for name in ("stats", "clients", "groups", "topics")},
    "doctor": ("doctor", "--fail-on", "never"),
    "report": ("report", "-o", "json"),
    "tables": ("pipeline", "run", "--engine", "local"),
}
WAYS: Final = {**ROWS, **ANSWERS}
TINY: Final = "tiny"
USAGE: Final = 2
_TSHARK: Final = ("tshark", "-n", "-d", f"tcp.port=={PORTS[0]}-{PORTS[1]},kafka")
ONE_LINERS: Final = "tshark one-liners"
PEERS: Final[Mapping[str, tuple[str, ...]]] = {
    ONE_LINERS: (*_TSHARK, "-r"),
    "tshark -T fields": (*_TSHARK, "-T", "fields", *(word for name in FIELDS for word in ("-e", name)), "-r"),
    "tshark -T json": (*_TSHARK, "-T", "json", "-r"),
}
# The comparisons, and the figure that compiled modules have to reach.
RATIOS: Final = (
    ("text", "tshark -T fields", 4.0),
    ("text", ONE_LINERS, 1.3),
    ("ndjson --records", "tshark -T json", 5.0),
)


class Kw(NamedTuple):
    """A kw: its Python, the tree that is imported (empty: what is installed), and where it runs."""

    python: str
    tree: str
    folder: str

    def run(self, *words: str) -> Cost:
        """Run a command; of the commands that write tables, into a folder of its own."""
        with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
            out = ("--out", f"{folder}/tables") if "pipeline" in words else ()
            return run((self.python, *KW, *words, *out), env={"PYTHONPATH": self.tree}, folder=self.folder)

    def describe(self) -> str:
        """The version of its Python, whether that was built with profiles (PGO), and whether the kw is compiled."""
        code = (
            "import platform, sysconfig; from kwcli.reference.kw_version import find_kw_versions;"
            "words = sysconfig.get_config_var('CONFIG_ARGS') or '';"
            "flags = sysconfig.get_config_var('PY_CORE_CFLAGS') or '';"
            "pgo = '--enable-optimizations' in words or '-fprofile-use' in flags;"
            'print(f"{platform.python_implementation()} {platform.python_version()}",'
            " 'with' if pgo else 'without', 'PGO,', 'kw compiled' if find_kw_versions()['compiled'] else 'kw plain')"
        )
        said = subprocess.run(
            [self.python, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
            env={"PYTHONPATH": self.tree},
        )
        return said.stdout.strip()


def find_kws(others: Iterable[str]) -> dict[str, Kw]:
    """This kw, and those that `NAME=DIR` name."""
    found = {"kw": Kw(sys.executable, "", ".")}
    for text in others:
        name, _, place = text.rpartition("=")
        folder = Path(place).resolve()
        python = folder / "bin" / "python"
        # Another environment's kw must not be found in the sources here.
        kw = Kw(str(python), "", "/") if python.exists() else Kw(sys.executable, str(folder), str(folder))
        found[name or "other kw"] = kw
    return found


def find_capture(kind: str, size_mb: int) -> Path:
    """The capture of a kind, made now if the cache does not have it."""
    if kind in KINDS:
        return capture(kind, size_mb)

    def make(folder: Path) -> None:
        size = size_mb * 1_000_000
        if kind == TINY:
            volume.write(folder / "real.pcap", size, profile=TINY)
        else:
            write(kind, folder / "real.pcap", size)

    return fetched_once(f"bench-real-{kind.replace(' ', '-')}-{size_mb}", make) / "real.pcap"


def measure(
    path: Path,
    kws: Mapping[str, Kw],
    peers: Mapping[str, tuple[str, ...]],
    ways: Sequence[str],
    jobs: Sequence[int],
    runs: int,
) -> dict[str, Cost]:
    """The cheapest run of each way; the kws alternate, so that a busy machine is busy for all of them."""
    costs: dict[str, Cost] = {}
    for number in range(runs):
        for count in jobs:
            for way in ways:
                for name, kw in kws.items():
                    cost = kw.run(*WAYS[way], "--jobs", str(count), str(path))
                    if cost.exit_code == USAGE:  # an older kw, whose command has no --jobs
                        cost = kw.run(*WAYS[way], str(path))
                    _keep_cheapest(costs, _name_run(name, way, count), cost)
        for name, words in peers.items():
            if number == 0 or name == ONE_LINERS:  # the others take minutes
                _keep_cheapest(costs, name, run((*words, str(path))))
    for name, cost in costs.items():
        state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
        print(f"  {name:34} {cost.cpu_s:8.2f} s CPU {cost.wall_s:8.2f} s wall {cost.peak_mb:7.0f} MB{state}")
    return costs


def _name_run(name: str, way: str, jobs: int) -> str:
    return f"{name} {way}" if jobs == 1 else f"{name} {way} --jobs {jobs}"


def _keep_cheapest(costs: dict[str, Cost], name: str, cost: Cost) -> None:
    before = costs.get(name)
    if before is None or cost.cpu_s < before.cpu_s:
        costs[name] = cost


def judge(costs: Mapping[str, Cost], names: Sequence[str], ways: Sequence[str], jobs: Sequence[int]) -> None:
    """Print the ratios: of CPU seconds for one process, of wall seconds for several."""
    for way, theirs, wanted in RATIOS:
        if theirs in costs and way in ways:
            shown = ", ".join(f"{name} {costs[theirs].cpu_s / costs[f'{name} {way}'].cpu_s:.2f}x" for name in names)
            print(f"  {way} against {theirs}: {shown} (compiled: {wanted:g}x)")
    for way in ANSWERS:
        if way in ways and "text" in ways:
            shown = ", ".join(
                f"{name} {costs[f'{name} {way}'].cpu_s / costs[f'{name} text'].cpu_s:.2f}x" for name in names
            )
            print(f"  {way}, CPU against text: {shown}")
    for count in jobs:
        for way in ways:
            parts = []
            mine = costs[_name_run(names[0], way, count)]
            for other in names[1:]:
                its = costs[_name_run(other, way, count)]
                parts.append(f"{_seconds(its, count) / _seconds(mine, count):.2f}x {other}")
            if ONE_LINERS in costs:
                parts.append(f"{_seconds(costs[ONE_LINERS], count) / _seconds(mine, count):.2f}x {ONE_LINERS}")
            if parts:
                print(f"  {names[0]} {way} --jobs {count} is {', '.join(parts)}")
    rows = [costs[f"{name} {way}"].peak_mb for name in names for way in ROWS if way in ways]
    if rows:
        print(f"  peak memory of rows: {max(rows):.0f} MB (minimum 100 MB)")


def _seconds(cost: Cost, jobs: int) -> float:
    return cost.cpu_s if jobs == 1 else cost.wall_s


def main() -> int:
    kinds = [*KINDS, *REPLICAS, TINY]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, metavar="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=kinds)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--jobs", action="append", type=int)
    parser.add_argument("--capture", type=Path, metavar="FILE")
    parser.add_argument("--against", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--no-tshark", action="store_true")
    parser.add_argument("--one-liners", action="store_true", help="of tshark only its one-liners")
    options = parser.parse_args()
    peers = {} if options.no_tshark or shutil.which("tshark") is None else PEERS
    if options.one_liners:
        peers = {name: words for name, words in peers.items() if name == ONE_LINERS}
    if not peers:
        print("without tshark: kw alone")
    kws, ways, jobs = find_kws(options.against), options.way or list(WAYS), sorted({1, *(options.jobs or ())})
    print(f"{platform.machine()}, CFLAGS {sysconfig.get_config_var('PY_CFLAGS')}")
    for name, kw in kws.items():
        print(f"{name}: {kw.describe()}")
    for kind in [str(options.capture)] if options.capture else options.kind or kinds:
        path = options.capture.resolve() if options.capture else find_capture(kind, options.size)
        print(f"{kind}: {path.stat().st_size / 1e6:,.0f} MB")
        judge(measure(path, kws, peers, ways, jobs, options.runs), list(kws), ways, jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
