"""Bytes read in, a bar on standard error out: only on a terminal, only when it takes long enough to wonder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kwcli.env import Environment

QUIET_S: Final = 0.7
PERIOD_S: Final = 0.1
WIDTH: Final = 28
ERASE: Final = b"\r\x1b[K"


class Progress:
    """A bar of `total` bytes, or a count where the total is unknown; `hide` before rows go to the same terminal."""

    def __init__(self, env: Environment, total: int | None, *, wanted: bool) -> None:
        self._env = env
        self._total = total
        self._active = wanted and env.stderr_terminal
        self._begun = env.monotonic()
        self._next = self._begun + QUIET_S
        self._visible = False

    def expect(self, total: int | None) -> None:
        """How many bytes there will be, once that is known."""
        self._total = total

    def show(self, done: int, exchanges: int) -> None:
        """Draw the bar when it is time to."""
        if not self._active:
            return
        now = self._env.monotonic()
        if now < self._next:
            return
        self._next = now + PERIOD_S
        if self._total:
            share = min(done / self._total, 1.0)
            filled = int(share * WIDTH)
            left = (now - self._begun) * (1 - share) / share if share else 0.0
            bar = f"{'━' * filled}{'─' * (WIDTH - filled)} {share:4.0%}  {left:3.0f} s left"
        else:
            bar = f"{done / 1e6:,.1f} MB"
        self._env.stderr.write(ERASE + f"{bar}  {exchanges:,} exchanges".encode())
        self._env.stderr.flush()
        self._visible = True

    def hide(self) -> None:
        """Take the bar away."""
        if self._visible:
            self._env.stderr.write(ERASE)
            self._env.stderr.flush()
            self._visible = False
