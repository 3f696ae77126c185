"""The name of an extra in, the words that say how to install it out; the distribution's name stands only here."""

from __future__ import annotations

from typing import Final

__all__ = ["DISTRIBUTION", "pip_command_for_extra"]

# The command is `kw`; a distribution called kw in the public index is somebody else's.
DISTRIBUTION: Final = "kafka-wire"


def pip_command_for_extra(name: str) -> str:
    """`install kafka-wire[sql] (in a checkout of kw: pip install '.[sql]')`: kafka-wire is in no index yet."""
    return f"install {DISTRIBUTION}[{name}] (in a checkout of kw: pip install '.[{name}]')"
