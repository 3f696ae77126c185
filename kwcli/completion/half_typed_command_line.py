"""The words of a half-typed line in, what may stand at the cursor out. Of the commands the one that is named is loaded.

Kinds of values are the KINDS of completion_candidates.py, and `files`; the empty kind is a value of which nothing is
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from kwcli.completion.completion_candidates import Candidate

# Name of a parameter → the kind of its values, in every command.
_BY_NAME: Final = {
    "api": "api",
    "apis": "api",
    "error": "error",
    "release": "release",
    "diff": "release",
    "target": "release",
    "interfaces": "interface",
    "profile": "profile",
    "version": "version",
    "api_version": "version",
    "words": "body",
    "properties": "property",
    "pairs": "property",
    "expression": "filter",
    "fault": "fault",
    "rule": "fault",
    "when": "filter",
    "faults": "faults",
    "node": "node",
    "columns": "columns",
    "fields": "columns",
}
# Kinds whose values are more than the words that a parameter's type knows.
_MORE: Final = frozenset({"property", "filter", "node", "columns", "fault", "faults"})


class Slot(NamedTuple):
    """What may stand at the cursor: values of a kind behind `head`, the word's part before the value (`--color=`).

    `word`: the value as typed; `own`: the values that the command itself knows; `api`: the API that the line names.
    """

    kind: str
    word: str
    head: str = ""
    own: tuple[Candidate, ...] = ()
    api: str = ""


def find_slot_of_word(program: click.Group, texts: Mapping[str, str], words: Sequence[str], word: str) -> Slot:
    """What may stand in the place of `word`, behind these words of the program; `texts` say what its commands do."""
    line = _HalfTypedLine(program, texts)
    for each in words:
        line.read_word(each)
    return line.find_slot(word)


class _HalfTypedLine:
    """The words of a line, read one after the other."""

    def __init__(self, program: click.Group, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._api = ""
        self._waiting: list[click.Parameter] = []  # options whose values come next
        self._enter_command(program, click.Context(program, info_name=program.name, **program.context_settings))

    def _enter_command(self, command: click.Command, ctx: click.Context) -> None:
        self._command, self._ctx = command, ctx
        shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
        self._options = {name: each for each in shown if isinstance(each, click.Option) for name in each.opts}
        self._arguments = [param for param in shown if isinstance(param, click.Argument)]
        self._place = 0
        self._used: set[str | None] = set()
        self._ended = False  # there was a `--`

    def read_word(self, word: str) -> None:
        if self._waiting:
            self._note_api_of_value(self._waiting.pop(), word)
        elif word == "--":
            self._ended = True
        elif word.startswith("-") and word != "-" and not self._ended:
            self._read_option(word)
        elif isinstance(self._command, click.Group):
            inner = self._command.get_command(self._ctx, word)
            if inner is not None:
                self._enter_command(inner, click.Context(inner, self._ctx, info_name=word))
        else:
            self._note_api_of_value(self._next_argument(), word)
            self._place += 1

    def _read_option(self, word: str) -> None:
        option, head = self._split_option(word)
        self._used.add(option.name if option else word)
        if option is not None and _takes_value(option):
            if head == word:
                self._waiting = [option] * option.nargs
            else:
                self._note_api_of_value(option, word[len(head) :])

    def _split_option(self, word: str) -> tuple[click.Option | None, str]:
        """The option of a word, and the word's part before a value: `--color=`, `-b` of `-bhost:1`; else the word."""
        if word in self._options:
            return self._options[word], word
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            return self._options.get(name), name + equals
        for at in range(1, len(word)):
            option = self._options.get("-" + word[at])
            if option is not None and _takes_value(option):
                return option, word[: at + 1]
        return None, word

    def _note_api_of_value(self, param: click.Parameter | None, word: str) -> None:
        if param is not None and self.find_kind_of_values(param)[0] == "api":
            self._api = word

    def _next_argument(self) -> click.Parameter | None:
        """The argument at this place; the last one may take all that follow."""
        if self._place < len(self._arguments):
            return self._arguments[self._place]
        return self._arguments[-1] if self._arguments and self._arguments[-1].nargs == -1 else None

    def find_slot(self, word: str) -> Slot:
        if self._waiting:
            return self._make_slot_of_value(self._waiting[-1], word)
        if word.startswith("-") and not self._ended:
            option, head = self._split_option(word)
            if (option is not None and head != word) or head.endswith("="):
                return self._make_slot_of_value(option, word[len(head) :], head)
            return Slot("words", word, own=tuple(self._list_unused_options()))
        if isinstance(self._command, click.Group):
            return Slot("words", word, own=tuple(self._list_commands(self._command)))
        return self._make_slot_of_value(self._next_argument(), word)

    def _list_unused_options(self) -> Iterator[Candidate]:
        for name, option in self._options.items():
            if option.name not in self._used or option.multiple or option.count:
                yield name, option.help or ""

    def _list_commands(self, group: click.Group) -> Iterator[Candidate]:
        for name in group.list_commands(self._ctx):
            if self._ctx.parent is None:
                yield name, self._texts[name]
            elif (inner := group.get_command(self._ctx, name)) is not None and not inner.hidden:
                yield name, inner.get_short_help_str(limit=100)

    def _make_slot_of_value(self, param: click.Parameter | None, word: str, head: str = "") -> Slot:
        kind, own = self.find_kind_of_values(param) if param is not None and _takes_value(param) else ("", ())
        return Slot(kind, word, head, tuple((each, "") for each in own), self._api)

    def find_kind_of_values(self, param: click.Parameter) -> tuple[str, Sequence[str]]:
        """The kind of a parameter's values, and those that its type knows."""
        kind = _BY_NAME.get(param.name or "", "")
        argument = isinstance(param, click.Argument)
        if argument and param.name == "name" and (self._ctx.parent and self._ctx.parent.info_name) == "profile":
            kind = "profile" if self._ctx.info_name != "add" else ""
        if kind == "body" and not any(each.name == "api" for each in self._arguments):
            kind = "files" if "FILE" in (param.metavar or "") else ""
        if kind == "columns" and not any(each.name == "columns" for each in self._options.values()):
            kind = ""  # the rows of this command have fields of their own
        if isinstance(param.type, click.Choice):
            return "words", [str(choice) for choice in param.type.choices]
        if kind not in _MORE and (known := getattr(param.type, "known", ())):  # a list with commas
            return "words", known
        return "files" if isinstance(param.type, click.Path | click.File) else kind, ()


def _takes_value(param: click.Parameter) -> bool:
    return not (isinstance(param, click.Option) and (param.is_flag or param.count))
