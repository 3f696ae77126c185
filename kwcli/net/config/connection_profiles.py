"""Profiles of clusters: kept in the user's folder, and shown."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.redact_text import redact_whole_text
from kwcli.net.config.client_properties import PUBLIC_OPTIONS, Pair, is_hidden_value, redact_urls_in_value
from kwcli.net.config.merge_settings import SettingSource, merge_setting_sources
from kwcli.net.config.unknown_properties import redact_unless_property_name
from kwcli.private_files import can_be_changed_by_others, create_private_folder, write_private_file
from kwcli.run_environment import Environment, Exit, Failure
from kwcli.user_folders import own_folder

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_SIZE: Final = 64
_SUFFIX: Final = ".properties"


class Profiles:
    """The profiles of one user. Every method raises Failure (usage) for a missing profile or an impossible name."""

    def __init__(self, folder: Path | str) -> None:
        self._above = os.fspath(folder)
        self._folder = os.path.join(folder, "profiles")
        self._active = os.path.join(folder, "active-profile")

    @classmethod
    def open_own(cls, env: Environment) -> Profiles:
        """The profiles in `$XDG_CONFIG_HOME/kw`, or in `~/.config/kw`."""
        return cls(own_folder("config", env.variables))

    def list_names(self) -> list[str]:
        """The names of all profiles, sorted."""
        try:
            found = [entry.name for entry in os.scandir(self._folder)]
        except OSError:
            return []
        names = [name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)]
        return sorted(name for name in names if re.fullmatch(_NAME, name))

    def read_active_name(self) -> str | None:
        """The name of the active profile, whether it is there or not; None where none is active."""
        try:
            with open(self._active, encoding="utf-8") as file:
                return file.read(_NAME_SIZE).strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def path_of_profile(self, name: str) -> str:
        """The file of a profile."""
        if not re.fullmatch(_NAME, name):
            raise Failure(f"{name!r} is no name of a profile: letters, digits and . _ -", Exit.USAGE)
        return os.path.join(self._folder, f"{name}{_SUFFIX}")

    def read_pairs(self, name: str) -> list[Pair]:
        """The properties of a profile."""
        return [*self.read_source(name, name).pairs]

    def read_source(self, name: str, origin: str) -> SettingSource:
        """The properties of a profile with their lines; `origin` is what people are told it is."""
        from kwcli.net.config import client_properties

        path = self.path_of_profile(name)
        try:
            with open(path, encoding="utf-8") as file:
                self._refuse_file_others_can_change(file.fileno(), path)
                return SettingSource(
                    origin, *client_properties.parse_properties_with_lines(file.read(), java=True), path
                )
        except FileNotFoundError:
            from decoders.wire.suggest_similar_words import did_you_mean

            names = self.list_names()
            others = did_you_mean(name, names) or ("; kw profile list shows all" if names else "; there are none yet")
            raise Failure(f"there is no profile {name}{others}", Exit.USAGE) from None
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"profile {name} cannot be read: {_format_os_error(error)}", Exit.USAGE) from None

    def _refuse_file_others_can_change(self, handle: int, path: str) -> None:
        """Raise Failure (usage) where another user can change the file, and so send a login elsewhere; as ssh does."""
        places = [(path, os.fstat(handle)), *((each, os.stat(each)) for each in (self._folder, self._above))]
        owners = {0, os.geteuid()}
        if os.geteuid() == 0:  # by sudo, with the user's own folders
            owners.add(places[-1][1].st_uid)
        for place, status in places:
            if status.st_uid not in owners:
                raise Failure(f"{place} belongs to another user, who can change it: kw does not use it", Exit.USAGE)
            if can_be_changed_by_others(status):
                how = "600" if place == path else "700"
                raise Failure(f"other users can change {place}: chmod {how} {shlex.quote(place)}", Exit.USAGE)

    def is_readable_by_others(self, name: str) -> bool:
        """Whether other users may read a profile's file."""
        try:
            return bool(os.stat(self.path_of_profile(name)).st_mode & 0o077)
        except OSError:
            return False

    def write(self, name: str, pairs: Mapping[str, str] | Iterable[Pair], comment: str = "") -> str:
        """Make or replace a profile, whole or not at all; its file."""
        from kwcli.net.config import client_properties

        rows = pairs.items() if isinstance(pairs, Mapping) else pairs
        head = "".join(f"# {line}\n" for line in comment.splitlines())
        return self.write_text(name, head + client_properties.format_properties(rows))

    def write_text(self, name: str, text: str) -> str:
        """Make or replace a profile by its whole text, comments included; its file."""
        path = self.path_of_profile(name)
        self._write_file(path, text)
        return path

    def rename(self, name: str, other: str, *, force: bool) -> str:
        """Give a profile another name; the active one stays active. Its file."""
        path = self.path_of_profile(other)
        self.read_pairs(name)
        if name == other:
            raise Failure(f"the profile is called {name} already", Exit.USAGE)
        if not force and other in self.list_names():
            raise Failure(f"there is a profile {other} already; --force replaces it", Exit.USAGE)
        os.replace(self.path_of_profile(name), path)
        if self.read_active_name() == name:
            self.set_active(other)
        return path

    def find_profile_in_use(self, env: Environment) -> tuple[str, str] | None:
        """The profile that commands use without --profile, and what selects it: `KW_PROFILE`, or `active`."""
        asked = env.variables.get("KW_PROFILE")
        if asked:
            return asked, "KW_PROFILE"
        active = self.read_active_name()
        return (active, "active") if active else None

    def remove(self, name: str) -> None:
        """Remove a profile; if it was the active one, none is active then."""
        self.read_pairs(name)
        os.unlink(self.path_of_profile(name))
        if self.read_active_name() == name:
            self.set_active(None)

    def set_active(self, name: str | None) -> None:
        """Make a profile the active one; with None, none is active."""
        if name is None:
            with suppress(FileNotFoundError):
                os.unlink(self._active)
            return
        self.read_pairs(name)
        self._write_file(self._active, f"{name}\n")

    def _write_file(self, path: str, text: str) -> None:
        try:
            create_private_folder(os.path.dirname(path))
            write_private_file(path, text.encode())
        except OSError as error:
            raise Failure(f"{path} cannot be written: {_format_os_error(error)}") from None


def _format_os_error(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is no text"


# The output of `kw profile`


Row = dict[str, Any]


def build_profile_rows(profiles: Profiles) -> list[Row]:
    """One row a profile: its name, whether it is active, where it leads, and how."""
    active = profiles.read_active_name()
    return [
        {"profile": name, "active": name == active, **_build_profile_row(profiles, name)}
        for name in profiles.list_names()
    ]


def _build_profile_row(profiles: Profiles, name: str) -> Row:
    try:
        chosen = merge_setting_sources([SettingSource(name, profiles.read_pairs(name))])
    except Failure as failure:
        return {"servers": None, "protocol": None, "mechanism": None, "error": failure.text}
    return {
        "servers": redact_urls_in_value(
            "bootstrap.servers", chosen.read_text("servers") or chosen.read_text("controllers") or ""
        )
        or None,
        "protocol": chosen.read_text("protocol") or "PLAINTEXT",
        "mechanism": chosen.read_text("mechanism"),
    }


def format_profile_table(rows: list[Row], width: int | None) -> list[str]:
    """The rows of `listed` as a table; the active profile has a star."""
    if not rows:
        return ["no profiles yet; kw profile import NAME FILE makes one"]
    from decoders.wire.format_and_escape_text import escape_text
    from kwcli.output.short_texts import PLAIN
    from kwcli.output.table import Column, draw_table

    def column_cells(title: str) -> list[str]:
        return [escape_text(row[title] or "-") for row in rows]

    names = [f"{'*' if row['active'] else ' '} {row['profile']}" for row in rows]
    # Names and protocols are short; a long list of servers comes last and is cut on a terminal.
    columns = [Column("  profile", names), *(Column(title, column_cells(title)) for title in ("protocol", "mechanism"))]
    return [*draw_table([*columns, Column("servers", column_cells("servers"), cut=len("servers"))], width, PLAIN)]


def build_properties_row(pairs: Iterable[Pair], *, reveal: bool) -> Row:
    """The properties of a profile; a secret is {"redacted": its size in bytes}."""
    if reveal:
        return dict(pairs)
    row: Row = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        title = redact_unless_property_name(name, value)
        while names.setdefault(title, name) != name:  # two names with the same parts hidden
            title += "'"
        row[title] = _conceal_secret_value(name, value)
    return row


def _conceal_secret_value(name: str, value: str) -> Any:
    return _redact_value(name, value) if is_hidden_value(name, value) else redact_urls_in_value(name, value)


def _redact_value(name: str, value: str) -> Any:
    """A secret value, redacted; of a login configuration only the secret options are."""
    from kwcli.net.config import jaas_logins

    if name == "sasl.jaas.config":
        with suppress(jaas_logins.JaasError):
            module, options = jaas_logins.parse_jaas(value)
            words = [
                f'{word}="{text}"' if word in PUBLIC_OPTIONS else f"{word}={redact_whole_text(text)}"
                for word, text in options.items()
            ]
            return f"{' '.join([module, 'required', *words])};"
    return {"redacted": len(value.encode())}


def format_profile_lines(row: Row) -> list[str]:
    """The properties as lines of a property file; what a terminal could take for a command is escaped."""
    from decoders.wire.format_and_escape_text import escape_text

    lines = []
    for name, value in row.items():
        text = f"{{redacted {value['redacted']}}}" if isinstance(value, dict) else value
        lines.append(escape_text(f"{name}={text}"))
    return lines


def encode_rows_as_json(rows: list[Row], output: str) -> bytes:
    """Rows as JSON: one object a line, or one array where `output` is `json`."""
    if output == "json":
        return (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode()
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()
