"""What `kw scrub` does: a capture in, one that may be sent to others out. Here: its options."""

from __future__ import annotations

from typing import NamedTuple


class ScrubOptions(NamedTuple):
    """What to scrub and how; `keep` are kinds of names that stay."""

    source: str
    out: str
    keep: tuple[str, ...] = ()
    salt_file: str | None = None
    names_file: str | None = None
    ports: tuple[int, ...] = ()
    keylogs: tuple[str, ...] = ()
    quiet: bool = False
