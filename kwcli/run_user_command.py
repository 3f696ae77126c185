"""A command line of --run in, the command in a shell, which is told where its cluster is, and its exit code out."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

__all__ = ["exit_code_of", "start_user_command"]


def start_user_command(
    command: str, bootstrap: str, variables: Mapping[str, str], more: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a command line in the shell, with `bootstrap` (host:port,…) and `more` in its environment."""
    told = {"KW_BOOTSTRAP_SERVER": bootstrap, "KAFKA_BOOTSTRAP_SERVERS": bootstrap}
    return subprocess.Popen(command, shell=True, env={**variables, **told, **(more or {})})


def exit_code_of(returncode: int) -> int:
    """The exit code that a shell would give: 128 + N where signal N ended the command."""
    return returncode if returncode >= 0 else 128 - returncode
