"""Lines typed into real interactive shells, TAB pressed at their end: the candidates, and the completed line.

bash and zsh run in a pseudo-terminal, one session for all lines; Ctrl-T makes the shell write its line to a file and
start a new one. fish is asked by its own `complete -C`.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPLETIONS = ROOT / "completions"
DUMP = "\x14"  # Ctrl-T
PATIENCE_S = 60.0


class Answer(NamedTuple):
    """The candidates offered, and the line after that; None for fish, which is not asked for the line."""

    offered: tuple[str, ...]
    line: str | None


BASH = rf"""
source {COMPLETIONS}/kw.bash
_kw_told() {{ _kw; printf 'OFFER %s\n' "${{COMPREPLY[@]}}" >> "$OUT"; }}
complete -F _kw_told kw
told() {{ printf 'LINE %s\n' "$READLINE_LINE" >> "$OUT"; READLINE_LINE=; READLINE_POINT=0; }}
bind -x '"\C-t": told'
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
PS1=
echo LINE ready >> "$OUT"
"""

ZSH = rf"""
fpath=({COMPLETIONS} $fpath)
autoload -U compinit
compinit -u -D
compadd() {{
    local -a hits
    if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
    builtin compadd -A hits "$@"
    (( $#hits )) && printf 'OFFER %s\n' "$hits[@]" >> "$OUT"
    builtin compadd "$@"
}}
told() {{ print -r -- "LINE $BUFFER" >> "$OUT"; BUFFER=; }}
zle -N told
bindkey '^T' told
bindkey '^I' complete-word
zstyle ':completion:*' list-prompt ''
LISTMAX=10000
PS1=
unsetopt beep
echo LINE ready >> "$OUT"
"""


def ask(shell: str, lines: list[str], folder: Path, variables: dict[str, str]) -> list[Answer]:
    """An answer for each line; skips the test if the shell is missing. `folder` is the shell's home."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell} on the PATH")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", **variables}
    if shell == "fish":
        return [_fish(program, line, folder, environment) for line in lines]
    return _typed(program, shell, lines, folder, environment)


def _fish(program: str, line: str, folder: Path, environment: dict[str, str]) -> Answer:
    script = f"source {COMPLETIONS}/kw.fish; complete -C $argv[1]"
    done = subprocess.run(
        [program, "--no-config", "-c", script, line], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.stderr == ""
    return Answer(tuple(row.partition("\t")[0] for row in done.stdout.splitlines()), None)


def _typed(program: str, shell: str, lines: list[str], folder: Path, environment: dict[str, str]) -> list[Answer]:
    out = folder / "told"
    out.touch()
    begin = folder / "begin"
    begin.write_text(BASH if shell == "bash" else ZSH)
    quiet = ["--norc", "--noprofile", "-i"] if shell == "bash" else ["-f", "-i"]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(program, [program, *quiet], {**environment, "OUT": str(out)})
    try:
        os.write(terminal, f". {begin}\n".encode())
        _wait(terminal, out, 1)
        for number, line in enumerate(lines, 2):
            os.write(terminal, f"{line}\t{DUMP}".encode())
            _wait(terminal, out, number)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
    return _answers(out.read_text().splitlines())


def _wait(terminal: int, out: Path, count: int) -> None:
    """Read and drop what the shell draws until it has written `count` lines to its file."""
    end = time.monotonic() + PATIENCE_S
    drawn = b""
    while sum(line.startswith("LINE ") for line in out.read_text().splitlines()) < count:
        assert time.monotonic() < end, f"the shell said nothing: {drawn[-2000:]!r}"
        if select.select([terminal], [], [], 0.02)[0]:
            drawn += os.read(terminal, 65536)


def _answers(told: list[str]) -> list[Answer]:
    answers: list[Answer] = []
    offered: list[str] = []
    for line in told:
        word, _, rest = line.partition(" ")
        if word == "OFFER":
            offered += [rest] if rest else []
        elif word == "LINE":
            answers.append(Answer(tuple(offered), rest))
            offered = []
    return answers[1:]
