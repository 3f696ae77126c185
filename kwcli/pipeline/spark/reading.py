"""What was asked for in, splits of captures and their segments out."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from decoders.capture.reader import CaptureReader
from kwcli.env import Environment
from kwcli.inputs import InputProblem, open_source

if TYPE_CHECKING:
    from decoders.streams.chunks import Segment

__all__ = ["Asked", "Split", "plan", "segments"]


class Asked(NamedTuple):
    """Which captures, and what of them; times in nanoseconds since 1970, `until` not included."""

    paths: tuple[str, ...]
    point: str = ""
    ports: frozenset[int] | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    split_size: int | None = None


class Split(NamedTuple):
    """What one task reads: a whole file."""

    point: str
    path: str


def plan(asked: Asked) -> list[Split]:
    """The tasks."""
    found: list[str] = []
    for path in asked.paths:
        names = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
        if not names:
            raise InputProblem(f"{path}: no such file")
        found += names
    return [Split(asked.point, os.path.abspath(name)) for name in dict.fromkeys(found)]


def segments(split: Split, asked: Asked) -> Iterator[tuple[str, list[Segment]]]:
    """The segments of a split that were asked for, in batches, each with the name of its capture."""
    source = open_source(split.path, Environment.of_process())
    reader = CaptureReader()
    try:
        for piece in source.pieces():
            yield split.path, _wanted(reader.feed(piece), asked)
        yield split.path, _wanted(reader.finish(), asked)
    finally:
        source.close()


def _wanted(batch: list[Segment], asked: Asked) -> list[Segment]:
    since, until = asked.since_ns, asked.until_ns
    if since is not None:
        batch = [segment for segment in batch if segment[1] >= since]
    if until is not None:
        batch = [segment for segment in batch if segment[1] < until]
    if asked.ports is not None:
        wanted = {port.to_bytes(2, "big") for port in asked.ports}
        batch = [segment for segment in batch if segment[0][-4:-2] in wanted or segment[0][-2:] in wanted]
    return batch
