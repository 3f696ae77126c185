"""The process's variables in, where kw keeps files of the user's out (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

__all__ = ["own_folder"]

Kind = Literal["cache", "config", "state"]
# The variable that names the folder of all programs, and where in the user's home it is without.
_HOMES: Final[dict[Kind, tuple[str, str]]] = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


def own_folder(kind: Kind, variables: Mapping[str, str]) -> Path:
    """`$XDG_CACHE_HOME/kw`, or `~/.cache/kw`: it need not be there yet."""
    name, usual = _HOMES[kind]
    stated = variables.get(name)
    return (Path(stated) if stated else Path(variables.get("HOME") or os.path.expanduser("~"), usual)) / "kw"
