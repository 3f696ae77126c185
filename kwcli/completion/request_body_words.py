"""An API in; the beginnings of words of its request's body out, and the fields that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final

from decoders.apis import api
from decoders.schema.api_declaration import Api, Field
from kwcli.reference.walk_field_paths import walk_field_paths

# Key → the module of kwcli/calling/records whose WORDS an API takes besides the fields of its request. A TAB waits for
# what is imported here, so these modules are imported for their APIs only.
_SHORT: Final = {0: "produce_request", 1: "fetch_request", 2: "list_offsets_request"}


def list_body_words(key: int) -> tuple[str, ...]:
    """The beginnings of words of an API's body: `topics[].name=`."""
    words: Sequence[str] = import_module(f"kwcli.calling.records.{_SHORT[key]}").WORDS if key in _SHORT else ()
    return tuple(dict.fromkeys(f"{word}=" for word in (*words, *(place for place, _ in list_leaf_fields(api(key))))))


def list_leaf_fields(found: Api) -> Iterator[tuple[str, Field]]:
    """The fields of an API's request that hold values, each with its path."""
    for path, field, _ in walk_field_paths(found.request.fields, found.versions):
        if not field.fields:
            yield path + "[]" * field.array, field
