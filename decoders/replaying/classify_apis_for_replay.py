"""An API key in, its class out: whether a recorded request may be sent again to another cluster.

- `read`: changes nothing; sent again by default.
- `data`: changes by producers and consumers: records, groups, offsets, transactions, share sessions, pushed metrics.
- `admin`: changes by tools: topics, configurations, ACLs, quotas, credentials, groups and offsets of other clients.
- `never`: logins and delegation tokens, which are secrets of one cluster; requests between brokers and controllers;
  requests that name parts of one cluster that another does not have (voters of a quorum by their directories).

The class follows from who sends a request and whether it changes something (`protocol_facts/request_routing.py`),
unless the API's declaration says `replay never`. What no declaration describes is never sent.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, get_args

from decoders.apis import section
from decoders.protocol_facts.request_routing import route_of_api

__all__ = ["CLASSES", "ApiClass", "classify_api"]

ApiClass = Literal["read", "data", "admin", "never"]
CLASSES: Final[tuple[ApiClass, ...]] = get_args(ApiClass)


@cache
def classify_api(api_key: int) -> ApiClass:
    """The class of an API; `never` for one that nobody declares."""
    said = section(api_key, "replay")
    if said is not None and said.text != "never":
        raise said.error("only `replay never` can be said, all else follows")
    sent_by = route_of_api(api_key).sent_by
    if said is not None or not {"client", "tool"} & {*sent_by}:
        return "never"
    if not route_of_api(api_key).mutates:
        return "read"
    return "data" if "client" in sent_by else "admin"
