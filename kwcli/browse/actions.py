"""Every action of the screen, a literal table: its name, its keys, where they work, and what it does.

Key bindings, `?` and the command palette are made of it. A row's name is that of a method `action_NAME` of the pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from textual.binding import Binding

from decoders.named_tuple import NamedTuple

__all__ = [
    "ACTIONS",
    "PLACES",
    "WAYS",
    "Place",
    "ScreenAction",
    "describe_key_in_other_panes",
    "find_key_by_label",
    "list_key_labels",
    "make_bindings_of_places",
]

Place = Literal["lines", "list", "message", "bytes", "ladder", "findings", "top", "everywhere"]
# The place → its heading in the help.
PLACES: Final[dict[Place, str]] = {
    "everywhere": "Everywhere",
    "lines": "In every pane",
    "list": "List",
    "message": "Message",
    "bytes": "Bytes",
    "ladder": "Ladder",
    "findings": "Findings",
    "top": "Top",
}


class ScreenAction(NamedTuple):
    """One action. `keys` are textual's names; `text` says what it does, as a verb with its object."""

    name: str
    keys: tuple[str, ...]
    where: Place
    text: str
    bar: str = ""  # its word in the line of keys, where it is there
    rank: int = 0  # of the words of a line, those of the least rank come first
    always: tuple[str, ...] = ()  # those of its keys that work while a line is typed, and in the help


ACTIONS: Final[tuple[ScreenAction, ...]] = (
    ScreenAction("show_help", ("question_mark", "f1"), "everywhere", "Show all keys", "help", 0),
    ScreenAction("command_palette", ("colon", "ctrl+p"), "everywhere", "Find an action by its name", "actions", 13),
    ScreenAction(
        *("edit_filter", ("f", "slash"), "everywhere"),
        *("Filter the list, say: client_id == billing-1 and error", "filter", 4),
    ),
    ScreenAction("clear_filter", ("F",), "everywhere", "Show all rows again", "all rows", 14),
    ScreenAction("earlier_filter", ("u",), "everywhere", "Go back to the filter before", "filter before", 15),
    ScreenAction("go_back", ("escape", "q"), "everywhere", "Close the pane", "back", 3),
    ScreenAction("quit", ("Q", "ctrl+q", "ctrl+c"), "everywhere", "Quit", always=("ctrl+q",)),
    ScreenAction("suspend_process", ("ctrl+z",), "everywhere", "Suspend kw; fg comes back", always=("ctrl+z",)),
    ScreenAction("focus_next_pane", ("tab",), "everywhere", "Go to the next pane", "pane", 12),
    ScreenAction("focus_earlier_pane", ("shift+tab",), "everywhere", "Go to the pane before"),
    ScreenAction("change_times", ("t",), "everywhere", "Show times absolute, since the first, since the row before"),
    ScreenAction("change_zone", ("z",), "everywhere", "Show times in UTC, or in this machine's zone"),
    ScreenAction("choose_zone", ("Z",), "everywhere", "Show times in another zone: Europe/Berlin, berlin"),
    ScreenAction("go_to_time", ("T",), "everywhere", "Go to a time: 17:34:50 in the zone that is shown", "time", 16),
    ScreenAction("export_rows", ("W",), "everywhere", "Write the rows, or the open message, to a file", "write", 9),
    ScreenAction("copy_call", ("C",), "everywhere", "Copy the kw call line that asks this again", "call", 11),
    ScreenAction("show_list", ("1", "f2"), "everywhere", "Show the list: rows in the order in which they ended"),
    ScreenAction(
        "show_ladder", ("2", "f3"), "everywhere", "Show the last ladder, or that of this connection", "ladder", 15
    ),
    ScreenAction(
        *("show_findings", ("3", "f4"), "everywhere", "Show what is wrong, why, and who is refused or slow"),
        *("findings", 7),
    ),
    ScreenAction(
        *("show_top", ("4", "f5"), "everywhere", "Show all clients, the busiest first, and the slowest requests"),
        *("clients", 8),
    ),
    ScreenAction("move_down", ("j", "down"), "lines", "Go down one line"),
    ScreenAction("move_up", ("k", "up"), "lines", "Go up one line"),
    ScreenAction("page_down", ("pagedown", "ctrl+f"), "lines", "Go down one page"),
    ScreenAction("page_up", ("pageup", "ctrl+b"), "lines", "Go up one page"),
    ScreenAction("half_page_down", ("ctrl+d",), "lines", "Go down half a page"),
    ScreenAction("half_page_up", ("ctrl+u",), "lines", "Go up half a page"),
    ScreenAction("go_to_start", ("g", "home"), "lines", "Go to the first line, or to that of a number before it"),
    ScreenAction("go_to_end", ("G", "end"), "lines", "Go to the last line; a live list then follows", "last", 10),
    ScreenAction("scroll_left", ("less_than_sign", "shift+left"), "lines", "Scroll to the left"),
    ScreenAction("scroll_right", ("greater_than_sign", "shift+right"), "lines", "Scroll to the right"),
    ScreenAction("open_message", ("enter", "l", "right"), "list", "Open the message of this row", "open", 1),
    ScreenAction("next_error", ("e",), "list", "Go to the next row with an error or no answer", "next error", 16),
    ScreenAction("earlier_error", ("E",), "list", "Go to the row with an error or no answer before"),
    ScreenAction(
        "next_records", ("d",), "list", "Open the records of this row, or of the next with some", "records", 12
    ),
    ScreenAction("earlier_records", ("D",), "list", "Open the records of the row with some before"),
    ScreenAction("this_client", ("c",), "list", "Filter by this client", "client", 12),
    ScreenAction("this_connection", ("n",), "list", "Filter by this connection", "connection", 17),
    ScreenAction("this_topic", ("p",), "list", "Filter by this topic", "topic", 17),
    ScreenAction("this_group", ("r",), "list", "Filter by this group", "group", 17),
    ScreenAction("this_api", ("a",), "list", "Filter by this API", "API", 17),
    ScreenAction(
        "only_errors", ("exclamation_mark",), "list", "Filter by errors and requests without an answer", "errors", 5
    ),
    ScreenAction("this_slow", ("w",), "list", "Filter by what was at least as slow as this", "slower", 17),
    ScreenAction("connection_ladder", ("L",), "list", "Show the ladder of this connection", "ladder", 15),
    ScreenAction("group_ladder", ("R",), "list", "Show the ladder of this group"),
    ScreenAction("transaction_ladder", ("X",), "list", "Show the ladder of this transaction"),
    ScreenAction(
        "next_order", ("S",), "list", "Sort by latency, size, time, the gap before, by end, in turn", "sort", 6
    ),
    ScreenAction(
        "choose_columns", ("v",), "list", "Choose the columns: time,latency,client,topic,error", "columns", 18
    ),
    ScreenAction("copy_row", ("y",), "list", "Copy the line", "copy", 18),
    ScreenAction(
        *(
            "go_back_from_list",
            ("escape",),
            "list",
            "Go back to where you came from, then to all rows",
            "step back",
            19,
        ),
    ),
    ScreenAction("leave_list", ("q",), "list", "Quit", "quit", 19),
    ScreenAction("copy_field", ("y",), "message", "Copy the value of the field", "copy", 6),
    ScreenAction("copy_path", ("Y",), "message", "Copy the path of the field, as filters take it"),
    ScreenAction("toggle_fold", ("space", "enter"), "message", "Fold or unfold the field", "fold", 1),
    ScreenAction("fold_or_leave", ("h", "left"), "message", "Fold the field, or go to the one around it"),
    ScreenAction("unfold", ("l", "right"), "message", "Unfold the field"),
    ScreenAction("fold_all", ("minus",), "message", "Fold everything"),
    ScreenAction("unfold_all", ("plus", "equals_sign"), "message", "Unfold everything, records too"),
    ScreenAction(
        "search_text", ("slash", "s"), "message", "Search names and values: error_code, offset 3", "search", 1
    ),
    ScreenAction(
        "next_error_code", ("e",), "message", "Go to the next error code, also to one that is 0", "error code", 1
    ),
    ScreenAction("earlier_error_code", ("E",), "message", "Go to the error code before"),
    ScreenAction("next_match", ("n",), "message", "Go to the next match"),
    ScreenAction("earlier_match", ("N",), "message", "Go to the match before"),
    ScreenAction("next_record", ("d",), "message", "Go to the next record, here or in a later row", "records", 1),
    ScreenAction("earlier_record", ("D",), "message", "Go to the record before, here or in an earlier row"),
    ScreenAction("change_side", ("o",), "message", "Go to the other side: request, response", "other side", 5),
    ScreenAction("toggle_bytes", ("x",), "message", "Show or hide the bytes; those of the field are lit", "bytes", 1),
    ScreenAction("next_row", ("J", "right_square_bracket"), "message", "Show the next row of the list", "next", 1),
    ScreenAction("earlier_row", ("K", "left_square_bracket"), "message", "Show the row before"),
    ScreenAction("byte_forward", ("l", "right"), "bytes", "Go to the next byte"),
    ScreenAction("byte_back", ("h", "left"), "bytes", "Go to the byte before"),
    ScreenAction("leave_bytes", ("x",), "bytes", "Hide the bytes", "hide", 1),
    ScreenAction("open_step", ("enter",), "ladder", "Open the message of this arrow", "open", 1),
    ScreenAction("other_end", ("o",), "ladder", "Go to the other side of this exchange", "other side", 1),
    ScreenAction("set_mark", ("m",), "ladder", "Set a mark, or take it away: above is the time since it", "mark", 1),
    ScreenAction("show_evidence", ("enter",), "findings", "List the exchanges that show it", "evidence", 1),
    ScreenAction("next_finding", ("n", "right_square_bracket"), "findings", "Go to the next finding", "next", 1),
    ScreenAction("earlier_finding", ("N", "left_square_bracket"), "findings", "Go to the finding before"),
    ScreenAction("list_rows", ("enter",), "top", "List the rows of this line", "rows", 1),
    ScreenAction(
        "search_line", ("slash", "s"), "top", "Search a client, API, topic or broker by a part of its name", "search", 1
    ),
    ScreenAction("next_line", ("n",), "top", "Go to the next line that was searched"),
    ScreenAction("earlier_line", ("N",), "top", "Go to the line before that was searched"),
    ScreenAction("next_dimension", ("b",), "top", "Count by client, API, topic, broker in turn", "by API, topic", 1),
)
# What people look for → the keys that lead there from the list; the help begins with them.
WAYS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("3", "enter"), "What is wrong, and which exchanges show it"),
    (("exclamation_mark",), "What failed or was never answered, counted by API and error"),
    (("4", "enter", "G"), "What one client asked last: choose it in the list of clients"),
    (("S",), "What took longest"),
    (("d",), "What is in the records of this row, or of the next with some"),
    (("enter", "slash"), "Where a name or a value is in a message"),
    (("enter", "e", "x"), "Which bytes hold an error code; e goes on to the next one"),
    (("9", "j"), "Go down 9 lines; 12G in a message; 012G where 1 is a view"),
    (("L",), "What was asked on this connection, in which order"),
    (("c", "W"), "Write what this client asked to a file, say rows.pcapng"),
)

# Keys as people read them, where textual has a word for a sign.
_SIGNS: Final = {
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "exclamation_mark": "!",
    "space": "Space",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "shift+left": "Shift-←",
    "shift+right": "Shift-→",
    **{f"f{number}": f"F{number}" for number in range(1, 6)},
}


def list_key_labels(keys: Iterable[str]) -> list[str]:
    """Keys as people read them: `?`, `Ctrl-P`, `Enter`."""
    return [_format_key_label(key) for key in keys]


def find_key_by_label(name: str) -> str:
    """The key that people read as this: `Enter` → `enter`, `?` → `question_mark`."""
    return next((key for key, sign in _SIGNS.items() if sign == name), name)


def _format_key_label(key: str) -> str:
    return _SIGNS.get(key) or (f"Ctrl-{key[5:].upper()}" if key.startswith("ctrl+") else key)


def make_bindings_of_places(*places: Place) -> Iterator[Binding]:
    """The bindings of the actions at these places."""
    for action in ACTIONS:
        if action.where in places:
            for key in action.keys:
                yield Binding(key, action.name, action.text, show=False, priority=key in action.always)


def describe_key_in_other_panes(key: str) -> str:
    """What a key does in other panes, as a sentence; empty where no action has it."""
    found = [f"{PLACES[action.where].lower()}: {action.text}" for action in ACTIONS if key in action.keys]
    return f"{_format_key_label(key)} works elsewhere: {'; '.join(found)}" if found else ""
