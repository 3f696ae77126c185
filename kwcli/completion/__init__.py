"""click commands in, completion scripts out: text for bash, zsh and fish that starts `kw` only for what changes.

Starting Python costs a tenth of a second, twice what a TAB should take; the scripts' own knowledge of the protocol
(API names and versions, fields of requests, words for numbers, error names, releases) is 30 kB of text, which a shell
reads once. The shell itself looks up profiles and network interfaces. For names of the cluster's topics, groups and
nodes, properties, filter expressions and what fields of requests mean, the scripts ask `kw __complete` (candidates.py),
which has 300 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from kwcli.run_environment import Environment

if TYPE_CHECKING:
    from kwcli.completion.program import CommandFacts

__all__ = ["SHELLS", "command", "script"]

# A shell's name is also the name of its module and of the function in it.
SHELLS: Final = ("bash", "zsh", "fish")
EXAMPLES = """\b
Examples:
  source <(kw completion)
  kw completion bash > ~/.local/share/bash-completion/completions/kw
  kw completion zsh > "${fpath[1]}/_kw"
  kw completion fish > ~/.config/fish/completions/kw.fish"""


def script(shell: str, program: click.Group) -> str:
    """The completion script of the program for one of SHELLS."""
    from kwcli.completion.program import verbs

    write: Callable[[list[CommandFacts]], str] = getattr(import_module(f"kwcli.completion.{shell}"), shell)
    return write(verbs(program))


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for SHELL: bash, zsh or fish (default: that of $SHELL)."""
    env: Environment = ctx.obj
    if shell is None:
        stated = env.variables.get("SHELL", "")
        shell = stated.rpartition("/")[2]
        if shell not in SHELLS:
            said = f"$SHELL is {stated}" if stated else "$SHELL is not set"
            raise click.UsageError(f"{said}: name the shell, {', '.join(SHELLS[:-1])} or {SHELLS[-1]}", ctx)
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    env.stdout.write(script(shell, program).encode())
