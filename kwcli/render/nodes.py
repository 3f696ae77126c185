"""Metadata answers in, the node id behind a broker's address out, as far as the capture proves it."""

from __future__ import annotations

from typing import Final

from kwcli.render.facts import View
from kwcli.render.units import cut_left

LOOPBACK: Final = {"localhost": ("127.0.0.1", "[::1]")}


class Nodes:
    """Addresses as captured → node id. A host name is no proof of an address, but for localhost."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: dict[tuple[str, int], str] = {}

    def learn(self, view: View) -> bool:
        """Take the brokers of a Metadata or DescribeCluster answer; whether they said anything new."""
        news = False
        for broker in view.get("brokers") or ():
            number = broker.get("node_id", broker.get("broker_id"))
            host = broker.get("host")
            if number is None or not host:
                continue
            for name in LOOPBACK.get(host, (f"[{host}]" if ":" in host else host,)):
                address = f"{name}:{broker.get('port')}"
                if self._ids.get(address) != number:
                    self._ids[address] = number
                    news = True
        if news:
            self._shown.clear()
        return news

    def shown(self, address: str, width: int) -> str:
        """The node's id, in a wide column with its address; unknown, the end of the address that tells it apart."""
        text = self._shown.get((address, width))
        if text is None:
            if len(self._shown) > 10_000:
                self._shown.clear()
            number = self._ids.get(address)
            text = cut_left(address, width) if number is None else str(number)
            if number is not None and len(f"{number} {address}") <= width:
                text = f"{number} {address}"
            self._shown[(address, width)] = text
        return text
