"""The PEP 517 backend that pip asks for wheels: setuptools, with machine code beside the sources where `KW_COMPILE=1`.

The modules of `decoders/mypyc_modules.py` are compiled by mypyc into the wheel and nowhere else: in a working tree,
compiled modules would hide the sources. So an editable install is never compiled, and neither is a source package.

Spark finds a data source in the folders of `sys.path`. The finder of setuptools' editable installs is no folder, so
such an install brings a `.pth` file that adds the folder with Spark's module.
"""

from __future__ import annotations

import base64
import hashlib
import os
import runpy
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import setuptools  # type: ignore[import-untyped]  # it has no types
from setuptools import build_meta
from setuptools.build_meta import (  # type: ignore[import-untyped]  # it has no types
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, Any] | None

# The folder with the package by whose name Spark finds the data source.
SPARK_MODULES: Final = Path("kwcli", "pipeline", "registered")
COMPILER: Final = ("mypy>=1.13", "setuptools>=77")
# Types of other packages are not used: without them values are `Any`, and the code is as correct.
_TYPES: Final = (
    *("--config-file=", "--explicit-package-bases", "--namespace-packages", "--ignore-missing-imports"),
    "--follow-imports=silent",
)
# Functions that other libraries do not see are called directly and inlined. With the third level of optimisation, text
# of real captures takes 5 % less time than with the first; the build takes half again as long.
_FLAGS: Final = ["-fvisibility=hidden"] if os.name == "posix" else []


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """The packages that a build needs: setuptools' own, and the compiler where `KW_COMPILE` asks for it."""
    needed: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    return [*needed, *COMPILER] if _is_compilation_wanted() else needed


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; returns the name of its file."""
    if not _is_compilation_wanted():
        return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))
    with (
        _compiled_extensions() as extensions,
        mock.patch.object(setuptools, "setup", partial(setuptools.setup, ext_modules=extensions)),
    ):
        return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of an editable install; returns the name of its file."""
    name = str(build_meta.build_editable(wheel_directory, config_settings, metadata_directory))
    _add_file_to_wheel(Path(wheel_directory, name), "kafka_wire_spark.pth", f"{SPARK_MODULES.resolve()}\n".encode())
    return name


def _add_file_to_wheel(wheel: Path, name: str, data: bytes) -> None:
    """Add a file to a wheel, and its row to the list of files (binary distribution format, the RECORD file)."""
    with zipfile.ZipFile(wheel) as old:
        files = {each: old.read(each) for each in old.namelist()}
    record = next(each for each in files if each.endswith(".dist-info/RECORD"))
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    files[record] = f"{name},sha256={digest},{len(data)}\n".encode() + files[record]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for each, content in {name: data, **files}.items():
            new.writestr(each, content)


def _is_compilation_wanted() -> bool:
    return os.environ.get("KW_COMPILE", "") not in ("", "0")


@contextmanager
def _compiled_extensions() -> Iterator[list[Any]]:
    """The compiled modules as setuptools extensions; the folder of their C sources is removed after the block."""
    from mypyc.build import mypycify

    modules = runpy.run_path(str(Path("decoders", "mypyc_modules.py")))["MODULES"]
    scratch = str(Path("build", "compiled"))  # setuptools takes no sources from elsewhere
    try:
        made = mypycify([*_TYPES, *modules], opt_level="3", debug_level="0", group_name="kw", target_dir=scratch)
        for extension in made:
            extension.extra_compile_args += _FLAGS
        yield made
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
