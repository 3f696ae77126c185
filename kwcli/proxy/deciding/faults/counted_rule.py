"""Exchanges that match a rule's filter in, one after the other; which of them are hit, and how many so far, out.

Chance is drawn from the seed, the rule's text and the count of exchanges that matched: the same traffic in the same
order has the same faults.
"""

from __future__ import annotations

import random

from kwcli.proxy.deciding.faults.parse_rule import Rule


class CountedRule:
    """One rule at work. `matched` exchanges matched its filter, `hits` were hit; `ended`: it was found used up."""

    __slots__ = ("_first_ns", "_random", "ended", "hits", "matched", "number", "rule", "skipped")

    def __init__(self, rule: Rule, number: int, seed: int) -> None:
        self.rule = rule
        self.number = number
        self._random = random.Random(f"{seed}:{rule.text}")
        self._first_ns: int | None = None
        self.matched = 0
        self.hits = 0
        self.ended = False
        self.skipped = 0  # exchanges that were due, but that the action cannot change

    def is_used_up(self, now_ns: int) -> bool:
        """Whether the rule's limits are used up, so that it will hit nothing more."""
        limits = self.rule.limits
        if limits.first is not None and self.hits >= limits.first:
            return True
        return limits.for_ns is not None and self._first_ns is not None and now_ns - self._first_ns > limits.for_ns

    def count_match_and_check_hit(self, now_ns: int) -> bool:
        """Count an exchange that matches; whether the rule should hit it."""
        if self.is_used_up(now_ns):
            return False
        limits = self.rule.limits
        self.matched += 1
        turn = self.matched - limits.after
        if turn <= 0 or turn % limits.every:
            return False
        return limits.rate >= 1.0 or self._random.random() < limits.rate

    def count_hit(self, now_ns: int) -> int:
        """Count a hit; its number, from 1."""
        if self._first_ns is None:
            self._first_ns = now_ns
        self.hits += 1
        return self.hits

    def choose_random_shift(self, ns: int) -> int:
        """A random time between -ns and ns."""
        return self._random.randint(-ns, ns) if ns else 0

    @property
    def closing_line(self) -> str:
        """The line about the rule that the proxy prints at its end."""
        name = f"fault {self.number} ({self.rule.title})"
        if not self.matched:
            return f"{name}: no exchange matched"
        some = "exchange" if self.matched == 1 else "exchanges"
        more = f"; it could not act on {self.skipped} of them" if self.skipped else ""
        return f"{name}: hit {self.hits:,} of {self.matched:,} {some}{more}"
