"""The environment of one run as one value: streams, variables, terminal facts and clocks; exit codes, and errors.

Commands touch the process only through an `Environment`, so that a test can hand them another one.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.terminal.pager import PagedOutput
    from kwcli.terminal_escaping import Writable

# Errors of a write that are no defect of kw: the target is full, closed, broken or too large.
_UNWRITABLE: Final = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.ENXIO, errno.EROFS, errno.ESTALE
})  # fmt: skip

# Thresholds of gc: a hundred times those of Python. A process that holds thousands of exchanges would spend a fifth of
# its time in collections.
SELDOM_COLLECTIONS: Final = (100_000, 50, 100)


class Exit(IntEnum):
    """Exit codes of `kw`; scripts rely on them."""

    DONE = 0
    FAILURE = 1  # of the input, or a Kafka-level error in the answer to a call
    USAGE = 2
    LOSSY = 3  # only under --strict: traffic was lost or could not be decoded
    FINDINGS = 4  # a check found something
    UNREACHABLE = 5  # could not connect
    REFUSED = 6  # authentication refused
    TIMEOUT = 124
    INTERRUPTED = 130


def describe_write_error(error: OSError, output_name: str = "the output") -> str | None:
    """That `output_name`, or the file of the error, cannot be written; None where the error is of another kind."""
    if error.errno not in _UNWRITABLE:
        return None
    return f"{error.filename or output_name} cannot be written: {(error.strerror or str(error)).lower()}"


class Failure(Exception):
    """An end that is not a defect: `text` is the one line shown to the user, after `kw: `."""

    def __init__(self, text: str, code: Exit = Exit.FAILURE) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class Readable(Protocol):
    """A byte stream for standard input: `read1` returns what is there now, at least one byte, or b"" at the end."""

    def read1(self, size: int = -1, /) -> bytes: ...


class StoredRows(Protocol):
    """The exchanges and skipped runs in a folder of tables (pipeline/tables/stored_exchanges.py)."""

    place: str
    rows: int
    size: int
    span: tuple[int, int] | None
    faults: list[str]
    problems: list[str]

    @property
    def lacking(self) -> str | None: ...

    def read(self) -> Iterator[tuple[str, list[Settled]]]: ...

    def read_connection_ends(self) -> Iterator[Ended]: ...


def _refuse_tables(place: str) -> StoredRows:
    raise Failure(f"{place}: a folder of tables, which this command does not read")


# The buffer of standard output that is no terminal. Python's own is a block, 4 KiB on a pipe, for which NDJSON of small
# exchanges takes a system call for every three lines, and none at all with PYTHONUNBUFFERED.
OUTPUT_BUFFER: Final = 64 << 10


class Terminals(NamedTuple):
    """Which of the three streams are terminals."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False


class Environment:
    """Everything a command may know of its surroundings. `columns` is None where no width was given.

    Everything written to a terminal passes `kwcli.terminal_escaping.Terminal`, which escapes control characters.
    """

    __slots__ = (
        "_hide",
        "_pager",
        "_secrets",
        "_unsaid",
        "ascii",
        "columns",
        "csv_safe",
        "debug",
        "monotonic",
        "no_pager",
        "now_ns",
        "open_tables",
        "profile_output",
        "stderr",
        "stderr_terminal",
        "stdin",
        "stdin_terminal",
        "stdout",
        "stdout_terminal",
        "variables",
    )

    def __init__(
        self,
        *,
        stdin: Readable,
        stdout: Writable,
        stderr: Writable,
        variables: Mapping[str, str],
        terminals: Terminals = Terminals(),  # noqa: B008  # a tuple, which nothing changes
        columns: int | None = None,
        now_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stdin = stdin
        self.stdout = _wrap_terminal(stdout) if terminals.stdout else stdout
        self.stderr = _wrap_terminal(stderr) if terminals.stderr else stderr
        self.variables = variables
        self.stdin_terminal, self.stdout_terminal, self.stderr_terminal = terminals
        self.columns = columns
        self.now_ns = now_ns
        self.monotonic = monotonic
        self.debug = False
        self.csv_safe = False  # asked for by --csv-safe
        self.ascii = False  # asked for by --ascii
        # The output format of a profile, of the one in use where the name is None; empty where it states none.
        self.profile_output: Callable[[str | None], str] = lambda _: ""
        # Opens a folder of tables (pipeline/tables/stored_exchanges.py, a module that few runs need to import).
        self.open_tables: Callable[[str], StoredRows] = _refuse_tables
        self.no_pager = False  # asked for by --no-pager
        self._pager: PagedOutput | None = None
        self._unsaid: list[str] = []  # diagnostic lines held back until the pager is closed
        self._secrets: frozenset[str] = frozenset()
        self._hide: Callable[[str], str] | None = None
        if any(terminals[1:]):
            locale = find_locale_name(variables)
            if locale and not is_utf8_locale(locale):
                self.use_ascii_on_terminals()

    @classmethod
    def of_process(cls) -> Environment:
        """The environment of this process. A stream that the caller closed (`>&-`) is the null device."""
        source = sys.stdin.buffer if sys.stdin else open(os.devnull, "rb")  # noqa: SIM115  # lives as long as the process
        stdout = sys.stdout.buffer if sys.stdout else open(os.devnull, "wb")  # noqa: SIM115  # lives as long as the process
        stderr = sys.stderr.buffer if sys.stderr else open(os.devnull, "wb")  # noqa: SIM115  # lives as long as the process
        stdout_terminal = stdout.isatty()
        if sys.stdout and not stdout_terminal and isinstance(stdout, io.BufferedWriter | io.FileIO):
            stdout = open(stdout.fileno(), "wb", OUTPUT_BUFFER, closefd=False)  # noqa: SIM115  # lives as long, too
        stated = os.environ.get("COLUMNS", "")
        columns = int(stated) if stated.isdecimal() and int(stated) > 0 else None
        if columns is None and stdout_terminal:
            columns, _ = _terminal_columns_and_rows()
        return cls(
            stdin=cast(Readable, source),  # a BufferedReader in both cases
            stdout=stdout,
            stderr=stderr,
            variables=os.environ,
            terminals=Terminals(source.isatty(), stdout_terminal, stderr.isatty()),
            columns=columns,
        )

    def allow_colors(self, allowed: bool) -> None:
        """Let colour codes pass to the terminal, or escape them; they may pass where kw alone writes such codes."""
        if self.stdout_terminal:
            from kwcli.terminal_escaping import Terminal

            assert isinstance(self.stdout, Terminal)
            self.stdout.allow_colors(allowed)

    def use_ascii_on_terminals(self) -> None:
        """Write no character beyond ASCII to terminals from now on."""
        for stream, is_terminal in ((self.stdout, self.stdout_terminal), (self.stderr, self.stderr_terminal)):
            if is_terminal:
                from kwcli.terminal.ascii_text import to_ascii  # not loaded where the streams are pipes
                from kwcli.terminal_escaping import Terminal

                assert isinstance(stream, Terminal)
                stream.to_ascii = to_ascii

    @property
    def is_paging(self) -> bool:
        """Whether a pager has the terminal, or will when there is more to show."""
        return self._pager is not None and self._pager.has_begun

    def start_paging(self, *, short: bool = False) -> None:
        """Page output that is longer than the screen, or `short` output too, where stdin and stdout are terminals."""
        if self.no_pager or self._pager is not None or not (self.stdout_terminal and self.stdin_terminal):
            return
        from kwcli.terminal.pager import PagedOutput, find_pager_command
        from kwcli.terminal_escaping import Terminal

        program = find_pager_command(self.variables)
        assert isinstance(self.stdout, Terminal)
        if program and _is_standard_output(self.stdout):
            columns, rows = _terminal_columns_and_rows()
            size = (columns, 0 if short else rows)
            self._pager = PagedOutput(self.stdout.beneath, program, self.variables, size)
            self.stdout.beneath = self._pager

    def end_paging(self) -> None:
        """Wait until the user has closed the pager; then write the diagnostic lines that were held back."""
        if self._pager is None:
            return
        try:
            self._pager.close()
        finally:
            unsaid, self._unsaid, self._pager = self._unsaid, [], None
            for text in unsaid:
                self.report(text)

    def add_secrets_to_hide(self, values: Iterable[str]) -> None:
        """Hide these values, passwords and the like, in everything that is said from now on."""
        known = self._secrets | frozenset(values)
        if known != self._secrets:
            from decoders.wire.redact_text import make_concealer

            self._secrets, self._hide = known, make_concealer(known)

    def hide_secrets(self, text: str) -> str:
        """A text from a broker or a library, without the secrets that this process was given."""
        return text if self._hide is None else self._hide(text)

    def report(self, text: str) -> None:
        """Write one diagnostic line to standard error, without secrets or control characters; hold it while paging."""
        if self.is_paging and self.stderr_terminal:
            self._unsaid.append(text)
            return
        text = self.hide_secrets(text)
        if not text.isprintable():
            from decoders.wire.format_and_escape_text import escape_text

            text = escape_text(text)
        if self.ascii:
            from kwcli.terminal.ascii_text import to_ascii

            text = to_ascii(text)
        try:
            self.stderr.write(text.encode() + b"\n")
            self.stderr.flush()
        except OSError:
            return  # nobody reads standard error


def find_locale_name(variables: Mapping[str, str]) -> str:
    """The name of the locale of characters: LC_ALL, else LC_CTYPE, else LANG (POSIX); empty where none is stated."""
    return variables.get("LC_ALL") or variables.get("LC_CTYPE") or variables.get("LANG") or ""


def is_utf8_locale(name: str) -> bool:
    """Whether the charset in the name of a locale is UTF-8."""
    return "utf8" in name.lower().replace("-", "")


def make_flag_callback(attribute: str) -> Callable[[Any, object, bool], None]:
    """The callback (click's) of a flag that sets an attribute of the command's Environment to True."""

    def set_environment_attribute(context: Any, _param: object, value: bool) -> None:
        if value and isinstance(context.obj, Environment):
            setattr(context.obj, attribute, True)

    return set_environment_attribute


class SecretHidingStderr(io.TextIOBase):
    """A `sys.stderr` for what Python itself writes, tracebacks of threads and warnings, with secrets hidden."""

    def __init__(self, env: Environment) -> None:
        self._env = env

    def write(self, text: str, /) -> int:
        """Write the text, without secrets; returns its length."""
        with suppress(OSError):  # nobody reads standard error
            self._env.stderr.write(self._env.hide_secrets(text).encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Flush standard error."""
        with suppress(OSError):
            self._env.stderr.flush()

    def fileno(self) -> int:
        """The descriptor of standard error."""
        return self._env.stderr.fileno()

    def writable(self) -> bool:
        """True: the stream can be written to."""
        return True


def _is_standard_output(stream: Writable) -> bool:
    """Whether a stream is the process's own standard output, which a pager would inherit."""
    try:
        return stream.fileno() == 1
    except OSError:
        return False


def _terminal_columns_and_rows() -> tuple[int, int]:
    """Columns and rows of the terminal."""
    import shutil  # not loaded where the streams are pipes

    return shutil.get_terminal_size()


def _wrap_terminal(stream: Writable) -> Writable:
    from kwcli.terminal_escaping import Terminal  # not loaded where the streams are pipes

    return Terminal(stream)
