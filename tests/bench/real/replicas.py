"""A kind and a size in, a capture made of the captures that ship: written again and again, each time later.

`python -m tests.bench.real.replicas KIND FILE [MB]`. What clients and brokers did stays as it was recorded, with its
losses, retransmissions and cut connections; clients get other ports in each round, so that connections are new ones.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import CopyReader
from kwcli.reading.decompress_inputs import inflate_input

__all__ = ["REPLICAS", "write"]

_CAPTURES: Final = Path(__file__).resolve().parents[3] / "captures"
REPLICAS: Final[Mapping[str, Sequence[str]]] = {
    "every API": ("tour.*", "first-steps.*cap*", "share-groups.*", "telemetry.*", "old-clients.*", "transactions/*"),
    "failing nodes": ("three-nodes.*", "faults/leaders-move.*", "incidents/*-killed*", "incidents/*-moves*"),
    "values": ("traces/*", "values/*", "differences/steady*"),
}
# Ports that systems assign to clients.
_FIRST_PORT: Final = 32768
_PORTS: Final = 28000
_STEP: Final = 977
_PAUSE_NS: Final = 1_000_000_000
_TWO_PORTS: Final = struct.Struct(">HH")


class _Packet(NamedTuple):
    """A packet to write, its ports at the byte `tcp_at` (-1: it has none)."""

    link_type: int
    since_ns: int
    frame: bytes
    wire: int
    tcp_at: int


def write(kind: str, path: Path, size: int) -> None:
    """Write a capture of at least `size` bytes."""
    files = sorted({file for pattern in REPLICAS[kind] for file in _CAPTURES.glob(pattern) if ".pcap" in file.name})
    sources = [_packets(file) for file in files]
    links = sorted({packet.link_type for packets in sources for packet in packets})
    writer = PcapngWriter(links[0])
    now_ns, turn, written = 1_790_000_000_000_000_000, 0, 0
    with path.open("wb") as out:
        out.write(writer.make_section_block() + b"".join(writer.make_interface_block(link, "") for link in links))
        while written < size:
            for packets in sources:
                for packet in packets:
                    block = writer.make_packet_block(
                        now_ns + packet.since_ns, _moved(packet, turn), packet.wire, links.index(packet.link_type)
                    )
                    written += out.write(block)
                now_ns += packets[-1].since_ns + _PAUSE_NS
            turn += 1


def _packets(file: Path) -> list[_Packet]:
    pieces = iter([file.read_bytes()])
    data = b"".join(inflate_input(file.name, pieces) if file.suffix in (".gz", ".zst") else pieces)
    copies: list[Any] = CopyReader().feed(data)
    since = min(copy.time_ns for copy in copies)
    found = [
        _Packet(
            copy.source[0], copy.time_ns - since, copy.frame, copy.wire, copy.frame.find(copy.tcp) if copy.tcp else -1
        )
        for copy in copies
    ]
    return sorted(found, key=lambda packet: packet.since_ns)


def _moved(packet: _Packet, turn: int) -> bytes:
    """The frame with the ports that its client has in this round."""
    if packet.tcp_at < 0:
        return packet.frame
    ports = _TWO_PORTS.unpack_from(packet.frame, packet.tcp_at)
    moved = [
        _FIRST_PORT + (port - _FIRST_PORT + turn * _STEP) % _PORTS if port >= _FIRST_PORT else port for port in ports
    ]
    out = bytearray(packet.frame)
    _TWO_PORTS.pack_into(out, packet.tcp_at, *moved)
    return bytes(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(REPLICAS))
    parser.add_argument("file", type=Path)
    parser.add_argument("size", type=int, nargs="?", default=20, metavar="MB")
    asked = parser.parse_args()
    write(asked.kind, asked.file, int(asked.size * 1e6))


if __name__ == "__main__":
    main()
