"""Profiles: the properties of a cluster under a name, in the user's configuration folder.

One file each, `kw/profiles/NAME.properties`, readable by its owner alone and in the words of a client's property file,
so that it can be edited and given to -F. `kw/active-profile` holds the name of the one that is used without being asked
for.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.folders import own_folder
from kwcli.processes import sweep

if TYPE_CHECKING:
    from pathlib import Path

    from kwcli.net.core.property_files import Pair

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_SIZE: Final = 64
_SUFFIX: Final = ".properties"


class Profiles:
    """The profiles of one user. Every method raises Failure (usage) for what is not there or cannot be."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = os.path.join(folder, "profiles")
        self._active = os.path.join(folder, "active-profile")

    @classmethod
    def of(cls, env: Environment) -> Profiles:
        """Those in `$XDG_CONFIG_HOME/kw`, or in `~/.config/kw`."""
        return cls(own_folder("config", env.variables))

    def names(self) -> list[str]:
        """All names, sorted."""
        try:
            found = [entry.name for entry in os.scandir(self._folder)]
        except OSError:
            return []
        names = [name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)]
        return sorted(name for name in names if re.fullmatch(_NAME, name))

    def active(self) -> str | None:
        """The name of the one in use, whether it is there or not."""
        try:
            with open(self._active, encoding="utf-8") as file:
                return file.read(_NAME_SIZE).strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def path(self, name: str) -> str:
        """Its file."""
        if not re.fullmatch(_NAME, name):
            raise Failure(f"{name!r} is no name of a profile: letters, digits and . _ -", Exit.USAGE)
        return os.path.join(self._folder, f"{name}{_SUFFIX}")

    def pairs(self, name: str) -> list[Pair]:
        """Its properties."""
        from kwcli.net.core import property_files

        try:
            with open(self.path(name), encoding="utf-8") as file:
                return property_files.java_pairs(file.read())
        except FileNotFoundError:
            from kwcli.spelling import did_you_mean

            names = self.names()
            others = did_you_mean(name, names) or ("; kw profile list shows all" if names else "; there are none yet")
            raise Failure(f"there is no profile {name}{others}", Exit.USAGE) from None
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"profile {name} cannot be read: {_reason(error)}", Exit.USAGE) from None

    def open_to_others(self, name: str) -> bool:
        """Whether somebody else may read it."""
        try:
            return bool(os.stat(self.path(name)).st_mode & 0o077)
        except OSError:
            return False

    def write(self, name: str, pairs: Mapping[str, str] | Iterable[Pair], comment: str = "") -> str:
        """Make or replace one, whole or not at all; its file."""
        from kwcli.net.core import property_files

        path = self.path(name)
        rows = pairs.items() if isinstance(pairs, Mapping) else pairs
        head = "".join(f"# {line}\n" for line in comment.splitlines())
        self._put(path, head + property_files.write(rows))
        return path

    def remove(self, name: str) -> None:
        """Take one away; the active one is then none."""
        self.pairs(name)
        os.unlink(self.path(name))
        if self.active() == name:
            self.use(None)

    def use(self, name: str | None) -> None:
        """Make one the active one; with None there is none."""
        if name is None:
            with suppress(FileNotFoundError):
                os.unlink(self._active)
            return
        self.pairs(name)
        self._put(self._active, f"{name}\n")

    def _put(self, path: str, text: str) -> None:
        folder, name = os.path.split(path)
        made = os.path.join(folder, f".{name}.{os.getpid()}")
        sweep(os.path.join(glob.escape(folder), ".*.*"))  # they have passwords in them
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(made, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(made)
            raise Failure(f"{path} cannot be written: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is no text"


def imported(text: str, folder: str) -> list[Pair]:
    """The properties of another program's file, relative paths made good for use from anywhere.

    They are relative to where a program runs; where such a file is not there but beside the configuration file, that
    one is meant.
    """
    from kwcli.net.core import property_files

    return [(name, _absolute(name, value, folder)) for name, value in property_files.parse(text)]


def _absolute(name: str, value: str, folder: str) -> str:
    from kwcli.net.core import properties

    row = properties.BY_NAME.get(name)
    if row is None or row.form != "path" or not value or os.path.isabs(value):
        return value
    here, beside = os.path.abspath(value), os.path.abspath(os.path.join(folder, value))
    return beside if os.path.exists(beside) and not os.path.exists(here) else here
