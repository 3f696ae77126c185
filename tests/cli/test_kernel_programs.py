"""Expressions, and the programs made of them: each as it was when libpcap's own took the same packets.

`python -m tests.cli.test_kernel_programs` writes kernel_programs.txt again: the number of instructions and a checksum
of those for Ethernet in a file, Ethernet as it comes and bare IP, or what is not understood. The tests that ask libpcap
itself (test_kernel_filter.py) are `long`: run them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final
from zlib import crc32

from kwcli.reading.kernel_filter.bpf_program import assemble_program, pack_instructions, unpack_instructions
from kwcli.reading.kernel_filter.broker_port_filter import condition_for_broker_ports
from kwcli.reading.kernel_filter.packet_layout import PacketLayout
from kwcli.reading.kernel_filter.parse_tcpdump_filter import NotUnderstood, parse_tcpdump_expression
from tests.cli.test_kernel_filter import EXPRESSIONS, NOT_OURS, WRONG

FILE: Final = Path(__file__).with_name("kernel_programs.txt")
MORE: Final = (
    *("vlan 4095", "vlan 4096", "vlan 0", "vlan 100 or vlan", "vlan and vlan", "port 65535", "port 65536", "port 0"),
    *("portrange 7", "port 7-8", "portrange 7-x", "port 000009092", "port 0000000009092", "port 1234567890"),
    *(
        "src or dst host 10.0.0.1",
        "dst and src port 7",
        "src and udp",
        "src dst port 7",
        "icmp port 7",
        "icmp 10.0.0.1",
    ),
    *(
        "arp host 10.0.0.1",
        "ip6 host 10.0.0.1",
        "ip host ::1",
        "host broker1",
        "host broker1/8",
        "host 10.0.0",
        "host ::x",
    ),
    *(
        "net 0.0",
        "net 1.0",
        "net 10/8",
        "net ::1",
        "net ::1/129",
        "net 10.0.0.0/x",
        "net 10.0.0.0 mask 255.255.255.255",
    ),
    *("net 10.0.0.0 mask 0.0.0.0", "host 10.0.0.1 and not 10.0.0.2", "not (10.0.0.1)", "port (7", "port ()", "tcp ()"),
    *("(tcp or udp) and (port 7 or port 8)", "tcp tcp", "tcp port 7 udp", "!(tcp)&&udp||arp", "tcp not", "vlan host"),
)
LAYOUTS: Final = {"file": (True, False), "live": (True, True), "ip": (False, True)}


def resolve(name: str) -> Sequence[IPv4Network | IPv6Network]:
    """The addresses of a host."""
    if name != "broker1":
        raise NotUnderstood(name)
    return [IPv4Network("10.0.0.1"), IPv6Network("::1")]


def describe_program(text: str, ethernet: bool, live: bool) -> str:
    """Length and checksum of a program; or what is not understood, with `!` where libpcap would not take it either."""
    try:
        condition = parse_tcpdump_expression(text, PacketLayout(ethernet=ethernet), resolve, live=live)
    except NotUnderstood as error:
        return f"{'!' * error.certain}{error.text or '-'}"
    packed = pack_instructions(program := assemble_program(condition))
    assert unpack_instructions(packed) == program
    return f"{len(program)} {crc32(packed):08x}"


def make_lines() -> list[str]:
    """All lines of the file."""
    lines = []
    for text in (*EXPRESSIONS, *NOT_OURS, *WRONG, *MORE):
        found = [f"{name}: {describe_program(text, *layout)}" for name, layout in LAYOUTS.items()]
        lines.append(f"{text} → {' · '.join(found)}")
    for ports in ([], [9092], [9092, 9093], [9093, 9094, 9092], [*range(9000, 9300, 2)]):
        for ethernet in (True, False):
            packed = pack_instructions(
                program := assemble_program(condition_for_broker_ports(ports, PacketLayout(ethernet=ethernet)))
            )
            name = "brokers" if ethernet else "brokers in ip"
            lines.append(f"{name} {len(ports)} {max(ports, default=0)} → {len(program)} {crc32(packed):08x}")
    return lines


def test_each_program_is_as_it_was_when_libpcap_agreed() -> None:
    assert make_lines() == FILE.read_text().splitlines()


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in make_lines()))
