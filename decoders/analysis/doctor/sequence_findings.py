"""Observations in, findings about sequence numbers of producers and about batches that were sent again out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import NS, Case, Found
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refusal_findings import are_writes_lost_with_sessions

if TYPE_CHECKING:
    from decoders.analysis.doctor.resent_batches import SentAgain

__all__ = ["SEQUENCES", "describe_broken_sequence", "has_sequences_before_and_after"]


def describe_broken_sequence(case: Case, topic: str | None, clients: list[str]) -> str | None:
    """Words for the sequence numbers of the first refusal: which was expected, which came, and how that happens."""
    for (client, where, number, producer_id), seen in case.seen.items_of_kind("sequence", "refused"):
        if producer_id < 0 or where != topic or client not in clients or "next" not in seen.edges:
            continue
        (_, came), _ = seen.edges["refused"]
        _, (_, expected) = seen.edges["next"]
        if came > expected:
            skipped = f"{expected}" if came == expected + 1 else f"{expected} to {came - 1}"
            return f": partition {number} expected {expected}, {came} came: {skipped} was never accepted"
        if came < expected:
            return f": partition {number} expected {expected}, {came} came: a batch was sent again behind later ones"
    return None


def _make_sort_key(its: SentAgain) -> tuple[int, tuple[int, int, int]]:
    number, producer_id, sequence = its.place
    return its.began, (-1 if number is None else number, producer_id, sequence)


def _find_resent_batches(case: Case) -> Iterator[Found]:
    """Batches that were sent more than once; those that may be stored twice are findings of their own."""
    found: dict[tuple[str, str, str | None], list[SentAgain]] = defaultdict(list)
    for its in case.seen.sent.find_batches_sent_again():
        what = "sent-twice" if its.unknown and not its.idempotent else "sent-again"
        found[what, its.client, its.topic].append(its)
    for (what, client, topic), some in found.items():
        if len(some) < case.limits["again.batches"]:
            continue
        if what == "sent-twice" and are_writes_lost_with_sessions(case, client):
            continue  # no first try was written
        seen = Observation()
        for its in some:
            seen.count_evidence(its.last)
        refused = sum(its.refused > 0 for its in some)
        first_refused = 2 * refused > len(some)
        why = "after they had been refused" if first_refused else "because no answer came, or only a time-out error"
        about = {"client": client, "client_id": client, "topic": topic, "batches": f"{len(some):,}"}
        given_up = sum(_was_never_stored(its) and case.last - its.last[0] >= _GIVEN_UP_NS for its in some)
        about["details"] = f"; no try of {given_up:,} of them was accepted, and none followed" if given_up else None
        row = case.make_finding(what, seen, why=why, fate=_describe_fate_of_resent_batches(some), **about)
        yield row._replace(severity="warning") if given_up else row


# A producer tries again within a second or two, until delivery.timeout.ms is over.
_GIVEN_UP_NS: Final = 10 * NS


def _was_never_stored(its: SentAgain) -> bool:
    """Whether no try of a batch was accepted."""
    return its.tries == its.refused + its.unknown and not its.duplicates


def _describe_fate_of_resent_batches(some: list[SentAgain]) -> str:
    """Words for what became of batches that were sent again: some may never have been stored."""
    lost = sum(map(_was_never_stored, some))
    if lost == len(some):
        return "no try of them was accepted in the capture"
    stored = "are stored once: brokers refused the first try, or recognise the batch by its sequence number"
    return f"no try of {lost:,} of them was accepted in the capture; the others {stored}" if lost else f"they {stored}"


def _find_restarted_sequences(case: Case) -> Iterator[Found]:
    """Producers that count from 0 again, and are refused for it: one finding for a client and topic."""
    reported: set[tuple[str, str | None]] = set()
    for (client, topic, number, producer_id), seen in case.seen.items_of_kind("sequence", "refused"):
        if producer_id < 0 or (client, topic) in reported or "next" not in seen.edges:
            continue
        (_, came), (_, goes_on) = seen.edges["refused"]
        _, (_, expected) = seen.edges["next"]
        if came == 0 < goes_on and expected > 1:
            reported.add((client, topic))
            about = {"client": client, "client_id": client, "topic": topic, "partition": number}
            yield case.make_finding("sequence-restarted", seen, producer=producer_id, expected=f"{expected:,}", **about)


def _find_numbers_used_again(case: Case) -> Iterator[Found]:
    """New records with sequence numbers that were used: one finding for a client, topic and degree of certainty."""
    found: dict[tuple[bool, str, str | None], list[SentAgain]] = defaultdict(list)
    for its in case.seen.sent.find_numbers_used_again():
        found[True, its.client, its.topic].append(its)
    for its in case.seen.sent.find_duplicates():
        if its.tries == 1 and has_sequences_before_and_after(case, its):
            found[False, its.client, its.topic].append(its)
    for (sure, client, topic), some in found.items():
        seen = Observation()
        for its in some:
            seen.count_evidence(its.last)
        first = min(some, key=_make_sort_key)
        number, producer_id, sequence = first.place
        how = "again with other records" if sure else "as a batch of its own, after batches around it"
        error = ", DUPLICATE_SEQUENCE_NUMBER" if any(its.duplicates for its in some) else ""
        about: dict[str, Any] = {"client": client, "client_id": client, "topic": topic, "partition": number}
        about["what"] = f"partition {number}, {sequence:,} came {how}{_describe_expected(case, first)}"
        about |= {"likely": "" if sure else "likely ", "producer": producer_id, "error": error}
        severity = FINDINGS["sequence-reused"].severity if sure else FINDINGS["sequence-reused"].went_on
        yield Found("sequence-reused", severity, seen, about)


def _find_batches_written_twice(case: Case) -> Iterator[Found]:
    """Batches that were accepted at two offsets: one finding for a client, topic and degree of certainty."""
    found: dict[tuple[bool, str, str | None], list[SentAgain]] = defaultdict(list)
    for its in case.seen.sent.find_batches_written_twice():
        found[its.idempotent, its.client, its.topic].append(its)
    for (sure, client, topic), some in found.items():
        seen = Observation()
        for its in some:
            for evidence in filter(None, (its.first, its.last)):
                seen.count_evidence(evidence)
        seen.count = len(some)
        first = min(some, key=lambda its: (its.began, its.offsets or ()))
        low, high = first.offsets or (0, 0)
        about: dict[str, Any] = {"client": client, "client_id": client, "topic": topic}
        about["what"] = f"{'the first ' if len(some) > 1 else ''}at offsets {low:,} and {high:,}"
        about |= {"batches": "a batch" if len(some) == 1 else f"{len(some):,} batches"}
        about |= {"were": "was" if len(some) == 1 else "were", "likely": "" if sure else "likely "}
        about["proof"], about["remedy"] = _SAME_SEQUENCE if sure else _SAME_BYTES
        kind = FINDINGS["written-twice"]
        yield Found("written-twice", kind.severity if sure else kind.went_on, seen, about)


_SAME_SEQUENCE: Final = (
    "the same producer id, epoch, sequence number and checksum was accepted at two offsets",
    "find out why the broker did not know the batch again: the leader had lost it (unclean.leader.election.enable), or"
    " had forgotten the producer (producer.id.expiration.ms)",
)
_SAME_BYTES: Final = (
    "the same bytes were accepted at two offsets, the second time on a connection that the client had opened since",
    "set enable.idempotence=true; find out why the answer came too late (request.timeout.ms, load, cut connections)",
)


def has_sequences_before_and_after(case: Case, its: SentAgain) -> bool:
    """Whether the partition of a batch took the numbers before its own, and later ones."""
    reached = _expected_sequences(case, its)
    return reached is not None and reached[0] <= its.place[2] < reached[1]


def _describe_expected(case: Case, its: SentAgain) -> str:
    reached = _expected_sequences(case, its)
    return f", {reached[1]:,} was expected" if reached is not None and reached[1] > its.place[2] else ""


def _expected_sequences(case: Case, its: SentAgain) -> tuple[int, int] | None:
    """The numbers that the log expected after the first batch of the capture, and at most."""
    number, producer_id, _ = its.place
    seen = case.seen.get_observation("sequence", its.client, its.topic, number, producer_id)
    if seen is None or "next" not in seen.edges:
        return None
    return seen.edges["next"][0][1], seen.most["reached"]


SEQUENCES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_resent_batches,
    _find_restarted_sequences,
    _find_batches_written_twice,
    _find_numbers_used_again,
)
