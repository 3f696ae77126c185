"""The memory of a proxy and of its log under load: small requests, and a client that reads its answers too slowly.

Sizes are taken each second, and those after the first tenth of the time are judged. The backlog of the log is taken
into account: on a busy machine the log may hold more.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Final

from tests.bench.fake_broker import LOADS
from tests.bench.generator import Plan, connect, drive
from tests.bench.processes import Proxied, resident

RATE: Final = 15_000
# The most that memory may be from the middle between its least and its most, in MiB.
SPREAD: Final = 10.0
_NAMES: Final = ("proxy", "log")
_LOOK_S: Final = 1.0
# Answers that the slow reader has requested and not read: far more than buffers hold.
_ASKED: Final = 50
_PIECE: Final = 1 << 18
_PAUSE_S: Final = 0.25


class _Watch(threading.Thread):
    """Records the memory of processes each second until `end`."""

    def __init__(self, pids: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self._pids = pids
        self._over = threading.Event()
        self.sizes: list[list[float]] = []

    def run(self) -> None:
        while not self._over.wait(_LOOK_S):
            self.sizes.append([resident(pid) for pid in self._pids])

    def end(self) -> None:
        """Stop recording."""
        self._over.set()
        self.join()


def soak(proxy: Proxied, seconds: float) -> bool:
    """Print memory under load as it goes; returns whether it stayed within its bounds."""
    watch, reader = _Watch(proxy.pids), _SlowReader(proxy.port)
    watch.start()
    reader.start()
    begun = time.monotonic()
    step = max(seconds / 10, 1)
    warm = 0
    while (now := time.monotonic()) < begun + seconds - step / 2:
        at = len(watch.sizes)
        figures = drive(proxy.port, Plan("soak", "small", in_flight=5, most=RATE), step)
        print(
            f"{now + step - begun:6.0f} s {figures.rate:10,.0f} requests/s, {reader.read_size >> 20} MiB read slowly; "
            f"{', '.join(_range(sizes) for sizes in _columns(watch.sizes[at:]))}",
            flush=True,
        )
        warm = warm or len(watch.sizes)
    watch.end()
    reader.end()
    good = True
    for name, sizes in zip(_NAMES, _columns(watch.sizes[warm:]), strict=True):
        spread = (max(sizes) - min(sizes)) / 2
        good &= spread <= SPREAD and min(sizes) > 0  # a process that has ended has no memory
        print(f"{name} after the first step: {_range(sizes)}, that is ±{spread:.1f}; held to ±{SPREAD:.0f}")
    return good


def _columns(sizes: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    return list(zip(*sizes, strict=True))


def _range(sizes: Sequence[float]) -> str:
    return f"{min(sizes):.1f} to {max(sizes):.1f} MiB"


class _SlowReader(threading.Thread):
    """Asks for answers of 1 MiB and reads one of them a second."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._link = connect(port, None)
        self._over = threading.Event()
        self.read_size = 0

    def run(self) -> None:
        asked, answer = LOADS["big"]()
        with contextlib.suppress(OSError):
            self._link.sendall(asked * _ASKED)
            while not self._over.wait(_PAUSE_S):
                before = self.read_size // len(answer)
                self.read_size += len(self._link.recv(_PIECE))
                self._link.sendall(asked * (self.read_size // len(answer) - before))

    def end(self) -> None:
        """Stop reading."""
        self._over.set()
        self.join()
        self._link.close()
