"""Environments for tests: no terminal unless the test asks for one, a clock that stands still."""

from __future__ import annotations

import io

from kwcli.run_environment import Environment, Terminals


def environment(stdin: bytes | None, *, now_ms: int = 0) -> Environment:
    """An environment whose standard input holds these bytes, or is a terminal if None."""
    return Environment(
        stdin=io.BytesIO(stdin or b""),
        stdout=io.BytesIO(),
        stderr=io.BytesIO(),
        variables={},
        terminals=Terminals(stdin=stdin is None),
        now_ns=lambda: now_ms * 1_000_000,
    )
