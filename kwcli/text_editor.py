"""A file in, what the user's editor made of it: $VISUAL, $EDITOR or vi, at the terminal even where kw is in a pipe."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from kwcli.env import Environment, Exit, Failure

_TERMINAL = "/dev/tty"


def run_editor(env: Environment, path: str, unchanged: str) -> None:
    """Run the editor until it ends. Raises Failure; `unchanged` says what is not done then."""
    editor = env.variables.get("VISUAL") or env.variables.get("EDITOR") or "vi"
    try:
        words = shlex.split(editor)
    except ValueError as failure:
        raise Failure(f"$EDITOR: {failure}: {editor}", Exit.USAGE) from None
    try:
        with _terminal(env) as terminal:
            code = subprocess.run([*words, path], stdin=terminal, stdout=terminal, check=False).returncode
    except OSError as failure:
        raise Failure(f"cannot start the editor {editor}: {failure.strerror} (set $EDITOR)") from None
    if code:
        raise Failure(f"the editor {editor} ended with {code}; {unchanged}")


@contextmanager
def _terminal(env: Environment) -> Iterator[int | None]:
    """The terminal as a file descriptor where our own streams are none; None: take ours."""
    if env.stdin_terminal and env.stdout_terminal:
        yield None
        return
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
