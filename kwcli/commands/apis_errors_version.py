"""`kw apis`, `kw errors`, `kw version`: what kw knows of the protocol and of itself, offline."""

from __future__ import annotations

import click

from kwcli.options import OutputOptions, output_options
from kwcli.run_environment import Environment

APIS_EXAMPLES = """\b
Examples:
  kw apis Fetch
  kw apis Fetch 12 --about
  kw apis 3.9
  kw apis --diff 3.9..4.0
  kw apis --grep leader_epoch -o json"""
ERRORS_EXAMPLES = """\b
Examples:
  kw errors 6
  kw errors not-leader
  kw errors NotCoordinatorForGroupException ERR__TRANSPORT
  kw errors 'Offset commit failed: error code 27'
  kw errors --retriable
  kw errors --grep fence -o json"""
VERSION_EXAMPLES = """\b
Examples:
  kw version
  kw version --licenses
  kw version -o json"""


class RangeCommand(click.Command):
    """A command whose --diff takes its two ends as one word, too: `--diff 3.9..4.0`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not any(word.startswith("--diff") for word in args):
            return super().parse_args(ctx, args)
        from decoders.protocol_facts.parse_versions_and_releases import split_version_range

        words: list[str] = []
        left = list(args)
        while left:
            word = left.pop(0)
            name, equals, value = word.partition("=")
            if name == "--diff" and equals:
                left.insert(0, value)
            elif name != "--diff":
                words.append(word)
                continue
            ends = split_version_range(left[0]) if left else None
            words += ["--diff", *(ends or ())]
            if ends:
                left.pop(0)
        return super().parse_args(ctx, words)


@click.command("apis", epilog=APIS_EXAMPLES, cls=RangeCommand)
@click.argument("api", required=False, metavar="[API | RELEASE]")
@click.argument("version", required=False, metavar="[VERSION]")
@click.option("--release", metavar="RELEASE", help="Show APIs as in this Kafka release, for example 2.8.")
@click.option(
    "--diff",
    nargs=2,
    metavar="OLD NEW",
    help="Show changes between two releases, or two versions of one API.",
)
@click.option("--grep", metavar="WORD", help="APIs and fields whose name, or older name, holds this word.")
@click.option("--about", is_flag=True, help="Say of each field what it means, in Kafka's words.")
@output_options(formats=("text", "ndjson", "json", "csv", "yaml", "fields"))
@click.pass_obj
def apis(
    env: Environment,
    api: str | None,
    version: str | None,
    release: str | None,
    diff: tuple[str, str] | None,
    grep: str | None,
    about: bool,
    shown: OutputOptions,
) -> None:
    """List all APIs, or show the fields of one, or the exact layout of one VERSION.

    API is a name in any spelling, also an older one, or a number; VERSION is 12, v12 or latest. A release means
    --release, two versions or releases (12..13, 3.9..4.0) mean --diff.
    """
    from kwcli.reference.show_reference import show_apis

    how = shown.make_settings(env)
    show_apis(env, how, api=api, version=version, release=release, diff=diff, grep=grep, about=about)


@click.command("errors", epilog=ERRORS_EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.argument("error", nargs=-1, metavar="[CODE|NAME|LINE]...")
@click.option("--retriable/--not-retriable", default=None, help="Errors after which clients retry, or give up.")
@click.option("--grep", metavar="WORD", help="Errors whose name or meaning holds this word.")
@output_options(formats=("text", "ndjson", "json", "csv", "yaml", "fields"))
@click.pass_obj
def errors(
    env: Environment, error: tuple[str, ...], retriable: bool | None, grep: str | None, shown: OutputOptions
) -> int:
    """Explain error codes, by number or name, as brokers, clients and their logs write them, or list all of them."""
    from kwcli.reference.show_reference import show_errors

    return show_errors(env, shown.make_settings(env), words=error, grep=grep, retriable=retriable)


@click.command("version", epilog=VERSION_EXAMPLES)
@click.option("--licenses", is_flag=True, help="List every library that kw or an extra needs, with its licence.")
@output_options(formats=("text", "ndjson", "json"))
@click.pass_obj
def version(env: Environment, licenses: bool, shown: OutputOptions) -> None:
    """Show the versions of kw, of Python, of the newest Kafka that kw knows, and of the libraries."""
    output = shown.make_settings(env).format
    if licenses:
        from kwcli.reference.licenses import list_library_licenses, write_licenses

        write_licenses(env, list_library_licenses(), output)
    else:
        from kwcli.reference.kw_version import find_kw_versions, write_versions

        write_versions(env, find_kw_versions(), output)
