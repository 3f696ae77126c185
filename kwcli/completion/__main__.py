"""`python -m kwcli.completion write`: the scripts in, the files of `completions/` out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

import kwcli
from kwcli.completion import SHELLS, get_completion_script

FOLDER: Final = Path(kwcli.__file__).resolve().parents[1] / "completions"
# Shell → the name under which it looks for the script.
FILES: Final = dict(zip(SHELLS, ("kw.bash", "_kw", "kw.fish"), strict=True))


@click.group()
def main() -> None:
    """The completion scripts that are kept in the repository."""


@main.command()
def write() -> None:
    """Write the scripts anew; the files that changed are named."""
    for shell, name in FILES.items():
        path, text = FOLDER / name, get_completion_script(shell)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            click.echo(f"written: completions/{name}")


if __name__ == "__main__":
    main()
