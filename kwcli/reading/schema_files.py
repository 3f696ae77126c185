"""Files of schemas in (`--schemas`), their schemas in the store of a run out.

A name stands for a subject (`orders-value.avsc`), and `ids.json` beside the files says what else names them: ids,
GUIDs, topics (`{"17": "order.avsc", "orders": "order.avsc", "orders-key": "key.avsc"}`). Files that use each other's
types are found by the names of types (Avro) and by their imports (Protobuf), in the folders that are named and nowhere
else.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from decoders.errors import DecodeError
from decoders.limits import SCHEMA_SIZE_MAX, SCHEMAS_MAX
from decoders.named_tuple import NamedTuple
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin, SchemaReference, SchemaType
from decoders.wire.format_and_escape_text import format_size
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.values.schema_store import SchemaStore
    from kwcli.run_environment import Environment

__all__ = ["add_schema_files", "read_schema_files"]

IDS: Final = "ids.json"
_SUFFIXES: Final = frozenset({".avsc", ".proto", ".desc", ".json"})
_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"\n]+)"', re.MULTILINE)
_GUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AVRO_TYPES: Final = ("record", "enum", "fixed", "error")


class SchemaFile(NamedTuple):
    """A schema of a file. `name` is what other files call it: an import's path, or the full name of a type."""

    path: str
    kind: SchemaType
    text: str
    name: str
    subject: str
    uses: Sequence[str] = ()  # what it may call others


def add_schema_files(places: Sequence[str], store: SchemaStore, env: Environment) -> None:
    """Add the schemas of files and folders to a store. Raises Failure; a file that is no schema is told."""
    for schema in read_schema_files(places):
        store.add_schema(schema)
    told: dict[str, None] = {}
    for stored in store:
        try:
            stored.parse()
        except DecodeError as problem:
            told[f"{stored.registered.origin.place}: {problem.text}"] = None
    for text in told:
        env.report(f"kw: {text}")


def read_schema_files(places: Sequence[str], *, named: bool = True) -> list[RegisteredSchema]:
    """The schemas of files and folders, each by its subject and by what an `ids.json` calls it. Raises Failure.

    `named`: an `ids.json` names only files that are read as well.
    """
    files: list[SchemaFile] = []
    calls: list[tuple[str, str, str]] = []  # the `ids.json`, a word, the path of a file
    for place in places:
        root = Path(place)
        if not root.exists():
            raise Failure(f"--schemas {place}: no such file or folder")
        found = sorted(_list_files(root)) if root.is_dir() else [root]
        if len(found) > SCHEMAS_MAX:
            raise Failure(f"--schemas {place}: more than {SCHEMAS_MAX:,} files")
        base = root if root.is_dir() else root.parent
        for path in found:
            if path.name == IDS:
                calls += ((str(path), word, str(path.parent / name)) for word, name in _read_ids_json(path))
            else:
                files += _read_schema_file(path, base)
    if not files:
        raise Failure(f"--schemas {' '.join(places)}: no schema in it (.avsc, .proto, .desc, .json)", Exit.USAGE)
    by_path: dict[str, SchemaFile] = {str(Path(each.path)): each for each in files}  # of a set: the last one
    rows: list[tuple[SchemaFile, str | None]] = [(each, None) for each in files]
    for ids, word, name in calls:
        if str(Path(name)) not in by_path:
            if not named:
                continue
            raise Failure(f"{ids}: {word}: {name} is not among the files of --schemas")
        rows.append((by_path[str(Path(name))], word))
    return [_make_registered_schema(file, word, files) for file, word in rows]


def _list_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())


def _make_registered_schema(file: SchemaFile, word: str | None, files: Iterable[SchemaFile]) -> RegisteredSchema:
    """The schema of a file, by its own subject or by a word of an `ids.json`: an id, a GUID, a subject or a topic."""
    schema_id, guid, subject = None, None, file.subject
    if word is not None:
        subject = ""
        if word.isascii() and word.isdecimal():
            schema_id = int(word)
        elif _GUID.fullmatch(word.lower()):
            guid = word.lower()
        else:
            subject = word if word.endswith(("-key", "-value")) else f"{word}-value"
    uses = frozenset(file.uses)
    return RegisteredSchema(
        file.kind,
        file.text,
        SchemaOrigin("file", place=file.path),
        schema_id=schema_id,
        guid=guid,
        subject=subject or None,
        references=tuple(
            SchemaReference(other.name, other.subject, 0)
            for other in files
            if other is not file and other.kind == file.kind and other.name in uses
        ),
    )


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(SCHEMA_SIZE_MAX + 1)
    except OSError as error:
        raise Failure(f"{path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > SCHEMA_SIZE_MAX:
        raise Failure(f"{path}: a schema has at most {format_size(SCHEMA_SIZE_MAX)}")
    return data


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path}: no JSON: {str(error)[:100]}") from None


def _read_ids_json(path: Path) -> list[tuple[str, str]]:
    """The pairs of a word and a file's name in an `ids.json`."""
    found = _read_json(path)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise Failure(f'{path}: it has to be an object of ids or topics and files: {{"17": "order.avsc"}}')
    return list(found.items())


def _read_schema_file(path: Path, base: Path) -> list[SchemaFile]:
    """The schema of a file; of a set of descriptors, each of its files."""
    place, subject = str(path), path.stem
    if path.suffix == ".desc":
        return _read_descriptor_set(path)
    if path.suffix == ".proto":
        text = _decode_text(path)
        name = path.relative_to(base).as_posix()
        return [SchemaFile(place, "PROTOBUF", text, name, subject, _IMPORT.findall(text))]
    row, text = _read_json(path), _decode_text(path)
    if path.suffix == ".avsc" or (isinstance(row, dict) and row.get("type") in _AVRO_TYPES and "name" in row):
        own, texts = _list_names_and_texts(row)
        return [SchemaFile(place, "AVRO", text, _make_full_avro_name(row), subject, sorted(texts - own))]
    if path.suffix == ".json":
        return [SchemaFile(place, "JSON", text, path.name, subject)]
    raise Failure(f"--schemas {path}: no file of schemas: .avsc, .proto, .desc or .json")


def _decode_text(path: Path) -> str:
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"{path}: no UTF-8") from None


def _make_full_avro_name(schema: Any, space: str = "") -> str:
    """The full name of an Avro type inside a namespace; empty for a type without a name."""
    if not isinstance(schema, dict):
        return ""
    name, space = str(schema.get("name", "")), str(schema.get("namespace", space))
    return f"{space}.{name}" if space and "." not in name else name


def _list_names_and_texts(schema: Any) -> tuple[set[str], set[str]]:
    """The names of types that an Avro schema declares, and all its texts, which may name others; by full names too."""
    names: set[str] = set()
    texts: set[str] = set()
    waiting: list[tuple[Any, str]] = [(schema, "")]
    while waiting:
        each, space = waiting.pop()
        if isinstance(each, str):
            texts |= {each, f"{space}.{each}"}
        elif isinstance(each, dict):
            if each.get("type") in _AVRO_TYPES:
                name = _make_full_avro_name(each, space)
                names |= {name, str(each.get("name"))}
                space = name.rpartition(".")[0]
            waiting += ((item, space) for item in each.values())
        elif isinstance(each, list):
            waiting += ((item, space) for item in each)
    return names, texts


def _read_descriptor_set(path: Path) -> list[SchemaFile]:
    """The files of a FileDescriptorSet, as `protoc -o` writes it."""
    from decoders.values.protobuf.file_descriptors import split_descriptor_set

    try:
        files = split_descriptor_set(_read_bytes(path))
    except DecodeError:
        files = []
    if not files:
        raise Failure(f"{path}: no set of Protobuf descriptors")
    return [
        SchemaFile(str(path), "PROTOBUF", b64encode(content).decode(), name, Path(name).stem, uses)
        for name, uses, content in files
    ]
