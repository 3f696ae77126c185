"""`kw completion`: a shell's name in, its completion script out."""

from __future__ import annotations

import click

from kwcli.completion import SHELLS, script
from kwcli.env import Environment

EXAMPLES = """\b
Examples:
  kw completion bash > ~/.local/share/bash-completion/completions/kw
  kw completion zsh > "${fpath[1]}/_kw"
  kw completion fish > ~/.config/fish/completions/kw.fish"""


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish."""
    env: Environment = ctx.obj
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    env.stdout.write(script(shell, program).encode())
