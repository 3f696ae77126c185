"""A half-typed word and the line before it in, the words it may become out.

The scripts of shell_scripts.py call `kw __complete SHELL STATE WORD…`; complete.py reads the words and asks the
functions of KINDS here. Scripts of earlier releases, which know the protocol themselves, call `kw __complete KIND WORD
LINE…` for properties, filters, columns, nodes, a request's fields and their values.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from kwcli.user_folders import own_folder_name

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Api, Field
    from kwcli.completion.cluster_names import What

# Seconds that a shell waits for a cluster, from the start of the process; the variable sets another limit, in seconds.
LIMIT_S: Final = 0.3
LIMIT_VARIABLE: Final = "KW_COMPLETION_LIMIT"

Candidate = tuple[str, str]  # a word, and what it means


class Typed(NamedTuple):
    """The word being typed, the words before it on the line, and a function that asks the line's cluster for names.

    `quoted`: the word is in quotes that are still open. `api`: the API that the line names; empty where that is to be
    found in the line. `own`: what the command itself has for the word. `meant`: the shell shows what words mean.
    """

    word: str
    line: Sequence[str]
    names: Callable[[What], list[str]]
    quoted: bool = False
    api: str = ""
    own: tuple[Candidate, ...] = ()
    meant: bool = True
    variables: Mapping[str, str] = os.environ


# -X: names of properties, then their values.


def _complete_property(typed: Typed) -> Iterator[Candidate]:
    from kwcli.net.config.client_properties import BY_NAME

    name, equals, value = typed.word.partition("=")
    if not equals:
        yield from (("list", "show all properties"), ("dump", "show those in force"))
        yield from ((f"{known}=", row.text) for known, row in BY_NAME.items())
        return
    row = BY_NAME.get(name)
    if row is None:
        return
    if row.form == "path":
        yield from ((f"{name}={path}", "") for path in _complete_file(value))
    yield from ((f"{name}={each}", "") for each in row.values)


def _complete_file(begun: str) -> Iterator[str]:
    folder, _, start = begun.rpartition("/")
    where = os.path.expanduser(folder + "/") if "/" in begun else "."
    head = folder + "/" if "/" in begun else ""
    try:
        entries = sorted(os.scandir(where), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
            yield f"{head}{entry.name}{'/' if entry.is_dir() else ''}"


# --node


_NODES: Final = (
    ("any", "whichever answers first"),
    ("all", "every broker"),
    ("controller", "the active controller"),
    ("coordinator:", "the coordinator of a group"),
    ("txn:", "the coordinator of a transactional id"),
    ("leader:", "the leader of a partition, orders-0"),
)


def _complete_node(typed: Typed) -> Iterator[Candidate]:
    kind, colon, _ = typed.word.partition(":")
    if kind == "coordinator" and colon:
        yield from ((f"{kind}:{name}", "") for name in typed.names("groups"))
    elif kind == "leader" and colon:
        yield from ((f"{kind}:{name}-0", "") for name in typed.names("topics"))
    elif not colon:
        yield from _NODES
        if not any(name.startswith(typed.word) for name, _ in _NODES if typed.word):
            yield from ((name.partition("\t")[0], name.partition("\t")[2]) for name in typed.names("nodes"))


# path=value of a request


# Short words of Produce and Fetch.
_SHORT: Final[dict[str, What]] = {"topic": "topics", "group": "groups"}
_ENTITIES: Final[dict[str, What]] = {"topicName": "topics", "groupId": "groups", "brokerId": "nodes"}
_INDEX: Final = re.compile(r"\[\d+\]")
_BRACKETS: Final = re.compile(r"\[\d*\]")


def _complete_request_body(typed: Typed) -> Iterator[Candidate]:
    path, equals, _ = typed.word.partition("=")
    if not equals:
        yield from _complete_body_word(typed)
        return
    what = _SHORT.get(path) or _find_kind_of_names(typed, _INDEX.sub("[]", path.removesuffix(":")))
    if what is None:
        return
    for row in typed.names(what):
        name, _, meaning = row.partition("\t") if what == "nodes" else (row, "", "")
        if path.endswith(":"):
            yield f"{path}={json.dumps(name, ensure_ascii=False)}", meaning
        elif not name.startswith("@") and not (path == "topic" and "," in name):  # a file; two topics
            yield f"{path}={name}", meaning


def _complete_body_word(typed: Typed) -> Iterator[Candidate]:
    """The fields of the request, each with what it means; `[0]` in the word stands for `[]`."""
    from kwcli.completion.request_body_words import list_body_words
    from kwcli.reference.field_descriptions import read_api_abouts

    found = _find_api_of_line(typed)
    if found is None:
        return
    begun = _INDEX.sub("[]", typed.word)
    abouts = read_api_abouts(found.key) if typed.meant else {}
    for word in list_body_words(found.key):
        about = abouts.get(f"request.{word.removesuffix('=').removesuffix('[]')}", "")
        if word.lower().startswith(begun.lower()):
            yield (word if begun == typed.word else typed.word + word[len(begun) :]), about


def _find_kind_of_names(typed: Typed, path: str) -> What | None:
    """The kind of names that a request's field holds, by its declaration."""
    field = _find_field(typed, path)
    if field is None:
        return None
    return "topics" if path.endswith("resource_name") else _ENTITIES.get(field.entity)  # most resources are topics


def _find_field(typed: Typed, path: str) -> Field | None:
    """The field of the API's request at a path."""
    found = _find_api_of_line(typed)
    fields: Iterable[Field] = found.request.fields if found else ()
    field = None
    for step in path.split("."):
        field = next((each for each in fields if each.name == step.removesuffix("[]")), None)
        fields = field.fields if field else ()
    return field


def complete_field_values(typed: Typed) -> Iterator[Candidate]:
    """What a field may hold by its declaration, else the cluster's names for it; without `=` the fields."""
    path, equals, _ = typed.word.partition("=")
    field = _find_field(typed, _INDEX.sub("[]", path.removesuffix(":"))) if equals else None
    values: Iterable[Candidate] = ()
    if field is not None and field.kind == "bool":
        values = (("true", ""), ("false", ""))
    elif field is not None:
        from decoders.protocol_facts.enum_words import ENUMS

        values = ((str(number), word) for number, word in ENUMS.get(field.means, {}).items())
    known = [(f"{path}={value}", meaning) for value, meaning in values]
    yield from known or _complete_request_body(typed)


def _find_api_of_line(typed: Typed) -> Api | None:
    """The API of the line, else the first one that is named there, behind the command."""
    from decoders.apis import api
    from decoders.errors import UnknownApi

    for word in [typed.api] if typed.api else typed.line[1:]:
        with suppress(UnknownApi):
            return api(word)
    return None


# -f: fields, operators, values


_TOKEN: Final = re.compile(r"\s*(\"[^\"]*\"?|'[^']*'?|[()]|,|[=!<>~]+|[^\s()=!<>~,\"']+)")
_COMPARISONS: Final = frozenset({"==", "=", "!=", "<", "<=", ">", ">=", "~", "!~", "like"})
_JOINTS: Final = frozenset({"and", "or", "not", "&&", "||", "!", "("})
_OPERATORS: Final = (
    *(("==", "is"), ("!=", "is not"), ("<", "less"), ("<=", "at most"), (">", "more"), (">=", "at least")),
    *(
        ("like", "a glob"),
        ("~", "a regular expression"),
        ("!~", "not that"),
        ("in", "one of a list"),
        ("and", ""),
        ("or", ""),
    ),
)


def _complete_filter(typed: Typed) -> Iterator[Candidate]:
    """Candidates for a filter: the expression as typed, with its last word completed or one more word."""
    from decoders.filters.filter_field_table import FIELDS

    expression = typed.word
    tokens = [(match[1], match.end()) for match in _TOKEN.finditer(expression)]
    begun = tokens[-1][0] if tokens and tokens[-1][1] == len(expression) and _is_filter_word(tokens[-1][0]) else ""
    head = expression[: len(expression) - len(begun)]
    before = [token for token, _ in (tokens[:-1] if begun else tokens)]
    last = before[-1] if before else ""
    if not begun and last[:1] in ("'", '"') and last and (len(last) == 1 or last[-1] != last[0]):
        return  # inside a string literal
    if not begun and last[-1:] in (")", "'", '"') and not expression[-1:].isspace():
        head += " "
    found = [
        (word, meaning)
        for word, meaning in _complete_next_filter_word(before, typed)
        if word.lower().startswith(begun.lower())
    ]
    if typed.quoted and len(found) == 1 and found[0][0] in FIELDS:
        # A shell would close the quotes after a single candidate, but an expression goes on after a field.
        head, found = f"{head}{found[0][0]} ", [*_OPERATORS]
    yield from ((head + word, meaning) for word, meaning in found)


def _is_filter_word(token: str) -> bool:
    return token[0] not in "\"'()," and token not in _COMPARISONS


def _complete_next_filter_word(before: list[str], typed: Typed) -> Iterator[Candidate]:
    """The words that may follow these words of a filter expression."""
    last = before[-1] if before else "("
    if last in _COMPARISONS and len(before) > 1:
        yield from _complete_filter_values(before[-2], typed)
    elif last in ("(", ",") and "in" in before and _find_field_of_open_list(before) is not None:
        yield from _complete_filter_values(_find_field_of_open_list(before) or "", typed)
    elif last in _JOINTS:
        yield from _complete_filter_fields(typed)
    elif last == "in":
        yield "(", ""
    elif last == ")" and before.count(")") > before.count("("):
        return  # it closes nothing: the expression is wrong already
    elif len(before) > 1 and (before[-2] in _COMPARISONS or last == ")"):
        yield from (("and", ""), ("or", ""))
    else:
        yield from _OPERATORS


def _find_field_of_open_list(before: list[str]) -> str | None:
    """The field before an `in (` that is still open, else None."""
    for at in range(len(before) - 1, 0, -1):
        if before[at] == ")":
            return None
        if before[at] == "(" and before[at - 1] == "in" and at > 1:
            return before[at - 2]
    return None


def _complete_filter_fields(typed: Typed) -> Iterator[Candidate]:
    from decoders.filters.filter_field_table import DECODED_FIELDS, DECODED_PARTS, FIELDS, HEADER, RECORD

    yield from ((name, row.text) for name, row in FIELDS.items())
    yield from ((name, text) for name, (_, text) in DECODED_FIELDS.items())
    yield from ((f"{part}.", f"a field of decoded {part}s") for part in DECODED_PARTS)
    yield from ((f"{HEADER}.", "a header of the records"), ("not", ""))
    begun = typed.word.rpartition(" ")[2].lstrip("(")
    if begun.startswith(f"{RECORD}."):
        from decoders.embedded import TOPICS
        from decoders.filters.internal_topic_fields import list_internal_topic_field_paths
        from kwcli.reference.field_descriptions import read_structure_abouts

        abouts = _meanings_shared_by_all(
            read_structure_abouts(module) for modules in TOPICS.values() for module in modules
        )
        yield from ((f"{RECORD}.{path}", abouts.get(path, "")) for path in list_internal_topic_field_paths())
    else:
        yield f"{RECORD}.", "a field of records of internal topics"
    yield from _complete_body_paths(typed.word.rpartition(" ")[2].lstrip("("))


def _complete_body_paths(begun: str) -> Iterator[Candidate]:
    """The next step of a path into the body of a request or a response."""
    from decoders.apis import KEYS
    from decoders.filters.filter_field_table import BODIES
    from decoders.filters.parse_expression import all_body_paths
    from kwcli.reference.field_descriptions import read_api_abouts

    for side in BODIES:
        if not begun.startswith(f"{side}."):
            yield f"{side}.", f"a field of the {side}"
            continue
        head, dot, _ = begun.rpartition(".")
        start = _BRACKETS.sub("", f"{head}{dot}".removeprefix(f"{side}."))
        known = {
            _cut_after_next_step(path, start) for path in all_body_paths(BODIES[side][0]) if path.startswith(start)
        }
        abouts = _meanings_shared_by_all(map(read_api_abouts, KEYS), BODIES[side][0])
        for path in sorted(known):
            yield f"{head}{dot}{path.removeprefix(start)}", abouts.get(path, "")


def _meanings_shared_by_all(many: Iterable[Mapping[str, str]], side: str = "") -> dict[str, str]:
    """What fields mean, by path without brackets, of which all APIs (of this side) or structures say the same."""
    found: dict[str, set[str]] = {}
    for abouts in many:
        for line, about in abouts.items():
            owner, _, path = line.replace("[]", "").partition(".")
            if side in ("", owner):
                found.setdefault(path, set()).add(about)
    return {path: next(iter(said)) for path, said in found.items() if len(said) == 1}


def _cut_after_next_step(path: str, start: str) -> str:
    """A path cut off after the first step behind `start`."""
    return start + path[len(start) :].partition(".")[0]


_BARE: Final = re.compile(r"[^\s(),\"'=!<>~&|]+")
_NULLS: Final = ("null", "none")
_STATUSES: Final = ("complete", "no_response_expected", "unanswered", "orphan_response", "token", "undecoded")
_LIVE: Final[dict[str, What]] = {"topic": "topics", "topics": "topics", "group": "groups"}
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "status": _STATUSES,
    "side": ("request", "response"),
    "undecoded_side": ("request", "response"),
    "closed": ("fin", "rst", "capture_end", "idle"),
}


def _complete_filter_values(field: str, typed: Typed) -> Iterator[Candidate]:
    from decoders.filters.filter_field_table import BODIES

    if field == "api":
        from decoders.apis import NAMES, api_name

        yield from ((api_name(key), str(key)) for key in NAMES)
    elif field in ("error", "errors"):
        from decoders.protocol_facts.errors.error_codes import ERRORS

        yield from ((error.name, f"{code}: {error.meaning}") for code, error in ERRORS.items())
    elif field in _LIVE:
        yield from ((_quote_filter_literal(name), "") for name in typed.names(_LIVE[field]))
    elif field.partition(".")[0] in BODIES:
        yield from _complete_number_words(field)
    else:
        yield from ((word, "") for word in _WORDS.get(field, ()))


def _quote_filter_literal(name: str) -> str:
    """A name as a value of a filter: in quotes where it has signs, or is a word, that mean something there."""
    if _BARE.fullmatch(name) and name.lower() not in _NULLS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _complete_number_words(field: str) -> Iterator[Candidate]:
    """Candidates for a body's field with numbers: the words that these numbers have in any API."""
    from decoders.filters.filter_field_table import BODIES
    from decoders.filters.number_comparison_words import words_of_number_set
    from decoders.filters.parse_expression import api_keys_with_path, number_word_sets_at
    from decoders.protocol_facts.errors.error_codes import ERRORS
    from decoders.protocol_facts.number_words import ERROR

    first, _, path = field.partition(".")
    side = BODIES[first][0]
    sets = {words for key in api_keys_with_path(side, path) for words in number_word_sets_at(key, side, path).values()}
    if ERROR in sets:
        yield from ((error.name, f"{code}: {error.meaning}") for code, error in ERRORS.items())
    yield from (
        (word, "") for word in sorted({word for words in sets - {ERROR} for word in words_of_number_set(words)})
    )


# -e, --columns: paths of the record of an exchange, with commas between them


def _complete_columns(typed: Typed) -> Iterator[Candidate]:
    from decoders.exchanges.exchange_attribute_schemas import names_below_key
    from decoders.filters.exchange_paths import first_words_of_paths
    from decoders.filters.filter_field_table import BODIES, FIELDS, HEADER
    from kwcli.output.column_table import OWN, WORDS

    before, comma, begun = typed.word.rpartition(",")
    head = before + comma
    known = dict.fromkeys([*first_words_of_paths(), *OWN, *WORDS])
    for word in sorted(each for each in known if each not in BODIES):
        yield head + word, FIELDS[word].text if word in FIELDS else ""
    first, dot, _ = begun.partition(".")
    if dot:
        yield from ((f"{head}{first}.{below}", "") for below in names_below_key(first) or ())
    yield f"{head}{HEADER}.", "a header of the records"
    yield from ((head + path, meaning) for path, meaning in _complete_body_paths(begun))


# --fault, --faults: rules, files of them, presets


_WHEN: Final = ", when "
_LIMITS: Final = (
    ("first", "the first N of those that match"),
    ("every", "each Nth of them"),
    ("rate", "a share of them, 5%"),
    ("after", "none of the first N"),
    ("for", "for a time since the first"),
)


def _complete_fault(typed: Typed) -> Iterator[Candidate]:
    """Candidates for a fault rule: `ACTION[, LIMIT]…[, when FILTER]`."""
    head, when, expression = typed.word.partition(_WHEN)
    before, comma, begun = typed.word.rpartition(",")
    if when:
        yield from _complete_condition_of_fault(head, typed._replace(word=expression))
    elif comma:
        yield from ((f"{before}, {word}", meaning) for word, meaning in _LIMITS)
        if begun.strip():
            yield from _complete_condition_of_fault(before, typed._replace(word=""))
        else:
            yield f"{before}{_WHEN}".rstrip(), "a filter"
    else:
        yield from _complete_action_of_fault(typed.word)


def _complete_condition_of_fault(head: str, typed: Typed) -> Iterator[Candidate]:
    """Candidates for a fault rule: `head`, and the filter with its last word completed or one more word."""
    yield from ((f"{head}{_WHEN}{expression}", meaning) for expression, meaning in _complete_filter(typed))


def _complete_action_of_fault(begun: str) -> Iterator[Candidate]:
    from decoders.protocol_facts.errors.error_codes import ERRORS
    from kwcli.proxy.deciding.faults.parse_rule import ACTIONS

    for action in ACTIONS:
        if action.name == "error" and begun:
            yield from ((f"error {row.name}", f"{code}: {row.meaning}") for code, row in ERRORS.items() if code)
        elif action.name != "error after":
            yield action.name, action.text


def _complete_fault_file(typed: Typed) -> Iterator[Candidate]:
    from kwcli.proxy.deciding.faults.rule_files import list_presets

    yield from ((f"preset:{each.name}", each.about) for each in list_presets().values())
    yield from ((path, "") for path in _complete_file(typed.word))


# What commands and declarations have: APIs, versions, errors, releases; profiles and network interfaces.


def _api_candidates(_typed: Typed) -> Iterator[Candidate]:
    from decoders.apis import NAMES, api_name

    yield from ((api_name(key), "") for key in NAMES)


def _version_candidates(typed: Typed) -> Iterator[Candidate]:
    """The versions of the API that the line names, the newest first."""
    found = _find_api_of_line(typed) if typed.api else None
    if found is not None:
        yield from ((str(version), "") for version in range(found.versions.high, found.versions.low - 1, -1))


def _error_candidates(_typed: Typed) -> Iterator[Candidate]:
    from decoders.protocol_facts.errors.error_codes import ERRORS

    yield from ((error.name, f"{code}: {error.meaning}") for code, error in ERRORS.items())


def _release_candidates(_typed: Typed) -> Iterator[Candidate]:
    from decoders.protocol_facts.kafka_releases import RELEASES

    yield from ((release, "") for release in reversed(RELEASES))


def _profile_candidates(typed: Typed) -> Iterator[Candidate]:
    for name in os.listdir(os.path.join(own_folder_name("config", typed.variables), "profiles")):
        if name.endswith(".properties"):
            yield name.removesuffix(".properties"), ""


def _interface_candidates(_typed: Typed) -> Iterator[Candidate]:
    import socket

    yield "any", ""
    yield from ((name, "") for _, name in socket.if_nameindex())


# KIND that a script asks for → the function that knows its candidates.
KINDS: Final[dict[str, Callable[[Typed], Iterable[Candidate]]]] = {
    "property": _complete_property,
    "node": _complete_node,
    "body": _complete_request_body,
    "fault": _complete_fault,
    "faults": _complete_fault_file,
    "filter": _complete_filter,
    "columns": _complete_columns,
}
# Kinds that only a whole line has. They may have more words than fit, so that a shell may match them in its own way.
SHORT: Final[dict[str, Callable[[Typed], Iterable[Candidate]]]] = {
    "words": lambda typed: typed.own,
    "api": _api_candidates,
    "version": _version_candidates,
    "error": _error_candidates,
    "release": _release_candidates,
    "profile": _profile_candidates,
    "interface": _interface_candidates,
}
# Kinds whose candidates stand in an order of their own; others are sorted.
ORDERED: Final = frozenset({"version", "error", "release"})
