"""A network interface in, a pcapng stream out, packet by packet: live capture on scapy's capture socket.

The stream is what a capture file would hold, so that live traffic takes the same way as any other input, and `-w` keeps
exactly what was decoded.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.capture.pcapng_writer import PcapngWriter
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

TICK_S: Final = 0.05
BATCH_PACKETS: Final = 256
# The kernel's queue: it must hold a burst on a fast link until Python reads again.
RECEIVE_BUFFER: Final = 32 << 20
# Larger than any packet: offload hands over up to 64 KiB of payload and more.
PACKET_MAX: Final = 256 << 10
SOL_PACKET: Final = 263
PACKET_STATISTICS: Final = 6
SO_RCVBUFFORCE: Final = 33
# Hardware type of the interface (ARPHRD_*) → link type of the capture; others cannot be told apart by packets.
ETHERNET: Final = 1
RAW_IP: Final = 101
LINK_TYPES: Final[dict[int, int]] = {
    1: ETHERNET,
    772: ETHERNET,  # loopback
    512: RAW_IP,  # PPP
    768: RAW_IP,  # tunnels
    776: RAW_IP,
    778: RAW_IP,
    65534: RAW_IP,
}
# The Ethernet header for a bare IP packet, by the packet's first half byte.
ETHERTYPES: Final = {4: bytes(12) + b"\x08\x00", 6: bytes(12) + b"\x86\xdd"}


class Live:
    """An open capture on one interface. `stream` gives the pcapng bytes, b"" on every tick without packets."""

    def __init__(self, interface: str, bpf: str | None, env: Environment) -> None:
        self.interface = interface
        self._env = env
        self._sockets, link_types = _open(interface, bpf)
        # The whole stream has one link type: where interfaces differ, bare IP packets get an Ethernet header.
        common = set(link_types)
        self._bare = [link_type == RAW_IP and len(common) > 1 for link_type in link_types]
        self._writer = PcapngWriter(common.pop() if len(common) == 1 else ETHERNET, interface=interface)
        self._dropped = 0
        self._received = 0

    def stream(self) -> Iterator[bytes]:
        """Blocks of pcapng as packets come; ends only when the consumer stops."""
        yield self._writer.header()
        readers = {sock.ins: (sock, bare) for sock, bare in zip(self._sockets, self._bare, strict=True)}
        while True:
            ready, _, _ = select.select(list(readers), [], [], TICK_S)
            blocks: list[bytes] = []
            for one in ready:
                sock, bare = readers[one]
                for _ in range(BATCH_PACKETS):
                    blocks.append(self._packet(sock, bare=bare))
                    if not select.select([one], [], [], 0)[0]:
                        break
            yield b"".join(blocks)

    def _packet(self, sock: Any, *, bare: bool) -> bytes:
        try:
            _, data, stamp = sock.recv_raw(PACKET_MAX)
        except OSError as error:
            raise Failure(f"{self.interface}: {(error.strerror or str(error)).lower()}") from None
        if not data:  # the outgoing half of a packet that the loopback shows twice
            return b""
        if bare:
            data = ETHERTYPES.get(data[0] >> 4, ETHERTYPES[4]) + data
        time_ns = self._env.now_ns() if stamp is None else int(stamp * 1_000_000) * 1000
        return self._writer.packet(time_ns, data)

    def statistics(self) -> tuple[int | None, bytes]:
        """Packets that the kernel dropped (None where it does not say), and the block for the file that says so."""
        for sock in self._sockets:
            try:
                counts = sock.ins.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
            except OSError:
                return None, b""
            received, dropped = struct.unpack("<II", counts)
            self._received += received
            self._dropped += dropped
        block = self._writer.statistics(self._env.now_ns(), received=self._received, dropped=self._dropped)
        return self._dropped, block

    def close(self) -> None:
        """End the capture."""
        for sock in self._sockets:
            sock.close()


def _open(interface: str, bpf: str | None) -> tuple[list[Any], list[int]]:
    """scapy's sockets on the interface (`any`: on all that are up), and their link types."""
    import logging

    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    import scapy.arch
    from scapy.config import conf
    from scapy.error import Scapy_Exception

    conf.bufsize = RECEIVE_BUFFER
    known = {str(name) for name in scapy.arch.get_if_list()}
    names = sorted(known) if interface == "any" else [interface]
    if interface != "any" and interface not in known:
        raise Failure(f"{interface}: no such interface (there are: {', '.join(sorted(known))})")
    sockets: list[Any] = []
    link_types: list[int] = []
    for name in names:
        try:
            # On the loopback every packet comes twice, out and in; L2socket drops the outgoing one.
            kind = conf.L2socket if _is_loopback(name) else conf.L2listen
            sock = kind(iface=name, filter=bpf)
        except PermissionError:
            raise Failure(
                f"{interface}: no permission to capture; run as root, or: "
                "sudo setcap cap_net_raw+eip $(readlink -f $(command -v python3)); "
                "or: sudo tcpdump -U -w - | kw sniff -"
            ) from None
        except (Scapy_Exception, ImportError) as error:
            raise _filter_failure(bpf, error) from None
        except OSError as error:
            if interface == "any":
                continue  # an interface that is down
            raise Failure(f"{name}: {error.strerror or error}") from None
        _widen(sock.ins)
        sockets.append(sock)
        link_types.append(LINK_TYPES.get(sock.ins.getsockname()[3], 1))
    if not sockets:
        raise Failure(f"{interface}: no interface to capture on")
    return sockets, link_types


def _filter_failure(bpf: str | None, error: Exception) -> Failure:
    if isinstance(error, ImportError) or "libpcap" in str(error):
        return Failure("--bpf needs libpcap (Debian: apt install libpcap0.8); --port works without it", Exit.FAILURE)
    reason = " ".join(str(error).split()).rpartition("(")[2].rstrip(")")
    return Failure(f"--bpf {bpf!r}: {reason}", Exit.USAGE)


def _is_loopback(name: str) -> bool:
    try:
        with open(f"/sys/class/net/{name}/type", encoding="ascii") as file:
            return file.read().strip() == "772"
    except OSError:
        return name.startswith("lo")


def _widen(sock: socket.socket) -> None:
    """Ask for a receive buffer beyond the system's usual maximum, where that is permitted."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except OSError:
        return
