"""Each pair of options of which one would be ignored (`Clash`) is refused, in every command that has both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
import pytest

from kwcli.clashing_options import Clash
from kwcli.main import Commands
from tests.habits.command_lists import Row, missing, read_rows, run_row

ROOT = Path(__file__).parents[2]
ROWS = read_rows()
OF_CLASHES = [row for row in ROWS if row.place.startswith("clashes:")]


def _find_modules() -> Iterator[ModuleType]:
    for path in sorted((ROOT / "kwcli").rglob("*.py")):
        if "Clash(" in path.read_text() and path.name != "clashing_options.py":
            yield import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def _find_clashes(module: ModuleType) -> Iterator[Clash]:
    assert module.__file__ is not None
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Clash":
            yield eval(ast.unparse(node), vars(module))


@pytest.mark.parametrize("row", OF_CLASHES, ids=lambda row: row.line)
def test_the_pair_is_refused(row: Row, tmp_path: Path) -> None:
    assert missing(row, run_row(row, tmp_path)) == []


def _list_commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _list_commands(command)


def _spell_options(command: click.Command) -> dict[str | None, str]:
    return {param.name: max(param.opts, key=len) for param in command.params}


def test_each_pair_has_a_row() -> None:
    said = {text for row in ROWS for text in row.wanted}
    every = [_spell_options(command) for command in _list_commands(Commands())]
    pairs = {
        f"{options[other]} has no effect with {options[clash.option]}"
        for module in _find_modules()
        for clash in _find_clashes(module)
        for other in clash.others
        for options in every
        if clash.option in options and other in options
    }
    assert len(pairs) > 60
    assert sorted(pairs - said) == []
