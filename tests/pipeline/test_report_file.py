"""The file of a report is complete or absent, whatever hinders its writing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.pipeline.test_run import TOUR, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    pytest.importorskip("pyarrow", reason=pip_command_for_extra("report"))
    run(TOUR, "--out", tmp_path / "tables")
    return tmp_path / "tables"


def test_the_page_takes_the_place_of_the_one_before(tables: Path, tmp_path: Path) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("before")
    link.symlink_to(page)
    outcome = kw("pipeline", "report", str(tables), "--html", str(link), "--force")
    assert (outcome.code, outcome.err) == (Exit.DONE, f"{link}: written\n")
    assert link.is_symlink()
    assert page.read_text().startswith("<!")
    assert sorted(os.listdir(tmp_path)) == ["link.html", "page.html", "tables"]
    assert kw("pipeline", "report", str(tables), "--html", os.devnull).code == Exit.DONE


@pytest.mark.parametrize(("name", "said"), [("none/page.html", "no such file or directory"), (".", "is a directory")])
def test_where_no_page_can_be_one_line_says_why(tables: Path, tmp_path: Path, name: str, said: str) -> None:
    outcome = kw("pipeline", "report", str(tables), "--html", str(tmp_path / name))
    assert (outcome.code, outcome.err) == (Exit.FAILURE, f"kw: {tmp_path / name}: {said}\n")


def test_a_full_disk_leaves_the_page_as_it_was(tables: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("before")
    words = ["pipeline", "report", str(tables), "--html", str(page), "--force"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "kwcli.main", *words],  # its byte code would be cut at the limit, too
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert (done.returncode, done.stderr) == (Exit.FAILURE, f"kw: {page}: file too large\n")
    assert page.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["page.html", "tables"]
