"""`kw profile`: named ways to reach clusters: list, show, choose, import, remove them."""

from __future__ import annotations

from typing import Any

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
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


@click.group("profile", epilog=EXAMPLES)
def command() -> None:
    """Keep ways to reach clusters under names."""


@command.command("list", epilog=_LIST)
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def list_command(env: Environment, shown: OutputOptions) -> None:
    """List the profiles; the active one has a star."""
    from kwcli.net.config.profiles import Profiles, as_json, list_lines, listed

    how = shown.settings(env)
    rows = listed(Profiles.of(env))
    if how.format != "text":
        env.stdout.write(as_json(rows, how.format))
        return
    env.stdout.write("".join(f"{line}\n" for line in list_lines(rows, how.width)).encode())


@command.command("show", short_help="Show the properties of a profile.", epilog=_SHOW)
@click.argument("name", required=False)
@click.option("--reveal-secrets", is_flag=True, help="Show passwords and keys instead of {redacted}.")
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def show_command(env: Environment, name: str | None, reveal_secrets: bool, shown: OutputOptions) -> None:
    """Show the properties of a profile; without NAME, of the active one."""
    from kwcli.net.config.profiles import Profiles, as_json, show_lines
    from kwcli.net.config.profiles import shown as described

    how = shown.settings(env)
    profiles = Profiles.of(env)
    name = name or profiles.active()
    if name is None:
        raise click.UsageError("no profile is active: name one", click.get_current_context())
    row = described(profiles.pairs(name), reveal=reveal_secrets)
    if how.format != "text":
        env.stdout.write(as_json([{"profile": name, "properties": row}], how.format))
        return
    env.stdout.write("".join(f"{line}\n" for line in show_lines(row)).encode("utf-8", "surrogateescape"))


@command.command("use", short_help="Choose the active profile.", epilog=_USE)
@click.argument("name", required=False)
@click.option("--none", "none", is_flag=True, help="Use no profile.")
@click.pass_obj
def use_command(env: Environment, name: str | None, none: bool) -> None:
    """Make NAME the profile that is used when no other place says where the cluster is."""
    from kwcli.net.config.profiles import Profiles

    if bool(name) == none:
        raise click.UsageError("give a name, or --none", click.get_current_context())
    Profiles.of(env).use(name)
    env.say(f"kw: the active profile is {name}" if name else "kw: no profile is active")


@command.command("import", short_help="Make profiles of another client's file.", epilog=_IMPORT)
@click.argument("words", nargs=-1, required=True, metavar="[NAME] FILE", type=click.Path(readable=False))
@click.option("--context", metavar="NAME", help="Of a file with several clusters, this one.")
@click.option("--use", "active", is_flag=True, help="Make it the active profile.")
@click.option("--force", is_flag=True, help="Replace a profile that is there.")
@click.option("-v", "--verbose", is_flag=True, help="List the properties that mean nothing to kw.")
@click.pass_obj
def import_command(env: Environment, /, words: tuple[str, ...], **options: Any) -> None:
    """Make a profile NAME of FILE: kcat.conf, librdkafka.config, a Java client.properties, or what kafkactl, kaf, rpk
    and kcl keep. Without NAME each cluster of FILE keeps its own; kafkactl, kaf, rpk, kcl or kcat as FILE stand for the
    tool's file in your home."""
    from kwcli.net.config.import_profile import ImportOptions, import_profiles

    if len(words) > 2:
        raise click.UsageError("give one FILE, and before it the NAME of the profile", click.get_current_context())
    import_profiles(env, words, ImportOptions(**options))


@command.command("remove", epilog=_REMOVE)
@click.argument("name")
@click.pass_obj
def remove_command(env: Environment, name: str) -> None:
    """Take the profile NAME away."""
    from kwcli.net.config.profiles import Profiles

    Profiles.of(env).remove(name)
    env.say(f"kw: removed profile {name}")
