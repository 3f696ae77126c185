"""A message and a field in, the kind of the field out: the table of all string and bytes fields, used by scrubbing.

A row is a kind and its fields: by their name, by their struct's name and their own (`users.name`), or by the message's
name and their own (`ConfigRecord.name`). A field that has no row is overwritten, and a test fails for it.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["BY_FIELD", "BY_SIBLING", "KINDS", "Kind", "kind_of_field"]

# Names that --keep accepts: topics … members. `other`: names of all other kinds, always replaced. `word`: one of
# Kafka's own words, kept if it is in the list of these, else a name. `config`: the name of a config, kept if it is in a
# list, else a name. `version`: of a program. `number`: digits, else a name. `sibling`: the kind that BY_SIBLING gives.
# `secret`: overwritten, and searched for afterwards; `text`: overwritten. `token`: a SASL message. `address`: 4 or 16
# bytes. `request`, `response`: the frame in an Envelope. `records`: batches. `structure`: bytes that hold a structure
# (embedded/).
Kind = Literal[
    "topics",
    "groups",
    "clients",
    "users",
    "transactions",
    "hosts",
    "members",
    "other",
    "word",
    "config",
    "version",
    "number",
    "sibling",
    "secret",
    "text",
    "token",
    "address",
    "request",
    "response",
    "records",
    "structure",
]

KINDS: Final[dict[Kind, str]] = {
    "topics": """
        topic topics topic_name topic_names source_topics sink_topic repartition_sink_topics subscribed_topic_names
        subscribed_topic_regex source_topic_regex regular_expression topic_data.name topics.name responses.name
        results.name v3_and_below_topics.name topic_results.name results_by_topic_v3_and_below.name
        state_changelog_topics.name repartition_source_topics.name TopicRecord.name topic_id_partition.name
    """,
    "groups": "group group_id group_ids groups groups_names",
    "clients": "client_id",
    "users": """
        principal principal_filter principal_name owner_principal_name token_requester_principal_name owner requester
        renewers token_id user users.name deletions.name upsertions.name UserScramCredentialRecord.name
        RemoveUserScramCredentialRecord.name DefaultPrincipalData.name
    """,
    "transactions": "transactional_id transactional_ids transactional_id_pattern v3_and_below_transactional_id",
    "hosts": """
        host client_host host_name host_filter v0_host leader_url url user_end_point
    """,
    "members": """
        member_id group_instance_id instance_id consumer_id leader process_id
    """,
    "other": """
        rack rack_id racks cluster_id log_dir path connector named_topology stores successors nodes.name source.name
        processor.name client_tags.key client_tags.value
    """,
    "word": """
        assignor_name server_assignor partition_assignment_strategy protocol protocol_name protocol_data protocol_type
        protocols.name supported_protocols.name client_assignors.name group_state group_type states_filter types_filter
        transaction_state state_filters unknown_state_filters mechanism mechanisms principal_type
        owner_principal_type token_requester_principal_type type entity_type feature features.name
        supported_features.name finalized_features.name FeatureLevelRecord.name RemoveFeatureLevelRecord.name listener
        listeners.name leader_endpoints.name endpoints.name end_points.name client_software_name values.key ops.key
        ClientQuotaRecord.key QuotaRecord.key requested_metrics
    """,
    "config": """
        configs.name synonyms.name configuration_keys ConfigRecord.name topic_configs.key last_assignment_configs.key
    """,
    "version": "client_software_version",
    "number": "subtopology_id",
    "sibling": """
        resource_name resource_name_filter entity_name match FindCoordinatorRequest.key coordinator_keys
        coordinators.key
    """,
    "secret": """
        hmac salt salted_password stored_key server_key configs.value synonyms.value topic_configs.value
        last_assignment_configs.value ConfigRecord.value
    """,
    "text": """
        error_message acknowledge_error_message batch_index_error_message reason status_detail documentation
        committed_metadata metadata custom_metadata metadata_bytes metrics BeginTransactionRecord.name
    """,
    "token": "auth_bytes",
    "address": "client_host_address",
    "request": "request_data",
    "response": "response_data",
    "records": "records unaligned_records",
    "structure": """
        member_metadata member_assignment assignment subscription user_data allocation request_principal
        protocols.metadata supported_protocols.metadata members.metadata
    """,
}
BY_FIELD: Final[dict[str, Kind]] = {name: kind for kind, names in KINDS.items() for name in names.split()}

_COORDINATORS: Final[dict[object, Kind]] = {0: "groups", 1: "transactions", 2: "groups"}
_ENTITIES: Final[dict[object, Kind]] = {"user": "users", "client-id": "clients", "ip": "hosts"}
# Resource types of ACLs and of configs; only topics have the same number in both.
_RESOURCES: Final[dict[object, Kind]] = {
    2: "topics",
    3: "groups",
    4: "number",
    5: "transactions",
    6: "users",
    7: "users",
    8: "number",
    32: "groups",
}
# Field → the sibling field (or, failing that, a field of an outer struct or of the message) whose value says what kind
# the field is, and the kinds by that value.
BY_SIBLING: Final[dict[str, tuple[str, dict[object, Kind]]]] = {
    "resource_name": ("resource_type", _RESOURCES),
    "resource_name_filter": ("resource_type_filter", _RESOURCES),
    "entity_name": ("entity_type", _ENTITIES),
    "match": ("entity_type", _ENTITIES),
    "key": ("key_type", _COORDINATORS),
    "coordinator_keys": ("key_type", _COORDINATORS),
}


def kind_of_field(message: str, path: str) -> Kind | None:
    """The kind of a field, by the message's name and the field's path without indices; None if the table lacks it."""
    above, _, name = path.rpartition(".")
    owner = above.rpartition(".")[2] or message
    return BY_FIELD.get(f"{owner}.{name}") or BY_FIELD.get(name)
