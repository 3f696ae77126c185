"""What a run has done so far in, a line on standard error out: only on a terminal, only when a run takes a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kwcli.progress import ERASE, PERIOD_S, QUIET_S
from kwcli.render.units import amount

if TYPE_CHECKING:
    from kwcli.env import Environment

__all__ = ["Bar"]

WIDTH: Final = 24


class Bar:
    """A bar over the bytes of all files: `show` often, `hide` before anything else is said."""

    def __init__(self, env: Environment, files: int, size: int, *, wanted: bool) -> None:
        self._env = env
        self._files = files
        self._size = size
        self._active = wanted and env.stderr_terminal
        self._begun = env.monotonic()
        self._next = self._begun + QUIET_S
        self._visible = False

    def show(self, size: int, files: int, doing: str = "") -> None:
        """So many bytes and files are read; `doing` says what follows where there is nothing more to read."""
        if not self._active:
            return
        now = self._env.monotonic()
        if now < self._next:
            return
        self._next = now + PERIOD_S
        self._env.stderr.write(ERASE + self._fitting(size, files, now - self._begun, doing).encode())
        self._env.stderr.flush()
        self._visible = True

    def hide(self) -> None:
        """Take the bar away."""
        if self._visible:
            self._env.stderr.write(ERASE)
            self._env.stderr.flush()
            self._visible = False

    def _fitting(self, size: int, files: int, seconds: float, doing: str) -> str:
        """As much of it as the terminal has room for: a line that breaks cannot be taken away."""
        share = min(size / self._size, 1.0) if self._size else 0.0
        filled = int(share * WIDTH)
        rate = size / seconds if seconds > 0 else 0.0
        left = f"{seconds * (1 - share) / share:.0f} s left" if share else ""
        parts = [
            f"{'━' * filled}{'─' * (WIDTH - filled)} {share:4.0%}",
            doing or left,
            f"{amount(size)} of {amount(self._size)}",
            f"{amount(int(rate))}/s",
            f"{files:,} of {self._files:,} files",
        ]
        text = "  ".join(part for part in parts if part)
        width = self._env.columns
        while width is not None and len(text) >= width and len(parts) > 1:
            parts.pop()
            text = "  ".join(part for part in parts if part)
        return text if width is None else text[: max(width - 1, 0)]
