"""`kw playground node ACTION ID…` in, the running playground asked for it, who is up printed; an exit code out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kwcli.exits import Exit, Failure
from kwcli.playground.control import SOCKET, ask
from kwcli.playground.scratch import playgrounds

if TYPE_CHECKING:
    from kwcli.env import Environment

__all__ = ["VARIABLE", "act"]

# In --run's commands: the name of the playground's folder.
VARIABLE: Final = "KW_PLAYGROUND"
_LOOK_S: Final = 0.1
# What a restart is made of; every other action is one step.
_STEPS: Final[Mapping[str, tuple[str, ...]]] = {"restart": ("stop", "start")}
# When a step is done: the states that its nodes are in then.
_AFTER: Final = {"stop": ("down",), "kill": ("down",), "start": ("up",), "pause": ("paused",)}

State = dict[str, Any]


def act(
    env: Environment, action: str, numbers: Sequence[int], *, port: int | None, timeout_s: float, output: str
) -> Exit:
    """Do it, wait until it is done, print the nodes. Raises Failure."""
    folder = _found(env, port)
    until = env.monotonic() + timeout_s
    states = _asked(folder, "list", [])
    for step in _STEPS.get(action, (action,)):
        down = [each["node"] for each in states if each["state"] == "down"]
        wanted = [number for number in numbers if action != "restart" or step != "stop" or number not in down]
        states = _asked(folder, step, wanted)
        while (late := _late(states, step, wanted)) and env.monotonic() < until:
            time.sleep(_LOOK_S)
            states = _asked(folder, "list", [])
        if late:
            _print(env, states, output)
            raise Failure(_why_late(step, late, timeout_s), Exit.TIMEOUT)
    _print(env, states, output)
    return Exit.DONE


def _late(states: Sequence[State], step: str, numbers: Sequence[int]) -> list[State]:
    """The nodes that are not yet as they should be. Raises Failure for one that has ended instead of coming up."""
    late = []
    for state in states:
        if state["node"] in numbers and step in _AFTER and state["state"] not in _AFTER[step]:
            if step == "start" and state["state"] == "down":
                raise Failure(f"node {state['node']} {state['why']}")
            late.append(state)
    return late


def _why_late(step: str, late: Sequence[State], timeout_s: float) -> str:
    names = " and ".join(f"node {state['node']}" for state in late)
    if step == "start":
        return f"{names} does not answer within {timeout_s:.3g} s; do enough of the others run for a quorum?"
    return f"{names} has not ended within {timeout_s:.3g} s; kill does not wait"


def _asked(folder: Path, action: str, numbers: Sequence[int]) -> list[State]:
    try:
        answer = ask(folder, action, list(numbers))
    except (OSError, ValueError) as error:
        raise Failure(f"the playground {folder.name} does not answer: {error}", Exit.UNREACHABLE) from None
    if "error" in answer:
        raise Failure(str(answer["error"]), Exit.USAGE)
    states: list[State] = answer["nodes"]
    return states


def _found(env: Environment, port: int | None) -> Path:
    """The folder of the playground that is meant. Raises Failure."""
    home = playgrounds(env.variables)
    named = env.variables.get(VARIABLE)
    if named and port is None and "/" not in named and (home / named / SOCKET).exists():
        return home / named
    running = dict(_running(home))
    if not running:
        text = "no playground runs whose nodes could be stopped (the mock's brokers are one process)"
        raise Failure(text, Exit.UNREACHABLE)
    if port is not None:
        running = {folder: ports for folder, ports in running.items() if port in ports}
        if not running:
            raise Failure(f"no playground has port {port}", Exit.USAGE)
    if len(running) > 1:
        first = ", ".join(str(min(ports)) for ports in running.values())
        raise Failure(f"{len(running)} playgrounds run: --port says which (they have {first})", Exit.USAGE)
    return next(iter(running))


def _running(home: Path) -> Iterator[tuple[Path, list[int]]]:
    """The folders of playgrounds that answer, and the ports that clients use."""
    for folder in sorted(home.glob(f"*-*/{SOCKET}")) if home.is_dir() else []:
        try:
            nodes = ask(folder.parent, "list", [])["nodes"]
        except (OSError, ValueError, KeyError):
            continue  # it was killed, or is just ending
        yield folder.parent, [port for node in nodes for port in _shown(node).values()]


def _shown(state: State) -> dict[str, int]:
    """The listeners for clients; the controller's own where there is no other."""
    ports: dict[str, int] = state["ports"]
    return {name: port for name, port in ports.items() if name not in ("INTERNAL", "CONTROLLER")} or ports


def _text(states: Sequence[State]) -> str:
    lines = []
    for state in states:
        process = f"process {state['pid']}" if state["pid"] else state["why"]
        ports = ", ".join(f"{name.lower()} {port}" for name, port in _shown(state).items())
        lines.append(f"node {state['node']}  {state['state']:8}  {ports}  {process}\n")
    return "".join(lines)


_FORMS: Final[Mapping[str, Callable[[Sequence[State]], str]]] = {
    "text": _text,
    "ndjson": lambda states: "".join(json.dumps(state) + "\n" for state in states),
    "json": lambda states: json.dumps(list(states)) + "\n",
}


def _print(env: Environment, states: Sequence[State], output: str) -> None:
    env.stdout.write(_FORMS[output](states).encode())
    env.stdout.flush()
