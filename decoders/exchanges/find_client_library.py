"""The traits of a connection in, its client library out, for connections that do not name their library.

Libraries name themselves since KIP-511 (ApiVersions 3); older libraries, and some of today, do not. But a library uses
the highest version of each API that it knows and the broker offers, leaves fields at their defaults, and has a client
id of its own where the user gave none. `client_library_table.py` has the traits of such libraries, made of recordings
of many releases (`captures/make/libraries`).

What always holds: a connection has no library when it was not seen from its first byte, fits libraries of two names, or
shows too little. A client id that people chose is no evidence.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, JOIN_GROUP, PRODUCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from decoders.exchanges.client_library_traits import Traits

__all__ = ["Fingerprint", "find_library_by_traits", "find_program_of_client_id", "format_library", "merge_libraries"]


class Fingerprint(NamedTuple):
    """The traits of releases of a library. `since` and `until` are minor releases; None: not known, or not to be told.

    `versions`: API → the highest version known. `values`: API → traits (client_library_traits.py), of which it has any
    one.
    """

    name: str
    since: str | None
    until: str | None
    versions: Mapping[int, int]
    values: Mapping[int, tuple[str, ...]]


# Library → the client ids that it makes itself; a group in the pattern is the release. Patterns are compiled when they
# are first used, since many captures need few of them.
OWN_IDS: Final[dict[str, str]] = {
    "apache-kafka-java": r"(?:producer|consumer|adminclient)-\d+",
    "kafka-python": r"kafka-python-(?:(\d+\.\d+[.\d]*)|(?:producer|consumer|admin)-\d+)",
    "aiokafka": r"aiokafka-(?:(\d+\.\d+[.\d]*)|producer-\d+)",
    "kafkajs": r"kafkajs",
    "sarama": r"sarama",
    "kafka-go": r".*\(github\.com/segmentio/kafka-go\)",
}
# Programs that use the Java client and name it themselves.
PROGRAMS: Final[dict[str, str]] = {
    "ksqlDB": r"_confluent-ksql-.+-StreamThread-\d+(?:-\w+)*",
    "Kafka Streams": r".+-StreamThread-\d+-(?:restore-)?(?:consumer|producer)|.+-global-consumer",
    "Kafka Connect": r"connector-(?:(?:dlq-)?producer|consumer|adminclient)-.+-\d+",
    "Spark": r"consumer-spark-kafka-(?:source|relation)-[0-9a-f]{8}-.+",
    "Flink": r".+-enumerator-admin-client",
    "kafka-broker": (
        r"broker-\d+-(?:fetcher-\d+|to-controller-[a-z-]+-channel-manager|txn-marker-sender)"
        r"|raft-client-\d+|AddPartitionsManager-client-\d+"
    ),
}
BROKER: Final = "kafka-broker"
# So many client ids are remembered, with their programs.
_IDS_MAX: Final = 1024
# No program makes longer client ids.
_LONGEST: Final = 500
# The APIs that tell most; one of them has to be seen, or a client id that the library made.
_TELLING: Final = (PRODUCE, FETCH, JOIN_GROUP)
# API versions limited by the library, not by the broker: at least so many, or one if the library made the client id.
_LEAST: Final = 2
_MANY: Final = 3


@lru_cache(maxsize=_IDS_MAX)
def find_program_of_client_id(client_id: str) -> dict[str, Any] | None:
    """The program that makes client ids like this one, as the `library` key of the record; None for other ids."""
    if len(client_id) > _LONGEST or _compile_program_names().fullmatch(client_id) is None:
        return None
    name = next(name for name, pattern in PROGRAMS.items() if re.fullmatch(pattern, client_id))
    return _make_library_row(name, None, None, why=["client id"])


@cache
def _compile_program_names() -> re.Pattern[str]:
    """One pattern for the ids of all programs: most ids are of none."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in PROGRAMS.values()))


def find_library_by_traits(traits: Traits, table: Iterable[Fingerprint]) -> dict[str, Any] | None:
    """The `library` key of the record: name, from and to (minor releases), sure, why. None where nothing is certain."""
    if traits.replica:
        return _make_library_row(BROKER, None, None, why=["Fetch of a replica"])
    if not traits.opened:
        return None
    fitting = [row for row in table if _fits_fingerprint(row, traits)]
    names = {row.name for row in fitting}
    if len(names) != 1:
        return None
    (name,) = names
    versions = {key: row.versions[key] for row in fitting for key in _list_apis_with_library_version(row, traits)}
    made = re.fullmatch(OWN_IDS[name], traits.client_id or "")
    told = [key for key in _TELLING if key in traits.values]
    if len(versions) < (1 if made else _LEAST) or not (told or made):
        return None
    why = [f"{_format_api_name(key)} {version}" for key, version in sorted(versions.items())]
    why += [f"defaults of {_format_api_name(key)}" for key in told]
    if made is None:
        since, until = fitting[0].since, fitting[-1].until
    else:
        why.append("client id")
        release = made[1] if made.re.groups else None
        since, until = (release, release) if release else (fitting[0].since, fitting[-1].until)
    return _make_library_row(name, since, until, why=why, sure=made is not None or len(versions) >= _MANY)


def merge_libraries(found: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The library of several connections of one client, with the releases that fit all. None where the names differ.

    Where no release fits all (programs of several releases with the same client id), the releases are left out.
    """
    every = sorted(found, key=lambda each: (each["sure"], len(each["why"]), str(each)))
    if len({each["name"] for each in every}) != 1:
        return None
    since = max((each["from"] for each in every if each["from"] is not None), key=_split_release_numbers, default=None)
    until = min((each["to"] for each in every if each["to"] is not None), key=_split_release_numbers, default=None)
    if since is not None and until is not None and _split_release_numbers(since) > _split_release_numbers(until):
        since = until = None
    return {**every[-1], "from": since, "to": until}


def _split_release_numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".") if part]


def format_library(library: Mapping[str, Any]) -> str:
    """A library and its releases as text: `kafkajs ≥ 1.13`, `apache-kafka-java 2.1–2.2`, `sarama`."""
    name, since, until = (library[part] for part in ("name", "from", "to"))
    if since == until:
        return name if since is None else f"{name} {since}"
    if since is None:
        return f"{name} ≤ {until}"
    return f"{name} ≥ {since}" if until is None else f"{name} {since}–{until}"


def _fits_fingerprint(row: Fingerprint, traits: Traits) -> bool:
    offered = traits.offered
    if (API_VERSIONS in row.versions) != (API_VERSIONS in traits.versions) or bool(offered) != (
        API_VERSIONS in traits.versions
    ):
        return False
    for key, version in traits.versions.items():
        own = row.versions.get(key)
        if own is not None and version != min(own, offered.get(key, own)):
            return False
    return all(value in row.values[key] for key, value in traits.values.items() if key in row.values)


def _list_apis_with_library_version(row: Fingerprint, traits: Traits) -> list[int]:
    """The APIs whose version is the library's choice: the broker offers more, or was not asked."""
    offered = traits.offered
    return [
        key
        for key in traits.versions
        if key in row.versions and key != API_VERSIONS and offered.get(key, row.versions[key] + 1) > row.versions[key]
    ]


def _format_api_name(key: int) -> str:
    return api(key).name if key in NAMES else str(key)


def _make_library_row(
    name: str, since: str | None, until: str | None, *, why: list[str], sure: bool = True
) -> dict[str, Any]:
    return {"name": name, "from": since, "to": until, "sure": sure, "why": ", ".join(why)}
