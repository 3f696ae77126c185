"""The user's own folders for kw: of its cache, its configuration, its state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["cache", "config", "state"]
# The variable that names the base folder of all programs, and the folder's place in the user's home without it.
_HOMES: Final[dict[Kind, tuple[str, str]]] = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


def own_folder_name(kind: Kind, variables: Mapping[str, str]) -> str:
    """The name of kw's own folder of a kind: `$XDG_CACHE_HOME/kw` or `~/.cache/kw`; it may not exist yet."""
    name, usual = _HOMES[kind]
    above = variables.get(name) or os.path.join(variables.get("HOME") or os.path.expanduser("~"), usual)
    return os.path.join(above, "kw")


def own_folder(kind: Kind, variables: Mapping[str, str]) -> Path:
    """kw's own folder of a kind, as a Path."""
    from pathlib import Path

    return Path(own_folder_name(kind, variables))
