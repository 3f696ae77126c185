"""The host and port that a broker advertises in, the addresses that captures have for them out."""

from __future__ import annotations

from typing import Final

__all__ = ["broker_addresses"]

_LOOPBACK: Final = {"localhost": ("127.0.0.1", "[::1]")}


def broker_addresses(host: str, port: object) -> list[str]:
    """The addresses that a broker's advertised host and port stand for, as captures have them.

    A host name is no proof of an address, but for localhost: it stands for itself.
    """
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return [f"{each}:{port}" for each in _LOOPBACK.get(host, (name,))]
