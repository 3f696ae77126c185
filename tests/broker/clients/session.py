"""Runs a session of one client family in a child process: steps in, one result a step out."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kwcli.playground.process import Process

__all__ = ["ClientFailed", "Results", "Session", "Step", "run", "start"]

Step = tuple[str, Mapping[str, Any]]
Results = list[dict[str, Any]]

_ROOT: Final = Path(__file__).resolve().parents[3]
# Family → how to start it; what stands after the dash (a release) is handed over as argument.
_PROGRAMS: Final[Mapping[str, list[str]]] = {
    "java": [sys.executable, "-m", "tests.broker.clients.java"],
    "streams": [sys.executable, "-m", "tests.broker.clients.streams"],
    "librdkafka": [sys.executable, "-m", "tests.broker.clients.librdkafka"],
    "rdkafka": [sys.executable, "-m", "tests.broker.clients.librdkafka_c"],
    "aiokafka": [sys.executable, "-m", "tests.broker.clients.aio"],
    "python": [sys.executable, "-m", "tests.broker.clients.kafka_python"],
    "go": [sys.executable, "-m", "tests.broker.clients.franz"],
    "node": [sys.executable, "-m", "tests.broker.clients.kafkajs"],
}


class ClientFailed(RuntimeError):
    """The client ended with an error; the text holds what it said."""


class Session:
    """A client at work; `finish` gives its results."""

    def __init__(self, client: str, work: Mapping[str, Any], through: Sequence[str] = ()) -> None:
        family, _, release = client.partition("-")
        self.client = client
        self._folder = Path(tempfile.mkdtemp(prefix="kw-client-"))
        request = self._folder / "session.json"
        request.write_text(json.dumps(work))
        self._answers = self._folder / "answers.ndjson"
        command = [*through, *_PROGRAMS[family], str(request), str(self._answers), *([release] if release else [])]
        self._process = Process(command, self._folder / "output.log", environment=_environment())

    def finish(self, timeout_s: float = 120.0) -> Results:
        """Wait for the end and give one result a step."""
        code = self._process.wait(timeout_s)
        if code:
            raise ClientFailed(f"{self.client} ended with {code}: {self._process.tail()}")
        return [json.loads(line) for line in self._answers.read_text().splitlines()]

    def kill(self) -> None:
        """End it without a goodbye, as a crash would."""
        self._process.kill()


def start(client: str, bootstrap: str, steps: Sequence[Step], properties: Mapping[str, str] | None = None) -> Session:
    """Start a client (`java-4.4.0`, `librdkafka`, `rdkafka-1.9.2`, `aiokafka`, `python`, `go`, `node`)."""
    return Session(client, {"bootstrap": bootstrap, "properties": dict(properties or {}), "steps": list(steps)})


def run(
    client: str,
    bootstrap: str,
    steps: Sequence[Step],
    properties: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
) -> Results:
    """Start a client, `through` the words of a loader, and wait for its results."""
    work = {"bootstrap": bootstrap, "properties": dict(properties or {}), "steps": list(steps)}
    return Session(client, work, through).finish()


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path}
