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

__all__ = ["find_causes", "has_harmed_clients", "sort_by_cause"]

# What began this long after its cause was last seen, or ended as long before, still belongs to it.
_SLACK_NS: Final = 10 * NS


def _nodes_of_finding(found: Found) -> set[str]:
    values = found.values
    named = {str(node) for node in values.get("nodes") or ()}
    return named | {str(values[key]) for key in ("node_id", "address", "broker") if values.get(key) is not None}


def _topics_of_finding(found: Found) -> set[str]:
    values = found.values
    topics = {str(values["topic"])} if values.get("topic") else set()
    topics |= {str(topic) for name in ("topics", "topics_of_node") for topic in values.get(name) or ()}
    return topics | {place.rpartition("-")[0] for place in values.get("partitions_of_node") or ()}


def _clients_of_finding(found: Found) -> set[str]:
    values = found.values
    return {*(values.get("clients") or ()), *(str(values[key]) for key in ("client_id", "client") if values.get(key))}


def _topic_client_pairs(found: Found) -> set[str]:
    return {f"{topic} {client}" for topic in _topics_of_finding(found) for client in _clients_of_finding(found)}


def _brokers_of_finding(found: Found) -> set[str]:
    return {found.values["broker"]} if found.values.get("broker") else set()


def _broker_client_pairs(found: Found) -> set[str]:
    return {
        f"{broker} {client}" for broker in _brokers_of_finding(found) or {""} for client in _clients_of_finding(found)
    }


def _broker_host_pairs(found: Found) -> set[str]:
    return {f"{broker} {found.values['host']}" for broker in _brokers_of_finding(found) if found.values.get("host")}


def _groups_of_finding(found: Found) -> set[str]:
    return {found.values["group"]} if found.values.get("group") else set()


def _groups_of_other_protocol(found: Found) -> set[str]:
    """Groups that a member is refused in as they have members of the other protocol: these have all partitions."""
    return _groups_of_finding(found) if found.id != OTHER or found.values.get("other_protocol") else set()


def _of_unsure_leave(shared: Callable[[Found], set[str]]) -> Callable[[Found], set[str]]:
    """What a finding shares with that of a member that left, where nothing says that its program did not poll.

    A note is about what passed in a moment: nobody left for it.
    """

    def list_shared(found: Found) -> set[str]:
        if found.id != "poll-stopped":
            return shared(found) if found.severity != "note" else set()
        return (shared(found) | (found.values.get("topics_read") or set())) if found.values.get("likely") else set()

    return list_shared


def _transactional_ids_of_finding(found: Found) -> set[str]:
    return {found.values["transactional_id"]} if found.values.get("transactional_id") else set()


def _topics_lacking_replicas(found: Found) -> set[str]:
    """A broker whose partitions are not known shares writes that lack replicas with whoever lacks them."""
    if found.id == "replicas-missing":
        return _topics_of_finding(found) | {""}
    return _topics_of_finding(found) or {""}


def _key_of_coordination(found: Found) -> set[str]:
    """Groups and transactions need replicas of topics of the cluster's own, which clients do not name."""
    if found.id in ("unanswered", "requests-pending"):
        return {""} if found.values.get("api") in _COORDINATED else set()
    return {""}


def _key_of_metadata_log(found: Found) -> set[str]:
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
    ("cluster-mixed", ("broker-gone", "broker-down", "no-connection"), _nodes_of_finding),
    ("cluster-mixed", ("election",), lambda _: {""}),
    (
        "cluster-anew",
        (
            *("topic-unknown", "offset-out-of-range", "position-missing", "producer-forgotten", "sequence-broken"),
            *("producer-fenced", "member-fenced"),
        ),
        _clients_of_finding,
    ),
    ("broker-restarts", ("broker-silent", "broker-gone", "broker-back", "broker-down"), _nodes_of_finding),
    ("broker-silent", ("broker-gone", "broker-back"), _nodes_of_finding),
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
                _nodes_of_finding,
            ),
            (
                ("leader-missing", "leader-moved", "isr-shrunk", "isr-flapping", "timed-out", "leaders-move"),
                _topics_of_finding,
            ),
            (("replicas-missing",), _topics_lacking_replicas),
            (("requests-pending",), _nodes_of_finding),
            (("metadata-storm",), _clients_of_finding),
            (("unanswered", "requests-pending", "coordinator-moved"), _key_of_coordination),
        )
    ),
    *(
        (cause, ("unanswered", "requests-pending", "sent-again", "sent-twice"), _topics_of_finding)
        for cause in ("broker-silent", "broker-down")
    ),
    *((cause, ("election",), lambda _: {""}) for cause in _ABSENT),
    *((cause, ("leader-moved",), _key_of_metadata_log) for cause in (*_ABSENT, "cluster-mixed")),
    *(
        (cause, ("coordinator-never",), _key_of_coordination)
        for cause in ("broker-silent", "broker-down", "broker-gone")
    ),
    ("broker-gone", ("unanswered", "requests-pending"), _topics_of_finding),
    *(
        (cause, ("transaction-stuck",), lambda _: {""})
        for cause in ("broker-silent", "broker-down", "broker-gone", "broker-failed", "partition-offline")
    ),
    ("producer-ids-frequent", ("connection-churn", "metadata-storm"), _clients_of_finding),
    ("broker-failed", ("partition-offline", "leader-missing", "leader-moved"), _topics_of_finding),
    *((cause, ("timestamp-refused",), _clients_of_finding) for cause in ("clock-ahead", "clock-behind")),
    ("lz4-refused", ("broker-failed", "records-refused"), _broker_client_pairs),
    ("sequence-restarted", ("sequence-reused", "sequence-broken", "sent-again"), _topics_of_finding),
    ("sequence-reused", ("sequence-broken", "sent-again"), _topics_of_finding),
    *(
        (cause, ("unanswered", "requests-pending", "idle-cut", "sent-again", "sent-twice"), _clients_of_finding)
        for cause in ("large-unheard", "idle-dropped")
    ),
    ("large-unheard", ("retransmissions",), _broker_host_pairs),
    ("large-unheard", ("answers-unheard",), _broker_host_pairs),
    ("answers-unheard", ("retransmissions",), _broker_host_pairs),
    *((cause, ("group-behind", "lag-growing"), _clients_of_finding) for cause in ("large-unheard", "answers-unheard")),
    ("answers-unheard", ("unanswered", "requests-pending", "idle-cut"), _clients_of_finding),
    ("connection-filtered", ("unanswered", "connection-churn", "metadata-storm"), _clients_of_finding),
    # Followers that do not reach a leader fall out of sync, and writes wait for them.
    ("connection-filtered", ("isr-shrunk", "isr-flapping", "replicas-missing", "under-replicated"), _topics_of_finding),
    ("connection-filtered", ("follower-behind", "timed-out", "unanswered", "sent-again"), _topics_of_finding),
    *(
        (cause, ("unanswered", "connection-churn"), _clients_of_finding)
        for cause in ("entry-unanswered", "entry-closed")
    ),
    ("advertised-shared", ("leader-moved", "leader-missing"), lambda _: {""}),
    ("client-stranded", ("metadata-storm",), _clients_of_finding),
    ("other-node-answers", ("leader-moved", "sent-again"), _topics_of_finding),
    ("other-node-answers", ("metadata-storm",), _clients_of_finding),
    ("broker-fenced", ("broker-gone", "broker-back", "under-replicated", "partition-offline"), _nodes_of_finding),
    ("move-stalled", ("follower-behind", "under-replicated"), _topics_of_finding),
    ("other-node-answers", ("coordinator-moved",), _groups_of_finding),
    ("tls-refused", ("connection-churn",), _clients_of_finding),
    ("proxy-head-refused", ("unanswered", "versions-closed", "connection-churn"), _brokers_of_finding),
    *(
        (cause, ("unanswered", "connection-churn", "metadata-storm"), _clients_of_finding)
        for cause in (
            "login-missing",
            "login-expired",
            "login-failed",
            "request-closed",
            "version-refused",
            "request-too-large",
        )
    ),
    ("partition-offline", ("leader-missing", "leader-moved"), _topics_of_finding),
    *(
        (cause, ("replicas-missing", "under-replicated"), _topics_of_finding)
        for cause in ("isr-shrunk", "isr-flapping")
    ),
    ("leaders-move", ("leader-moved",), _topics_of_finding),
    ("records-corrupt", ("records-refused",), _topics_of_finding),
    ("records-corrupt", ("offset-out-of-range", "read-again", "group-behind", "lag-growing"), _topic_client_pairs),
    *(
        (cause, ("request-closed", "request-odd"), _clients_of_finding)
        for cause in ("header-tags", "array-beyond-frame")
    ),
    ("leader-missing", ("metadata-storm",), _clients_of_finding),
    # Who is told that it asked the wrong node looks for the leader, and can neither write nor read until it knows.
    ("leader-moved", ("metadata-storm",), _clients_of_finding),
    ("leader-moved", ("assigned-unread", "sent-again"), _topics_of_finding),
    ("topic-unknown", ("metadata-storm",), _clients_of_finding),
    ("topic-unknown", ("sent-again",), _topics_of_finding),
    ("name-shared", ("producer-fenced", "answered-with-error", "transactions-abort"), _transactional_ids_of_finding),
    ("name-shared", ("member-fenced", "rebalance-storm"), _groups_of_finding),
    *(
        (cause, ("poll-stopped",), _of_unsure_leave(_topics_of_finding))
        for cause in _ABSENT
        if cause != "broker-silent"
    ),
    *(
        (cause, ("poll-stopped",), _of_unsure_leave(_clients_of_finding))
        for cause in ("broker-silent", *_UNREACHED, "throttled", "login-failed", "version-refused")
    ),
    *(
        (cause, ("poll-stopped",), _of_unsure_leave(_groups_of_finding))
        for cause in ("coordinator-never", "coordinator-moved", "requests-pending")
    ),
    ("poll-stopped", ("rebalance-storm", "member-fenced"), _groups_of_finding),
    ("rebalance-storm", ("member-fenced",), _groups_of_finding),
    ("throttled", ("quota-exceeded",), _clients_of_finding),
    # A broker reads nothing of a connection for as long as it throttles it.
    ("throttled", ("zero-window", "unanswered"), _broker_client_pairs),
    ("codec-too-new", ("read-again", "lag-growing", "group-behind"), _clients_of_finding),
    *(
        (cause, ("group-behind", "lag-growing"), _groups_of_finding)
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
        (cause, ("group-behind",), _groups_of_finding)
        for cause in ("name-shared", "position-missing", "assigned-unread", "member-fenced")
    ),
    ("throttled", ("group-behind",), _clients_of_finding),
    # Who gets no answer reads nothing.
    *(
        (cause, ("group-behind", "lag-growing"), _clients_of_finding)
        for cause in ("version-refused", "login-failed", "login-expired", "login-missing", "connection-filtered")
    ),
    (OTHER, ("group-behind",), _groups_of_other_protocol),
    ("group-behind", ("lag-growing",), _clients_of_finding),
    ("share-lock-ended", ("records-archived",), _groups_of_finding),
    (
        "revocation-pending",
        ("members-idle", "poll-stopped", "assigned-unread", "group-behind", "lag-growing"),
        _groups_of_finding,
    ),
    ("timestamps-early", ("offset-out-of-range", "read-past", "timestamp-refused"), _topics_of_finding),
    ("position-missing", ("offset-out-of-range",), _topics_of_finding),
    (
        "topic-created-unasked",
        ("topic-unknown", "already-there", "offset-out-of-range", "leader-missing", "commit-lost"),
        _topics_of_finding,
    ),
    ("topic-unknown", ("offset-out-of-range", "commit-lost"), _topics_of_finding),
    ("acknowledged-lost", ("sequence-broken", "offset-out-of-range", "sequence-restarted"), _topics_of_finding),
    ("group-mixed", ("rebalance-storm", "member-fenced"), _groups_of_finding),
    ("offsets-set", ("offset-out-of-range", "read-past"), _topics_of_finding),
    ("commit-lost", ("read-past",), _groups_of_finding),
    ("heartbeats-late", ("rebalance-storm", "member-fenced"), _groups_of_finding),
    *(
        ("answer-too-large", effects, shared)
        for effects, shared in (
            (("unanswered", "connection-churn", "metadata-storm"), _clients_of_finding),
            (("poll-stopped", "group-behind", "lag-growing", "rebalance-storm"), _groups_of_finding),
        )
    ),
    *(
        (cause, effects, shared)
        for cause in ("fetch-abandoned", "join-abandoned")
        for effects, shared in (
            (("unanswered", "connection-churn", "metadata-storm"), _clients_of_finding),
            (
                ("rebalance-storm", "member-fenced", "heartbeats-late", "poll-stopped", "group-behind"),
                _groups_of_finding,
            ),
        )
    ),
    ("fetch-loop", ("busiest-client",), _clients_of_finding),
    ("metadata-storm", ("busiest-client",), _clients_of_finding),
    ("connection-churn", ("busiest-client",), _clients_of_finding),
)


def has_harmed_clients(found: Found) -> bool:
    """Whether clients felt what a finding tells: controllers elect a leader among themselves at each restart."""
    is_of_controllers = found.id == "election" or found.values.get("topic") == METADATA_TOPIC
    return found.severity != "note" and not is_of_controllers


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
    return {place: _list_root_causes(causes, some) for place, some in causes.items()}


def _note_causes(causes: dict[int, list[int]], findings: list[Found], place: int, some: list[int]) -> None:
    found = [at for at in some if at != place and _overlap_in_time(findings[at], findings[place])]
    if found:
        causes[place] = _list_root_causes(causes, found)


def _list_root_causes(causes: dict[int, list[int]], places: list[int]) -> list[int]:
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
