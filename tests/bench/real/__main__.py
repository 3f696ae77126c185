"""`python -m tests.bench.real`: kw against tshark on recorded traffic of three kinds, same files, same run.

The captures are recorded on first use, which takes minutes, and kept in the cache; `--size 5` makes quick ones,
`--capture FILE` takes another. Prints CPU and wall seconds of one process (`--jobs 1`; several: `tests.bench.jobs`),
peak memory, and the ratios beside our aims; of answers and tables the ratios to text. `--against DIR` runs a second kw,
the one installed in that environment (`DIR/bin/python`), alternately with this one.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.bench.process import Cost, run
from tests.bench.real.plays import KINDS
from tests.bench.real.recording import PORTS, capture
from tests.bench.sniff import FIELDS

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
_TSHARK: Final = ("tshark", "-n", "-d", f"tcp.port=={PORTS[0]}-{PORTS[1]},kafka")
PEERS: Final[Mapping[str, tuple[str, ...]]] = {
    "tshark one-liners": (*_TSHARK, "-r"),
    "tshark -T fields": (*_TSHARK, "-T", "fields", *(word for name in FIELDS for word in ("-e", name)), "-r"),
    "tshark -T json": (*_TSHARK, "-T", "json", "-r"),
}
# The comparisons, and the figure that compiled modules have to reach.
RATIOS: Final = (
    ("text", "tshark -T fields", 4.0),
    ("text", "tshark one-liners", 1.3),
    ("ndjson --records", "tshark -T json", 5.0),
)


def interpreter(python: str) -> str:
    """The version of a Python, whether it was built with profiles (PGO), and whether its kw is compiled."""
    code = (
        "import platform, sysconfig; from kwcli.reference.kw_version import find_kw_versions;"
        "words = sysconfig.get_config_var('CONFIG_ARGS') or '';"
        "flags = sysconfig.get_config_var('PY_CORE_CFLAGS') or '';"
        "pgo = '--enable-optimizations' in words or '-fprofile-use' in flags;"
        'print(f"{platform.python_implementation()} {platform.python_version()}",'
        " 'with' if pgo else 'without', 'PGO,', 'kw compiled' if find_kw_versions()['compiled'] else 'kw plain')"
    )
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=_folder(python))
    return said.stdout.strip()


def _folder(python: str) -> str:
    """The working directory for a Python: another environment's kw must not be found in the sources here."""
    return "." if python == sys.executable else "/"


def measure(path: Path, pythons: Mapping[str, str], runs: int, peers: Mapping[str, tuple[str, ...]]) -> dict[str, Cost]:
    """The cheapest run of each way; the kws alternate, so that a busy machine is busy for all of them."""
    commands: dict[str, tuple[str, ...]] = {
        f"{name} {way}": (python, *KW, *words, "--jobs", "1", str(path))
        for way, words in WAYS.items()
        for name, python in pythons.items()
    }
    commands |= {name: (*words, str(path)) for name, words in peers.items()}
    costs: dict[str, Cost] = {}
    for _ in range(runs):
        for name, command in commands.items():
            python = command[0]
            with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
                out = ("--out", f"{folder}/tables") if "pipeline" in command else ()
                cost = run((*command, *out), env={"PYTHONPATH": ""}, folder=_folder(python))
            if name not in costs or cost.cpu_s < costs[name].cpu_s:
                costs[name] = cost
    for name, cost in costs.items():
        state = "" if cost.exit_code == 0 else f"   exit {cost.exit_code}"
        print(f"  {name:28} {cost.cpu_s:8.2f} s CPU {cost.wall_s:8.2f} s wall {cost.peak_mb:7.0f} MB{state}")
    return costs


def judge(costs: Mapping[str, Cost], names: list[str]) -> None:
    """Print the ratios of CPU seconds."""
    for way, theirs, wanted in RATIOS:
        if theirs in costs:
            shown = ", ".join(f"{name} {costs[theirs].cpu_s / costs[f'{name} {way}'].cpu_s:.2f}x" for name in names)
            print(f"  {way} against {theirs}: {shown} (compiled: {wanted:g}x)")
    for way in WAYS if len(names) > 1 else ():
        first, second = (costs[f"{name} {way}"].cpu_s for name in names)
        print(f"  {way}: {names[1]} is {first / second:.2f}x as fast as {names[0]}")
    for way in ANSWERS:
        shown = ", ".join(f"{name} {costs[f'{name} {way}'].cpu_s / costs[f'{name} text'].cpu_s:.2f}x" for name in names)
        print(f"  {way}, CPU against text: {shown}")
    peak = max(costs[f"{name} {way}"].peak_mb for name in names for way in ROWS)
    print(f"  peak memory of rows: {peak:.0f} MB (minimum 100 MB)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, metavar="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--capture", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="DIR")
    parser.add_argument("--no-tshark", action="store_true")
    options = parser.parse_args()
    peers = {} if options.no_tshark or shutil.which("tshark") is None else PEERS
    if not peers:
        print("without tshark: kw alone")
    pythons = {"kw": sys.executable}
    if options.against:
        pythons["other kw"] = str(options.against / "bin" / "python")
    print(f"{platform.machine()}, CFLAGS {sysconfig.get_config_var('PY_CFLAGS')}")
    for name, python in pythons.items():
        print(f"{name}: {interpreter(python)}")
    for kind in [str(options.capture)] if options.capture else options.kind or KINDS:
        path = options.capture.resolve() if options.capture else capture(kind, options.size)
        print(f"{kind}: {path.stat().st_size / 1e6:,.0f} MB")
        judge(measure(path, pythons, options.runs, peers), list(pythons))
    return 0


if __name__ == "__main__":
    sys.exit(main())
