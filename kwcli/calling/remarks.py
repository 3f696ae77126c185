"""An answer in, what its error codes mean for records sent or fetched by hand out: a line each, with the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from decoders.schema.model import NONE, Versions

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# (API key, error code) → the versions in which it is said for this reason, and the reason.
_REASONS: Final = {
    (0, 76): (Versions(0, 6), "zstd needs Produce 7 or later (KIP-110)"),
    (1, 76): (Versions(0, 9), "the records are compressed with zstd, and zstd needs Fetch 10 or later (KIP-110)"),
}


def remarks(exchange: Exchange) -> Iterator[str]:
    """What is worth saying besides the names of the error codes, each thing once."""
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return
    for code, name in dict.fromkeys((error.code, error.name) for error in exchange.errors):
        versions, reason = _REASONS.get((key, code), (NONE, ""))
        if version in versions:
            yield f"{name}: {reason}"
