"""`kw` as a separate process: words in; exit code, errors and memory, or the bytes that a terminal got, out."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kwcli.run_environment import Exit

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_S: Final = 300
CODES: Final = frozenset(map(int, Exit))


class Ended(NamedTuple):
    """The end of a run of `kw`: its exit code, standard error, and peak memory in MB."""

    code: int
    said: str
    peak_mb: float


def run_measured(words: Sequence[str], stdin: Path | None = None) -> Ended:
    """Run `kw WORDS…`, its standard output thrown away."""
    with (stdin or Path(os.devnull)).open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.measured", *words],
            cwd=ROOT,
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )
    *said, last = done.stderr.decode(errors="replace").splitlines() or [""]
    if not last.startswith("peak "):  # the process was killed
        return Ended(done.returncode, "\n".join([*said, last]), 0)
    return Ended(done.returncode, "\n".join(said), int(last.removeprefix("peak ")) / 1024)


def run_on_terminal(words: Sequence[str], columns: int) -> tuple[int, bytes]:
    """Run `kw WORDS…` on a pseudo-terminal; its exit code, and every byte that reached the terminal."""
    ours, its = pty.openpty()
    tty.setraw(its)  # the terminal draws exactly the bytes that it is given
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "kwcli.main", *words],
            cwd=ROOT,
            # A pager that does not wait and adds nothing: it writes its input.
            env={**os.environ, "COLUMNS": str(columns), "KW_PAGER": "cat -u"},
            stdin=its,
            stdout=its,
            stderr=its,
        )
    finally:
        os.close(its)
    drawn = []
    try:
        while piece := read_terminal(ours):
            drawn.append(piece)
        return process.wait(PATIENCE_S), b"".join(drawn)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()


def read_terminal(terminal: int) -> bytes:
    """The bytes written to a terminal; empty once its other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux raises EIO when the other side has closed
        return b""


def check_end(code: int, said: str) -> None:
    """Assert that an exit code is a documented one, and that no defect was reported."""
    assert code in CODES, f"exit code {code}: {said[-2000:]}"
    assert "defect:" not in said, said[-2000:]
    assert "Traceback" not in said, said[-2000:]
