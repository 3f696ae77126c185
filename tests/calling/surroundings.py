"""Surroundings made up for a test: no terminal but where it says so, a clock that stands still."""

from __future__ import annotations

import io

from kwcli.env import Environment, Terminals


def environment(stdin: bytes | None, *, now_ms: int = 0) -> Environment:
    """An environment whose standard input holds these bytes; None: it is a terminal."""
    return Environment(
        stdin=io.BytesIO(stdin or b""),
        stdout=io.BytesIO(),
        stderr=io.BytesIO(),
        variables={},
        terminals=Terminals(stdin=stdin is None),
        now_ns=lambda: now_ms * 1_000_000,
    )
