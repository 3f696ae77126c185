"""What `kw replay` does: requests of a recording in, asked again of another cluster. Here: its own options."""

from __future__ import annotations

from typing import NamedTuple


class ReplayOptions(NamedTuple):
    """What is asked again and how; the values are words of the command line."""

    speed: str = "1"
    changes: tuple[str, ...] = ()
    map: tuple[str, ...] = ()
    dry_run: bool = False
    replay_client_id: str | None = None
