"""A Fetch exchange in, the fetch session it belongs to out (KIP-227)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from decoders.apis.keys import FETCH
from decoders.schema.model import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# What the fields below need to be in a view (needs.py).
PATHS: Final[dict[tuple[int, Side], tuple[str, ...]]] = {
    (FETCH, "request"): ("session_id", "session_epoch"),
    (FETCH, "response"): ("session_id",),
}


class FetchSession(TypedDict):
    """The `fetch_session` key of the exchange record: `epoch` is the request's, 0 opens a session, -1 ends it."""

    id: int
    epoch: int
    incremental: bool


def fetch_session(exchange: Exchange) -> FetchSession | None:
    """The session that a Fetch opens, continues or ends; None for one without."""
    return session_of(exchange.view("request"), exchange.view("response"))


def session_of(request: object, response: object) -> FetchSession | None:
    """The same from the two bodies, whole or projected."""
    if not isinstance(request, dict):
        return None
    identity, epoch = request.get("session_id"), request.get("session_epoch")
    if identity is None or epoch is None:
        return None
    if not identity and not epoch and isinstance(response, dict):
        identity = response.get("session_id") or 0  # the one that the broker has just made
    if not identity:
        return None
    return {"id": int(identity), "epoch": int(epoch), "incremental": epoch > 0}
