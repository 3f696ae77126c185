"""The APIs that take short words besides paths: words in, what they ask for out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from decoders.apis.keys import FETCH, PRODUCE
from decoders.schema.model import Versions
from kwcli.calling.bodies import read_file, read_stdin
from kwcli.calling.fetch import Offsets, read_fetch
from kwcli.calling.produce import read_produce
from kwcli.env import Environment, Exit, Failure


class Short(Protocol):
    """A request said in short words; the rest of the words may still change its body by path."""

    def narrow(self, versions: Versions, *, connected: bool = True) -> Versions:
        """Those of the versions that can carry it. Raises Failure (usage) that says why none can."""

    def body(self, version: int, known: Offsets | None, /) -> dict[str, Any]:
        """The request in JSON form; `known` tells of topics and offsets, None when not connected."""


class RecordOptions(NamedTuple):
    """Options that belong to Produce alone."""

    compression: str | None = None
    acks: str | None = None
    magic: int | None = None


def read_short(
    key: int, words: Sequence[str], given: RecordOptions, env: Environment
) -> tuple[Short | None, list[str]]:
    """What the short words of this API ask for (None where there are none), and the words that are left.

    Files, and standard input when records are to come from there, are read. Raises Failure for whatever can be known to
    be wrong before a connection is made.
    """
    if key == PRODUCE:
        return read_produce(
            words,
            compression=given.compression,
            acks=given.acks,
            magic=given.magic,
            contents=lambda name: read_stdin(env) if name == "-" else read_file(name),
            stdin=lambda: not env.stdin_terminal,
            clock_ms=lambda: env.now_ns() // 1_000_000,
        )
    for name in RecordOptions._fields:
        if getattr(given, name) is not None:
            raise Failure(f"--{name} goes with Produce only", Exit.USAGE)
    return read_fetch(words, now_ms=env.now_ns() // 1_000_000) if key == FETCH else (None, list(words))
