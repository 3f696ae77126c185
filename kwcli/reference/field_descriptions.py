"""An API or a structure in; what its fields mean, in the words of Kafka's own definitions, out.

The words are data beside the declarations: `abouts/<module>.txt` has one line for each field, such as
`request.topics[].name: The topic name.` A line that begins with `own` has our words, for a field of which no release
says anything. `python -m kwcli.declarations write` makes these files from the jars of releases. A file is read when its
words are shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import decoders
from decoders.apis import NAMES
from decoders.named_tuple import NamedTuple

OWN: Final = "own "
_FOLDER: Final = os.path.dirname(decoders.__file__)  # no Path: a TAB would wait for its import
_TAGS: Final = "Optional fields, each with its tag."


class About(NamedTuple):
    """What a field means; `own`: in our words, not in Kafka's."""

    words: str
    own: bool = False


def read_api_abouts(key: int) -> Mapping[str, str]:
    """What each field of an API means, by its side and path: `request.topics[].name`."""
    return _read_abouts_file("apis", NAMES[key])


def read_header_abouts() -> Mapping[str, str]:
    """What each field of the headers means: `RequestHeader.client_id`."""
    return _read_abouts_file("apis", "headers")


def read_structure_abouts(module: str) -> Mapping[str, str]:
    """What each field of the structures in one module means, where Kafka defines it: `OffsetCommitKey.group`."""
    return _read_abouts_file("embedded/declarations", module)


def _read_abouts_file(room: str, module: str) -> dict[str, str]:
    path, text = os.path.join(_FOLDER, room, "abouts", f"{module}.txt"), ""
    with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        text = file.read()
    return {line: about.words for line, about in parse_abouts(text).items()}


def parse_abouts(text: str) -> dict[str, About]:
    """The lines of a file, by path."""
    found: dict[str, About] = {}
    for line in text.splitlines():
        path, _, words = line.removeprefix(OWN).partition(": ")
        if not line.startswith("#"):
            found[path] = About(words, line.startswith(OWN))
    return found


def add_abouts_to_rows(rows: Iterable[dict[str, Any]], abouts: Mapping[str, str], above: str) -> None:
    """Add `about` to each row of an API's fields, and to the rows below it; `above` begins the paths of these rows."""
    for row in rows:
        path = above + row["name"]
        tags = row["type"] == "tags"  # the place of tagged fields on the wire: no field itself
        row["about"] = _TAGS if tags else abouts.get(path)
        add_abouts_to_rows(row["fields"], abouts, above if tags else path + "[]" * row["type"].startswith("[]") + ".")
