"""Names of key log files in, one KeyLog with all their secrets out; files that grow are read on.

Most captures have no TLS, and a key log may be a GiB: names are checked at once, contents are read when the first TLS
connection begins. A key log may be no file. A pipe (`--keylog <(ssh broker cat keys.log)`) is read once, as long as it
says something; a named pipe that nobody writes to, a terminal, a device without end come to an end too.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from decoders.limits import KEY_LOG_JUNK_MAX, KEY_LOG_PIPE_S, KEY_LOG_READ_MAX, KEY_LOG_SILENCE_S
from decoders.tls.key_log import KeyLog, KeyLogFeed
from decoders.wire.format_and_escape_text import format_size
from kwcli.run_environment import Exit, Failure

__all__ = ["KeyLogFiles", "add_secrets_of_captures", "check_key_logs"]

_PIECE: Final = 1 << 20
# Bytes of a pipe that are read in one look: the rows go on.
_LOOK_MAX: Final = 16 << 20
# Time between two looks at files that may have grown, in ns.
_TICK_NS: Final = 50 * 10**6
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_TEXTS: Final = {errno.ENOENT: "no such file", errno.EACCES: "no permission to read it"}


def check_key_logs(names: Iterable[str], *, may_be_missing: bool = False, again: bool = False) -> None:
    """Check that key logs are there and may be read, without reading them. Raises Failure.

    With `may_be_missing` a missing file is fine; with `again` a pipe or a device is not: each process reads it anew.
    """
    for name in names:
        try:
            mode = os.stat(name).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, "Is a directory")
            if not os.access(name, os.R_OK):  # opening a named pipe would wait for, or wake, who writes to it
                raise PermissionError(errno.EACCES, "Permission denied")
        except (OSError, ValueError) as error:
            if may_be_missing and isinstance(error, FileNotFoundError):
                continue
            raise Failure(f"{name}: {_format_error_text(error)}") from None
        if again and not stat.S_ISREG(mode):
            text = "a pipe or a device can be read once, and each process reads the key log: give a regular file"
            raise Failure(f"{name}: {text}", Exit.USAGE)


def _format_error_text(error: OSError | ValueError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return _TEXTS.get(number or 0) or (os.strerror(number).lower() if number else str(error))


def add_secrets_of_captures(keys: KeyLog, names: Iterable[str]) -> None:
    """Add all secrets that these captures hold to `keys`; called when a secret is missing (`KeyLog.look_further`).

    Compressed captures, pipes and unreadable files are passed over.
    """
    from mmap import ACCESS_READ, mmap

    from decoders.capture.find_key_log_lines import find_key_log_lines

    for name in names:
        try:
            if not os.path.isfile(name):
                continue
            with open(name, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                for lines in find_key_log_lines(data):
                    keys.add_lines(lines)
        except (OSError, ValueError):
            continue  # reported when the capture is read


class KeyLogFiles:
    """The key log files of one run; `keys` has their secrets once TLS has begun, and those that captures add.

    With `follow`, files are read on while they grow (`read_appended_keys`), and a missing file may appear later.
    `problems` says what was not of use in the files, `failures` which of them could not be read, or have no end.
    Neither quotes a file.
    Raises Failure for a name that is no file that can be read.
    """

    def __init__(self, names: Sequence[str], *, follow: bool = False) -> None:
        check_key_logs(names, may_be_missing=follow)
        self.keys = KeyLog(grows=follow and bool(names))
        self.problems: list[str] = []
        self.failures: list[str] = []
        self._follow = follow
        self._files = [_KeyLogFile(name, self.keys) for name in dict.fromkeys(names)]
        self._begun = False
        self._looked_ns = 0
        if names:
            self.keys.read_first = self._read_all_logs_to_their_end

    def _read_all_logs_to_their_end(self) -> None:
        """Read all files to their present end."""
        self._begun = True
        for each in self._files:
            self._read_log(each)

    def _read_log(self, each: _KeyLogFile) -> None:
        try:
            each.read(wait=not self._follow)
        except (OSError, ValueError) as error:
            if not (self._follow and isinstance(error, FileNotFoundError)):
                self._report_failure(each, _format_error_text(error))
            return
        if each.endless:
            self._report_failure(each, each.endless)
        elif not self._follow:
            each.finish()
        if not each.told:
            each.told = self._follow  # later lines are looked at for keys alone
            self.problems += each.remarks()

    def _report_failure(self, each: _KeyLogFile, text: str) -> None:
        each.close()
        self._files = [other for other in self._files if other is not each]
        self.failures.append(f"{each.name}: {text}")

    def remarks(self) -> list[str]:
        """What was not of use, a line each, now that the run is over."""
        silent = [each.name for each in self._files if not each.taken] if self._follow and self._begun else []
        return [*self.problems, *(f"{name}: nothing came from this key log" for name in silent)]

    def read_appended_keys(self, now_ns: int) -> None:
        """Read what was appended to the files, if TLS has begun and the last look is long enough ago."""
        if not (self._follow and self._begun) or now_ns - self._looked_ns < _TICK_NS:
            return
        self._looked_ns = now_ns
        for each in list(self._files):
            if each.has_more():
                self._read_log(each)


class _KeyLogFile:
    """One key log, and how far it is read. `endless`: why it is not read on, though it has no end."""

    def __init__(self, name: str, keys: KeyLog) -> None:
        self.name = name
        self.endless = ""
        self.taken = 0  # bytes read
        self.told = False  # `remarks` were told
        self._keys = keys
        self._feed = KeyLogFeed(keys)
        self._place = 0  # bytes of a file that were read, or passed over
        self._pipe: int | None = None  # of what is no file
        self._cut = False  # its end was read alone
        self._open = False  # a pipe that was read is open still
        self._found: Counter[str] = Counter()

    def has_more(self) -> bool:
        """Whether there may be more to read than before; False for a file that is not there."""
        if self._pipe is not None:
            return True
        try:
            return os.stat(self.name).st_size != self._place
        except OSError:
            return False  # not there yet, or no more

    def read(self, *, wait: bool) -> None:
        """Read to the present end; with `wait`, read a pipe until it ends or is silent. Raises OSError, ValueError."""
        if self._pipe is not None:
            self._read_pipe(self._pipe, wait=wait)
            return
        handle = os.open(self.name, _FLAGS)
        try:
            found = os.fstat(handle)
            if stat.S_ISREG(found.st_mode):
                self._read_file(handle, found.st_size)
                return
            if not wait:
                self._pipe, handle = handle, -1
            self._read_pipe(handle if self._pipe is None else self._pipe, wait=wait)
        finally:
            if handle >= 0:
                os.close(handle)

    def finish(self) -> None:
        """End the key log: its last line needs no newline."""
        self._count_new_lines(self._feed.finish)

    def close(self) -> None:
        """Read no more of a pipe."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def remarks(self) -> list[str]:
        """What of the key log is of no use, a line each."""
        found, told = self._found, []
        if found["rsa"]:
            told.append(f"{found['rsa']:,} with RSA or pre-master secrets: such lines are not used (kw help tls)")
        if self._is_junk():
            told.append(f"not a key log: none of the first {format_size(self.taken)} is a key (kw help tls)")
        elif found["unreadable"] and not found["secrets"]:
            told.append(f"not a key log: none of its {found['unreadable']:,} lines has a key (kw help tls)")
        if self._cut:
            told.append(f"only the last {format_size(self.taken)} were read, which have the newest keys")
        if self._open:
            told.append("it did not end: what came until then was read")
        return [f"{self.name}: {text}" for text in told]

    def _is_junk(self) -> bool:
        """Whether so much was read without any line of a key log that there is none."""
        return self.taken >= KEY_LOG_JUNK_MAX and not (
            self._found["secrets"] or self._found["rsa"] or self._found["unused"]
        )

    def _count_new_lines(self, work: Callable[[], None]) -> None:
        before = self._keys.counts.copy()
        work()
        self._found += self._keys.counts - before

    def _feed_piece(self, data: bytes) -> bool:
        """Take over a piece; whether to read on."""
        self.taken += len(data)
        self._count_new_lines(lambda: self._feed.feed(data))
        return not self._is_junk()

    def _read_file(self, handle: int, size: int) -> None:
        if size < self._place:  # the file was begun anew
            self._place = 0
            self._feed = KeyLogFeed(self._keys)
        if size - self._place > KEY_LOG_READ_MAX:
            self._place, self._cut = size - KEY_LOG_READ_MAX, True
            self._feed = KeyLogFeed(self._keys, within=True)
        os.lseek(handle, self._place, os.SEEK_SET)
        end = self._place + KEY_LOG_READ_MAX  # a file may grow faster than it is read
        while self._place < end and (data := os.read(handle, _PIECE)):
            self._place += len(data)
            if not self._feed_piece(data):
                self._place = max(size, self._place)
                return

    def _read_pipe(self, handle: int, *, wait: bool) -> None:
        from select import POLLIN, poll

        ready = poll()
        ready.register(handle, POLLIN)
        until = time.monotonic() + KEY_LOG_PIPE_S
        begun = self.taken
        while True:
            left_s = min(KEY_LOG_SILENCE_S, until - time.monotonic()) if wait else 0.0
            if left_s < 0 or not ready.poll(left_s * 1000):
                if wait and not self.taken:
                    self.endless = f"no program wrote to it in {KEY_LOG_SILENCE_S:.3g} s: no key was read"
                self._open = wait and bool(self.taken)
                return
            try:
                data = os.read(handle, _PIECE)
            except BlockingIOError:
                continue
            if not data:
                return
            if not self._feed_piece(data):
                self.endless = f"not a key log: none of the first {format_size(self.taken)} is a key (kw help tls)"
                return
            if self.taken >= KEY_LOG_READ_MAX:
                self.endless = f"it has no end: its first {format_size(self.taken)} were read"
                return
            if not wait and self.taken - begun >= _LOOK_MAX:
                return
