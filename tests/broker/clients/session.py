"""Runs a session of one client family in a child process: steps in, one result a step out."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kwcli.playground.java_process import Process

__all__ = ["ClientFailed", "LongSession", "Results", "Session", "Step", "run", "start"]

Step = tuple[str, Mapping[str, Any]]
Results = list[dict[str, Any]]

_LOOK_S: Final = 0.02
# More than the first run of a client takes on a busy machine, in which its program is fetched and built.
_FIRST_S: Final = 600.0
_ROOT: Final = Path(__file__).resolve().parents[3]
# Family → its command; a release after the dash is given as an argument.
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
    """The client ended with an error; the text holds its output, `results` the results of the steps before."""

    def __init__(self, text: str, results: Results | None = None) -> None:
        super().__init__(text)
        self.results = results or []


class Session:
    """A client at work; `finish` gives its results."""

    def __init__(self, client: str, work: Mapping[str, Any], through: Sequence[str] = ()) -> None:
        self.client = client
        self._folder = _folder_of(self)
        request = self._folder / "session.json"
        request.write_text(json.dumps(work))
        self._answers = self._folder / "answers.ndjson"
        self._process = _program(client, request, self._answers, through)

    def finish(self, timeout_s: float = _FIRST_S) -> Results:
        """Wait for the end and give one result a step."""
        code = self._process.wait(timeout_s)
        if code:
            raise ClientFailed(f"{self.client} ended with {code}: {self._process.tail()}", _results(self._answers))
        return _results(self._answers)

    def kill(self) -> None:
        """Kill the client's process, as a crash would."""
        self._process.kill()


class LongSession:
    """A client process that takes steps again and again, so that it starts once (and anew after it failed)."""

    def __init__(self, client: str) -> None:
        self.client = client
        self._folder = _folder_of(self)
        self._answers = self._folder / "answers.ndjson"
        self._process: Process | None = None
        self._pipe = -1
        self._had = 0

    def work(
        self, bootstrap: str, steps: Sequence[Step], properties: Mapping[str, str] | None = None, timeout_s: float = 90
    ) -> Results:
        """One result a step. Raises ClientFailed, which has the results of the steps before."""
        process = self._process or self._begin()
        work = {"bootstrap": bootstrap, "properties": dict(properties or {}), "steps": list(steps)}
        os.write(self._pipe, json.dumps(work).encode() + b"\n")
        deadline = time.monotonic() + timeout_s
        while True:
            over, late = not process.running, time.monotonic() > deadline
            found = _results(self._answers)[self._had :]
            if len(found) == len(steps):
                self._had += len(found)
                return found
            if over or late:
                self.end()
                why = "ended" if over else "was not done in time"
                raise ClientFailed(f"{self.client} {why}: {process.tail()}", found)
            time.sleep(_LOOK_S)

    def _begin(self) -> Process:
        pipe = self._folder / "sessions"
        pipe.unlink(missing_ok=True)
        self._answers.unlink(missing_ok=True)
        (self._folder / "output.log").unlink(missing_ok=True)
        self._had = 0
        os.mkfifo(pipe)
        # Opened for reading as well: then open() does not wait for the client.
        self._pipe = os.open(pipe, os.O_RDWR)
        self._process = _program(self.client, pipe, self._answers)
        return self._process

    def end(self) -> None:
        """Kill the client's process, if it runs."""
        if self._process is not None:
            self._process.kill()
            os.close(self._pipe)
            self._process = None


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


def _folder_of(session: object) -> Path:
    """A temporary folder that is removed with the session object."""
    folder = tempfile.mkdtemp(prefix="kw-client-")
    weakref.finalize(session, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _program(client: str, request: Path, answers: Path, through: Sequence[str] = ()) -> Process:
    """Start the program of a family on a file of steps and a file for its answers."""
    family, _, release = client.partition("-")
    command = [*through, *_PROGRAMS[family], str(request), str(answers), *([release] if release else [])]
    return Process(command, request.parent / "output.log", environment=_environment())


def _results(answers: Path) -> Results:
    """The results in a file of answers, without an incomplete last line."""
    if not answers.exists():
        return []
    lines = answers.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path}
