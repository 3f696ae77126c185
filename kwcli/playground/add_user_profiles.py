"""Profiles of the user for the ways into a playground, which are removed with the playground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kwcli.net.config.connection_profiles import Profiles
from kwcli.playground.client_configs import ListenerConfig

if TYPE_CHECKING:
    from kwcli.run_environment import Environment


PREFIX: Final = "playground"
# The file in a playground's folder with the names of its profiles.
_LIST: Final = "profiles"


def add_profile(env: Environment, folder: Path, config: ListenerConfig) -> str:
    """Make a profile for a way into a cluster; returns its name, with a number where the usual name is taken."""
    profiles = Profiles.open_own(env)
    taken = set(profiles.list_names())
    name, number = f"{PREFIX}-{config.name}", 1
    while name in taken:
        number += 1
        name = f"{PREFIX}{number}-{config.name}"
    with open(folder / _LIST, "a", encoding="utf-8") as names:
        names.write(f"{name}\n")
    profiles.write(name, config.librdkafka_properties, "of a playground; goes when it goes")
    return name


def remove_profiles(env: Environment, folder: Path) -> None:
    """Remove the profiles of the playground in this folder."""
    try:
        names = (folder / _LIST).read_text(encoding="utf-8").split()
    except OSError:
        return
    profiles = Profiles.open_own(env)
    for name in set(names) & set(profiles.list_names()):
        profiles.remove(name)
