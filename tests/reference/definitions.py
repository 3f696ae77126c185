"""A client jar in, its message definitions out; a reader without code of the project, to judge the reference by.

Definitions up to 2.7 have the type `bytes` for records; later ones are read as `bytes` too.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Spot(NamedTuple):
    """One field of one version."""

    path: str
    type: str
    nullable: bool
    tag: int | None


@dataclass
class Defined:
    """One API of one release: `spots` are the fields by (side, version), plain ones in wire order, then tagged ones."""

    name: str = ""
    versions: tuple[int, int] = (0, 0)
    unstable: int | None = None
    flexible: tuple[int, int] = (0, -1)
    spots: dict[tuple[str, int], list[Spot]] = field(default_factory=dict)


def span(text: str) -> tuple[int, int]:
    if text == "none":
        return 0, -1
    low, dash, high = text.replace("+", "-32767").partition("-")
    return int(low), int(high) if dash else int(low)


def snake(name: str) -> str:
    return re.sub(r"([^A-Z])([A-Z])", r"\1_\2", name).lower()


def definitions(jar: Path) -> dict[int, Defined]:
    """The definitions in a jar, by API key."""
    found: dict[int, Defined] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if not re.fullmatch(r"common/message/\w+(Request|Response)\.json", name):
                continue
            lines = archive.read(name).decode().splitlines()
            text = "\n".join(re.sub(r"(^|\s)//.*", "", line) for line in lines)
            data, _ = json.JSONDecoder().raw_decode(text.lstrip())
            low, high = span(data["validVersions"])
            if high < low or "apiKey" not in data:
                continue
            api = found.setdefault(data["apiKey"], Defined())
            if data["type"] == "request":
                api.name = data["name"].removesuffix("Request")
                api.versions = low, high
                api.unstable = high if data.get("latestVersionUnstable") else None
                api.flexible = span(data.get("flexibleVersions", "none"))
            commons = {common["name"]: common["fields"] for common in data.get("commonStructs", ())}
            for version in range(low, high + 1):
                api.spots[data["type"], version] = list(_spots(data["fields"], commons, version, ""))
    return found


def _spots(fields: list[dict[str, Any]], commons: dict[str, Any], version: int, above: str) -> list[Spot]:
    plain: list[list[Spot]] = []
    tagged: dict[int, list[Spot]] = {}
    for one in fields:
        low, high = span(one["versions"] if "versions" in one else one["taggedVersions"])
        if not low <= version <= high:
            continue
        array = one["type"].startswith("[]")
        kind = one["type"].removeprefix("[]")
        children = one.get("fields") or commons.get(kind, [])
        if kind[0].isupper():
            kind = "struct"
        elif kind == "records":
            kind = "bytes"
        low, high = span(one.get("nullableVersions", "none"))
        null = low <= version <= high
        low, high = span(one.get("taggedVersions", "none"))
        tag = int(one["tag"]) if low <= version <= high else None
        path = above + snake(one["name"])
        spots = [Spot(path, "[]" * array + kind, null, tag)]
        spots += _spots(children, commons, version, path + "[]" * array + ".")
        if tag is None:
            plain.append(spots)
        else:
            tagged[tag] = spots
    return [spot for group in (*plain, *(tagged[tag] for tag in sorted(tagged))) for spot in group]
