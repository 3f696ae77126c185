"""Lines typed into real interactive shells, TAB pressed at their end: the candidates, and the completed line.

bash and zsh run in a pseudo-terminal, one session for all lines; Ctrl-T makes the shell write its line to a file and
start a new one. fish is asked by its own `complete -C`.

`Session` is one interactive shell of any of the three, in which a line is completed with TAB and run with Enter.
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
from typing import Final, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPLETIONS = ROOT / "completions"
DUMP = "\x14"  # Ctrl-T
PATIENCE_S = 60.0
STOP_S = 5.0  # a shell that wants more of a line is stopped


class Answer(NamedTuple):
    """The candidates offered, and the line after that; None for fish, which is not asked for the line."""

    offered: tuple[str, ...]
    line: str | None


BASH = rf"""
source {COMPLETIONS}/kw.bash
_kw_told() {{ _kw "$@"; printf 'OFFER %s\n' "${{COMPREPLY[@]}}" >> "$OUT"; }}
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


def ask(
    shell: str, lines: list[str], folder: Path, variables: dict[str, str], scripts: Path = COMPLETIONS
) -> list[Answer]:
    """An answer for each line; skips the test if the shell is missing. `folder` is the shell's home."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell} on the PATH")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", **variables}
    if shell == "fish":
        return [_fish(program, line, folder, environment, scripts) for line in lines]
    begin = folder / "begin"
    begin.write_text((BASH if shell == "bash" else ZSH).replace(str(COMPLETIONS), str(scripts)))
    return _typed(program, shell, lines, begin, environment)


def _fish(program: str, line: str, folder: Path, environment: dict[str, str], scripts: Path) -> Answer:
    script = f"source {scripts}/kw.fish; complete -C $argv[1]"
    done = subprocess.run(
        [program, "--no-config", "-c", script, line], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.stderr == ""
    return Answer(tuple(row.partition("\t")[0] for row in done.stdout.splitlines()), None)


def _typed(program: str, shell: str, lines: list[str], begin: Path, environment: dict[str, str]) -> list[Answer]:
    folder = begin.parent
    out = folder / "told"
    out.touch()
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


class Pressed(NamedTuple):
    """The line after TAB, and the words of each call of `kw` after Enter; none if TAB changed nothing."""

    line: str
    calls: tuple[tuple[str, ...], ...]


# Ctrl-T: the line goes to $OUT. Ctrl-Y: the line is dropped. Each new line says READY there.
DROP: Final = "\x19"
_SESSIONS: Final = {
    "bash": (
        ("--norc", "--noprofile", "-i"),
        rf"""
source {COMPLETIONS}/kw.bash
told() {{ printf 'LINE %s\0' "$READLINE_LINE" >> "$OUT"; }}
bind -x '"\C-t": told'
dropped() {{ READLINE_LINE=; READLINE_POINT=0; printf 'READY\0' >> "$OUT"; }}
bind -x '"\C-y": dropped'
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
set -H
PS1= PS2=
PROMPT_COMMAND='printf "READY\0" >> "$OUT"'
""",
    ),
    "zsh": (
        ("-f", "-i"),
        rf"""
fpath=({COMPLETIONS} $fpath)
autoload -U compinit
compinit -u -D
told() {{ printf 'LINE %s\0' "$BUFFER" >> "$OUT"; }}
zle -N told
bindkey '^T' told
dropped() {{ BUFFER=; printf 'READY\0' >> "$OUT"; }}
zle -N dropped
bindkey '^Y' dropped
bindkey '^I' complete-word
zstyle ':completion:*' list-prompt ''
LISTMAX=10000
PS1= PS2= PROMPT_EOL_MARK=
unsetopt beep
setopt extendedglob bang_hist
precmd() {{ printf 'READY\0' >> "$OUT"; }}
""",
    ),
    "fish": (
        ("--no-config", "-i"),
        rf"""
source {COMPLETIONS}/kw.fish
function fish_prompt; end
function told; printf 'LINE %s\0' (commandline | string collect) >> $OUT; end
bind \ct told
function dropped; commandline ''; printf 'READY\0' >> $OUT; end
bind \cy dropped
function told_ready --on-event fish_postexec --on-event fish_cancel; printf 'READY\0' >> $OUT; end
""",
    ),
}


class Session:
    """An interactive shell in a pseudo-terminal, in `folder`, whose `kw` is in `programs` (complete_server.serving).

    `drawn` is all that the shell has written to its terminal.
    """

    def __init__(self, shell: str, folder: Path, programs: Path, variables: dict[str, str]) -> None:
        found = shutil.which(shell)
        if found is None:
            pytest.skip(f"needs {shell} on the PATH")
        self.shell, self.folder = shell, folder
        self.drawn = b""
        self._out = folder.parent / f"told-{shell}"
        self._out.touch()
        self._read = 0
        quiet, begin = _SESSIONS[shell]
        script = programs / f"begin-{shell}"
        script.write_text(begin)
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(programs),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "OUT": str(self._out),
            **variables,
        }
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execve(found, [found, *quiet], environment)
        self._type(f". {script}\n")
        if shell == "fish":
            self._type("printf 'READY\\0' >> $OUT\n")
        self._told("READY")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    def press(self, line: str) -> Pressed:
        """Type the line and TAB; then Enter where that added something. A shell that wants more of it gets Ctrl-C."""
        self._type(f"{line}\t{DUMP}")
        (*_, after) = self._told("LINE ")
        after = after.removeprefix("LINE ")
        if after.rstrip(" ") == line.rstrip(" "):
            self._type(DROP)
            self._told("READY")
            return Pressed(after, ())
        self._type("\r")
        told = self._told("READY", give_up_s=STOP_S)
        calls: list[tuple[str, ...]] = []
        for each in told:
            if each == "CALL":
                calls.append(())
            elif each.startswith("ARG "):
                calls[-1] += (each.removeprefix("ARG "),)
        return Pressed(after, tuple(calls))

    def run(self, line: str) -> None:
        """Run a line that has no TAB."""
        self._type(f"{line}\r")
        self._told("READY")

    def _type(self, text: str) -> None:
        os.write(self._terminal, text.encode("utf-8", "surrogateescape"))

    def _told(self, last: str, give_up_s: float | None = None) -> list[str]:
        """What the shell says in $OUT up to a word that begins with `last`. Each `give_up_s` it gets a Ctrl-C."""
        began = time.monotonic()
        stops = 0
        told: list[str] = []
        while not (told and told[-1].startswith(last)):
            waited = time.monotonic() - began
            if give_up_s is not None and waited > (stops + 1) * give_up_s:
                self._type("\x03")
                stops += 1
            assert waited < PATIENCE_S, f"the shell said only {told}, and drew {self.drawn[-2000:]!r}"
            if select.select([self._terminal], [], [], 0.005)[0]:
                self.drawn += os.read(self._terminal, 65536)
            data = self._out.read_bytes()[self._read :]
            if b"\0" in data:
                whole = data[: data.index(b"\0")]
                self._read += len(whole) + 1
                told.append(whole.decode("utf-8", "surrogateescape"))
        return told
