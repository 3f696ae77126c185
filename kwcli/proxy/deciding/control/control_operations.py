"""The operations of the control interface, as a literal table: method and path in, JSON out.

`openapi.json` beside this file describes the operations for programs; a test compares the two. No operation loads a
script, names a file, or shows more than the log does: bodies of exchanges are redacted as in the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from decoders.filters import FilterError
from decoders.named_tuple import NamedTuple
from kwcli.proxy.deciding.held_exchanges import RELEASES

if TYPE_CHECKING:
    from kwcli.proxy.deciding.held_exchanges import HeldExchanges
    from kwcli.proxy.deciding.hold_rules import HoldRules

__all__ = [
    *("OPERATIONS", "ControlAnswer", "ControlState", "Operation", "Refused", "Ring", "make_error_answer"),
    "run_operation",
]

Json = dict[str, Any]
# What the ring of exchanges keeps at most.
RING_BYTES: Final = 16 << 20
RING_ROWS: Final = 1_000


class Refused(Exception):
    """An operation was refused: HTTP status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class ControlAnswer(NamedTuple):
    """An HTTP status and a JSON body."""

    status: int
    body: bytes


class Ring:
    """The last exchanges as lines of JSON, bounded by number and bytes."""

    def __init__(self, rows: int = RING_ROWS, size: int = RING_BYTES) -> None:
        self._lines: deque[bytes] = deque()
        self._rows = rows
        self._most = size
        self._size = 0
        self.count = 0  # of all exchanges so far, the dropped ones too

    def add_line(self, line: bytes) -> None:
        """Add an exchange; the oldest ones beyond the bounds are dropped."""
        self._lines.append(line)
        self._size += len(line)
        self.count += 1
        while len(self._lines) > self._rows or self._size > self._most:
            self._size -= len(self._lines.popleft())

    def get_newest_lines(self, count: int) -> list[bytes]:
        """The newest `count` exchanges, oldest first."""
        return list(islice(self._lines, max(len(self._lines) - count, 0), None))

    def get_lines_after(self, number: int, count: int) -> list[bytes]:
        """The oldest `count` exchanges of those that came after the exchange with this number, counted from 1."""
        first = max(number - (self.count - len(self._lines)), 0)
        return list(islice(self._lines, first, first + count))


class FaultRules(Protocol):
    """The fault rules of the proxy, as far as the control interface shows and changes them."""

    def add_rule(self, rule: str) -> Json:
        """Add a rule; its row. Raises FilterError."""

    def remove_rule(self, number: int) -> bool:
        """Remove a rule; False when there is none with this number."""

    def list_rows(self) -> list[Json]:
        """All rules as rows: id, rule, met, hit."""


class ControlState(NamedTuple):
    """The parts of the proxy that operations read and change. `connections` and `listeners` give rows."""

    connections: Callable[[], list[Json]]
    listeners: Callable[[], list[Json]]
    ring: Ring
    held: HeldExchanges
    holds: HoldRules
    faults: FaultRules
    say: Callable[[str], None]  # a line in the proxy's own messages, for every change
    stop: Callable[[], None]  # end the proxy, as the first SIGTERM does


class Operation(NamedTuple):
    """One operation: `path` has `{id}` in the place of a number; `fields` are allowed in the query or body."""

    method: str
    path: str
    text: str
    run: Callable[[ControlState, int, Json], object]
    fields: tuple[str, ...] = ()


def _parse_count(query: Json, name: str, default: str) -> int:
    count = query.get(name, default)
    if not (isinstance(count, str) and count.isdigit()):
        raise Refused(400, f"{name}={count} is no count")
    return int(count[:18])


def _list_exchanges(state: ControlState, _id: int, query: Json) -> object:
    limit = _parse_count(query, "limit", "100")
    if "after" in query:
        lines = state.ring.get_lines_after(_parse_count(query, "after", "0"), limit)
    else:
        lines = state.ring.get_newest_lines(limit)
    return [orjson.Fragment(line) for line in lines]


def _release_exchange(state: ControlState, number: int, body: Json) -> object:
    how = body.get("do", "pass")
    if how not in RELEASES:
        raise Refused(400, f"do: one of {', '.join(RELEASES)}")
    if not state.held.release_exchange(number, how):
        raise Refused(404, f"exchange {number} is not held, or no longer")
    state.say(f"control: held exchange {number} goes on: {how}")
    return {"id": number, "do": how}


def _add_hold_rule(state: ControlState, _id: int, body: Json) -> object:
    when, side, first = body.get("when", ""), body.get("side", "request"), body.get("first")
    if not isinstance(when, str) or side not in ("request", "response"):
        raise Refused(400, "when: a filter; side: request or response")
    if first is not None and (type(first) is not int or first < 1):
        raise Refused(400, "first: a count, at least 1")
    try:
        rule = state.holds.add_rule(when, side, first)
    except FilterError as error:
        raise Refused(400, f"when: column {error.column}: {error.text}") from None
    state.say(f"control: rule {rule.number} holds {side}s{f' when {when}' if when else ''}")
    return rule.make_row_of_rule()


def _remove_hold_rule(state: ControlState, number: int, _body: Json) -> object:
    if not state.holds.remove_rule(number):
        raise Refused(404, f"no rule {number} holds exchanges")
    state.say(f"control: rule {number} holds no more exchanges")
    return {"id": number}


def _remove_hold_rules(state: ControlState, _id: int, body: Json) -> object:
    return [_remove_hold_rule(state, number, body) for number in list(state.holds.rules)]


def _add_fault_rule(state: ControlState, _id: int, body: Json) -> object:
    rule = body.get("rule")
    if not isinstance(rule, str):
        raise Refused(400, "rule: the text of a fault, as --fault takes it")
    try:
        row = state.faults.add_rule(rule)
    except FilterError as error:
        raise Refused(400, f"rule: column {error.column}: {error.text}") from None
    state.say(f"control: fault {row['id']} begins: {rule}")
    return row


def _remove_fault_rule(state: ControlState, number: int, _body: Json) -> object:
    if not state.faults.remove_rule(number):
        raise Refused(404, f"there is no fault {number}")
    state.say(f"control: fault {number} ends")
    return {"id": number}


def _remove_fault_rules(state: ControlState, _id: int, body: Json) -> object:
    return [_remove_fault_rule(state, row["id"], body) for row in state.faults.list_rows()]


def _stop_proxy(state: ControlState, _id: int, _body: Json) -> object:
    state.say("control: the proxy stops")
    connections = len(state.connections())
    state.stop()
    return {"connections": connections}


OPERATIONS: Final = (
    Operation("GET", "/v1/exchanges", "The last exchanges, oldest first; limit, 100 without; after: from a number on.",
              _list_exchanges, ("limit", "after")),
    Operation("GET", "/v1/exchanges/count", "How many exchanges there were so far.",
              lambda s, _, __: {"count": s.ring.count}),
    Operation("GET", "/v1/connections", "Clients' connections that are open.", lambda s, _, __: s.connections()),
    Operation("GET", "/v1/listeners", "Where clients find which node.", lambda s, _, __: s.listeners()),
    Operation("GET", "/v1/held", "Exchanges that are held now.", lambda s, _, __: s.held.list_rows()),
    Operation("POST", "/v1/held/{id}", "Let a held exchange go on: do is pass, close or reset.",
              _release_exchange, ("do",)),
    Operation("GET", "/v1/holds", "Rules by which exchanges are held.",
              lambda s, _, __: [rule.make_row_of_rule() for rule in s.holds.rules.values()]),
    Operation("POST", "/v1/holds", "Hold what a filter matches: when, side, first.",
              _add_hold_rule, ("when", "side", "first")),
    Operation("DELETE", "/v1/holds", "Hold no more by any rule; what is held stays held.", _remove_hold_rules),
    Operation("DELETE", "/v1/holds/{id}", "Hold no more by this rule; what it holds stays held.", _remove_hold_rule),
    Operation("GET", "/v1/faults", "Faults at work, with how often each has hit.",
              lambda s, _, __: s.faults.list_rows()),
    Operation("POST", "/v1/faults", "Add a fault: rule, as --fault takes it.", _add_fault_rule, ("rule",)),
    Operation("DELETE", "/v1/faults", "End all faults.", _remove_fault_rules),
    Operation("DELETE", "/v1/faults/{id}", "End a fault.", _remove_fault_rule),
    Operation("POST", "/v1/stop", "Take no new requests, and end once all answers are sent.", _stop_proxy),
)  # fmt: skip


def run_operation(state: ControlState, method: str, path: str, fields: Json) -> ControlAnswer:
    """Run the operation for a method and path; its answer. `fields` come from the query (GET) or the body."""
    allowed = []
    for row in OPERATIONS:
        number = _parse_id_in_path(row.path, path)
        if number is None:
            continue
        if row.method != method:
            allowed.append(row.method)
            continue
        unknown = [name for name in fields if name not in row.fields]
        if unknown:
            return make_error_answer(400, f"unknown field {unknown[0]}; known here: {', '.join(row.fields) or 'none'}")
        try:
            return ControlAnswer(200, orjson.dumps(row.run(state, number, fields)) + b"\n")
        except Refused as refused:
            return make_error_answer(refused.status, refused.text)
    if allowed:
        return make_error_answer(405, f"{path} takes {', '.join(allowed)}")
    return make_error_answer(404, f"nothing is at {path}; see /openapi.json")


def make_error_answer(status: int, text: str) -> ControlAnswer:
    """The answer that refuses a request: the HTTP status, and why."""
    return ControlAnswer(status, orjson.dumps({"error": text}) + b"\n")


def _parse_id_in_path(pattern: str, path: str) -> int | None:
    """The number in the place of `{id}`, 0 where the pattern has none; None where the path does not match."""
    head, found, _ = pattern.partition("{id}")
    if not found:
        return 0 if pattern == path else None
    rest = path.removeprefix(head)
    return int(rest) if rest != path and rest.isascii() and rest.isdigit() and len(rest) < 10 else None
