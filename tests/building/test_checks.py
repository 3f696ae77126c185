"""The checks themselves: `.ci/run` begins as a bare machine would, and nothing that was skipped there stays untried."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tests.conftest import SkippedTests, pytest_collection_modifyitems

ROOT: Final = Path(__file__).resolve().parents[2]
RUN: Final = (ROOT / ".ci" / "run").read_text()
BLOCKS: Final = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_scripts_are_scripts() -> None:
    for path in sorted((ROOT / ".ci").iterdir()):
        assert subprocess.run(["bash", "-n", path]).returncode == 0
        assert path.stat().st_mode & 0o111


def test_the_first_command_runs_kw_and_the_second_the_tests() -> None:
    """`.ci/run` and `.ci/bare` take them from the README."""
    assert "kw sniff -o text captures/" in BLOCKS[0]
    assert BLOCKS[1].strip().endswith("&& python -m pytest")
    assert all(block.count("\n") == 1 for block in BLOCKS[:2])


def test_what_is_installed_later_is_hidden_before() -> None:
    """And the README's command comes before anything is installed for the others."""
    hidden = set(re.search(r"hidden='([^']*)'", RUN)[1].split())  # type: ignore[index]  # it is there
    names = re.findall(r"command -v ([a-z0-9.-]+)", RUN)
    looked_for = {name for name in names if not name.startswith("python")}
    assert looked_for
    assert looked_for <= hidden
    assert RUN.index('bash -c "$readme"') < RUN.index('install_packages "${wanted[@]}"')
    assert "env -u CI" in RUN
    assert ".ci/bare" in (ROOT / ".ci" / "full").read_text()


def test_skipped_tests_are_noted_and_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "skipped"
    noting = SkippedTests(path)
    for name, skipped in (("tests/a.py::one", True), ("tests/a.py::two[x y]", True), ("tests/a.py::three", False)):
        noting.pytest_runtest_logreport(_report(name, skipped=skipped))
    noting.pytest_runtest_logreport(_report("tests/a.py::expected", skipped=True, wasxfail="why"))
    noting.pytest_sessionfinish()
    items: list[Any] = [_item(name) for name in ("tests/a.py::three", "tests/a.py::two[x y]", "tests/b.py::one")]
    config: Any = SimpleNamespace(getoption=lambda name: str(path) if name == "--only-of" else None)
    pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == ["tests/a.py::two[x y]"]


def _report(name: str, **more: Any) -> Any:
    return SimpleNamespace(nodeid=name, **more)


def _item(name: str) -> SimpleNamespace:
    return SimpleNamespace(
        nodeid=name,
        path=ROOT / name.partition("::")[0],
        iter_markers=lambda _name: [],
        get_closest_marker=lambda _: None,
    )
