"""A request log and a capture of the same session, as kw reads them: everything that both know is equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from decoders.messages.parse_request_log import SERVER_SAYS

__all__ = ["Alike", "compare_inputs"]

Row = dict[str, Any]
_NAMES: Final = ("status", "errors", "client_software", "user", "messages_hidden")


class Alike:
    """`problems` lists differences; `same` counts equal exchanges; `later` has larger latencies on the wire, in ms."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.same = 0
        self.later: list[float] = []
        self.alone: list[Row] = []  # only in the capture


def compare_inputs(log: Iterable[Row], capture: Iterable[Row]) -> Alike:
    """Find each exchange of the log in the capture, by connection, correlation id, API, version and client id."""
    found = Alike()
    known: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in capture:
        if row["kind"] == "exchange" and row["api"] != "Envelope":
            known[_place(row)].append(row)
    for row in log:
        place = _place(row)
        if not known[place]:
            found.problems.append(f"only in the log: {place}")
            continue
        found.same += 1
        found.problems += [f"{place}: {text}" for text in _differences(found, row, known[place].pop(0))]
    found.alone = [row for rows in known.values() for row in rows]
    return found


def _differences(found: Alike, row: Row, other: Row) -> Iterable[str]:
    if set(row["server"]) != set(SERVER_SAYS.values()):
        yield f"it has of the server {sorted(row['server'])}"
    if other["status"] == "unanswered":  # the broker had answered, but the client had gone
        if row["request"] != _bare(other["request"]):
            yield "another request"
        return
    if row["latency_ms"] is not None and other["latency_ms"] is not None:
        found.later.append(other["latency_ms"] - row["latency_ms"])
    if row["request"] == {} != other["request"]:  # for a version that it does not know, the broker logs no body
        if [error["name"] for error in row["errors"]] != ["UNSUPPORTED_VERSION"]:
            yield "no request"
        names: tuple[str, ...] = ("errors", "response")
    else:
        names = (*_NAMES, "request", "response")
    names_here, names_there = row.get("topic_names", {}), other.get("topic_names", {})
    for identity in names_here.keys() & names_there.keys():  # another node may have given another name first
        if names_here[identity] != names_there[identity]:
            yield f"{identity} is {names_here[identity]}, in the capture {names_there[identity]}"
    for name in names:
        if row.get(name) != _bare(other.get(name)):
            yield f"{name}: {row.get(name)!r:.300}, in the capture {_bare(other.get(name))!r:.300}"


def _bare(value: Any) -> Any:
    """A body without its records."""
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if isinstance(value, dict):
        return {name: None if name == "records" else _bare(each) for name, each in value.items()}
    return value


def _place(row: Row) -> tuple[Any, ...]:
    ends = () if "envelope" in row else (row["client"], row["broker"])
    return (*ends, row["correlation_id"], row["api"], row["api_version"], row["client_id"])
