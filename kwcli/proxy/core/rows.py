"""Which fields of which messages name a place that a client may dial: a literal table, held against all declarations.

A client that learns the real address of a broker goes round the proxy; so every such place in a response is replaced
by that of a local listener (KIP-951 adds endpoints to errors of Produce and Fetch, KIP-932 to share APIs).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from decoders.apis.keys import API_VERSIONS
from decoders.schema.model import Side, Versions


class AddressRow(NamedTuple):
    """Where places are in the response of an API at some versions: in the elements of `array`, or at the top ("").

    In each, `host` is followed by `port` at once. `optional`: clients do without them, so they may be left out.
    """

    versions: Versions
    array: str
    node_id: str
    optional: bool = False


ROWS: Final[dict[int, tuple[AddressRow, ...]]] = {
    0: (AddressRow(Versions(10, 13), "node_endpoints", "node_id", optional=True),),
    1: (AddressRow(Versions(16, 18), "node_endpoints", "node_id", optional=True),),
    3: (AddressRow(Versions(0, 13), "brokers", "node_id"),),
    10: (AddressRow(Versions(0, 3), "", "node_id"), AddressRow(Versions(4, 6), "coordinators", "node_id")),
    60: (AddressRow(Versions(0, 2), "brokers", "broker_id"),),
    78: (AddressRow(Versions(0, 2), "node_endpoints", "node_id", optional=True),),
    79: (AddressRow(Versions(0, 2), "node_endpoints", "node_id", optional=True),),
}
# The endpoint type of DescribeCluster (KIP-919) whose places are controllers, not brokers.
CONTROLLERS: Final = 2

Judgement = Literal["rewritten", "controllers", "between brokers", "of applications", "no place"]

# Every struct of every message that holds both a host and a port, or an endpoint as one text, and what is done about
# it. "controllers" and "between brokers" are passed on and warned about; the rest nobody dials.
JUDGED: Final[dict[tuple[int, Side, str], Judgement]] = {
    (0, "response", "node_endpoints"): "rewritten",
    (1, "response", "node_endpoints"): "rewritten",
    (3, "response", "brokers"): "rewritten",
    (4, "request", "live_leaders"): "between brokers",
    (6, "request", "live_brokers"): "between brokers",
    (6, "request", "live_brokers.endpoints"): "between brokers",
    (10, "response", ""): "rewritten",
    (10, "response", "coordinators"): "rewritten",
    (52, "response", "node_endpoints"): "controllers",
    (53, "request", "leader_endpoints"): "controllers",
    (53, "response", "node_endpoints"): "controllers",
    (54, "request", "leader_endpoints"): "controllers",
    (54, "response", "node_endpoints"): "controllers",
    (55, "response", "nodes.listeners"): "controllers",
    (59, "response", "node_endpoints"): "controllers",
    (60, "response", "brokers"): "rewritten",
    (62, "request", "listeners"): "between brokers",
    (70, "request", "listeners"): "controllers",
    (78, "response", "node_endpoints"): "rewritten",
    (79, "response", "node_endpoints"): "rewritten",
    (80, "request", "listeners"): "controllers",
    (82, "request", "listeners"): "controllers",
    (82, "response", "current_leader"): "controllers",
    (88, "request", "user_endpoint"): "of applications",
    (88, "response", "partitions_by_user_endpoint.user_endpoint"): "of applications",
    (89, "response", "groups.members.user_endpoint"): "of applications",
}
# APIs whose requests show that brokers or controllers are talking through the proxy, which is not made for them.
BYSTANDERS: Final = frozenset(key for (key, _, _), word in JUDGED.items() if word in ("controllers", "between brokers"))


def row_of(api_key: int, version: int) -> AddressRow | None:
    """The row for responses of this API at this version."""
    return next((row for row in ROWS.get(api_key, ()) if version in row.versions), None)


def held(api_key: int, version: int) -> bool:
    """Whether responses of this kind are held until they are whole; all others stream through."""
    return api_key == API_VERSIONS or row_of(api_key, version) is not None


def highest(api_key: int) -> int | None:
    """The highest version of a row that can be rewritten; None where the API has no row."""
    rows = ROWS.get(api_key)
    return max(row.versions.high for row in rows) if rows else None
