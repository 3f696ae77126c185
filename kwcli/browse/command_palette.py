"""Names of actions in, the actions run out: what the command palette lists, each on the pane that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from textual.app import SystemCommand
from textual.command import DiscoveryHit, Hit, Hits, Provider

from kwcli.browse.actions import ACTIONS, Place, list_key_labels
from kwcli.browse.panes.line_pane import LinePane

__all__ = ["ActionProvider", "list_palette_commands", "run_named_action"]


class Panes(Protocol):
    """The program on the screen, and its panes."""

    list_pane: Any
    ladder_pane: Any
    findings_pane: Any
    top_pane: Any
    message_pane: Any
    bytes_pane: Any
    view: LinePane

    @property
    def focused(self) -> Any:
        """What keys go to."""

    @property
    def is_message_shown(self) -> bool:
        """Whether a message is shown."""

    def show_view(self, pane: LinePane) -> None:
        """Show a pane at the top."""

    def on_list_pane_message_wanted(self) -> None:
        """Open the message."""

    def on_message_pane_bytes_toggled(self) -> None:
        """Show or hide the bytes."""

    async def run_action(self, action: str, default_namespace: Any = None) -> bool:
        """Run an action of a pane."""


def list_palette_commands(app: Panes) -> Iterator[SystemCommand]:
    """The actions of the table, for the command palette."""
    for action in ACTIONS:
        yield SystemCommand(
            action.text,
            f"{' '.join(list_key_labels(action.keys))} · {action.name}",
            partial(run_named_action, app, action.name, action.where),
        )


class ActionProvider(Provider):
    """The actions whose text, name or key has the words that are typed; those whose name begins with them first."""

    async def discover(self) -> Hits:
        """All actions."""
        for name, about, run, *_ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(name, run, help=about)

    async def search(self, query: str) -> Hits:
        """The actions with these words; where there is none, a line that says so."""
        words, count = query.lower().split(), 0
        for name, about, run, *_ in self.app.get_system_commands(self.screen):
            keys, _, action = about.rpartition(" · ")
            text = f"{name} {action}".lower()
            if not words or not (query in keys.split() or all(word in text for word in words)):
                continue
            count += 1
            begins = [action.startswith("_".join(words)), query in keys.split(), text.startswith(words[0])]
            yield Hit(
                (1 + sum(weight for is_so, weight in zip(begins, (4, 2, 1), strict=True) if is_so)) / 8,
                name,
                run,
                help=about,
            )
        if not count:
            said = f"no action has {query}"
            yield Hit(1, said, partial(self._show_notice, said), help="Esc closes")

    def _show_notice(self, said: str) -> None:
        show_notice: Callable[[str], None] = self.app.show_notice  # type: ignore[attr-defined]  # of app.py
        show_notice(said)


async def run_named_action(app: Panes, name: str, where: Place) -> None:
    """Run an action of the table on the pane that has it, which is shown first."""
    pane = _show_pane(app, where)
    if pane is not None:
        pane.focus()
    await app.run_action(name, pane or app)


def _show_pane(app: Panes, where: Place) -> Any:
    """The pane of a place, shown; None for what works everywhere."""
    views: dict[Place, LinePane] = {
        "list": app.list_pane,
        "ladder": app.ladder_pane,
        "findings": app.findings_pane,
        "top": app.top_pane,
    }
    if where in views:
        if views[where] is not app.view:
            app.show_view(views[where])
        return views[where]
    if where in ("message", "bytes"):
        if not app.is_message_shown:
            app.show_view(app.list_pane)
            app.on_list_pane_message_wanted()
        if where == "message":
            return app.message_pane
        if not app.bytes_pane.has_class("shown"):
            app.on_message_pane_bytes_toggled()
        return app.bytes_pane
    if where == "lines":
        return app.focused if isinstance(app.focused, LinePane) else app.view
    return None
