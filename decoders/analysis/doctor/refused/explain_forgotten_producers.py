"""Observations in; findings about producers whose ids brokers have forgotten while they were idle out.

A coordinator forgets a transactional id that was not used for transactional.id.expiration.ms, the leader of a partition
a producer id that wrote nothing there for producer.id.expiration.ms. The next request is refused, and all later ones
are until the producer begins anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LASTING_NS,
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    merge_observations,
    name_of_api_key,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.errors_with_codes import ErrorKey, find_errors_with_codes
from decoders.protocol_facts.api_keys import END_TXN, PRODUCE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["explain_forgotten_producers"]

# INVALID_PRODUCER_ID_MAPPING, UNKNOWN_PRODUCER_ID.
_FORGOTTEN: Final = frozenset({49, 59})
# What forgets an id looks for old ones less often.
_IDLE_LEAST_NS: Final = 5 * NS
_USES: Final = ("transaction-taken", "transaction-begun", "transaction-ended")
# The setting after which an id is forgotten, and who forgets it.
_OF_TRANSACTIONS: Final = ("transactional.id.expiration.ms", "its coordinator")
_OF_PARTITIONS: Final = ("producer.id.expiration.ms", "the leader")


def explain_forgotten_producers(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Producers that were refused after a pause, in which nobody else took their transactional id."""
    by_name: dict[str, dict[ErrorKey, Observation]] = defaultdict(dict)
    by_client: dict[str, dict[ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in find_errors_with_codes(case, _FORGOTTEN):
        names = [key[4]] if key[3] == "transactional_id" else list(seen.names.get("transactional", ()))
        if len(names) == 1 and names[0] is not None:
            by_name[names[0]][key] = seen
        elif not names and key[1] == PRODUCE:
            by_client[key[2]][key] = seen
    for name, some in by_name.items():
        whole = merge_observations(some.values())
        # Brokers ask coordinators on behalf of producers.
        clients = sorted({key[2] for key in some if key[1] == PRODUCE} or {key[2] for key in some})
        takers = {
            client
            for (_, _, _, client, _), seen in case.find_matching_observations(
                "name", (0, 2), ("transactional.id", name)
            )
            if seen.first < whole.first
        }
        uses = [used for what in _USES if (used := case.seen.get_observation(what, name)) is not None]
        its = _make_finding(case, clients, some, uses, _OF_TRANSACTIONS)
        if its is not None and takers <= {*clients}:
            its.values["transactional_id"] = name
            its.values["of"] = f" (transactional id {escape_for_sentence(name)})"
            yield its, {*some}
    for client, some in by_client.items():
        writes = [used for key in some if (used := case.seen.get_observation("produce", client, key[4])) is not None]
        its = _make_finding(case, [client], some, writes, _OF_PARTITIONS)
        if its is not None:
            its.values["topics"] = sorted({str(key[4]) for key in some})[:LISTED]
            its.values["of"] = f" (topic {escape_for_sentence(its.values['topics'])})"
            yield its, {*some}


def _make_finding(
    case: Case,
    clients: list[str],
    some: dict[ErrorKey, Observation],
    uses: list[Observation],
    setting_and_holder: tuple[str, str],
) -> Found | None:
    """The finding, if the id was used, then not for a while up to the first refusal; else None."""
    whole = merge_observations(some.values())
    used = merge_observations(uses)
    first = whole.first // NS
    before = max((second for second in used.list_marked_seconds() if second < first), default=0)
    idle_ns = whole.first - (before + 1) * NS
    if not before or idle_ns < _IDLE_LEAST_NS:
        return None
    key = min(some.items(), key=lambda item: (item[0][1] != PRODUCE, item[1].first, item[0][1]))[0]
    about: dict[str, Any] = {"client": clients[0], "clients": clients[:LISTED], "error": error_name(key[0])}
    about["client_id"] = clients[0] if len(clients) == 1 else None
    about["api"] = name_of_api_key(key[1])
    about["setting"], about["holder"] = setting_and_holder
    about["idle"] = describe_duration(idle_ns // NS * 1000)
    last = _find_last_success(case, clients, some)
    anew = last > whole.last
    if anew:
        about["then"] = "; later it began anew"
    elif case.last - whole.last >= LASTING_NS:
        silence = describe_duration((case.last - whole.last) / MS // 1000 * 1000)
        about["then"] = f", and it has written nothing since, for {silence}"
    elif whole.last - whole.first >= LASTING_NS:
        about["then"] = ", each time since"
    kind = FINDINGS["producer-forgotten"]
    return Found("producer-forgotten", kind.severity if "then" in about and not anew else kind.went_on, whole, about)


def _find_last_success(case: Case, clients: list[str], some: dict[ErrorKey, Observation]) -> int:
    """When one of these clients last wrote to the topics, or ended the transactions, that were refused, in ns."""
    found = 0
    for key, seen in some.items():
        names = [*seen.names.get("transactional", ()), key[4]]
        for client in clients:
            found = max(
                found,
                case.done.get((client, PRODUCE, key[4]), 0),
                *(case.done.get((client, END_TXN, name), 0) for name in names),
            )
    return found
