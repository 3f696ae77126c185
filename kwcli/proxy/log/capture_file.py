"""Bytes of both ends of a connection in, pcapng files with TCP packets that carry these bytes out."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, Final

from decoders.capture.pcapng_writer import PcapngWriter
from kwcli.private_files import open_private_file
from kwcli.proxy.log.log_protocol import CLIENT, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwcli.proxy.log.log_protocol import LogPlan

__all__ = ["CLIENTS", "LINK_RAW", "UPSTREAM", "CaptureFiles", "SyntheticTcp"]

# The interfaces of a capture file.
CLIENTS: Final = 0
UPSTREAM: Final = 1
_NAMES: Final = ("clients", "brokers")
_NS: Final = 10**9


class CaptureFiles:
    """The files of `-w`. With rotation, `FILE.pcapng` means `FILE-00001.pcapng` and so on. May raise OSError.

    A process that was started again writes to the next file whose name is free: `FILE-2.pcapng` without rotation.
    """

    def __init__(self, plan: LogPlan) -> None:
        assert plan.write is not None
        self._path = Path(plan.write)
        both = plan.record == "both"
        first, *more = (f"kw-{plan.via}-{name}" for name in _NAMES)
        self._writer = PcapngWriter(LINK_RAW, interface=first, more=more if both else (), program=f"kw {plan.via}")
        self._size_most = plan.rotate_size
        self._time_most = None if plan.rotate_interval is None else round(plan.rotate_interval * _NS)
        self._rotates = self._size_most is not None or self._time_most is not None
        self._again = plan.restarted > 0
        self._file: BinaryIO | None = None
        self._begun_ns = 0
        self._size = 0
        self._packets = 0
        self.count = 0
        if not self._rotates:
            self._begin_file(0)

    def write_packets(self, time_ns: int, packets: Iterable[bytes], interface: int = CLIENTS) -> int:
        """Write packets of one time; the number of the last packet in its file, as Wireshark counts."""
        for packet in packets:
            block = self._writer.make_packet_block(time_ns, packet, None, interface)
            if self._file is None or self._is_full(time_ns, len(block)):
                self._begin_file(time_ns)
            assert self._file is not None
            self._file.write(block)
            self._size += len(block)
            self._packets += 1
        return self._packets

    def flush(self) -> None:
        """Flush the current file."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the last file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_full(self, time_ns: int, size: int) -> bool:
        if not self._packets or not self._rotates:
            return False
        late = self._time_most is not None and time_ns - self._begun_ns >= self._time_most
        return late or (self._size_most is not None and self._size + size > self._size_most)

    def _make_numbered_path(self) -> Path:
        """The name of the file with the number `count`."""
        if self._rotates:
            return self._path.with_name(f"{self._path.stem}-{self.count:05d}{self._path.suffix}")
        return (
            self._path if self.count < 2 else self._path.with_name(f"{self._path.stem}-{self.count}{self._path.suffix}")
        )

    def _begin_file(self, time_ns: int) -> None:
        self.close()
        self.count += 1
        path = self._make_numbered_path()
        while self._again and path.exists():
            self.count += 1
            path = self._make_numbered_path()
        self._file = open(path, "wb", opener=open_private_file)  # noqa: SIM115  # until the next one begins
        head = self._writer.make_file_header()
        self._file.write(head)
        self._begun_ns, self._size, self._packets = time_ns, len(head), 0


# Packets of a connection


LINK_RAW: Final = 101
# The most bytes that one packet carries: IP counts them in 16 bits.
MOST: Final = 65_000

_MASK: Final = 0xFFFF_FFFF
_FIN: Final = 1
_SYN: Final = 2
_RST: Final = 4
_PSH: Final = 8
_ACK: Final = 16
_IP4: Final = Struct(">BBHHHBBH4s4s")
_IP6: Final = Struct(">IHBB16s16s")
_TCP: Final = Struct(">HHIIBBHHH")
_TCP_NUMBER: Final = 6
_HOPS: Final = 64
_WINDOW: Final = 0xFFFF
_DO_NOT_FRAGMENT: Final = 0x4000
_UNKNOWN: Final = IPv4Address(0)


class SyntheticTcp:
    """The IP packets of one TCP connection, as a capture of the wire has them.

    `client` and `server` are host:port, a host that is no IP address becomes 0.0.0.0. Link type RAW: a packet begins
    with its IP header. Checksums of TCP are left out, as where the hardware writes them.
    """

    def __init__(self, client: str, server: str, time_ns: int) -> None:
        (client_host, client_port), (server_host, server_port) = _parse_endpoint(client), _parse_endpoint(server)
        self._six = isinstance(client_host, IPv6Address) or isinstance(server_host, IPv6Address)
        hosts = [_pack_address(host, six=self._six) for host in (client_host, server_host)]
        self._ends = ((*hosts, client_port, server_port), (*reversed(hosts), server_port, client_port))
        self._sum = 0 if self._six else _sum_ipv4_header(hosts[0], hosts[1])
        # From the time, so that the SYN of a later connection with the same ports is no copy of this one.
        first = time_ns >> 6 & _MASK
        self._next = [first, ~first & _MASK]

    def opening_packets(self) -> list[bytes]:
        """The packets of the handshake."""
        packets = [self._build_packet(CLIENT, _SYN, acks=False)]
        self._next[CLIENT] += 1
        packets.append(self._build_packet(SERVER, _SYN | _ACK))
        self._next[SERVER] += 1
        packets.append(self._build_packet(CLIENT, _ACK))
        return packets

    def data_packets(self, side: int, data: bytes) -> list[tuple[bytes, int]]:
        """The packets that carry these bytes, each with the number of bytes it carries."""
        out = []
        for at in range(0, len(data), MOST):
            piece = data[at : at + MOST] if len(data) > MOST else data
            out.append((self._build_packet(side, _PSH | _ACK, piece), len(piece)))
            self._next[side] = self._next[side] + len(piece) & _MASK
        return out

    def gap_packets(self, side: int, size: int) -> list[bytes]:
        """The packet for `size` missing bytes: the other end acknowledges them."""
        self._next[side] = self._next[side] + size & _MASK
        return [self._build_packet(1 - side, _ACK)]

    def closing_packets(self, *, reset: bool) -> list[bytes]:
        """The packets of the end: FIN of both sides, or RST."""
        if reset:
            return [self._build_packet(CLIENT, _RST | _ACK)]
        packets = []
        for side in (CLIENT, SERVER):
            packets.append(self._build_packet(side, _FIN | _ACK))
            self._next[side] += 1
        packets.append(self._build_packet(CLIENT, _ACK))
        return packets

    def _build_packet(self, side: int, flags: int, data: bytes = b"", *, acks: bool = True) -> bytes:
        source, target, source_port, target_port = self._ends[side]
        ack = self._next[1 - side] & _MASK if acks else 0
        head = _TCP.pack(source_port, target_port, self._next[side] & _MASK, ack, 5 << 4, flags, _WINDOW, 0, 0)
        size = _TCP.size + len(data)
        if self._six:
            return _IP6.pack(6 << 28, size, _TCP_NUMBER, _HOPS, source, target) + head + data
        size += _IP4.size
        check = -(self._sum + size) % 0xFFFF
        first = _IP4.pack(0x45, 0, size, 0, _DO_NOT_FRAGMENT, _HOPS, _TCP_NUMBER, check, source, target)
        return first + head + data


def _parse_endpoint(text: str) -> tuple[IPv4Address | IPv6Address, int]:
    host, _, port = text.rpartition(":")
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        address = _UNKNOWN
    return address, int(port) & 0xFFFF if port.isdecimal() else 0


def _pack_address(host: IPv4Address | IPv6Address, *, six: bool) -> bytes:
    if six and isinstance(host, IPv4Address):
        return bytes(10) + b"\xff\xff" + host.packed
    return host.packed


def _sum_ipv4_header(first: bytes, second: bytes) -> int:
    """The sum of an IPv4 header between two addresses, without the packet's size, for its checksum (RFC 791)."""
    header = _IP4.pack(0x45, 0, 0, 0, _DO_NOT_FRAGMENT, _HOPS, _TCP_NUMBER, 0, first, second)
    return sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
