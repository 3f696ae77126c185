"""`python -m tests.playground.rounds [N]`: a playground with every listener, started, used and stopped N times.

In each round kw itself, a Java client and librdkafka use every listener, and nothing is left afterwards: no process, no
folder, no profile. A round that fails ends the program with an error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.broker.clients.session import run

ROOT: Final = Path(__file__).resolve().parents[2]
LISTENERS: Final = ("plaintext", "ssl", "mtls", "sasl_plaintext", "sasl_ssl")
RECORDS: Final = 3
_START_S: Final = 60.0


class Round:
    """A playground in a child process, with temporary folders for state and profiles."""

    def __init__(self, home: Path, *words: str, path: str | None = None) -> None:
        self.home = home
        folders = {"XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config")}
        self.variables = {**os.environ, **folders, **({"PATH": path} if path else {})}
        self._said = home / "said.txt"
        command = [sys.executable, "-m", "kwcli.main", "playground", *words]
        with self._said.open("wb") as said:
            self._child = subprocess.Popen(command, cwd=ROOT, env=self.variables, stderr=said, stdin=subprocess.DEVNULL)

    @property
    def said(self) -> str:
        return self._said.read_text()

    def wait_until_ready(self) -> str:
        """Wait for the line `ready HOST:PORT`; gives HOST:PORT."""
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._child.poll() is None:
            for line in self.said.splitlines():
                if line.startswith("ready "):
                    return line.removeprefix("ready ")
            time.sleep(0.02)
        raise AssertionError(f"no playground: {self.said}")

    @property
    def folder(self) -> Path:
        (found,) = (self.home / "state" / "kw" / "playgrounds").iterdir()
        return found

    def profiles(self) -> list[str]:
        return sorted(path.stem for path in (self.home / "config" / "kw" / "profiles").glob("*.properties"))

    def kw(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `kw WORDS…` with this round's folders."""
        command = [sys.executable, "-m", "kwcli.main", *words]
        return subprocess.run(
            command, cwd=ROOT, env=self.variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    def wait(self, timeout_s: float) -> int:
        """Wait until the playground ends by itself; gives its exit code."""
        return self._child.wait(timeout_s)

    def wait_a_little(self) -> bool:
        """Whether the playground still runs, a moment later."""
        time.sleep(0.05)
        return self._child.poll() is None

    def end(self, number: int) -> int:
        """Send a signal, and wait for the end; gives the exit code."""
        self._child.send_signal(number)
        return self._child.wait(30)

    def brokers(self) -> list[str]:
        """Command lines of the playground's broker processes."""
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended meanwhile
                lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return [line for line in lines if str(self.home) in line and "kafka.Kafka" in line]

    def left(self) -> list[str]:
        """Files, profiles and processes that are left after the playground's end."""
        files = [str(path) for path in (self.home / "state").rglob("*") if path.is_file()]
        return [*files, *self.profiles(), *self.brokers()]


def properties(path: Path) -> dict[str, str]:
    """A file of settings as a dict, without bootstrap.servers."""
    pairs = (line.partition("=") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs if name != "bootstrap.servers"}


def use(ground: Round, name: str, profile: str | None) -> None:
    """Use one listener by kw, a Java client and librdkafka; `profile` None: kw connects to HOST:PORT."""
    settings = ground.folder / f"{name}.conf"
    server = dict(line.split("=", 1) for line in settings.read_text().splitlines())["bootstrap.servers"]
    where = ("-b", server) if profile is None else ("--profile", profile)
    called = ground.kw("call", "Metadata", *where, "-o", "json")
    assert called.returncode == 0, called.stderr
    (exchange,) = json.loads(called.stdout)
    assert exchange["response"]["cluster_id"]
    topic = f"from-{name}"
    # confluent-kafka has librdkafka make its unsecured tokens, and takes none of Java's settings.
    _play("librdkafka", server, topic, properties(settings))
    _play("java-4.4.0", server, topic, properties(ground.folder / f"{name}.properties"))


def _play(client: str, server: str, topic: str, settings: Mapping[str, str]) -> None:
    """Write a few records by a client, and read them."""
    write = ("produce", {"topic": topic, "count": RECORDS})
    # Producing creates the topic; it is read from its start, without a group.
    read = ("consume", {"topics": [topic], "count": RECORDS, "partitions": [0], "keep": True})
    _, read_back = run(client, server, [write, read], settings)
    assert len(read_back["result"]) >= RECORDS, f"{client} read {read_back}"


def one_round(home: Path, listeners: tuple[str, ...] = LISTENERS) -> None:
    """Start a playground, use every listener, stop it. Raises AssertionError if something fails or is left."""
    ground = Round(home, "--port", "29092", "--listeners", ",".join(listeners))
    try:
        ground.wait_until_ready()
        for name in listeners:
            use(ground, name, None if name == "plaintext" else f"playground-{name}")
        assert ground.brokers()
    finally:
        code = ground.end(signal.SIGINT)
    assert code == 0, ground.said
    assert ground.left() == []


def main(words: list[str]) -> int:
    count = int(words[0]) if words else 10
    for number in range(1, count + 1):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kw-round-") as folder:
            one_round(Path(folder))
        sys.stdout.write(f"round {number} of {count}: {time.monotonic() - began:.1f} s, nothing left\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
