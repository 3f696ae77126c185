"""`kw profile`: named ways to reach clusters: made, imported, listed, shown, chosen, edited, written for others."""

from __future__ import annotations

from typing import Any

import click

from kwcli.net.connection_options import KeyValue
from kwcli.options import OutputOptions, make_config_files_option, output_options
from kwcli.run_environment import Environment, Exit, Failure

Pair = tuple[str, str]

EXAMPLES = """\b
Examples:
  kw profile add local -b localhost:9092 --use
  kw profile import prod ~/.config/kcat.conf
  kw profile import staging client.properties --use
  kw profile list
  kw call Metadata --profile prod"""
_IMPORT = """\b
Examples:
  kw profile import prod client.properties
  kw profile import local ~/.config/kcat.conf --use
  kw profile import rpk
  kw profile import prod ~/.config/kafkactl/config.yml --context production"""
_ADD = """\b
Examples:
  kw profile add local -b localhost:9092 --use
  kw profile add prod -b kafka1:9093 security.protocol=SASL_SSL sasl.mechanism=PLAIN sasl.username=me
  kw profile add stage -F client.properties -b stage1:9092"""
_CURRENT = """\b
Examples:
  kw profile current
  kw profile current -o json"""
_EDIT = """\b
Examples:
  kw profile edit prod
  EDITOR=nano kw profile edit"""
_RENAME = """\b
Examples:
  kw profile rename prod production
  kw profile rename new prod --force"""
_EXPORT = """\b
Examples:
  kw profile export prod --as java --reveal-secrets > client.properties
  kw profile export prod --as librdkafka
  source <(kw profile export prod --as env --reveal-secrets)"""
_LIST = """\b
Examples:
  kw profile list
  kw profile list -o json"""
_SHOW = """\b
Examples:
  kw profile show
  kw profile show prod --reveal-secrets"""
_USE = """\b
Examples:
  kw profile use prod
  kw profile use --none"""
_REMOVE = """\b
Examples:
  kw profile remove staging
  kw profile remove prod"""


# What other tools call these commands.
_ALIASES = {
    "ls": "list",
    "get": "list",
    "create": "add",
    "new": "add",
    "mv": "rename",
    "rm": "remove",
    "delete": "remove",
    "switch": "use",
    "select": "use",
    "view": "show",
    "describe": "show",
}


class ProfileCommands(click.Group):
    """The commands below, under the names that other tools have for them as well."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _ALIASES.get(cmd_name, cmd_name))


@click.group("profile", cls=ProfileCommands, epilog=EXAMPLES)
def command() -> None:
    """Manage named connection settings."""


@command.command("add", short_help="Make a profile of properties.", epilog=_ADD)
@click.argument("name")
@click.argument("pairs", nargs=-1, type=KeyValue(), metavar="[KEY=VALUE]...")
@click.option("-b", "--bootstrap-server", "servers", metavar="HOST:PORT,...", help="The brokers to ask first.")
@click.option("--bootstrap-controller", "controllers", metavar="HOST:PORT,...", help="Controllers instead.")
@click.option(
    "-X", "--property", "properties", multiple=True, type=KeyValue(), metavar="KEY=VALUE", help="A client property."
)
@make_config_files_option("A file of client properties.", "files")
@click.option("--use", "active", is_flag=True, help="Make it the active profile.")
@click.option("--force", is_flag=True, help="Replace an existing profile.")
@click.pass_obj
def add_command(
    env: Environment, /, name: str, pairs: tuple[Pair, ...], properties: tuple[Pair, ...], **given: Any
) -> None:
    """Create profile NAME from properties; kw -X list shows them all."""
    from kwcli.net.config.change_profiles import NewProfile, add_profile

    add_profile(env, name, NewProfile(properties=(*properties, *pairs), **given))


@command.command("current", epilog=_CURRENT)
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def current_command(env: Environment, shown: OutputOptions) -> int:
    """Show the profile in use: $KW_PROFILE, else the active one."""
    from kwcli.net.config.connection_profiles import Profiles, encode_rows_as_json

    how = shown.make_settings(env)
    profiles = Profiles.open_own(env)
    found = profiles.find_profile_in_use(env)
    if found is None:
        raise Failure("no profile is active; kw profile use NAME chooses one")
    name, origin = found
    profiles.read_pairs(name)
    if how.format == "text":
        env.stdout.write(f"{name}\n".encode())
    else:
        env.stdout.write(
            encode_rows_as_json([{"profile": name, "from": origin, "file": profiles.path_of_profile(name)}], how.format)
        )
    return Exit.DONE


@command.command("list", epilog=_LIST)
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def list_command(env: Environment, shown: OutputOptions) -> None:
    """List the profiles; the active one has a star."""
    from kwcli.net.config.connection_profiles import (
        Profiles,
        build_profile_rows,
        encode_rows_as_json,
        format_profile_table,
    )

    how = shown.make_settings(env)
    rows = build_profile_rows(Profiles.open_own(env))
    if how.format != "text":
        env.stdout.write(encode_rows_as_json(rows, how.format))
        return
    env.stdout.write("".join(f"{line}\n" for line in format_profile_table(rows, how.width)).encode())


@command.command("show", short_help="Show the properties of a profile.", epilog=_SHOW)
@click.argument("name", required=False)
@click.option("--reveal-secrets", is_flag=True, help="Show passwords and keys instead of {redacted}.")
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def show_command(env: Environment, name: str | None, reveal_secrets: bool, shown: OutputOptions) -> None:
    """Show the properties of a profile; without NAME, of the active one."""
    from kwcli.net.config.connection_profiles import Profiles, encode_rows_as_json, format_profile_lines
    from kwcli.net.config.connection_profiles import build_properties_row as described

    how = shown.make_settings(env)
    name = _choose_profile_name(env, name)
    row = described(Profiles.open_own(env).read_pairs(name), reveal=reveal_secrets)
    if how.format != "text":
        env.stdout.write(encode_rows_as_json([{"profile": name, "properties": row}], how.format))
        return
    env.stdout.write("".join(f"{line}\n" for line in format_profile_lines(row)).encode("utf-8", "surrogateescape"))


@command.command("use", short_help="Choose the active profile.", epilog=_USE)
@click.argument("name", required=False)
@click.option("--none", "none", is_flag=True, help="Use no profile.")
@click.pass_obj
def use_command(env: Environment, name: str | None, none: bool) -> None:
    """Make NAME the active profile, used when nothing else names the cluster."""
    from kwcli.net.config.connection_profiles import Profiles

    if bool(name) == none:
        raise click.UsageError("give a name, or --none", click.get_current_context())
    Profiles.open_own(env).set_active(name)
    env.report(f"kw: the active profile is {name}" if name else "kw: no profile is active")


@command.command("import", short_help="Import profiles from another client.", epilog=_IMPORT)
@click.argument("words", nargs=-1, required=True, metavar="[NAME] FILE", type=click.Path(readable=False))
@click.option("--context", metavar="NAME", help="Cluster to import, if FILE has several.")
@click.option("--use", "active", is_flag=True, help="Make it the active profile.")
@click.option("--force", is_flag=True, help="Replace an existing profile.")
@click.option("-v", "--verbose", is_flag=True, help="List the properties that kw ignores.")
@click.pass_obj
def import_command(env: Environment, /, words: tuple[str, ...], **options: Any) -> None:
    """Create profile NAME from FILE: kcat.conf, librdkafka.config, a Java client.properties, or a file of kafkactl,
    kaf, rpk or kcl. Without NAME each cluster of FILE keeps its own; kafkactl, kaf, rpk, kcl or kcat as FILE means the
    tool's file in your home."""
    from kwcli.net.config.import_profile import ImportOptions, import_profiles

    if len(words) > 2:
        raise click.UsageError("give one FILE, and before it the NAME of the profile", click.get_current_context())
    import_profiles(env, words, ImportOptions(**options))


@command.command("edit", short_help="Edit a profile in $EDITOR.", epilog=_EDIT)
@click.argument("name", required=False)
@click.pass_obj
def edit_command(env: Environment, name: str | None) -> None:
    """Edit a profile in $VISUAL, $EDITOR or vi; without NAME, the active one. Invalid edits are not kept."""
    from kwcli.net.config.change_profiles import edit_profile

    edit_profile(env, _choose_profile_name(env, name))


@command.command("rename", epilog=_RENAME)
@click.argument("name")
@click.argument("new_name")
@click.option("--force", is_flag=True, help="Replace an existing profile.")
@click.pass_obj
def rename_command(env: Environment, name: str, new_name: str, force: bool) -> None:
    """Rename the profile NAME; the active one stays active."""
    from kwcli.net.config.connection_profiles import Profiles

    path = Profiles.open_own(env).rename(name, new_name, force=force)
    env.report(f"kw: profile {name} is {new_name} now: {path}")


@command.command("export", short_help="Write a profile for another client.", epilog=_EXPORT)
@click.argument("name", required=False)
@click.option("--as", "kind", type=click.Choice(["kw", "java", "librdkafka", "env"]), default="kw", help="Format.")
@click.option("--reveal-secrets", is_flag=True, help="Write passwords and keys, too.")
@click.pass_obj
def export_command(env: Environment, name: str | None, kind: str, reveal_secrets: bool) -> None:
    """Print a profile as a file of properties; without NAME, the active one.

    --as java writes a client.properties, librdkafka a kcat.conf, env lines that set KW_* variables.
    """
    from kwcli.net.config.connection_profiles import Profiles
    from kwcli.net.config.export_profile import export_profile, format_note_lines

    name = _choose_profile_name(env, name)
    exported = export_profile(name, Profiles.open_own(env).read_pairs(name), kind, reveal=reveal_secrets)
    env.stdout.write(exported.text.encode("utf-8", "surrogateescape"))
    for line in format_note_lines(exported):
        env.report(f"kw: {line}")


def _choose_profile_name(env: Environment, name: str | None) -> str:
    from kwcli.net.config.connection_profiles import Profiles

    found = name or next(iter(Profiles.open_own(env).find_profile_in_use(env) or ()), None)
    if found is None:
        raise click.UsageError("no profile is active: name one", click.get_current_context())
    return found


@command.command("remove", epilog=_REMOVE)
@click.argument("name")
@click.pass_obj
def remove_command(env: Environment, name: str) -> None:
    """Remove the profile NAME."""
    from kwcli.net.config.connection_profiles import Profiles

    Profiles.open_own(env).remove(name)
    env.report(f"kw: removed profile {name}")
