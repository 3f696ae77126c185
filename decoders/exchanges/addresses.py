"""Answers that list brokers in, which node has which address out, as clients are told and as captures have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from decoders.apis.keys import DESCRIBE_CLUSTER, METADATA

__all__ = ["NODE_LISTS", "ListedNode", "broker_addresses", "listed_nodes"]

# The APIs whose answers say which node has which address.
NODE_LISTS: Final = (METADATA, DESCRIBE_CLUSTER)
_LOOPBACK: Final = {"localhost": ("127.0.0.1", "[::1]")}


class ListedNode(NamedTuple):
    """A broker as an answer lists it; `rack` None: none, or the version does not say it."""

    id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        """What it advertises: `kafka1:9092`, `[::1]:9092`."""
        return f"{_bracketed(self.host)}:{self.port}"


def listed_nodes(answer: Mapping[str, Any] | None) -> Iterator[ListedNode]:
    """The brokers of an answer to one of NODE_LISTS, those that have an id and an address."""
    for row in (answer or {}).get("brokers") or ():
        number, host, port = row.get("node_id", row.get("broker_id")), row.get("host"), row.get("port")
        if isinstance(number, int) and number >= 0 and isinstance(host, str) and host and isinstance(port, int):
            yield ListedNode(number, host, port, row.get("rack"))


def broker_addresses(host: str, port: object) -> list[str]:
    """The addresses that a broker's advertised host and port stand for, as captures have them.

    A host name is no proof of an address, but for localhost: it stands for itself.
    """
    return [f"{each}:{port}" for each in _LOOPBACK.get(host, (_bracketed(host),))]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
