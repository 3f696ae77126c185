"""Who a client says it is: an ApiVersions 3+ request in, its software name and version out (KIP-511)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

SINCE: Final = 3


class ClientSoftware(TypedDict):
    """The `client_software` key of the exchange record."""

    name: str
    version: str


def client_software(exchange: Exchange) -> ClientSoftware | None:
    """What the request of an ApiVersions exchange says; None where it says nothing or cannot be read."""
    body = exchange.request
    name = body.get("client_software_name") if isinstance(body, dict) else None
    version = body.get("client_software_version") if isinstance(body, dict) else None
    if not name and not version:
        return None
    return _known_software(str(name or ""), str(version or ""))


@lru_cache(1024)  # the same few on thousands of connections
def _known_software(name: str, version: str) -> ClientSoftware:
    return {"name": name, "version": version}


@lru_cache(1024)
def known_client(raw: bytes) -> tuple[bytes, str]:
    """A client id as on the wire and as text: the same two objects for all connections that have it."""
    return raw, raw.decode("utf-8", "surrogateescape")
