"""The options of `kw pipeline run`, as one value; and the options that rows depend on, for the manifest."""

from __future__ import annotations

import os
from typing import Any, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["Engine", "RunOptions", "WatchOptions"]

Engine = Literal["local", "stitch"]


class RunOptions(NamedTuple):
    """The checked options of a run. `engine` may be `auto`; without `ports` Kafka is recognised on any port.

    `jobs` is the number of workers of the engine `local`.
    """

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
    jobs: int = 1
    host_names: tuple[tuple[str, str], ...] = ()  # addresses and names, of --hosts
    names_from: str | None = None
    topic_names: tuple[tuple[str, str], ...] = ()  # ids and names, of the source `names_from`
    records: bool = False
    schemas: tuple[str, ...] = ()  # files and folders

    def select_options_of_rows(self) -> dict[str, Any]:
        """The options that the rows depend on, whichever engine makes them and in however many splits."""
        from kwcli.reading.capture_sources import escape_non_utf8

        keys: dict[str, Any] = (
            {"keylogs": [[escape_non_utf8(name), _read_file_size(name)] for name in self.keylogs]}
            if self.keylogs
            else {}
        )
        if self.records:
            keys["records"] = True
        if self.schemas:
            keys["schemas"] = [[escape_non_utf8(name), _read_file_size(name)] for name in self.schemas]
        if self.host_names:
            keys["hosts"] = sorted(map(list, self.host_names))
        if self.topic_names:
            keys["topic_names"] = [[identity, escape_non_utf8(name)] for identity, name in self.topic_names]
        return keys | {
            "since_ns": self.since_ns,
            "until_ns": self.until_ns,
            "filter": escape_non_utf8(self.filter),
            "ports": sorted(set(self.ports)),
            "tables": list(self.tables),
            "bodies": self.bodies,
            "reveal_secrets": self.bodies and self.reveal_secrets,
        }


class WatchOptions(NamedTuple):
    """The options of `kw pipeline watch` besides those of a run. `keep_days` 0: all dates are kept.

    `once`: read what is there, then stop; `finish`: also settle what is open, as at the end of the captures.
    `thresholds` are settings of findings, such as `lag.records=5000`. `commands` are texts `[NAME=]COMMAND`, `bpf` is
    the kernel filter of `interfaces`; `restart`: a command that ends is started again.
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
    commands: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    bpf: str | None = None
    restart: bool = False


def _read_file_size(name: str) -> int:
    """The size of a file in bytes; 0 for a missing file, which is reported when it is read."""
    try:
        return os.stat(name).st_size
    except OSError:
        return 0
