"""Nodes that answers name in, listening sockets with ports that stay the same out."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from kwcli.net.config.client_config import Address
from kwcli.net.listening_sockets import open_listener
from kwcli.net.parse_addresses import PORT_MAX, format_address
from kwcli.private_files import create_private_folder, remove_abandoned_files, write_private_file
from kwcli.proxy.relay.rewrite_addresses import Endpoint
from kwcli.run_environment import Failure
from kwcli.user_folders import own_folder

SMALL: Final = 1000


class ProxyPorts:
    """Ports by node id. `file` keeps the order of large ids; a missing, broken or unwritable file begins anew."""

    def __init__(
        self,
        base: int,
        cluster_id: str | None = None,
        file: str | None = None,
        *,
        nodes: Iterable[int] = (),
        keep: bool = True,
    ) -> None:
        """`nodes` get their ports at once, in this order. Without `keep` the file is never written."""
        self.base = base  # 0: not chosen yet
        self._cluster_id = cluster_id
        self._file = file if cluster_id else None
        self._keep = keep
        if self._file is not None and keep:
            remove_abandoned_files(os.path.dirname(self._file))
        kept = _read_kept_ports(self._file).get(cluster_id or "", [])
        self._places = {number: place for place, number in enumerate(dict.fromkeys(kept))}
        self._fresh = False  # some node ids are not in the file yet
        for number in nodes:
            self.find_port(number)
        self.write_ports_file()

    @property
    def bootstrap_port(self) -> int:
        """The port of the listener that leads to any broker."""
        return self.base

    def find_port(self, node_id: int) -> int | None:
        """The port of this node; None where there are no ports left. Call `write_ports_file` afterwards."""
        if node_id < 0:
            return None
        if node_id < SMALL:
            port = self.base + 1 + node_id
        else:
            place = self._places.get(node_id, len(self._places))
            port = self.base + 1 + SMALL + place
            if port <= PORT_MAX and node_id not in self._places:
                self._places[node_id] = place
                self._fresh = True
        return port if port <= PORT_MAX else None

    def write_ports_file(self) -> None:
        """Write the node ids that are not in the file yet to it."""
        if not self._fresh or not self._keep or self._file is None or self._cluster_id is None:
            return
        self._fresh = False
        every = {**_read_kept_ports(self._file), self._cluster_id: list(self._places)}
        with suppress(OSError):  # the ports hold for this run
            create_private_folder(os.path.dirname(self._file))
            write_private_file(self._file, json.dumps(every).encode())


# Where the search for a free range begins, and ends: below the ports that systems give to outgoing connections.
FIRST_BASE: Final = 19092
LAST_BASE: Final = 32000
_STEP: Final = 100


def list_port_bases(base: int) -> Iterable[int]:
    """The bases to try one after the other: the one that is asked for, or where it is 0 those of many ranges."""
    return (base,) if base else range(FIRST_BASE, LAST_BASE, _STEP)


def find_ports_file(variables: Mapping[str, str]) -> str:
    """Where the order of large node ids is kept: `$XDG_STATE_HOME/kw/proxy-ports.json`."""
    return os.fspath(own_folder("state", variables) / "proxy-ports.json")


def _read_kept_ports(path: str | None) -> dict[str, list[int]]:
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


# Listeners of nodes


Opened = Callable[["Listener", socket.socket], None]


class Listener:
    """The listener of a node. `node_id` None: of bootstrap, which leads to the first of `targets` that accepts.

    Its socket listens as soon as it is bound; the event loop accepts from it a moment later, and clients that connect
    meanwhile wait.
    """

    __slots__ = ("address", "node_id", "rack", "targets")

    def __init__(self, node_id: int | None, address: Address, targets: tuple[Address, ...], rack: str | None) -> None:
        self.node_id = node_id
        self.address = address  # as clients are told
        self.targets = targets
        self.rack = rack

    @property
    def name(self) -> str:
        """The short name for people: `boot` or the node's id."""
        return "boot" if self.node_id is None else str(self.node_id)

    @property
    def title(self) -> str:
        """The name within a sentence: `bootstrap` or `node ID`."""
        return "bootstrap" if self.node_id is None else f"node {self.node_id}"


def list_listener_rows(listeners: Iterable[Listener]) -> list[dict[str, Any]]:
    """Listeners as rows for programs."""
    return [
        {
            "node": each.name,
            "real": [format_address(target) for target in each.targets],
            "local": format_address(each.address),
            "rack": each.rack,
        }
        for each in listeners
    ]


class ProxyListeners:
    """All listeners of a proxy. `opened` gets every new listener with its socket, `say` lines for people."""

    def __init__(
        self, ports: ProxyPorts, bind: str, advertise: str, opened: Opened, say: Callable[[str], None]
    ) -> None:
        self._ports = ports
        self._bind = bind
        self._advertise = advertise
        self._opened = opened
        self._say = say
        self._nodes: dict[int, Listener] = {}
        self._failed: set[int] = set()
        self.boot: Listener | None = None

    def open_bootstrap(self, targets: tuple[Address, ...]) -> Listener:
        """Open the bootstrap listener, which leads to `targets`. Raises Failure."""
        self.boot = self._open_listener(None, self._ports.bootstrap_port, targets, None)
        return self.boot

    def open_node(self, node_id: int, target: Address, rack: str | None = None) -> Listener:
        """Open the listener of a node. Raises Failure."""
        port = self._ports.find_port(node_id)
        if port is None:
            raise Failure(f"no port is left for node {node_id}: give a lower --port-base")
        self._nodes[node_id] = self._open_listener(node_id, port, (target,), rack)
        return self._nodes[node_id]

    @property
    def all_listeners(self) -> list[Listener]:
        """Every listener, the bootstrap listener first."""
        boot = [self.boot] if self.boot is not None else []
        return [*boot, *(self._nodes[number] for number in sorted(self._nodes))]

    def find_brokers_behind(self, listener: Listener) -> list[Address]:
        """The brokers that a listener leads to; for bootstrap the given servers first, then the nodes found since."""
        others = self._nodes.values() if listener is self.boot else ()
        return list(dict.fromkeys([*listener.targets, *(target for each in others for target in each.targets)]))

    def open_listeners_and_find_addresses(self, found: Iterable[Endpoint]) -> Mapping[int, Address]:
        """Where clients find the nodes that a broker names, which are learnt; nodes without a listener are left out."""
        places: dict[int, Address] = {}
        for each in found:
            if each.node_id in places:  # said to be in two places: the first counts
                continue
            listener = self._nodes.get(each.node_id)
            target = (each.host, each.port)
            if listener is None:
                listener = self._open_late_node(each.node_id, target)
                if listener is None:
                    continue
            elif listener.targets[0] != target:
                was = format_address(listener.targets[0])
                self._say(
                    f"node {each.node_id} is now at {format_address(target)}, no longer at {was}; its listener stays"
                )
                listener.targets = (target,)
            places[each.node_id] = listener.address
        self._ports.write_ports_file()
        return places

    def find_listener_addresses(self, found: Iterable[Endpoint]) -> Mapping[int, Address]:
        """Where clients find the nodes of an answer that no broker gave; nodes without a listener are left out."""
        return {each.node_id: self._nodes[each.node_id].address for each in found if each.node_id in self._nodes}

    def _open_late_node(self, node_id: int, target: Address) -> Listener | None:
        try:
            listener = self.open_node(node_id, target)
        except Failure as failure:
            if node_id not in self._failed:
                self._failed.add(node_id)
                self._say(failure.text)
            return None
        self._failed.discard(node_id)
        self._say(f"node {node_id}: {format_address(target)} at {format_address(listener.address)}")
        return listener

    def _open_listener(
        self, node_id: int | None, port: int, targets: tuple[Address, ...], rack: str | None
    ) -> Listener:
        sock = open_listener(self._bind, port)
        listener = Listener(node_id, (self._advertise, sock.getsockname()[1]), targets, rack)
        self._opened(listener, sock)
        return listener
