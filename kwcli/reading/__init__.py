"""How every command reads: captures, records, live traffic and tables in, rows for a sink out.

`follow_exchanges` is for Python programs; it is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwcli.reading.followed_exchanges import follow_exchanges

__all__ = ["follow_exchanges"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load `follow_exchanges` on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kwcli.reading.followed_exchanges import follow_exchanges

    return follow_exchanges
