"""Keys in, the same keys one after another out: each goes where keys go once the one before has done all that it does.

A key goes through the queues of panes, and what it asks for comes back through them; the next key may only be given to
a pane when that has happened, or it would go to a pane that is no longer shown. So a marker goes the same way as each
key. Where the lines that a key is about are still to be found, the key waits for them, and later ones behind it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Protocol

from textual.events import Key
from textual.message import Message

__all__ = ["KeyPassed", "WaitingKeys"]

# A marker goes so many times through the queues: a line that is typed answers by its second message.
_ROUNDS: Final = 3
# Keys that are done at once, whatever waits.
_AT_ONCE: Final = frozenset({"ctrl+c", "ctrl+q", "ctrl+z", "Q"})


class KeyPassed(Message):
    """The marker behind a key; `left`: how many times it still goes through the queues."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left


class Screens(Protocol):
    """The program that keys go to."""

    app_focus: Any  # whether the terminal has the focus

    @property
    def focused(self) -> Any:
        """What keys go to."""

    @property
    def screen(self) -> Any:
        """The screen at the top."""

    def describe_what_key_waits_for(self, key: str) -> str:
        """What a key has to wait for, as in "looking for findings"; empty where it can be done."""

    async def pass_key(self, event: Key) -> None:
        """Give a key to where keys go."""

    def show_notice(self, notice: str) -> None:
        """Show a sentence until the next key."""


class WaitingKeys:
    """The keys that are still to be done. `is_busy`: one is under way."""

    def __init__(self, app: Screens) -> None:
        self._app = app
        self._keys: deque[Key] = deque()
        self._marked: Any = None  # the pane that the marker was given to
        self.is_busy = False

    async def do_or_keep_key(self, event: Key) -> None:
        """Do a key, or keep it until those before it are done."""
        if event.key in _AT_ONCE:
            self._keys.clear()
            await self._app.pass_key(event)
            return
        awaits = not self.is_busy and self._keys
        if awaits and event.key == "escape":
            self._keys.clear()
            self._app.show_notice("given up")
            return
        self._keys.append(event)
        await self.go_on()

    async def go_on(self) -> None:
        """Do the next key where it can be done now."""
        if self.is_busy and self._marked is not None and not self._marked.is_attached:
            self._send_marker(_ROUNDS)  # what had the marker is gone
        if self.is_busy or not self._keys:
            return
        awaited = self._app.describe_what_key_waits_for(self._keys[0].key)
        if awaited:
            count = len(self._keys)
            said = "this key waits" if count == 1 else f"{count} keys wait"
            self._app.show_notice(f"{awaited}: {said}, Esc gives it up")
            return
        self.is_busy = True
        event = self._keys.popleft()
        target = self._app.focused
        await self._app.pass_key(event)
        self._send_marker(_ROUNDS, target)

    def _send_marker(self, left: int, target: Any = None) -> None:
        target = self._app.focused if target is None or not target.is_attached else target
        self._marked = self._app.screen if target is None else target
        self._marked.post_message(KeyPassed(left))

    async def handle_marker(self, passed: KeyPassed) -> None:
        """Go on once the marker was everywhere."""
        if passed.left > 1 or not self._is_ready:
            self._send_marker(max(passed.left - 1, 1))
            return
        self.is_busy, self._marked = False, None
        await self.go_on()

    @property
    def _is_ready(self) -> bool:
        """Whether something takes keys: a screen that is being opened does not yet.

        Nothing does while the terminal has lost the focus, which the next key gives back.
        """
        return self._app.focused is not None or not self._app.app_focus

    @property
    def waits(self) -> bool:
        """Whether keys wait for something that is still to be found."""
        return bool(self._keys) and not self.is_busy
