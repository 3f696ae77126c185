"""`kw apis`: the protocol's APIs, their fields and their layouts on the wire, offline."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import OutputOptions, output_options

EXAMPLES = """\b
Examples:
  kw apis Fetch
  kw apis Fetch 12
  kw apis 3.9
  kw apis --diff 3.9..4.0
  kw apis --grep leader_epoch -o json"""


class RangeCommand(click.Command):
    """A command whose --diff takes its two ends as one word, too: `--diff 3.9..4.0`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not any(word.startswith("--diff") for word in args):
            return super().parse_args(ctx, args)
        from decoders.apis.version_words import split_range

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
            ends = split_range(left[0]) if left else None
            words += ["--diff", *(ends or ())]
            if ends:
                left.pop(0)
        return super().parse_args(ctx, words)


@click.command("apis", epilog=EXAMPLES, cls=RangeCommand)
@click.argument("api", required=False, metavar="[API | RELEASE]")
@click.argument("version", required=False, metavar="[VERSION]")
@click.option("--release", metavar="RELEASE", help="As this release of Kafka speaks it, for example 2.8.")
@click.option(
    "--diff",
    nargs=2,
    metavar="OLD NEW",
    help="What changed between two releases; of one API also between two versions.",
)
@click.option("--grep", metavar="WORD", help="APIs and fields whose name, or older name, holds this word.")
@output_options(formats=("text", "ndjson", "json", "csv", "yaml", "fields"))
@click.pass_obj
def command(
    env: Environment,
    api: str | None,
    version: str | None,
    release: str | None,
    diff: tuple[str, str] | None,
    grep: str | None,
    shown: OutputOptions,
) -> None:
    """List all APIs, or show the fields of one, or the exact layout of one VERSION of it.

    API is a name in any spelling, also an older one, or a number; VERSION is 12, v12 or latest. A release stands for
    --release, two versions or releases (12..13, 3.9..4.0) for --diff.
    """
    from kwcli.reference.show import show_apis

    how = shown.settings(env)
    show_apis(env, how, api=api, version=version, release=release, diff=diff, grep=grep)
