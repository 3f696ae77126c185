"""The name of a capture that is being written in, its exchanges out as they settle: `--follow` for Python programs."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tls.key_log import KeyLog
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.follow_captures import CaptureFollower

__all__ = ["follow_exchanges"]

# So many looks find nothing before the end: the first of them may be at a file that was just left.
_LOOKS: Final = 3


def follow_exchanges(
    path: str | os.PathLike[str],
    *,
    ports: Iterable[int] | None = None,
    needs: Needs | None = None,
    keys: KeyLog | None = None,
    idle_s: float | None = None,
    report: Callable[[str], None] = warnings.warn,
) -> Iterator[Exchange]:
    """The exchanges of a capture that grows, and of the files that its writer goes on with, as they settle.

    `path` names a file, which need not be there yet, of a ring (tcpdump -C -W, tcpdump -G, dumpcap -b), a folder, or a
    pattern; `kw help sniff` says under `--follow` which files belong together. `ports`, `needs` and `keys` are those of
    `decoders.read_exchanges`. It goes on for ever, or with `idle_s` until no packet has come for so many seconds; then
    come the exchanges that stay unanswered. `report` is told of files that are not read, or not to their end. Raises
    OSError at once where there is nothing to follow, and later where the current file cannot be read on.
    """
    if needs is not None:
        needs.check()
    keys = KeyLog() if keys is None else keys
    try:
        follower = CaptureFollower(os.fspath(path), report, on_secrets=keys.add_lines)
    except InputProblem as problem:
        raise OSError(problem.text) from None
    engine = Engine(ports, needs, keys=keys)
    engine.enable_leaving_out_of_copies()
    return _read_followed(follower, engine, idle_s)


def _read_followed(follower: CaptureFollower, engine: Engine, idle_s: float | None) -> Iterator[Exchange]:
    came, looks = time.monotonic(), 0
    try:
        for segments, now_ns in follower.read_batches():
            if segments:
                came, looks = time.monotonic(), 0
            yield from (row for row in engine.feed(segments, now_ns) if isinstance(row, Exchange))
            looks += not segments
            if looks >= _LOOKS and idle_s is not None and time.monotonic() - came >= idle_s:
                break
        yield from (row for row in engine.finish() if isinstance(row, Exchange))
    except InputProblem as problem:
        raise OSError(problem.text) from None
    finally:
        follower.close()
