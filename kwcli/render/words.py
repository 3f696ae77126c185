"""Kafka's numbers that stand for words, each as a literal table, and the word for one of them."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, dict[int, str]]] = {
    "coordinator": {0: "group", 1: "transaction", 2: "share"},
    "config": {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"},
    "acl": {1: "any", 2: "topic", 3: "group", 4: "cluster", 5: "transactional id", 6: "delegation token", 7: "user"},
    "pattern": {1: "any", 2: "match", 3: "literal", 4: "prefixed"},
    "operation": {
        1: "any",
        2: "all",
        3: "read",
        4: "write",
        5: "create",
        6: "delete",
        7: "alter",
        8: "describe",
        9: "cluster action",
        10: "describe configs",
        11: "alter configs",
        12: "idempotent write",
        13: "create tokens",
        14: "describe tokens",
        15: "two-phase commit",
    },
    "permission": {1: "any", 2: "deny", 3: "allow"},
    "scram": {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
    "election": {0: "preferred", 1: "unclean"},
    "isolation": {0: "read_uncommitted", 1: "read_committed"},
    "codec": {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"},
    "endpoint": {1: "brokers", 2: "controllers"},
    "acks": {-1: "acks=all", 0: "acks=0", 1: "acks=1"},
    "timestamp": {-1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered"},
    "epoch": {-1: "leaving", -2: "leaving (static)", 0: "joining"},
    "outcome": {0: "abort", 1: "commit"},
    "vote": {0: "not granted", 1: "granted"},
}


def word(table: str, number: int) -> str:
    """The word, or the number as text where nobody gave it one."""
    return WORDS[table].get(number, str(number))
