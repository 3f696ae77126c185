"""Names and numbers of partitions in, topics on a cluster out, made with requests of our own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from decoders.apis.error_codes import error_name
from decoders.apis.keys import CREATE_TOPICS
from kwcli.exits import Failure
from kwcli.playground.client import Client

__all__ = ["make_topics"]

_EXISTS: Final = 36
# Brokers that have just started and are not known to the controller yet; a controller that has no leader yet.
_SOON: Final = frozenset({5, 7, 14, 15, 38, 41})
_WAIT_S: Final = 20.0


def make_topics(bootstrap: str, topics: Sequence[tuple[str, int]], copies: int) -> None:
    """Make topics with so many copies; those that exist stay. Raises Failure with what the cluster says."""
    deadline = time.monotonic() + _WAIT_S
    left: list[tuple[str, int]] = list(topics)
    with Client(bootstrap, "playground") as client:
        while left:
            answer = client.request(client.again().any(), CREATE_TOPICS, _wanted(left, copies))
            bad = [row for row in answer["topics"] if row["error_code"] not in (0, _EXISTS)]
            for row in bad:
                if row["error_code"] not in _SOON or time.monotonic() > deadline:
                    raise Failure(f"topic {row['name']}: {error_name(row['error_code'])}: {row.get('error_message')}")
            left = [(name, count) for name, count in left if name in {row["name"] for row in bad}]
            if left:
                time.sleep(0.1)


def _wanted(topics: Sequence[tuple[str, int]], copies: int) -> dict[str, Any]:
    rows = [{"name": name, "num_partitions": count, "replication_factor": copies} for name, count in topics]
    return {"topics": rows, "timeout_ms": 10_000}
