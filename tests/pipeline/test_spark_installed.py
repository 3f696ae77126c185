"""The Spark that sessions run from: its home in the cache, and the archive of classes that the first one leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kwcli.pipeline.spark.installed import Home, installed
from kwcli.pipeline.spark.java import find_java, make_home

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("pyspark", reason="PySpark is not installed")
DAY_S = 86400
PATIENCE_S = 120.0


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """One that has an archive of its own classes."""
    program = tmp_path / "jdk" / "bin" / "java"
    own = tmp_path / "jdk" / "lib" / "server" / "classes.jsa"
    for path in (program, own):
        path.parent.mkdir(parents=True)
        path.touch()
    return program


def found(tmp_path: Path, java: Path, options: str = "", *, record: bool = False) -> Home:
    spare = tmp_path / "spare"
    spare.mkdir(exist_ok=True)
    return installed({"XDG_CACHE_HOME": str(tmp_path / "cache")}, java, options, spare, record=record)


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_the_home_is_spark_without_pyspark(tmp_path: Path, java: Path) -> None:
    home = found(tmp_path, java).path
    assert home.is_relative_to(tmp_path / "cache" / "kw" / "spark")
    names = {path.name for path in home.iterdir()}
    assert "jars" in names
    assert "python" not in names
    assert found(tmp_path, java).path == home
    assert found(tmp_path, java, "-XX:+UseSerialGC").path != home


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, java: Path) -> None:
    (tmp_path / "cache").touch()
    home = found(tmp_path, java, record=True)
    assert home == Home(tmp_path / "spare" / "spark")
    assert (home.path / "jars").is_dir()


def test_one_session_records_and_all_others_map(tmp_path: Path, java: Path) -> None:
    assert found(tmp_path, java).making is None  # was not asked to
    making = found(tmp_path, java, record=True).making
    assert making is not None
    assert found(tmp_path, java, record=True).making is None
    partial, archive = making
    partial.touch()
    partial.rename(archive)
    for record in (False, True):
        home = found(tmp_path, java, record=record)
        assert (home.archive, home.making) == (archive, None)
    home.distrust()
    assert found(tmp_path, java).archive is None


def test_who_claimed_to_record_and_left_is_waited_for_a_day(tmp_path: Path, java: Path) -> None:
    making = found(tmp_path, java, record=True).making
    assert making is not None
    partial, archive = making
    partial.touch()
    age(archive.parent / "claim", DAY_S + 60)
    again = found(tmp_path, java, record=True).making
    assert again is not None
    assert not partial.exists()


def test_homes_that_nobody_uses_are_removed(tmp_path: Path, java: Path) -> None:
    old, new = (found(tmp_path, java, options).path.parent for options in ("-Xmx1g", "-Xmx2g"))
    age(old, 61 * DAY_S)
    age(new, 59 * DAY_S)
    found(tmp_path, java, record=True)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_java_without_an_archive_of_its_own_makes_none(tmp_path: Path, java: Path) -> None:
    (java.parent.parent / "lib" / "server" / "classes.jsa").unlink()
    assert found(tmp_path, java, record=True).making is None


@pytest.mark.parametrize("code", [0, 1])
def test_an_archive_counts_when_java_ended_as_it_should(tmp_path: Path, code: int) -> None:
    real = tmp_path / "java"
    real.write_text(f'#!/bin/sh\necho "$*"; echo classes > "${{1#*=}}"; exit {code}\n')
    real.chmod(0o755)
    partial, archive, log = tmp_path / "a b.partial", tmp_path / "classes.jsa", tmp_path / "log"
    run = make_home(tmp_path / "home", real, log, making=(partial, archive)) / "bin" / "java"
    assert subprocess.run([run, "org.apache.spark.deploy.SparkSubmit"], check=False, cwd=tmp_path).returncode == code
    assert log.read_text() == f"-XX:ArchiveClassesAtExit={partial} org.apache.spark.deploy.SparkSubmit\n"
    assert (partial.exists(), archive.exists()) == (code != 0, code == 0)
    run = make_home(tmp_path / "mapping", real, log, archive=archive) / "bin" / "java"
    subprocess.run([run, "org.apache.spark.launcher.Main"], check=False, cwd=tmp_path, stdout=subprocess.DEVNULL)
    subprocess.run([run, "org.apache.spark.deploy.SparkSubmit"], check=False, cwd=tmp_path)
    said = log.read_text().splitlines()[1]
    assert said == f"-XX:SharedArchiveFile={archive} -Xshare:auto org.apache.spark.deploy.SparkSubmit"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has mapped is told only on Linux")
def test_the_second_session_maps_what_the_first_has_left(tmp_path: Path) -> None:
    program = find_java(os.environ).resolve()
    if not (program.parent.parent / "lib" / "server" / "classes.jsa").is_file():
        pytest.skip(f"{program} has no archive of its own classes")
    lines = [
        "import os",
        "from pathlib import Path",
        "from pyspark import SparkContext",
        "from tests.cli.worlds import world",
        "from kwcli.pipeline.spark.owning import owned",
        "with owned('local[1]', world(variables=os.environ), {'spark.driver.memory': '512m'}) as spark:",
        "    maps = Path(f'/proc/{SparkContext._gateway.proc.pid}/maps').read_text()",
        "    print(spark.range(3).count(), 'classes.jsa' in maps.replace('server/classes.jsa', ''))",
    ]
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}

    def said() -> str:
        command = [sys.executable, "-c", "\n".join(lines)]
        done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said() == "3 False\n"
    until = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob("kw/spark/*/classes.jsa")):
        assert time.monotonic() < until, sorted(tmp_path.rglob("*"))
        time.sleep(0.2)
    assert said() == "3 True\n"
