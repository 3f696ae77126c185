"""A usage error of click in, one line out that says what was wrong and what to type instead."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final

import click

from decoders.wire.suggest_similar_words import nearest_words
from kwcli import other_tools_hints

__all__ = ["describe_usage_error"]

_CAPTURE: Final = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst|lz4))?$", re.IGNORECASE)
_RELEASE: Final = re.compile(r"\d+\.\d+(\.\d+)*")
# Messages repeat at most so many characters of a word.
_SHOWN: Final = 80


def describe_usage_error(error: click.UsageError, words: Sequence[str], commands: Container[str]) -> str:
    """The one line for a usage error; `words` are the command line, `commands` the names of kw's commands."""
    ctx = error.ctx
    path = ctx.command_path if ctx else _find_command_of_words(words, commands)
    if one_dash := _find_one_dash_option(error, words):
        text = f"no such option {one_dash!r} (did you mean -{one_dash}?)"
    elif isinstance(error, click.exceptions.NoSuchOption):
        text = _unknown_option_message(error, path, words)
    elif isinstance(error, click.exceptions.NoSuchCommand):
        text = _unknown_command_message(error, words)
    elif isinstance(error, click.MissingParameter):
        text = _format_message_of_click(error) + _missing_parameter_hint(error, path)
    elif isinstance(error, click.BadParameter) and error.param is not None:
        text = _format_message_of_click(error) + _misspelt_choice_hint(error)
    else:
        text = _format_message_of_click(error) + _surplus_word_hint(error)
    return f"{text}; see {path} --help"


def _format_message_of_click(error: click.UsageError) -> str:
    """click's own message on one line, begun with a small letter as kw's messages are."""
    text = " ".join(error.format_message().split()).rstrip(".")
    return text[0].lower() + text[1:] if text[:1].isupper() and not text[1:2].isupper() else text


def _find_command_of_words(words: Sequence[str], commands: Container[str]) -> str:
    """`kw apis`: the command that words name, where click does not say."""
    first = next((word for word in words if not word.startswith("-")), "")
    return f"kw {first}" if first in commands else "kw"


# -- options -----------------------------------------------------------------------------------------------------------


def _find_one_dash_option(error: click.UsageError, words: Sequence[str]) -> str:
    """The word that is a long option with one dash, as in Java's and Go's tools; click reads it as short options."""
    if error.ctx is None:
        return ""
    own = set(_list_option_names(error.ctx.command, error.ctx))
    found = (word.partition("=")[0] for word in words if word[:1] == "-" and word[1:2] != "-" and len(word) > 3)
    return next((word for word in found if f"-{word}" in own), "")


def _unknown_option_message(error: click.exceptions.NoSuchOption, path: str, words: Sequence[str]) -> str:
    name = error.option_name
    text = f"no such option {name!r}"
    command = path.partition(" ")[2]
    own = list(_list_option_names(error.ctx.command, error.ctx)) if error.ctx else []
    for table in other_tools_hints.OPTIONS.get(command, ()):
        if name in table:
            return f"{text}: {table[name].replace('{release}', _find_release_in_words(words))}"
    if error.ctx is None:
        return text
    near = nearest_words(name, [each for each in own if each.startswith("--")]) if name.startswith("--") else []
    if near:
        return f"{text} (did you mean {near[0]}?)"
    if name in other_tools_hints.ELSEWHERE:
        return f"{text}: {other_tools_hints.ELSEWHERE[name]}"
    elsewhere = [
        f"kw {other}"
        for other, names in _list_commands_and_their_options(error.ctx)
        if name in names and other != command
    ]
    example = ", for example" if elsewhere[1:] else ""
    return f"{text}: {elsewhere[0]} has it{example}" if elsewhere else text


def _find_release_in_words(words: Sequence[str]) -> str:
    """The release in words like `--to 4.3` and `--to=4.3`; 4.0 where there is none."""
    pairs = [word.split("=", 1) for word in words if "=" in word] + [*pairwise(words)]
    found = (value for name, value in pairs if name in (*other_tools_hints.RELEASE_WORDS, "--target"))
    return next((value for value in found if _RELEASE.fullmatch(value)), "4.0")


def _list_option_names(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and not param.hidden:
            yield from param.opts


def _list_commands_and_their_options(ctx: click.Context) -> Iterator[tuple[str, set[str]]]:
    """The commands of the program, and the names of their options."""
    root = ctx.find_root()
    program = root.command
    for name in program.list_commands(root) if isinstance(program, click.Group) else ():
        command = program.get_command(root, name) if isinstance(program, click.Group) else None
        if command is not None:
            yield name, set(_list_option_names(command, root))


def _join_with_and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# -- commands ----------------------------------------------------------------------------------------------------------


def _unknown_command_message(error: click.exceptions.NoSuchCommand, words: Sequence[str]) -> str:
    name = error.command_name
    text = f"no such command {name[:_SHOWN]!r}"
    group = error.ctx.command if error.ctx else None
    known = group.list_commands(error.ctx) if isinstance(group, click.Group) and error.ctx else []
    near = nearest_words(name, known)
    if error.ctx is not None and error.ctx.parent is not None:
        address = other_tools_hints.find_address(name)
        if address is not None and group is not None and "-b" in _list_option_names(group, error.ctx):
            return f"{text}: -b {address} says where the cluster is"
        own = other_tools_hints.GROUP_COMMANDS.get(error.ctx.command_path.partition(" ")[2], {})
        if name in own:
            return f"{text}: {own[name]}"
        return (
            f"{text} (did you mean {error.ctx.command_path} {near[0]}?)"
            if near
            else f"{text}: there are {_join_with_and(known)}"
        )
    if _CAPTURE.search(name) or os.path.exists(name) or name == "-":
        return f"{text}: kw sniff {name} decodes a capture"
    if name in other_tools_hints.METHODS or "://" in name:
        return f"{text}: kw call API path=value sends a request, for example kw call Metadata topic=orders"
    if near and (near[0].startswith(name.lower()) or name.lower() not in other_tools_hints.COMMANDS):
        rest = " ".join(word for word in words[1:] if not word.startswith("-"))[:_SHOWN] if len(words) < 4 else ""
        return f"{text} (did you mean kw {near[0]}{f' {rest}' if rest else ''}?)"
    if (address := other_tools_hints.find_address(name)) is not None:
        return f"{text}: kw call Metadata -b {address} asks a cluster, kw proxy -b {address} listens in"
    if name.lower() in other_tools_hints.COMMANDS:
        return f"{text}: {other_tools_hints.COMMANDS[name.lower()]}"
    if found := _find_nearest_api_name(name):
        return f"{text}: kw call {found} sends it, kw apis {found} describes it"
    return text


def _find_nearest_api_name(name: str) -> str:
    """The name of the API nearest to a word; empty where none is near."""
    from decoders.apis import NAMES, api_name

    found = nearest_words(name, map(api_name, NAMES))
    return found[0] if found else ""


# -- values and surplus words ------------------------------------------------------------------------------------------


def _misspelt_choice_hint(error: click.BadParameter) -> str:
    """` (did you mean json?)` for a value that is close to a valid one, else empty."""
    match = re.match(r"'([^']*)' is not one of ", error.message)
    if match is None or error.param is None:
        return ""
    if hint := other_tools_hints.VALUES.get((error.param.name or "", match[1].lower())):
        return f": {hint}"
    near = nearest_words(match[1], map(str, getattr(error.param.type, "choices", ())))
    return f" (did you mean {near[0]}?)" if near else ""


def _missing_parameter_hint(error: click.MissingParameter, path: str) -> str:
    """An example of a command with the parameter that is missing; empty where there is none."""
    name = (error.param.name or "") if error.param is not None else ""
    example = other_tools_hints.MISSING_WORDS.get((path.partition(" ")[2], name), "")
    return f": {example}" if example else ""


def _surplus_word_hint(error: click.UsageError) -> str:
    """A hint at what a surplus word or a missing value may mean; empty where there is none."""
    if isinstance(error, click.BadOptionUsage) and error.option_name in other_tools_hints.MISSING:
        return f": {other_tools_hints.MISSING[error.option_name]}"
    match = re.search(r"unexpected extra arguments? \((.*)\)", error.message)
    if match is None or error.ctx is None:
        return ""
    options = set(_list_option_names(error.ctx.command, error.ctx))
    for word in match[1].split():
        if (address := other_tools_hints.find_address(word)) is not None and "-b" in options:
            return f": -b {address} says where the cluster is"
    return ""
