"""Filters in, exchanges held for a person out: the rules by which the control interface stops traffic.

`hold FILTER` holds matching requests (or answers), all or the first N, in `HeldExchanges`, until somebody releases them
or their time is up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from decoders.filters import Filter, FilterError, parse
from decoders.filters.prefilter import Possible
from kwcli.proxy.deciding.ask_deciders import ClientConnection
from kwcli.proxy.deciding.faults.parse_rule import is_field_known_at
from kwcli.proxy.deciding.held_exchanges import HeldExchanges
from kwcli.proxy.deciding.match_filters import FilterContext, FilteredConnection
from kwcli.proxy.relay.frame_decisions import PASS, Decision, InterceptedExchange

Side = Literal["request", "response"]


class HoldRule:
    """One hold rule; `left` is how many more exchanges it holds, None: no limit."""

    __slots__ = ("filter", "held", "left", "number", "side")

    def __init__(self, number: int, rule_filter: Filter, side: Side, first: int | None) -> None:
        self.number = number
        self.filter = rule_filter
        self.side: Side = side
        self.left = first
        self.held = 0

    def may_match(self, api_key: int) -> bool:
        """Whether the rule may hold exchanges of this API."""
        return self.filter.may_pass_api(api_key)

    def make_row_of_rule(self) -> dict[str, Any]:
        """The rule as a row of the control interface."""
        return {"id": self.number, "when": self.filter.text, "side": self.side, "left": self.left, "held": self.held}


class HoldRules:
    """All hold rules: a `Decider` for the connections of the proxy."""

    def __init__(self, held: HeldExchanges) -> None:
        self.held = held
        self.rules: dict[int, HoldRule] = {}
        self.filter_context = FilterContext(())
        self.rules_changed: Callable[[], None] = lambda: None
        self._count = 0

    def add_rule(self, when: str, side: Side, first: int | None) -> HoldRule:
        """Add a rule that holds matching requests or answers from now on. Raises FilterError."""
        found = parse(when)
        for atom in found.list_atoms():
            if not is_field_known_at(atom, "request" if side == "request" else "answer"):
                raise FilterError(f"{atom.name} is not known when a {side} is held", 1)
        self._count += 1
        rule = self.rules[self._count] = HoldRule(self._count, found, side, first)
        self._rebuild_filters()
        return rule

    def remove_rule(self, number: int) -> bool:
        """Remove a rule, so that it holds no more exchanges; False when there is no such rule."""
        if self.rules.pop(number, None) is None:
            return False
        self._rebuild_filters()
        return True

    def _rebuild_filters(self) -> None:
        filters = (rule.filter for rule in self.rules.values())
        self.filter_context = FilterContext(filters, self.filter_context.topics, lambda: self.rules_changed())
        self.rules_changed()

    def find_active_rules(self) -> list[HoldRule]:
        """The rules that may still hold exchanges."""
        return [rule for rule in self.rules.values() if rule.left != 0]

    def has_rule_for(self, api_key: int, version: int) -> bool:
        """Whether a rule may hold exchanges of this API and version."""
        active = self.find_active_rules()
        return bool(active) and (
            self.filter_context.is_needed_by_filters(api_key, version)
            or any(each.may_match(api_key) for each in active)
        )

    def make_connection_decider(self, relay: ClientConnection) -> _ConnectionHoldDecider:
        """The decider for one connection."""
        return _ConnectionHoldDecider(self, relay)

    def refuses_client(self, _relay: ClientConnection) -> bool:
        """False: hold rules turn no client away."""
        return False


class _ConnectionHoldDecider:
    __slots__ = ("_filtered", "_relay", "_rules")

    def __init__(self, rules: HoldRules, relay: ClientConnection) -> None:
        self._rules = rules
        self._relay = relay
        self._filtered = FilteredConnection(relay)

    def end_connection(self) -> None:
        """Forget the held exchanges of this connection, which is over."""
        self._rules.held.forget_connection(self._relay)

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header a rule may hold."""
        rules = self._rules
        return self._filtered.prefilter_by_header(
            rules.filter_context, rules.find_active_rules(), api_key, version, client_id
        )

    def decide_request(self, exchange: InterceptedExchange, _now_ns: int) -> Decision | None:
        """Hold the request (None) if a rule says so; else pass it, and say whether a rule may want its answer."""
        rules = self._rules
        wanted, show_answer = self._filtered.find_rules_for_request(
            rules.filter_context, rules.find_active_rules(), exchange
        )
        decision = Decision(show_answer=show_answer)
        return None if wanted and self._hold_by_rule(wanted[0], exchange, decision) else decision

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """Hold the answer (None) if a rule says so, else pass it."""
        rules = self._rules
        wanted = self._filtered.find_rules_for_answer(rules.filter_context, rules.find_active_rules(), exchange, now_ns)
        return None if wanted and self._hold_by_rule(wanted[0], exchange, PASS) else PASS

    def _hold_by_rule(self, rule: HoldRule, exchange: InterceptedExchange, decision: Decision) -> bool:
        if not self._rules.held.hold_exchange(exchange, self._relay, decision):
            return False
        rule.held += 1
        if rule.left is not None:
            rule.left -= 1
            if not rule.left:
                self._rules.rules_changed()
        return True
