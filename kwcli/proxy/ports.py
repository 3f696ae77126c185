"""Node ids in, ports out: the same ones at every start (contract.md, "What scripts rely on").

Below 1000 the port follows from the id; larger ids get theirs in the order in which they are first seen, which is kept
in a file for each cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

from kwcli.folders import own_folder

SMALL: Final = 1000
PORT_MAX: Final = 65535


class Ports:
    """`file` may be missing, broken or not writable: then the order begins anew."""

    def __init__(self, base: int, cluster_id: str | None = None, file: str | None = None) -> None:
        self._base = base
        self._cluster_id = cluster_id
        self._file = file if cluster_id else None
        self._large = _kept(self._file).get(cluster_id or "", [])

    @property
    def bootstrap(self) -> int:
        """The port of the listener that leads to any broker."""
        return self._base

    def port(self, node_id: int) -> int | None:
        """The port of this node; None where there are no ports left."""
        if node_id < SMALL:
            port = self._base + 1 + node_id
        else:
            if node_id not in self._large:
                self._large.append(node_id)
                self._keep()
            port = self._base + 1 + SMALL + self._large.index(node_id)
        return port if port <= PORT_MAX else None

    def _keep(self) -> None:
        if self._file is None or self._cluster_id is None:
            return
        every = {**_kept(self._file), self._cluster_id: self._large}
        fresh = f"{self._file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(fresh, "w", encoding="utf-8") as file:
                json.dump(every, file)
            os.replace(fresh, self._file)
        except OSError:
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
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: ids
        for name, ids in found.items()
        if isinstance(ids, list) and all(isinstance(each, int) and each >= SMALL for each in ids)
    }
