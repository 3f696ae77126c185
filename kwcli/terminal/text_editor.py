"""A file in, edited by the user out: with $VISUAL, $EDITOR or vi, at the terminal even where kw is in a pipe."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Final

from kwcli.private_files import ScratchFolder, open_private_file
from kwcli.run_environment import Environment, Exit, Failure

_TERMINAL: Final = "/dev/tty"
# Editors that draw on a terminal: without one they wait for ever, or edit what they were not asked to.
_ON_TERMINAL: Final = (
    *("emacs", "helix", "hx", "jed", "joe", "kak", "mcedit", "mg", "micro", "nano", "ne", "nvi", "nvim", "pico"),
    *("vi", "vim", "vim.basic", "vim.tiny", "zile"),
)


@contextmanager
def open_text_in_file(name: str, data: bytes) -> Iterator[str]:
    """A private file of this name with this content, which may be a password, to be edited while the block lasts."""
    with ScratchFolder("kw-edit-") as folder:
        path = os.path.join(folder, name)
        with open(path, "xb", opener=open_private_file) as file:
            file.write(data)
        yield path


def save_edited_text(name: str, data: bytes) -> str:
    """Keep a text that could not be used in a private file; the file's name."""
    stem, suffix = os.path.splitext(name)
    descriptor, path = tempfile.mkstemp(prefix=f"kw-{stem}-", suffix=suffix)  # of mode 0600
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path


def run_editor(env: Environment, path: str, unchanged: str) -> None:
    """Run the user's editor on a file until it ends. Raises Failure, whose text says `unchanged`: what is not done."""
    editor = env.variables.get("VISUAL") or env.variables.get("EDITOR") or "vi"
    try:
        words = shlex.split(editor)
    except ValueError as failure:
        raise Failure(f"$EDITOR: {failure}: {editor}", Exit.USAGE) from None
    if not words:
        raise Failure("$EDITOR is empty", Exit.USAGE)
    try:
        with _open_terminal_for_editor(env) as terminal:
            if terminal is None and not _has_terminal(env) and PurePath(words[0]).name in _ON_TERMINAL:
                text = f"the editor {editor} needs a terminal, and there is none; {unchanged}"
                raise Failure(f"{text} (set $EDITOR to an editor that needs none)", Exit.USAGE)
            code = subprocess.run([*words, path], stdin=terminal, stdout=terminal, check=False).returncode
    except OSError as failure:
        raise Failure(f"cannot start the editor {editor}: {failure.strerror} (set $EDITOR)") from None
    if code:
        raise Failure(f"the editor {editor} ended with {code}; {unchanged}")


def _has_terminal(env: Environment) -> bool:
    return env.stdin_terminal and env.stdout_terminal


@contextmanager
def _open_terminal_for_editor(env: Environment) -> Iterator[int | None]:
    """A file descriptor of the terminal for the editor; None: it inherits kw's own streams."""
    if _has_terminal(env):
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
