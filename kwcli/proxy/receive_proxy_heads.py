"""Sockets of clients in, the PROXY heads that load balancers send first out; nothing behind a head is read.

Anybody could name himself another client. So a head is believed only from the networks of --proxy-protocol; and from
there a connection must begin with one, as the protocol has it: a receiver does not guess whether there is a head.

Source: HAProxy's proxy-protocol.txt, sections 2 and 4.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from decoders.errors import Malformed, Truncated
from decoders.limits import LIVE_PROXY_HEAD_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocols.read_connection_prefix import least_size_of_proxy_head, read_proxy_head
from kwcli.net.config.client_config import Address
from kwcli.run_environment import Failure

__all__ = ["NO_HEAD", "HeadReceiver", "Network", "ReceivedHead"]

Network = IPv4Network | IPv6Network
# How long (s) a head may take. The protocol asks for 3 at the least: a lost packet is sent again.
HEAD_S: Final = 5.0


class ReceivedHead(NamedTuple):
    """A head as it came. `client` and `target` are host:port, empty where the sender speaks for himself."""

    data: bytes = b""
    client: str = ""
    target: str = ""


# Of a client whose network sends none.
NO_HEAD: Final = ReceivedHead()


class HeadReceiver:
    """Receives the heads of connections from these networks."""

    def __init__(self, networks: Sequence[Network], *, timeout_s: float = HEAD_S) -> None:
        self._networks = networks
        self._timeout_s = timeout_s

    def expects_head(self, sender: Address) -> bool:
        """Whether a connection from this address begins with a head."""
        address = ip_address(sender[0].partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)

    async def receive_head(self, link: socket.socket, sender: Address) -> ReceivedHead | None:
        """The head of a connection; None where it ends before the first byte, as a health check does.

        Raises Failure where a head is expected and does not come, and OSError.
        """
        if not self.expects_head(sender):
            return NO_HEAD
        try:
            async with asyncio.timeout(self._timeout_s):
                return await _receive_head(link)
        except TimeoutError:
            raise Failure(f"it sent no whole PROXY head within {self._timeout_s:g} s") from None


async def _receive_head(link: socket.socket) -> ReceivedHead | None:
    loop = asyncio.get_running_loop()
    data = b""
    while True:
        try:
            head = read_proxy_head(data)
        except Truncated:
            size = least_size_of_proxy_head(data)
        except Malformed as problem:
            raise Failure(f"it sent {problem.text}; --proxy-protocol expects one from its network") from None
        else:
            return ReceivedHead(data, head.client, head.target)
        if size > LIVE_PROXY_HEAD_MAX:
            raise Failure(f"its PROXY head has {size:,} bytes, more than {LIVE_PROXY_HEAD_MAX:,}")
        more = await loop.sock_recv(link, size - len(data))
        if not more:
            if not data:
                return None
            raise Failure("it closed the connection inside its PROXY head")
        data += more
