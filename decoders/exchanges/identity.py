"""Who a client says it is: an ApiVersions 3+ request in, its software name and version out (KIP-511)."""

from __future__ import annotations

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
    return {"name": str(name or ""), "version": str(version or "")}
