"""click commands in, what a completion script has to know of them out: verbs, options, and what values may be."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import click


class Kind(Enum):
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


class Word(NamedTuple):
    """One option, or with empty `names` an argument."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    kind: Kind = Kind.ANY
    values: tuple[str, ...] = ()
    repeats: bool = False
    takes: int = 1  # values that one use takes


class Verb(NamedTuple):
    """One command, `("profile", "show")` for one of a group: its line in the help, its words, its own commands."""

    path: tuple[str, ...]
    help: str
    words: tuple[Word, ...]
    verbs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def options(self) -> tuple[Word, ...]:
        return tuple(word for word in self.words if word.names)

    @property
    def arguments(self) -> tuple[Word, ...]:
        return tuple(word for word in self.words if not word.names)


# Name of a parameter → what its values are, in every command.
_BY_NAME: Final = {
    "api": Kind.APIS,
    "apis": Kind.APIS,
    "error": Kind.ERRORS,
    "release": Kind.RELEASES,
    "diff": Kind.RELEASES,
    "target": Kind.RELEASES,
    "interface": Kind.INTERFACES,
    "profile": Kind.PROFILES,
    "version": Kind.VERSIONS,
    "api_version": Kind.VERSIONS,
    "words": Kind.BODY,
}


def verbs(group: click.Group) -> list[Verb]:
    """The commands of the program and of its groups, the program itself first, with an empty path."""
    ctx = click.Context(group, info_name=group.name, **group.context_settings)
    return [*_verbs(group, ctx, ())]


def _verbs(command: click.Command, ctx: click.Context, path: tuple[str, ...]) -> list[Verb]:
    names: list[str] = []
    below: list[Verb] = []
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None and not inner.hidden:
                names.append(name)
                below += _verbs(inner, click.Context(inner, ctx, info_name=name), (*path, name))
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    names_api = any(param.name == "api" and isinstance(param, click.Argument) for param in shown)
    words = tuple(_word(param, path, names_api=names_api) for param in shown)
    line = command.get_short_help_str(limit=100) if path else ""
    return [Verb(path, line, words, tuple(names)), *below]


def _word(param: click.Parameter, path: tuple[str, ...], *, names_api: bool) -> Word:
    option = param if isinstance(param, click.Option) else None
    values: tuple[str, ...] = ()
    kind = _BY_NAME.get(param.name or "", Kind.ANY)
    if path[:1] == ("profile",) and option is None and param.name == "name" and path[1:] != ("import",):
        kind = Kind.PROFILES
    if kind is Kind.BODY and not names_api:
        kind = Kind.FILES if "FILE" in (param.metavar or "") else Kind.ANY
    if isinstance(param.type, click.Choice):
        kind, values = Kind.WORDS, tuple(str(choice) for choice in param.type.choices)
    elif known := getattr(param.type, "known", ()):  # a list with commas
        kind, values = Kind.WORDS, known
    elif isinstance(param.type, click.Path | click.File):
        kind = Kind.FILES
    return Word(
        names=tuple(param.opts) if option else (),
        help=(option.help or "") if option else "",
        takes_value=not (option and (option.is_flag or option.count)),
        kind=kind,
        values=values,
        repeats=bool(param.multiple or (option and option.count) or param.nargs == -1),
        takes=max(param.nargs, 1),
    )
