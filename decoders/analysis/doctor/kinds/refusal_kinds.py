"""Findings about refused requests whose cause other exchanges show. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, WARNING, FindingKind

__all__ = ["REFUSAL_KINDS"]

REFUSAL_KINDS: Final[dict[str, FindingKind]] = {
    "coordinator-never": FindingKind(
        ERROR,
        "no {what} gets a coordinator: {error} ({api}) on each look-up ({names}){likely}",
        "{why}; until it is there, {harm}",
        "look into the controller's log for why {topic} is not made or has no leader; give {setting} a value of at most"
        " the number of brokers, or start the brokers that lack",
        went_on=WARNING,
    ),
    "not-a-member": FindingKind(
        ERROR,
        "{clients} cannot commit for group {group}: {error} ({api}), as it is no member of it{members}",
        "its commits have no member id and no generation: it assigns its partitions itself (assign()), and a group with"
        " members takes commits of these alone",
        "give it a group.id of its own, or have it subscribe as the members do; heartbeats and polls are not to blame",
        went_on=WARNING,
    ),
    "transaction-expired": FindingKind(
        ERROR,
        "a transaction of {name} ({clients}) was open for more than {open}, its transaction.timeout.ms is {timeout}:"
        " {api} is refused with {error}",
        "the coordinator has aborted the transaction and raised the producer's epoch: what it wrote and what it was to"
        " commit is thrown away; nobody else asked for the transactional id in that time",
        "commit sooner (less work in a transaction), or raise transaction.timeout.ms, up to transaction.max.timeout.ms"
        " of the broker",
        went_on=WARNING,
    ),
    "codec-too-new": FindingKind(
        WARNING,
        "{client}{of_group} gets batches of {topic} compressed with {codec}, and asks with Fetch {version}: {codec}"
        " needs Fetch {least}{stuck}{changed}",
        "the client is likely older than {codec} and cannot read them: it fails at each such batch, or passes over its"
        " records",
        "upgrade the client, or set compression.type of the topic back to what it reads (batches that are there stay as"
        " they are)",
        went_on=WARNING,
    ),
}
