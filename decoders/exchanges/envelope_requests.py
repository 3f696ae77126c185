"""An Envelope in, the exchange inside it out: a client's request, as its broker forwarded it (KIP-590).

Request and response are in the Envelope with their headers, but without size fields: their sizes are those of their
bytes. Times and packets are those of the Envelope. Sums of bytes or latencies leave out exchanges that have an
`envelope`, because their Envelope counts already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES
from decoders.embedded import decode_embedded
from decoders.errors import DecodeError
from decoders.exchanges.exchange import Exchange, Login
from decoders.exchanges.exchange_attribute_table import SLOTS
from decoders.exchanges.sasl_logins import make_login
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.frames.read_and_judge_headers import read_request_head
from decoders.limits import USER_MAX
from decoders.protocol_facts.api_keys import ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.schema.api_declaration import Side

if TYPE_CHECKING:
    from decoders.exchanges.body_reader import ApiReaders

# APIs that no broker forwards: their responses change what is known of the connection.
_NEVER: Final = frozenset({ENVELOPE, SASL_HANDSHAKE, SASL_AUTHENTICATE})

# The attributes that it has of its Envelope: times, packets, and how many topic names are known.
_OF_ENVELOPE: Final = ("_topics_known", *(name for name in SLOTS if name.endswith(("_ns", "_packet", "_packet_end"))))


def make_exchange_inside_envelope(outer: Exchange, api_readers: ApiReaders) -> Exchange | None:
    """The exchange inside a settled Envelope; None where its request cannot be read."""
    frame = _find_forwarded_frame(outer, "request")
    if frame is None:
        return None
    try:
        head = read_request_head(frame, 0, len(frame))
    except DecodeError:
        return None
    if head.api_key not in NAMES or head.api_key in _NEVER:  # redacted or unreadable
        return None
    inner = Exchange()
    inner.connection_info = outer.connection_info
    inner._api_reader = api_readers.get_reader(head.api_key, head.api_version)
    inner.api_key, inner.api_version = head.api_key, head.api_version
    inner.correlation_id = head.correlation_id
    inner.client_id = None if head.client_id is None else head.client_id.decode("utf-8", "surrogateescape")
    inner.client_software = None
    inner.login = _read_forwarded_principal(outer)
    inner._looked = False
    for name in _OF_ENVELOPE:
        setattr(inner, name, getattr(outer, name))
    # Its offset in the Envelope, so that no other request begins there.
    inner.place = outer.place + max((outer.request_raw or b"").find(frame[4:]), 1)
    inner.response_place = getattr(outer, "response_place", 0)
    inner.request_raw, inner.request_size = frame, len(frame) - 4
    inner.extra = {"envelope": {"correlation_id": outer.correlation_id}}
    inner.outcome = "complete"
    inner.response_raw = answer = _find_forwarded_frame(outer, "response") if outer.status == "complete" else None
    inner.response_size = None if answer is None else len(answer) - 4
    if answer is None:
        inner.outcome = "unanswered"
        inner.response_ns = inner.response_end_ns = inner.response_packet = inner.response_packet_end = None
        reason = outer.reason or ("" if outer.closed else "envelope")
        inner.extra |= {"reason": reason} if reason else {}
        inner.extra |= {"closed": outer.closed} if outer.closed else {}
    return inner


def _read_forwarded_principal(outer: Exchange) -> Login | None:
    """The principal that the broker took the client for; an Envelope does not name the mechanism."""
    data = outer.values("request").get("request_principal")
    try:
        said = decode_embedded("DefaultPrincipalData", data) if isinstance(data, bytes) else {}
    except DecodeError:
        return None
    name = said.get("name")
    return make_login(name[:USER_MAX], None) if isinstance(name, str) and name else None


def _find_forwarded_frame(outer: Exchange, side: Side) -> bytes | None:
    """The message that a side of an Envelope carries, as a frame of its own; None where it carries none."""
    body: Any = outer.values(side)
    data = body.get(f"{side}_data") if isinstance(body, dict) else None
    return with_size_field(data) if isinstance(data, bytes) else None
