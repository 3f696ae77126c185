"""The literal table of the APIs that a mocked broker has, with their handlers, and ApiVersions, which lists them."""

from __future__ import annotations

from typing import Final

from decoders.apis import api
from decoders.mocking.accept_any_login import handle_sasl_authenticate, handle_sasl_handshake
from decoders.mocking.build_response_bodies import ResponseBody
from decoders.mocking.classic_groups import (
    handle_heartbeat,
    handle_join_group,
    handle_leave_group,
    handle_sync_group,
)
from decoders.mocking.client_connections import Handler, MockBrokers
from decoders.mocking.cluster_state import Call, MockCluster
from decoders.mocking.committed_offsets import handle_offset_commit, handle_offset_fetch
from decoders.mocking.consumer_groups import handle_consumer_group_heartbeat
from decoders.mocking.fetch_with_sessions import Fetches
from decoders.mocking.handle_transaction_requests import (
    handle_add_offsets_to_txn,
    handle_add_partitions_to_txn,
    handle_end_txn,
    handle_init_producer_id,
    handle_txn_offset_commit,
)
from decoders.mocking.list_describe_and_delete_groups import (
    handle_consumer_group_describe,
    handle_delete_groups,
    handle_describe_groups,
    handle_list_groups,
)
from decoders.mocking.metadata_and_topics import (
    handle_create_topics,
    handle_delete_topics,
    handle_describe_cluster,
    handle_find_coordinator,
    handle_metadata,
)
from decoders.mocking.produce_and_list_offsets import (
    handle_list_offsets,
    handle_offset_for_leader_epoch,
    handle_produce,
)
from decoders.protocol_facts import api_keys

__all__ = ["HANDLERS", "make_brokers"]

# API key → handler. That of Fetch is made by make_brokers, as its sessions are kept apart.
HANDLERS: Final[dict[int, Handler]] = {
    api_keys.PRODUCE: handle_produce,
    api_keys.LIST_OFFSETS: handle_list_offsets,
    api_keys.METADATA: handle_metadata,
    api_keys.OFFSET_COMMIT: handle_offset_commit,
    api_keys.OFFSET_FETCH: handle_offset_fetch,
    api_keys.FIND_COORDINATOR: handle_find_coordinator,
    api_keys.JOIN_GROUP: handle_join_group,
    api_keys.HEARTBEAT: handle_heartbeat,
    api_keys.LEAVE_GROUP: handle_leave_group,
    api_keys.SYNC_GROUP: handle_sync_group,
    api_keys.SASL_HANDSHAKE: handle_sasl_handshake,
    api_keys.CREATE_TOPICS: handle_create_topics,
    15: handle_describe_groups,
    api_keys.LIST_GROUPS: handle_list_groups,
    20: handle_delete_topics,
    22: handle_init_producer_id,
    23: handle_offset_for_leader_epoch,
    24: handle_add_partitions_to_txn,
    25: handle_add_offsets_to_txn,
    26: handle_end_txn,
    28: handle_txn_offset_commit,
    api_keys.SASL_AUTHENTICATE: handle_sasl_authenticate,
    api_keys.DESCRIBE_CLUSTER: handle_describe_cluster,
    42: handle_delete_groups,
    68: handle_consumer_group_heartbeat,
    api_keys.CONSUMER_GROUP_DESCRIBE: handle_consumer_group_describe,
}
SERVED: Final = sorted((*HANDLERS, api_keys.FETCH, api_keys.API_VERSIONS))


def handle_api_versions(cluster: MockCluster, call: Call) -> ResponseBody:  # noqa: ARG001  # as all handlers
    """ApiVersions: the APIs that are served, in every version that is known of them."""
    rows = []
    for key in SERVED:
        least, most = api(key).versions
        rows.append({"api_key": key, "min_version": least, "max_version": most})
    return {"error_code": 0, "api_keys": rows}


def make_brokers(cluster: MockCluster) -> MockBrokers:
    """The brokers of a cluster, with a handler for every API that is served."""
    fetches = Fetches(cluster)
    return MockBrokers(
        cluster,
        {
            **HANDLERS,
            api_keys.FETCH: lambda _, call: fetches.handle_fetch(call),
            api_keys.API_VERSIONS: handle_api_versions,
        },
    )
