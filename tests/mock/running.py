"""`kw mock` as a program: started, interrupted, its output collected."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from decoders import decode_response, encode_request
from decoders.apis import api
from tests.mock.stage import framed

ROOT: Final = Path(__file__).resolve().parents[2]
TOUR: Final = str(ROOT / "captures" / "tour.pcapng")
_WAIT_S: Final = 120.0


class MockedRecording:
    """One run: `said` are the lines before the one with `ready`; `rest` and `printed` are the output until the end."""

    def __init__(self, bootstrap: str, said: list[str]) -> None:
        self.bootstrap = bootstrap
        self.said = said
        self.rest = ""
        self.printed = ""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The lines of standard output, decoded from NDJSON."""
        return [json.loads(line) for line in self.printed.splitlines()]

    @property
    def port(self) -> int:
        """The port of the first node."""
        return int(self.bootstrap.rpartition(":")[2])


@contextmanager
def mocked(
    *words: str, recording: str = TOUR, log: bool = False, variables: Mapping[str, str] | None = None
) -> Iterator[MockedRecording]:
    """Run `kw mock` of a recording, with `log` its exchanges as well; it must end without an error."""
    command = [sys.executable, "-m", "kwcli.main", "mock", recording, "--port", "0", *words]
    if not log:
        command.append("--no-log")
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen(
            command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=dict(variables) if variables else None
        ) as process,
    ):
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            if line.startswith("ready "):
                break
            said.append(line.rstrip("\n"))
        else:
            raise AssertionError("\n".join(said))
        run = MockedRecording(line.split()[1], said)
        try:
            yield run
        finally:
            process.terminate()
            run.rest = process.stderr.read()
            code = process.wait(_WAIT_S)
            out.seek(0)
            run.printed = out.read().decode()
        assert code == 0, run.rest
        assert "Traceback" not in run.rest
        assert "defect" not in run.rest


class SocketClient:
    """One connection to a node, with requests one after the other."""

    def __init__(self, port: int, client_id: str = "test") -> None:
        self.link = socket.create_connection(("127.0.0.1", port), _WAIT_S)
        self.client_id = client_id
        self._count = 0

    def ask(self, name: str, version: int, body: Mapping[str, Any]) -> Any:
        """Send a request, and give the body of its response."""
        self._count += 1
        key = api(name).key
        frame = encode_request(key, version, body, correlation_id=self._count, client_id=self.client_id)
        self.link.sendall(framed(frame))
        return decode_response(self.read(), key, version).body

    def read(self) -> bytes:
        """The next frame on the connection."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.link.recv(size - len(data))
            assert more, "the mock has closed"
            data += more
        return data

    def close(self) -> None:
        """Close the connection."""
        self.link.close()
