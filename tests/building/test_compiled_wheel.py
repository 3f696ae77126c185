"""The compiled wheel against the plain sources: both write the same bytes of captures, whole and damaged ones."""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from decoders import errors
from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED
from decoders.mypyc_modules import MODULES
from kwcli.reading.decompress_inputs import inflate_input

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURES: Final = sorted(path for path in (ROOT / "captures").rglob("*.pcap*") if path.is_file())
FILTER: Final = "topic == orders and latency > 1ms and not request.topics[].name == nothing"
OUTPUTS: Final = (("text", "-v"), ("text", "-f", FILTER), ("ndjson", "--records"), ("json",), ("hex",), ("csv",))
DAMAGED: Final = 3


def test_every_module_to_compile_is_there() -> None:
    assert [module for module in MODULES if not (ROOT / module).is_file()] == []
    assert len(set(MODULES)) == len(MODULES)


@pytest.mark.long
def test_classes_from_which_interpreted_ones_are_derived_say_so() -> None:
    """mypyc refuses a class without the mark only where the wheel is used, which takes minutes to see."""
    native: dict[tuple[str, str], bool] = {}
    for name in MODULES:
        for made in _classes(name):
            open_to_all = any("mypyc_attr" in ast.unparse(word) for word in made.decorator_list)
            native[name, made.name] = open_to_all or _is_special(made)
    wrong = []
    for path in sorted([*(ROOT / "decoders").rglob("*.py"), *(ROOT / "kwcli").rglob("*.py")]):
        name = str(path.relative_to(ROOT))
        if name in MODULES:
            continue
        origins = {
            each.asname or each.name: f"{(node.module or '').replace('.', '/')}.py"
            for node in _nodes(name)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        for made in _classes(name):
            for base in made.bases:
                of = ast.unparse(base).partition("[")[0]
                if not native.get((origins.get(of, ""), of), True):
                    wrong.append(f"{name}: {made.name} is derived from {of}")
    assert wrong == []
    assert any(not open_to_all for open_to_all in native.values())


@cache
def _nodes(module: str) -> list[ast.AST]:
    """Everything in a module's source, in no order to rely on."""
    return list(ast.walk(ast.parse((ROOT / module).read_text())))


def _classes(module: str) -> list[ast.ClassDef]:
    return [node for node in _nodes(module) if isinstance(node, ast.ClassDef)]


def _is_special(made: ast.ClassDef) -> bool:
    """Whether a class is not a native one for mypyc: a NamedTuple, a Protocol, a TypedDict or an exception."""
    return any(ast.unparse(base) in ("NamedTuple", "Protocol", "TypedDict", "Exception") for base in made.bases)


def test_no_name_of_an_exception_stands_for_two_classes() -> None:
    """mypyc gives a name the class of its first handler; catching another class under it is a TypeError there."""
    wrong = []
    for name in MODULES:
        for function in _nodes(name):
            if isinstance(function, ast.FunctionDef):
                caught: dict[str, set[str]] = {}
                for node in ast.walk(function):
                    if isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
                        caught.setdefault(node.name, set()).add(ast.unparse(node.type))
                wrong += [f"{name}: {function.name}: {each}" for each, types in caught.items() if len(types) > 1]
    assert wrong == []


def test_values_of_exception_classes_are_class_variables() -> None:
    """mypyc makes other values instance attributes, which the constructor of a base that is not compiled leaves out."""
    wrong = [
        f"{name}: {made.name}: {ast.unparse(line)}"
        for name in MODULES
        for made in _classes(name)
        if any(issubclass(getattr(errors, ast.unparse(base), object), Exception) for base in made.bases)
        for line in made.body
        if isinstance(line, ast.Assign) or (isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line))
    ]
    assert wrong == []


@pytest.mark.long
def test_no_loop_variable_stands_for_two_types() -> None:
    """mypyc gives a name the type of its first loop's elements, and a second loop over others is a TypeError there.

    Types of elements are known where the loop is over a dict in an attribute, or over structs.
    """
    wrong = []
    for name in MODULES:
        for function in _nodes(name):
            if isinstance(function, ast.FunctionDef):
                sources: dict[str, set[str]] = {}
                for loop in ast.walk(function):
                    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
                        sources.setdefault(loop.target.id, set()).add(_source_of_elements(loop.iter))
                wrong += [
                    f"{name}: {function.name}: {each}"
                    for each, its in sources.items()
                    if len(its) > 1 and not its.isdisjoint(("attribute.items", "structs_at"))
                ]
    assert wrong == []


def _source_of_elements(loop_over: ast.expr) -> str:
    """A word for how a loop gets its elements; loops with the same word have elements of one type."""
    if not isinstance(loop_over, ast.Call):
        return type(loop_over).__name__
    called = loop_over.func
    if isinstance(called, ast.Attribute):
        return f"{'attribute' if isinstance(called.value, ast.Attribute) else 'other'}.{called.attr}"
    return ast.unparse(called)


def test_no_string_has_a_surrogate() -> None:
    """mypyc refuses such a string; the number of the character can be compared instead."""
    wrong = [
        f"{name}:{node.lineno}"
        for name in MODULES
        for node in _nodes(name)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and any("\ud800" <= character <= "\udfff" for character in node.value)
    ]
    assert wrong == []


@pytest.fixture(scope="module")
def compiled() -> Iterator[Path]:
    """A folder with the compiled wheel's files."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")
    with tempfile.TemporaryDirectory(prefix="kw-wheel-") as scratch:
        sources = Path(scratch) / "sources"
        for name in ("decoders", "kwcli"):
            shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
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
    if COMPRESSED.match(data[:16]) is not None:
        data = b"".join(inflate_input(capture.name, iter([data])))
    for number in range(DAMAGED):
        rng = random.Random(f"{capture.name} {number}")
        damaged = bytearray(data)
        for _ in range(20 * (number + 1)):
            damaged[rng.randrange(24, len(damaged))] = rng.randrange(256)
        path = folder / f"{number}.pcap"
        path.write_bytes(damaged)
        yield path
