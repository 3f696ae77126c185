"""`kw scrub`: a capture in, a capture that may be sent to others out. This module has its options."""

from __future__ import annotations

from decoders.named_tuple import NamedTuple


class ScrubOptions(NamedTuple):
    """What to scrub and how; `keep` are kinds of names that are not replaced."""

    source: str
    out: str
    keep: tuple[str, ...]
    salt_file: str | None
    names_file: str | None
    ports: tuple[int, ...]
    keylogs: tuple[str, ...]
    quiet: bool
    force: bool
