"""A folder in; kw and the libraries that it cannot do without, installed in the folder for some version of Python, out.

pip takes wheels that run on machines with a C library from 2014 on (`manylinux2014`), whatever machine builds.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["install_kw_and_libraries"]

_ROOT: Final = Path(__file__).resolve().parents[2]
# What is installed beside libraries, and not needed.
_LEFT_OUT: Final = ("bin", "share", "kwcli/building")


def install_kw_and_libraries(folder: Path, python_version: str) -> None:
    """Install kw and its libraries for a Python, say 3.11. Raises CalledProcessError where pip fails."""
    pip = [sys.executable, "-m", "pip"]
    with tempfile.TemporaryDirectory(prefix="kw-wheel-") as scratch:
        subprocess.run(
            [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", scratch, str(_ROOT)], check=True
        )
        (wheel,) = Path(scratch).glob("*.whl")
        target = ["--only-binary=:all:", "--implementation=cp", f"--python-version={python_version}"]
        target += [f"--platform=manylinux2014_{platform.machine()}", "--no-compile", "--target", str(folder)]
        subprocess.run([*pip, "install", "-q", *target, str(wheel)], check=True)
    for name in _LEFT_OUT:
        shutil.rmtree(folder / name, ignore_errors=True)
    for cache in [*folder.rglob("__pycache__")]:
        shutil.rmtree(cache)
