"""Files or standard input in, a body in JSON form out.

YAML is read as events, so that a tag, an anchor or a thousand brackets are errors and do no harm. Plain text gets its
type from its field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from decoders.limits import FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import Api, Side
from kwcli.calling.check_field_values import DEEPEST, PlainWord
from kwcli.calling.words.resolve_body_paths import raise_failure
from kwcli.run_environment import Environment, Exit

__all__ = [
    "STDIN",
    "TEXT_MAX",
    "SourceBody",
    "extract_body_of_document",
    "parse_json",
    "parse_json_or_yaml",
    "parse_yaml",
    "read_all_stdin",
    "read_file",
]


# Text of a body is at most this much longer than the body.
TEXT_MAX: Final = 4 * FRAME_MAX
STDIN: Final = "standard input"
# Text that begins so is meant to be JSON, though YAML may parse it as something else.
_JSON: Final = re.compile(r'[\s\[]*\{\s*"')
# Names under which a record describes its body.
_SAID: Final = ("undecoded", "layout", "trailing")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


class SourceBody(NamedTuple):
    """A body as it was given, and the record around it (empty: there was none) with its version and layout."""

    value: Any
    source: str
    record: Mapping[str, Any] = {}
    version: int | None = None
    layout: str | None = None
    trailing: Any = None  # bytes after the message, in JSON form


def read_file(name: str) -> bytes:
    """The contents of a file. Raises Failure."""
    try:
        with open(name, "rb") as file:
            data = file.read(TEXT_MAX + 1)
    except (OSError, ValueError) as failure:
        raise_failure(f"{name}: {getattr(failure, 'strerror', None) or failure}", Exit.FAILURE)
    return _require_body_size(data, name)


def read_all_stdin(env: Environment) -> bytes:
    """All of standard input. Raises Failure."""
    parts: list[bytes] = []
    size = 0
    while size <= TEXT_MAX and (data := env.stdin.read1(1 << 20)):
        parts.append(data)
        size += len(data)
    return _require_body_size(b"".join(parts), STDIN)


def _require_body_size(data: bytes, source: str) -> bytes:
    if len(data) > TEXT_MAX:
        raise_failure(f"{source}: more than {TEXT_MAX >> 20} MiB", Exit.FAILURE)
    return data


def parse_json_or_yaml(data: bytes, source_name: str) -> Any:
    """The JSON or YAML value in some text. Raises Failure."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise_failure(f"{source_name}: neither JSON nor YAML: no UTF-8 at byte {failure.start}", Exit.FAILURE)
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return parse_json(text)
        except ValueError as failure:
            documents = _parse_json_lines(text)
            if documents is not None:
                return documents
            problem = str(failure)
            if _JSON.match(text):
                raise_failure(f"{source_name}: no JSON: {problem}", Exit.FAILURE)
        try:
            return parse_yaml(text)
        except ValueError:
            raise_failure(f"{source_name}: no JSON: {problem}", Exit.FAILURE)
    try:
        return parse_yaml(text)
    except ValueError as failure:
        raise_failure(f"{source_name}: neither JSON nor YAML: {failure}", Exit.FAILURE)


def parse_json(text: str) -> Any:
    """Strict JSON: no name twice. Raises ValueError with one line."""
    import json  # most calls parse none

    try:
        return json.loads(text, object_pairs_hook=_build_object_without_duplicates)
    except json.JSONDecodeError as failure:
        raise ValueError(f"{failure.msg} at line {failure.lineno}, column {failure.colno}") from None
    except RecursionError:
        raise ValueError("arrays and objects inside each other too deep") from None


def _build_object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f'"{name:.40}" twice in one object')
            seen.add(name)
    return found


def _parse_json_lines(text: str) -> list[Any] | None:
    """Several JSON documents, one a line (NDJSON); None for other text."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    try:
        return [parse_json(line) for line in lines]
    except ValueError:
        return None


def parse_yaml(text: str) -> Any:
    """YAML of objects, arrays and text. Raises ValueError with one line."""
    import yaml

    loader = getattr(yaml, "CLoader", yaml.Loader)
    try:
        return _build_yaml_value(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"{failure.problem or failure.context}{place}") from None
    except yaml.YAMLError as failure:
        raise ValueError(" ".join(str(failure).split())) from None


class _OpenCollection:
    """A mapping or sequence whose end has not been read yet."""

    __slots__ = ("name", "named", "value")

    def __init__(self, value: dict[str, Any] | list[Any]) -> None:
        self.value = value
        self.name = ""
        self.named = False

    def add_value(self, value: Any, event: Any) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.named:
            self.value[self.name] = value
            self.named = False
        elif not isinstance(value, str | None):
            _raise_yaml_error("a name expected", event)
        else:
            name = "null" if value is None else str(value)
            if name in self.value:
                _raise_yaml_error(f'"{name:.40}" twice in one object', event)
            self.name, self.named = name, True


def _build_yaml_value(events: Any) -> Any:
    """The value of the one document; a list where there are several."""
    root = _OpenCollection([])
    stack = [root]
    for event in events:
        kind = type(event).__name__
        if getattr(event, "anchor", None) or kind == "AliasEvent":
            _raise_yaml_error("anchors and aliases are not understood", event)
        if kind == "ScalarEvent":
            stack[-1].add_value(_read_yaml_scalar(event), event)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            if event.tag is not None:
                _raise_yaml_error(f"tags ({event.tag:.40}) are not understood", event)
            if len(stack) > DEEPEST:
                _raise_yaml_error("arrays and objects inside each other too deep", event)
            inner = _OpenCollection({} if kind == "MappingStartEvent" else [])
            stack[-1].add_value(inner.value, event)
            stack.append(inner)
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            stack.pop()
    assert isinstance(root.value, list)
    if len(root.value) > 1:
        return root.value
    return root.value[0] if root.value else None


def _read_yaml_scalar(event: Any) -> str | None:
    if event.tag is not None:
        _raise_yaml_error(f"tags ({event.tag:.40}) are not understood", event)
    text: str = event.value
    if not event.style:
        return None if text in _NULLS else PlainWord(text)
    return text


def _raise_yaml_error(text: str, event: Any) -> NoReturn:
    raise ValueError(f"{text} at line {event.start_mark.line + 1}, column {event.start_mark.column + 1}")


def extract_body_of_document(document: Any, source: str, api: Api, side: Side) -> SourceBody:
    """The body that a document holds: itself, or the body of an exchange or message record. Raises Failure."""
    if isinstance(document, list):
        if len(document) != 1:
            raise_failure(f"{source}: {len(document)} documents, one body expected", Exit.FAILURE)
        document = document[0]
    if document is None:
        raise_failure(f"{source}: empty, a body expected (at least {{}})", Exit.FAILURE)
    if not isinstance(document, Mapping):
        raise_failure(f"{source}: an object of field names and values is expected", Exit.FAILURE)
    kind = document.get("kind")
    if kind == "exchange" and "api_key" in document:
        return _extract_body_of_record(
            document,
            {name: _find_entry_of_side(document, name, side) for name in _SAID},
            document.get(side),
            source,
            api,
            side,
        )
    if kind == "message" and "body" in document:
        if document.get("side") not in {None, side}:
            raise_failure(f"{source}: it holds a {document['side']}, but a {side} is needed", Exit.FAILURE)
        return _extract_body_of_record(
            document, {name: document.get(name) for name in _SAID}, document["body"], source, api, side
        )
    return SourceBody(document, source)


def _find_entry_of_side(record: Mapping[str, Any], name: str, side: Side) -> Any:
    """The part of an exchange record's entry that is about one side."""
    said = record.get(name)
    return said.get(side) if isinstance(said, Mapping) else None


def _extract_body_of_record(
    record: Mapping[str, Any], entries: Mapping[str, Any], body: Any, source: str, api: Api, side: Side
) -> SourceBody:
    """The body of a record; `entries` holds the record's entries about that body."""
    key = _parse_record_number(record.get("api_key"))
    if key is None:
        raise_failure(f"{source}: a record without an API (a bare SASL token, or a response alone)", Exit.FAILURE)
    if key != api.key:
        raise_failure(
            f"{source}: it holds a record of {record.get('api') or key}, but {api.name} is needed", Exit.FAILURE
        )
    if entries["undecoded"] is not None:
        raise_failure(f"{source}: the {side} of this record could not be decoded to its end", Exit.FAILURE)
    if body is None:
        raise_failure(f"{source}: a record without its {side}", Exit.FAILURE)
    layout, version = entries["layout"], _parse_record_number(record.get("api_version"))
    return SourceBody(body, source, record, version, None if layout is None else str(layout), entries["trailing"])


def _parse_record_number(value: Any) -> int | None:
    """An int of a record; in YAML it is plain text."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
