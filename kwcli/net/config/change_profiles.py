"""Options of the command line in, new profiles out; and profiles edited by the user."""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple
from kwcli.net.config.build_config import (
    MECHANISMS,
    choose_security_protocol,
    list_warnings_of_empty_settings,
    parse_bootstrap_servers,
    read_settings_file,
)
from kwcli.net.config.client_properties import Pair, decode_config_text, parse_properties_with_lines
from kwcli.net.config.connection_profiles import Profiles
from kwcli.net.config.import_profile import make_path_absolute
from kwcli.net.config.merge_settings import ChosenSettings, SettingSource, merge_setting_sources
from kwcli.run_environment import Environment, Exit, Failure

_SIZE_MAX: Final = 1024 * 1024


class NewProfile(NamedTuple):
    """The options of a new profile: where the cluster is, properties, files of properties."""

    servers: str | None = None
    controllers: str | None = None
    properties: tuple[Pair, ...] = ()
    files: tuple[str, ...] = ()
    active: bool = False
    force: bool = False


def add_profile(env: Environment, name: str, given: NewProfile) -> None:
    """Make a profile of what was given; later settings win, and the command line over files. Raises Failure (usage)."""
    profiles = Profiles.open_own(env)
    profiles.path_of_profile(name)
    if not given.force and name in profiles.list_names():
        raise Failure(f"there is a profile {name} already: kw profile edit {name}; --force replaces it", Exit.USAGE)
    own = [*given.properties]
    for key, value in (("bootstrap.servers", given.servers), ("bootstrap.controllers", given.controllers)):
        if value is not None:
            own.append((key, value))
    sources = [SettingSource("-X", own), *(read_settings_file(file) for file in reversed(given.files))]
    _check_profile_settings(env, merge_setting_sources(sources), name)
    pairs = {key: make_path_absolute(key, value, "") for source in reversed(sources) for key, value in source.pairs}
    path = profiles.write(name, pairs)
    if given.active:
        profiles.set_active(name)
    env.report(f"kw: {'the active profile is' if given.active else 'wrote profile'} {name}: {path}")


def edit_profile(env: Environment, name: str) -> None:
    """Let the user edit a profile. Raises Failure, which names the file in which the edited text is kept."""
    from kwcli.terminal.text_editor import open_text_in_file, run_editor, save_edited_text

    profiles = Profiles.open_own(env)
    profiles.read_pairs(name)  # raises where it is not there or cannot be read
    path = profiles.path_of_profile(name)
    with open(path, "rb") as file:
        before = file.read()
    file_name = f"{name}.properties"
    with open_text_in_file(file_name, before) as copy:
        run_editor(env, copy, "the profile is unchanged")
        with open(copy, "rb") as file:
            after = file.read(_SIZE_MAX)
        if after == before:
            env.report(f"kw: profile {name} is unchanged")
            return
        try:
            source = SettingSource(
                "the edited text", *parse_properties_with_lines(decode_config_text(after), java=True)
            )
            env.add_secrets_to_hide(())
            _check_profile_settings(env, merge_setting_sources([source]), name)
        except Failure as failure:
            kept = save_edited_text(file_name, after)
            raise Failure(f"{failure.text}; the profile is unchanged, your text is in {kept}", failure.code) from None
        profiles.write_text(name, decode_config_text(after))
        env.report(f"kw: wrote profile {name}: {path}")


def _check_profile_settings(env: Environment, chosen: ChosenSettings, name: str) -> None:
    """Print warnings about settings that are to be kept. Raises Failure for settings that no command could use."""
    for fault in chosen.faults:
        raise Failure(fault, Exit.USAGE)
    where = chosen.values.get("servers") or chosen.values.get("controllers")
    if where is None or not where.text:
        raise Failure("the profile names no broker: give -b HOST:PORT, or bootstrap.servers", Exit.USAGE)
    parse_bootstrap_servers(where)
    protocol = choose_security_protocol(chosen, where)
    mechanism = chosen.values.get("mechanism")
    if mechanism is not None and mechanism.text and mechanism.text.upper() not in MECHANISMS:
        raise Failure(f"{mechanism.name_and_place} is {mechanism.text!r}: kw knows {', '.join(MECHANISMS)}", Exit.USAGE)
    for line in (*chosen.warnings, *list_warnings_of_empty_settings(chosen, protocol)):
        env.report(f"kw: warning: {line}")
    if "SASL" in protocol and chosen.read_text("username") and not chosen.read_text("password"):
        env.report(
            f"kw: warning: sasl.password is missing; kw profile edit {name} adds it, hidden from the process list"
        )
