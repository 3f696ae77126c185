"""Metadata responses in, the node id of a broker's address out, as far as the capture proves it."""

from __future__ import annotations

from decoders.exchanges.addresses import broker_addresses, listed_nodes
from kwcli.output.facts import View
from kwcli.output.units import cut_left


class Nodes:
    """Node ids by address as captured. A host name does not prove an address, except localhost."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: dict[tuple[str, int | None], str] = {}

    def learn(self, view: View) -> bool:
        """Take the brokers of a Metadata or DescribeCluster response; returns whether any of them was new."""
        news = False
        for node in listed_nodes(view):
            for address in broker_addresses(node.host, node.port):
                if self._ids.get(address) != node.id:
                    self._ids[address] = node.id
                    news = True
        if news:
            self._shown.clear()
        return news

    def numbers(self, address: str) -> list[int]:
        """The node's id in a list; empty where it is unknown."""
        return [self._ids[address]] if address in self._ids else []

    def shown(self, address: str, width: int | None) -> str:
        """The node's id, with its address where both fit (`width` None: they do). For an unknown node, as much of the
        address as fits: its end, which tells it apart.
        """
        text = self._shown.get((address, width))
        if text is None:
            if len(self._shown) > 10_000:
                self._shown.clear()
            number = self._ids.get(address)
            if number is None:
                text = address if width is None else cut_left(address, width)
            else:
                text = f"{number} {address}"
                if width is not None and len(text) > width:
                    text = str(number)
            self._shown[(address, width)] = text
        return text
