"""kw as one file, with or without a Python in it: words of the builder; by full tests, the files in bare folders."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from kwcli.building import __main__ as building
from kwcli.building import zipapp

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURE: Final = ROOT / "captures" / "first-steps.pcapng"


@pytest.mark.parametrize("words", [("sniff",), ("binary", "a", "b"), ("binary", "--python", "/no/such/folder")])
def test_words_that_ask_for_nothing(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert building.main(words) == 2
    assert "Usage: python -m kwcli.building" in capsys.readouterr().err


def test_a_missing_program_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "patchelf" else name)
    assert building.main(["binary"]) == 1
    assert "patchelf: not installed" in capsys.readouterr().err


def test_a_build_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(target: Path, base: Path | None) -> None:
        del base
        raise subprocess.CalledProcessError(3, ["gcc", str(target)])

    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(building, "build_binary", fail)
    assert building.main(["binary"]) == 1
    assert "returned non-zero exit status 3" in capsys.readouterr().err


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for this version of Python and a later one, whose program says where it is."""

    def install(folder: Path, version: str) -> None:
        (folder / "kwcli").mkdir(parents=True)
        (folder / "kwcli" / "__init__.py").touch()
        (folder / "kwcli" / "main.py").write_text(
            "import sys, compiled\ndef main():\n    print(sys.argv[1:], compiled.version, __file__)\n    return 3\n"
        )
        (folder / "compiled.py").write_text(f"version = {version!r}\n")

    monkeypatch.setattr(zipapp, "install_kw_and_libraries", install)
    target = tmp_path / "kw.pyz"
    zipapp.build_zipapp(target, ("3.0", "{}.{}".format(*sys.version_info)))
    return target


def test_a_zipapp_unpacks_itself_once_for_its_user(packed: Path, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    outputs = [
        subprocess.run([sys.executable, "-I", packed, "a", "b"], env=env, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [done.returncode for done in outputs] == [3, 3], outputs
    assert outputs[0].stdout == outputs[1].stdout
    (folder,) = (tmp_path / "home" / ".cache" / "kw").iterdir()
    assert outputs[0].stdout == f"['a', 'b'] {folder.name.partition('-')[2]} {folder}/kwcli/main.py\n"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    refused = subprocess.run([sys.executable, "-I", packed], env=env, capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "others can write it, or own it" in refused.stderr


def test_a_zipapp_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipapp, "install_kw_and_libraries", lambda folder, _version: folder.mkdir())
    zipapp.build_zipapp(tmp_path / "kw.pyz", ("3.0", "3.1"))
    done = subprocess.run([sys.executable, tmp_path / "kw.pyz"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("kw: this file is for Python 3.0 and 3.1; this is Python 3.")


@pytest.mark.full
def test_a_zipapp_runs_without_a_path_and_without_installed_libraries(tmp_path: Path) -> None:
    target = tmp_path / "kw.pyz"
    done = subprocess.run([sys.executable, "-m", "kwcli.building", "zipapp", str(target)], cwd=ROOT, check=True)
    assert done.returncode == 0
    env = {"PATH": "", "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        python = [sys._base_executable, "-I", "-S", str(target)]  # type: ignore[attr-defined]  # CPython's own
        its = subprocess.run([*python, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert its.returncode == 0, its.stderr
        return its.stdout

    assert "Python" in run("version")
    words = ["sniff", "-q", "-o", "ndjson", str(CAPTURE)]
    here = subprocess.run([sys.executable, "-m", "kwcli", *words], cwd=ROOT, capture_output=True, text=True)
    assert here.stdout
    assert run(*words) == here.stdout


@pytest.mark.full
def test_the_file_runs_in_a_bare_folder_without_python(tmp_path: Path) -> None:
    binary = tmp_path / "kw"
    done = subprocess.run(
        [sys.executable, "-m", "kwcli.building", "binary", str(binary)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "it needs glibc 2." in done.stdout
    assert binary.stat().st_size <= building.SIZE_MAX
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(CAPTURE, bare)
    env = {"PATH": "", "HOME": str(bare)}

    def run(*words: str, code: int = 0) -> str:
        its = subprocess.run([str(binary), *words], cwd=bare, env=env, capture_output=True, text=True, timeout=60)
        assert its.returncode == code, its.stderr
        return its.stdout + its.stderr

    assert "Python" in run("version")
    folders = [path for path in (bare / ".cache").rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    words = ["sniff", "-q", "-o", "ndjson", CAPTURE.name]
    here = subprocess.run([sys.executable, "-m", "kwcli", *words], cwd=bare, capture_output=True, text=True)
    assert here.stdout
    assert run(*words) == here.stdout
    assert run("help", "live").startswith("# live: ")
    assert "127.0.0.1:1 refused" in run("call", "Metadata", "-b", "127.0.0.1:1", code=5)
    with ExitStack() as ending:
        _, to_mock = start(ending, [str(binary), "mock", CAPTURE.name, "--port", "0"], bare, env)
        proxy, to_proxy = start(
            ending, [str(binary), "proxy", "-b", to_mock, "-o", "ndjson", "--port-base", "0"], bare, env
        )
        assert "ApiVersions" in run("call", "ApiVersions", "-b", to_proxy)
        proxy.send_signal(signal.SIGINT)  # its rows come from a process of its own
        out, err = proxy.communicate(timeout=60)
        assert [json.loads(line)["api"] for line in out.splitlines()][-1:] == ["ApiVersions"], err

    taken = {}
    for program in (str(binary), f"{sys.executable} -m kwcli"):  # both in the same run: CPU time, the least of five
        taken[program] = min(measure_start([*program.split(), "--version"], env) for _ in range(5))
    assert taken[str(binary)] <= 2 * taken[f"{sys.executable} -m kwcli"], taken


def measure_start(words: list[str], env: dict[str, str]) -> float:
    """CPU seconds of a process and those that it has waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start(ending: ExitStack, words: list[str], folder: Path, env: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    """Start kw; the process, and the address that it says it is ready at."""
    process = ending.enter_context(
        subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    ending.callback(process.kill)
    assert process.stderr is not None
    ready = next(line for line in process.stderr if line.startswith("ready "))
    return process, ready.split()[1]
