"""Words (`path=value`, `@file`, `-`) in, a body in JSON form out.

topics[0].name=orders     the text gets the type of its field
topics[].name=a           appends an element, or sets that leaf of the last element if it is not set yet
topics[]=a                appends to an array of text or numbers
timeout_ms:=5             the value as JSON: null, numbers, true, {…}, […]
key=@file  key:=@file     the contents of a file; JSON (or YAML) in a file
@file  -                  the whole body, as JSON, YAML or an exchange record, of a file or standard input
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, PRODUCE
from decoders.protocol_facts.convert_field_names import find_field_by_any_name, rename_to_current_names
from decoders.protocol_facts.default_array_elements import make_initial_array_element
from decoders.schema.api_declaration import Api, Field, Side
from decoders.schema.body_json_form import bytes_from_json, json_bytes
from kwcli.calling.check_field_values import PlainWord, ValueChecker
from kwcli.calling.read_bodies import (
    STDIN,
    SourceBody,
    extract_body_of_document,
    parse_json,
    parse_json_or_yaml,
    read_all_stdin,
    read_file,
)
from kwcli.calling.words.entity_words import expand_entity_word
from kwcli.calling.words.resolve_body_paths import (
    APPEND,
    RECORDS,
    TAGS,
    Step,
    find_field_at,
    list_inner_fields,
    parse_body_path,
    raise_failure,
)
from kwcli.run_environment import Environment, Exit, Failure

__all__ = ["GivenWords", "compose_body", "encode_composed_body", "parse_body_words"]

INLINE: Final = "the command line"
# A name as topics and groups have.
_WORD_LIKE: Final = r"[A-Za-z0-9._-]{1,249}"
# Texts that mean something else in JSON, and fields in which people mean these as texts.
_BOOLS: Final = ("true", "false")
_LITERALS: Final = ("null", "[]", "{}", *_BOOLS)
_CONFIG_VALUES: Final = frozenset({"value", "config_value"})
_WORD: Final = r"([^=:@]+?)(:=@|:=|=@|=)(.*)"


class PathValueWord(NamedTuple):
    """One `path=value`: `text` as it was written, its steps, and its value in JSON form (PlainWord: typed by field)."""

    text: str
    steps: tuple[Step, ...]
    value: Any
    others: tuple[PathValueWord, ...] = ()  # alternatives for versions that have no such field


class GivenWords(NamedTuple):
    """All words and the body, read and checked against all versions; compose_body() can use them repeatedly."""

    words: tuple[PathValueWord, ...]
    body: SourceBody | None

    @property
    def is_empty(self) -> bool:
        """Whether neither a word nor a body was given."""
        return not self.words and self.body is None


def parse_body_words(
    api: Api,
    words: Sequence[str],
    *,
    env: Environment | None = None,
    side: Side = "request",
    body: SourceBody | None = None,
) -> GivenWords:
    """Read files and standard input, and check everything against all versions. Raises Failure that says what is wrong.

    `body` is a body that was found elsewhere.
    """
    found: list[PathValueWord] = []
    for text in words:
        if text == "-" or text[:1] in {"@", "{"}:
            if body is not None:
                raise_failure(f"{text:.60}: a second body; {body.source} is the first")
            body = _parse_whole_body_word(text, api, side, env)
        else:
            for ways in expand_entity_word(api, side, text) or [(text,)]:
                first, *others = (_parse_path_value_word(way, api, side) for way in ways)
                found.append(first._replace(others=tuple(others)))
            if env is not None and (remark := _remark_on_literal(text, found[-1], api, side)):
                env.report(f"kw: {remark}")
    if body is not None:
        try:
            body = body._replace(value=ValueChecker(api, side).check_body(body.value))
        except EncodeError as failure:
            raise_failure(f"{body.source}: {failure}", Exit.FAILURE)
        except Failure as failure:
            raise_failure(f"{body.source}: {failure.text}", Exit.FAILURE)
    return GivenWords(tuple(found), body)


def compose_body(
    api: Api,
    version: int,
    words: Sequence[str] | GivenWords,
    *,
    start: Mapping[str, Any] | None = None,
    env: Environment | None = None,
    side: Side = "request",
) -> dict[str, Any]:
    """The body of one version, in JSON form: `start` (an example of that version), changed by the words.

    An array that a word goes into holds only elements from words. A new element begins as the example's first one, or
    with the numbers that mean none (default_array_elements.py). A body that was given whole changes only where words
    say so, and takes only plain fields that it lacks from `start`. Without `start`, fields that are not given are
    missing. Raises Failure.
    """
    given = words if isinstance(words, GivenWords) else parse_body_words(api, words, env=env, side=side)
    body = deepcopy(dict(start)) if start else {}
    kept: dict[str, Any] = {}
    if given.body is not None:
        kept = deepcopy(rename_to_current_names(api.message(side).fields, version, given.body.value))
        plain = {field.name for field in api.message(side).fields if version not in field.tagged}
        body = {**{name: value for name, value in body.items() if name in plain}, **kept}
    if not given.words:
        return body
    edits = _BodyEditor(api, side, version, body, start, kept)
    for word in given.words:
        edits.apply_word(word)
    return body


def encode_composed_body(
    api: Api,
    version: int,
    value: Mapping[str, Any],
    *,
    side: Side = "request",
    layout: str | None = None,
    code: Exit = Exit.USAGE,
) -> bytes:
    """The bytes of a composed body. Raises Failure that says which field cannot be encoded and why.

    `layout` is the release whose early layout is meant, where this version had one.
    """
    from decoders.messages.whole_messages import encode_json

    if layout is not None and (side, version, layout) not in api.early:
        layout = None
    try:
        return encode_json(api.key, version, side, value, layout=layout)
    except EncodeError as failure:
        what = api.name if side == "request" else f"{api.name} response"
        raise_failure(f"{what} {version}: {failure}", code)


def _parse_whole_body_word(text: str, api: Api, side: Side, env: Environment | None) -> SourceBody:
    if text.startswith("{"):
        return extract_body_of_document(parse_json_or_yaml(os.fsencode(text), INLINE), INLINE, api, side)
    if text.startswith("@") and text != "@-":
        name = text[1:]
        return extract_body_of_document(parse_json_or_yaml(read_file(name), name), name, api, side)
    if env is None:
        raise_failure("there is no standard input to read")
    return extract_body_of_document(parse_json_or_yaml(read_all_stdin(env), STDIN), STDIN, api, side)


def read_object_word(text: str, env: Environment) -> tuple[dict[str, Any], str]:
    """The object that a word gives in JSON or YAML (`{…}`, `@FILE`, `-`), and its source. Raises Failure."""
    source = INLINE if text.startswith("{") else text[1:] if text.startswith("@") and text != "@-" else STDIN
    data = os.fsencode(text) if source == INLINE else read_all_stdin(env) if source == STDIN else read_file(source)
    value = parse_json_or_yaml(data, source)
    if isinstance(value, list) and len(value) == 1:
        (value,) = value  # `-o json` prints a single value as a list
    if not isinstance(value, dict):
        raise_failure(f"{source}: an object is expected", Exit.FAILURE)
    return value, source


def _parse_path_value_word(text: str, api: Api, side: Side) -> PathValueWord:
    match = re.fullmatch(_WORD, text, re.DOTALL)
    if match is None:
        raise_failure(f'"{text}" is no path=value{_hint_at_meant_word(text, api)}')
    path, operator, rest = match.groups()
    steps = parse_body_path(path)
    field = _find_field_or_tag(api, side, steps, None)
    value: Any = PlainWord(rest)
    if operator == ":=":
        try:
            value = parse_json(rest)
        except ValueError as failure:
            raise_failure(f"{path}: no JSON: {failure}")
    elif operator == ":=@":
        value = parse_json_or_yaml(read_file(rest), rest)
    elif operator == "=@":
        value = _convert_file_to_value(read_file(rest), field, rest)
    word = PathValueWord(text, steps, value)
    _check_word_value(api, side, word, field, None)
    return word


def _remark_on_literal(text: str, word: PathValueWord, api: Api, side: Side) -> str:
    """A remark on a word that writes `null`, `[]`, `{}` or `true` as a text, which may not be meant; else empty."""
    name, _, literal = text.partition("=")
    if literal not in _LITERALS or not isinstance(word.value, PlainWord):
        return ""
    field = find_field_at(api, side, word.steps)
    if field.kind not in ("string", "bytes") or (literal in _BOOLS and field.name in _CONFIG_VALUES):
        return ""
    own = find_field_by_any_name(api.message(side).fields, name)
    if own is not None and own.array and literal in ("null", "[]") and (own.nullable or literal == "[]"):
        said = f"; {name}:={literal} writes {'null' if literal == 'null' else 'an empty array'}"
    else:
        path = ".".join(map(str, word.steps))
        said = f"; {path}:=null writes null" if field.nullable else ""
    return f'{text}: written as the text "{literal}"{said}'


def _hint_at_meant_word(text: str, api: Api) -> str:
    """A hint at what a word without `=` may have been meant for."""
    from kwcli.other_tools_hints import find_address

    address = find_address(text)
    if address is not None:
        return f": -b {address} says where the cluster is"
    if text.removeprefix("v").isdecimal() and int(text.removeprefix("v")) in api.versions:
        return f": --api-version {text} chooses the version"
    if os.path.isfile(text):
        return f": @{text} reads the body from the file"
    if ":" in text and not text.startswith(":"):
        name, _, value = text.partition(":")
        return f": write {name}={value.lstrip('=')}"
    for name in ("topic", "group"):
        if re.fullmatch(_WORD_LIKE, text, re.ASCII) and (
            api.key in (PRODUCE, FETCH) or expand_entity_word(api, "request", f"{name}={text}")
        ):
            return f": write {name}={text}"
    return " (nor path:=JSON, path=@file, path:=@file, @file)"


def _convert_file_to_value(data: bytes, field: Field | None, name: str) -> Any:
    """The contents of a file as the value of a field."""
    kind = "bytes" if field is None else field.kind
    if kind == "records":
        from base64 import b64encode

        return {"base64": b64encode(data).decode()}
    if kind == "bytes":
        return json_bytes(data)
    text = data.decode("utf-8", "surrogateescape")
    if kind == "string":
        return text
    if len(text) > 1000:
        raise_failure(f"{name}: {len(text)} characters are too many for a {kind}")
    return PlainWord(text.strip())


def _find_field_or_tag(api: Api, side: Side, steps: Sequence[Step], version: int | None) -> Field | None:
    """The field of a word; None for a path that ends with `_tagged_fields.N`."""
    tags = next((n for n, step in enumerate(steps) if step.name == TAGS), None)
    if tags is None:
        return find_field_at(api, side, steps, version=version)
    if tags:
        find_field_at(api, side, steps[:tags], version=version)
    if len(steps) != tags + 2 or not steps[-1].name.isdecimal() or steps[-1].at is not None:
        raise_failure(f'{".".join(map(str, steps))}: write {TAGS}.7=text or {TAGS}.7:={{"base64":"…"}}')
    return None


def _check_word_value(api: Api, side: Side, word: PathValueWord, field: Field | None, version: int | None) -> Any:
    """The JSON value of a word, checked against its field."""
    path = ".".join(map(str, word.steps))
    value = word.value
    try:
        if field is None:
            value = str(value) if isinstance(value, PlainWord) else value
            bytes_from_json(value, path)
            return value
        checker = ValueChecker(api, side, version)
        names = list(map(str, word.steps))
        if field.array and word.steps[-1].at is None:
            if isinstance(value, PlainWord):
                inner = ".…=" if field.fields else "="
                raise_failure(f"{path} is an array: write {path}[]{inner}… or {path}:=[…]")
            return checker.check_value(field, value, names)
        if field.fields and isinstance(value, PlainWord):
            raise_failure(f"{path} is a struct: write {path}.{field.fields[0].name}=… or {path}:={{…}}")
        if value is None and not field.array:
            return checker.check_value(field, None, names)
        return checker.check_element(field, value, names)
    except EncodeError as failure:
        raise_failure(str(failure))


class _BodyEditor:
    """Applies words to one body, one after the other."""

    def __init__(
        self,
        api: Api,
        side: Side,
        version: int,
        body: dict[str, Any],
        start: Mapping[str, Any] | None,
        kept: dict[str, Any],
    ) -> None:
        self.api = api
        self.side: Side = side
        self.version = version
        self.body = body
        self.example = start
        self.kept = frozenset(kept)
        self.set = set(_list_inner_paths(kept, ""))
        self.by_words: set[str] = set()
        self.mine: set[str] = set()  # paths of arrays that hold only elements from words

    def apply_word(self, word: PathValueWord) -> None:
        """Put the value of a word into the body."""
        if word.others and not self._version_has_field(word):
            word = next(filter(self._version_has_field, word.others), word)
        steps, field = self._resolve_field_names(word)
        value = _check_word_value(self.api, self.side, word, field, self.version)
        place = self._number_appended_elements(steps)
        path = ".".join(map(str, place))
        if path in self.by_words:
            raise_failure(f"{path} is given twice")
        if any(before.startswith((f"{path}.", f"{path}[")) for before in self.by_words):
            raise_failure(f"{path} would overwrite what earlier words have set")
        self.by_words.add(path)
        self._set_value_at(place, value)
        self.set.add(path)
        self.set.update(_list_inner_paths(value, path))

    def _version_has_field(self, word: PathValueWord) -> bool:
        """Whether this version has the field of a word."""
        try:
            find_field_at(self.api, self.side, word.steps, version=self.version)
        except Failure:
            return False
        return True

    def _resolve_field_names(self, word: PathValueWord) -> tuple[tuple[Step, ...], Field | None]:
        """The steps with the names that this version has, and the field."""
        steps: list[Step] = []
        field: Field | None = None
        for number, step in enumerate(word.steps):
            if step.name == TAGS:
                _find_field_or_tag(self.api, self.side, word.steps, self.version)
                if self.version not in self.api.message(self.side).flexible:
                    raise_failure(
                        f"{'.'.join(map(str, word.steps))}: {self.api.name} {self.version} has no tagged fields"
                    )
                return (*steps, *word.steps[number:]), None
            field = find_field_at(self.api, self.side, word.steps[: number + 1], version=self.version)
            steps.append(Step(field.name, step.at))
        return tuple(steps), field

    def _number_appended_elements(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps with a number in place of each `[]`."""
        last = max((n for n, step in enumerate(steps) if step.at == APPEND), default=-1)
        if last < 0:
            return steps
        found = self._number_steps(steps, last if last == len(steps) - 1 else -1)
        if ".".join(map(str, found)) in self.set:
            found = self._number_steps(steps, last)
        return found

    def _number_steps(self, steps: tuple[Step, ...], appending: int) -> tuple[Step, ...]:
        """The steps with `[]` as the last element, or as one more: at the step `appending`, and in an empty array."""
        out: list[Step] = []
        for number, step in enumerate(steps):
            index = step.at
            if index == APPEND:
                count = self._count_kept_elements([*out, Step(step.name, None)])
                index = count if number == appending or not count else count - 1
            out.append(Step(step.name, index))
        return tuple(out)

    def _count_kept_elements(self, path: list[Step]) -> int:
        """How many elements of an array are kept."""
        place = ".".join(map(str, path))
        if path[0].name not in self.kept and place not in self.mine:
            return 0
        value: Any = self.body
        for step in path:
            value = value.get(step.name) if isinstance(value, dict) else None
            if step.at is not None and isinstance(value, list):
                value = value[step.at] if step.at < len(value) else None
        return len(value) if isinstance(value, list) else 0

    def _set_value_at(self, steps: tuple[Step, ...], value: Any) -> None:
        owner: Any = self.body
        example: Any = self.example
        fields: Sequence[Field] = self.api.message(self.side).fields
        inside = False
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            field = find_field_by_any_name(fields, step.name, self.version)
            inside = inside or (field is not None and field.kind == RECORDS)
            fields = () if field is None else list_inner_fields(field)
            inner = example.get(step.name) if isinstance(example, Mapping) else None
            if step.at is None:
                if last:
                    owner[step.name] = value
                    self.mine.add(".".join(map(str, steps)))
                    return
                if not isinstance(owner.get(step.name), dict):
                    owner[step.name] = self._make_new_struct(fields, inner, inside)
                owner, example = owner[step.name], inner
                continue
            elements = self._get_or_make_array(owner, steps[: number + 1])
            example = _choose_example_element(inner, step.at)
            if step.at == len(elements):
                elements.append(self._make_new_struct(fields, example, inside))
            if last:
                elements[step.at] = value
                return
            owner = elements[step.at]

    def _make_new_struct(self, fields: Sequence[Field], example: Any, inside: bool) -> dict[str, Any]:
        """A struct that was not there: a copy of the example's, else the initial values of a new element."""
        if isinstance(example, Mapping):
            return deepcopy(dict(example))
        if self.example is None or self.side != "request" or inside:
            return {}
        return make_initial_array_element(self.api, fields, self.version)

    def _get_or_make_array(self, owner: dict[str, Any], steps: tuple[Step, ...]) -> list[Any]:
        """The array that the last step goes into, without the example's elements."""
        step = steps[-1]
        place = ".".join(map(str, [*steps[:-1], Step(step.name, None)]))
        elements = owner.get(step.name)
        if not isinstance(elements, list) or (steps[0].name not in self.kept and place not in self.mine):
            elements = owner[step.name] = []
        self.mine.add(place)
        assert step.at is not None
        if step.at > len(elements):
            many = f"{len(elements)} element{'s' if len(elements) != 1 else ''}"
            raise_failure(f"{'.'.join(map(str, steps))}: {place} has {many}, the next is {place}[{len(elements)}]")
        return elements


def _choose_example_element(elements: Any, index: int) -> Any:
    """The element of the example that a new one is copied from."""
    if not isinstance(elements, list) or not elements:
        return None
    return elements[index] if index < len(elements) else elements[0]


def _list_inner_paths(value: Any, path: str) -> Iterator[str]:
    """The paths of everything inside a value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            place = f"{path}.{name}" if path else str(name)
            yield place
            yield from _list_inner_paths(inner, place)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield f"{path}[{index}]"
            yield from _list_inner_paths(inner, f"{path}[{index}]")
