"""Environments in memory, and `kw` run in them, for the command-line tests."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from typing import NamedTuple

from kwcli.main import run
from kwcli.options import OUTPUT_VARIABLE
from kwcli.run_environment import Environment, Terminals
from kwcli.terminal.ascii_text import AsciiOutput
from kwcli.terminal_escaping import Terminal, Writable


class Outcome(NamedTuple):
    """The exit code and output of a run of `kw`."""

    code: int
    out: str
    err: str


def world(
    stdin: bytes = b"",
    *,
    variables: Mapping[str, str] | None = None,
    columns: int | None = None,
    terminal: bool = False,
) -> Environment:
    """An environment whose streams are memory; `terminal` makes its output look like one.

    Then its clock stands still, so that no slow machine draws how far a run is between what it writes.
    Output that is no terminal is ndjson, unless `variables` or -o ask for another format.
    """
    return Environment(
        stdin=io.BytesIO(stdin),
        stdout=io.BytesIO(),
        stderr=io.BytesIO(),
        variables=variables or {} if terminal else {OUTPUT_VARIABLE: "ndjson", **(variables or {})},
        terminals=Terminals(stdout=terminal, stderr=terminal),
        columns=columns,
        monotonic=(lambda: 0.0) if terminal else time.monotonic,
    )


def kw(*words: str, env: Environment | None = None) -> Outcome:
    """Run `kw WORDS…` in an environment; gives its exit code and output."""
    env = env or world()
    code = run(words, env)
    return Outcome(code, written(env.stdout).decode("utf-8", "backslashreplace"), written(env.stderr).decode())


def written(stream: Writable) -> bytes:
    """The bytes written to a stream of a `world`, after the filter of its terminal if it has one."""
    memory = stream.beneath if isinstance(stream, Terminal | AsciiOutput) else stream
    assert isinstance(memory, io.BytesIO)
    return memory.getvalue()


def in_format(output: str, fields: str = "api,summary,request,response") -> tuple[str, ...]:
    """The options for output in this format, with `fields` for the format of that name."""
    return ("-o", output, *(("-e", fields) if output == "fields" else ()))
