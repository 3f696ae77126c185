"""How much of its inputs a run has read, and how many of their exchanges its filters let through, as one value.

An answer that was made of a part of the inputs has to say so: the exchanges that were not read may say the opposite.
"""

from __future__ import annotations

from decoders.named_tuple import NamedTuple

__all__ = ["PartialRun", "RunCoverage"]


class PartialRun(NamedTuple):
    """The fact that a run has not read its inputs to their end.

    `why` is `interrupted` (Ctrl-C, SIGTERM) or `limit` (--limit). `read` is how many bytes of the inputs were read, as
    they are on disk, and `of` how many there are; None where an input has no size: standard input, a pipe, traffic as
    it comes.
    """

    why: str
    read: int
    of: int | None = None


class RunCoverage(NamedTuple):
    """What an answer covers of its inputs.

    `partial` is None where the inputs were read to their end, or have no end (-i, --follow) and were ended by Ctrl-C.
    `matched` counts the exchanges that the filters let through, of `exchanges` read; `filtered`: there are filters.
    """

    partial: PartialRun | None = None
    matched: int = 0
    exchanges: int = 0
    filtered: bool = False
