"""The compiled wheel against the plain sources: what they write of a capture, whole or damaged, is the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from decoders.compiled import MODULES
from kwcli.inflating import inflated, is_compressed

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURES: Final = sorted(path for path in (ROOT / "captures").rglob("*.pcap*") if path.is_file())
FILTER: Final = "topic == orders and latency > 1ms and not request.topics[].name == nothing"
OUTPUTS: Final = (("text", "-v"), ("text", "-f", FILTER), ("ndjson", "--records"), ("json",), ("hex",), ("csv",))
DAMAGED: Final = 3


def test_every_module_to_compile_is_there() -> None:
    assert [module for module in MODULES if not (ROOT / module).is_file()] == []
    assert len(set(MODULES)) == len(MODULES)


@pytest.fixture(scope="module")
def compiled() -> Iterator[Path]:
    """A folder with the compiled wheel's files."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")
    with tempfile.TemporaryDirectory(prefix="kw-wheel-") as scratch:
        sources = Path(scratch) / "sources"
        for name in ("decoders", "kwcli"):
            shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, sources)
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", scratch, str(sources)]
        subprocess.run(command, check=True, env={**os.environ, "KW_COMPILE": "1"})
        (wheel,) = Path(scratch).glob("*.whl")
        folder = Path(scratch) / "installed"
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder)
        yield folder


@pytest.mark.full
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: str(path.relative_to(ROOT / "captures")))
def test_compiled_modules_write_the_same_bytes(compiled: Path, capture: Path, tmp_path: Path) -> None:
    assert b'"compiled":true' in _run(compiled, "version", "-o", "ndjson")[1]
    for number, file in enumerate([capture, *_damaged(capture, tmp_path)]):
        for output in OUTPUTS:
            words = ("sniff", str(file), "-o", *output)
            assert _run(compiled, *words) == _run(ROOT, *words), (number, output)


def _run(folder: Path, *words: str) -> tuple[int, bytes]:
    command = [sys.executable, "-m", "kwcli.main", *words]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True)
    return done.returncode, done.stdout


def _damaged(capture: Path, folder: Path) -> Iterator[Path]:
    """The capture with bytes changed at random behind its header."""
    data = capture.read_bytes()
    if is_compressed(data[:16]):
        data = b"".join(inflated(capture.name, iter([data])))
    for number in range(DAMAGED):
        rng = random.Random(f"{capture.name} {number}")
        damaged = bytearray(data)
        for _ in range(20 * (number + 1)):
            damaged[rng.randrange(24, len(damaged))] = rng.randrange(256)
        path = folder / f"{number}.pcap"
        path.write_bytes(damaged)
        yield path
