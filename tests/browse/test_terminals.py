"""What a terminal can show in: colours, signs, sizes; the bytes that are written to it out."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from kwcli.browse.actions import ACTIONS
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


@pytest.mark.one_in(2)
def test_every_colour_stands_on_the_background_of_the_terminal() -> None:
    """What the terminal has made readable on its own background, light or dark; no black, white or grey of its own."""
    grey = {0, 7, 8, 15}
    unreadable = set()

    async def steps(browsing: Browsing, pilot: Any) -> None:
        browsing.app.list_pane.move_to(14)
        for key in (*EVERYWHERE, "colon", "down", "escape"):
            await pilot.press(key)
            await browsing.settle(pilot)
            for strip in browsing.app.screen._compositor.render_strips():
                for text, style, _ in strip:
                    if style is None or not text.strip():
                        continue
                    front, back = (each and not each.is_default and each for each in (style.color, style.bgcolor))
                    if not text.strip(_BLOCKS):
                        continue
                    if back or (front and front.number in grey) or (style.reverse and (front or style.dim)):
                        unreadable.add((text.strip(), str(style)))

    run_steps(Browsing(), steps)
    assert unreadable == set()


# The blocks of scroll bars.
_BLOCKS = "▁▂▃▄▅▆▇█"


@pytest.mark.parametrize(("width", "most"), [(40, 5), (80, 9), (200, 19)])
def test_keys_below_are_whole_help_first_and_no_word_twice(width: int, most: int) -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.pause()
        line = browsing.screen_lines()[-1]
        assert line.startswith("? help  Enter open  ")
        hints = line.split("  ")
        words = [each.split(" ", 1)[1] for each in hints if each.strip()]
        assert len(words) == len(set(words)) <= most
        assert set(words) <= {action.bar for action in ACTIONS}
        await pilot.press("f")
        await browsing.settle(pilot)
        assert browsing.screen_lines()[-1].split("  ")[:2] == ["Enter take", "Esc give up"]

    run_steps(Browsing(), steps, (width, 24))


def test_errors_and_findings_are_whole_in_40_columns() -> None:
    async def steps(browsing: Browsing, pilot: Any) -> None:
        await pilot.press("f", *"error and latenc >= x")
        await browsing.settle(pilot)
        assert '(did you mean\n"latency"?)' in browsing.screen_text
        await pilot.press("escape", "3")
        await browsing.settle(pilot)
        assert "or the client\n   may not see it\n" in browsing.screen_text

    run_steps(Browsing(), steps, (40, 24))


def test_the_filter_is_named_first_below_the_list() -> None:
    async def steps(browsing: Browsing, _: Any) -> None:
        assert browsing.screen_lines()[-2].startswith("8 matches: error and unexpected")

    run_steps(Browsing(text="error and unexpected"), steps, (60, 24))
