"""A way into a playground in, a profile of the user for it out, and away again when the playground is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kwcli.net.profiles import Profiles
from kwcli.playground.doors import Door

if TYPE_CHECKING:
    from kwcli.env import Environment

__all__ = ["forget", "remember"]

PREFIX: Final = "playground"
# In a playground's folder: the names of its profiles.
_LIST: Final = "profiles"


def remember(env: Environment, folder: Path, door: Door) -> str:
    """Make a profile for a way in; its name, which is a new one when another playground has the usual one."""
    profiles = Profiles.of(env)
    taken = set(profiles.names())
    name, number = f"{PREFIX}-{door.name}", 1
    while name in taken:
        number += 1
        name = f"{PREFIX}{number}-{door.name}"
    with open(folder / _LIST, "a", encoding="utf-8") as names:
        names.write(f"{name}\n")
    profiles.write(name, door.plain, "of a playground; goes when it goes")
    return name


def forget(env: Environment, folder: Path) -> None:
    """Remove the profiles of the playground in this folder."""
    try:
        names = (folder / _LIST).read_text(encoding="utf-8").split()
    except OSError:
        return
    profiles = Profiles.of(env)
    for name in set(names) & set(profiles.names()):
        profiles.remove(name)
