"""Frames that the proxy intercepts in, the decisions of fault rules about them out.

Rules are asked in their order. Several may hit one exchange: their delays add up, until one of them answers, loses or
ends it. A rule counts an exchange as met when its filter matches, as hit when the rule did something to it.

What a rule needs to know is learnt from frames that are intercepted for that: names of topic ids from Metadata, the
client's software from ApiVersions, the partitions of a fetch session from the requests. Only frames that a rule may
want are intercepted; a rule that will not hit any more wants none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import KEYS, api
from decoders.filters import Phase
from decoders.filters.prefilter import Possible, join_by_or
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.messages.error_answers import (
    FetchSessions,
    encode_error_frame,
    explain_lack_of_error_field,
    make_error_answer,
)
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, METADATA, PRODUCE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.protocol_facts.errors.errors_by_api import is_plausible_error
from kwcli.proxy.deciding.ask_deciders import combine_decisions
from kwcli.proxy.deciding.faults.change_frames import (
    CHANGES,
    UNKNOWN_TOPIC,
    UNKNOWN_TOPIC_ID,
    FirstAnswers,
    change_body,
    decode_body_of_side,
    mark_topics_unknown,
)
from kwcli.proxy.deciding.faults.counted_rule import CountedRule
from kwcli.proxy.deciding.faults.parse_rule import Arguments
from kwcli.proxy.deciding.match_filters import FilterContext, FilteredConnection
from kwcli.proxy.relay.frame_decisions import PASS, AnswerDelivery, Decision, InterceptedExchange, Then

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side
    from kwcli.proxy.deciding.ask_deciders import ClientConnection
    from kwcli.proxy.deciding.faults.parse_rule import Rule

# Fetch 13 and Produce 13 name topics by their ids.
_TOPIC_IDS_SINCE: Final = {0: 13, FETCH: 13}
# The first versions of Fetch with sessions, with tags, and with the replica's id among the tags.
_SESSIONS_SINCE: Final = 7
_FLEXIBLE_SINCE: Final = 12
_NO_REPLICA_SINCE: Final = 15
_APART: Final = (0).to_bytes(4, "big") + (-1).to_bytes(4, "big", signed=True)
_ERRORS: Final = ("error", "error after", "no such topic")


class FaultDecider:
    """A `Decider`: all fault rules, counted over all connections. `now_ns` is asked when a client connects."""

    def __init__(self, rules: Sequence[Rule], seed: int, now_ns: Callable[[], int]) -> None:
        self._seed = seed
        self._now_ns = now_ns
        self._past: list[CountedRule] = []  # of removed rules
        self._number = 0
        self.counted_rules: list[CountedRule] = []
        self.filter_context = FilterContext(())
        self.first_answers = FirstAnswers()
        self.rules_changed: Callable[[], None] = lambda: None
        self.replace_rules(rules)

    def replace_rules(self, rules: Sequence[Rule]) -> None:
        """Use these rules from now on; rules that were there before keep their counts."""
        known = {each.rule.text: each for each in self.counted_rules}
        made = []
        for rule in rules:
            counted = known.pop(rule.text, None)
            if counted is None:
                self._number += 1
                counted = CountedRule(rule, self._number, self._seed)
            made.append(counted)
        self._past += known.values()
        self.counted_rules = made
        filters = (each.rule.filter for each in made)
        self.filter_context = FilterContext(filters, self.filter_context.topics, lambda: self.rules_changed())
        self.rules_changed()

    def format_closing_lines(self) -> list[str]:
        """The lines about rules that the proxy prints at its end."""
        return [each.closing_line for each in sorted([*self._past, *self.counted_rules], key=lambda each: each.number)]

    def has_rule_for(self, api_key: int, version: int) -> bool:
        """Whether exchanges of this API and version are to be intercepted."""
        if self.filter_context.is_needed_by_filters(api_key, version):
            return True
        return any(each.rule.may_match(api_key, version) for each in self.counted_rules if not each.ended)

    def list_rules_in_force(self, api_key: int, version: int, now_ns: int) -> list[CountedRule]:
        """The rules that may still hit exchanges of this API and version."""
        found = []
        for each in self.counted_rules:
            if not each.ended and each.rule.may_match(api_key, version):
                if each.is_used_up(now_ns):
                    each.ended = True
                    self.rules_changed()
                else:
                    found.append(each)
        return found

    def make_connection_decider(self, relay: ClientConnection) -> ConnectionFaultDecider:
        """The decider for one connection."""
        return ConnectionFaultDecider(self, relay)

    def refuses_client(self, relay: ClientConnection) -> bool:
        """Whether a rule turns this client away."""
        rules = [each for each in self.counted_rules if each.rule.side == "connection"]
        if not rules:
            return False
        now_ns = self._now_ns()
        exchange = FilteredConnection(relay).build_exchange_of_client(self.filter_context, now_ns)
        for counted in rules:
            if counted.rule.filter.matches(exchange) and counted.count_match_and_check_hit(now_ns):
                counted.count_hit(now_ns)
                return True
        return False


class _Forgotten(NamedTuple):
    """Memo of a Metadata request whose answer will lose its topics; it is forwarded, since clients need the brokers."""

    arguments: Arguments


class _Fetching(NamedTuple):
    """Memo of a Fetch request: its body as sent, and as a body with all partitions of its session."""

    asked: Mapping[str, Any]
    whole: Mapping[str, Any]


class ConnectionFaultDecider:
    """The fault rules applied to one connection."""

    __slots__ = ("_faults", "_filtered", "_relay", "_sessions")

    def __init__(self, faults: FaultDecider, relay: ClientConnection) -> None:
        self._faults = faults
        self._relay = relay
        self._filtered = FilteredConnection(relay)
        self._sessions: FetchSessions | None = None

    def end_connection(self) -> None:
        """Called when the connection is over; nothing is to be done."""

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:
        """Which requests with such a header a rule may want."""
        faults = self._faults
        if faults.filter_context.is_needed_by_filters(api_key, version):
            return True
        prefilter = faults.filter_context.make_prefilter(
            self._filtered.build_exchange_of_header(faults.filter_context, api_key, version, client_id, 0)
        )
        found: list[Possible] = []
        for each in faults.counted_rules:
            rule = each.rule
            if each.ended or not rule.may_match(api_key, version):
                continue
            possible = prefilter.make_test_of_selection(rule.filter, answered=rule.side == "answer")
            found.append(possible)
            if possible and api_key == FETCH and rule.action.name in _ERRORS:
                found.append(prefilter_fetch_session(version, client_id))
        return join_by_or(found)

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision of all rules about a request."""
        faults = self._faults
        key, version = exchange.api_key, exchange.version
        rules = faults.list_rules_in_force(key, version, now_ns)
        learns = faults.filter_context.is_needed_by_filters(key, version)
        if not rules and not learns:
            return PASS
        seen = self._filtered.build_exchange_of_request(faults.filter_context, exchange)
        show_answer = learns and exchange.answered
        if key == FETCH and any(each.rule.action.name in _ERRORS for each in rules):
            show_answer = self._follow_fetch_session(exchange) or show_answer
        made = Decision()
        for counted in rules:
            if counted.rule.side == "answer":
                show_answer = show_answer or counted.rule.filter.decide(seen, Phase.REQUEST) is not False
            elif not made.is_final and counted.rule.filter.matches(seen) and counted.count_match_and_check_hit(now_ns):
                made = self._combine_with_decision_of_rule(counted, exchange, made, now_ns)
        return made._replace(show_answer=show_answer or made.show_answer)

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """The decision of all rules about an answer."""
        faults = self._faults
        key, version = exchange.api_key, exchange.version
        seen = self._filtered.build_exchange_of_answer(faults.filter_context, exchange, now_ns)
        self._filtered.learn_from_answer(faults.filter_context, exchange, seen)
        if isinstance(exchange.memo, _Fetching) and self._sessions is not None:
            found = decode_body_of_side(exchange, "response")
            self._sessions.follow_response(exchange.memo.asked, found[1] if found is not None else {})
        made = Decision()
        if isinstance(exchange.memo, _Forgotten):
            frame = change_body(exchange, "response", mark_topics_unknown, exchange.memo.arguments)
            made = combine_decisions(exchange, made, Decision(frame))
        for counted in faults.counted_rules:
            rule = counted.rule
            if rule.side != "answer" or made.is_final or not rule.may_match(key, version):
                continue
            if rule.filter.matches(seen) and counted.count_match_and_check_hit(now_ns):
                made = self._combine_with_decision_of_rule(counted, exchange, made, now_ns)
        return made

    def _follow_fetch_session(self, exchange: InterceptedExchange) -> bool:
        """Remember all partitions that a Fetch asks for; whether it begins a session, which its answer tells."""
        if self._sessions is None:
            self._sessions = FetchSessions()
        found = decode_body_of_side(exchange, "request")
        if found is None:
            return False
        exchange.memo = _Fetching(found[1], self._sessions.complete_incremental_fetch(found[1]))
        return found[1].get("session_epoch") == 0

    def _combine_with_decision_of_rule(
        self, counted: CountedRule, exchange: InterceptedExchange, made: Decision, now_ns: int
    ) -> Decision:
        """The decision `made` so far together with that of one more rule."""
        decision = self._make_decision_of_rule(counted, exchange)
        if decision is None:
            counted.skipped += 1
            return made
        hit = counted.count_hit(now_ns)
        self._relay.log_fault(exchange.correlation_id, counted.number, counted.rule.title, hit)
        return combine_decisions(exchange, made, decision)

    def _make_decision_of_rule(self, counted: CountedRule, exchange: InterceptedExchange) -> Decision | None:
        rule = counted.rule
        name = rule.action.name
        change = CHANGES.get(name)
        if change is not None:
            side: Side = "request" if rule.side == "request" else "response"
            frame = change_body(exchange, side, change, rule.arguments)
            if frame is None:
                return None
            return Decision(frame, mute_ns=rule.arguments.time_ns if rule.arguments.mute else 0)
        if name == "no such topic" and exchange.api_key == METADATA:
            return _make_unknown_topics_decision(exchange, rule.arguments)
        if name in _ERRORS:
            return self._make_error_decision(counted, exchange)
        if name == "stale metadata":
            frame = self._faults.first_answers.find_first_answer(exchange)
            return None if frame is None else Decision(frame)
        return _PLAIN[name](counted)

    def _make_error_decision(self, counted: CountedRule, exchange: InterceptedExchange) -> Decision:
        rule = counted.rule
        code = rule.arguments.code
        if rule.action.name == "no such topic":
            since = _TOPIC_IDS_SINCE.get(exchange.api_key)
            code = UNKNOWN_TOPIC_ID if since is not None and exchange.version >= since else UNKNOWN_TOPIC
        found = decode_body_of_side(exchange, "request")
        if found is None:
            return Decision(b"", then=Then.CLOSE, reason=f"{_format_reason(counted)}: {exchange.base} cannot be read")
        asked = exchange.memo.whole if isinstance(exchange.memo, _Fetching) else found[1]
        answer = make_error_answer(exchange.api_key, exchange.version, asked, code)
        frame = encode_error_frame(exchange.api_key, exchange.version, answer, exchange.correlation_id)
        if frame is None:
            return Decision(b"", then=Then.CLOSE, reason=f"{_format_reason(counted)}: {answer.why}")
        if isinstance(exchange.memo, _Fetching) and self._sessions is not None:
            self._sessions.follow_response(exchange.memo.asked, {})
        frame = with_size_field(frame)
        return Decision(frame) if rule.side == "answer" else Decision(reply=frame)


def prefilter_fetch_session(version: int, client_id: bytes | None) -> Possible:
    """Whether a Fetch with this header may be part of a session, whose partitions only all its fetches together tell.

    A request outside of sessions has session id 0 and epoch -1, at a place that its header decides.
    """
    if version < _SESSIONS_SINCE:
        return False
    # Size, API key, version, correlation id, client id, count of tags; then the replica's id (in versions where it is
    # not among the tags), the longest time, two sizes and the isolation level.
    begin = 14 + len(client_id or b"") + (version >= _FLEXIBLE_SINCE) + (4 if version < _NO_REPLICA_SINCE else 0) + 13
    end = begin + len(_APART)
    return lambda data, at, stop: stop < at + end or data[at + begin : at + end] != _APART


def _make_unknown_topics_decision(exchange: InterceptedExchange, arguments: Arguments) -> Decision | None:
    """Mark a Metadata request, so that its answer loses its topics; None where it asks for none."""
    found = decode_body_of_side(exchange, "request")
    # No list asks for all topics; so does an empty one in version 0.
    if found is None or (found[1].get("topics") == [] and exchange.version):
        return None
    exchange.memo = _Forgotten(arguments)
    return Decision(show_answer=True)


def _format_reason(counted: CountedRule) -> str:
    return f"fault {counted.number} ({counted.rule.title})"


def _make_decision_maker_that_ends_connection(then: Then) -> Callable[[CountedRule], Decision]:
    return lambda counted: Decision(b"", then=then, reason=_format_reason(counted))


def _make_decision_to_lose_answer(counted: CountedRule) -> Decision:
    then = Then.CLOSE if counted.rule.arguments.close else Then.WITHHOLD
    return Decision(b"", then=then, reason=_format_reason(counted))


def _make_delay_decision(counted: CountedRule) -> Decision:
    arguments = counted.rule.arguments
    return Decision(delay_ns=arguments.time_ns + counted.choose_random_shift(arguments.spread_ns))


def _make_decision_to_cut_answer(counted: CountedRule) -> Decision:
    return Decision(
        delivery=AnswerDelivery(cut=counted.rule.arguments.size), then=Then.CLOSE, reason=_format_reason(counted)
    )


# Actions that need not look at the frame.
_PLAIN: Final[dict[str, Callable[[CountedRule], Decision]]] = {
    "lose answer": _make_decision_to_lose_answer,
    "delay": _make_delay_decision,
    "close": _make_decision_maker_that_ends_connection(Then.CLOSE),
    "reset": _make_decision_maker_that_ends_connection(Then.RESET),
    "blackhole": _make_decision_maker_that_ends_connection(Then.SWALLOW),
    "cut": _make_decision_to_cut_answer,
    "slice": lambda counted: Decision(delivery=AnswerDelivery(piece=counted.rule.arguments.size)),
    "slow": lambda counted: Decision(delivery=AnswerDelivery(rate=counted.rule.arguments.rate)),
    "duplicate answer": lambda _: Decision(delivery=AnswerDelivery(times=2)),
}


def warn_about_rules(rules: Iterable[Rule]) -> list[str]:
    """Warnings about rules that the proxy prints at its start."""
    found = []
    for rule in rules:
        if rule.action.breaks:
            found.append(f"{rule.title!r} breaks the protocol: clients may react in any way")
        if rule.action.name in ("error", "error after"):
            found += [
                f"{rule.title!r} closes the connection instead: {why}" for why in _explain_missing_error_places(rule)
            ]
            if names := _list_apis_without_error(rule):
                found.append(
                    f"{rule.title!r}: brokers are not known to answer {', '.join(names)} with this error (kw errors)"
                )
    return found


def _list_apis_of_filter(rule: Rule) -> list[int]:
    """The APIs that a rule's filter names; none where it names none."""
    meant = [key for key in KEYS if rule.filter.may_pass_api(key)]
    return meant if len(meant) < len(KEYS) else []


def _list_apis_without_error(rule: Rule) -> list[str]:
    """The APIs named by a rule that brokers are not known to answer with its error."""
    error = error_name(rule.arguments.code)
    return [api(key).name for key in _list_apis_of_filter(rule) if not is_plausible_error(key, error)]


def _explain_missing_error_places(rule: Rule) -> Iterator[str]:
    """Why answers that a rule may hit have no field for its error."""
    meant = _list_apis_of_filter(rule)
    if not meant:
        yield "where an answer has no field for it, or there is no answer"
        return
    if PRODUCE in meant and rule.side == "request":
        yield "where acks=0, since that Produce is never answered"
    for key in meant:
        versions = api(key).versions
        why = [
            text
            for version in range(versions.low, versions.high + 1)
            if (text := explain_lack_of_error_field(key, version))
        ]
        if why:
            yield why[-1]
