"""Exchanges in, which versions of which APIs each client uses out: what an upgrade of the brokers would break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.analysis.fold import Row
from decoders.apis import NAMES, api
from decoders.errors import LimitExceeded
from decoders.exchanges.times import rfc3339
from decoders.limits import GROUPS_MAX
from decoders.wire.state import fields, pack, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

# Address, client id, software, its version; API, its version.
Use = tuple[str, str | None, str | None, str | None, int, int]
_KINDS: Final = (str, str | None, str | None, str | None, int, int)


class ClientVersions:
    """How often each client (address without port, client id, software) used each version of an API, and when."""

    def __init__(self) -> None:
        self._used: dict[Use, list[int]] = {}  # count, first and last time

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
        address = exchange.ends.client.rpartition(":")[0]
        self.count((address, exchange.client_id, name, its, key, version), 1, exchange.time_ns, exchange.time_ns)

    def count(self, key: Use, count: int, first_ns: int, last_ns: int) -> None:
        """Count so many requests, the first and the last of which came then.

        Raises LimitExceeded when there are too many clients and versions.
        """
        used = self._used.get(key)
        if used is None:
            if len(self._used) >= GROUPS_MAX:
                raise LimitExceeded(f"more than {GROUPS_MAX:,} versions of APIs used by clients")
            self._used[key] = [count, first_ns, last_ns]
        else:
            used[0] += count
            used[1] = min(used[1], first_ns)
            used[2] = max(used[2], last_ns)

    def merge(self, other: ClientVersions) -> None:
        """Take in what another has counted."""
        for key, (count, first_ns, last_ns) in other._used.items():
            self.count(key, count, first_ns, last_ns)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack(list(self._used.items()))

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        (items,) = fields([unpack(state)], list)
        for item in items:
            key, used = fields(item, tuple, list)
            address, client_id, name, its, number, version = fields(key, *_KINDS)
            count, first_ns, last_ns = fields(used, int, int, int)
            self.count((address, client_id, name, its, number, version), count, first_ns, last_ns)

    def rows(self) -> list[Row]:
        """A row for each client, API and version, in that order."""
        ordered = sorted(self._used.items(), key=lambda item: [(part is not None, part) for part in item[0]])
        return [_row(key, *used) for key, used in ordered]


def _row(key: Use, count: int, first_ns: int, last_ns: int) -> Row:
    address, client_id, name, its, number, version = key
    return {
        "address": address,
        "client_id": client_id,
        "software": name,
        "software_version": its,
        "api_key": number,
        "api": api(number).name if number in NAMES else f"UNKNOWN({number})",
        "api_version": version,
        "count": count,
        "first": rfc3339(first_ns),
        "last": rfc3339(last_ns),
    }
