"""The program's commands and options in, facts about them and the protocol for completion scripts out."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Final

import click

from decoders.apis import KEYS, api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.enums import ENUMS
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.releases import RELEASES
from decoders.schema.model import Field
from kwcli.completion.body_words import body_words, leaves

_BOOLEANS: Final = (("true", ""), ("false", ""))


class Known(NamedTuple):
    """One API: `labels` are the spellings that a script compares with, without `_` and `-` and in lower case.

    `words` begin a word of its body (`topics[].name=`); `values` {path: ((value, what it means), …)}.
    """

    labels: tuple[str, ...]
    name: str
    low: int
    high: int
    words: tuple[str, ...]
    values: dict[str, tuple[tuple[str, str], ...]]


@cache
def apis() -> tuple[Known, ...]:
    """All APIs by key."""
    return tuple(_known(key) for key in KEYS)


def _known(key: int) -> Known:
    found = api(key)
    values = {place: meanings for place, field in leaves(found) if (meanings := _values(field))}
    labels = (str(key), found.name.lower(), *(name.lower() for name in found.was))
    return Known(labels, found.name, found.versions.low, found.versions.high, body_words(key), values)


def _values(field: Field) -> tuple[tuple[str, str], ...]:
    if field.kind == "bool":
        return _BOOLEANS
    return tuple((str(number), word) for number, word in ENUMS.get(field.means, {}).items())


def api_names() -> tuple[str, ...]:
    """The names of all APIs, by key."""
    return tuple(known.name for known in apis())


def error_names() -> tuple[tuple[str, str], ...]:
    """All error codes as (name, number and meaning)."""
    return tuple((error.name, f"{code}: {error.meaning}") for code, error in ERRORS.items())


def releases() -> tuple[str, ...]:
    """All releases, newest first."""
    return tuple(reversed(RELEASES))


# click commands in, what a completion script has to know of them out: verbs, options, and what values may be.


class ValueKind(Enum):
    """What the value of an option, or an argument, may be."""

    ANY = ""
    WORDS = "words"  # those in `values`
    FILES = "files"
    INTERFACES = "interfaces"
    APIS = "apis"
    VERSIONS = "versions"  # of the API that was named before
    BODY = "body"  # path=value of the API's request
    ERRORS = "errors"
    RELEASES = "releases"
    PROFILES = "profiles"
    # Kinds that `kw __complete` knows (candidates.py): the value is its KIND.
    PROPERTY = "property"
    FILTER = "filter"
    NODE = "node"
    FAULT = "fault"  # a rule
    FAULTS = "faults"  # a file of rules, or a preset
    COLUMNS = "columns"  # paths of exchanges, with commas


class OptionFacts(NamedTuple):
    """One option, or with empty `names` an argument."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    kind: ValueKind = ValueKind.ANY
    values: tuple[str, ...] = ()
    repeats: bool = False
    takes: int = 1  # values that one use takes


class CommandFacts(NamedTuple):
    """One command: path (`("profile", "show")` in a group), line in the help, parameters, and subcommands."""

    path: tuple[str, ...]
    help: str
    words: tuple[OptionFacts, ...]
    verbs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def options(self) -> tuple[OptionFacts, ...]:
        return tuple(word for word in self.words if word.names)

    @property
    def arguments(self) -> tuple[OptionFacts, ...]:
        return tuple(word for word in self.words if not word.names)


# Name of a parameter → the kind of its values, in every command.
_BY_NAME: Final = {
    "api": ValueKind.APIS,
    "apis": ValueKind.APIS,
    "error": ValueKind.ERRORS,
    "release": ValueKind.RELEASES,
    "diff": ValueKind.RELEASES,
    "target": ValueKind.RELEASES,
    "interface": ValueKind.INTERFACES,
    "profile": ValueKind.PROFILES,
    "version": ValueKind.VERSIONS,
    "api_version": ValueKind.VERSIONS,
    "words": ValueKind.BODY,
    "properties": ValueKind.PROPERTY,
    "pairs": ValueKind.PROPERTY,
    "expression": ValueKind.FILTER,
    "fault": ValueKind.FAULT,
    "faults": ValueKind.FAULTS,
    "node": ValueKind.NODE,
    "columns": ValueKind.COLUMNS,
    "fields": ValueKind.COLUMNS,
}
LIVE: Final = frozenset(
    {
        *(ValueKind.PROPERTY, ValueKind.FILTER, ValueKind.NODE, ValueKind.COLUMNS),
        *(ValueKind.FAULT, ValueKind.FAULTS),
    }
)


def verbs(group: click.Group) -> list[CommandFacts]:
    """The commands of the program and of its groups, the program itself first, with an empty path."""
    ctx = click.Context(group, info_name=group.name, **group.context_settings)
    return [*_verbs(group, ctx, ())]


def _verbs(command: click.Command, ctx: click.Context, path: tuple[str, ...]) -> list[CommandFacts]:
    names: list[str] = []
    below: list[CommandFacts] = []
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None and not inner.hidden:
                names.append(name)
                below += _verbs(inner, click.Context(inner, ctx, info_name=name), (*path, name))
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    names_api = any(param.name == "api" and isinstance(param, click.Argument) for param in shown)
    exchanges = any(param.name == "columns" for param in shown)
    words = tuple(_word(param, path, names_api=names_api, exchanges=exchanges) for param in shown)
    line = command.get_short_help_str(limit=100) if path else ""
    return [CommandFacts(path, line, words, tuple(names)), *below]


def _word(param: click.Parameter, path: tuple[str, ...], *, names_api: bool, exchanges: bool) -> OptionFacts:
    option = param if isinstance(param, click.Option) else None
    values: tuple[str, ...] = ()
    kind = _BY_NAME.get(param.name or "", ValueKind.ANY)
    if path[:1] == ("profile",) and option is None and param.name == "name" and path[1:] != ("add",):
        kind = ValueKind.PROFILES
    if kind is ValueKind.BODY and not names_api:
        kind = ValueKind.FILES if "FILE" in (param.metavar or "") else ValueKind.ANY
    if kind is ValueKind.COLUMNS and not exchanges:  # the rows of other commands have fields of their own
        kind = ValueKind.ANY
    if isinstance(param.type, click.Choice):
        kind, values = ValueKind.WORDS, tuple(str(choice) for choice in param.type.choices)
    elif kind not in LIVE and (known := getattr(param.type, "known", ())):  # a list with commas
        kind, values = ValueKind.WORDS, known
    elif isinstance(param.type, click.Path | click.File):
        kind = ValueKind.FILES
    return OptionFacts(
        names=tuple(param.opts) if option else (),
        help=(option.help or "") if option else "",
        takes_value=not (option and (option.is_flag or option.count)),
        kind=kind,
        values=values,
        repeats=bool(param.multiple or (option and option.count) or param.nargs == -1),
        takes=max(param.nargs, 1),
    )
