"""Words of the command line in, paths out: a file, the files of a folder and its subfolders, the files of a pattern.

Further, paths in, files out of which only few are open at a time, however many are read side by side; and for a file
that kw does not read, what it is and how to make a capture of it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from struct import Struct
from threading import Lock
from typing import Final

from decoders.limits import OPEN_FILES_MAX
from decoders.named_tuple import NamedTuple
from kwcli.reading.decompress_inputs import InputProblem

__all__ = [
    "OTHER_FILES",
    "FoundPath",
    "OpenFiles",
    "ReplacedFile",
    "StoredFile",
    "choose_key_logs",
    "describe_foreign_format",
    "has_capture_name",
    "has_records_name",
    "hint_for_filter_word",
    "is_pipe",
    "is_read_once",
    "is_table_folder",
    "list_paths",
    "read_open_files_limit",
]


# Names of captures, also as tcpdump -C and -W number them. Patterns are strings, compiled when they are first used.
_NAMED_CAPTURE: Final = r"(?i)\.(pcap|pcapng|cap)\d*(\.(gz|zst|lz4))?$"
_NAMED_RECORDS: Final = r"(?i)\.(ndjson|jsonl)(\.(gz|zst|lz4))?$"


class FoundPath(NamedTuple):
    """A path as the user would write it. `listed`: found in a folder or by a pattern, not named by the user.

    `error` is why the folder at this path cannot be listed.
    """

    path: str
    listed: bool
    error: OSError | None = None


def has_capture_name(name: str) -> bool:
    """Whether a file has a capture's name; where such a file is no capture, something is wrong with it."""
    return re.search(_NAMED_CAPTURE, name) is not None


def has_records_name(name: str) -> bool:
    """Whether a file has the name of a file of kw's records, one a line (`.ndjson`, `.jsonl`)."""
    return re.search(_NAMED_RECORDS, name) is not None


def is_read_once(word: str) -> bool:
    """Whether a word is standard input, a pipe or a device: its contents are unknown before it has been read."""
    return word == "-" or (os.path.exists(word) and not os.path.isfile(word) and not os.path.isdir(word))


def is_pipe(word: str) -> bool:
    """Whether a word is standard input or a FIFO, which is read as it comes."""
    if word == "-":
        return True
    try:
        return stat.S_ISFIFO(os.stat(word).st_mode)
    except (OSError, ValueError):
        return False


# The variable that names the file browsers and clients write their key log to.
_KEY_LOG: Final = "SSLKEYLOGFILE"


def choose_key_logs(names: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of key logs given, or else the file that SSLKEYLOGFILE names, where it exists."""
    named = environ.get(_KEY_LOG, "")
    return tuple(names) or ((named,) if named and os.path.isfile(named) else ())


# Signs and words that occur in filters and hardly in names of captures.
_FILTER: Final = r"[=<>~]|\s(and|or|like|in)\s"


# Words behind a command in other tools, that ask a cluster.
_VERBS: Final = frozenset({"list", "ls", "create", "delete", "describe", "alter", "get", "show", "reset-offsets"})


def hint_for_filter_word(word: str) -> str:
    """` (did you mean -f 'x > 1'?)` for a word that is no file and reads like a filter, or a verb, else empty."""
    if word in _VERBS:
        return "; this command reads captures: kw call Metadata, ListGroups or CreateTopics -b HOST:PORT asks a cluster"
    return f" (did you mean -f '{word}'?)" if re.search(_FILTER, word) else ""


def list_paths(word: str, path: str | None = None) -> Iterator[FoundPath]:
    """The files that `path` stands for (`word` where it is None). Raises InputProblem where there are none.

    A path that exists is never read as a pattern, whatever characters it has. A folder stands for the files in it and
    in its subfolders; names that begin with a dot are passed over there, and so are tables of kw, since a run may write
    them into the folder of its captures.
    """
    path = word if path is None else path
    pattern, found = False, [path]
    if not os.path.lexists(path):
        import glob  # most paths are names of files

        pattern = glob.has_magic(path)
        found = sorted(glob.glob(path, recursive=True)) if pattern else found
    if not found:
        raise InputProblem(f"{word}: no such file{hint_for_filter_word(word)}")
    has_tables = cache(is_table_folder)
    for one in found:
        if pattern and any(map(has_tables, _parent_folders(one))):
            continue
        if os.path.isdir(one):
            yield from _list_folder(one)
        else:
            yield FoundPath(one, pattern)


def _list_folder(folder: str) -> Iterator[FoundPath]:
    """The files in a folder and its subfolders; a folder that cannot be read is a FoundPath with an error."""
    problems: list[FoundPath] = []
    seen: set[str] = set()  # symbolic links may form a loop

    def note_error(error: OSError) -> None:
        problems.append(FoundPath(error.filename, True, error))

    for top, folders, files in os.walk(folder, onerror=note_error, followlinks=True):
        if (real := os.path.realpath(top)) in seen or is_table_folder(top):
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (FoundPath(os.path.join(top, name), True) for name in sorted(files) if not name.startswith("."))
    yield from problems


def is_table_folder(folder: str) -> bool:
    """Whether a folder has tables of `kw pipeline` (pipeline/store/replace_folders_of_tables.py)."""
    return os.path.isfile(os.path.join(folder, "_kw", "kw.json"))


def _parent_folders(path: str) -> Iterator[str]:
    """The folders that a path goes through, the innermost first."""
    while (above := os.path.dirname(path)) not in ("", path):
        path = above
        yield path


_FLAGS: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class ReplacedFile(OSError):
    """A file to be opened again was replaced: another file has its name now."""


class OpenFiles:
    """Files of which at most `most` are open, and a quarter of the system's limit; pipes may take half of the limit.

    `_open` begins with the file that was read longest ago.
    """

    def __init__(self, most: int = OPEN_FILES_MAX) -> None:
        limit = read_open_files_limit()
        self._most = most if limit is None else max(min(most, limit // 4), 1)
        self._pipes_most = None if limit is None else limit // 2
        self._open: dict[StoredFile, None] = {}
        self._pipes = 0
        self._lock = Lock()  # a run on Spark looks at files in a thread of its own

    @property
    def count(self) -> int:
        """How many regular files are open."""
        return len(self._open)

    def open(self, name: str) -> StoredFile:
        """Open a file; an input that can be read only once stays open."""
        with self._lock:
            file = StoredFile(name, self)
            self._open_again(file)
            if not file.is_regular:
                del self._open[file]
                self._pipes += 1
                if self._pipes_most is not None and self._pipes > self._pipes_most:
                    self._pipes -= 1
                    self._close_descriptor(file)
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return file

    def read(self, file: StoredFile, at: int, size: int) -> bytes:
        """Up to `size` bytes of a file from offset `at`, fewer at its end; of a pipe the next bytes."""
        with self._lock:
            if file.is_regular:
                if file in self._open:
                    del self._open[file]
                    self._open[file] = None  # behind all others
                else:
                    self._open_again(file)
                assert file.descriptor is not None
                return _read_at(file.descriptor, size, at)
        assert file.descriptor is not None
        return os.read(file.descriptor, size)  # without the lock: it may block

    def close(self, file: StoredFile) -> None:
        """Close a file that is not read any more."""
        with self._lock:
            if file in self._open:
                del self._open[file]
            elif not file.is_regular and file.descriptor is not None:
                self._pipes -= 1
            self._close_descriptor(file)

    def _open_again(self, file: StoredFile) -> None:
        while len(self._open) >= self._most:
            self._close_least_recent()
        while True:
            try:
                descriptor = os.open(file.name, _FLAGS)
                break
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                    raise
            self._close_least_recent()
        try:
            file.set_descriptor(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._open[file] = None

    def _close_least_recent(self) -> None:
        file = next(iter(self._open))
        del self._open[file]
        self._close_descriptor(file)

    @staticmethod
    def _close_descriptor(file: StoredFile) -> None:
        if file.descriptor is not None:
            os.close(file.descriptor)
            file.descriptor = None


def _read_in_two_steps(descriptor: int, size: int, at: int) -> bytes:
    os.lseek(descriptor, at, os.SEEK_SET)
    return os.read(descriptor, size)


# A forked process shares the offset of a descriptor with its parent; pread does not use that offset.
_read_at: Final = getattr(os, "pread", _read_in_two_steps)


class StoredFile:
    """One file, which may be closed between reads. `size` is None for a pipe or a device."""

    __slots__ = ("_files", "_identity", "descriptor", "is_folder", "is_regular", "name", "size")

    def __init__(self, name: str, files: OpenFiles) -> None:
        self.name = name
        self.size: int | None = None
        self.is_regular = False
        self.is_folder = False
        self.descriptor: int | None = None
        self._files = files
        self._identity: tuple[int, int] | None = None

    def set_descriptor(self, descriptor: int) -> None:
        """Take the descriptor of the opened file; raises OSError (Replaced) where another file has its name now."""
        about = os.fstat(descriptor)
        identity = (about.st_dev, about.st_ino)
        if self._identity is None:
            self._identity = identity
            self.is_folder = stat.S_ISDIR(about.st_mode)
            self.is_regular = stat.S_ISREG(about.st_mode)
            self.size = about.st_size if self.is_regular else None
        elif self._identity != identity:
            raise ReplacedFile("was replaced by another file while it was read")
        self.descriptor = descriptor

    def read(self, at: int, size: int) -> bytes:
        """Up to `size` bytes from offset `at`; of a pipe the next bytes."""
        return self._files.read(self, at, size)

    def close(self) -> None:
        """Close the file."""
        self._files.close(self)


def read_open_files_limit() -> int | None:
    """How many files this process may have open (`ulimit -n`), None where unlimited or unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


# First bytes of files that hold captures in other forms → what they are, and the command that makes a pcapng of one.
_EDITCAP: Final = "editcap -F pcapng IN OUT"
OTHER_FILES: Final[dict[bytes, tuple[str, str]]] = {
    b"snoop\0": ("a capture of Solaris' snoop", _EDITCAP),
    b"GMBU": ("a capture of Microsoft's Network Monitor", _EDITCAP),
    b"RTSS": ("a capture of Microsoft's Network Monitor 1", _EDITCAP),
    b"TRSN": ("a capture of Network General's Sniffer", _EDITCAP),
    b"XCP\0": ("a capture of NetXRay", _EDITCAP),
    b"iptr": ("a trace of AIX' iptrace", _EDITCAP),
    b"LOGG": ("a log of Vector's BLF", _EDITCAP),
    b"BZh": ("compressed by bzip2", "bzip2 -dk FILE"),
    b"\xfd7zX": ("compressed by xz", "xz -dk FILE"),
    b"PK\3\4": ("a zip archive", "unzip FILE"),
    b"7z\xbc\xaf": ("a 7z archive", "7z x FILE"),
}


# Header of an ERF record: time (seconds in the upper half), type, flags, size of the record, lost, size on the wire.
_ERF: Final = Struct("<QBBHHH")
_ERF_TYPES: Final = range(1, 49)
_ERF_HOUR: Final = 3600 << 32


def _is_erf(head: bytes) -> bool:
    """Whether the bytes begin with two ERF records of close times: the format has no magic number."""
    if len(head) < 2 * _ERF.size:
        return False
    first_time, first_kind, _, first_size, *_ = _ERF.unpack_from(head)
    first_size = first_size >> 8 | (first_size & 0xFF) << 8  # sizes are in network order
    if first_size < _ERF.size or len(head) < first_size + _ERF.size:
        return False
    time, kind, *_ = _ERF.unpack_from(head, first_size)
    near = first_time <= time < first_time + _ERF_HOUR
    return near and first_time > 0 and first_kind & 0x7F in _ERF_TYPES and kind & 0x7F in _ERF_TYPES


def describe_foreign_format(head: bytes) -> tuple[str, str] | None:
    """What a file with these first bytes is, and the command that makes a pcapng of it; None where unknown."""
    for magic, told in OTHER_FILES.items():
        if head.startswith(magic):
            return told
    return ("a capture in Endace's ERF", _EDITCAP) if _is_erf(head) else None
