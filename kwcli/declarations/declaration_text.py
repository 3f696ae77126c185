"""Model objects in, their declaration as text out; and the files of declarations read, ordered, rewritten."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import decoders.apis
import decoders.embedded
from decoders.apis import NAMES
from decoders.embedded import split_declarations
from decoders.schema.api_declaration import (
    FACTS,
    Api,
    DeclarationError,
    Field,
    Message,
    Side,
    Versions,
    parse_api,
    parse_message,
)
from kwcli.declarations.compare_with_release import fields_in_version
from kwcli.declarations.read_release_jar import convert_to_snake_case

_INDENT = "    "
_Early = Mapping[tuple[Side, int, str], Message]
_Commons = dict[str, Field]


def format_api_declaration(api: Api) -> str:
    """The declaration of an API, as text."""
    lines = [f"api {api.key} {api.name}", *_format_head_lines(api.versions, api.flexible)]
    if api.listeners:
        lines.append(" ".join(("listeners", *api.listeners)))
    if api.was:
        lines.append(" ".join(("was", *api.was)))
    commons = _find_common_structs([*api.request.fields, *api.response.fields])
    for word, message in (("request", api.request), ("response", api.response)):
        lines += [word, *_format_field_lines(message.fields, commons, 1)]
    lines += _format_common_structs(commons)
    lines += _format_early_layouts(api.early, commons)
    return "\n".join(lines) + "\n"


def format_structure_declaration(message: Message) -> str:
    """The declaration, as text, of a structure that travels inside bytes."""
    commons = _find_common_structs(message.fields)
    lines = [f"message {message.name}", *_format_head_lines(message.versions, message.flexible)]
    lines += ["fields", *_format_field_lines(message.fields, commons, 1), *_format_common_structs(commons)]
    return "\n".join(lines) + "\n"


def _format_head_lines(versions: Versions, flexible: Versions) -> list[str]:
    return [f"versions {versions}", f"flexible {flexible}"]


def _format_common_structs(commons: _Commons) -> Iterator[str]:
    for name, field in commons.items():
        yield f"struct {name} {field.versions}"
        yield from _format_field_lines(field.fields, commons, 1)


def _format_early_layouts(early: _Early, commons: _Commons) -> Iterator[str]:
    """The `early` sections: one for each layout, with every release that had it."""
    sections: dict[str, list[str]] = {}
    for (side, version, release), message in early.items():
        only = tuple(_field_in_version(field, version) for field in message.fields if version in field.versions)
        body = "\n".join(_format_field_lines(only, commons, 1))
        sections.setdefault(f"{side} {version}\n{body}", []).append(release)
    for section, releases in sections.items():
        head, _, body = section.partition("\n")
        yield " ".join(("early", head, "in", *releases))
        yield body


def _field_in_version(field: Field, version: int) -> Field:
    """The field as it is in one version."""
    whole = Versions.parse(f"{version}+")
    return field._replace(
        versions=whole,
        nullable=whole if version in field.nullable else Versions.parse("none"),
        tagged=whole if version in field.tagged else Versions.parse("none"),
        was=(),
        since="",
        struct="",
        fields=tuple(_field_in_version(child, version) for child in field.fields if version in child.versions),
    )


def _find_common_structs(fields: Sequence[Field]) -> _Commons:
    """Common structs by name, each with fields that serve all its users; structs that differ are written in place."""
    uses: dict[str, list[Field]] = {}
    _collect_uses_of_structs(fields, uses)
    found: _Commons = {}
    for name, users in uses.items():
        if len(users) > 1 and (shared := _merge_field_of_all_users(users)) is not None:
            found[name] = shared
    return found


def _collect_uses_of_structs(fields: Sequence[Field], uses: dict[str, list[Field]]) -> None:
    for field in fields:
        if field.struct:
            uses.setdefault(field.struct, []).append(field)
        _collect_uses_of_structs(field.fields, uses)


def _merge_field_of_all_users(users: Sequence[Field]) -> Field | None:
    """A field whose children serve every user in its versions, or None."""
    whole = _make_spanning_versions([user.versions for user in users])
    children = _unite_field_levels([user.fields for user in users])
    if children is None:
        return None
    for user in users:
        for version in range(user.versions.low, min(user.versions.high, 255) + 1):
            if fields_in_version(children, version) != fields_in_version(user.fields, version):
                return None
    return users[0]._replace(versions=whole, fields=children)


def _make_spanning_versions(ranges: Sequence[Versions]) -> Versions:
    some = [one for one in ranges if one]
    return Versions(min(one.low for one in some), max(one.high for one in some)) if some else ranges[0]


def _key_of_shared_fields(field: Field) -> tuple[object, ...]:
    return field.name, field.kind, field.array, field.tag, field.secret, field.unless


def _unite_field_levels(levels: Sequence[tuple[Field, ...]]) -> tuple[Field, ...] | None:
    if len({tuple(map(_key_of_shared_fields, level)) for level in levels}) != 1:
        return None
    united = []
    for same in zip(*levels, strict=True):
        children = _unite_field_levels([field.fields for field in same])
        if children is None:
            return None
        united.append(
            same[0]._replace(
                versions=_make_spanning_versions([field.versions for field in same]),
                nullable=_make_spanning_versions([field.nullable for field in same]),
                tagged=_make_spanning_versions([field.tagged for field in same]),
                was=tuple(dict.fromkeys(name for field in same for name in field.was)),
                fields=children,
            )
        )
    return tuple(united)


def _format_field_lines(fields: Sequence[Field], commons: _Commons, depth: int) -> Iterator[str]:
    """One line a field, the columns of one level aligned, children below."""
    rows = [
        (field.name, _format_field_type(field, commons), str(field.versions), _format_field_options(field))
        for field in fields
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for field, row in zip(fields, rows, strict=True):
        columns = [text.ljust(width) for text, width in zip(row[:3], widths, strict=True)]
        yield (_INDENT * depth + "  ".join((*columns, row[3]))).rstrip()
        if field.struct not in commons:
            yield from _format_field_lines(field.fields, commons, depth + 1)


def _format_field_type(field: Field, commons: _Commons) -> str:
    return "[]" * field.array + (field.struct if field.struct in commons else field.kind)


def _format_field_options(field: Field) -> str:
    words = []
    if field.nullable:
        words.append(f"null {field.nullable}")
    if field.tag is not None:
        words.append(f"tag {field.tag}" + (f" {field.tagged}" if field.tagged != field.versions else ""))
    if field.has_default:
        words.append(f"= {json.dumps(field.default)}")
    words += [word for word in ("ignorable", "key", "secret") if getattr(field, word)]
    if field.unless:
        words[-1] += f" unless {field.unless}"
    if not field.flexible:
        words.append("inflexible")
    if field.entity:
        words.append(f"is {field.entity}")
    if field.means:
        words.append(f"means {field.means}")
    if field.was:
        words.append(f"was {','.join(field.was)}")
    if field.since:
        words.append(f"since {field.since}")
    return "  ".join(words)


# Our own declarations as files: read into model objects, and rewritten with everything around them kept.


APIS = Path(decoders.apis.__file__).parent
STRUCTURES = Path(decoders.embedded.__file__).parent / "declarations"
_FACTS = re.compile(rf"^({'|'.join(FACTS)})(?![^ \n]).*\n(?: +.*\n)*", re.MULTILINE)
_TEXT = re.compile(r'^DECLARATION = """\n.*?^"""$', re.MULTILINE | re.DOTALL)


def declaration_path(key: int, name: str) -> Path:
    """The file of an API's declaration, which may not exist yet."""
    return APIS / f"{NAMES.get(key, convert_to_snake_case(name))}.py"


def read_all_declarations() -> dict[int, Api]:
    """Every API that a file declares, by key."""
    apis = [_parse_declaration(path, parse_api, text) for path, _, text in _read_declaration_files(APIS)]
    return {api.key: api for api in apis}


Parsed = TypeVar("Parsed")


def _parse_declaration(path: Path, parse: Callable[[str], Parsed], text: str) -> Parsed:
    """A declaration as `parse` reads it; a DeclarationError names its file."""
    try:
        return parse(text)
    except DeclarationError as error:
        place = path.relative_to(APIS.parent).as_posix() if path.is_relative_to(APIS.parent) else path.name
        raise DeclarationError(f"decoders/{place}: {error}") from error


def _read_declaration_files(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Every file of a folder that declares something: its path, its text, and the declaration in it."""
    for path in sorted(folder.glob("*.py")):
        source = path.read_text("utf-8")
        match = _TEXT.search(source)
        if match:
            yield path, source, ast.literal_eval(match[0].partition(" = ")[2])


def find_unformatted_files() -> dict[Path, str]:
    """The files whose declarations are not as the notation writes them, each with the text the file should have."""
    written = [
        (
            path,
            source,
            replace_declaration(source, path.name, format_api_declaration(_parse_declaration(path, parse_api, text))),
        )
        for path, source, text in _read_declaration_files(APIS)
    ]
    for path, source, text in _read_declaration_files(STRUCTURES):
        ordered = [_parse_declaration(path, _format_declaration_text, each) for each in split_declarations(text)]
        written.append((path, source, replace_declaration(source, path.name, "\n".join(ordered))))
    return {path: text for path, source, text in written if text != source}


def _format_declaration_text(text: str) -> str:
    return format_structure_declaration(parse_message(text))


def replace_declaration(source: str | None, name: str, text: str) -> str:
    """The file's text with its declaration replaced, but for the facts in it; a new file when there is none."""
    if source is None:
        return f'"""{name}."""\n\nDECLARATION = """\n{text}"""\n'
    old = _TEXT.search(source)
    if not old:
        raise ValueError(f"{name}: the file has no DECLARATION")
    facts = sorted(_FACTS.finditer(old[0]), key=lambda section: FACTS.index(section[1]))
    head, request, layout = text.partition("request\n")
    block = "".join(('DECLARATION = """\n', head, *(section[0] for section in facts), request, layout, '"""'))
    return source[: old.start()] + block + source[old.end() :]
