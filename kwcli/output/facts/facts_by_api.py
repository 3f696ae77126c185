"""The facts of each API for its line: a literal table in the notation of `compile_facts.py`, most important first.

APIs that need more than the notation says are functions in `fact_functions.py`.
"""

from __future__ import annotations

from typing import Final

_TXN: Final = "pid >producer_id:known  epoch >producer_epoch:known"
_GROUP_MEMBER: Final = "gen >generation_id:known  >member_id:member  >group_instance_id"

ROWS: Final[dict[int, str]] = {
    # LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown
    4: (
        ">topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts"
        "  controller >controller_id  epoch >controller_epoch"
    ),
    5: (
        ">topic_states[]/partition_states[].partition_index:parts|>topics[]/partition_indexes:parts"
        "|>ungrouped_partitions[]/partition_index:parts  >delete_partitions:flag:delete  controller >controller_id"
    ),
    6: (
        ">topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts"
        "  >live_brokers[].id:count:broker  controller >controller_id  epoch >controller_epoch"
    ),
    7: "broker >broker_id  → <remaining_partitions[].partition_index:count:partition left",
    # Groups
    8: (
        "group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts"
        "  gen >generation_id_or_member_epoch:known  >member_id:member"
    ),
    9: (
        "group >group_id|>groups[].group_id"
        "  <groups[].topics[]/partitions[].partition_index@committed_offset:parts"
        "|<topics[]/partitions[].partition_index@committed_offset:parts"
        "|>groups[].topics[]/partition_indexes:parts|>topics[]/partition_indexes:parts"
        "  >require_stable:flag:stable"
    ),
    11: (
        "group >group_id  → gen <generation_id:known  with <members[].member_id:count:member"
        "  <protocol_name|>protocols[].name  <member_id:member|>member_id:member  >group_instance_id  >reason"
    ),
    12: f"group >group_id  {_GROUP_MEMBER}",
    13: (
        "group >group_id  >members[].member_id:member|>member_id:member  >members[].group_instance_id"
        "  >members[].reason"
    ),
    14: "group >group_id  assigns to >assignments[].member_id:count:member  >protocol_name|<protocol_name  "
    + _GROUP_MEMBER,
    15: "group >groups  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].protocol_data",
    16: "→ <groups[].group_id:count:group  <groups[].group_id  in state >states_filter  of type >types_filter",
    42: "group >groups_names",
    47: "group >group_id  >topics[]/partitions[].partition_index:parts",
    68: (
        "group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts"
        "  subscribes >subscribed_topic_names  >subscribed_topic_regex  >server_assignor"
        "  >member_epoch:said:epoch  <member_id:member|>member_id:member  >instance_id"
    ),
    69: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].assignor_name",
    76: (
        "group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts"
        "  subscribes >subscribed_topic_names  >member_epoch:said:epoch  <member_id:member|>member_id:member"
    ),
    77: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].assignor_name",
    88: (
        "group >group_id  → epoch <member_epoch  <active_tasks[].subtopology_id:count:active_task"
        "  <status[].status_detail  >member_epoch:said:epoch  <member_id:member|>member_id:member  >instance_id"
    ),
    89: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member",
    93: "group >group_id  topology epoch >topology_epoch  >member_id:member",
    # Connections and security
    17: ">mechanism  brokers offer <mechanisms",
    38: (
        "token <token_id  for >owner_principal_type >owner_principal_name  → <principal_type:any <principal_name"
        "  max >max_lifetime_ms:period"
    ),
    39: "for >renew_period_ms:period",
    40: "in >expiry_time_period_ms:period",
    41: "→ <tokens[].token_id:count:token  of >owners[].principal_name  <tokens[].token_id",
    50: "→ <results[].user:count:user  <results[].user  asked >users[].name",
    51: "set >upsertions[].name >upsertions[].mechanism:word:scram  delete >deletions[].name",
    # Topics and partitions
    20: ">topics[]:topics|>topic_names|<responses[]:topics",
    21: ">topics[]/partitions[].partition_index@offset:parts",
    23: ">topics[]/partitions[].partition:parts  → end <topics[].partitions[].end_offset",
    37: ">topics[].name  to >topics[].count partitions  >validate_only:flag:validate_only",
    43: ">election_type:word:election  >topic_partitions[]/partitions:parts",
    46: ">topics[]/partition_indexes:parts  → <topics[]/partitions[].partition_index:parts",
    75: (
        "<topics[]:topics|>topics[]:topics"
        "  → <topics[].partitions[].partition_index:count:partition  more from <next_cursor.topic_name"
    ),
    # Transactions and producers
    22: (
        ">transactional_id  → pid <producer_id:known  epoch <producer_epoch:known"
        "  was >producer_id:known  timeout >transaction_timeout_ms:period"
    ),
    24: (
        ">v3_and_below_transactional_id|>transactions[].transactional_id"
        "  >v3_and_below_topics[]/partitions:parts|>transactions[].topics[]/partitions:parts"
        "  pid >v3_and_below_producer_id:known|>transactions[].producer_id"
    ),
    25: f">transactional_id  group >group_id  {_TXN}",
    26: f">transactional_id  >committed:word:outcome  {_TXN}",
    27: (
        ">markers[].transaction_result:word:outcome  >markers[].topics[]/partition_indexes:parts"
        "  pid >markers[].producer_id"
    ),
    28: (f">transactional_id  group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts  {_TXN}"),
    61: ">topics[]/partition_indexes:parts  → <topics[].partitions[].active_producers[].producer_id:count:producer",
    65: ">transactional_ids  → <transaction_states[].transaction_state  pid <transaction_states[].producer_id",
    66: (
        "→ <transaction_states[].transactional_id:count:transaction  <transaction_states[].transactional_id"
        "  in state >state_filters  matching >transactional_id_pattern"
    ),
    67: "broker >broker_id  → pids from <producer_id_start +<producer_id_len",
    # Configuration, quotas, log directories
    29: (
        ">resource_type_filter:word:acl >resource_name_filter:any:*  of >principal_filter:any:anyone"
        "  → <resources[].acls[].principal:count:entry"
    ),
    30: (
        ">creations[].resource_type:word:acl >creations[].resource_name  >creations[].permission_type:word:permission"
        " >creations[].operation:word:operation  to >creations[].principal"
    ),
    31: (
        ">filters[].resource_type_filter:word:acl  >filters[].resource_name_filter  of >filters[].principal_filter"
        "  → <filter_results[].matching_acls[].principal:count:entry"
    ),
    32: (
        ">resources[].resource_type:word:config >resources[].resource_name  → <results[].configs[].name:count:entry"
        "  asked >resources[].configuration_keys"
    ),
    33: (
        ">resources[].resource_type:word:config >resources[].resource_name  set >resources[].configs[].name"
        "  >validate_only:flag:validate_only"
    ),
    44: (
        ">resources[].resource_type:word:config >resources[].resource_name  change >resources[].configs[].name"
        "  >validate_only:flag:validate_only"
    ),
    34: ">dirs[].topics[]/partitions:parts  to >dirs[].path",
    35: "<results[].log_dir  → <results[].topics[].partitions[].partition_size:size  >topics[]/partitions:parts",
    48: "→ <entries[].values[].key:count:quota  of >components[].entity_type",
    49: ">entries[].entity[].entity_type  >entries[].entity[].entity_name  >entries[].ops[].key",
    74: "→ <config_resources[].resource_name:count:resource  <config_resources[].resource_name",
    # Quorum and controllers
    52: (
        "candidate >topics[].partitions[].replica_id  epoch >topics[].partitions[].replica_epoch"
        "  → <topics[].partitions[].vote_granted:word:vote  leader <topics[].partitions[].leader_id"
    ),
    53: "leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch",
    54: "leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch",
    55: (
        "→ leader <topics[].partitions[].leader_id  epoch <topics[].partitions[].leader_epoch"
        "  hw <topics[].partitions[].high_watermark  <topics[].partitions[].current_voters[].replica_id:count:voter"
        "  <topics[].partitions[].observers[].replica_id:count:observer"
    ),
    57: ">feature_updates[].feature  to level >feature_updates[].max_version_level  >validate_only:flag:validate_only",
    59: (
        ">topics[]/partitions[].partition:parts  from byte >topics[].partitions[].position"
        "  of <topics[].partitions[].size:size"
    ),
    60: (
        "→ <brokers[].broker_id:count:broker  cluster <cluster_id  controller <controller_id:known"
        "  >endpoint_type:word:endpoint"
    ),
    62: "broker >broker_id  → epoch <broker_epoch:known  >listeners[].name  rack >rack",
    63: (
        "broker >broker_id  >want_fence:flag:wants_to_be_fenced  >want_shut_down:flag:wants_to_shut_down"
        "  <is_fenced:flag:is_fenced  <should_shut_down:flag:may_shut_down  at offset >current_metadata_offset"
    ),
    64: "broker >broker_id",
    70: "controller >controller_id  >listeners[].name",
    80: "voter >voter_id  directory >voter_directory_id  >listeners[].name",
    81: "voter >voter_id  directory >voter_directory_id",
    82: "voter >voter_id  directory >voter_directory_id  leader <current_leader.leader_id",
    94: "controller >controller_id",
    # Telemetry
    71: (
        "subscription <subscription_id  every <push_interval_ms:period  <requested_metrics:masks"
        "  client <client_instance_id|>client_instance_id"
    ),
    72: (
        "subscription >subscription_id  >compression_type:word:codec"
        "  >terminating:flag:last  client >client_instance_id"
    ),
    73: "broker >broker_id  >directories[].topics[]/partitions[].partition_index:parts  to >directories[].id",
    # Share groups
    79: (
        "group >group_id  >topics[]/partitions[].partition_index:parts"
        "  session epoch >share_session_epoch  >member_id:member"
    ),
    83: "group >group_id  >topics[]/partitions[].partition:parts  from >topics[].partitions[].start_offset",
    84: "group >group_id  >topics[]/partitions[].partition:parts  → from <results[].partitions[].start_offset",
    85: "group >group_id  >topics[]/partitions[].partition:parts  from >topics[].partitions[].start_offset",
    86: "group >group_id  >topics[]/partitions[].partition:parts",
    87: "group >group_id  >topics[]/partitions[].partition:parts  → from <results[].partitions[].start_offset",
    90: (
        "group >groups[].group_id  <groups[].topics[]/partitions[].partition_index@start_offset:parts"
        "|>groups[].topics[]/partitions:parts"
    ),
    91: "group >group_id  >topics[]/partitions[].partition_index@start_offset:parts",
    92: "group >group_id  >topics[]:topics",
}
