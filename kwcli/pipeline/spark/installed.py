"""The installed Spark in, a home of it out that starts in half the time, kept in the user's cache folder.

The home is Spark without its archive of PySpark, which each worker would compile anew. Beside it lies an archive of the
classes that Spark loads (class data sharing, JEP 350): Java writes it as the first session ends that is to record, and
maps it from then on. There is one for each Java, Spark and set of Java options.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from kwcli.folders import own_folder

__all__ = ["Home", "installed"]

# Homes that nobody has used for so long are removed.
UNUSED_S: Final = 60 * 86400
# So many bytes have to be free for an archive, which has 150 MB.
ROOM: Final = 1 << 30
# As long as a session may take that records, and its JVM to write: then another one tries.
CLAIM_S: Final = 86400
PARTIAL: Final = ".partial"


class Home(NamedTuple):
    """SPARK_HOME; the archive that Java is to map, or the name of one to make, and its name when it is whole."""

    path: Path
    archive: Path | None = None
    making: tuple[Path, Path] | None = None

    def distrust(self) -> None:
        """Spark does not start with this archive, or for another reason: the next session does without."""
        if self.archive is not None:
            with suppress(OSError):
                self.archive.unlink()


def installed(variables: Mapping[str, str], java: Path, options: str, spare: Path, *, record: bool = False) -> Home:
    """The home for this `java` with these options, which may make an archive at its end where there is none yet.

    In `spare`, and without an archive, where the cache cannot be written.
    """
    import pyspark

    spark = Path(pyspark.__file__).parent
    folder = own_folder("cache", variables) / "spark" / _digest(spark, java, options, pyspark.__version__)
    try:
        _make(folder, spark)
        os.utime(folder)
        home, archive = folder / "home", folder / "classes.jsa"
        if archive.exists():
            return Home(home, archive)
        if record and _can_archive(java) and shutil.disk_usage(folder).free >= ROOM and _claim(folder):
            return Home(home, making=(folder / f"{uuid.uuid4().hex}{PARTIAL}", archive))
        return Home(home)
    except OSError:
        _link(spark, spare / "spark")
        return Home(spare / "spark")


def _digest(spark: Path, java: Path, options: str, version: str) -> str:
    """What an archive depends on; Java itself looks at each jar, too."""
    program = java.resolve()
    jars, its = (spark / "jars").stat(), program.stat()
    what = [os.fspath(spark), version, jars.st_mtime_ns, os.fspath(program), its.st_mtime_ns, its.st_size, options]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def _can_archive(java: Path) -> bool:
    """Whether it has the archive of its own classes on which others stand: small runtimes do without."""
    return (java.resolve().parent.parent / "lib" / "server" / "classes.jsa").is_file()


def _make(folder: Path, spark: Path) -> None:
    if (folder / "home").is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=folder, prefix=".making-") as made:
        _link(spark, Path(made, "home"))
        try:
            os.rename(Path(made, "home"), folder / "home")
        except OSError:
            if not (folder / "home").is_dir():  # else somebody else was first
                raise


def _link(spark: Path, home: Path) -> None:
    home.mkdir()
    for part in spark.iterdir():
        if part.name != "python":
            (home / part.name).symlink_to(part)


def _claim(folder: Path) -> bool:
    """Whether it is up to us to record: nobody else has begun to for a while. Removes what nobody uses any more."""
    claim = folder / "claim"
    with suppress(FileNotFoundError):
        if claim.stat().st_mtime > time.time() - CLAIM_S:
            return False
    claim.touch()
    for partial in folder.glob(f"*{PARTIAL}"):
        partial.unlink()
    for other in folder.parent.iterdir():
        if other.stat().st_mtime < time.time() - UNUSED_S:
            shutil.rmtree(other, ignore_errors=True)
    return True
