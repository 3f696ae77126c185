"""A path into a body as people write it (`topics[].partitions[0].leader_id`) in, its steps out.

Four languages have this syntax and each its own meaning of it: words of `kw call` (`[]` is a new element), --select and
filters (`[]`, or no brackets at an array: every element), and the paths that declarations are spelt out to, which
`schema/getter` takes apart by itself: those are made by code, and read for each message.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["PathStep", "parse_path"]

_STEP: Final = re.compile(r"([A-Za-z0-9_$-]+)((?:\[\d{0,9}\])*)", re.ASCII)
_INDEX: Final = re.compile(r"\[(\d*)\]")


class PathStep(NamedTuple):
    """One name of a path, with what stands in its brackets; None for `[]`."""

    name: str
    indices: tuple[int | None, ...] = ()


def parse_path(text: str) -> tuple[PathStep, ...]:
    """The steps of a path. Raises ValueError, whose argument is the part that is no step."""
    steps = []
    for part in text.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ValueError(part)
        steps.append(PathStep(match[1], tuple(int(one) if one else None for one in _INDEX.findall(match[2]))))
    return tuple(steps)
