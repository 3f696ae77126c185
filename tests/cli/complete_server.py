"""`kw __complete` for shells under test, without the start of an interpreter for each TAB.

`program` writes a `kw` that asks this server for candidates, and keeps the words of every other call: for each call
`CALL`, then `ARG word` for each word, each ended by NUL, in the file $OUT. The server has kw loaded, and gives each
request a process of its own, in the folder and with the variables of the shell that asked.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
# Asks the server, and prints what it answers.
_CLIENT: Final = """\
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
while data := asked.recv(65536):
    sys.stdout.buffer.write(data)
"""


def program(folder: Path, complete: str) -> None:
    """Write `kw` into `folder`; for candidates it runs the command line `complete`."""
    kw = folder / "kw"
    folder.mkdir(exist_ok=True)
    kw.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = __complete ] && exec {complete} "$@"\n'
        "{ printf 'CALL\\0'; for word; do printf 'ARG %s\\0' \"$word\"; done; } >> \"$OUT\"\n"
    )
    kw.chmod(0o755)


@contextmanager
def serving(folder: Path) -> Iterator[Path]:
    """A server, and in `folder` its `kw`; gives the folder for the PATH of a shell."""
    path, bin_folder, client = folder / "socket", folder / "bin", folder / "client.py"
    client.write_text(_CLIENT)
    program(bin_folder, f"{shlex.quote(sys.executable)} -ISE {client} {path}")
    with subprocess.Popen([sys.executable, "-m", "tests.cli.complete_server", str(path)], cwd=ROOT) as process:
        try:
            while not path.exists():
                assert process.poll() is None, "the server ended"
                time.sleep(0.01)
            yield bin_folder
        finally:
            process.terminate()


def serve(path: str) -> None:
    """Answer requests at `path` for ever."""
    from kwcli.completion import cluster_names, completion_candidates
    from kwcli.main import main

    assert completion_candidates, cluster_names
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{path}.new")
    listening.listen(64)
    os.rename(f"{path}.new", path)
    while True:
        asked, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            words, folder, variables = json.loads(asked.makefile("rb").readline())
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            for file in Path(variables["XDG_CACHE_HOME"], "kw", "completion").glob("*"):
                os.utime(file)  # names stay fresh, however long the tests take
            os.dup2(asked.fileno(), 1)
            asked.close()
            sys.argv = ["kw", *words]
            main()
            sys.stdout.flush()
            os._exit(0)
        asked.close()


if __name__ == "__main__":
    serve(sys.argv[1])
