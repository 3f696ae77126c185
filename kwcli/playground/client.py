"""Where a cluster is in, one that is asked with dicts and answers with dicts out, in versions that mocks know too."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, Self

from kwcli.exits import Failure
from kwcli.net.blocking import Connection
from kwcli.net.cluster import Cluster
from kwcli.net.core.addresses import addresses
from kwcli.net.core.config import ClientConfig
from kwcli.net.deadline import Deadline

__all__ = ["Client"]

PATIENCE_S: Final = 10.0
# Highest versions that speak of topics by name, of one group at a time: what mocks and old releases take as well.
_CAPS: Final = {0: 9, 1: 12, 8: 9, 9: 7, 11: 9, 14: 4, 19: 7}


class Client(Cluster):
    """A cluster whose every question has its own time to be answered in."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(ClientConfig(addresses(bootstrap), client_id=client_id), _patience())

    def again(self) -> Self:
        """The same, with time to look something up."""
        self.renew(_patience())
        return self

    def request(self, to: Connection | None, key: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to a node; the body of the answer. Raises Failure, also where there is no such node (None)."""
        if to is None:
            raise Failure("the topic has gone")
        return self.again().ask(to, key, self.version(to, key, most=_CAPS.get(key, 99)), body)


def _patience() -> Deadline:
    return Deadline(PATIENCE_S, time.monotonic)
