"""Node ids in, ports out: the same ones at every start (contract.md, "What scripts rely on").

Below 1000 the port follows from the id; larger ids get theirs in the order in which they are first seen, which is kept
in a file for each cluster.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from kwcli.folders import own_folder
from kwcli.net.core.addresses import PORT_MAX
from kwcli.processes import sweep

SMALL: Final = 1000


class ProxyPorts:
    """`file` may be missing, broken or not writable: then the order begins anew."""

    def __init__(
        self,
        base: int,
        cluster_id: str | None = None,
        file: str | None = None,
        *,
        nodes: Iterable[int] = (),
        keep: bool = True,
    ) -> None:
        """`nodes` get their ports at once, in this order. Without `keep` the file is read only."""
        self._base = base
        self._cluster_id = cluster_id
        self._file = file if cluster_id else None
        self._keep = keep
        if self._file is not None and keep:
            sweep(f"{glob.escape(self._file)}.*")
        kept = _kept(self._file).get(cluster_id or "", [])
        self._places = {number: place for place, number in enumerate(dict.fromkeys(kept))}
        self._fresh = False  # some are not in the file yet
        for number in nodes:
            self.port(number)
        self.keep()

    @property
    def bootstrap(self) -> int:
        """The port of the listener that leads to any broker."""
        return self._base

    def port(self, node_id: int) -> int | None:
        """The port of this node; None where there are no ports left. `keep` follows."""
        if node_id < 0:
            return None
        if node_id < SMALL:
            port = self._base + 1 + node_id
        else:
            place = self._places.get(node_id, len(self._places))
            port = self._base + 1 + SMALL + place
            if port <= PORT_MAX and node_id not in self._places:
                self._places[node_id] = place
                self._fresh = True
        return port if port <= PORT_MAX else None

    def keep(self) -> None:
        """Write down what is not in the file yet."""
        if not self._fresh or not self._keep or self._file is None or self._cluster_id is None:
            return
        self._fresh = False
        every = {**_kept(self._file), self._cluster_id: list(self._places)}
        fresh = f"{self._file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(fresh, "w", encoding="utf-8") as file:
                json.dump(every, file)
            os.replace(fresh, self._file)
        except OSError:
            with suppress(OSError):  # half a file on a full disk
                os.unlink(fresh)
            return  # the ports hold for this run


def ports_file(variables: Mapping[str, str]) -> str:
    """Where the order of large node ids is kept: `$XDG_STATE_HOME/kw/proxy-ports.json`."""
    return os.fspath(own_folder("state", variables) / "proxy-ports.json")


def _kept(path: str | None) -> dict[str, list[int]]:
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: ids
        for name, ids in found.items()
        if isinstance(ids, list) and all(isinstance(each, int) and each >= SMALL for each in ids)
    }
