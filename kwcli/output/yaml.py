"""Values in, YAML out: a document each, separated by `---`; and the renderer of exchange records.

Strings are quoted where YAML would read another type in them, so that what is read back is what JSON has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import orjson
import yaml

from decoders.messages.exchange_json import to_json_dict
from decoders.named_tuple import NamedTuple
from decoders.wire.deferred_json import Deferred, DeferredList, DeferredText, split_deferred
from kwcli.output.renderers import CountingRenderer

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

_WIDTH: Final = 120
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# Elements of a long list that are dumped at once: libyaml holds a node for every value.
_AT_ONCE: Final = 256
# The only characters escaped in double quotes: quote, backslash, unprintable ones, line breaks (YAML 1.1, 5.1).
_UNSAFE: Final = re.compile(
    '["\\\\]|[^\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]'
)
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}


def encode_yaml_in_pieces(value: Any) -> Iterator[bytes]:
    """One document in pieces; its deferred values are made while it is written."""
    yield b"---\n"
    for piece in _yaml_lines(value, ""):
        yield piece.encode("utf-8", "backslashreplace")


def _yaml_lines(value: Any, indent: str) -> Iterator[str]:
    """The lines of a value, each after `indent`."""
    texts, deferred = split_deferred(value)
    word = "deferred"
    while any(word.encode() in text for text in texts):
        word += "-"
    words = [f'"{word}{number}"'.encode() for number in range(len(deferred))]
    data = b"".join([part for pair in zip(texts, words, strict=False) for part in pair] + texts[-1:])
    yield from _lines_without_deferred(orjson.loads(data), indent, _SeparatedValues(word, [*deferred]))


class _SeparatedValues(NamedTuple):
    """Values that are written separately: a word that occurs nowhere in the document, with a number, stands for each.

    Long lists and structs are such parts too, though they are not deferred.
    """

    word: str
    parts: list[Deferred | list[Any] | dict[str, Any]]

    def separate_long_values(self, value: Any, *, inside: bool = False) -> Any:
        """The value with words in place of the long values inside it."""
        if value.__class__ is not dict and value.__class__ is not list:
            return value
        if inside and len(value) > _AT_ONCE:
            self.parts.append(value)
            return f"{self.word}{len(self.parts) - 1}"
        if value.__class__ is dict:
            return {name: self.separate_long_values(each, inside=True) for name, each in value.items()}
        return [self.separate_long_values(each, inside=True) for each in value]


def _lines_without_deferred(plain: Any, indent: str, known: _SeparatedValues) -> Iterator[str]:
    text = _dump_yaml(known.separate_long_values(plain))
    ends = 0
    for found in re.finditer(rf"^( *(?:- )*)(?:(.*) )?{known.word}(\d+)\n", text, re.MULTILINE) if known.parts else ():
        yield _indent_lines(text[ends : found.start()], indent)
        ends = found.end()
        lead, key, number = found.groups()
        before = f"{indent}{lead}{key or ''}".removesuffix(" ")
        yield from _separated_value_lines(known.parts[int(number)], before, f"{indent}{' ' * len(lead)}", known)
    yield _indent_lines(text[ends:], indent)


def _separated_value_lines(
    part: Deferred | list[Any] | dict[str, Any], before: str, indent: str, known: _SeparatedValues
) -> Iterator[str]:
    """The lines of a part after its key; `before` is the text up to the part, `indent` the indentation of its key."""
    if isinstance(part, DeferredText):
        yield from _long_text_lines(part, before, indent)
    elif isinstance(part, DeferredList):
        empty = True
        for chunk in part.chunks():
            for at in range(0, len(chunk), _AT_ONCE):
                if empty:
                    yield f"{before}\n"
                    empty = False
                yield from _yaml_lines(chunk[at : at + _AT_ONCE], indent)
        if empty:
            yield f"{before} []\n"
        if beside := part.fields_following_list():
            yield _indent_lines(_dump_yaml(beside), indent)
    elif isinstance(part, Deferred):
        raise TypeError(f"no YAML of {part.__class__.__name__}")
    else:
        yield f"{before}\n"
        items = part if isinstance(part, list) else [*part.items()]
        for at in range(0, len(items), _AT_ONCE):
            some = items[at : at + _AT_ONCE]
            if isinstance(part, list):
                yield from _lines_without_deferred(some, indent, known)
            else:
                yield from _lines_without_deferred(dict(some), f"{indent}  ", known)


def _long_text_lines(part: DeferredText, before: str, indent: str) -> Iterator[str]:
    """A long text in double quotes, on one line."""
    yield f"{before} " if part.is_text() else f"{before}\n{indent}  base64: "
    yield '"'
    for text in part.texts():
        yield _UNSAFE.sub(_escape_match, text)
    yield '"\n'


def _dump_yaml(plain: Any) -> str:
    text: str = yaml.dump(plain, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def _indent_lines(text: str, indent: str) -> str:
    """Lines after `indent`: inside a quoted text, any number of blanks may follow a line break."""
    return "".join(f"{indent}{line}\n" for line in text.split("\n")[:-1]) if indent else text


def _escape_match(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


class Yaml(CountingRenderer):
    """The YAML renderer: one document a row."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(write)
        self._options = settings.make_record_options()

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        for row in rows:
            for piece in encode_yaml_in_pieces(to_json_dict(row, self._options)):
                self._write(piece)
        self.count_exchanges(rows)
