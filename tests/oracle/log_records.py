"""Records that consumers read, against those in Fetch and ShareFetch responses of the capture, one by one."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["compare_records", "fetched"]

Place = tuple[str, int, int]
Content = tuple[int, str | None, str | None, tuple[tuple[str, str | None], ...]]

_FETCH, _SHARE_FETCH = 1, 78


def compare_records(exchanges: Iterable[Mapping[str, Any]], read: Iterable[Mapping[str, Any]]) -> tuple[list[str], int]:
    """The problems, and the number of records compared."""
    have: dict[Place, set[Content]] = {}
    for place, content in fetched(exchanges):
        have.setdefault(place, set()).add(content)
    problems: list[str] = []
    counts: Counter[str] = Counter()
    for record in read:
        place = (record["topic"], record["partition"], record["offset"])
        headers = tuple((name, data) for name, data in record["headers"])
        content = (record["timestamp"], record["key"], record["value"], headers)
        counts["records"] += 1
        if place not in have:
            problems.append(f"{place}: read by a client, in no Fetch")
        elif content not in have[place]:
            problems.append(f"{place}: a client read {content!r:.300}, the capture has {have[place]!r:.300}")
    return problems, counts["records"]


def fetched(exchanges: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Place, Content]]:
    """Every record of every Fetch and ShareFetch response (NDJSON records with `--records`)."""
    for exchange in exchanges:
        if exchange.get("api_key") in (_FETCH, _SHARE_FETCH) and exchange["response"] is not None:
            names = exchange.get("topic_names", {})
            for topic in exchange["response"].get("responses", []):
                name = topic.get("topic") or names.get(topic.get("topic_id"), "")
                for partition in topic.get("partitions", []):
                    yield from _records(name, partition.get("partition_index", -1), partition.get("records") or [])


def _records(topic: str, partition: int, batches: list[dict[str, Any]]) -> Iterator[tuple[Place, Content]]:
    for batch in batches:
        for record in batch.get("records", []):
            headers = tuple((header["key"], _base64(header["value"])) for header in record.get("headers") or [])
            timestamp = -1 if record["timestamp"] is None else record["timestamp"]
            content = (timestamp, _base64(record["key"]), _base64(record["value"]), headers)
            yield (topic, partition, record["offset"]), content


def _base64(value: Any) -> str | None:
    if isinstance(value, dict):  # structures, in records of internal topics, are nothing that a client has read
        return str(value.get("base64", value))
    return None if value is None else base64.b64encode(value.encode()).decode()
