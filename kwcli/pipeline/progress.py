"""What a run has done so far in, a line on standard error out: only on a terminal, only when a run takes a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kwcli.progress import Transient, bar
from kwcli.render.units import amount, counted

if TYPE_CHECKING:
    from kwcli.env import Environment

__all__ = ["Bar"]

WIDTH: Final = 24


class Bar(Transient):
    """A bar over the bytes of all captures: `show` often, `hide` before anything else is said.

    `splits` is 0 where there are none to tell of.
    """

    def __init__(self, env: Environment, splits: int, size: int, *, wanted: bool) -> None:
        super().__init__(env, wanted=wanted)
        self._splits = splits
        self._size = size

    def show(self, size: int, splits: int) -> None:
        """So many bytes and splits are read; when that is all, tables are being written."""
        seconds = self._due()
        if seconds is not None:
            self._draw(self._fitting(size, splits, seconds))

    def _fitting(self, size: int, splits: int, seconds: float) -> str:
        """What the terminal has room for: what matters least goes first."""
        share = min(size / self._size, 1.0) if self._size else 0.0
        rate = size / seconds if seconds > 0 else 0.0
        left = f"{seconds * (1 - share) / share:.0f} s left" if share else ""
        parts = [
            bar(share, WIDTH),
            left if size < self._size else "writing tables",
            f"{amount(size)} of {amount(self._size)}",
            f"{amount(int(rate))}/s",
            f"{splits:,} of {counted(self._splits, 'split')}" if self._splits else "",
        ]
        parts = [part for part in parts if part]
        width = self._env.columns
        while width is not None and len("  ".join(parts)) >= width and len(parts) > 1:
            parts.pop()
        return "  ".join(parts)
