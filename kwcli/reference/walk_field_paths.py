"""The fields of a message in, each with its path, out; without the tables of the catalog, for which a TAB waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoders.schema.api_declaration import Field, Versions


def walk_field_paths(among: Sequence[Field], whole: Versions, above: str = "") -> Iterator[tuple[str, Field, Versions]]:
    """Every field with its path (`topics[].partitions[].partition`) and its versions, parents before children."""
    for field in among:
        versions = field.versions & whole
        if versions:
            here = f"{above}{field.name}"
            yield here, field, versions
            yield from walk_field_paths(field.fields, versions, here + "[]" * field.array + ".")
