"""Observations in; findings about clients that commit each record, or ask for many producer ids, out.

Counts of requests for metadata and of connections in, words for why they are so many out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LISTED, NS, Case, Found, merge_observations, rate_per_second
from decoders.analysis.doctor.observations import Observation, sort_names_by_count

__all__ = ["FREQUENT_REQUESTS", "explain_metadata_requests"]

# Fewer do not weigh, and a few records for each commit are a program that handles them one poll at a time.
_COMMITS_LEAST: Final = 500
_COMMITS_RATE: Final = 20
_RECORDS_MOST: Final = 2
# A program makes its producers when it starts.
_IDS_LEAST: Final = 30
_IDS_RATE: Final = 0.5
# Connections for each request for metadata: more are those of a new client each time, and fewer than the second those
# that a client keeps, one to each broker.
_NEW_SHARE: Final = 1 / 2
_KEPT_SHARE: Final = 1 / 20


def explain_metadata_requests(count: int, connections: int) -> tuple[str, str]:
    """Why a client likely sent so many requests for metadata while it opened so many connections, and what to do."""
    if connections > _NEW_SHARE * count:
        return (
            "it opens connections about as often: likely it creates a new client for each piece of work",
            "keep one client object for the life of the program",
        )
    if connections < _KEPT_SHARE * count:
        return (
            "it looks for a topic or leader again and again, on the connections that it has",
            "look at the errors of its Metadata answers and of its other requests",
        )
    return (
        "it looks for a topic or leader again and again, or creates a new client for each piece of work",
        "look at the errors of its Metadata answers, and keep one client object",
    )


def _find_frequent_commits(case: Case) -> Iterator[Found]:
    """Groups that commit each record on its own: one finding for a group and topic."""
    found: dict[tuple[str, str | None], tuple[float, float, Observation]] = {}
    for (group, topic, _), seen in case.seen.items_of_kind("committed", "offset"):
        (first_ns, first), (last_ns, last) = seen.edges["offset"]
        count = sum(seen.names.get("clients", {}).values())
        span = (last_ns - first_ns) / NS
        if count < _COMMITS_LEAST or span < 1 or count < _COMMITS_RATE * span or last - first >= _RECORDS_MOST * count:
            continue
        its = count / span, (last - first) / count, seen
        found[group, topic] = max(found.get((group, topic), its), its, key=lambda each: each[0])
    for (group, topic), (rate, records, seen) in found.items():
        clients = sort_names_by_count(seen.names["clients"])
        lags = (lag for client in clients for _, lag in case.find_matching_observations("lag", (0, 1), (client, topic)))
        whole = merge_observations(lags)
        if whole.count:  # what they fetch is the evidence
            about: dict[str, Any] = {"group": group, "topic": topic, "clients": clients[:LISTED]}
            about |= {"rate": f"{rate:,.0f}", "records": f"{records:.1f}"}
            yield case.make_finding("commits-frequent", whole, **about)


def _find_frequent_producer_ids(case: Case) -> Iterator[Found]:
    """Clients that ask for producer ids without a transactional id again and again on one host."""
    found: dict[str, list[Observation]] = defaultdict(list)
    for (client, *_), seen in case.seen.items_of_kind("producer-id"):  # older states have no hosts
        if seen.count >= _IDS_LEAST and rate_per_second(seen, seen.count) >= _IDS_RATE:
            found[client].append(seen)
    for client, hosts in found.items():
        whole = merge_observations(hosts)
        rate = rate_per_second(whole, whole.count)
        about = {"client": client, "client_id": client, "clients": [client], "rate": f"{rate:.1f}"}
        yield case.make_finding("producer-ids-frequent", whole, **about)


FREQUENT_REQUESTS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_frequent_commits,
    _find_frequent_producer_ids,
)
