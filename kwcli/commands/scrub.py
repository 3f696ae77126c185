"""`kw scrub`: a capture in, one that may be sent to others out."""

from __future__ import annotations

import click

from kwcli.options import debug_option, force_option, keylog_option, pass_options_as_value, ports_option, words_option
from kwcli.run_environment import Environment
from kwcli.scrub import ScrubOptions

EXAMPLES = """\b
Examples:
  kw scrub orders.pcapng for-support.pcapng
  kw scrub orders.pcapng clean.pcapng --keep topics,groups
  kw scrub monday.pcap clean-monday.pcapng --salt-file our.salt --names names.ndjson
  kw scrub tls.pcapng clean.pcapng --keylog keys.log"""
KEPT = ("topics", "groups", "clients", "users", "transactions", "hosts", "members")


@click.command("scrub", epilog=EXAMPLES)
@pass_options_as_value("words", ScrubOptions, ScrubOptions._fields)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@words_option("--keep", known=KEPT, metavar="KIND,...", help=f"Names to keep: {', '.join(KEPT)}.")
@click.option(
    "--salt-file",
    metavar="FILE",
    help="Derive the same pseudonyms from this file every time; created if missing.",
)
@click.option("--names", "names_file", metavar="FILE", help="Write the pseudonym of each name to FILE.")
@force_option
@ports_option
@keylog_option
@click.option("-q", "--quiet", is_flag=True, help="Report problems only.")
@debug_option
@click.pass_obj
def command(
    env: Environment,
    words: ScrubOptions,
) -> int:
    """Write a capture without names, secrets and records that decodes as before.

    IN is a capture as for `kw sniff`, `-` standard input. OUT is a pcapng file, created only if a check finds no name
    and no secret in it, and every exchange with its API, version, sizes, errors and times.
    """
    from kwcli.scrub.run_scrub import run_scrub

    unknown = [kind for kind in words.keep if kind not in KEPT]
    if unknown:
        raise click.UsageError(f"--keep {unknown[0]}: there are {', '.join(KEPT)}")
    return run_scrub(words, env)
