"""What a terminal can show in: colours, signs, sizes; the bytes that are written to it out."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from tests.browse.browsing import TOUR, Browsing, run_steps
from tests.browse.on_terminal import OnTerminal
from tests.cli.worlds import world

# Keys that go through all panes.
EVERYWHERE = ("enter", "x", "escape", "L", "3", "4", "b", "1", "f", "escape", "question_mark", "escape", "v", "escape")
# Codes of text: the numbers of each.
_STYLE = re.compile(rb"\x1b\[([0-9;]*)m")


async def draw_everything(browsing: Browsing, pilot: Any) -> tuple[str, set[Any]]:
    """The text of all panes, and the numbers of the colours in them; None is no number: 24 bits."""
    texts, colors = [], set()
    browsing.app.list_pane.move_to(14)
    for key in EVERYWHERE:
        await pilot.press(key)
        await browsing.settle(pilot)
        for strip in browsing.app.screen._compositor.render_strips():
            for segment in strip:
                texts.append(segment.text)
                if segment.style is not None:
                    colors |= {segment.style.color, segment.style.bgcolor}
    return "".join(texts), {color.number for color in colors if color is not None and not color.is_default}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 50)])
def test_all_is_ascii_where_the_terminal_is(size: tuple[int, int]) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        text, _ = await draw_everything(browsing, pilot)
        assert [sign for sign in set(text) if not sign.isascii()] == []
        assert all(len(line) == size[0] for line in browsing.screen_lines())

    env = world()
    env.ascii = True
    run_steps(Browsing(env=env), steps, size)


@pytest.mark.long
@pytest.mark.parametrize("color", [True, False])
def test_colours_are_those_of_the_terminal_or_none(color: bool) -> None:
    red = 1

    async def steps(browsing: Browsing, pilot: Any) -> None:
        _, colors = await draw_everything(browsing, pilot)
        assert colors <= (set(range(16)) if color else set())
        assert (red in colors) == color

    run_steps(Browsing(color=color), steps)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("words", "variables", "has_color"),
    [
        ((), {"NO_COLOR": "1"}, False),
        (("--color", "never"), {}, False),
        ((), {"TERM": "xterm"}, True),
        ((), {"COLORTERM": "truecolor"}, True),
    ],
)
def test_the_bytes_have_the_colours_that_were_asked_for(
    words: tuple[str, ...], variables: dict[str, str | None], has_color: bool
) -> None:
    run = OnTerminal(TOUR, *words, variables=variables)
    try:
        run.wait_for(b"193 rows")
        # A key goes to the pane that the one before has opened once that is drawn.
        for key, drawn in ((b"e", b"15 of 193"), (b"\r", b"request_api_key"), (b"x", b"0000")):
            so_far = len(run.seen)
            run.press(key)
            run.wait_for(drawn, after=so_far)
        run.press(b"Q")
        assert run.wait_for_end() == 0
    finally:
        run.close()
    codes = [int(code or 0) for found in _STYLE.findall(run.seen) for code in found.split(b";")]
    colors = {code for code in codes if 30 <= code <= 48 or 90 <= code <= 107} - {39, 49}
    assert bool(colors) == has_color
    assert not colors & {38, 48}  # no colour but the terminal's own: they fit light and dark backgrounds
