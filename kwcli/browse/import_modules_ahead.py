"""A timer in, modules loaded one after another: what the first keys need, once the first rows are drawn.

Nothing of it is loaded before: somebody waits for the first row. A module is so small that no key waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

__all__ = ["LOADED_AHEAD", "import_modules_ahead"]

# What a message, the filter, help, findings, counts and copies need, the first of it first.
LOADED_AHEAD: Final = (
    "decoders.messages.split_frame_into_parts",
    "kwcli.output.body_printer",
    "kwcli.output.hex",
    "decoders.messages.exchange_json",
    "kwcli.completion.completion_candidates",
    "kwcli.browse.panes.help_screen",
    "kwcli.analyses.format_findings",
    "kwcli.stats.statistics_as_text",
    "kwcli.browse.exports.call_line",
)
# So long (s) lies before each module.
_EVERY_S: Final = 0.05


def import_modules_ahead(set_timer: Callable[[float, Callable[[], None]], Any], at: int = 0) -> None:
    """Load the module at this place, and those behind it, each after a pause."""

    def load() -> None:
        import_module(LOADED_AHEAD[at])
        import_modules_ahead(set_timer, at + 1)

    if at < len(LOADED_AHEAD):
        set_timer(_EVERY_S, load)
