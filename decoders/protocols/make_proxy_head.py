"""The addresses of a connection in, the PROXY head that names them out, of version 1 or 2.

Source: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2. What such a head says read_connection_prefix.py reads.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import pack
from typing import Final, Literal

from decoders.protocols.read_connection_prefix import PROXY_SIGNATURE

__all__ = ["ProxyVersion", "make_proxy_head"]

ProxyVersion = Literal["v1", "v2"]
_LOCAL: Final = 0x20
_PROXY: Final = 0x21
_TCP_4: Final = 0x11
_TCP_6: Final = 0x21
_NO_FAMILY: Final = 0


def make_proxy_head(version: ProxyVersion, client: str = "", target: str = "") -> bytes:
    """The head of a connection from `client`, which had dialled `target`; both are host:port.

    Addresses of both families become IPv6 ones, as the head has one family. Without a client, or where one of the two
    is no IP address, the head names nobody: whoever sends it speaks for himself (`UNKNOWN`, LOCAL).
    """
    ends = [_parse_endpoint(text) for text in (client, target)]
    if None in ends:
        return b"PROXY UNKNOWN\r\n" if version == "v1" else PROXY_SIGNATURE + pack(">BBH", _LOCAL, _NO_FAMILY, 0)
    (source, source_port), (host, port) = (each for each in ends if each is not None)
    six = isinstance(source, IPv6Address) or isinstance(host, IPv6Address)
    if six:
        source, host = (_map_to_ipv6(each) for each in (source, host))
    if version == "v1":
        family = "TCP6" if six else "TCP4"
        return f"PROXY {family} {source} {host} {source_port} {port}\r\n".encode()
    addresses = source.packed + host.packed + pack(">HH", source_port, port)
    return PROXY_SIGNATURE + pack(">BBH", _PROXY, _TCP_6 if six else _TCP_4, len(addresses)) + addresses


def _parse_endpoint(text: str) -> tuple[IPv4Address | IPv6Address, int] | None:
    """The address and port; None where the host is no address. An IPv4 address in IPv6 form is itself."""
    host, _, port = text.rpartition(":")
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return inner or address, int(port)


def _map_to_ipv6(address: IPv4Address | IPv6Address) -> IPv6Address:
    return IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed) if isinstance(address, IPv4Address) else address
