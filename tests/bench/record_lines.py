"""`python -m tests.bench.record_lines [CAPTURE]…`: what reading lines of NDJSON costs, and what their check is of it.

The lines are those of the captures, with and without records. Each figure is the least CPU time of several runs in
this process, in microseconds a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from timeit import repeat
from typing import Any, Final

import orjson

from decoders.messages.read_ndjson import RecordLines, check_exchange_record
from tests.cli.worlds import kw

CAPTURES: Final = Path(__file__).resolve().parents[2] / "captures"
DEFAULT: Final = ("tour.pcapng", "first-steps.pcapng")
RUNS: Final = 15


def main() -> None:
    """Measure the captures named on the command line, or those of `DEFAULT`."""
    for path in sys.argv[1:] or [str(CAPTURES / name) for name in DEFAULT]:
        for words in ([], ["--records"]):
            data = kw("sniff", path, *words, "-o", "ndjson", "-q").out.encode()
            rows = [orjson.loads(line) for line in data.splitlines()]
            whole = _least(partial(_read, data), len(rows))
            checked = _least(partial(_check, rows), len(rows))
            name = f"{Path(path).name} {' '.join(words)}"
            sys.stdout.write(f"{name:32} {whole:6.1f} µs a line, of it the check {checked:.1f} µs\n")


def _read(data: bytes) -> None:
    RecordLines().feed(data)


def _check(rows: Sequence[Any]) -> None:
    for row in rows:
        check_exchange_record(row)


def _least(run: Callable[[], object], count: int) -> float:
    return min(repeat(run, timer=process_time, number=1, repeat=RUNS)) / count * 1e6


if __name__ == "__main__":
    main()
