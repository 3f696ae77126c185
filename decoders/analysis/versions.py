"""Exchanges in, which versions of which APIs each client uses out: what an upgrade of the brokers would break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.analysis.dimensions import host_of
from decoders.analysis.fold import Row
from decoders.analysis.slices import added
from decoders.analysis.tally import Tally
from decoders.apis import NAMES, api
from decoders.exchanges.times import rfc3339

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

USE: Final = ("address", "client_id", "software", "software_version", "api_key", "api_version")


class ClientVersions(Tally):
    """How often each client (address without port, client id, software) used each version of an API, and when."""

    def __init__(self) -> None:
        super().__init__(USE, {"count": added, "first": min, "last": max}, "versions of APIs used by clients")

    def needs(self, key: int, side: Side) -> frozenset[str]:  # noqa: ARG002  # as all folds have it
        """Nothing of any body."""
        return frozenset()

    def add(self, exchange: Exchange) -> None:
        """Count an exchange; what is no request of an API counts nowhere."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return
        software = exchange.client_software
        name, its = (software["name"], software["version"]) if software else (None, None)
        use = (host_of(exchange.ends.client), exchange.client_id, name, its, key, version)
        self.take(use, (1, exchange.time_ns, exchange.time_ns))

    def rows(self) -> list[Row]:
        """A row for each client, API and version, in that order."""
        return [_row(row) for row in super().rows()]


def _row(row: Row) -> Row:
    number = row["api_key"]
    return {
        **{name: row[name] for name in USE[:5]},
        "api": api(number).name if number in NAMES else f"UNKNOWN({number})",
        **{name: row[name] for name in ("api_version", "count")},
        **{name: rfc3339(row[name]) for name in ("first", "last")},
    }
