"""Responses that list brokers in, the address of each node out, as the broker advertises it and as captures show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from decoders.apis.keys import DESCRIBE_CLUSTER, METADATA

__all__ = ["NODE_LISTS", "ListedNode", "NodeIds", "broker_addresses", "listed_nodes"]

# The APIs whose responses say which node has which address.
NODE_LISTS: Final = (METADATA, DESCRIBE_CLUSTER)
_LOOPBACK: Final = {"localhost": ("127.0.0.1", "[::1]")}


class ListedNode(NamedTuple):
    """A broker as a response lists it; `rack` is None where the broker has none or the API version lacks the field."""

    id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        """The address that the broker advertises: `kafka1:9092`, `[::1]:9092`."""
        return f"{_bracketed(self.host)}:{self.port}"


def listed_nodes(answer: Mapping[str, Any] | None) -> Iterator[ListedNode]:
    """The brokers with an id and an address in a response of one of the APIs in NODE_LISTS."""
    for row in (answer or {}).get("brokers") or ():
        number, host, port = row.get("node_id", row.get("broker_id")), row.get("host"), row.get("port")
        if isinstance(number, int) and number >= 0 and isinstance(host, str) and host and isinstance(port, int):
            yield ListedNode(number, host, port, row.get("rack"))


def broker_addresses(host: str, port: object) -> list[str]:
    """The addresses, as captures show them, that a broker's advertised host and port stand for.

    localhost stands for the loopback addresses; any other host name proves no address and stands for itself.
    """
    return [f"{each}:{port}" for each in _LOOPBACK.get(host, (_bracketed(host),))]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class NodeIds(dict[str, int]):
    """Node ids by address, as captures show it. A host name does not prove an address, except localhost."""

    def learn(self, answer: Mapping[str, Any] | None) -> bool:
        """Take the brokers of a response of one of the APIs in NODE_LISTS; returns whether any of them was new."""
        news = False
        for node in listed_nodes(answer):
            for address in broker_addresses(node.host, node.port):
                if self.get(address) != node.id:
                    self[address] = node.id
                    news = True
        return news
