"""Producer ids and transactions: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn.

    (new) ──InitProducerId──▶ empty ──first partition or group──▶ ongoing ──EndTxn──▶ empty
                                                                    └── InitProducerId, time-out: aborted, epoch + 1

A producer that comes with an older epoch is fenced. Markers are written, and offsets committed, before EndTxn is
answered, so no client meets a transaction that is being ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from decoders.errors import strip_traceback
from decoders.limits import MOCK_GROUPS_MAX
from decoders.mocking.build_response_bodies import RequestRow, ResponseBody
from decoders.mocking.cluster_state import Call, Committed, MockCluster, Timer, TopicPartition
from decoders.mocking.committed_offsets import check_group_member, commit_offsets_of_request
from decoders.mocking.partition_log import StoredBatch
from decoders.mocking.refusal_error import Refusal

__all__ = [
    *("add_partition_on_write", "handle_add_offsets_to_txn", "handle_add_partitions_to_txn", "handle_end_txn"),
    *("handle_init_producer_id", "handle_txn_offset_commit"),
]

OPERATION_NOT_ATTEMPTED: Final = 55

_EPOCH_MAX: Final = 2**15 - 2
_TIMEOUT_MAX_MS: Final = 15 * 60_000
_PARTITIONS_MAX: Final = 10_000
# The first versions of APIs that answer PRODUCER_FENCED; older ones answer INVALID_PRODUCER_EPOCH (KIP-588).
_FENCED_FROM: Final = {22: 4, 24: 2, 25: 2, 26: 2, 28: 3}
# From these versions on a write or commit takes part in the transaction by itself, and EndTxn gives a new epoch
# (KIP-890).
_PRODUCE_ADDS_FROM: Final = 12
_COMMIT_ADDS_FROM: Final = 5
_END_BUMPS_FROM: Final = 5


@dataclass(slots=True)
class _Transaction:
    producer_id: int
    epoch: int = 0
    timeout_ms: int = 60_000
    ongoing: bool = False
    partitions: set[TopicPartition] = field(default_factory=set)
    offsets: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    timer: Timer | None = None
    # Epoch and result of the transaction that ended last, for a client that asks again.
    last_epoch: int = -1
    last_result: bool | None = None


def _begin_transaction(cluster: MockCluster, transaction: _Transaction) -> None:
    if not transaction.ongoing:
        transaction.ongoing = True
        transaction.last_result = None
        transaction.timer = cluster.schedule(transaction.timeout_ms, lambda: _expire_transaction(cluster, transaction))


def _expire_transaction(cluster: MockCluster, transaction: _Transaction) -> None:
    """Abort a transaction that took too long, and fence its producer."""
    if transaction.ongoing:
        _bump_epoch(cluster, transaction)
        _end_transaction(cluster, transaction, commit=False)


def _bump_epoch(cluster: MockCluster, transaction: _Transaction) -> None:
    if transaction.epoch >= _EPOCH_MAX:
        transaction.producer_id, transaction.epoch = _next_producer_id(cluster), 0
    else:
        transaction.epoch += 1


def _next_producer_id(cluster: MockCluster) -> int:
    cluster.next_producer_id += 1
    return cluster.next_producer_id


def _end_transaction(cluster: MockCluster, transaction: _Transaction, *, commit: bool) -> None:
    """Write the markers of a transaction, and commit or drop its offsets."""
    producer_id = transaction.producer_id
    for name, number in transaction.partitions:
        topic = cluster.topics.get(name)
        if topic is not None:
            cluster.memory_used += topic.logs[number].end_transaction(
                producer_id, transaction.epoch, cluster.now_ms, commit=commit
            )
    for group, offsets in transaction.offsets.items():
        for place, committed in offsets.items():
            waiting = cluster.pending.get(group, {}).get(place)
            if waiting is not None:
                waiting.discard(producer_id)
            if commit:
                cluster.commit_offset(group, place, committed)
    changed = list(transaction.partitions)
    transaction.partitions.clear()
    transaction.offsets.clear()
    transaction.groups.clear()
    transaction.ongoing = False
    if transaction.timer is not None:
        transaction.timer.cancel()
    for place in changed:
        cluster.notify_append_watchers(place)


def _find_transaction(
    cluster: MockCluster, call: Call, transactional_id: str, producer_id: int, epoch: int
) -> _Transaction:
    """The transaction of a producer of this epoch. Raises Refusal."""
    cluster.check_coordinator(call, 1, transactional_id)
    found: _Transaction | None = cluster.transactions.get(transactional_id)
    if found is None or found.producer_id != producer_id:
        raise Refusal("INVALID_PRODUCER_ID_MAPPING")
    if found.epoch != epoch:
        raise Refusal(_choose_fencing_error(call))
    return found


def _choose_fencing_error(call: Call) -> str:
    return "PRODUCER_FENCED" if call.version >= _FENCED_FROM[call.api_key] else "INVALID_PRODUCER_EPOCH"


def handle_init_producer_id(cluster: MockCluster, call: Call) -> ResponseBody:
    """InitProducerId: a producer id; for a known transactional id a newer epoch, which fences the former producer."""
    body = call.body
    transactional_id = body["transactional_id"]
    if transactional_id is None:
        return {"error_code": 0, "producer_id": _next_producer_id(cluster), "producer_epoch": 0}
    if not transactional_id:
        raise Refusal("INVALID_REQUEST")
    cluster.check_coordinator(call, 1, transactional_id)
    if not 0 < body["transaction_timeout_ms"] <= _TIMEOUT_MAX_MS:
        raise Refusal("INVALID_TRANSACTION_TIMEOUT")
    found: _Transaction | None = cluster.transactions.get(transactional_id)
    producer_id = body.get("producer_id", -1)
    if found is None:
        if len(cluster.transactions) >= MOCK_GROUPS_MAX:
            cluster.add_note_for_user(f"the mock has {MOCK_GROUPS_MAX:,} transactional ids, its limit: it refuses more")
            raise Refusal("POLICY_VIOLATION")
        found = cluster.transactions[transactional_id] = _Transaction(_next_producer_id(cluster))
    else:
        if producer_id >= 0 and (producer_id, body["producer_epoch"]) != (found.producer_id, found.epoch):
            raise Refusal(_choose_fencing_error(call))
        _bump_epoch(cluster, found)
        if found.ongoing:
            _end_transaction(cluster, found, commit=False)
    found.timeout_ms = body["transaction_timeout_ms"]
    found.last_result = None
    return {"error_code": 0, "producer_id": found.producer_id, "producer_epoch": found.epoch}


def handle_add_partitions_to_txn(cluster: MockCluster, call: Call) -> ResponseBody:
    """AddPartitionsToTxn: partitions take part in a transaction."""
    body = call.body
    if "transactions" in body:
        return {
            "error_code": 0,
            "results_by_transaction": [
                {
                    "transactional_id": each["transactional_id"],
                    "topic_results": _add_partitions_to_transaction(cluster, call, each, verify=each["verify_only"]),
                }
                for each in body["transactions"]
            ],
        }
    old = "v3_and_below_"
    asked = {name.removeprefix(old): value for name, value in body.items()}
    return {"results_by_topic_v3_and_below": _add_partitions_to_transaction(cluster, call, asked, verify=False)}


def _add_partitions_to_transaction(
    cluster: MockCluster, call: Call, asked_transaction: RequestRow, *, verify: bool
) -> list[dict[str, Any]]:
    codes: dict[TopicPartition, int] = {}
    places = [(topic["name"], number) for topic in asked_transaction["topics"] for number in topic["partitions"]]
    found: _Transaction | None = None
    try:
        found = _find_transaction(
            cluster,
            call,
            asked_transaction["transactional_id"],
            asked_transaction["producer_id"],
            asked_transaction["producer_epoch"],
        )
        if len(found.partitions) + len(places) > _PARTITIONS_MAX:
            raise Refusal("POLICY_VIOLATION")
    except Refusal as refusal:
        codes = dict.fromkeys(places, refusal.code)
    else:
        for place in places:
            try:
                cluster.find_log(cluster.find_topic({"name": place[0]}), place[1])
                if verify and place not in found.partitions:
                    raise Refusal("TRANSACTION_ABORTABLE")
            except Refusal as refusal:
                codes[place] = refusal.code
        if codes:
            codes = {place: codes.get(place, OPERATION_NOT_ATTEMPTED) for place in places}
        elif places and not verify:
            _begin_transaction(cluster, found)
            found.partitions.update(places)
    return [
        {
            "name": topic["name"],
            "results_by_partition": [
                {"partition_index": number, "partition_error_code": codes.get((topic["name"], number), 0)}
                for number in topic["partitions"]
            ],
        }
        for topic in asked_transaction["topics"]
    ]


def handle_add_offsets_to_txn(cluster: MockCluster, call: Call) -> ResponseBody:
    """AddOffsetsToTxn: a group's offsets take part in a transaction."""
    body = call.body
    found = _find_transaction(cluster, call, body["transactional_id"], body["producer_id"], body["producer_epoch"])
    _begin_transaction(cluster, found)
    found.groups.add(body["group_id"])
    return {"error_code": 0}


def handle_txn_offset_commit(cluster: MockCluster, call: Call) -> ResponseBody:
    """TxnOffsetCommit: offsets that are committed with a transaction."""
    body = call.body
    group = body["group_id"]
    problem: Refusal | None = None
    found: _Transaction | None = None
    try:
        cluster.check_coordinator(call, 0, group)
        found = cluster.transactions.get(body["transactional_id"])
        if found is None or found.producer_id != body["producer_id"]:
            raise Refusal("INVALID_PRODUCER_ID_MAPPING")
        if found.epoch != body["producer_epoch"]:
            raise Refusal(_choose_fencing_error(call))
        member = body.get("member_id", "")
        generation = body.get("generation_id_or_member_epoch", -1)
        if member or generation >= 0:
            check_group_member(cluster, group, member, generation, body.get("group_instance_id"))
        if call.version >= _COMMIT_ADDS_FROM:
            _begin_transaction(cluster, found)
            found.groups.add(group)
        if group not in found.groups:
            raise Refusal("INVALID_TXN_STATE")
    except Refusal as refusal:
        problem = strip_traceback(refusal)

    def keep_offset(place: TopicPartition, committed: Committed) -> None:
        assert found is not None
        cluster.reserve_memory(0 if place in found.offsets.get(group, {}) else 256)
        found.offsets.setdefault(group, {})[place] = committed
        cluster.pending.setdefault(group, {}).setdefault(place, set()).add(found.producer_id)

    return commit_offsets_of_request(cluster, call, problem, keep_offset)


def handle_end_txn(cluster: MockCluster, call: Call) -> ResponseBody:
    """EndTxn: commit or abort a transaction."""
    body = call.body
    commit = body["committed"]
    cluster.check_coordinator(call, 1, body["transactional_id"])
    found: _Transaction | None = cluster.transactions.get(body["transactional_id"])
    if found is None or found.producer_id != body["producer_id"]:
        raise Refusal("INVALID_PRODUCER_ID_MAPPING")
    bumps = call.version >= _END_BUMPS_FROM
    again = found.last_result is not None and body["producer_epoch"] == found.last_epoch
    if not again:
        if body["producer_epoch"] != found.epoch:
            raise Refusal(_choose_fencing_error(call))
        if not found.ongoing and (commit or not bumps):
            raise Refusal("INVALID_TXN_STATE")
        found.last_epoch = found.epoch
        if found.ongoing:
            _end_transaction(cluster, found, commit=commit)
        if bumps:
            _bump_epoch(cluster, found)
        found.last_result = commit
    elif found.last_result != commit:
        raise Refusal("INVALID_TXN_STATE")
    return {"error_code": 0, "producer_id": found.producer_id, "producer_epoch": found.epoch}


def add_partition_on_write(cluster: MockCluster, call: Call, place: TopicPartition, batch: StoredBatch) -> None:
    """Check that a transaction may write a batch there, and add the partition to it (KIP-890). Raises Refusal."""
    transactional_id = call.body.get("transactional_id")
    found: _Transaction | None = cluster.transactions.get(transactional_id or "")
    if found is None or found.producer_id != batch.producer_id:
        raise Refusal("INVALID_PRODUCER_ID_MAPPING")
    if found.epoch != batch.producer_epoch:
        raise Refusal("INVALID_PRODUCER_EPOCH")
    if place in found.partitions:
        return
    if call.version < _PRODUCE_ADDS_FROM:
        raise Refusal("INVALID_TXN_STATE")
    _begin_transaction(cluster, found)
    found.partitions.add(place)
