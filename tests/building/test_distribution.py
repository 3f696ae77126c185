"""What is installed: the distribution's name, licence, types and program, of a wheel and of an editable install."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from email.message import Message
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import orjson
import pytest

from decoders.apis import KEYS
from decoders.named_tuple import NamedTuple
from kwcli.pip_extras import DISTRIBUTION, pip_command_for_extra
from kwcli.reference.kw_version import split_requirements_by_extra
from kwcli.reference.licenses import LICENSES, list_library_licenses
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.help.reading import TEXTS, programs_of

ROOT: Final = Path(__file__).resolve().parents[2]
LEFT_OUT: Final = frozenset({".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "build"})
README_PROGRAM: Final = re.compile(r"```python\n(.*?)```", re.DOTALL)

# What users write: each is checked strictly against the installed wheel, and run.
PROGRAMS: Final[dict[str, str]] = {
    "readme": README_PROGRAM.findall((ROOT / "README.md").read_text())[0],
    **programs_of(TEXTS["library"]),
    "histogram": """
from collections import Counter

import decoders

histogram: Counter[int] = Counter()
with open("captures/tour.pcapng", "rb") as capture:
    for exchange in decoders.read_exchanges(capture, ports=[9092, 9093, 9094]):
        if exchange.latency_ms is not None:
            histogram[int(exchange.latency_ms).bit_length()] += 1
assert histogram.total() > 100
""",
    "single message": """
from decoders import DecodeError, Request, decode_request, encode_request

frame: bytes = encode_request(3, 12, {"topics": None}, correlation_id=7, client_id="me")
request: Request = decode_request(frame)
assert request.correlation_id == 7 and request.client_id == "me"
try:
    decode_request(frame[:-1])
except DecodeError as error:
    place: tuple[int | None, str] = error.offset, error.path
    assert place[0] is not None
""",
    "records": """
from collections.abc import Iterator

import decoders


def values(path: str) -> Iterator[bytes | None]:
    with open(path, "rb") as capture:
        for exchange in decoders.read_exchanges(capture):
            if exchange.api == "Produce" and exchange.request is not None:
                for topic in exchange.request["topic_data"]:
                    for partition in topic["partition_data"]:
                        for batch in decoders.decode_records(partition["records"]):
                            for record in batch.records or ():
                                yield record.value


assert sum(len(value or b"") for value in values("captures/tour.pcapng")) > 1000
""",
    "reference": """
import decoders

api: decoders.Api = decoders.api("fetch")
names: list[str] = [decoders.api(key).name for key in (0, 1, 3)]
assert api.key == 1 and names == ["Produce", "Fetch", "Metadata"]
""",
}


class Installed(NamedTuple):
    """An environment of its own with a wheel in it, and the wheel's metadata and files."""

    python: Path
    metadata: Message
    files: frozenset[str]


def _install(wheel: Path, folder: Path) -> Installed:
    """Install a wheel into a new environment, which sees the libraries of this one and none of these sources."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
    subprocess.run([*command, str(packages), str(wheel)], check=True)
    specs = [find_spec(name) for name in ("click", "mypy")]
    folders = {str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin}
    (packages / "libraries.pth").write_text("".join(f"{path}\n" for path in sorted(folders)))
    with zipfile.ZipFile(wheel) as file:
        names = frozenset(file.namelist())
        stated = file.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
    return Installed(folder / "bin" / "python", email.message_from_bytes(stated), names)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The plain wheel, installed."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"]
    variables = {name: value for name, value in os.environ.items() if name != "KW_COMPILE"}
    subprocess.run([*command, str(folder), str(ROOT)], check=True, env=variables)
    (made,) = folder.glob("*.whl")
    return _install(made, folder / "environment")


@pytest.mark.long
def test_the_wheel_says_whose_it_is_and_under_which_licence(wheel: Installed) -> None:
    found = wheel.metadata
    assert (found["Name"], found["License-Expression"], found["Author"]) == (
        *(DISTRIBUTION, "Apache-2.0", "The kw developers"),
    )
    assert found.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert "Typing :: Typed" in found.get_all("Classifier", [])
    assert found["Keywords"]
    assert {"decoders/py.typed", "kwcli/py.typed", "pyspark_kafka_wire/__init__.py"} <= wheel.files


@pytest.mark.long
def test_the_wheel_holds_what_fields_mean_and_says_whose_words_they_are(wheel: Installed) -> None:
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "decoders").glob("**/abouts/*.txt")}
    assert len(sources) > len(KEYS)
    assert sources <= wheel.files
    notice = (ROOT / "NOTICE").read_text()
    assert "abouts/*.txt" in notice
    assert "Copyright 2026 The Apache Software Foundation" in notice
    ran = [str(wheel.python), "-m", "kwcli", "apis", "Heartbeat", "4", "--about"]
    shown = subprocess.run(ran, cwd=wheel.python.parent, capture_output=True, text=True, check=True).stdout
    assert "The member ID." in shown


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_users_are_checked_strictly_and_run(wheel: Installed, name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[name])
    strict = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={wheel.python}", "program.py"]
    cache = f"--cache-dir={wheel.python.parent / 'cache'}"
    checked = subprocess.run([*strict, cache], cwd=tmp_path, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, "Success: no issues found in 1 source file\n")
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    ran = subprocess.run([wheel.python, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.long
def test_a_program_with_a_wrong_type_is_told_so(wheel: Installed, tmp_path: Path) -> None:
    """Without its types all of the library would be `Any`, and nothing would be wrong."""
    (tmp_path / "program.py").write_text('import decoders\n\nname: int = decoders.api("fetch").name\n')
    command = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={wheel.python}", "program.py"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert 'expression has type "str", variable has type "int"' in checked.stdout


@pytest.mark.long
def test_the_installed_program_runs_as_a_module(wheel: Installed, tmp_path: Path) -> None:
    done = subprocess.run([wheel.python, "-m", "kwcli", "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("kw ")


@pytest.mark.long
def test_spark_finds_the_data_source_of_an_editable_install(tmp_path: Path) -> None:
    """Spark looks through the modules of the folders in `sys.path`, where no finder of an install is asked."""
    code = f"from kwcli.building.mypyc_build_backend import build_editable; print(build_editable({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    python = _install(tmp_path / done.stdout.splitlines()[-1], tmp_path / "environment").python
    code = "import pkgutil; print([each.name for each in pkgutil.iter_modules() if each.name.startswith('pyspark_')])"
    listed = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert listed.stdout == "['pyspark_kafka_wire']\n"


def test_python_runs_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "kwcli", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:3]) == (0, "kw ")


def _texts() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if name not in LEFT_OUT and not name.endswith((".egg-info", "__pycache__"))
        ]
        yield from (Path(folder, name) for name in names)


def test_no_text_names_the_distribution_of_somebody_else() -> None:
    """In the public index `kw` is another project: an extra of it would fetch that one."""
    wrong = re.compile(rb"kw" + rb"\\?\[")  # in a pattern too
    found = [str(path.relative_to(ROOT)) for path in _texts() if path.is_file() and wrong.search(path.read_bytes())]
    assert found == []
    assert pip_command_for_extra("sql") == "install kafka-wire[sql] (in a checkout of kw: pip install '.[sql]')"


def test_every_library_has_a_licence_that_its_metadata_does_not_contradict() -> None:
    needed, extras = split_requirements_by_extra()
    assert sorted(LICENSES) == sorted({*needed, *extras})
    wrong = []
    for name, stated in LICENSES.items():
        try:
            expressions = metadata.metadata(name).get_all("License-Expression") or []
        except metadata.PackageNotFoundError:
            continue
        if expressions and set(_ids(expressions[0])) != set(_ids(stated)):
            wrong.append(f"{name}: {stated}, and its metadata say {expressions[0]}")
    assert wrong == []


def _ids(expression: str) -> list[str]:
    return [word for word in re.findall(r"[A-Za-z0-9.-]+", expression) if word not in ("AND", "OR", "WITH")]


def test_licences_are_listed() -> None:
    outcome = kw("version", "--licenses", "-o", "json")
    rows = orjson.loads(outcome.out)
    assert outcome.code == Exit.DONE
    assert {row["name"]: row["license"] for row in rows if row["direct"]} == LICENSES
    assert next(row for row in rows if row["name"] == "scapy")["license"] == "GPL-2.0-only"
    assert {row["name"] for row in rows} == {row.name for row in list_library_licenses()}
    assert all(row["license"] and row["license"] != "not stated" for row in rows)
    lines = kw("version", "--licenses", "-o", "text").out.splitlines()
    assert len(lines) == len(rows)
    assert any(line.split()[0] == "rich" and line.endswith(" MIT") for line in lines)


def test_the_licence_is_in_the_checkout() -> None:
    assert (ROOT / "LICENSE").read_text().lstrip().startswith("Apache License\n")
    assert "The kw developers" in (ROOT / "NOTICE").read_text()
