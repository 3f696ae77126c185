"""Which header a message has, by API key and version, and the plans of the headers."""

from __future__ import annotations

from typing import Final

from decoders.apis import NAMES, api
from decoders.schema.api_declaration import NONE, Message, Plan, Side, Versions, parse_message, resolve

REQUEST_HEADER: Final = """
message RequestHeader
versions 0-2
flexible 2+
fields
    request_api_key      int16   0+
    request_api_version  int16   0+
    correlation_id       int32   0+
    client_id            string  1+  null 1+  inflexible
"""

RESPONSE_HEADER: Final = """
message ResponseHeader
versions 0-1
flexible 1+
fields
    correlation_id  int32  0+
"""

# (API key, side, its versions, the header they have): all that do not follow from what is flexible.
EXCEPTIONS: Final[tuple[tuple[int, Side, Versions, int], ...]] = (
    (7, "request", Versions(0, 0), 0),  # ControlledShutdown: from before there were client ids
    (18, "response", Versions.parse("0+"), 0),  # ApiVersions: the client does not know yet what the broker speaks
)

_HEADERS: Final[dict[Side, Message]] = {
    "request": parse_message(REQUEST_HEADER),
    "response": parse_message(RESPONSE_HEADER),
}
# Header version of a message that is not flexible; one that is has the next.
_PLAIN: Final[dict[Side, int]] = {"request": 1, "response": 0}
_flexible_from: dict[int, Versions] = {}


def request_header_version(api_key: int, version: int) -> int:
    """0, 1 or 2. An API that nobody knows is taken for one that is not flexible."""
    return _header_version_of_side(api_key, "request", version)


def response_header_version(api_key: int, version: int) -> int:
    """0 or 1. An API that nobody knows is taken for one that is not flexible."""
    return _header_version_of_side(api_key, "response", version)


def _header_version_of_side(key: int, side: Side, version: int) -> int:
    for exception, its_side, versions, header in EXCEPTIONS:
        if exception == key and its_side == side and version in versions:
            return header
    flexible = _flexible_from.get(key)
    if flexible is None:
        flexible = _flexible_from[key] = api(key).flexible if key in NAMES else NONE
    return _PLAIN[side] + (version in flexible)


def request_header_plan(header_version: int) -> Plan:
    """The plan of request header 0, 1 or 2."""
    return resolve(_HEADERS["request"], header_version)


def response_header_plan(header_version: int) -> Plan:
    """The plan of response header 0 or 1."""
    return resolve(_HEADERS["response"], header_version)
