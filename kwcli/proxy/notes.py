"""What people should know of connections in; it is said once, counted, and said with its count at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# So many different texts are told apart.
_MOST: Final = 1000


class Notes:
    """Texts and how often they came."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def first(self, text: str) -> bool:
        """Count it; whether it is new, and should be said."""
        count = self._counts.get(text, 0)
        if not count and len(self._counts) >= _MOST:
            return False
        self._counts[text] = count + 1
        return not count

    def repeat(self, say: Callable[[str], None]) -> None:
        """Say what came more than once."""
        for text, count in self._counts.items():
            if count > 1:
                say(f"{count} times: {text}")
