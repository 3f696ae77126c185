"""Output that cannot be written: exit code 1 and one line from every command; and files private to the owner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwcli.private_files import create_private_folder, open_private_file
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

ROOT = Path(__file__).resolve().parents[2]
TOUR = str(FOLDER / "tour.pcapng")
FULL = Path("/dev/full")
ROWS = [
    ("sniff", TOUR),
    ("sniff", TOUR, "-o", "ndjson", "-q"),
    ("sniff", TOUR, "-o", "json", "--limit", "1", "-q"),
    ("stats", TOUR, "-q"),
    ("stats", TOUR, "-o", "ndjson", "-q"),
    ("apis",),
    ("apis", "Metadata", "-o", "json"),
    ("errors", "-o", "json"),
    ("errors", "3"),
    ("encode", "Metadata", "9", "topics[].name=a"),
    ("decode", "00120000000000010000"),
    ("call", "Metadata", "--dry-run"),
    ("call", "Metadata", "--dry-run", "-o", "json"),
    ("call", "Metadata", "--skeleton"),
    ("completion", "bash"),
    ("profile", "list"),
    ("--help",),
    ("--version",),
]


@pytest.mark.one_in(4)
@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ROWS, ids=" ".join)
def test_a_full_disk_is_told_in_a_line(words: tuple[str, ...], unbuffered: str, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "kwcli.main", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, **home},
            check=False,
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1:] == [b"kw: the output cannot be written: no space left on device"]
    assert b"defect" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_streams_take_nothing_and_break_nothing(unbuffered: str) -> None:
    shell = f'{sys.executable} -m kwcli.main sniff "$0" -o ndjson <&- >&- 2>&-'
    command = ["sh", "-c", shell, TOUR]
    assert subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}).returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("then", "size"), [("env.stdout.flush(); ", 60_000), ("", 0)])
def test_a_pipe_gets_large_pieces(unbuffered: str, then: str, size: int) -> None:
    begin = "import os; from kwcli.run_environment import Environment; env = Environment.of_process()"
    code = f"{begin}; env.stdout.write(bytes(60_000)); {then}os._exit(0)"
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    assert len(subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, stdout=subprocess.PIPE).stdout) == size


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """A umask of 0."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_to_all")
def test_files_are_private_and_folders_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"old")
    there.chmod(0o644)
    for name in ("there", "new"):
        with open(tmp_path / name, "wb", opener=open_private_file) as file:
            file.write(b"packets")
    assert (mode(there), mode(tmp_path / "new")) == (0o600, 0o600)
    assert there.read_bytes() == b"packets"
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o775)
    create_private_folder(str(shared / "a" / "b"))
    create_private_folder(str(shared))
    assert [mode(path) for path in (shared, shared / "a", shared / "a" / "b")] == [0o775, 0o700, 0o700]
    with pytest.raises(FileExistsError):
        create_private_folder(str(there))


@pytest.mark.usefixtures("open_to_all")
def test_tables_and_reports_are_for_their_owner(tmp_path: Path) -> None:
    out, page = tmp_path / "deep" / "tables", tmp_path / "page.html"
    done = kw("pipeline", "run", TOUR, "--out", str(out), "-q")
    assert done.code == 0, done.err
    made = [tmp_path / "deep", out, *out.rglob("*")]
    assert sum(path.suffix == ".parquet" for path in made) > 3
    assert {path.name: oct(mode(path)) for path in made if mode(path) != (0o700 if path.is_dir() else 0o600)} == {}
    for _ in range(2):
        assert kw("pipeline", "report", str(out), "--html", str(page), "-q").code == 0
        assert mode(page) == 0o600
        page.chmod(0o640)
    page.write_text("mine")
    assert kw("pipeline", "report", str(out), "--html", str(page), "-q").code == 2
    assert kw("pipeline", "report", str(out), "--html", str(page), "-q", "--force").code == 0
    assert mode(page) == 0o600
