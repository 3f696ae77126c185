"""One literal table of what is known of an exchange: which attributes there are, and where each has its value.

The attributes of `Exchange`, the state of a request in flight, rows handed to other processes and the keys of the
record are made from it. The code that runs for every exchange (connection_pairing.py, chunks_to_exchanges.py,
exchange_json.py, exchange_serialization.py, tables/rows.py) names the attributes itself;
tests/messages/test_exchange_fields.py holds it equal to the table.

Who adds an attribute adds its row here and sets its value, most simply in `Exchange.extra`; what it looks like in the
record and in tables says its row in exchange_attribute_schemas.py.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ALWAYS", "EXCHANGE_ATTRIBUTES", "EXTRA", "KEYS", "REQUEST", "SCALARS", "SLOTS"]

# Attribute, which is called as its key where the record has it → flags. The first says what holds it: `slot` (an
# attribute of its own), `extra` (a key of `Exchange.extra`) or `derived` (made of others). `request`, `response`: whose
# frame sets it; `sent`: it is known with the request all the same. `always`: every record has the key; `key`: a slot
# that is a key too.
# Scalars of the record are in their order, and so are the attributes of a saved request (REQUEST).
EXCHANGE_ATTRIBUTES: Final = {
    "kind": "derived always",
    "schema": "derived always",
    "time": "derived always",
    "latency_ms": "derived always",
    "duration_ms": "derived always",
    "client": "derived always",
    "broker": "derived always",
    "connection": "derived always",
    "api_key": "slot sent always",
    "api": "derived always",
    "api_version": "slot sent always",
    "correlation_id": "slot sent always",
    "client_id": "slot sent always",
    "client_software": "slot sent key",
    "login": "slot sent",
    "user": "derived",
    "mechanism": "derived",
    "outcome": "slot sent",
    "extra": "slot sent",
    "place": "slot request",
    "time_ns": "slot request",
    "request_end_ns": "slot request",
    "request_packet": "slot request",
    "request_packet_end": "slot request",
    "request_size": "slot request always",
    "request_raw": "slot request",
    "response_ns": "slot response",
    "response_end_ns": "slot response",
    "response_packet": "slot response",
    "response_packet_end": "slot response",
    "response_size": "slot response always",
    "response_raw": "slot response",
    "response_place": "slot response",
    "_topics_known": "slot",
    "status": "derived always",
    "reason": "derived always",
    "errors": "derived always",
    "request": "derived always",
    "response": "derived always",
    "packets": "derived always",
    "topic_names": "derived",
    "fetch_session": "derived",
    "messages_hidden": "derived",
    "names": "derived",
    "names_cut": "derived",
    "errors_cut": "derived",
    "tls": "derived",
    "via_address": "derived",
    "sasl": "extra",
    "group": "extra",
    "transaction": "extra",
    "library": "extra",
    "node": "extra",
    "envelope": "extra",
    "retransmitted": "extra",
    "server": "extra",
    "guessed": "extra",
    "remarks": "extra",
    "closed": "extra",
    "layout": "derived",
    "trailing": "derived",
    "undecoded": "derived",
    "raw": "derived",  # nothing writes it any more
    "via": "extra",
    "file": "extra",
    "request_end_file": "extra",
    "response_file": "extra",
    "response_end_file": "extra",
    "point": "extra",
    "network_ms": "extra",
    "client_name": "extra",
    "broker_name": "extra",
    "upstream_latency_ms": "extra",
    "fault": "extra",
    "refused": "extra",
    "comparison": "derived",
}
# The attributes of `Exchange` that the engine sets, and those of a request in flight.
SLOTS: Final = tuple(name for name, flags in EXCHANGE_ATTRIBUTES.items() if flags.startswith("slot"))
REQUEST: Final = tuple(name for name in SLOTS if EXCHANGE_ATTRIBUTES[name].startswith(("slot sent", "slot request")))
# The keys of `Exchange.extra` that are keys of the record.
EXTRA: Final = tuple(name for name, flags in EXCHANGE_ATTRIBUTES.items() if flags == "extra")
# The keys of the record; those that are always there; of these the scalars: the columns of CSV.
ALWAYS: Final = tuple(name for name, flags in EXCHANGE_ATTRIBUTES.items() if flags.endswith("always"))
KEYS: Final = tuple(
    name
    for name, flags in EXCHANGE_ATTRIBUTES.items()
    if not flags.startswith("slot") or flags.endswith(("always", "key"))
)
SCALARS: Final = ALWAYS[: ALWAYS.index("errors")]
