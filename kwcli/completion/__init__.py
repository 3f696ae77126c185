"""TAB in bash, zsh and fish: scripts that ask `kw __complete`, and its answers from the commands and declarations.

Starting Python takes most of a TAB's time, so what answers (complete.py) loads only the command that the line names and
the table that the word needs. A cluster's names have 300 ms.
"""

from __future__ import annotations

from typing import Final

import click

from kwcli.run_environment import Environment

__all__ = ["SHELLS", "command", "get_completion_script"]

SHELLS: Final = ("bash", "zsh", "fish")
EXAMPLES = """\b
Examples:
  source <(kw completion)
  kw completion bash > ~/.local/share/bash-completion/completions/kw
  kw completion zsh > "${fpath[1]}/_kw"
  kw completion fish > ~/.config/fish/completions/kw.fish"""


def get_completion_script(shell: str) -> str:
    """The completion script for one of SHELLS."""
    from kwcli.completion.shell_scripts import SCRIPTS

    return SCRIPTS[shell]


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
    env.stdout.write(get_completion_script(shell).encode())
