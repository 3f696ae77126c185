"""The text of a fault rule in, a `Rule` out: what goes wrong, how often, for which exchanges.

```
error NOT_LEADER_OR_FOLLOWER, first 3, when api == Produce and topic == orders
delay 200ms±50ms, rate 10%
lose answer then close, every 100, when api == Produce
```

A rule is an action, any number of limits, and a filter of the one filter language, with commas between. ACTIONS lists
all actions. An action happens at the request, at the answer or when a client connects (`side`), so its filter can only
ask for what is known by then: anything else is an error at its column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from decoders.apis import api
from decoders.filters import Filter, FilterError, Phase, parse
from decoders.filters.filter_field_table import ALIASES
from decoders.filters.parse_expression import Atom, api_keys_with_path
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, METADATA
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name, find_error_code
from decoders.protocol_facts.field_paths import FieldPathStep, parse_field_path
from decoders.schema.api_declaration import Plan, Side, resolve
from decoders.wire.parse_units import parse_duration, parse_size
from decoders.wire.suggest_similar_words import did_you_mean

When = Literal["connection", "request", "answer"]
# APIs whose requests name topics that clients ask for by name.
_TOPIC_APIS: Final = frozenset({0, 1, 2, METADATA})


class RuleError(FilterError):
    """A rule that cannot be understood; `column` counts characters of the rule from 1."""


class Action(NamedTuple):
    """A fault that rules can name. `side`: when it happens; "either": at the request, unless the filter asks for the
    answer. `apis`: the only APIs it can change, None: all. `breaks`: it does what no broker and no network does.
    """

    name: str
    arguments: str
    side: When | Literal["either"]
    text: str
    apis: frozenset[int] | None = None
    breaks: bool = False


ACTIONS: Final = (
    Action("error", "NAME", "request", "answered with this error, not forwarded; the connection is closed where no "
           "answer has a place for it"),
    Action("error after", "NAME after", "answer", "forwarded and applied, then answered with this error"),
    Action("lose answer", "[then close]", "answer", "forwarded and applied; this answer and all later ones of the "
           "connection are withheld until the client closes, or the connection is closed"),
    Action("delay", "T[±T] [request | answer]", "either", "held up for so long, and all behind it on its connection"),
    Action("throttle", "T [mute]", "answer", "throttle_time_ms says so; mute: and nothing is read for so long, as a "
           "broker does (KIP-219)"),
    Action("close", "", "either", "the connection is closed instead of passing it on"),
    Action("reset", "", "either", "the same with a reset (RST)"),
    Action("cut", "N", "answer", "the connection is closed behind so many bytes of the answer"),
    Action("slice", "N", "answer", "the answer is sent in pieces of so many bytes"),
    Action("slow", "RATE", "answer", "the answer is sent so many bytes a second (10kB, 1MiB)"),
    Action("blackhole", "", "either", "from now on nothing passes in either direction until the client closes"),
    Action("refuse", "", "connection", "a new connection is reset"),
    Action("stale metadata", "", "answer", "the first answer that was given to the same Metadata request is given "
           "again", frozenset({METADATA})),
    Action("leader", "NODE", "answer", "Metadata names this node as leader of every partition", frozenset({METADATA})),
    Action("no such topic", "", "request", "Metadata, Produce, Fetch and ListOffsets are told that their topics do not "
           "exist", _TOPIC_APIS),
    Action("duplicate answer", "", "answer", "the answer is sent twice", breaks=True),
    Action("corrupt records", "", "answer", "every batch of a Fetch answer gets a wrong CRC", frozenset({FETCH})),
    Action("truncate records", "", "answer", "the last batch of every partition of a Fetch answer is cut in its middle",
           frozenset({FETCH})),
    Action("empty fetch", "", "answer", "a Fetch answer without its records", frozenset({FETCH})),
    Action("rewrite", "PATH=VALUE", "either", "a field of the request (request.PATH) or answer (response.PATH) gets "
           "this value"),
)  # fmt: skip
BY_NAME: Final = {action.name: action for action in ACTIONS}


class Arguments(NamedTuple):
    """The arguments behind the name of an action; times in ns, sizes in bytes."""

    code: int = 0
    close: bool = False
    time_ns: int = 0
    spread_ns: int = 0
    mute: bool = False
    size: int = 0
    rate: float = 0.0
    node: int = 0
    path: tuple[FieldPathStep, ...] = ()
    value: Any = None


class Limits(NamedTuple):
    """Which matching exchanges are hit: none of the first `after`, then each `every`th, of those a share (`rate`), of
    those only the first `first`, and none later than `for_ns` after the first hit.
    """

    first: int | None = None
    every: int = 1
    rate: float = 1.0
    after: int = 0
    for_ns: int | None = None


class Rule(NamedTuple):
    """A fault rule; `text` is the whole rule, `title` its action, both as written."""

    text: str
    title: str
    action: Action
    arguments: Arguments
    limits: Limits
    side: When
    filter: Filter
    apis: frozenset[int] | None = None

    def may_match(self, api_key: int, version: int) -> bool:
        """Whether the rule may hit exchanges of this API and version, as far as these decide."""
        if self.side == "connection" or (self.apis is not None and api_key not in self.apis):
            return False
        if self.action.name == "throttle" and not _has_throttle_time(api_key, version):
            return False
        return self.filter.may_pass_api(api_key)


def _has_throttle_time(api_key: int, version: int) -> bool:
    declared = api(api_key)
    return version in declared.versions and any(
        field.name == "throttle_time_ms" for field in _resolve_response_plan(api_key, version).fields
    )


def _resolve_response_plan(api_key: int, version: int) -> Plan:
    return resolve(api(api_key).response, version)


class _Clause(NamedTuple):
    """A part of a rule between commas, and the index in the rule where it begins."""

    text: str
    at: int

    def split_words(self) -> Iterator[_Clause]:
        for match in re.finditer(r"\S+", self.text):
            yield _Clause(match[0], self.at + match.start())


def parse_rule(text: str) -> Rule:
    """The rule that a text describes. Raises RuleError."""
    head, condition = _split_rule_and_filter(text)
    clauses = list(_split_at_commas(head))
    if not clauses[0].text.strip():
        raise _make_rule_error("the action is missing", clauses[0], candidates=list(BY_NAME))
    action, arguments, asked = _parse_action(clauses[0])
    limits = _parse_limits(clauses[1:])
    rule_filter = _parse_filter(condition)
    side = _choose_side_of_action(action, asked, rule_filter)
    _refuse_unknown_fields(rule_filter, side, condition.at if condition is not None else 0)
    apis = action.apis
    if action.name == "rewrite":
        apis = _find_apis_with_path(side, arguments.path)
    title = " ".join(clauses[0].text.split())
    return Rule(text, title, action, arguments, limits, side, rule_filter, apis)


def _split_rule_and_filter(text: str) -> tuple[_Clause, _Clause | None]:
    """The part of a rule before its filter, and the filter; None where it has none."""
    match = re.search(r"""^((?:[^"',]|"[^"]*"|'[^']*'|,(?!\s*when\b))*),\s*when\b""", text)
    if match is None:
        return _Clause(text, 0), None
    return _Clause(text[: len(match[1])], 0), _Clause(text[match.end() :], match.end())


def _split_at_commas(head: _Clause) -> Iterator[_Clause]:
    begun = 0
    quote = ""
    for at, sign in enumerate(head.text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign == ",":
            yield _Clause(head.text[begun:at], begun)
            begun = at + 1
    yield _Clause(head.text[begun:], begun)


def _make_rule_error(text: str, clause: _Clause, *, word: str = "", candidates: list[str] | None = None) -> RuleError:
    at = clause.at + len(clause.text) - len(clause.text.lstrip())
    return RuleError(text, at + 1, word=word, candidates=candidates or ())


# Actions


def _parse_action(clause: _Clause) -> tuple[Action, Arguments, When | None]:
    """The action, its arguments and the side that the text names, if any."""
    words = list(clause.split_words())
    texts = [word.text.lower() for word in words]
    for size in (3, 2, 1):
        name = " ".join(texts[:size])
        if name in BY_NAME and name != "error after":
            break
    else:
        raise _make_action_error(words[0])
    rest = words[size:]
    read = _ACTION_PARSERS.get(name)
    if read is None:
        _refuse_missing_comma(rest)
        if rest:
            raise _make_rule_error(f"{name!r} takes no {rest[0].text!r}", rest[0])
        return BY_NAME[name], Arguments(), None
    end = _Clause("", clause.at + len(clause.text))
    return read(BY_NAME[name], rest, end)


_ActionParser = Callable[[Action, list[_Clause], _Clause], tuple[Action, Arguments, "When | None"]]


# Words that other tools have for an action.
_SYNONYMS: Final = {
    **dict.fromkeys(("drop", "lose", "discard"), "lose answer"),
    **dict.fromkeys(("latency", "sleep", "slowdown"), "delay"),
    **dict.fromkeys(("timeout", "hang", "partition"), "blackhole"),
    **dict.fromkeys(("disconnect", "kill", "down"), "close"),
    **dict.fromkeys(("rst", "reset_peer"), "reset"),
    **dict.fromkeys(("bandwidth", "limit"), "slow"),
    **dict.fromkeys(("corrupt", "corruption"), "corrupt records"),
    **dict.fromkeys(("fail", "reject"), "error"),
}


def _make_action_error(word: _Clause) -> RuleError:
    """The error for a word that is no action; it lists the actions, unless one of them is nearly that word."""
    head, sign, tail = word.text.partition("=")
    if sign and tail and head.lower() in BY_NAME:
        return _make_rule_error(f"write {head.lower()} {tail}: a space, no '='", word)
    names = ", ".join(BY_NAME)
    meant = _SYNONYMS.get(word.text.lower())
    if meant is not None:
        return _make_rule_error(f"there is no action {word.text!r}, write {meant}; actions are {names}", word)
    text = f"there is no action {word.text!r}"
    if not did_you_mean(word.text, BY_NAME):
        text += f": {names}"
    return _make_rule_error(text, word, word=word.text, candidates=list(BY_NAME))


def _refuse_missing_comma(words: list[_Clause]) -> None:
    """Raise RuleError where a limit or filter begins among the words of an action."""
    for word in words[:1]:
        if word.text.lower() in (*_LIMITS, "when"):
            raise _make_rule_error(f"a comma is missing before {word.text!r}", word)


def _refuse_more_words(action: Action, words: list[_Clause]) -> None:
    _refuse_missing_comma(words)
    if words:
        raise _make_rule_error(f"write {action.name} {action.arguments}: leave {words[0].text!r} out", words[0])


def _require_first_word(action: Action, words: list[_Clause], end: _Clause) -> _Clause:
    if not words:
        raise RuleError(f"write {action.name} {action.arguments}", end.at + 1)
    return words[0]


def _parse_error_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    word = _require_first_word(action, words, end)
    code = int(word.text) if re.fullmatch(r"-?\d{1,5}", word.text) else find_error_code(word.text)
    if code is None:
        names = [row.name for row in ERRORS.values()]
        raise _make_rule_error(f"no error has the name {word.text!r}", word, word=word.text, candidates=names)
    if not code or not -32768 <= code <= 32767:
        raise _make_rule_error(f"{error_name(code)} is no error", word)
    if len(words) > 1 and words[1].text.lower() == "after":
        if len(words) > 2 and words[2].text.isdecimal():
            _refuse_missing_comma(words[1:])
        _refuse_more_words(BY_NAME["error after"], words[2:])
        return BY_NAME["error after"], Arguments(code=code), None
    _refuse_more_words(action, words[1:])
    return action, Arguments(code=code), None


def _parse_lose_action(action: Action, words: list[_Clause], _end: _Clause) -> tuple[Action, Arguments, When | None]:
    if [word.text.lower() for word in words[:2]] == ["then", "close"]:
        _refuse_more_words(action, words[2:])
        return action, Arguments(close=True), None
    _refuse_more_words(action, words)
    return action, Arguments(), None


def _parse_duration_ns(word: _Clause, text: str) -> int:
    try:
        return int(parse_duration(text) * 1e6)
    except ValueError:
        raise _make_rule_error(f"{text!r} is no duration: write 250us, 100ms or 2m; 1.5 is seconds", word) from None


def _parse_delay_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    word = _require_first_word(action, words, end)
    time, sign, spread = word.text.replace("+-", "±").partition("±")
    length = _parse_duration_ns(word, time)
    wide = _parse_duration_ns(word, spread) if sign else 0
    if wide > length:
        raise _make_rule_error(f"{spread} around {time} would be less than zero", word)
    side: When | None = None
    if len(words) > 1:
        _refuse_missing_comma(words[1:])
        if words[1].text.lower() not in ("request", "answer"):
            raise _make_rule_error(f"it is the request or the answer that is delayed, not {words[1].text!r}", words[1])
        side = "request" if words[1].text.lower() == "request" else "answer"
    _refuse_more_words(action, words[2:])
    return action, Arguments(time_ns=length, spread_ns=wide), side


def _parse_throttle_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    word = _require_first_word(action, words, end)
    mute = len(words) > 1 and words[1].text.lower() == "mute"
    _refuse_more_words(action, words[2 if mute else 1 :])
    time_ns = _parse_duration_ns(word, word.text)
    if time_ns > 0x7FFFFFFF * 1_000_000:
        raise _make_rule_error("throttle_time_ms has room for 24 days", word)
    return action, Arguments(time_ns=time_ns, mute=mute), None


def _parse_size_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    word = _require_first_word(action, words, end)
    _refuse_more_words(action, words[1:])
    try:
        size = parse_size(word.text.removesuffix("/s"))
    except ValueError:
        raise _make_rule_error(f"{word.text!r} is no size: write 512, 10kB or 1MiB", word) from None
    if size < 1 and action.name != "cut":
        raise _make_rule_error("it has to be 1 byte or more", word)
    return action, Arguments(size=int(size), rate=size), None


def _parse_leader_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    word = _require_first_word(action, words, end)
    _refuse_more_words(action, words[1:])
    if not re.fullmatch(r"-1|\d{1,9}", word.text):
        raise _make_rule_error(f"{word.text!r} is no node: write its number, or -1 for none", word)
    return action, Arguments(node=int(word.text)), None


def _parse_rewrite_action(action: Action, words: list[_Clause], end: _Clause) -> tuple[Action, Arguments, When | None]:
    first = _require_first_word(action, words, end)
    if words[0].text.partition("=")[2][:1] not in ("'", '"'):
        _refuse_missing_comma(words[1:])
    text = " ".join(word.text for word in words)
    path, sign, value = text.partition("=")
    head, _, tail = path.strip().partition(".")
    if not sign or head not in ("request", "response") or not tail:
        raise _make_rule_error("write rewrite request.PATH=VALUE or rewrite response.PATH=VALUE", first)
    side: Side = "request" if head == "request" else "response"
    try:
        steps = parse_field_path(tail)
    except ValueError as bad:
        raise _make_rule_error(f"{bad.args[0]!r} is no part of a path", first) from None
    if not api_keys_with_path(side, tail):
        raise _make_rule_error(f"no {side} has a field {tail!r}", first)
    return (
        action,
        Arguments(path=steps, value=_parse_value_to_set(value.strip())),
        "request" if side == "request" else "answer",
    )


def _parse_value_to_set(text: str) -> Any:
    """The value that a text means: null, true, false, a number; else the text itself, without its quotes."""
    if text[:1] in ('"', "'") and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else text


_ACTION_PARSERS: Final[dict[str, _ActionParser]] = {
    "error": _parse_error_action,
    "lose answer": _parse_lose_action,
    "delay": _parse_delay_action,
    "throttle": _parse_throttle_action,
    "cut": _parse_size_action,
    "slice": _parse_size_action,
    "slow": _parse_size_action,
    "leader": _parse_leader_action,
    "rewrite": _parse_rewrite_action,
}


def _find_apis_with_path(side: When, path: tuple[FieldPathStep, ...]) -> frozenset[int]:
    return api_keys_with_path("request" if side == "request" else "response", ".".join(step.name for step in path))


# Limits

_LIMITS: Final = ("first", "every", "rate", "after", "for")


def _parse_limits(clauses: list[_Clause]) -> Limits:
    found: dict[str, Any] = {}
    for clause in clauses:
        words = list(clause.split_words())
        if not words:
            raise RuleError("a limit or a filter is missing behind this comma", clause.at)
        name = words[0].text.lower()
        if name not in _LIMITS:
            raise _make_rule_error(
                f"{words[0].text!r} is no limit: {', '.join(_LIMITS)}, or when FILTER",
                words[0],
                word=words[0].text,
                candidates=[*_LIMITS, "when"],
            )
        _refuse_missing_comma(words[2:])
        if len(words) != 2:
            raise _make_rule_error(f"write {_SYNTAX[name]}", words[0])
        if name in found or (name == "for" and "for_ns" in found):
            raise _make_rule_error(f"there is a second {name!r}", words[0])
        found["for_ns" if name == "for" else name] = _parse_value_of_limit(name, words[1])
    return Limits(**found)


_SYNTAX: Final = {"first": "first N", "every": "every N", "rate": "rate P%", "after": "after N", "for": "for TIME"}


def _parse_value_of_limit(name: str, word: _Clause) -> int | float:
    if name == "for":
        return _parse_duration_ns(word, word.text)
    if name == "rate":
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)%", word.text)
        if match is None or float(match[1]) > 100:
            share = f"{word.text}%" if word.text.isdecimal() and int(word.text) <= 100 else "5%"
            raise _make_rule_error(f"{word.text!r} is no share: write rate {share}", word)
        return float(match[1]) / 100
    if not re.fullmatch(r"\d{1,9}", word.text) or (name != "after" and not int(word.text)):
        raise _make_rule_error(f"{word.text!r} is no count: write {_SYNTAX[name]}", word)
    return int(word.text)


# Filters

# What the data path never knows of a connection: only the log looks at logins and TLS.
_NEVER: Final = frozenset({"user", "mechanism", "tls", "cipher", "sni", "subject"})
# The node that a listener is for; known as soon as a client connects.
NODE: Final = "node.id"
_AT_ONCE: Final = frozenset({"client", "broker", "connection", "time", NODE})
# Fields that requests and answers have; a request's part of them is known when it comes.
_IN_REQUESTS: Final = frozenset({"partition", "records", "key", "value"})
_WHEN: Final = {"connection": "a client connects", "request": "the request comes", "answer": "the answer comes"}


def _parse_filter(condition: _Clause | None) -> Filter:
    if condition is None:
        return parse("")
    if not condition.text.strip():
        raise RuleError("the filter is missing", condition.at + 1)
    try:
        return parse(condition.text)
    except FilterError as error:
        at = condition.at + error.column
        raise RuleError(error.text, at, word=error.word, candidates=error.candidates) from None


def _choose_side_of_action(action: Action, asked: When | None, rule_filter: Filter) -> When:
    """When the action happens."""
    if asked is not None:
        return asked
    if action.side != "either":
        return action.side
    return "request" if all(is_field_known_at(atom, "request") for atom in rule_filter.list_atoms()) else "answer"


def is_field_known_at(atom: Atom, side: When) -> bool:
    """Whether the data path knows the field of a filter's `atom` at the moment `side`."""
    if atom.name in _NEVER:
        return False
    if atom.name in _AT_ONCE:
        return True
    if side == "connection" or atom.row.history:
        return False
    if side == "answer":
        return atom.row.phase <= Phase.RESPONSE
    if atom.row.phase <= Phase.REQUEST or atom.row.entity or atom.name in _IN_REQUESTS:
        return True
    return atom.name.startswith(("header.", "record."))


def _refuse_unknown_fields(rule_filter: Filter, side: When, begun: int) -> None:
    for atom in rule_filter.list_atoms():
        if not is_field_known_at(atom, side):
            names = [atom.name, *(word for word, name in ALIASES.items() if name == atom.name)]
            place = re.search(rf"(?<![\w.])({'|'.join(map(re.escape, names))})(?![\w.])", rule_filter.text)
            column = begun + (place.start() if place else 0) + 1
            if atom.name in _NEVER or not is_field_known_at(atom, "answer"):
                raise RuleError(f"{atom.name} is not known to faults", column)
            raise RuleError(f"{atom.name} is not known yet when {_WHEN[side]}, which is when this happens", column)
