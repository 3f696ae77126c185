"""Free TCP ports of this machine: a row of ports from a slice that this process has to itself, in the range below that
of outgoing connections, or the next free ports from a given one on."""

from __future__ import annotations

import random
import socket
from functools import cache
from typing import Final

__all__ = ["find_free_ports", "find_next_free_ports"]

_LOWEST: Final = 20000
_HIGHEST: Final = 32000
_LAST: Final = 65535
# Ports of a slice: more than the largest cluster needs, and so few that each of many processes finds a slice.
_SLICE: Final = 400


class _PortSlice:
    """Ports that this process alone takes, in turn: a node that stops for a while finds its port free again.

    A socket that is bound to the first port, and does not listen, keeps other processes of kw out.
    """

    def __init__(self) -> None:
        slices = range(_LOWEST, _HIGHEST, _SLICE)
        # Where other processes keep all slices, the lowest is shared.
        self._first = next(filter(_reserve_port, random.SystemRandom().sample(slices, len(slices))), _LOWEST)
        self._next = self._first + 1

    def take_ports(self, count: int, host: str) -> list[int]:
        """`count` free ports in a row."""
        if count >= _SLICE:  # they would reach into the slice of another process, which may have it or not
            raise OSError(f"{count} ports in a row are more than the {_SLICE - 1} of one process")
        for _ in range(_SLICE):
            if self._next + count > self._first + _SLICE:
                self._next = self._first + 1
            found = list(range(self._next, self._next + count))
            if all(_is_free_port(host, port) for port in found):
                self._next += count
                return found
            self._next += 1
        raise OSError(f"no {count} ports in a row are free behind {self._first}")


_port_slice: Final = cache(_PortSlice)


def _reserve_port(port: int) -> bool:
    """Bind a port until this process ends; returns whether it was free."""
    keeper = socket.socket()
    try:
        keeper.bind(("127.0.0.1", port))
    except OSError:
        keeper.close()
        return False
    keeper.detach()
    return True


def find_free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """`count` ports in a row that nobody listens on at this moment, and that no other process of kw takes."""
    return _port_slice().take_ports(count, host)


def find_next_free_ports(first: int, count: int, host: str = "127.0.0.1") -> list[int]:
    """The first `count` free ports from `first` upward; fewer where there are no more."""
    found: list[int] = []
    port = first
    while len(found) < count and port <= _LAST:
        if _is_free_port(host, port):
            found.append(port)
        port += 1
    return found


def _is_free_port(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
