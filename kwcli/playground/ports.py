"""Free TCP ports of this machine: any row of them, below the range that outgoing connections take theirs from, or the
next ones after one."""

from __future__ import annotations

import random
import socket
from typing import Final

__all__ = ["free_ports", "next_ports"]

_LOWEST: Final = 20000
_HIGHEST: Final = 32000
_LAST: Final = 65535


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """`count` ports in a row that nobody listens on at this moment."""
    dice = random.SystemRandom()
    while True:
        first = dice.randrange(_LOWEST, _HIGHEST - count)
        found = list(range(first, first + count))
        if all(_is_free(host, port) for port in found):
            return found


def next_ports(first: int, count: int, host: str = "127.0.0.1") -> list[int]:
    """The first `count` free ports from `first` upward; fewer where there are no more."""
    found: list[int] = []
    port = first
    while len(found) < count and port <= _LAST:
        if _is_free(host, port):
            found.append(port)
        port += 1
    return found


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
