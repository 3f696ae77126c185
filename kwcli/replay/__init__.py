"""`kw replay` asks the requests of a recording again, of another cluster. Here: its own options."""

from __future__ import annotations

from decoders.named_tuple import NamedTuple


class ReplayOptions(NamedTuple):
    """The options of `kw replay` as given: what is asked again, and how."""

    speed: str
    changes: tuple[str, ...]
    map: tuple[str, ...]
    dry_run: bool
    replay_client_id: str | None
