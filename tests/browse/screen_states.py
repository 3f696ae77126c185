"""The states that the screen of `kw browse` can be in, a table: what is read, the size of the terminal, the keys there.

Each is reached again from any other state of the same screen, so that one screen serves for many keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kwcli.browse.actions import ACTIONS
from kwcli.browse.panes.filter_bar import FilterBar
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT
from tests.browse.browsing import TOUR, Browsing
from tests.capture.pcap_writer import PcapWriter

if TYPE_CHECKING:
    from textual.pilot import Pilot

__all__ = ["KEYS", "STATES", "ScreenState", "open_screen", "picture_of", "reach_state"]

EMPTY: Final = "tests/browse/empty.pcap"
# The first request is whole but for its last field, so that it is one row that cannot be decoded.
UNDECODABLE: Final = bytes.fromhex("00 00 00 10  00 03 00 01  00 00 00 07  00 01 61  7f ff ff ff 00")
# Every key of the table, once.
KEYS: Final = tuple(dict.fromkeys(key for action in ACTIONS for key in action.keys))


class ScreenState(NamedTuple):
    """How a state is reached. `row`: that of the cursor; `types`: keys are letters of a line that is typed."""

    keys: tuple[str, ...] = ()
    file: str = TOUR
    size: tuple[int, int] = (80, 24)
    row: int = 14
    types: bool = False
    coming: bool = False  # rows are still to come


STATES: Final[dict[str, ScreenState]] = {
    "list": ScreenState(),
    "message": ScreenState(("enter",)),
    "bytes": ScreenState(("enter", "x", "tab")),
    "ladder": ScreenState(("L",)),
    "findings": ScreenState(("3",)),
    "top": ScreenState(("4",)),
    "an empty capture": ScreenState(file=EMPTY),
    "the message of an empty capture": ScreenState(("enter",), file=EMPTY),
    "the bytes of an empty capture": ScreenState(("enter", "x", "tab"), file=EMPTY),
    "the findings of an empty capture": ScreenState(("3",), file=EMPTY),
    "the top of an empty capture": ScreenState(("4",), file=EMPTY),
    "one undecodable row": ScreenState(file="undecodable", row=0),
    "the bytes of an undecodable row": ScreenState(("enter", "x", "tab"), file="undecodable", row=0),
    "rows still coming": ScreenState(coming=True),
    "a filter with an error": ScreenState(("f", *"error and ="), types=True),
    "a filter that finds nothing": ScreenState(("f", *"client_id == nobody", "enter")),
    "a search": ScreenState(("enter", "s", *"name"), types=True),
    "the name of a file": ScreenState(("W",), types=True),
    "a zone": ScreenState(("Z",), types=True),
    "help": ScreenState(("question_mark",)),
    "the palette": ScreenState(("colon",), types=True),
    "40 columns": ScreenState(size=(40, 12)),
    "a message in 40 columns": ScreenState(("enter", "x"), size=(40, 12)),
    "a ladder in 40 columns": ScreenState(("L",), size=(40, 12)),
    "top in 40 columns": ScreenState(("4",), size=(40, 12)),
}


def open_screen(state: ScreenState, folder: Path) -> Browsing:
    """A screen over what the state reads."""
    if state.file != "undecodable":
        return Browsing(state.file)
    path = folder / "undecodable.pcap"
    pcap = PcapWriter(LINK_RAW)
    talk = SyntheticTcp("10.9.8.7:40000", "10.1.2.3:9092", time_ns=10**18)
    packets = [*talk.opening_packets(), *(packet for packet, _ in talk.data_packets(CLIENT, UNDECODABLE))]
    blocks = [pcap.make_packet_block(10**18 + at, packet) for at, packet in enumerate(packets)]
    path.write_bytes(pcap.make_file_header() + b"".join(blocks))
    return Browsing(str(path), ports=(9092,))


async def reach_state(browsing: Browsing, pilot: Pilot[int], state: ScreenState) -> None:
    """Go to a state from any other."""
    app = browsing.app
    while len(app.screen_stack) > 1:
        app.pop_screen()
        await pilot.pause()
    if app.filter_bar.is_open:
        await pilot.press("escape")
        await browsing.settle(pilot)
    app.bytes_pane.remove_class("shown")
    app.message_pane.searched = ""
    app.message_pane.action_unfold_all()
    app.action_show_list()
    app._hide_message()
    app.filter_by("")
    await browsing.settle(pilot)
    app.list_pane.move_to(state.row)
    for key in state.keys:
        await pilot.press(key)
    await browsing.wait_for_pause(pilot)
    await browsing.settle(pilot)
    app._clipboard = ""
    app.show_notice("")
    await pilot.pause()


def picture_of(browsing: Browsing) -> tuple[Any, ...]:
    """All that somebody can see of a screen, and where keys go."""
    app = browsing.app
    strips = [[(segment.text, segment.style) for segment in strip] for strip in app.screen._compositor.render_strips()]
    return strips, app.focused, app.clipboard, len(app.screen_stack), app.query_one(FilterBar).line.value
