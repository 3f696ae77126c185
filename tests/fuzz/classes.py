"""The classes of random input: a name, a function that tries one seed, and the seconds after which a seed hangs.

The function of a class makes its input with the given dice, tries it and gives the number of inputs tried; any
exception is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, NamedTuple

from tests.cli import hostile_messages
from tests.fuzz import (
    bombs,
    closes,
    codec,
    damage,
    key_logs,
    lies,
    log_lines,
    lossy,
    names,
    odd_talks,
    odd_values,
    relabelled,
    values,
)

__all__ = ["CLASSES", "Class"]


class Class(NamedTuple):
    """A function that tries one seed, and the seconds that no seed takes, even on a busy machine."""

    try_one: Callable[[Random], int]
    patience_s: int = 120


CLASSES: Final[Mapping[str, Class]] = {
    "codec": Class(codec.try_messages),
    "lossy": Class(lossy.try_capture, 600),
    "closes": Class(closes.try_connections),
    "bombs": Class(bombs.try_bomb, 600),
    "names": Class(names.try_command),
    "views": Class(hostile_messages.try_views),
    "damage": Class(damage.try_capture, 600),
    "lies": Class(lies.try_broker, 300),
    "relabelled": Class(relabelled.try_capture),
    "key-logs": Class(key_logs.try_key_log),
    "request-log": Class(odd_values.try_log),
    "ndjson-values": Class(odd_values.try_ndjson),
    "odd-talks": Class(odd_talks.try_talk),
    "log-lines": Class(log_lines.try_lines),
    "values": Class(values.try_values),
}
