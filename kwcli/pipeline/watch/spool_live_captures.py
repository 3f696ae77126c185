"""Live traffic in, capture files in the folder of the tables out, which the watch reads and deletes: `--on`, `-i`.

The problem. A batch that failed is read again, and a task may run on another machine; but what a command or an
interface has given cannot be asked for again.

The idea. A thread writes the packets of each place into files of its own, and the watch reads these as it reads any
files that grow. What a commit has read is deleted. So a batch may fail, or kw be killed: the packets that it had taken
are still there, and the next watch begins with them.

    ssh b1 tcpdump ──┐           DIR/_kw/live/b1/…-00001.pcapng ██████▒▒   ▒ next batch
    -i eth0 ─────────┼─ thread ─►             …/b1/…-00002.pcapng ▒▒▒
                     └─────────►           …/eth0/…-00001.pcapng ███▒

What always holds: a file holds whole blocks, is for its owner only, and is read alone: it begins with the interfaces,
and the TLS secrets, of the packets in it. A watch that begins at a place that was captured before tells from when until
when nobody captured there.

What is given up: what a command gives while no watch runs. Where tables cannot be written for long, so that much has
piled up, the places wait, and their kernels drop packets.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from kwcli.output.short_texts import count_of
from kwcli.pipeline.background_call import BackgroundCall
from kwcli.pipeline.read.split_and_file_range import Problem
from kwcli.pipeline.store.staging_folder import CONTROL
from kwcli.private_files import create_private_folder
from kwcli.reading.live.live_inputs import LiveInput, LiveInputs, list_live_inputs
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from kwcli.pipeline.watch.track_captures import TrackedFile
    from kwcli.reading.capture_sources import CaptureSource
    from kwcli.reading.live.capture_commands import CaptureCommand
    from kwcli.reading.live_capture import LiveCapture
    from kwcli.run_environment import Environment

__all__ = ["LiveSpool"]

_FOLDER: Final = f"{CONTROL}/live"
_EXTENSION: Final = ".pcapng"
# A file gives way to the next one at this size: so much that was read stays on the disk.
FILE_MAX: Final = 32 << 20
# Packets that are not in the tables yet: beyond this places wait.
SPOOL_MAX: Final = 1 << 30
# After an error of the disk, so long until it is tried again.
_RETRY_S: Final = 1.0


class LiveSpool:
    """The live places of one watch, and what earlier ones have left, in the folder of its tables.

    The folder is locked by the watch. `start` begins to capture, in a thread; `has_ended` says that nothing comes any
    more, and all of it is in files. `is_broken`: a command has failed.
    """

    def __init__(
        self,
        out: str,
        commands: Sequence[CaptureCommand],
        interfaces: Sequence[LiveCapture],
        env: Environment,
        *,
        restart: bool,
    ) -> None:
        """Make the folders. Raises OSError."""
        self._env = env
        self._root = os.path.join(os.path.abspath(out), _FOLDER)
        self._inputs = list_live_inputs((), commands, interfaces)
        self._live = LiveInputs(self._inputs, self, env, restart=restart)
        if self._inputs:
            create_private_folder(self._root)
        left = {unquote(name.removeprefix("at-")) for name in _list_names_in_folder(self._root)}
        self._left_ns = {name: _latest_change_ns(self._make_folder_of_place(name)) for name in left}
        names = [one.point for one in self._inputs]
        for name in names:
            create_private_folder(self._make_folder_of_place(name))
        self.names = tuple(dict.fromkeys([*names, *sorted(left)]))
        self._writers = [_SpoolWriter(self._make_folder_of_place(name), name, env) for name in names]
        self._lock = Lock()
        self._stopping = Flag()
        self._is_waiting = False
        self._thread: BackgroundCall[None] | None = None
        self.has_ended = not self._inputs
        self.dropped = 0  # by the kernel, as far as it was told

    @property
    def is_broken(self) -> bool:
        """Whether a command has failed, which was told."""
        return self._live.is_broken

    @property
    def captured(self) -> tuple[str, ...]:
        """The names of the places that are captured now."""
        return tuple(one.point for one in self._inputs)

    @property
    def points(self) -> tuple[tuple[str, str], ...]:
        """The places, each with the folder of its files; a pattern would pass over files in a folder of tables."""
        return tuple((name, self._make_folder_of_place(name)) for name in self.names)

    def name_file(self, path: str) -> str:
        """The name of a capture in tables: that of its place, where the file is the spool's, which is deleted."""
        folder, name = os.path.split(path)
        root, place = os.path.split(folder)
        return unquote(place.removeprefix("at-")) if root == self._root and name.endswith(_EXTENSION) else path

    def find_uncaptured_times(self, last_ns: dict[str, int]) -> list[Problem]:
        """The places that were captured before, with the time of which nobody has the packets.

        `last_ns`: the times of the packets read last, for places of which no file is left.
        """
        now = _format_time(self._env.now_ns())
        since = {one.point: self._left_ns.get(one.point) or last_ns.get(one.point) for one in self._inputs}
        return [
            Problem(name, None, f"was not captured from {_format_time(ns)} to {now}: no watch was running")
            for name, ns in since.items()
            if ns
        ]

    def start(self) -> None:
        """Start the commands."""
        if self._inputs:
            self._thread = BackgroundCall(self._spool_until_stopped)
            self._thread.start()

    def raise_defect(self) -> None:
        """Raise the error with which the thread has ended, if it has: a watch would wait for its files for ever."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread.result()

    def stop(self) -> None:
        """End the commands, and close interfaces and files: what has come is in them."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        for one in self._inputs:
            if one.interface is not None:
                one.interface.close()
                if one.interface.dropped:
                    self.dropped += one.interface.dropped
                    self._env.report(f"kw: {one.point}: the kernel dropped {count_of(one.interface.dropped, 'packet')}")

    def delete_read_files(self, files: Iterable[TrackedFile]) -> None:
        """Delete the files of the spool that a commit has read to their ends."""
        with self._lock:
            current = {writer.path for writer in self._writers}
        for file in files:
            if file.path not in current and self.name_file(file.path) != file.path and file.at:
                with suppress(OSError):  # it is tried again behind the next commit
                    if os.stat(file.path).st_size <= file.at:
                        os.unlink(file.path)

    def delete_empty_folders(self) -> None:
        """Delete the folders of places whose files are all read."""
        for name in self.names:
            with suppress(OSError):
                os.rmdir(self._make_folder_of_place(name))

    def _make_folder_of_place(self, name: str) -> str:
        return os.path.join(self._root, "at-" + quote(name, safe=""))

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _spool_until_stopped(self) -> None:
        live = self._live
        try:
            live.start()
            while live.are_going_on and not self._stopping.is_set():
                live.deliver_received()
                self._report_full_spool()
                live.maintain_inputs(self._env.monotonic())
            if not self._stopping.is_set():
                live.deliver_remaining()
        finally:
            live.stop()
            for writer in self._writers:
                self._close_writer(writer)
            self.has_ended = True

    def _report_full_spool(self) -> None:
        size = sum(writer.measure_files() for writer in self._writers)
        if size > SPOOL_MAX and not self._is_waiting:
            self._env.report(f"kw: {self._root}: {size >> 20:,} MiB are not in the tables yet: the live places wait")
        self._is_waiting = size > SPOOL_MAX

    def begin_input(self, one: LiveInput, now_s: float) -> None:
        """A capture of a place begins."""
        del now_s
        self._writers[one.number].begin_capture()

    def add_piece(self, one: LiveInput, piece: bytes, now_s: float) -> DecodeError | None:
        """Write the packets of a piece."""
        del now_s
        writer = self._writers[one.number]
        self._write_blocks(writer, writer.encode_packets_of_piece(piece))
        return writer.reader.problem

    def end_input(self, one: LiveInput, now_s: float) -> DecodeError | None:
        """A place's capture has ended."""
        del now_s
        writer = self._writers[one.number]
        self._write_blocks(writer, writer.encode_held_back_packets())
        return writer.reader.problem if one.has_bytes else None

    def add_records(self, source: CaptureSource) -> None:
        """Never called: only files and pipes may hold records."""
        raise AssertionError(source.name)

    def has_room(self, _one: LiveInput) -> bool:
        """Whether little enough waits for the tables."""
        return not self._is_waiting

    def _write_blocks(self, writer: _SpoolWriter, blocks: Sequence[bytes]) -> None:
        """Write blocks; while the disk is full or away, wait."""
        is_told = False
        while True:
            try:
                with self._lock:
                    writer.write_blocks(blocks)
            except (OSError, Failure) as error:
                if not is_told:
                    why = (getattr(error, "strerror", None) or str(error)).lower()
                    self._env.report(f"kw: {writer.path}: {why}; trying again")
                    is_told = True
                if self._stopping.wait(_RETRY_S):
                    return
                continue
            return

    def _close_writer(self, writer: _SpoolWriter) -> None:
        with self._lock:
            writer.close()


class _SpoolWriter:
    """Packets of one place into files; `path` is the one that is written now, empty where there is none."""

    def __init__(self, folder: str, name: str, env: Environment) -> None:
        self.path = ""
        self.reader = CopyReader()
        self._folder, self._name, self._env = folder, name, env
        self._began_ns = env.now_ns()  # in names: the files of a later watch come behind those of an earlier one
        self._number = 0
        self._handle: int | None = None
        self._size = 0
        self._secrets = b""
        self._interfaces: dict[int, int] = {}  # by link type
        self._descriptions = b""
        self._is_header_new = False

    def begin_capture(self) -> None:
        """A capture begins, whose packets follow those of the one before."""
        self.reader = CopyReader()
        self.reader.on_secrets = self._add_secrets

    def encode_packets_of_piece(self, piece: bytes) -> list[bytes]:
        """The packets of a piece of the capture as blocks; their interfaces are noted."""
        return self._encode_copies(self.reader.feed(piece))

    def encode_held_back_packets(self) -> list[bytes]:
        """The packets that the reader holds back."""
        return self._encode_copies(self.reader.finish())

    def _encode_copies(self, copies: Sequence[object]) -> list[bytes]:
        blocks: list[bytes] = []
        for copy in copies:
            assert isinstance(copy, PacketCopy)
            for one in (*copy.earlier, copy):
                link_type = one.source[0]
                number = self._interfaces.get(link_type)
                if number is None:
                    number = self._interfaces[link_type] = len(self._interfaces)
                    self._descriptions += PcapngWriter.make_interface_block(link_type, self._name)
                    self._is_header_new = True
                blocks.append(
                    PcapngWriter.make_commented_packet_block(
                        one.time_ns, one.frame, (), wire=one.wire, interface=number
                    )
                )
        return blocks

    def _add_secrets(self, key_log: bytes) -> None:
        self._secrets += PcapngWriter.make_secrets_block(key_log)
        self._is_header_new = True

    def write_blocks(self, blocks: Sequence[bytes]) -> None:
        """Write blocks, to a new file where the current one is large or lacks what they need. Raises OSError."""
        if not blocks:
            return
        if self._handle is None or self._size > FILE_MAX or self._is_header_new:
            self._begin_file()
        assert self._handle is not None
        data = b"".join(blocks)
        at = 0
        try:
            while at < len(data):
                at += os.write(self._handle, data[at:])
        except OSError:
            os.ftruncate(self._handle, self._size)
            os.lseek(self._handle, self._size, os.SEEK_SET)
            raise
        self._size += len(data)

    def _begin_file(self) -> None:
        self.close()
        self._number += 1
        name = f"{self._began_ns:020}-{self._number:06}"
        path = os.path.join(self._folder, name + _EXTENSION)
        section = PcapngWriter(0, comments=(name,)).make_section_block()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            header = section + self._secrets + self._descriptions
            os.write(handle, header)
        except OSError:
            os.close(handle)
            os.unlink(path)
            raise
        self.path, self._handle, self._size, self._is_header_new = path, handle, len(header), False

    def measure_files(self) -> int:
        """The bytes of all files of the place, read or not."""
        return sum(_measure_file_size(entry) for entry in os.scandir(self._folder))

    def close(self) -> None:
        """Close the file that is written."""
        if self._handle is not None:
            os.close(self._handle)
        self.path, self._handle = "", None


def _list_names_in_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _measure_file_size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0


def _latest_change_ns(folder: str) -> int | None:
    return max((entry.stat().st_mtime_ns for entry in os.scandir(folder)), default=None)


def _format_time(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
