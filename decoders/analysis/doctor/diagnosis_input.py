"""The input (`Case`) and the output (`Found`) of all diagnoses, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from decoders.analysis.doctor.finding_kinds import FINDINGS, SEVERITIES, Severity
from decoders.analysis.doctor.observations import Observation, Observations, sort_names_by_count
from decoders.analysis.read_dimension_values import host_of
from decoders.apis import NAMES, api
from decoders.frames.framing import BEGINS_LATE
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, FIND_COORDINATOR, PRODUCE
from decoders.schema.api_declaration import Versions
from decoders.wire.format_and_escape_text import describe_duration, escape_text, format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.doctor.slow_brokers import BrokerLatencies
    from decoders.analysis.doctor.thresholds import Thresholds

__all__ = [
    "LASTING_NS",
    "LISTED",
    "MS",
    "NS",
    "OWN_CLIENT_ID",
    "Case",
    "Found",
    "describe_offered_versions",
    "describe_retry_pace",
    "escape_for_sentence",
    "format_advertised_address",
    "format_clock",
    "has_stopped_recurring",
    "merge_observations",
    "most_frequent_clients",
    "name_of_api_key",
    "next_less_severe",
    "rate_per_second",
]

NS: Final = 1_000_000_000
MS: Final = 1_000_000
# What is refused or lost for as long does not end by itself.
LASTING_NS: Final = 10 * NS
# The client id of kw itself: what it asks is no client's habit.
OWN_CLIENT_ID: Final = "kw"
# The most names that a finding lists.
LISTED: Final = 20


# Parts of subjects → subjects and observations.
_Groups = dict[tuple[str | int | None, ...], list[tuple[Any, Observation]]]
_Result = TypeVar("_Result")


class Found(NamedTuple):
    """A finding before it is a row: `values` other than None fill the title, and those in ABOUT are keys of the row."""

    id: str
    severity: Severity
    seen: Observation
    values: dict[str, Any]
    code: int | None = None


class Case:
    """All that was observed, and the thresholds: what the diagnoses read."""

    def __init__(
        self,
        seen: Observations,
        done: Mapping[tuple[str, int, str | None], int],
        latencies: BrokerLatencies,
        offers: Mapping[tuple[str, int], Versions],
        faults: list[str],
        limits: Thresholds,
    ) -> None:
        self.seen = seen
        self.done = done
        self.latencies = latencies
        self.offers = {where: _correct_offered_versions(offers, *where, versions) for where, versions in offers.items()}
        self.faults = faults
        self.holes = [fault for fault in faults if not fault.startswith(BEGINS_LATE)]
        self.limits = limits
        self.brokers = {broker for (_, _, broker), _ in seen.items_of_kind("client")}
        self.topics = {topic for (topic,), _ in seen.items_of_kind("topic")}
        self.answered: dict[tuple[str, int], int] = {}
        for (client, key, _), time_ns in done.items():
            self.answered[client, key] = max(self.answered.get((client, key), 0), time_ns)
        self.last = max((its.last for _, its in seen.items_of_kind("client")), default=0)
        self._groups: dict[tuple[str, tuple[int, ...], str | None], _Groups] = {}
        self._computed: dict[Any, Any] = {}

    def find_matching_observations(
        self, kind: str, parts: tuple[int, ...], values: tuple[str | int | None, ...], edge: str | None = None
    ) -> list[tuple[Any, Observation]]:
        """Subject and observation of those of a kind whose subject has these values in these parts, in order.

        With `edge` only those with a first and a last value of this name. All of a kind are grouped at the first call.
        """
        groups = self._groups.get((kind, parts, edge))
        if groups is None:
            groups = self._groups[kind, parts, edge] = {}
            for item in self.seen.items_of_kind(kind, edge):
                groups.setdefault(tuple(item[0][part] for part in parts), []).append(item)
        return groups.get(values, [])

    def compute_once(self, compute: Callable[[Case], _Result]) -> _Result:
        """What a function finds in this case; it is called once."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: _Result = self._computed[compute]
        return found

    @cached_property
    def last_uses(self) -> dict[tuple[str, str | None], int]:
        """Client and subject → when something but a look-up of its coordinator succeeded last, in ns."""
        found: dict[tuple[str, str | None], int] = {}
        for (client, key, subject), time_ns in self.done.items():
            if key != FIND_COORDINATOR:
                found[client, subject] = max(found.get((client, subject), 0), time_ns)
        return found

    @cached_property
    def last_writes(self) -> dict[tuple[str, str | None, int], int]:
        """Client, topic and partition → when a batch with a sequence number was taken last, in ns."""
        found: dict[tuple[str, str | None, int], int] = {}
        for (client, topic, number, _), seen in self.seen.items_of_kind("sequence", "next"):
            found[client, topic, number] = max(found.get((client, topic, number), 0), seen.edges["next"][1][0])
        return found

    @cached_property
    def advertised(self) -> dict[str, int]:
        """Addresses that brokers advertise, as `format_advertised_address` writes them → the node's number."""
        return {
            format_advertised_address(host, port): number
            for (_, number, host, port), _ in self.seen.items_of_kind("advertised")
        }

    @cached_property
    def nodes(self) -> dict[str, int]:
        """Addresses that brokers advertise, and hosts (`10.0.0.7`, `[::1]`) at which they advertise one node alone →
        the node's number.
        """
        hosts: dict[str, set[int]] = {}
        for address, number in self.advertised.items():
            hosts.setdefault(host_of(address), set()).add(number)
        return self.advertised | {host: min(numbers) for host, numbers in hosts.items() if len(numbers) == 1}

    @cached_property
    def lacks_nodes(self) -> bool:
        """Whether brokers advertise more nodes than have answered in the capture: clients may go on there."""
        known = {self.nodes.get(broker, self.nodes.get(host_of(broker))) for broker in self.brokers}
        unnamed = sum(broker not in self.nodes and host_of(broker) not in self.nodes for broker in self.brokers)
        return len({*self.advertised.values()} - known) > unnamed

    def make_finding(self, kind: str, seen: Observation, **values: Any) -> Found:
        """A finding of this kind, with the severity that FINDINGS gives it."""
        return Found(kind, FINDINGS[kind].severity, seen, values)


def _correct_offered_versions(
    offers: Mapping[tuple[str, int], Versions], broker: str, api_key: int, versions: Versions
) -> Versions:
    """The versions that a broker really serves: Kafka 4 offers Produce from 0 on for old librdkafka (KIP-896)."""
    fetch = offers.get((broker, FETCH))
    if api_key == PRODUCE and not versions.low and fetch is not None and fetch.low >= _FETCH_OF_KAFKA_4:
        return Versions(_PRODUCE_OF_KAFKA_4, versions.high)
    return versions


# The lowest versions that Kafka 4.0 serves.
_FETCH_OF_KAFKA_4: Final = 4
_PRODUCE_OF_KAFKA_4: Final = 3


def escape_for_sentence(value: Any) -> str:
    """A value in a sentence, with unprintable characters escaped: a title is text in every format."""
    if isinstance(value, list):
        more = f" and {len(value) - 3} more" if len(value) > 3 else ""
        return ", ".join([escape_text(str(each)) for each in value[:3]]) + more
    return escape_text(str(value))


def merge_observations(several: Iterable[Observation]) -> Observation:
    whole = Observation()
    for each in several:
        whole.merge(each)
    return whole


def rate_per_second(seen: Observation, count: int) -> float:
    """`count` per second, over the time from the first to the last occurrence; over a second at least."""
    return count / max((seen.last - seen.first) / NS, 1.0)


def next_less_severe(severity: Severity) -> Severity:
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def name_of_api_key(api_key: int) -> str:
    return api(api_key).name if api_key in NAMES else f"UNKNOWN({api_key})"


def most_frequent_clients(seen: Observation) -> list[str]:
    return sort_names_by_count(seen.names.get("clients", {}))[:LISTED]


def has_stopped_recurring(case: Case, seen: Observation) -> bool:
    """Whether something did not come again until the end, for longer than it had paused before."""
    pause, _ = seen.find_longest_pause()
    return case.last - seen.last > (pause + 1) * NS if pause else case.last > seen.last


def describe_retry_pace(case: Case, seen: Observation, *, refused_for_good: bool = False) -> str | None:
    """Words for how often and how fast a client tries again; None where it is no loop.

    `refused_for_good`: what it asks for is refused whenever it asks; then a few times are a loop.
    """
    if seen.count < max(case.limits["errors.few"] if refused_for_good else case.limits["loop.least"], 2):
        return None
    every = describe_duration((seen.last - seen.first) / (seen.count - 1) / MS)
    return f", {seen.count:,} times, every {every}"


def format_clock(time_ns: int) -> str:
    """The time of day in a sentence: `17:34:05 UTC`."""
    return f"{format_rfc3339(time_ns)[11:19]} UTC"


def format_advertised_address(host: str, port: int) -> str:
    """`host:port` of a listener that brokers advertise, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def describe_offered_versions(case: Case, broker: str | None, api_key: int) -> str:
    versions = case.offers.get((broker or "", api_key))
    if versions is not None:
        return f"{versions.low} to {versions.high}"
    known = any(where == broker for where, _ in case.offers)
    return "no version of this API" if known else "other versions"
