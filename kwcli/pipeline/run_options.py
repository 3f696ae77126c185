"""What `kw pipeline run` is asked for, as one value; and the part of it that rows depend on, for the manifest."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

__all__ = ["Engine", "RunOptions", "WatchOptions"]

Engine = Literal["local", "stitch", "shuffle"]


class RunOptions(NamedTuple):
    """Checked words of the command line. `engine` may be `auto`; no `ports`: Kafka is recognised on any of them."""

    sources: tuple[str, ...]
    points: tuple[tuple[str, str], ...]
    out: str
    since_ns: int | None
    until_ns: int | None
    filter: str
    ports: tuple[int, ...]
    tables: tuple[str, ...]
    bodies: bool
    reveal_secrets: bool
    engine: Engine | Literal["auto"]
    master: str | None
    split_size: int | None
    strict: bool
    explain: bool
    verbose: int
    quiet: bool
    keylogs: tuple[str, ...] = ()

    def for_rows(self) -> dict[str, Any]:
        """What the rows depend on, whoever makes them and in however many parts."""
        from kwcli.inputs import utf8_text

        keys = {"keylogs": [[utf8_text(name), _size(name)] for name in self.keylogs]} if self.keylogs else {}
        return keys | {
            "since_ns": self.since_ns,
            "until_ns": self.until_ns,
            "filter": utf8_text(self.filter),
            "ports": sorted(set(self.ports)),
            "tables": list(self.tables),
            "bodies": self.bodies,
            "reveal_secrets": self.bodies and self.reveal_secrets,
        }


class WatchOptions(NamedTuple):
    """What `kw pipeline watch` is asked for besides what a run is. `keep_days` 0: all dates are kept.

    `once`: what is there, and no more; `finish`: that, and what is open is settled as the end of the captures does.
    `thresholds` are words for findings, `lag.records=5000`.
    """

    lateness_s: float = 5.0
    interval_s: float = 2.0
    batch_size: int = 256 << 20
    keep_days: int = 0
    renames: bool = True
    once: bool = False
    finish: bool = False
    metrics: tuple[str, int] | None = None
    doctor: bool = False
    thresholds: tuple[str, ...] = ()
    table_format: str = "parquet"


def _size(name: str) -> int:
    """Bytes of a file, 0 where there is none: that is told when it is read."""
    try:
        return os.stat(name).st_size
    except OSError:
        return 0
