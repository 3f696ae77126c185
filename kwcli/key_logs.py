"""Names of key log files in, one KeyLog with all their secrets out; files that grow are read on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import Final

from decoders.tls.key_log import KeyLog, KeyLogFeed
from kwcli.run_environment import Failure

__all__ = ["KeyLogFiles", "search_captures"]

_PIECE: Final = 1 << 20
# Time between two looks at files that may have grown, in ns.
_TICK_NS: Final = 50 * 10**6


def search_captures(keys: KeyLog, names: Iterable[str]) -> None:
    """Add all secrets that these captures hold to `keys`; called when a secret is missing (`KeyLog.look_further`).

    Compressed captures, pipes and unreadable files are passed over.
    """
    from mmap import ACCESS_READ, mmap

    from decoders.capture.secrets_blocks import secrets_blocks

    for name in names:
        try:
            if not os.path.isfile(name):
                continue
            with open(name, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                for lines in secrets_blocks(data):
                    keys.add(lines)
        except (OSError, ValueError):
            continue  # reported when the capture is read


class KeyLogFiles:
    """The key log files of one run; `keys` has their secrets, and those that captures add.

    With `follow`, files are read on while they grow (`poll`), and a missing file may appear later. Raises Failure if a
    file cannot be read. Messages about the files never quote them.
    """

    def __init__(self, names: Sequence[str], *, follow: bool = False) -> None:
        self.keys = KeyLog(grows=follow and bool(names))
        self._feeds = {name: KeyLogFeed(self.keys) for name in dict.fromkeys(names)}
        self._places = dict.fromkeys(self._feeds, 0)
        self._follow = follow
        self._looked_ns = 0
        self.problems: list[str] = []
        for name in self._feeds:
            self._begin(name)

    def _begin(self, name: str) -> None:
        """Read a file to its present end; note the lines that cannot be used."""
        before = self.keys.counts.copy()
        try:
            self._read(name)
        except (OSError, ValueError) as error:
            if self._follow and isinstance(error, OSError) and error.errno == errno.ENOENT:
                return
            text = {errno.ENOENT: "no such file", errno.EACCES: "no permission to read it"}
            number = error.errno if isinstance(error, OSError) else None
            what = text.get(number or 0) or (os.strerror(number).lower() if number else str(error))
            raise Failure(f"{name}: {what}") from None
        if not self._follow:
            self._feeds[name].finish()
        found = self.keys.counts - before
        if found["rsa"]:
            self.problems.append(
                f"{name}: {found['rsa']:,} with RSA or pre-master secrets: such lines are not used (kw help tls)"
            )
        if found["unreadable"] and not found["secrets"]:
            self.problems.append(
                f"{name}: not a key log: none of its {found['unreadable']:,} lines has a key (kw help tls)"
            )

    def _read(self, name: str) -> None:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._places[name]:  # the file was begun anew
                self._places[name] = 0
                self._feeds[name] = KeyLogFeed(self.keys)
            file.seek(self._places[name])
            while data := file.read(_PIECE):
                self._places[name] += len(data)
                self._feeds[name].feed(data)

    def poll(self, now_ns: int) -> None:
        """Read what was appended to the files, if the last look is long enough ago."""
        if not self._follow or now_ns - self._looked_ns < _TICK_NS:
            return
        self._looked_ns = now_ns
        for name in self._feeds:
            try:
                if os.stat(name).st_size != self._places[name]:
                    self._read(name)
            except OSError:
                continue  # not there yet, or no more
