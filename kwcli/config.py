"""Options and surroundings in, the settings that output is made by out: format, width, colours."""

from __future__ import annotations

from typing import Final, NamedTuple

from kwcli.env import Environment
from kwcli.exits import Exit, Failure

# Formats that have colours; no value in them is written before it is clean.
PAINTED: Final = frozenset({"text", "table", "hex"})


class Settings(NamedTuple):
    """How to show things. `width` None: as wide as it gets, nothing is shortened."""

    format: str = "text"
    width: int | None = None
    color: bool = False
    verbose: int = 0
    quiet: bool = False
    records: bool = False
    reveal_secrets: bool = False
    heading: bool = True  # the names of the columns above them
    prompt: bool = False  # rows are wanted as they settle, not in large pieces
    csv_safe: bool = False  # no cell of CSV is a formula to a spreadsheet

    def allow_colors(self, env: Environment) -> None:
        """Let a terminal have the codes of colours where these settings make some."""
        env.allow_colors(self.color and self.format in PAINTED)


def settings(
    env: Environment,
    *,
    output: str | None,
    color: str,
    verbose: int,
    quiet: bool,
    records: bool = False,
    reveal_secrets: bool = False,
    live: bool = False,
) -> Settings:
    """Settings by the rules of every command: text on a terminal, ndjson in a pipe, NO_COLOR and COLUMNS honoured.

    Raises Failure.
    """
    if env.csv_safe and output != "csv":
        raise Failure("--csv-safe is for -o csv", Exit.USAGE)
    found = Settings(
        format=output or ("text" if env.stdout_terminal else "ndjson"),
        width=env.columns,
        color=_color(env, color),
        verbose=verbose,
        quiet=quiet,
        records=records,
        reveal_secrets=reveal_secrets,
        prompt=live or env.stdout_terminal,
        csv_safe=env.csv_safe,
    )
    found.allow_colors(env)
    return found


def _color(env: Environment, color: str) -> bool:
    if color != "auto":
        return color == "always"
    if env.variables.get("NO_COLOR"):  # no-color.org: any value but the empty one
        return False
    return env.stdout_terminal and env.variables.get("TERM") != "dumb"
