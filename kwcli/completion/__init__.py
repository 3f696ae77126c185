"""click commands in, completion scripts out: text for bash, zsh and fish that starts `kw` only for what changes.

Starting Python costs a tenth of a second, twice what a TAB should take; what the scripts have to know of the protocol
(API names and versions, fields of requests, what their numbers stand for, error names, releases) is 30 kB of text,
which a shell reads once. Profiles and network interfaces are looked up by the shell itself. Names of the cluster's
topics, groups and nodes, properties and filter expressions are asked of `kw __complete` (candidates.py), which has
300 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

    from kwcli.completion.program import CommandFacts

__all__ = ["SHELLS", "script"]

# A shell's name is that of its module and of the function in it.
SHELLS: Final = ("bash", "zsh", "fish")


def script(shell: str, program: click.Group) -> str:
    """The completion script of the program for one of SHELLS."""
    from kwcli.completion.program import verbs

    write: Callable[[list[CommandFacts]], str] = getattr(import_module(f"kwcli.completion.{shell}"), shell)
    return write(verbs(program))
