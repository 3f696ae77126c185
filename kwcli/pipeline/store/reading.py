"""A folder of tables in, what it covers out: for those that only read them."""

from __future__ import annotations

import time
from typing import Final

from kwcli.exits import Failure
from kwcli.pipeline.store.files import OutputFolder, local_root
from kwcli.pipeline.store.lock import Lock
from kwcli.pipeline.store.manifest import Manifest
from kwcli.pipeline.store.store import JOURNAL, LOCK, MARK, read_manifest, recover, refuse_foreign, told

# A run that is putting its tables in place needs a moment.
_PATIENCE_S: Final = 10.0
_LOOK_S: Final = 0.05


def tables_at(place: str) -> tuple[str, Manifest]:
    """The folder as an absolute path, and what its tables cover; a run that was interrupted at its end is ended first.

    Raises Failure where there are no tables, and where they cannot be read.
    """
    files = OutputFolder(local_root(place))
    with told(place):
        if not files.exists(""):
            raise Failure(f"{place}: no such folder")
        files.names("")  # or it cannot be looked into
        if not files.exists(MARK):
            raise Failure(f"{place}: no tables; kw pipeline run makes them")
        refuse_foreign(files, place)
        _wait_whole(files, place)
        manifest = read_manifest(files, place)
        if manifest is None:
            raise Failure(f"{place}: no tables yet; the run that was to make them has not ended")
        for name, table in manifest.tables.items():
            size = 0
            for path in table.files:
                if (found := files.size(path)) is None:
                    raise Failure(f"{place}: {path} is missing; the same kw pipeline run makes it again")
                size += found
            if size != table.size:
                raise Failure(f"{place}: a file of {name} was changed; the same kw pipeline run makes it again")
    return files.root, manifest


def _wait_whole(files: OutputFolder, place: str) -> None:
    """Until no run is between its tables and its manifest; ends one that was killed there."""
    until = time.monotonic() + _PATIENCE_S
    while files.exists(JOURNAL):
        lock = Lock(files.path(LOCK))
        if lock.take():
            try:
                recover(files, place)
            finally:
                lock.release()
        elif time.monotonic() > until:
            raise Failure(f"{place}: another run ({lock.holder()}) is putting its tables in place")
        else:
            time.sleep(_LOOK_S)
