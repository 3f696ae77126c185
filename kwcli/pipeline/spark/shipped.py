"""The running program in, one zip file out that Spark's Python workers import it from.

It holds the packages as they are imported here, so it does not matter how they were installed, with their data files;
modules compiled, because a worker imports them anew each time it starts. The file is made once for the same contents
and kept in the user's cache folder, or in a temporary one where that cannot be written.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import py_compile
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kwcli import VERSION
from kwcli.folders import own_folder

__all__ = ["shipped"]

PACKAGES: Final = ("decoders", "kwcli")
# What is no part of the running program.
_LEFT_OUT: Final = ("__pycache__", "playground", "tui")
# A date that zip can write; the same contents are the same file.
_DATE: Final = (1980, 1, 1, 0, 0, 0)


def shipped(variables: Mapping[str, str], spare: Path) -> Path:
    """The zip file for this version and these sources; made, if it is not there yet, in the cache, else in `spare`."""
    files = sorted(_files())
    digest = hashlib.sha256(sys.version.encode())
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes())
    name = f"kw-{VERSION}-{digest.hexdigest()[:16]}.zip"
    folder = own_folder("cache", variables) / "shipped"
    target = folder / name
    if target.is_file():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(target, files)
    except OSError:
        target = spare / name
        _write(target, files)
    return target


def _files() -> Iterator[tuple[str, Path]]:
    """Name in the zip and path of each file of the program."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(package)
        top = Path(spec.origin).parent
        for folder, below, names in os.walk(top):
            below[:] = [name for name in below if name not in _LEFT_OUT]
            place = Path(package, Path(folder).relative_to(top))
            for name in names:
                if not name.endswith((".pyc", ".pyo")):
                    yield (place / name).as_posix(), Path(folder, name)


def _write(target: Path, files: list[tuple[str, Path]]) -> None:
    """Under another name first: who looks for the file finds it whole, or not at all."""
    with TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        made = Path(folder, target.name)
        compiled = Path(folder, "module.pyc")
        with zipfile.ZipFile(made, "w") as out:
            for name, path in files:
                _add(out, name, path.read_bytes())
                if name.endswith(".py"):
                    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
                    py_compile.compile(os.fspath(path), os.fspath(compiled), name, True, invalidation_mode=mode)
                    _add(out, name + "c", compiled.read_bytes())
        os.replace(made, target)


def _add(out: zipfile.ZipFile, name: str, data: bytes) -> None:
    out.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED, 1)
