"""Long text in, shown through the user's pager on a terminal, as git does it."""

from __future__ import annotations

import shlex
import subprocess

from kwcli.env import Environment

# less ends by itself where the text fits on the screen, keeps colours, and leaves the text there (git's own choice);
# long lines are not wrapped: the arrow keys scroll.
LESS = "FRSX"


def write_paged(env: Environment, text: str, *, pager: bool = True) -> None:
    """Write `text` to standard output, through `$PAGER` (else less) where that is the terminal of the process."""
    program = env.variables.get("PAGER", "less")
    if pager and program.strip() and program != "cat" and env.stdout_terminal and _is_real(env):
        try:
            child = subprocess.Popen(
                shlex.split(program), stdin=subprocess.PIPE, env={"LESS": LESS, "LESSCHARSET": "utf-8", **env.variables}
            )
        except (OSError, ValueError):
            pass  # no such program: the text is shown as it is
        else:
            try:
                child.communicate(text.encode())
            except KeyboardInterrupt:
                child.wait()
            return
    env.allow_colors(True)
    env.stdout.write(text.encode())


def _is_real(env: Environment) -> bool:
    """Whether the output is the process's own, which the pager would inherit."""
    try:
        return env.stdout.fileno() == 1
    except OSError:
        return False
