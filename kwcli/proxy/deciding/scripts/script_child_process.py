"""The process that runs a script: exchanges in, one after the other, an action for each out.

```
proxy ──▶ {"n": 7, "handlers": [0, 2], "key": 3, …} + frames  ──▶ functions of the script
      ◀── {"n": 7, "do": "pass", "delay_ns": 0, "fills": …} + the new frame, if it was changed
```

A message is the size of its JSON part, the size of its frames, then both parts. The process has no secrets: the proxy
puts stars in their place, and puts the secrets back (`fills`). What the script prints goes to standard error, since
rows of exchanges are on standard output. The process ends when the proxy closes the socket pair, and ignores signals,
which are meant for the proxy.
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
from kwcli.proxy.deciding.scripts.script_api import (
    Exchanged,
    Script,
    ScriptError,
    ScriptExchange,
    format_error_place,
    load_script,
    run_handlers_and_return_line,
)

__all__ = ["HEAD", "main", "pack_message", "run_functions_on_exchange", "unpack_messages"]

HEAD: Final = Struct(">II")
_READ: Final = 1 << 18
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pack_message(said: dict[str, Any], data: bytes = b"") -> bytes:
    """The bytes of one message: `said` as JSON, and frames."""
    text = json.dumps(said).encode()
    return HEAD.pack(len(text), len(data)) + text + data


def unpack_messages(buffer: bytearray) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The whole messages of a buffer, which are removed from it."""
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
    """Load the script, report its functions, run them for each message until the proxy closes the socket pair."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    sys.stdout = sys.stderr
    with socket.socket(fileno=descriptor) as sock:
        try:
            with open(path, "rb") as file:
                script = load_script(path, file.read())
        except ScriptError as error:
            sock.sendall(pack_message({"broken": str(error)}))
            os._exit(1)
        sock.sendall(
            pack_message({"handlers": [[h.side, _sort_keys(h.apis), h.when, h.line] for h in script.handlers]})
        )
        buffer = bytearray()
        while data := sock.recv(_READ):
            buffer += data
            for said, frames in unpack_messages(buffer):
                sock.sendall(_run_functions_of_message(script, said, frames))
    os._exit(0)  # without waiting for threads of the script


def _sort_keys(apis: frozenset[int] | None) -> list[int] | None:
    return None if apis is None else sorted(apis)


def _run_functions_of_message(script: Script, said: dict[str, Any], frames: bytes) -> bytes:
    """Run the functions that a message asks for; the message that answers it."""
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
    return run_functions_on_exchange(script, said["n"], said["handlers"], exchanged)


def run_functions_on_exchange(script: Script, number: int, functions: list[int], exchanged: Exchanged) -> bytes:
    """Run functions on an exchange; the message that answers. On an error it says `pass`, and `error` has the line."""
    handlers = [script.handlers[each] for each in functions]
    answer: dict[str, Any] = {"n": number, "do": "pass"}
    line = handlers[0].line
    try:
        exchange = ScriptExchange(exchanged)
        line = run_handlers_and_return_line(handlers, exchange)
        new = exchange.build_changed_frame() if exchange.action in ("pass", "hold") else None
    except (DecodeError, EncodeError) as error:
        return pack_message(answer | {"error": f"{script.path}:{line}: {error}"})
    except BaseException as error:
        return pack_message(answer | {"error": format_error_place(script.path, error, line)})
    answer |= {"do": exchange.action, "delay_ns": exchange.delay_ns}
    if exchange.action == "answer":
        return pack_message(answer, exchange.reply)
    if new is None:
        return pack_message(answer)
    frame, fills = new
    return pack_message(answer | {"fills": fills}, frame)
