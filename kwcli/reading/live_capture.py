"""A network interface in, a pcapng stream out, packet by packet: live capture on scapy's capture socket.

The stream is what a capture file would hold, so that live traffic takes the same way as any other input, and `-w` keeps
exactly what was decoded.

The kernel filters: by the ports and words that the user gave, in programs that kw makes itself (`kernel_filter`), or
libpcap where its language goes beyond. A socket hears nothing before its filter is set and it is bound, so that every
packet it counts is one that was asked for.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.named_tuple import NamedTuple
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.packet_sources import PacketSource, SegmentBatch
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from kwcli.reading.kernel_filter.bpf_program import Instruction
    from kwcli.reading.kernel_filter.parse_tcpdump_filter import NotUnderstood
    from kwcli.run_environment import Environment

TICK_S: Final = 0.05
BATCH_PACKETS: Final = 256
# The kernel's queue: it must hold a burst on a fast link until Python reads again.
RECEIVE_BUFFER: Final = 32 << 20
# Larger than any packet: offload hands over up to 64 KiB of payload and more.
PACKET_MAX: Final = 256 << 10
SOL_PACKET: Final = 263
PACKET_STATISTICS: Final = 6
PACKET_ADD_MEMBERSHIP: Final = 1
PACKET_MR_PROMISC: Final = 1
PACKET_AUXDATA: Final = 8
PACKET_IGNORE_OUTGOING: Final = 23
SO_ATTACH_FILTER: Final = 26
SO_RCVBUFFORCE: Final = 33
SO_TIMESTAMPNS: Final = 35
ETH_P_ALL: Final = 3
# linux/bpf_common.h: BPF_MAXINSNS.
INSTRUCTIONS_MAX: Final = 4096
# Hardware type of the interface (ARPHRD_*) → link type of the capture; others cannot be told apart by packets.
ETHERNET: Final = 1
RAW_IP: Final = 101
LOOPBACK: Final = 772
LINK_TYPES: Final[dict[int, int]] = {
    1: ETHERNET,
    LOOPBACK: ETHERNET,
    512: RAW_IP,  # PPP
    768: RAW_IP,  # tunnels
    776: RAW_IP,
    778: RAW_IP,
    65534: RAW_IP,
}
# The Ethernet header for a bare IP packet, by the packet's first half byte.
ETHERTYPES: Final = {4: bytes(12) + b"\x08\x00", 6: bytes(12) + b"\x86\xdd"}


class KernelFilter(NamedTuple):
    """What the kernel is to let through: broker ports (none: any), and an expression in tcpdump's language."""

    ports: Sequence[int] = ()
    bpf: str | None = None


class PieceWriter(Protocol):
    """Keeps the pieces of a live capture; `failed`: it could not."""

    failed: bool

    def write(self, data: bytes) -> None:
        """Keep a piece, of whole blocks; b"" as time passes."""

    def add_block_for_all_files(self, data: bytes) -> None:
        """Keep a block that the packets after it need, in each further file too."""

    def close(self) -> None:
        """Close the file."""


class LiveCapture(PacketSource):
    """An open capture on one interface; `kept`, if there is one, gets the pcapng bytes as they come."""

    has_files = False

    def __init__(self, interface: str, kernel_filter: KernelFilter, env: Environment) -> None:
        super().__init__()
        self.names = [interface]
        self.greeting = f"listening on {interface}; Ctrl-C ends"
        self.interface = interface
        self.kept: PieceWriter | None = None
        self._env = env
        self._reader = CaptureReader()
        self._sockets, link_types = _open_sockets(interface, kernel_filter)
        # The whole stream has one link type: where interfaces differ, bare IP packets get an Ethernet header.
        common = set(link_types)
        self._bare = [link_type == RAW_IP and len(common) > 1 for link_type in link_types]
        self._writer = PcapngWriter(common.pop() if len(common) == 1 else ETHERNET, interface=interface)
        self._dropped = 0
        self.received = 0

    def read_batches(self) -> Iterator[SegmentBatch]:
        for piece in self.stream_pcapng():
            self.taken += len(piece)
            if self.kept is not None:
                self.kept.write(piece)
            yield SegmentBatch(self._reader.feed(piece), self._env.now_ns())

    def packet_counts(self) -> Counter[str]:
        return Counter(self._reader.counts)

    def stream_pcapng(self) -> Iterator[bytes]:
        """Blocks of pcapng as packets come, b"" on every tick without packets; ends only when the consumer stops."""
        yield self._writer.make_file_header()
        readers = {sock.ins: (sock, bare) for sock, bare in zip(self._sockets, self._bare, strict=True)}
        while True:
            ready, _, _ = select.select(list(readers), [], [], TICK_S)
            blocks: list[bytes] = []
            for one in ready:
                sock, bare = readers[one]
                for _ in range(BATCH_PACKETS):
                    blocks.append(self._receive_packet(sock, bare=bare))
                    if not select.select([one], [], [], 0)[0]:
                        break
            yield b"".join(blocks)

    def _receive_packet(self, sock: Any, *, bare: bool) -> bytes:
        try:
            _, data, stamp = sock.recv_raw(PACKET_MAX)
        except OSError as error:
            raise InputProblem(f"{self.interface}: {(error.strerror or str(error)).lower()}") from None
        if not data:  # the outgoing half of a packet that the loopback shows twice
            return b""
        if bare:
            data = ETHERTYPES.get(data[0] >> 4, ETHERTYPES[4]) + data
        time_ns = self._env.now_ns() if stamp is None else int(stamp * 1_000_000) * 1000
        return self._writer.make_packet_block(time_ns, data)

    def read_drop_statistics(self) -> tuple[int | None, bytes]:
        """Packets that the kernel dropped (None where it does not say), and the block for the file that says so."""
        for sock in self._sockets:
            try:
                counts = sock.ins.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
            except OSError:
                return None, b""
            received, dropped = struct.unpack("<II", counts)
            self.received += received
            self._dropped += dropped
        block = self._writer.make_statistics_block(self._env.now_ns(), received=self.received, dropped=self._dropped)
        return self._dropped, block

    def close(self) -> None:
        """End the capture; the last block that is kept has the counts of the kernel."""
        self.dropped, block = self.read_drop_statistics()
        for sock in self._sockets:
            sock.close()
        if self.kept is not None:
            self.kept.write(block)
            self.kept.close()
            self.packets_unwritten = self.kept.failed


def _open_sockets(interface: str, kernel_filter: KernelFilter) -> tuple[list[Any], list[int]]:
    """scapy's sockets on the interface (`any`: on all that are up), and their link types."""
    import logging

    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    import scapy.arch

    known = {str(name) for name in scapy.arch.get_if_list()}
    names = sorted(known) if interface == "any" else [interface]
    if interface != "any" and interface not in known:
        raise Failure(f"{interface}: no such interface (there are: {', '.join(sorted(known))})")
    sockets: list[Any] = []
    link_types: list[int] = []
    for name in names:
        hardware = _read_hardware_type(name)
        link_type = LINK_TYPES.get(hardware, ETHERNET)
        try:
            # On the loopback every packet comes twice, out and in.
            sock = _open_bound_socket(
                name, _compile_program(kernel_filter, link_type, name), drops_outgoing=hardware == LOOPBACK
            )
        except PermissionError:
            raise Failure(
                f"{interface}: no permission to capture; run as root, or: "
                "sudo setcap cap_net_raw+eip $(readlink -f $(command -v python3)); "
                "or: sudo tcpdump -U -w - | kw sniff -"
            ) from None
        except OSError as error:
            if interface == "any":
                continue  # an interface that is down
            raise Failure(f"{name}: {error.strerror or error}") from None
        sockets.append(sock)
        link_types.append(link_type)
    if not sockets:
        raise Failure(f"{interface}: no interface to capture on")
    return sockets, link_types


def _open_bound_socket(name: str, program: bytes, *, drops_outgoing: bool) -> Any:
    """scapy's socket for reading packets, made in another order than scapy's: its filter is set before it hears."""
    from scapy.config import conf

    kind: Any = conf.L2listen
    sock = kind.__new__(kind)
    sock.ins = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # of no protocol: it hears nothing
    try:
        if program:
            _attach_filter_program(sock.ins, program)
        _widen_buffer(sock.ins)
        sock.ins.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)  # VLAN tags that the kernel takes out
        sock.ins.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        index = struct.pack("=IHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
        sock.ins.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, index)
        sock.outs = sock.ins if drops_outgoing and not _set_ignore_outgoing(sock.ins) else None
        sock.ins.bind((name, ETH_P_ALL))
        if number := sock.ins.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):  # the interface is down
            raise OSError(number, os.strerror(number))
    except OSError:
        sock.ins.close()
        raise
    sock.auxdata_available = True
    sock.promisc = False  # the membership ends with the socket
    sock.iface, sock.LL, sock.lvl = name, conf.raw_layer, 2
    return sock


def _set_ignore_outgoing(sock: socket.socket) -> bool:
    """Ask the kernel to leave out packets on their way out; whether it does: if it does not, scapy drops them."""
    try:
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    except OSError:  # before Linux 4.20
        return False
    return True


def _attach_filter_program(sock: socket.socket, program: bytes) -> None:
    """Have the kernel run a program (an array of struct sock_filter) for each packet that comes to a socket."""
    import ctypes

    if len(program) // 8 > INSTRUCTIONS_MAX:
        raise Failure(
            f"the filter needs {len(program) // 8:,} instructions, and the kernel takes {INSTRUCTIONS_MAX:,}: "
            "give fewer ports, or a range of them",
            Exit.USAGE,
        )
    held = ctypes.create_string_buffer(program, len(program))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program) // 8, ctypes.addressof(held)))


def _compile_program(kernel_filter: KernelFilter, link_type: int, name: str) -> bytes:
    """The kernel's program for packets of a link type; empty where everything is wanted."""
    from kwcli.reading.kernel_filter.bpf_program import ACCEPT, ALWAYS, all_of, assemble_program, pack_instructions
    from kwcli.reading.kernel_filter.broker_port_filter import condition_for_broker_ports
    from kwcli.reading.kernel_filter.packet_layout import PacketLayout
    from kwcli.reading.kernel_filter.parse_tcpdump_filter import NotUnderstood, parse_tcpdump_expression

    if not kernel_filter.ports and kernel_filter.bpf is None:
        return b""
    layout = PacketLayout(ethernet=link_type == ETHERNET)
    condition = condition_for_broker_ports(kernel_filter.ports, layout) if kernel_filter.ports else ALWAYS
    following = [ACCEPT]
    try:
        if kernel_filter.bpf is not None:
            try:
                condition = all_of(condition, parse_tcpdump_expression(kernel_filter.bpf, layout, _resolve_host))
            except NotUnderstood as problem:
                following = _compile_by_libpcap(kernel_filter.bpf, name, problem)
        return pack_instructions(assemble_program(condition, following))
    except RecursionError:
        raise Failure("--bpf: the expression is too long, or has too many brackets", Exit.USAGE) from None


def _compile_by_libpcap(bpf: str, name: str, problem: NotUnderstood) -> list[Instruction]:
    """libpcap's program for an expression that kw does not read itself."""
    import ctypes

    from scapy.error import Scapy_Exception

    from kwcli.reading.kernel_filter.bpf_program import unpack_instructions
    from kwcli.reading.kernel_filter.parse_tcpdump_filter import KNOWN

    try:
        from scapy.arch.common import compile_filter, free_filter

        compiled = compile_filter(bpf, name)
    except (Scapy_Exception, ImportError, OSError, UnicodeError) as error:
        if isinstance(error, Scapy_Exception) and "libpcap" not in str(error):
            reason = " ".join(str(error).split()).rpartition("(")[2].rstrip(")")
        elif problem.certain:
            reason = problem.text
        else:
            need = "needs libpcap (Debian: apt install libpcap0.8)"
            reason = f"{problem.text!r} {need}; without it there are {KNOWN}"
        raise Failure(f"--bpf {bpf!r}: {reason}", Exit.USAGE) from None
    program = ctypes.string_at(compiled.bf_insns, 8 * compiled.bf_len)
    free_filter(compiled)
    return unpack_instructions(program)


def _resolve_host(name: str) -> list[IPv4Network | IPv6Network]:
    """All addresses of a host's name, as networks of one address. Raises Failure where it has none."""
    from ipaddress import ip_network

    try:
        found = {str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise Failure(f"--bpf: {name}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    except UnicodeError:
        raise Failure(f"--bpf: {name!r} is no name of a host", Exit.USAGE) from None
    return [ip_network(each) for each in sorted(found)]


def _read_hardware_type(name: str) -> int:
    """The interface's ARPHRD_* number; Ethernet's where the system does not say."""
    try:
        with open(f"/sys/class/net/{name}/type", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return LOOPBACK if name.startswith("lo") else ETHERNET


def _widen_buffer(sock: socket.socket) -> None:
    """Ask for a receive buffer beyond the system's usual maximum, where that is permitted."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except OSError:
        return
