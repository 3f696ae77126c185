"""A network of its own for the calling thread and what it starts: a loopback, and nothing else.

Packets dropped and addresses added there disturb nothing else on the machine. Needs Linux and root.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

__all__ = ["NetworkNamespace", "cannot_isolate", "join_network"]

_CLONE_NEWNET: Final = 0x40000000
_TABLE: Final = "inet kw"
# A state of /proc/net/tcp.
_ESTABLISHED: Final = "01"


def cannot_isolate() -> str | None:
    """The reason why no network namespace can be made here, as one sentence, or None."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux and the right to make a network of its own"
    if shutil.which("nft") is None or shutil.which("ip") is None:
        return "needs ip and nft (iproute2, nftables) on the PATH"
    probe = ["unshare", "-n", "nft", "add", "table", *_TABLE.split()]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        return "needs a kernel that filters packets (nftables)"
    return None


@contextmanager
def join_network(name: str) -> Iterator[None]:
    """Have the calling thread, and what it starts, in the network of `ip netns add NAME`."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(there, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"no way into the network namespace {name}")
        yield
    finally:
        failed = libc.setns(before, _CLONE_NEWNET)
        os.close(there)
        os.close(before)
        if failed:
            raise OSError(ctypes.get_errno(), "no way back from the network namespace")


class NetworkNamespace:
    """`with NetworkNamespace() as network: …`; `addresses` are more addresses of its loopback besides 127.0.0.1."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._before = -1

    def __enter__(self) -> Self:
        self._before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if self._libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace")
        _run("ip", "link", "set", "lo", "up")
        for address in self._addresses:
            _run("ip", "address", "add", f"{address}/32", "dev", "lo")
        _run("nft", "add", "table", *_TABLE.split())
        _run("nft", "add", "chain", *_TABLE.split(), "arriving", "{ type filter hook input priority 0; }")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        failed = self._libc.setns(self._before, _CLONE_NEWNET)
        os.close(self._before)
        if failed:
            raise OSError(ctypes.get_errno(), "no way back from the network namespace")

    def drop(self, port: int, percent: int) -> None:
        """Drop a percentage of the packets from and to a port as they arrive, after tcpdump has seen them."""
        for side in ("sport", "dport"):
            words = ["tcp", side, str(port), *(f"numgen random mod 100 < {percent}".split() if percent < 100 else ())]
            _run("nft", "add", "rule", *_TABLE.split(), "arriving", *words, "drop")

    def drop_established(self, port: int) -> None:
        """Drop all packets of the connections to a port that are open now, as a NAT does that has forgotten them."""
        for line in Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]:
            here, there, state = (word.rpartition(":")[2] for word in line.split()[1:4])
            if int(there, 16) == port and state == _ESTABLISHED:
                self.drop(int(here, 16), 100)

    def drop_nothing(self) -> None:
        """Stop dropping packets."""
        _run("nft", "flush", "chain", *_TABLE.split(), "arriving")


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stderr.strip()}")
