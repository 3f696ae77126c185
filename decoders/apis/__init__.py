"""The APIs by key and by name: a declaration is read when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from decoders.errors import UnknownApi
from decoders.schema.api_declaration import Api, DeclarationError, Section, find_section, parse_api
from decoders.wire.suggest_similar_words import did_you_mean

__all__ = ["KEYS", "NAMES", "api", "api_name", "section"]

# API key → the module of this package that declares it.
NAMES: Final[dict[int, str]] = {
    0: "produce",
    1: "fetch",
    2: "list_offsets",
    3: "metadata",
    4: "leader_and_isr",
    5: "stop_replica",
    6: "update_metadata",
    7: "controlled_shutdown",
    8: "offset_commit",
    9: "offset_fetch",
    10: "find_coordinator",
    11: "join_group",
    12: "heartbeat",
    13: "leave_group",
    14: "sync_group",
    15: "describe_groups",
    16: "list_groups",
    17: "sasl_handshake",
    18: "api_versions",
    19: "create_topics",
    20: "delete_topics",
    21: "delete_records",
    22: "init_producer_id",
    23: "offset_for_leader_epoch",
    24: "add_partitions_to_txn",
    25: "add_offsets_to_txn",
    26: "end_txn",
    27: "write_txn_markers",
    28: "txn_offset_commit",
    29: "describe_acls",
    30: "create_acls",
    31: "delete_acls",
    32: "describe_configs",
    33: "alter_configs",
    34: "alter_replica_log_dirs",
    35: "describe_log_dirs",
    36: "sasl_authenticate",
    37: "create_partitions",
    38: "create_delegation_token",
    39: "renew_delegation_token",
    40: "expire_delegation_token",
    41: "describe_delegation_token",
    42: "delete_groups",
    43: "elect_leaders",
    44: "incremental_alter_configs",
    45: "alter_partition_reassignments",
    46: "list_partition_reassignments",
    47: "offset_delete",
    48: "describe_client_quotas",
    49: "alter_client_quotas",
    50: "describe_user_scram_credentials",
    51: "alter_user_scram_credentials",
    52: "vote",
    53: "begin_quorum_epoch",
    54: "end_quorum_epoch",
    55: "describe_quorum",
    56: "alter_partition",
    57: "update_features",
    58: "envelope",
    59: "fetch_snapshot",
    60: "describe_cluster",
    61: "describe_producers",
    62: "broker_registration",
    63: "broker_heartbeat",
    64: "unregister_broker",
    65: "describe_transactions",
    66: "list_transactions",
    67: "allocate_producer_ids",
    68: "consumer_group_heartbeat",
    69: "consumer_group_describe",
    70: "controller_registration",
    71: "get_telemetry_subscriptions",
    72: "push_telemetry",
    73: "assign_replicas_to_dirs",
    74: "list_config_resources",
    75: "describe_topic_partitions",
    76: "share_group_heartbeat",
    77: "share_group_describe",
    78: "share_fetch",
    79: "share_acknowledge",
    80: "add_raft_voter",
    81: "remove_raft_voter",
    82: "update_raft_voter",
    83: "initialize_share_group_state",
    84: "read_share_group_state",
    85: "write_share_group_state",
    86: "delete_share_group_state",
    87: "read_share_group_state_summary",
    88: "streams_group_heartbeat",
    89: "streams_group_describe",
    90: "describe_share_group_offsets",
    91: "alter_share_group_offsets",
    92: "delete_share_group_offsets",
    93: "streams_group_topology_description_update",
    94: "unregister_controller",
}
KEYS: Final = tuple(NAMES)
# Names that older releases used → key.
_OLDER: Final = {
    "groupcoordinator": 10,
    "electpreferredleaders": 43,
    "alterisr": 56,
    "listclientmetricsresources": 74,
    "listoffset": 2,
    "offsets": 2,
}
_BY_NAME: Final = {module.replace("_", ""): key for key, module in NAMES.items()} | _OLDER


def api(name_or_key: str | int) -> Api:
    """The API with this key, or this name (`Fetch`, `LIST_OFFSETS`, `alter-isr`, `3`). Raises UnknownApi."""
    if isinstance(name_or_key, int):
        key: int | None = name_or_key
    elif name_or_key.isascii() and name_or_key.isdigit():
        key = int(name_or_key)
    else:
        key = _BY_NAME.get(name_or_key.replace("_", "").replace("-", "").replace(" ", "").lower())
    if key not in NAMES:
        near = did_you_mean(name_or_key, map(api_name, NAMES)) if isinstance(name_or_key, str) else ""
        raise UnknownApi(f"no API {name_or_key!r}{near}")
    return _parse_declaration(key)


def api_name(key: int) -> str:
    """The name of the API with this key, `UNKNOWN(n)` where there is none; no declaration is read for it."""
    return "".join(map(str.capitalize, NAMES[key].split("_"))) if key in NAMES else f"UNKNOWN({key})"


def section(key: int, word: str) -> Section | None:
    """A section of facts in the declaration of an API; None where there is no such API, or it does not say."""
    found = find_section(_text(key), word) if key in NAMES else None
    return found and found._replace(place=f"decoders/apis/{NAMES[key]}.py: {found.place}")


def _text(key: int) -> str:
    text: str = import_module(f"decoders.apis.{NAMES[key]}").DECLARATION
    return text


@cache
def _parse_declaration(key: int) -> Api:
    try:
        return parse_api(_text(key))
    except DeclarationError as error:
        raise DeclarationError(f"decoders/apis/{NAMES[key]}.py: {error}") from None
