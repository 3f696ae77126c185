"""kw and its libraries in; one file out that a Python runs: `kw.pyz`, which unpacks itself once for each user.

Compiled libraries cannot be imported from a zip file, and are made for one version of Python each. So the file has a
folder for each version that is asked for; what is equal in all of them is in it once.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from kwcli.building.install_kw_and_libraries import install_kw_and_libraries

__all__ = ["build_zipapp"]

# The program in the file. It runs on any Python, to say which ones it is for. Its words become an unpacked kw's.
_PROGRAM: Final = """\
import os, shutil, stat, sys, tempfile, zipfile

DIGEST, VERSIONS = "{digest}", {versions}


def find_cache():
    homes = [os.environ.get("XDG_CACHE_HOME"), os.path.join(os.path.expanduser("~"), ".cache")]
    for home, name in [(home, "kw") for home in homes] + [(tempfile.gettempdir(), "kw-%d" % os.geteuid())]:
        if home and os.path.isabs(home):
            folder = os.path.join(home, name)
            try:
                os.makedirs(folder, 0o700, exist_ok=True)
            except OSError:
                continue
            if is_private(folder) and os.access(folder, os.W_OK):
                return folder
    sys.exit("kw: no folder to unpack to: set XDG_CACHE_HOME")


def is_private(folder):
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def unpack():
    version = "%d.%d" % sys.version_info[:2]
    if version not in VERSIONS:
        sys.exit("kw: this file is for Python %s; this is Python %s" % (" and ".join(VERSIONS), version))
    folder = os.path.join(find_cache(), DIGEST + "-" + version)
    if not (os.path.isdir(folder) and is_private(folder)):
        part = tempfile.mkdtemp(prefix=DIGEST, dir=os.path.dirname(folder))
        with zipfile.ZipFile(sys.argv[0]) as packed:
            for name in packed.namelist():
                if name.startswith(("all/", version + "/")) and not name.endswith("/"):
                    path = os.path.join(part, name.partition("/")[2])
                    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                    with packed.open(name) as source, open(path, "wb") as target:
                        shutil.copyfileobj(source, target)
        try:
            os.rename(part, folder)
        except OSError:  # another process was faster, or what is there is not used
            shutil.rmtree(part)
            if not is_private(folder):
                sys.exit("kw: %s: others can write it, or own it: delete it" % folder)
    return folder


if __name__ == "__main__":
    sys.path[0] = unpack()
    from kwcli.main import main

    sys.argv[0] = "kw"
    sys.exit(main())
"""


def build_zipapp(target: Path, versions: tuple[str, ...]) -> None:
    """Make the file for these versions of Python, say 3.11. Raises CalledProcessError where pip fails."""
    with tempfile.TemporaryDirectory(prefix="kw-zipapp-") as scratch:
        trees: dict[str, dict[str, bytes]] = {}
        for version in versions:
            folder = Path(scratch, version)
            install_kw_and_libraries(folder, version)
            trees[version] = {
                path.relative_to(folder).as_posix(): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
    first = trees[versions[0]]
    shared = {name for name, data in first.items() if all(tree.get(name) == data for tree in trees.values())}
    files = {f"all/{name}": first[name] for name in sorted(shared)}
    for version, tree in trees.items():
        files |= {f"{version}/{name}": data for name, data in tree.items() if name not in shared}
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(b"%b %d " % (name.encode(), len(data)) + data)
    program = _PROGRAM.format(digest=digest.hexdigest()[:32], versions=list(versions))
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            packed.writestr("__main__.py", program)
            for name, data in files.items():
                packed.writestr(name, data)
    target.chmod(0o755)
