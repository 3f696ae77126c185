"""A body as text in, what people made of it in their editor out: what `--edit` does."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from decoders.schema.model import Api, Side
from kwcli.calling.assignments import GivenWords, check_words
from kwcli.calling.bodies import body_in, parse
from kwcli.calling.body_paths import fail
from kwcli.env import Environment, Exit, Failure

if TYPE_CHECKING:
    pass


_TERMINAL = "/dev/tty"
_SOURCE = "the edited text"


def edit_body(api: Api, text: str, env: Environment, *, side: Side = "request") -> GivenWords | None:
    """The body that the user makes of `text` in $VISUAL, $EDITOR or vi, checked as check_words() does; None: unchanged.

    Raises Failure; what was written is kept then, and its place said.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"kw-{api.name}-", suffix=".yaml")
    path = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    keep = False
    try:
        _run(env.variables.get("VISUAL") or env.variables.get("EDITOR") or "vi", name, env)
        data = path.read_bytes()
        if data == text.encode():
            return None
        try:
            return check_words(api, (), side=side, body=body_in(parse(data, _SOURCE), _SOURCE, api, side))
        except Failure as failure:
            keep = True
            raise Failure(f"{failure.text} (kept in {name})", failure.code) from None
    finally:
        if not keep:
            path.unlink(missing_ok=True)


def _run(editor: str, name: str, env: Environment) -> None:
    """Run the editor until it ends. Raises Failure."""
    try:
        words = shlex.split(editor)
    except ValueError as failure:
        fail(f"$EDITOR: {failure}: {editor}")
    try:
        with _terminal(env) as terminal:
            code = subprocess.run([*words, name], stdin=terminal, stdout=terminal, check=False).returncode
    except OSError as failure:
        fail(f"cannot start the editor {editor}: {failure.strerror} (set $EDITOR)", Exit.FAILURE)
    if code:
        fail(f"the editor {editor} ended with {code}; nothing is sent", Exit.FAILURE)


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
