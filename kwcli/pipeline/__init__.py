"""Captures larger than one machine: sources, splits, tables, and the engines that fill them.

`to_arrow` makes a table of Arrow of the library's exchanges; it is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwcli.pipeline.tables.exchanges_to_arrow import to_arrow

__all__ = ["to_arrow"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load `to_arrow` on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kwcli.pipeline.tables.exchanges_to_arrow import to_arrow

    return to_arrow
