"""Observations in; findings about producers that put the records of a key into different partitions out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from math import log
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import LISTED, Case, Found, escape_for_sentence, merge_observations
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation

__all__ = ["KEYS"]

# Partition, then the hashes of a key: murmur2, CRC-32, FNV-1a.
_Placed = tuple[int, int, int, int]
# The place of the hash → what a client makes of it before it takes the rest, and whose it is.
_PARTITIONERS: Final = {
    1: (0x7FFFFFFF, "by murmur2 (as Java clients do)"),
    2: (0xFFFFFFFF, "by CRC-32 (librdkafka's default, consistent_random)"),
    3: (0xFFFFFFFF, "by FNV-1a (Sarama's default)"),
}
_AT_RANDOM: Final = 4
_WORDS: Final = {which: words for which, (_, words) in _PARTITIONERS.items()} | {_AT_RANDOM: "whatever the key"}
# So many keys in so many partitions each, and no added partitions have moved them.
_SCATTERED: Final = 3
# The least logarithm of how many ways there are to place so many keys: that they fit by chance is one in a million.
_CERTAIN: Final = log(10**6)
# Topics to which partitions are added had fewer before: so many are tried.
_TRIED: Final = 64


def _find_keys_apart(case: Case) -> Iterator[Found]:
    """Topics whose producers have different partitioners, as the keys and partitions of their records show."""
    by_topic: dict[str, list[str]] = defaultdict(list)
    for (topic, client), _ in case.seen.items_of_kind("keys"):
        by_topic[topic].append(client)
    for topic, writers in by_topic.items():
        known = case.seen.get_observation("topic", topic)
        partitions = known.most.get("partitions", 0) if known is not None else 0
        clients = _gather_placed_keys(case, topic, writers, partitions) if partitions > 1 < len(writers) else {}
        users: dict[int, list[str]] = defaultdict(list)
        for client, placed in clients.items():
            which = _find_partitioner(placed, partitions)
            if which:
                users[which].append(client)
        if len(users) > 1:
            yield _make_finding(case, topic, users, clients)


def _gather_placed_keys(case: Case, topic: str, writers: list[str], partitions: int) -> dict[str, set[_Placed]]:
    """Each writer of a topic with keys → its keys and their partitions; none where fewer than two have enough."""
    pending = case.seen.sampled_keys.by_writer
    found: dict[str, set[_Placed]] = {}
    enough = 0
    for client in writers:
        seen, its = case.seen.get_or_make("keys", topic, client), pending.get((topic, client))
        count = seen.sums.get("keys", 0) if its is None else its.estimate_most_keys()
        enough += count * log(partitions) >= _CERTAIN
    for client in writers if enough > 1 else ():
        seen, its = case.seen.get_or_make("keys", topic, client), pending.get((topic, client))
        if its is not None:
            its.hash_keys()
        if "placed" in seen.names:
            found[client] = {_parse_placed_key(name) for name in seen.names["placed"]}
    return found


def _parse_placed_key(name: str) -> _Placed:
    number, *hashes = name.split()
    murmur2, crc32, fnv1a = (int(each, 16) for each in hashes)
    return int(number), murmur2, crc32, fnv1a


def _find_partitioner(placed: set[_Placed], partitions: int) -> int:
    """The place of the only hash by which all keys are where they are; 0 where none is known."""
    least = max(each[0] for each in placed) + 1
    if len({each[1:] for each in placed}) * log(partitions) < _CERTAIN:
        return 0
    found = [
        which
        for which, (mask, _) in _PARTITIONERS.items()
        if any(
            all((each[which] & mask) % count == each[0] for each in placed)
            for count in range(max(least, partitions - _TRIED, 2), partitions + 1)
        )
    ]
    if not found:
        by_key = Counter(each[1:] for each in placed)
        return _AT_RANDOM if sum(count >= _SCATTERED for count in by_key.values()) >= _SCATTERED else 0
    return found[0] if len(found) == 1 else 0


def _make_finding(case: Case, topic: str, users: dict[int, list[str]], clients: dict[str, set[_Placed]]) -> Found:
    written = {
        which: merge_observations(
            its for client in some if (its := case.seen.get_observation("produce", client, topic)) is not None
        )
        for which, some in users.items()
    }
    order = sorted(users, key=lambda which: (-written[which].first, which))  # who came last is likely the reason
    newest = written[order[0]]
    apart = _are_keys_apart([{each for client in users[which] for each in clients[client]} for which in order])
    whole = Observation()
    whole.merge(newest)
    whole.count = 1
    names = {which: escape_for_sentence(sorted(some)) for which, some in users.items()}
    verb = "choose" if len(users[order[0]]) > 1 else "chooses"
    places = [f"{names[order[0]]} {verb} partitions of keys {_WORDS[order[0]]}"]
    places += [f"{names[which]} {_WORDS[which]}" for which in order[1:]]
    about: dict[str, Any] = {
        "topic": topic,
        "clients": sorted(client for some in users.values() for client in some)[:LISTED],
    }
    about["how"] = ", ".join(places)
    about["seen"] = (
        "the same keys went to different partitions" if apart else "no key of both was in the sample that kw took"
    )
    kind = FINDINGS["keys-apart"]
    return Found("keys-apart", kind.severity if apart else kind.went_on, whole, about)


def _are_keys_apart(each: list[set[_Placed]]) -> bool:
    """Whether producers with different partitioners put a key into different partitions."""
    found: dict[tuple[int, ...], set[int]] = defaultdict(set)
    shared: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for number, placed in enumerate(each):
        for partition, *key in placed:
            found[tuple(key)].add(partition)
            shared[tuple(key)].add(number)
    return any(len(found[key]) > 1 and len(whose) > 1 for key, whose in shared.items())


KEYS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_keys_apart,)
