"""The pcapng stream of a live capture in; a file or a ring of files, for their owner only, out."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kwcli.private_files import open_private_file
from kwcli.reading.ring_file_names import WrittenRing
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from io import BufferedWriter

    from kwcli.capture_options import Rotation
    from kwcli.run_environment import Environment

__all__ = ["PacketFile", "PacketRing", "open_packet_file"]

# The type of a block that holds a packet (enhanced packet block).
_PACKET: Final = 6


class PacketFile:
    """The file that packets are kept in. If it cannot be written any more, that is reported, and decoding goes on."""

    _mode = "wb"

    def __init__(self, name: str, env: Environment) -> None:
        """Open the file. Raises Failure where it cannot be made."""
        self.failed = False
        self._name = name
        self._env = env
        self._file = self._open_file(name)

    def write(self, data: bytes) -> None:
        """Write a piece of the capture, of whole blocks (b"" as time passes); it can be read from the file at once."""
        if data and not self.failed:
            self._try_action(lambda: self._append_to_file(data))

    def add_block_for_all_files(self, data: bytes) -> None:
        """Write a block that the packets after it need."""
        self.write(data)

    def close(self) -> None:
        """Close the file."""
        if not self.failed:
            self._try_action(self._file.close)

    def _open_file(self, name: str) -> BufferedWriter:
        try:
            return open(name, self._mode, opener=open_private_file)  # type: ignore[return-value]  # until `close`
        except OSError as error:
            raise Failure(f"{name}: {(error.strerror or str(error)).lower()}") from None

    def _append_to_file(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()

    def _try_action(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            self._report_failure((error.strerror or str(error)).lower())

    def _report_failure(self, what: str) -> None:
        self.failed = True
        with suppress(OSError):  # what could not be written is still in its buffer
            self._file.close()
        self._env.report(f"kw: {self._name}: {what}; nothing more is written to it")


class PacketRing(PacketFile):
    """Files one after the other: STEM_00001_20260101120000.EXT, each with the header of the capture, readable alone.

    A file is closed when the next packet would make it larger than `rotation.size`, or when `interval_s` have passed
    since it was begun and it has a packet; the next packet begins the next file. Then the oldest files of the ring,
    earlier runs' among them, are deleted beyond `keep`.
    """

    _mode = "xb"

    def __init__(self, name: str, rotation: Rotation, env: Environment) -> None:
        self._names = WrittenRing(name)
        self._rotation = rotation
        self._header = b""
        self._packets = 0  # in the current file
        self._size = 0
        self._begun = env.monotonic()
        self._closed = False
        super().__init__(self._names.make_next_path(env.now_ns()), env)
        self._delete_older()

    def write(self, data: bytes) -> None:
        """Write whole blocks; b"" as time passes."""
        if self.failed or (self._closed and data[:1] != bytes([_PACKET])):  # no file is begun without a packet
            return
        if not self._header:
            self._header = data
        interval = self._rotation.interval_s
        if interval is not None and self._packets and self._env.monotonic() - self._begun >= interval:
            self._end_file()
        at = 0
        while at < len(data) and not self.failed:
            end, packets = self._measure_fitting_blocks(data, at)
            if self._closed or end == at:
                self._begin_file()
                continue
            self._packets += packets
            self._size += end - at
            super().write(data[at:end])
            at = end

    def add_block_for_all_files(self, data: bytes) -> None:
        """Write a block that the packets after it need, at the beginning of each further file too."""
        self._header += data
        if not self._closed and not self.failed:
            self._size += len(data)
            super().write(data)

    def close(self) -> None:
        """Close the last file."""
        if not self._closed:
            super().close()

    def _measure_fitting_blocks(self, data: bytes, at: int) -> tuple[int, int]:
        """The end of the blocks that fit in the current file, and how many of them are packets."""
        limit, size, packets = self._rotation.size, self._size, self._packets
        while at < len(data):
            length = int.from_bytes(data[at + 4 : at + 8], "little")
            if limit is not None and packets and size + length > limit:
                break
            packets += data[at] == _PACKET
            size += length
            at += length
        return at, packets - self._packets

    def _end_file(self) -> None:
        if not self._closed:
            super().close()
            self._closed = True

    def _begin_file(self) -> None:
        self._end_file()
        if self.failed:
            return
        self._name = self._names.make_next_path(self._env.now_ns())
        try:
            self._file = self._open_file(self._name)
        except Failure as failure:
            self._report_failure(failure.text.removeprefix(f"{self._name}: "))
            return
        self._closed = False
        self._begun, self._packets, self._size = self._env.monotonic(), 0, len(self._header)
        super().write(self._header)
        self._delete_older()

    def _delete_older(self) -> None:
        if self._rotation.keep is None:
            return
        for path in self._names.list_paths_to_delete(self._rotation.keep):
            try:
                os.unlink(path)
            except OSError as error:
                self._env.report(f"kw: {path}: {(error.strerror or str(error)).lower()}; it is not deleted")


def open_packet_file(name: str, rotation: Rotation, env: Environment) -> PacketFile:
    """The file or ring that packets are kept in. Raises Failure where it cannot be made."""
    if rotation.size is None and rotation.interval_s is None:
        return PacketFile(name, env)
    return PacketRing(name, rotation, env)
