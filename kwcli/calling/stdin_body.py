"""Standard input in, the body that somebody pipes into `kw call` out, without ever waiting for one that nobody sends.

A script or cron may leave anything on standard input: a terminal, nothing, /dev/null, a pipe that stays silent, or the
list that a `while read` loop is reading. So it is looked at only where the request has no words, and a silent pipe is
given up after a moment; `-` reads to the end whatever it is.
"""

from __future__ import annotations

import io
import os
import select
import stat
from typing import TYPE_CHECKING, Final

from kwcli.calling.bodies import STDIN, SourceBody, body_in, parse, read_stdin

if TYPE_CHECKING:
    from decoders.schema.model import Api
    from kwcli.env import Environment

# What a program on the other end of a pipe needs to say its first word.
PATIENCE_MS: Final = 250


def piped_body(env: Environment, api: Api) -> SourceBody | None:
    """The body on standard input; None where there is none. Raises Failure for one that cannot be read."""
    if env.stdin_terminal or not _has_something(env):
        return None
    data = read_stdin(env)
    return body_in(parse(data, STDIN), STDIN, api, "request") if data.strip() else None


def _has_something(env: Environment) -> bool:
    try:
        number = env.stdin.fileno()  # type: ignore[attr-defined]  # streams of memory have none
        kind = os.fstat(number).st_mode
    except (AttributeError, OSError, io.UnsupportedOperation):
        return isinstance(env.stdin, io.BytesIO)
    if stat.S_ISREG(kind):
        return True
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return False
    poll = select.poll()
    poll.register(number, select.POLLIN | select.POLLHUP)
    return any(events & (select.POLLIN | select.POLLHUP) for _, events in poll.poll(PATIENCE_MS))
