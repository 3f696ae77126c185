"""Names that Kafka has changed while the bytes stayed the same, by the release that has the new name.

Known from the definition files, which there are since 2.2. Names before that are those of 2.2.
"""

from __future__ import annotations

from typing import Final

from decoders.schema.api_declaration import Side

# Release → {API key: the name until then}.
RENAMED_APIS: Final[dict[str, dict[int, str]]] = {
    "2.4": {43: "ElectPreferredLeaders"},
    "2.8": {2: "ListOffset"},
    "3.2": {56: "AlterIsr"},
    "4.1": {74: "ListClientMetricsResources"},
}

# Release → (API key, side, path of the field in the names of that release, its name until then).
RENAMED_FIELDS: Final[dict[str, tuple[tuple[int, Side, str, str], ...]]] = {
    "2.3": ((12, "request", "generation_id", "generationid"),),
    "2.4": (
        (4, "request", "ungrouped_partition_states", "partition_states_v0"),
        (4, "request", "ungrouped_partition_states.leader", "leader_key"),
        (4, "request", "ungrouped_partition_states.isr", "isr_replicas"),
        (4, "request", "topic_states.topic_name", "name"),
        (4, "request", "topic_states.partition_states.leader", "leader_key"),
        (4, "request", "topic_states.partition_states.isr", "isr_replicas"),
        (4, "response", "partition_errors", "partitions"),
        (5, "request", "ungrouped_partitions", "partitions_v0"),
        (5, "response", "partition_errors", "partitions"),
        (6, "request", "ungrouped_partition_states", "partition_states_v0"),
        (6, "request", "live_brokers", "brokers"),
        (18, "response", "api_keys.api_key", "index"),
        (33, "response", "responses", "resources"),
    ),
    "2.5": (
        (29, "request", "resource_type_filter", "resource_type"),
        (29, "request", "pattern_type_filter", "resource_pattern_type"),
        (29, "response", "resources.resource_type", "type"),
        (29, "response", "resources.resource_name", "name"),
    ),
    "2.6": ((32, "request", "include_synonyms", "include_synoyms"),),
    "2.7": (
        (1, "request", "max_wait_ms", "max_wait"),
        (1, "request", "topics.topic", "name"),
        (1, "request", "topics.partitions", "fetch_partitions"),
        (1, "request", "topics.partitions.partition", "partition_index"),
        (1, "request", "topics.partitions.partition_max_bytes", "max_bytes"),
        (1, "request", "session_epoch", "epoch"),
        (1, "request", "forgotten_topics_data", "forgotten"),
        (1, "request", "forgotten_topics_data.topic", "name"),
        (1, "request", "forgotten_topics_data.partitions", "forgotten_partition_indexes"),
        (1, "response", "responses", "topics"),
        (1, "response", "responses.topic", "name"),
        (1, "response", "responses.partition_responses", "partitions"),
        (1, "response", "responses.partition_responses.partition", "partition_index"),
        (1, "response", "responses.partition_responses.record_set", "records"),
        (1, "response", "responses.partition_responses.aborted_transactions", "aborted"),
    ),
    "2.8": (
        (0, "request", "topic_data", "topics"),
        (0, "request", "topic_data.partition_data", "partitions"),
        (0, "request", "topic_data.partition_data.index", "partition_index"),
        (0, "response", "responses.partition_responses", "partitions"),
        (0, "response", "responses.partition_responses.index", "partition_index"),
        (23, "request", "topics.topic", "name"),
        (23, "request", "topics.partitions.partition", "partition_index"),
        (23, "response", "topics.topic", "name"),
        (23, "response", "topics.partitions.partition", "partition_index"),
    ),
    "3.0": (
        (1, "response", "responses.partitions", "partition_responses"),
        (1, "response", "responses.partitions.partition_index", "partition"),
        (1, "response", "responses.partitions.records", "record_set"),
        (35, "request", "topics.partitions", "partition_index"),
        (43, "request", "topic_partitions.partitions", "partition_id"),
    ),
    "3.2": (
        (56, "request", "topics.partitions.partition_epoch", "current_isr_version"),
        (56, "response", "topics.partitions.partition_epoch", "current_isr_version"),
    ),
    "3.3": (
        (4, "request", "ungrouped_partition_states.partition_epoch", "zk_version"),
        (4, "request", "topic_states.partition_states.partition_epoch", "zk_version"),
        (56, "request", "topics.topic_name", "name"),
        (56, "response", "topics.topic_name", "name"),
    ),
    "3.5": (
        (24, "request", "v3_and_below_transactional_id", "transactional_id"),
        (24, "request", "v3_and_below_producer_id", "producer_id"),
        (24, "request", "v3_and_below_producer_epoch", "producer_epoch"),
        (24, "request", "v3_and_below_topics", "topics"),
        (24, "response", "results_by_topic_v3_and_below", "results"),
        (24, "response", "results_by_topic_v3_and_below.results_by_partition", "results"),
        (24, "response", "results_by_topic_v3_and_below.results_by_partition.partition_error_code", "error_code"),
    ),
    "3.6": ((8, "request", "generation_id_or_member_epoch", "generation_id"),),
    "4.0": (
        (52, "request", "topics.partitions.replica_epoch", "candidate_epoch"),
        (52, "request", "topics.partitions.replica_id", "candidate_id"),
        (52, "request", "topics.partitions.replica_directory_id", "candidate_directory_id"),
    ),
    "4.1": (
        (74, "response", "config_resources", "client_metrics_resources"),
        (74, "response", "config_resources.resource_name", "name"),
    ),
    "4.4": (
        (28, "request", "generation_id_or_member_epoch", "generation_id"),
        (88, "response", "acceptable_recovery_lag_legacy", "acceptable_recovery_lag"),
    ),
}
