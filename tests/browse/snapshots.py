"""`python -m tests.browse.snapshots`: write the screens that test_snapshots.py compares with, after a look at them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final
from unittest.mock import patch

import kwcli.browse.app as app_module
from tests.browse.browsing import Browsing

FOLDER: Final = Path(__file__).parent / "screens"
SIZES: Final = ((80, 24), (200, 50))
# The name of a screen → the row that the cursor is on, and the keys that lead there.
SCREENS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "list": (0, ()),
    "message": (14, ("enter", "x")),
    "ladder": (14, ("L",)),
    "findings": (0, ("3",)),
    "top": (0, ("4",)),
    "filter": (0, ("f", *"error and laten")),
    "records": (20, ("d",)),
    "write": (0, ("exclamation_mark", "W")),
    "help": (0, ("question_mark",)),
}


def draw(name: str, size: tuple[int, int]) -> str:
    """The text of a screen."""
    browsing = Browsing()
    row, keys = SCREENS[name]

    @patch.object(app_module, "_PAUSE_S", 3600.0)  # nothing is tried while keys are typed, however slow that is
    async def run() -> str:
        async with browsing.app.run_test(size=size) as pilot:
            await browsing.settle(pilot)
            browsing.app.list_pane.move_to(row)
            for key in keys:
                await pilot.press(key)
                await browsing.settle(pilot)
            return browsing.screen_text + "\n"

    return asyncio.run(run())


def path_of(name: str, size: tuple[int, int]) -> Path:
    """The file of a screen."""
    return FOLDER / f"{name}-{size[0]}x{size[1]}.txt"


def main() -> None:
    """Write all screens."""
    FOLDER.mkdir(exist_ok=True)
    for name in SCREENS:
        for size in SIZES:
            path_of(name, size).write_text(draw(name, size))


if __name__ == "__main__":
    main()
