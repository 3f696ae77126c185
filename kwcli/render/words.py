"""Kafka's numbers that stand for words, as a line of text says them, and the word for one of them."""

from __future__ import annotations

from typing import Final

from decoders.apis.enums import ENUMS


def _said(key: int, path: str) -> dict[int, str]:
    """A closed set of Kafka's, as people say its words; what stands for nothing is left out."""
    return {number: name.replace("_", " ") for number, name in ENUMS[key][path].items() if name != "unknown"}


# The negative times of ListOffsets, coordinators and so on are Kafka's words; the others are short forms for a line.
WORDS: Final[dict[str, dict[int, str]]] = {
    "coordinator": _said(10, "key_type"),
    "config": _said(32, "resources[].resource_type"),
    "acl": _said(30, "creations[].resource_type"),
    "pattern": _said(30, "creations[].resource_pattern_type"),
    "operation": _said(30, "creations[].operation"),
    "permission": _said(30, "creations[].permission_type"),
    "election": _said(43, "election_type"),
    "codec": _said(72, "compression_type"),
    "timestamp": _said(2, "topics[].partitions[].timestamp"),
    "isolation": ENUMS[1]["isolation_level"],
    "scram": {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
    "endpoint": {1: "brokers", 2: "controllers"},
    "acks": {-1: "acks=all", 0: "acks=0", 1: "acks=1"},
    "epoch": {-1: "leaving", -2: "leaving (static)", 0: "joining"},
    "outcome": {0: "abort", 1: "commit"},
    "vote": {0: "not granted", 1: "granted"},
}


def word(table: str, number: int) -> str:
    """The word, or the number as text where nobody gave it one."""
    return WORDS[table].get(number, str(number))
