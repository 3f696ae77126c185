"""Fetch: records from offsets on, in sessions (KIP-227), at once or when there are enough of them.

A session remembers what its client asks for; an incremental request has only changes, an incremental response only the
partitions that have something new. A fetch that finds too few bytes waits until one of its partitions is written, or
its time is over.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from decoders.limits import MOCK_SESSIONS_MAX
from decoders.mocking.build_response_bodies import Outcome, RequestRow, ResponseBody, ResponseRow, build_refusal_body
from decoders.mocking.cluster_state import Call, MockCluster, Timer, TopicPartition
from decoders.mocking.partition_log import MAGIC, PartitionLog, rewrite_without_codec
from decoders.mocking.refusal_error import Refusal
from decoders.named_tuple import NamedTuple

__all__ = ["Fetches"]

_LAST_EPOCH: Final = 2**31 - 1
_WAIT_MAX_MS: Final = 60_000

# Name or id of a topic, number of a partition.
PartitionKey = tuple[str | UUID, int]


@dataclass(slots=True)
class _Session:
    """`partitions`: what the client asks for; `offsets_sent`: last sent (high watermark, start, stable end)."""

    id: int
    epoch: int
    partitions: dict[PartitionKey, dict[str, Any]] = field(default_factory=dict)
    offsets_sent: dict[PartitionKey, tuple[int, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _WaitingFetch:
    call: Call
    session: _Session | None
    incremental: bool
    partitions: dict[PartitionKey, dict[str, Any]]
    places: set[TopicPartition]
    timer: Timer | None = None


class _FetchedRows(NamedTuple):
    """Rows of a response by partition, their bytes of records, whether a row has an error."""

    rows: list[tuple[PartitionKey, dict[str, Any]]]
    size: int
    failed: bool


class Fetches:
    """The sessions of each node, and the fetches that wait."""

    def __init__(self, cluster: MockCluster) -> None:
        self.cluster = cluster
        self._sessions: dict[int, OrderedDict[int, _Session]] = {}
        self._waiting: dict[int, _WaitingFetch] = {}
        cluster.append_watchers.append(self._answer_fetches_waiting_for)

    def handle_fetch(self, call: Call) -> ResponseBody | Outcome:
        """Answer a Fetch request, or keep it waiting. Raises Refusal."""
        body = call.body
        asked: dict[PartitionKey, dict[str, Any]] = {
            (topic.get("topic_id") or topic["topic"], row["partition"]): row
            for topic in body["topics"]
            for row in topic["partitions"]
        }
        session, incremental = self._find_or_make_session(call, asked)
        waiting = _WaitingFetch(call, session, incremental, session.partitions if session else asked, set())
        answer, size, failed = self._build_partition_rows(waiting)
        wait_ms = min(body["max_wait_ms"], _WAIT_MAX_MS)
        if failed or not waiting.partitions or wait_ms <= 0 or size >= body["min_bytes"]:
            return self._build_response(waiting, answer)
        number = self.cluster.next_unique_number()
        waiting.timer = self.cluster.schedule(wait_ms, lambda: self._answer_at_timeout(number))
        self._waiting[number] = waiting
        return Outcome.WAIT

    def _find_or_make_session(
        self, call: Call, asked_partitions: dict[PartitionKey, dict[str, Any]]
    ) -> tuple[_Session | None, bool]:
        """The session of a request, brought up to date, and whether the request is incremental. Raises Refusal."""
        body = call.body
        epoch, session_id = body.get("session_epoch", -1), body.get("session_id", 0)
        sessions = self._sessions.setdefault(call.node, OrderedDict())
        if epoch in (0, -1):
            sessions.pop(session_id, None)
            if epoch:
                return None, False
            while len(sessions) >= MOCK_SESSIONS_MAX:
                sessions.popitem(last=False)
            session = _Session(self.cluster.next_unique_number(), 1, asked_partitions)
            sessions[session.id] = session
            return session, False
        found = sessions.get(session_id)
        if found is None:
            raise Refusal("FETCH_SESSION_ID_NOT_FOUND")
        if epoch != found.epoch:
            raise Refusal("INVALID_FETCH_SESSION_EPOCH")
        sessions.move_to_end(session_id)
        found.epoch = 1 if epoch == _LAST_EPOCH else epoch + 1
        for key, row in asked_partitions.items():
            found.partitions[key] = row
            found.offsets_sent.pop(key, None)
        for topic in body["forgotten_topics_data"]:
            for number in topic["partitions"]:
                key = (topic.get("topic_id") or topic["topic"], number)
                found.partitions.pop(key, None)
                found.offsets_sent.pop(key, None)
        return found, True

    def _build_partition_rows(self, waiting: _WaitingFetch) -> _FetchedRows:
        """The rows of the response as it would be now."""
        left = max(waiting.call.body.get("max_bytes", 2**31 - 1), 0)
        rows: list[tuple[PartitionKey, dict[str, Any]]] = []
        total, failed = 0, False
        waiting.places.clear()
        for key, asked in waiting.partitions.items():
            row = self._build_partition_row(waiting, key, asked, left, first=total == 0)
            total += len(row["records"])
            left = max(left - len(row["records"]), 0)
            failed |= row["error_code"] != 0
            rows.append((key, row))
        return _FetchedRows(rows, total, failed)

    def _build_partition_row(
        self, waiting: _WaitingFetch, key: PartitionKey, asked_partition: RequestRow, left: int, *, first: bool
    ) -> ResponseRow:
        cluster, call = self.cluster, waiting.call
        named = _build_topic_field(key)
        try:
            topic = cluster.find_topic(named)
            cluster.raise_recorded_error(call, topic.name, key[1])
            log = cluster.find_log(topic, key[1], call.node)
            offset = asked_partition["fetch_offset"]
            if not log.start <= offset <= log.end:
                raise Refusal("OFFSET_OUT_OF_RANGE")
        except Refusal as refusal:
            answer = build_refusal_body(
                call, refusal, {"topics": [{**named, "partitions": [asked_partition]}]}, in_partitions=True
            )
            row: dict[str, Any] = answer["responses"][0]["partitions"][0]
            return row
        waiting.places.add((topic.name, key[1]))
        row = {
            "partition_index": key[1],
            "error_code": 0,
            "high_watermark": log.end,
            "last_stable_offset": log.last_stable_offset,
            "log_start_offset": log.start,
            "aborted_transactions": None,
        }
        self._add_records_to_row(
            call, log, offset, min(left, max(asked_partition["partition_max_bytes"], 0)), row, first=first
        )
        return row

    def _add_records_to_row(
        self, call: Call, log: PartitionLog, offset: int, size: int, row: dict[str, Any], *, first: bool
    ) -> None:
        committed_only = call.body.get("isolation_level", 0) == 1
        end = log.last_stable_offset if committed_only else log.end
        # Before version 3 brokers cut off a batch that does not fit, its client asks for more bytes. Whole is better.
        found = log.read_batches(offset, size, end, at_least_one=first)
        if committed_only:
            row["aborted_transactions"] = [
                {"producer_id": abort.producer_id, "first_offset": abort.first_offset}
                for abort in (log.find_aborted_between(offset, found[-1].last_offset) if found else ())
            ]
        magic = 0 if call.version < 2 else 1 if call.version < 4 else MAGIC
        row["records"] = b"".join(
            batch.data
            if magic == MAGIC and (batch.codec != "zstd" or call.version >= 10)
            else rewrite_without_codec(batch, magic)
            for batch in found
        )

    def _build_response(self, waiting: _WaitingFetch, rows: list[tuple[PartitionKey, dict[str, Any]]]) -> ResponseBody:
        """The body of the response; of an incremental response only the rows that are new."""
        session = waiting.session
        topics: dict[str | UUID, dict[str, Any]] = {}
        for key, row in rows:
            news = (row["high_watermark"], row.get("log_start_offset", -1), row.get("last_stable_offset", -1))
            if session is not None:
                known = session.offsets_sent.get(key)
                session.offsets_sent[key] = news
                if waiting.incremental and not row["records"] and not row["error_code"] and known == news:
                    continue
            topics.setdefault(key[0], {**_build_topic_field(key), "partitions": []})["partitions"].append(row)
        return {
            "error_code": 0,
            "session_id": 0 if session is None else session.id,
            "responses": list(topics.values()),
        }

    def _answer_fetches_waiting_for(self, place: TopicPartition) -> None:
        for number, waiting in list(self._waiting.items()):
            if waiting.call.has_client_left:
                self._drop_waiting_fetch(number)
            elif place in waiting.places:
                rows, size, failed = self._build_partition_rows(waiting)
                if failed or size >= waiting.call.body["min_bytes"]:
                    self._drop_waiting_fetch(number)
                    waiting.call.send_late_answer(self._build_response(waiting, rows))

    def _answer_at_timeout(self, number: int) -> None:
        waiting = self._waiting.pop(number)
        if not waiting.call.has_client_left:
            waiting.call.send_late_answer(self._build_response(waiting, self._build_partition_rows(waiting).rows))

    def _drop_waiting_fetch(self, number: int) -> None:
        timer = self._waiting.pop(number).timer
        if timer is not None:
            timer.cancel()


def _build_topic_field(key: PartitionKey) -> dict[str, Any]:
    """The field that names the topic of a partition in requests and responses."""
    return {"topic_id" if isinstance(key[0], UUID) else "topic": key[0]}
