"""Packets in, pcapng files out: one, or a row of them that begin anew by size or by time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from decoders.capture.write import PcapngWriter
from kwcli.private_files import open_private
from kwcli.proxy.log.segments import LINK_RAW

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwcli.proxy.log.plan import LogPlan

__all__ = ["CLIENTS", "UPSTREAM", "CaptureFiles"]

# The interfaces.
CLIENTS: Final = 0
UPSTREAM: Final = 1
_NAMES: Final = ("kw-proxy-clients", "kw-proxy-brokers")
_NS: Final = 10**9


class CaptureFiles:
    """Where `-w` leads. With rotation, `FILE.pcapng` stands for `FILE-00001.pcapng` and so on. OSError may follow."""

    def __init__(self, plan: LogPlan) -> None:
        assert plan.write is not None
        self._path = Path(plan.write)
        both = plan.record == "both"
        self._writer = PcapngWriter(LINK_RAW, interface=_NAMES[0], more=_NAMES[1:] if both else (), program="kw proxy")
        self._size_most = plan.rotate_size
        self._time_most = None if plan.rotate_interval is None else round(plan.rotate_interval * _NS)
        self._rotates = self._size_most is not None or self._time_most is not None
        self._file: BinaryIO | None = None
        self._begun_ns = 0
        self._size = 0
        self._packets = 0
        self.count = 0
        if not self._rotates:
            self._begin(0)

    def write(self, time_ns: int, packets: Iterable[bytes], interface: int = CLIENTS) -> int:
        """Write packets of one time; the number of the last one in its file, as Wireshark counts."""
        for packet in packets:
            block = self._writer.packet(time_ns, packet, None, interface)
            if self._file is None or self._full(time_ns, len(block)):
                self._begin(time_ns)
            assert self._file is not None
            self._file.write(block)
            self._size += len(block)
            self._packets += 1
        return self._packets

    def flush(self) -> None:
        """Have the file hold what was written."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """The end of the last file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _full(self, time_ns: int, size: int) -> bool:
        if not self._packets or not self._rotates:
            return False
        late = self._time_most is not None and time_ns - self._begun_ns >= self._time_most
        return late or (self._size_most is not None and self._size + size > self._size_most)

    def _begin(self, time_ns: int) -> None:
        self.close()
        self.count += 1
        path = self._path
        if self._rotates:
            path = path.with_name(f"{path.stem}-{self.count:05d}{path.suffix}")
        self._file = open(path, "wb", opener=open_private)  # noqa: SIM115  # until the next one begins
        head = self._writer.header()
        self._file.write(head)
        self._begun_ns, self._size, self._packets = time_ns, len(head), 0
