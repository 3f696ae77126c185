"""A kafka-clients jar, or a folder of its unpacked definitions, in; its APIs and structures as model objects out.

The definition files are JSON with comments. Their quirks are handled here: a tag or `ignorable` given as a string, a
field without `versions`, text after the object, defaults as strings.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as slot
from pathlib import Path
from typing import Any, Final

from decoders.schema.api_declaration import ALL, NONE, PRIMITIVES, Api, Default, Field, Message, Versions

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")
# Folders of the definitions: in jars of clients and coordinators, of controllers, of storage.
_FOLDERS: Final = ("common/message/", "common/metadata/", "message/")
# The value of a field without a default; an explicit default equal to it says nothing.
_OWN: Final[dict[str, Default]] = {"bool": False, "string": "", "float64": 0.0}


class DefinitionError(Exception):
    """A jar without message definitions, or a definition that cannot be understood."""


@dataclass(frozen=True, slots=True)
class Release:
    """The definitions in one jar of a release: `version` as (4, 4, 0), APIs by key, other structures by name.

    Only the clients' jar has APIs.
    `unstable` gives the version of an API that brokers of this release hide unless told otherwise; `abouts` what the
    definitions say that a field means, by name of the message and path (`topics[].name`).
    """

    version: tuple[int, ...]
    apis: dict[int, Api]
    structures: dict[str, Message]
    unstable: dict[int, int]
    abouts: dict[str, dict[str, str]] = slot(default_factory=dict)

    @property
    def minor_release(self) -> str:
        return ".".join(map(str, self.version[:2]))

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def convert_to_snake_case(name: str) -> str:
    """A name in snake case by Kafka's own rule: an underscore before each capital that does not follow a capital."""
    return re.sub(r"(?<=[^A-Z])(?=[A-Z])", "_", name).lower()


def read_release_definitions(path: Path) -> Release:
    """All definitions in a jar or folder; its name must hold the release (`kafka-clients-4.4.0.jar`)."""
    found = _RELEASE.findall(str(path))
    if not found:
        raise DefinitionError(f"{path}: no release number in the path")
    requests: dict[int, tuple[dict[str, Any], Message]] = {}
    responses: dict[int, Message] = {}
    structures: dict[str, Message] = {}
    abouts: dict[str, dict[str, str]] = {}
    for name, text in _read_definition_files(path):
        try:
            data = parse_json_with_comments(text)
            message = _parse_message(data)
            abouts[message.name] = dict(_parse_abouts(data.get("fields", ()), _get_common_structs_by_name(data), ""))
        except (ValueError, KeyError) as error:
            raise DefinitionError(f"{path}: {name}: {error!r}") from error
        if data["type"] == "request":
            requests[data["apiKey"]] = (data, message)
        elif data["type"] == "response":
            responses[data["apiKey"]] = message
        else:
            structures[message.name] = message
    if not requests and not structures:
        raise DefinitionError(f"{path}: no message definitions")
    apis = {key: _parse_api(key, *requests[key], responses[key]) for key in sorted(requests)}
    unstable = {
        key: apis[key].versions.high for key, (data, _) in requests.items() if data.get("latestVersionUnstable")
    }
    return Release(tuple(map(int, found[-1])), apis, structures, unstable, abouts)


def _read_definition_files(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for file in sorted(path.glob("**/*.json")):
            yield file.name, file.read_text("utf-8")
        return
    try:
        with zipfile.ZipFile(path) as jar:
            for name in sorted(jar.namelist()):
                if name.startswith(_FOLDERS) and name.endswith(".json"):
                    yield name.rpartition("/")[2], jar.read(name).decode("utf-8")
    except (OSError, zipfile.BadZipFile) as error:
        raise DefinitionError(f"{path}: {error}") from error


def parse_json_with_comments(text: str) -> dict[str, Any]:
    """The first object of JSON text with comments, `//` or `/* */`."""
    plain = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text).lstrip()
    value, _ = json.JSONDecoder().raw_decode(plain)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _parse_api(key: int, data: dict[str, Any], request: Message, response: Message) -> Api:
    name = request.name.removesuffix("Request")
    listeners = tuple(data.get("listeners", ()))
    return Api(key, name, request.versions, request.flexible, request, response, listeners)


def _parse_message(data: dict[str, Any]) -> Message:
    commons = _get_common_structs_by_name(data)
    fields = tuple(_parse_field(field, commons) for field in data.get("fields", ()))
    return Message(
        data["name"], Versions.parse(data["validVersions"]), _parse_versions(data, "flexibleVersions", NONE), fields
    )


def _get_common_structs_by_name(data: dict[str, Any]) -> dict[str, Any]:
    return {common["name"]: common for common in data.get("commonStructs", ())}


def _parse_abouts(fields: Iterable[dict[str, Any]], commons: dict[str, Any], above: str) -> Iterator[tuple[str, str]]:
    """The path of each field that has an `about`, and its text on one line."""
    for field in fields:
        word: str = field["type"]
        path = above + convert_to_snake_case(field["name"])
        if text := " ".join(field.get("about", "").split()):
            yield path, text
        below = commons.get(word.removeprefix("[]"), field)
        yield from _parse_abouts(below.get("fields", ()), commons, path + "[]" * word.startswith("[]") + ".")


def _parse_versions(data: dict[str, Any], word: str, default: Versions) -> Versions:
    return Versions.parse(data[word]) if word in data else default


def _parse_field(data: dict[str, Any], commons: dict[str, Any]) -> Field:
    word: str = data["type"]
    array = word.startswith("[]")
    word = word.removeprefix("[]")
    kind, struct, children = word, "", data.get("fields", ())
    if word not in PRIMITIVES:
        kind = "struct"
        if word in commons:
            struct, children = word, commons[word]["fields"]
    tagged = _parse_versions(data, "taggedVersions", NONE)
    versions = _parse_versions(data, "versions", tagged if tagged else ALL)
    nullable = _parse_versions(data, "nullableVersions", NONE)
    default, has_default = _parse_default(data, kind, array)
    if kind == "records" and nullable and not has_default:
        has_default = True  # Kafka's classes begin with null here
    return Field(
        convert_to_snake_case(data["name"]),
        kind,
        array,
        versions,
        nullable=nullable,
        tag=int(data["tag"]) if "tag" in data else None,
        tagged=tagged,
        default=default,
        has_default=has_default,
        ignorable=data.get("ignorable") in (True, "true"),
        key=bool(data.get("mapKey", False)),
        flexible=data.get("flexibleVersions") != "none",
        entity=data.get("entityType", ""),
        struct=struct,
        fields=tuple(_parse_field(child, commons) for child in children),
    )


def _parse_default(data: dict[str, Any], kind: str, array: bool) -> tuple[Default, bool]:
    """The default as a literal, and whether it differs from the type's own."""
    if "default" not in data or data["default"] is None:  # JSON null: the struct's own default, an empty struct
        return None, False
    value: Default = data["default"]
    if value == "null":
        return None, True
    if array or kind == "struct":
        raise ValueError(f"default {value!r} of {data['name']}")
    if isinstance(value, str):
        value = _parse_default_literal(value, kind)
    if value == _OWN.get(kind, 0):
        return None, False
    return value, True


def _parse_default_literal(text: str, kind: str) -> Default:
    if kind == "string":
        return text
    if kind == "bool":
        return {"true": True, "false": False}[text]
    if kind == "float64":
        return float(text)
    return int(text, 0)
