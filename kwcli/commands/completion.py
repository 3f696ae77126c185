"""`kw completion`: a shell's name in, its completion script out."""

from __future__ import annotations

import click

from kwcli.completion import SHELLS, script
from kwcli.env import Environment

EXAMPLES = """\b
Examples:
  source <(kw completion)
  kw completion bash > ~/.local/share/bash-completion/completions/kw
  kw completion zsh > "${fpath[1]}/_kw"
  kw completion fish > ~/.config/fish/completions/kw.fish"""


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for SHELL: bash, zsh or fish; without it, that of $SHELL."""
    env: Environment = ctx.obj
    if shell is None:
        stated = env.variables.get("SHELL", "")
        shell = stated.rpartition("/")[2]
        if shell not in SHELLS:
            said = f"$SHELL is {stated}" if stated else "$SHELL says nothing"
            raise click.UsageError(f"{said}: name the shell, {', '.join(SHELLS[:-1])} or {SHELLS[-1]}", ctx)
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    env.stdout.write(script(shell, program).encode())
