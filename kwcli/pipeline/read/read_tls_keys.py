"""Key logs, and captures that hold TLS secrets, in; the keys of a run out.

Keys are never handed from process to process, nor written: each process reads the files itself, once. So every process
of a run has to be able to read the key log, under the same name.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from decoders.capture.read_capture import CaptureReader
from decoders.tls.key_log import KeyLog
from kwcli.pipeline.read.find_captures import make_capture_source, open_range_file
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.tls_key_log_files import KeyLogFiles, add_secrets_of_captures
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwcli.pipeline.read.find_captures import SourceFile

__all__ = ["find_captures_with_secrets", "read_keys"]

# Secrets come before the packets that need them: within these bytes either secrets or packets begin.
_HEAD: Final = 4096
# Bytes of captures that are read for their secrets, where no packet comes before.
_SECRETS_MAX: Final = 64 << 20


def find_captures_with_secrets(files: Iterable[SourceFile]) -> tuple[str, ...]:
    """The paths of the captures that hold, or may hold, secrets before their first packet."""
    return tuple(file.path for file in files if _can_hold_secrets(file))


def _can_hold_secrets(file: SourceFile) -> bool:
    found: list[bytes] = []
    reader = CaptureReader()
    reader.on_secrets = found.append
    try:
        with open_range_file(file.path, file.name) as source:
            piece = next(make_capture_source(source, file.name, file.size).read_capture_pieces(), b"")
    except (InputProblem, OSError):
        return False  # reported when the capture is read
    reader.feed(piece[:_HEAD])
    unsure = len(piece) > _HEAD and not reader.counts["packets"] and reader.problem is None
    return bool(found) or (unsure and reader.kind == "pcapng")


@lru_cache(1)
def read_keys(key_logs: tuple[str, ...], captures: tuple[str, ...], files: tuple[str, ...] = ()) -> KeyLog:
    """The keys in these files; a process reads them once. Raises Failure where a key log is not there.

    The key logs are read when TLS begins, which raises Failure where one cannot be read. `captures` begin with secrets;
    a missing key is searched for in `files`, all captures of the run.
    """
    key_log_files = KeyLogFiles(key_logs)
    keys = key_log_files.keys
    if keys.read_first is not None:
        keys.read_first = partial(_read_key_logs_or_fail, key_log_files, keys.read_first)
    keys.look_further = partial(add_secrets_of_captures, keys, files)
    for path in captures:
        reader = CaptureReader()
        reader.on_secrets = keys.add_lines
        try:
            with open_range_file(path, path) as source:
                taken = 0
                for piece in make_capture_source(source, path).read_capture_pieces():
                    reader.feed(piece)
                    taken += len(piece)
                    if reader.counts["packets"] or reader.problem is not None or taken > _SECRETS_MAX:
                        break
        except (InputProblem, OSError):
            continue  # reported when the capture is read
    return keys


def _read_key_logs_or_fail(key_logs: KeyLogFiles, read: Callable[[], None]) -> None:
    read()
    if key_logs.failures:
        raise Failure(key_logs.failures[0])
