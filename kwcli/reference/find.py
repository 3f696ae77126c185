"""A word in; every API and field whose name, or older name, holds it, in JSON form, out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decoders.apis import KEYS, api
from decoders.schema.model import Api, Message
from kwcli.reference.entry import pair
from kwcli.reference.tree import paths
from kwcli.reference.wire import SIDES

Row = dict[str, Any]


def find(word: str) -> list[Row]:
    """Matches in the order of keys: APIs (`side` and `path` null) before their fields.

    Case does not count, nor do `_` and `-`: `leaderEpoch` finds `leader_epoch`. `was` is the older name that matched.
    """
    folded = _folded(word)
    return [row for key in KEYS for row in (*_of_names(api(key), folded), *_of_fields(api(key), folded))]


def _of_names(found: Api, word: str) -> Iterator[Row]:
    was = next((name for name in found.was if word in _folded(name)), None)
    if word in _folded(found.name) or was:
        yield {
            "key": found.key,
            "api": found.name,
            "side": None,
            "path": None,
            "versions": pair(found.versions),
            "type": None,
            "was": None if word in _folded(found.name) else was,
        }


def _of_fields(found: Api, word: str) -> Iterator[Row]:
    for side in SIDES:
        message: Message = getattr(found, side)
        for path, field, versions in paths(message.fields, found.versions):
            was = next((name for name in field.was if word in _folded(name)), None)
            if word in _folded(field.name) or was:
                yield {
                    "key": found.key,
                    "api": found.name,
                    "side": side,
                    "path": path,
                    "versions": pair(versions),
                    "type": "[]" * field.array + field.kind,
                    "was": None if word in _folded(field.name) else was,
                }


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
