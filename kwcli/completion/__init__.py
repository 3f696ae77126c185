"""click commands in, completion scripts out: static text for bash, zsh and fish that never starts `kw`.

Starting Python costs a tenth of a second, twice what a TAB may take; what the scripts have to know of the protocol (API
names and versions, fields of requests, what their numbers stand for, error names, releases) is 30 kB of text, which a
shell reads once. Profiles and network interfaces are looked up by the shell itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kwcli.completion.bash import bash
from kwcli.completion.fish import fish
from kwcli.completion.program import Verb, verbs
from kwcli.completion.zsh import zsh

__all__ = ["SHELLS", "verbs"]

SHELLS: Final[dict[str, Callable[[list[Verb]], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
