"""Words of the command line in, captures and their bytes by range out: local files, or any that fsspec opens."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED
from decoders.limits import REMOTE_HELD_MAX
from decoders.named_tuple import NamedTuple
from kwcli.output.short_texts import count_of
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.read.split_and_file_range import Problem, make_problem_of_error
from kwcli.reading.capture_sources import CAPTURE_MAGICS, CaptureSource, begins_as_request_log, describe_os_error
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import OpenFiles, has_capture_name, list_paths
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "SCHEMES",
    "FoundCaptures",
    "FoundFile",
    "RangeFile",
    "SourceFile",
    "find_captures",
    "list_files",
    "make_capture_source",
    "open_range_file",
    "read_beginning",
]

# The scheme of a URL → the extra that reads it; "" where fsspec does so alone. All of them but file: need fsspec.
SCHEMES: Final = {
    "abfs": "azure",
    "abfss": "azure",
    "az": "azure",
    "file": "",
    "gcs": "gs",
    "gs": "gs",
    "hdfs": "hdfs",
    "http": "http",
    "https": "http",
    "memory": "",
    "s3": "s3",
    "s3a": "s3",
}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# The beginning of PyArrow's message where it finds no libjvm or no libhdfs; a list of all places searched follows.
_NO_HADOOP: Final = "Unable to load lib"
# Bytes of one request to a remote store: a request costs as much as about a MiB.
_REMOTE_SIZE: Final = 8 << 20
# A smaller range takes longer to ask for than to read.
_REMOTE_MIN: Final = 256 << 10
# The local files of this process: as many captures as overlap in time may be open at once.
_FILES: Final = OpenFiles()
# Fields by which a store tells one version of an object from another, the most telling first.
_STAMPS: Final = (
    "ETag",
    "etag",
    "md5Hash",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "mtime",
    "updated",
    "created",
)


class FoundFile(NamedTuple):
    """One file: its absolute path or URL, its name as the user called it, and its size.

    `stamp` changes when the file is written; `identity` is the same for all names of a file.
    """

    path: str
    name: str
    size: int
    stamp: str
    identity: tuple[object, ...]


class RangeFile(Protocol):
    """An opened file. `read` gives fewer bytes than `size` only at its end; raises InputProblem."""

    def read(self, at: int, size: int) -> bytes: ...

    def close(self) -> None: ...

    def __enter__(self) -> RangeFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def list_files(word: str) -> Iterator[tuple[FoundFile | Problem, bool]]:
    """The files (or problems of files) that a path, a pattern or a URL stands for, each with a mark.

    The mark is True for a file that was found in a folder or by a pattern. Raises InputProblem where there is no file.
    """
    if word == "-":
        raise InputProblem("-: standard input can be read only once: write it to a file, or use kw sniff")
    scheme = _parse_url_scheme(word)
    if scheme is None:
        yield from _list_local_files(word, word)
    elif scheme == "file":
        yield from _list_local_files(word, word[len("file://") :])
    else:
        yield from _list_remote_files(word, scheme)


def open_range_file(path: str, name: str) -> RangeFile:
    """Open a file that `list_files` found, by its path or URL; `name` is its name in problems."""
    scheme = _parse_url_scheme(path)
    return _LocalFile(path, name) if scheme is None else _RemoteFile(path, name, scheme)


def _parse_url_scheme(word: str) -> str | None:
    match = _SCHEME.match(word)
    if match is None or os.path.lexists(word):
        return None
    scheme = match[1].lower()
    if scheme not in SCHEMES:
        known = " ".join(f"{one}://" for one in SCHEMES if one != "memory")
        raise Failure(f"{word}: kw cannot read {scheme}:// (it reads local paths and {known})", Exit.USAGE)
    return scheme


# -- local files -------------------------------------------------------------------------------------------------------


def _list_local_files(word: str, path: str) -> Iterator[tuple[FoundFile | Problem, bool]]:
    for found in list_paths(word, path):
        if found.error is not None:
            yield Problem(found.path, None, describe_os_error(found.error)), found.listed
        else:
            yield _stat_file(found.path), found.listed


def _stat_file(path: str) -> FoundFile | Problem:
    try:
        about = os.stat(path)
    except (OSError, ValueError) as error:
        return Problem(path, None, describe_os_error(error))
    if not stat.S_ISREG(about.st_mode):
        return Problem(path, None, "not a regular file: it can be read only once")
    return FoundFile(os.path.realpath(path), path, about.st_size, str(about.st_mtime_ns), (about.st_dev, about.st_ino))


class _LocalFile:
    """A local file, read a piece at a time: a piece stays in the processor's cache."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        try:
            self._file = _FILES.open(path)
        except (OSError, ValueError) as error:
            raise InputProblem(f"{name}: {describe_os_error(error)}") from None

    def read(self, at: int, size: int) -> bytes:
        parts = []
        try:
            place = at
            while size and (data := self._file.read(place, size)):
                parts.append(data)
                place += len(data)
                size -= len(data)
        except OSError as error:
            raise InputProblem(f"{self._name}: {describe_os_error(error)} at byte {at:,}") from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> _LocalFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# -- all others --------------------------------------------------------------------------------------------------------


@contextmanager
def _store_errors_as_failures(name: str, scheme: str) -> Iterator[None]:
    """Turns what a store's library raises, which may be anything, into a Failure or InputProblem of one line."""
    try:
        yield
    except Failure:
        raise
    except ImportError:
        extra = SCHEMES[scheme] or "spark"
        raise Failure(f"{name}: {scheme}:// needs an extra: {pip_command_for_extra(extra)}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputProblem(f"{name}: {describe_os_error(error)}") from None
        if isinstance(error, FileNotFoundError):
            raise InputProblem(f"{name}: no such file") from None
        text = " ".join(str(error).split())
        if scheme == "hdfs" and text.startswith(_NO_HADOOP):
            raise Failure(
                f"{name}: hdfs:// needs Java and Hadoop here: set JAVA_HOME, HADOOP_HOME, CLASSPATH"
            ) from None
        raise InputProblem(f"{name}: {text or type(error).__name__}") from None


def _open_file_system(url: str, scheme: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    with _store_errors_as_failures(url, scheme):
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
        return system, str(path)


def _list_remote_files(url: str, scheme: str) -> Iterator[tuple[FoundFile, bool]]:
    system, path = _open_file_system(url, scheme)
    whole = url.rstrip("/")
    prefix = whole[: -len(path)] if whole.endswith(path) else "" if _SCHEME.match(path) else f"{scheme}://"
    with _store_errors_as_failures(url, scheme):
        found = _list_remote_paths(system, path, SCHEMES[scheme])
        listed: list[tuple[Any, Any, bool]] = []
        for one, about in found:
            if about["type"] == "directory":
                rows = sorted(system.find(one, detail=True).items())
                listed += [(name, row, True) for name, row in rows if not _is_hidden(name[len(one) :])]
            else:
                listed.append((one, about, one != path))
    if not listed:
        raise InputProblem(f"{url}: no such file")
    for name, row, inside in listed:
        about = row
        if about.get("size") is None:  # a list of links, not of files
            with _store_errors_as_failures(prefix + str(name), scheme):
                about = system.info(name)
        stamp = next((str(about[key]) for key in _STAMPS if about.get(key)), "")
        full = prefix + str(name)
        identity = (SCHEMES[scheme] or scheme, repr(system.storage_options), str(name))
        yield FoundFile(full, full, int(about.get("size") or 0), stamp, identity), inside


def _list_remote_paths(system: Any, path: str, extra: str) -> list[tuple[str, Any]]:
    """The file or folder of this name, else the files that it is a pattern of, each with its information."""
    try:
        about = system.info(path)
        # Over HTTP there are no folders: a page with links is taken for one if its name ends with a slash.
        return [(path, about | {"type": "directory"} if extra == "http" and path.endswith("/") else about)]
    except FileNotFoundError as error:
        cause = error.__cause__  # over HTTP every error is a FileNotFoundError, with a cause
        if isinstance(cause, OSError) or getattr(cause, "status", 404) != 404:
            raise cause from None  # type: ignore[misc]  # it is an exception
        return sorted(system.glob(path, detail=True).items()) if glob.has_magic(path) else []


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


class _RemoteFile:
    """A file of a remote store, fetched in large ranges, of which one is kept; in smaller ones where many are open."""

    count = 0  # of the files that are open

    def __init__(self, path: str, name: str, scheme: str) -> None:
        self._name = name
        self._scheme = scheme
        self._system, self._path = _open_file_system(path, scheme)
        self._at = 0
        self._kept = b""
        with _store_errors_as_failures(name, scheme):
            about = self._system.info(self._path)
        if about.get("size") is None:
            raise InputProblem(f"{name}: the server does not say how large it is: download it first")
        self._size = int(about["size"])
        self._open = True
        _RemoteFile.count += 1

    def read(self, at: int, size: int) -> bytes:
        size = min(size, self._size - at)
        if size <= 0:
            return b""
        if not self._at <= at <= at + size <= self._at + len(self._kept):
            most = min(_REMOTE_SIZE, max(REMOTE_HELD_MAX // max(_RemoteFile.count, 1), _REMOTE_MIN))
            begin = at if self._size > most else 0
            end = min(begin + max(size, most), self._size)
            with _store_errors_as_failures(self._name, self._scheme):
                self._kept, self._at = self._fetch_range(begin, end), begin
        return self._kept[at - self._at : at - self._at + size]

    def _fetch_range(self, begin: int, end: int) -> bytes:
        if SCHEMES[self._scheme] != "http":
            return bytes(self._system.cat_file(self._path, start=begin, end=end))
        # Opened like this, fsspec raises ValueError for a server that gives whole files only.
        with self._system.open(self._path, "rb", cache_type="none", size=self._size) as file:
            file.seek(begin)
            try:
                return bytes(file.read(end - begin))
            except ValueError:
                raise InputProblem(
                    f"{self._name}: the server does not send parts of files: download it first"
                ) from None

    def close(self) -> None:
        self._kept = b""
        if self._open:
            self._open = False
            _RemoteFile.count -= 1

    def __enter__(self) -> _RemoteFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Captures of a command line

_ENDS_SIZE: Final = 64 << 10
# Lines of other loggers may come first in a request log.
_BEGIN_SIZE: Final = 64 << 10


class SourceFile(NamedTuple):
    """One capture of a capture point: its absolute path or URL, bytes and fingerprint; `name` as the user called it.

    `log`: the file is no capture but a broker's request log; `inflate`: that log is compressed.
    """

    point: str
    path: str
    size: int
    fingerprint: str
    name: str
    log: bool = False
    inflate: bool = False


class FoundCaptures(NamedTuple):
    """The files in the order of the words, problems of files that could not be had, and notes for the user."""

    files: list[SourceFile]
    problems: list[Problem]
    notes: list[str]


def find_captures(words: Iterable[str], points: Iterable[tuple[str, str]] = ()) -> FoundCaptures:
    """The captures of `words`, of the point "", and of the named points (name, path or pattern); each file once.

    A file of both the words and a named point belongs to the named point. Files of a folder or a pattern that are no
    captures are passed over, except files named like captures: something is wrong with them. Raises Failure where
    nothing can be read (an unknown kind of URL, a package that is missing) and where a file would belong to two named
    points; any other error of a word becomes a problem, and the other words go on.
    """
    found: dict[tuple[object, ...], SourceFile] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for point, word in [("", word) for word in words] + list(points):
        passed: set[tuple[object, ...]] = set()
        for place, listed in _list_found_files(word):
            if isinstance(place, Problem):
                problems.append(place)
                continue
            try:
                kind = _detect_file_kind(place)
                if listed and (not place.size or not has_capture_name(place.name)) and not (kind.capture or kind.log):
                    passed.add(place.identity)
                else:
                    _add_source_file(found, place, point, kind)
            except InputProblem as problem:
                problems.append(make_problem_of_error(place.name, problem))
        if passed:
            notes.append(f"{word}: {count_of(len(passed), 'file')} passed over: no capture")
    return FoundCaptures(list(found.values()), problems, notes)


def _list_found_files(word: str) -> Iterator[tuple[FoundFile | Problem, bool]]:
    try:
        yield from list_files(word)
    except InputProblem as problem:
        yield make_problem_of_error(word, problem), False


def _add_source_file(
    source_files: dict[tuple[object, ...], SourceFile], place: FoundFile, point: str, kind: _Kind
) -> None:
    known = source_files.get(place.identity)
    if known is None:
        source_files[place.identity] = SourceFile(
            point, place.path, place.size, _compute_fingerprint(place), place.name, kind.log, kind.log and kind.inflate
        )
    elif not known.point:
        source_files[place.identity] = known._replace(point=point)
    elif point not in ("", known.point):
        raise Failure(f"{place.name} belongs to two capture points: {known.point} and {point}", Exit.USAGE)


def _compute_fingerprint(place: FoundFile) -> str:
    """The SHA-256 of a file's path or URL, size, time of change (or a store's ETag), first and last 64 KiB.

    Captures are written at their end, so a capture that grew has another size and another end; a file copied over it
    has another time or another beginning. The path counts, since the same bytes at another place are another source:
    they were captured there, or the user wants them twice.
    """
    digest = hashlib.sha256(json.dumps([place.path, place.size, place.stamp]).encode())
    with open_range_file(place.path, place.name) as file:
        head = file.read(0, min(place.size, _ENDS_SIZE))
        digest.update(head)
        digest.update(file.read(max(place.size - _ENDS_SIZE, len(head)), _ENDS_SIZE))
    return digest.hexdigest()


class _Kind(NamedTuple):
    """Whether a file, decompressed where need be, begins as a capture or a request log; whether it is compressed."""

    capture: bool
    log: bool = False
    inflate: bool = False


def _detect_file_kind(place: FoundFile) -> _Kind:
    """The kind of a file. Raises InputProblem where it cannot be read."""
    with open_range_file(place.path, place.name) as file:
        magic = file.read(0, 4)
        if magic in CAPTURE_MAGICS:
            return _Kind(capture=True)
        head = read_beginning(file, place.name)
        return _Kind(head[:4] in CAPTURE_MAGICS, begins_as_request_log(head), COMPRESSED.match(magic) is not None)


def read_beginning(file: RangeFile, name: str) -> bytes:
    """The beginning of a file, decompressed where need be: enough to know a request log; less of a damaged file."""
    head = b""
    try:
        for piece in make_capture_source(file, name).read_plain_pieces():
            head += piece[: _BEGIN_SIZE - len(head)]
            if len(head) >= _BEGIN_SIZE or head[:4] in CAPTURE_MAGICS:
                break
    except InputProblem:
        pass
    return head


def make_capture_source(file: RangeFile, name: str, size: int | None = None) -> CaptureSource:
    """The first `size` bytes of a file (None: all) as a CaptureSource, which decompresses them where need be."""
    at = 0

    def read(count: int) -> bytes:
        nonlocal at
        data = file.read(at, count if size is None else min(count, size - at))
        at += len(data)
        return data

    return CaptureSource(name, read)
