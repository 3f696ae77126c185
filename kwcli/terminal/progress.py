"""The number of bytes read in, a progress bar on standard error out: only on a terminal, only when it takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

QUIET_S: Final = 0.7
PERIOD_S: Final = 0.1
WIDTH: Final = 28


class TransientLine:
    """A temporary line in a terminal's last row; call `hide` before anything else is written there.

    Nothing is drawn where it is not `active`.
    """

    def __init__(self, env: Environment, *, wanted: bool) -> None:
        self._env = env
        self.active = wanted and env.stderr_terminal
        self._begun = env.monotonic()
        self._next = self._begun + QUIET_S
        self._visible = False

    def _seconds_if_due(self) -> float | None:
        """The seconds since the beginning when it is time to draw: not at once, nor more often than can be read."""
        if not self.active or self._env.is_paging:
            return None
        now = self._env.monotonic()
        if now < self._next:
            return None
        self._next = now + PERIOD_S
        return now - self._begun

    def _draw_line(self, text: str) -> None:
        """Draw as much of the text as fits on one row: a line that wraps cannot be erased."""
        width = self._env.columns
        self._redraw_line(text if width is None else text[: max(width - 1, 0)])
        self._visible = True

    def hide_line(self) -> None:
        """Erase the line."""
        if self._visible:
            self._redraw_line("")
            self._visible = False

    def _redraw_line(self, text: str) -> None:
        from kwcli.terminal_escaping import Terminal

        terminal = self._env.stderr
        assert isinstance(terminal, Terminal)
        terminal.redraw_line(text)
        terminal.flush()


class ProgressLine(TransientLine):
    """A bar of `total` bytes, or a count where the total is unknown."""

    def __init__(self, env: Environment, total: int | None, *, wanted: bool) -> None:
        super().__init__(env, wanted=wanted)
        self._total = total

    def set_total(self, total: int | None) -> None:
        """Set the total number of bytes, once it is known."""
        self._total = total

    def show_progress(self, done: int, exchanges: int) -> None:
        """Draw the bar when it is time to."""
        seconds = self._seconds_if_due()
        if seconds is None:
            return
        if self._total:
            share = min(done / self._total, 1.0)
            left = seconds * (1 - share) / share if share else 0.0
            text = f"{draw_bar(share, WIDTH)}  {left:3.0f} s left"
        else:
            text = f"{done / 1e6:,.1f} MB"
        self._draw_line(f"{text}  {exchanges:,} exchanges")


def draw_bar(share: float, width: int) -> str:
    """`━━━━━━━━────  67%`: a bar of `width` characters, and the percentage."""
    filled = int(share * width)
    return f"{'━' * filled}{'─' * (width - filled)} {share:4.0%}"
