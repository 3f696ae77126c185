"""Which releases there are, and which versions of each API each of them speaks.

A row gives, for every release that changes something, the versions from then on: `2.4:8` is 0 to 8, `4.0:3-12` is 3 to
12, `4.0:-` means that the API is gone. Versions that a release has but hides unless told otherwise are in UNSTABLE.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from decoders.protocol_facts.api_keys import FETCH, PRODUCE
from decoders.schema.api_declaration import NONE, Versions

# API key → the versions that a broker offers.
Offer = Mapping[int, Versions]

RELEASES: Final = (
    "0.8.2",
    "0.9.0",
    "0.10.0",
    "0.10.1",
    "0.10.2",
    "0.11.0",
    "1.0",
    "1.1",
    "2.0",
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
    "3.0",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "3.6",
    "3.7",
    "3.8",
    "3.9",
    "4.0",
    "4.1",
    "4.2",
    "4.3",
    "4.4",
)

# API key → its history.
HISTORY: Final[dict[int, str]] = {
    0: "0.8.2:0 0.9.0:1 0.10.0:2 0.11.0:3 1.0:5 2.0:6 2.1:7 2.4:8 2.8:9 3.7:10 3.8:11 4.0:3-12 4.1:3-13",
    1: "0.8.2:0 0.9.0:1 0.10.0:2 0.10.1:3 0.11.0:5 1.0:6 1.1:7 2.0:8 "
    "2.1:10 2.3:11 2.7:12 3.1:13 3.5:15 3.7:16 3.9:17 4.0:4-17 4.1:4-18",
    2: "0.8.2:0 0.10.1:1 0.11.0:2 2.0:3 2.1:4 2.2:5 2.8:6 3.0:7 3.5:8 3.9:9 4.0:1-10 4.2:1-11",
    3: "0.8.2:0 0.10.0:1 0.10.1:2 0.11.0:4 1.0:5 2.0:6 2.1:7 2.3:8 2.4:9 2.8:11 3.1:12 4.0:13",
    4: "0.9.0:0 1.0:1 2.2:2 2.4:4 2.8:5 3.2:6 3.4:7 4.0:-",
    5: "0.9.0:0 2.2:1 2.4:2 2.6:3 3.4:4 4.0:-",
    6: "0.9.0:1 0.10.0:2 0.10.2:3 1.0:4 2.2:5 2.4:6 2.8:7 3.4:8 4.0:-",
    7: "0.9.0:1-1 1.0:1 2.2:2 2.4:3 4.0:-",
    8: "0.8.2:1 0.9.0:2 0.11.0:3 2.0:4 2.1:6 2.3:7 2.4:8 3.6:9 4.0:2-9 4.1:2-10",
    9: "0.8.2:1 0.10.2:2 0.11.0:3 2.0:4 2.1:5 2.4:6 2.5:7 3.0:8 3.7:9 4.0:1-9 4.1:1-10",
    10: "0.8.2:0 0.11.0:1 2.0:2 2.4:3 3.0:4 3.8:5 3.9:6",
    11: "0.8.2:0 0.10.1:1 0.11.0:2 2.0:3 2.2:4 2.3:5 2.4:6 2.5:7 3.2:9",
    12: "0.8.2:0 0.11.0:1 2.0:2 2.3:3 2.4:4",
    13: "0.9.0:0 0.11.0:1 2.0:2 2.4:4 3.2:5",
    14: "0.9.0:0 0.11.0:1 2.0:2 2.3:3 2.4:4 2.5:5",
    15: "0.9.0:0 0.11.0:1 2.0:2 2.3:3 2.4:5 4.0:6",
    16: "0.9.0:0 0.11.0:1 2.0:2 2.4:3 2.6:4 3.8:5",
    17: "0.10.0:0 1.0:1",
    18: "0.10.0:0 0.11.0:1 2.0:2 2.4:3 3.9:4 4.4:5",
    19: "0.10.1:0 0.10.2:1 0.11.0:2 2.0:3 2.4:5 2.7:6 2.8:7 4.0:2-7",
    20: "0.10.1:0 0.11.0:1 2.0:2 2.1:3 2.4:4 2.7:5 2.8:6 4.0:1-6",
    21: "0.11.0:0 2.0:1 2.6:2",
    22: "0.11.0:0 2.0:1 2.4:2 2.5:3 2.7:4 3.8:5 4.1:6",
    23: "0.11.0:0 2.0:1 2.1:2 2.3:3 2.8:4 4.0:2-4",
    24: "0.11.0:0 2.0:1 2.7:2 2.8:3 3.5:4 3.8:5",
    25: "0.11.0:0 2.0:1 2.7:2 2.8:3 3.8:4",
    26: "0.11.0:0 2.0:1 2.7:2 2.8:3 3.8:4 4.0:5",
    27: "0.11.0:0 2.8:1 4.0:1-1 4.2:1-2",
    28: "0.11.0:0 2.0:1 2.1:2 2.5:3 3.8:4 4.0:5 4.4:6",
    29: "0.11.0:0 2.0:1 2.5:2 3.3:3 4.0:1-3",
    30: "0.11.0:0 2.0:1 2.5:2 3.3:3 4.0:1-3",
    31: "0.11.0:0 2.0:1 2.5:2 3.3:3 4.0:1-3",
    32: "0.11.0:0 1.1:1 2.0:2 2.6:3 2.8:4 4.0:1-4",
    33: "0.11.0:0 2.0:1 2.8:2",
    34: "1.0:0 2.0:1 2.8:2 4.0:1-2",
    35: "1.0:0 2.0:1 2.6:2 3.2:3 3.3:4 4.0:1-4 4.3:1-5",
    36: "1.0:0 2.2:1 2.5:2",
    37: "1.0:0 2.0:1 2.5:2 2.7:3",
    38: "1.1:0 2.0:1 2.4:2 3.3:3 4.0:1-3",
    39: "1.1:0 2.0:1 2.5:2 4.0:1-2",
    40: "1.1:0 2.0:1 2.5:2 4.0:1-2",
    41: "1.1:0 2.0:1 2.5:2 3.3:3 4.0:1-3",
    42: "1.1:0 2.0:1 2.4:2 4.4:3",
    43: "2.2:0 2.4:2",
    44: "2.3:0 2.4:1",
    45: "2.4:0 4.1:1",
    46: "2.4:0",
    47: "2.4:0",
    48: "2.6:0 2.8:1",
    49: "2.6:0 2.8:1",
    50: "2.7:0",
    51: "2.7:0",
    52: "2.7:0 3.9:1 4.0:2",
    53: "2.7:0 3.9:1",
    54: "2.7:0 3.9:1",
    55: "2.7:0 3.3:1 3.9:2",
    56: "2.7:0 3.2:1 3.3:2 3.5:3 4.0:2-3",
    57: "2.7:0 3.3:1 4.0:2",
    58: "2.8:0",
    59: "2.8:0 3.9:1",
    60: "2.8:0 3.7:1 4.0:2",
    61: "2.8:0",
    62: "2.8:0 3.4:1 3.7:3 3.9:4",
    63: "2.8:0 3.7:1 4.3:2",
    64: "2.8:0",
    65: "3.0:0",
    66: "3.0:0 3.8:1 4.1:2",
    67: "3.0:0",
    68: "3.5:0 4.0:1",
    69: "3.7:0 4.0:1",
    70: "3.7:0",
    71: "3.7:0",
    72: "3.7:0",
    73: "3.7:0",
    74: "3.7:0 4.1:1",
    75: "3.8:0",
    76: "3.9:0 4.1:1-1",
    77: "3.9:0 4.1:1-1",
    78: "3.9:0 4.1:1-1 4.2:1-2",
    79: "3.9:0 4.1:1-1 4.2:1-2",
    80: "3.9:0 4.2:1",
    81: "3.9:0",
    82: "3.9:0",
    83: "3.9:0",
    84: "3.9:0",
    85: "3.9:0 4.2:1",
    86: "3.9:0",
    87: "3.9:0 4.2:1",
    88: "4.1:0 4.4:1",
    89: "4.1:0 4.4:1",
    90: "4.1:0 4.2:1",
    91: "4.1:0",
    92: "4.1:0",
    93: "4.4:0",
    94: "4.4:0",
}

# Release → {API key: the version that a broker hides by default}. Nothing is carried over: a release needs a row of its
# own for as long as the newest version of an API is hidden (`latestVersionUnstable` in its definitions, which
# `python -m kwcli.declarations check` reads). The version is the highest that HISTORY gives the API in that release.
UNSTABLE: Final[dict[str, dict[int, int]]] = {
    "3.5": {24: 4, 68: 0},
    "3.6": {8: 9, 68: 0},
    "3.7": {69: 0},
    "3.9": {76: 0, 77: 0, 78: 0, 79: 0, 83: 0, 84: 0, 85: 0, 86: 0, 87: 0},
    "4.0": {76: 0, 77: 0, 78: 0, 79: 0, 83: 0, 84: 0, 85: 0, 86: 0, 87: 0},
    "4.1": {8: 10, 9: 10, 22: 6, 88: 0, 89: 0},
    "4.2": {22: 6},
    "4.3": {22: 6},
    "4.4": {22: 6},
}


# Feature → the levels that a release supports, and by that the highest one that can be finalized (KIP-584, KIP-778).
# Clients look at them: producers of 4.0 begin transactions in another way where transaction.version is 2.
FEATURES: Final[dict[str, str]] = {
    "metadata.version": "3.3:1-7 3.4:1-8 3.5:1-11 3.6:1-14 3.7:1-19 3.8:1-20 3.9:1-21 "
    "4.0:7-25 4.1:7-27 4.2:7-29 4.3:7-30 4.4:7-33",
    "kraft.version": "3.9:1",
    "transaction.version": "4.0:2",
    "group.version": "4.0:1",
    "eligible.leader.replicas.version": "4.0:1",
    "share.version": "4.1:1 4.4:2",
    "streams.version": "4.2:1",
}


@cache
def versions_of_api_by_release(api_key: int) -> dict[str, Versions]:
    """Each release that has the API, oldest first, with its versions; unstable ones included. No row, no release."""
    return _parse_history_row(HISTORY.get(api_key, ""))


def _parse_history_row(history_row: str) -> dict[str, Versions]:
    changes = dict(change.split(":") for change in history_row.split())
    found: dict[str, Versions] = {}
    now = NONE
    for release in RELEASES:
        change = changes.get(release)
        if change is not None:
            now = NONE if change == "-" else Versions.parse(change if "-" in change else f"0-{change}")
        if now:
            found[release] = now
    return found


@cache
def feature_levels_of_release(release: str) -> dict[str, Versions]:
    """Feature → the levels that brokers of a release support."""
    return {name: levels[release] for name, row in FEATURES.items() if release in (levels := _parse_history_row(row))}


@cache
def api_versions_of_release(release: str) -> dict[int, Versions]:
    """API key → versions in one release. A release that does not exist speaks nothing."""
    return {
        key: versions_of_api_by_release(key)[release] for key in HISTORY if release in versions_of_api_by_release(key)
    }


# From 4.0 on brokers list Produce 0 to 2 for the sake of old librdkafka, and do not serve them (KAFKA-18659).
_FETCH_SINCE_4: Final = 4
_PRODUCE_SERVED: Final = 3


def drop_unserved_produce_versions(offer: Offer) -> dict[int, Versions]:
    """An offer without the Produce versions that brokers from 4.0 on list and do not serve."""
    served = dict(offer)
    if served.get(FETCH, NONE).low >= _FETCH_SINCE_4 and PRODUCE in served:
        served[PRODUCE] &= Versions(_PRODUCE_SERVED, served[PRODUCE].high)
    return served
