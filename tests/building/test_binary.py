"""kw as one file that needs no Python: the words of its builder; by a full test, the file in a bare folder."""

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from kwcli.building import __main__ as building

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURE: Final = ROOT / "captures" / "first-steps.pcapng"


@pytest.mark.parametrize("words", [(), ("sniff",), ("binary", "a", "b"), ("--help",)])
def test_words_that_ask_for_nothing(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert building.main(words) == 2
    assert capsys.readouterr() == ("", f"{building._USAGE}\n")


def test_a_missing_pyinstaller_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert building.main(["binary"]) == 1
    assert "pip install pyinstaller" in capsys.readouterr().err


def test_a_build_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(target: Path) -> None:
        raise subprocess.CalledProcessError(3, ["PyInstaller", str(target)])

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(building, "build_binary", fail)
    assert building.main(["binary"]) == 1
    assert "returned non-zero exit status 3" in capsys.readouterr().err


def test_a_python_process_of_kw_is_no_command(tmp_path: Path) -> None:
    """What the file does with the words that kw's own processes are started with."""
    (tmp_path / "program.py").write_text(building._PROGRAM)
    words = ["-P", "-c", "import sys; print(sys.argv)", "3", "[]"]
    done = subprocess.run([sys.executable, tmp_path / "program.py", *words], capture_output=True, text=True, check=True)
    assert done.stdout == "['-c', '3', '[]']\n"


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


def start(ending: ExitStack, words: list[str], folder: Path, env: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    """Start kw; the process, and the address that it says it is ready at."""
    process = ending.enter_context(
        subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    ending.callback(process.kill)
    assert process.stderr is not None
    ready = next(line for line in process.stderr if line.startswith("ready "))
    return process, ready.split()[1]
