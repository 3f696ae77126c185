"""A Python and kw in; one file out that needs no Python: a program that unpacks both once, and runs kw (launcher.c).

The C library that the file needs is the lowest that all programs and libraries in it run with, as `objdump -T` shows
it. A Python that was built on an old system (`--python FOLDER`) makes a file for old systems.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final

from kwcli.building.install_kw_and_libraries import install_kw_and_libraries

__all__ = ["build_binary", "find_glibc_version"]

_LAUNCHER: Final = Path(__file__).with_name("launcher.c")
# The head of a file in the tree, and what stands at the end of the binary: launcher.c.
_HEAD: Final = Struct("<IIQ")
_TRAILER: Final = Struct("<8sQQQ32s")
_MAGIC: Final = b"KWTREE01"
# Parts of a Python that kw does not use.
_LEFT_OUT: Final = (
    *("config-*", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tests", "tkinter", "turtledemo"),
    *("pydoc_data", "unittest", "venv", "lib-dynload/_test*", "lib-dynload/_tkinter*", "lib-dynload/xx*"),
    *(
        "lib-dynload/*dbm*",
        "lib-dynload/_uuid*",
        "lib-dynload/_curses*",
        "lib-dynload/readline*",
        "lib-dynload/_sqlite3*",
    ),
)
# Parts of libraries that kw does not use.
_UNUSED: Final = ("scapy/contrib", "scapy/tools", "scapy/modules")
# Libraries of the C library itself, which are the machine's.
_OF_GLIBC: Final = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nsl|crypt|anl))\.so[.0-9]*")
_LINKED: Final = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)
_GLIBC: Final = re.compile(r"GLIBC_(\d+)\.(\d+)")


def build_binary(target: Path, base: Path | None = None) -> tuple[int, int]:
    """Make the file; the version of the C library that it needs.

    `base` is a folder with bin/python3 and lib/python3.N; None: the Python that runs. Raises CalledProcessError where a
    program fails, OSError where one is missing.
    """
    base = (base or Path(sys.base_prefix)).resolve()
    with tempfile.TemporaryDirectory(prefix="kw-binary-") as scratch:
        tree, launcher = Path(scratch, "tree"), Path(scratch, "launcher")
        subprocess.run(["gcc", "-Os", "-static", "-s", "-o", launcher, _LAUNCHER, "-lz"], check=True)
        version = _copy_python(base, tree)
        packages = tree / "lib" / f"python{version}" / "site-packages"
        install_kw_and_libraries(packages, version)
        for name in _UNUSED:
            shutil.rmtree(packages / name, ignore_errors=True)
        for library in packages.rglob("*.so*"):
            _strip_debug_symbols(library)
        _compile_modules(tree)
        glibc = find_glibc_version(tree)
        _write_binary(target, launcher.read_bytes(), tree)
    return glibc


def _copy_python(base: Path, tree: Path) -> str:
    """Copy what a Python needs to run, with the libraries that it loads; its version."""
    program = (base / "bin" / "python3").resolve()
    asked = [str(program), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (tree / "bin").mkdir(parents=True)
    shutil.copy(program, tree / "bin" / "python3")
    (tree / "bin" / "python3").chmod(0o755)
    folder = f"lib/python{version}"
    shutil.copytree(base / folder, tree / folder, ignore=shutil.ignore_patterns(*_LEFT_OUT[:7], "__pycache__"))
    for pattern in _LEFT_OUT:
        for path in (tree / folder).glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    parts = [tree / "bin" / "python3", *(tree / folder / "lib-dynload").glob("*.so")]
    env = {**os.environ, "LD_LIBRARY_PATH": f"{base}:{base / 'lib'}"}
    for name, place in sorted({found for part in parts for found in _list_linked_libraries(part, env)}):
        if _OF_GLIBC.fullmatch(name) is None:
            shutil.copy(place, tree / "lib" / name)
    for part in parts:
        _strip_debug_symbols(part)
    for library in (tree / "lib").glob("*.so*"):
        _strip_debug_symbols(library)
        _set_library_search_path(library, "$ORIGIN")
    _set_library_search_path(parts[0], "$ORIGIN/../lib")
    for part in parts[1:]:
        _set_library_search_path(part, "$ORIGIN/../..")
    return version


def _list_linked_libraries(part: Path, env: dict[str, str]) -> list[tuple[str, str]]:
    listed = subprocess.run(["ldd", part], capture_output=True, text=True, check=True, env=env).stdout
    return [(match[1], match[2]) for match in _LINKED.finditer(listed)]


def _strip_debug_symbols(part: Path) -> None:
    part.chmod(0o755)
    subprocess.run(["strip", "--strip-unneeded", part], check=True)


def _set_library_search_path(part: Path, path: str) -> None:
    """Have the loader look for libraries there: LD_LIBRARY_PATH would reach what kw starts, ssh for one."""
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", path, part], check=True)


def _compile_modules(tree: Path) -> None:
    """Compile all modules, as the Python in the tree has it; nothing looks whether a source has changed."""
    python = tree / "bin" / "python3"
    compiling = [
        "-I",
        "-B",
        "-m",
        "compileall",
        "-q",
        "-f",
        "-j0",
        "--invalidation-mode",
        "unchecked-hash",
        "-s",
        str(tree),
    ]
    subprocess.run([python, *compiling, str(tree / "lib")], check=False)  # templates of others do not compile


def find_glibc_version(tree: Path) -> tuple[int, int]:
    """The lowest version of the C library that all programs and libraries in a folder run with."""
    versions = [(0, 0)]
    for path, _ in _list_files(tree):
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        versions += [(int(major), int(minor)) for major, minor in _GLIBC.findall(symbols)]
    return max(versions)


def _list_files(tree: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            yield path, os.fsencode(path.relative_to(tree))


def _write_binary(target: Path, launcher: bytes, tree: Path) -> None:
    packer = zlib.compressobj(9)
    packed = [launcher]
    files = size = 0
    for path, name in _list_files(tree):
        data = path.read_bytes()
        mode = 0o700 if os.access(path, os.X_OK) else 0o600
        packed.append(packer.compress(_HEAD.pack(len(name), mode, len(data)) + name + data))
        files, size = files + 1, size + len(data)
    packed.append(packer.compress(bytes(4)) + packer.flush())
    tree_size = sum(map(len, packed)) - len(launcher)
    digest = hashlib.sha256(b"".join(packed)).hexdigest()[:32].encode()
    packed.append(_TRAILER.pack(_MAGIC, tree_size, files, size, digest))
    target.write_bytes(b"".join(packed))
    target.chmod(0o755)
