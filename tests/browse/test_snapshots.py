"""The main screens in two sizes, as they were when somebody last looked at them (snapshots.py)."""

from __future__ import annotations

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from tests.browse.snapshots import FOLDER, SCREENS, SIZES, draw, path_of

ROWS = [(name, size) for size in SIZES for name in SCREENS]


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("name", "size"), ROWS, ids=lambda each: each if isinstance(each, str) else f"{each[0]}x{each[1]}"
)
def test_a_screen_is_as_it_was(name: str, size: tuple[int, int]) -> None:
    assert draw(name, size) == path_of(name, size).read_text()


def test_every_snapshot_has_its_screen() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {path_of(*row).name for row in ROWS}
