"""The process that runs a script: exchanges in, one after the other, what is to be done about each out.

```
proxy ──▶ {"n": 7, "handlers": [0, 2], "key": 3, …} + frames  ──▶ functions of the script
      ◀── {"n": 7, "do": "pass", "delay_ns": 0, "fills": …} + the new frame, if it is another one
```

A message is the size of its JSON part, the size of its bytes, and both. The process has no secrets: the proxy has put
stars in their place, and puts them back (`fills`). What the script prints goes to standard error, for rows of exchanges
are on standard output. The process ends when the proxy closes the pair, and ignores signals that are meant for it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final

from decoders.errors import DecodeError, EncodeError
from kwcli.proxy.scripts.script_file import (
    Exchanged,
    Script,
    ScriptError,
    ScriptExchange,
    load_script,
    place_of,
    run_handlers,
)

__all__ = ["HEAD", "main", "pack", "run_message", "unpack"]

HEAD: Final = Struct(">II")
_READ: Final = 1 << 18
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pack(said: dict[str, Any], data: bytes = b"") -> bytes:
    """One message."""
    text = json.dumps(said).encode()
    return HEAD.pack(len(text), len(data)) + text + data


def unpack(buffer: bytearray) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages that are whole; they are taken from the buffer."""
    while len(buffer) >= HEAD.size:
        text, data = HEAD.unpack_from(buffer)
        end = HEAD.size + text + data
        if len(buffer) < end:
            return
        said = json.loads(buffer[HEAD.size : HEAD.size + text])
        frames = bytes(buffer[HEAD.size + text : end])
        del buffer[:end]
        yield said, frames


def main(descriptor: int, path: str) -> None:
    """Load the script, say which functions it has, run them until the pair is closed."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    sys.stdout = sys.stderr
    with socket.socket(fileno=descriptor) as sock:
        try:
            with open(path, "rb") as file:
                script = load_script(path, file.read())
        except ScriptError as error:
            sock.sendall(pack({"broken": str(error)}))
            os._exit(1)
        sock.sendall(pack({"handlers": [[h.side, _keys(h.apis), h.when, h.line] for h in script.handlers]}))
        buffer = bytearray()
        while data := sock.recv(_READ):
            buffer += data
            for said, frames in unpack(buffer):
                sock.sendall(_run(script, said, frames))
    os._exit(0)  # threads of the script do not keep it alive


def _keys(apis: frozenset[int] | None) -> list[int] | None:
    return None if apis is None else sorted(apis)


def _run(script: Script, said: dict[str, Any], frames: bytes) -> bytes:
    """The answer to one message."""
    size = said["size"]
    exchanged = Exchanged(
        said["key"],
        said["version"],
        said["connection"],
        said["client"],
        said["broker"],
        frames[:size],
        frames[size:] or None,
        frozenset((start, end) for start, end in said["secrets"]),
    )
    return run_message(script, said["n"], said["handlers"], exchanged)


def run_message(script: Script, number: int, functions: list[int], exchanged: Exchanged) -> bytes:
    """What functions of the script make of an exchange; whatever goes wrong, it passes, and the line is told."""
    handlers = [script.handlers[each] for each in functions]
    answer: dict[str, Any] = {"n": number, "do": "pass"}
    line = handlers[0].line
    try:
        exchange = ScriptExchange(exchanged)
        line = run_handlers(handlers, exchange)
        new = exchange.changed() if exchange.action in ("pass", "hold") else None
    except (DecodeError, EncodeError) as error:
        return pack(answer | {"error": f"{script.path}:{line}: {error}"})
    except BaseException as error:
        return pack(answer | {"error": place_of(script.path, error, line)})
    answer |= {"do": exchange.action, "delay_ns": exchange.delay_ns}
    if exchange.action == "answer":
        return pack(answer, exchange.reply)
    if new is None:
        return pack(answer)
    frame, fills = new
    return pack(answer | {"fills": fills}, frame)
