"""Findings in, the same findings with their causes out: the consequences of one cause follow it.

Theory of operation. A finding is a consequence of another one if a row of CAUSES says that the one can bring the other,
if both share what the row names (a node, topic, client, broker or group), and if their times overlap. Rows stand in the
order of depth: of several causes the first counts, and the cause of a cause is that of its consequences. So two causes
that have nothing in common stay two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import NS, Found
from decoders.analysis.doctor.finding_kinds import OTHER, SEVERITIES
from decoders.exchanges.topic_and_node_names import METADATA_TOPIC

__all__ = ["find_causes", "sort_by_cause"]

# What began this long after its cause was last seen, or ended as long before, still belongs to it.
_SLACK_NS: Final = 10 * NS


def _nodes(found: Found) -> set[str]:
    values = found.values
    named = {str(node) for node in values.get("nodes") or ()}
    return named | {str(values[key]) for key in ("node_id", "address", "broker") if values.get(key) is not None}


def _topics(found: Found) -> set[str]:
    values = found.values
    topics = {str(values["topic"])} if values.get("topic") else set()
    topics |= {str(topic) for name in ("topics", "topics_of_node") for topic in values.get(name) or ()}
    return topics | {place.rpartition("-")[0] for place in values.get("partitions_of_node") or ()}


def _clients(found: Found) -> set[str]:
    values = found.values
    return {*(values.get("clients") or ()), *(str(values[key]) for key in ("client_id", "client") if values.get(key))}


def _topics_and_clients(found: Found) -> set[str]:
    return {f"{topic} {client}" for topic in _topics(found) for client in _clients(found)}


def _brokers(found: Found) -> set[str]:
    return {found.values["broker"]} if found.values.get("broker") else set()


def _brokers_and_clients(found: Found) -> set[str]:
    return {f"{broker} {client}" for broker in _brokers(found) or {""} for client in _clients(found)}


def _brokers_and_hosts(found: Found) -> set[str]:
    return {f"{broker} {found.values['host']}" for broker in _brokers(found) if found.values.get("host")}


def _groups(found: Found) -> set[str]:
    return {found.values["group"]} if found.values.get("group") else set()


def _groups_of_other_protocol(found: Found) -> set[str]:
    """Groups that a member is refused in as they have members of the other protocol: these have all partitions."""
    return _groups(found) if found.id != OTHER or found.values.get("other_protocol") else set()


def _of_unsure_leave(shared: Callable[[Found], set[str]]) -> Callable[[Found], set[str]]:
    """What a finding shares with that of a member that left, where nothing says that its program did not poll.

    A note is about what passed in a moment: nobody left for it.
    """

    def list_shared(found: Found) -> set[str]:
        if found.id != "poll-stopped":
            return shared(found) if found.severity != "note" else set()
        return (shared(found) | (found.values.get("topics_read") or set())) if found.values.get("likely") else set()

    return list_shared


def _transactional_ids(found: Found) -> set[str]:
    return {found.values["transactional_id"]} if found.values.get("transactional_id") else set()


def _missing_replicas(found: Found) -> set[str]:
    """A broker whose partitions are not known shares writes that lack replicas with whoever lacks them."""
    if found.id == "replicas-missing":
        return _topics(found) | {""}
    return _topics(found) or {""}


def _coordination(found: Found) -> set[str]:
    """Groups and transactions need replicas of topics of the cluster's own, which clients do not name."""
    if found.id in ("unanswered", "requests-pending"):
        return {""} if found.values.get("api") in _COORDINATED else set()
    return {""}


def _metadata_log(found: Found) -> set[str]:
    """Followers of the metadata log look for another leader when a node is gone, whichever node it is."""
    return {""} if found.id != "leader-moved" or found.values.get("topic") == METADATA_TOPIC else set()


# Findings about nodes that are not there, from the surest on.
_ABSENT: Final = ("broker-restarts", "broker-silent", "broker-down", "broker-gone", "broker-back")
# Findings about clients that do not get through to brokers.
_UNREACHED: Final = (
    *("large-unheard", "answers-unheard", "connection-filtered", "idle-dropped", "login-expired", "login-missing"),
)
# What a coordinator answers once the replicas of its log have what it writes, or waits for members that write it.
_COORDINATED: Final = frozenset(
    {
        *("JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat", "OffsetCommit", "TxnOffsetCommit", "InitProducerId"),
        *("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "ConsumerGroupHeartbeat"),
    }
)

# Cause, consequence, and what both must have in common: one of it is enough.
CAUSES: Final[tuple[tuple[str, tuple[str, ...], Callable[[Found], set[str]]], ...]] = (
    ("cluster-mixed", ("broker-gone", "broker-down", "no-connection"), _nodes),
    ("cluster-mixed", ("election",), lambda _: {""}),
    ("broker-restarts", ("broker-silent", "broker-gone", "broker-back", "broker-down"), _nodes),
    ("broker-silent", ("broker-gone", "broker-back"), _nodes),
    *(
        (cause, effects, shared)
        for cause in _ABSENT
        for effects, shared in (
            (
                (
                    "partition-offline",
                    "under-replicated",
                    "follower-behind",
                    "no-connection",
                    "unanswered",
                    "entry-unanswered",
                ),
                _nodes,
            ),
            (("leader-missing", "leader-moved", "isr-shrunk", "isr-flapping", "timed-out", "leaders-move"), _topics),
            (("replicas-missing",), _missing_replicas),
            (("requests-pending",), _nodes),
            (("metadata-storm",), _clients),
            (("unanswered", "requests-pending", "coordinator-moved"), _coordination),
        )
    ),
    *(
        (cause, ("unanswered", "requests-pending", "sent-again", "sent-twice"), _topics)
        for cause in ("broker-silent", "broker-down")
    ),
    *((cause, ("election",), lambda _: {""}) for cause in _ABSENT),
    *((cause, ("leader-moved",), _metadata_log) for cause in (*_ABSENT, "cluster-mixed")),
    *((cause, ("coordinator-never",), _coordination) for cause in ("broker-silent", "broker-down", "broker-gone")),
    ("broker-gone", ("unanswered", "requests-pending"), _topics),
    *(
        (cause, ("transaction-stuck",), lambda _: {""})
        for cause in ("broker-silent", "broker-down", "broker-gone", "broker-failed", "partition-offline")
    ),
    ("producer-ids-frequent", ("connection-churn", "metadata-storm"), _clients),
    ("broker-failed", ("partition-offline", "leader-missing", "leader-moved"), _topics),
    *((cause, ("timestamp-refused",), _clients) for cause in ("clock-ahead", "clock-behind")),
    ("lz4-refused", ("broker-failed", "records-refused"), _brokers_and_clients),
    ("sequence-restarted", ("sequence-reused", "sequence-broken", "sent-again"), _topics),
    ("sequence-reused", ("sequence-broken", "sent-again"), _topics),
    *(
        (cause, ("unanswered", "requests-pending", "idle-cut", "sent-again", "sent-twice"), _clients)
        for cause in ("large-unheard", "idle-dropped")
    ),
    ("large-unheard", ("retransmissions",), _brokers_and_hosts),
    ("large-unheard", ("answers-unheard",), _brokers_and_hosts),
    ("answers-unheard", ("retransmissions",), _brokers_and_hosts),
    *((cause, ("group-behind", "lag-growing"), _clients) for cause in ("large-unheard", "answers-unheard")),
    ("answers-unheard", ("unanswered", "requests-pending", "idle-cut"), _clients),
    ("connection-filtered", ("unanswered", "connection-churn", "metadata-storm"), _clients),
    *((cause, ("unanswered", "connection-churn"), _clients) for cause in ("entry-unanswered", "entry-closed")),
    ("advertised-shared", ("leader-moved", "leader-missing"), lambda _: {""}),
    ("client-stranded", ("metadata-storm",), _clients),
    ("other-node-answers", ("leader-moved", "sent-again"), _topics),
    ("other-node-answers", ("metadata-storm",), _clients),
    ("broker-fenced", ("broker-gone", "broker-back", "under-replicated", "partition-offline"), _nodes),
    ("move-stalled", ("follower-behind", "under-replicated"), _topics),
    ("other-node-answers", ("coordinator-moved",), _groups),
    ("tls-refused", ("connection-churn",), _clients),
    ("proxy-head-refused", ("unanswered", "versions-closed", "connection-churn"), _brokers),
    *(
        (cause, ("unanswered", "connection-churn", "metadata-storm"), _clients)
        for cause in (
            "login-missing",
            "login-expired",
            "login-failed",
            "request-closed",
            "version-refused",
            "request-too-large",
        )
    ),
    ("partition-offline", ("leader-missing", "leader-moved"), _topics),
    *((cause, ("replicas-missing", "under-replicated"), _topics) for cause in ("isr-shrunk", "isr-flapping")),
    ("leaders-move", ("leader-moved",), _topics),
    ("records-corrupt", ("records-refused",), _topics),
    ("records-corrupt", ("offset-out-of-range", "read-again", "group-behind", "lag-growing"), _topics_and_clients),
    *((cause, ("request-closed", "request-odd"), _clients) for cause in ("header-tags", "array-beyond-frame")),
    ("leader-missing", ("metadata-storm",), _clients),
    ("topic-unknown", ("metadata-storm",), _clients),
    ("topic-unknown", ("sent-again",), _topics),
    ("name-shared", ("producer-fenced", "answered-with-error", "transactions-abort"), _transactional_ids),
    ("name-shared", ("member-fenced", "rebalance-storm"), _groups),
    *((cause, ("poll-stopped",), _of_unsure_leave(_topics)) for cause in _ABSENT if cause != "broker-silent"),
    *(
        (cause, ("poll-stopped",), _of_unsure_leave(_clients))
        for cause in ("broker-silent", *_UNREACHED, "throttled", "login-failed", "version-refused")
    ),
    *(
        (cause, ("poll-stopped",), _of_unsure_leave(_groups))
        for cause in ("coordinator-never", "coordinator-moved", "requests-pending")
    ),
    ("poll-stopped", ("rebalance-storm", "member-fenced"), _groups),
    ("rebalance-storm", ("member-fenced",), _groups),
    ("throttled", ("quota-exceeded",), _clients),
    # A broker reads nothing of a connection for as long as it throttles it.
    ("throttled", ("zero-window", "unanswered"), _brokers_and_clients),
    ("codec-too-new", ("read-again", "lag-growing", "group-behind"), _clients),
    *(
        (cause, ("group-behind", "lag-growing"), _groups)
        for cause in (
            "revocation-pending",
            "start-repeated",
            "poll-stopped",
            "rebalance-storm",
            "requests-pending",
            "heartbeats-late",
        )
    ),
    *(
        (cause, ("group-behind",), _groups)
        for cause in ("name-shared", "position-missing", "assigned-unread", "member-fenced")
    ),
    ("throttled", ("group-behind",), _clients),
    # Who gets no answer reads nothing.
    *(
        (cause, ("group-behind", "lag-growing"), _clients)
        for cause in ("version-refused", "login-failed", "login-expired", "login-missing", "connection-filtered")
    ),
    (OTHER, ("group-behind",), _groups_of_other_protocol),
    ("group-behind", ("lag-growing",), _clients),
    ("revocation-pending", ("members-idle", "poll-stopped", "assigned-unread", "group-behind", "lag-growing"), _groups),
    ("timestamps-early", ("offset-out-of-range", "read-past", "timestamp-refused"), _topics),
    ("position-missing", ("offset-out-of-range",), _topics),
    ("topic-created-unasked", ("topic-unknown", "already-there", "offset-out-of-range", "leader-missing"), _topics),
    ("topic-unknown", ("offset-out-of-range",), _topics),
    ("acknowledged-lost", ("sequence-broken", "offset-out-of-range", "sequence-restarted"), _topics),
    ("group-mixed", ("rebalance-storm", "member-fenced"), _groups),
    ("offsets-set", ("offset-out-of-range", "read-past"), _topics),
    ("heartbeats-late", ("rebalance-storm", "member-fenced"), _groups),
    *(
        ("answer-too-large", effects, shared)
        for effects, shared in (
            (("unanswered", "connection-churn", "metadata-storm"), _clients),
            (("poll-stopped", "group-behind", "lag-growing", "rebalance-storm"), _groups),
        )
    ),
    *(
        (cause, effects, shared)
        for cause in ("fetch-abandoned", "join-abandoned")
        for effects, shared in (
            (("unanswered", "connection-churn", "metadata-storm"), _clients),
            (("rebalance-storm", "member-fenced", "heartbeats-late", "poll-stopped", "group-behind"), _groups),
        )
    ),
    ("fetch-loop", ("busiest-client",), _clients),
    ("metadata-storm", ("busiest-client",), _clients),
    ("connection-churn", ("busiest-client",), _clients),
)


def _overlap_in_time(one: Found, other: Found) -> bool:
    if not (one.seen.count and other.seen.count):
        return False
    begins: list[int] = [each.values.get("began_ns", each.seen.first) for each in (one, other)]
    return begins[0] - _SLACK_NS <= other.seen.last and begins[1] - _SLACK_NS <= one.seen.last


def find_causes(findings: list[Found]) -> dict[int, list[int]]:
    """The place of each consequence in the list → the places of its causes, which are nobody's consequences.

    Several causes are of one kind, like two nodes that went away at a time; the first one stands for all of them.
    """
    places: dict[str, list[int]] = {}
    for place, found in enumerate(findings):
        places.setdefault(found.id, []).append(place)
    causes: dict[int, list[int]] = {}
    for cause, effects, shared in CAUSES:
        for place in (place for effect in effects for place in places.get(effect, ())):
            about = shared(findings[place]) if cause in places and place not in causes else ()
            if about:
                _note_causes(causes, findings, place, [at for at in places[cause] if shared(findings[at]) & about])
    return {place: _list_roots(causes, some) for place, some in causes.items()}


def _note_causes(causes: dict[int, list[int]], findings: list[Found], place: int, some: list[int]) -> None:
    found = [at for at in some if at != place and _overlap_in_time(findings[at], findings[place])]
    if found:
        causes[place] = _list_roots(causes, found)


def _list_roots(causes: dict[int, list[int]], places: list[int]) -> list[int]:
    return list(dict.fromkeys(root for at in places for root in causes.get(at, [at])))


def sort_by_cause(findings: Iterable[tuple[Any, int | None]], rank: Callable[[Any], Any]) -> list[Any]:
    """The findings of (finding, place of its cause): causes by the worst of their consequences, each with these."""
    rows = list(findings)
    families: dict[int, list[int]] = {}
    for place, (_, cause) in enumerate(rows):
        families.setdefault(place if cause is None else cause, []).append(place)
    order = []
    for root, members in families.items():
        worst = min(SEVERITIES.index(rows[place][0]["severity"]) for place in members)
        rest = sorted((rows[place][0] for place in members if place != root), key=rank)
        order.append(((worst, rank(rows[root][0])), [rows[root][0], *rest]))
    order.sort(key=lambda item: item[0])
    return [row for _, some in order for row in some]
