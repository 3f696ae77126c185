"""An API in; its fields over all its versions, with what is known of each, in JSON form, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from decoders.apis.enums import ENUMS
from decoders.apis.releases import RELEASES, history
from decoders.schema.model import FOREVER, Api, Field, Message, Versions
from decoders.schema.resolve import default_value
from kwcli.reference.entry import Entry, entry
from kwcli.reference.wire import shown_default

Row = dict[str, Any]


def tree(found: Api) -> Entry:
    """The API's line of the list, and the fields of both sides."""
    early = sorted({(version, side, release) for side, version, release in found.early})
    return entry(found) | {
        "early": [{"side": side, "version": version, "release": release} for version, side, release in early],
        "request": fields(found, found.request),
        "response": fields(found, found.response),
    }


def fields(found: Api, message: Message) -> list[Row]:
    """The fields of one side, in the order of the declaration: that of the wire, tagged ones in between."""
    return _rows(found, message.fields, found.versions)


def _rows(found: Api, among: Sequence[Field], whole: Versions, above: str = "") -> list[Row]:
    return [_row(found, field, field.versions & whole, above + field.name) for field in among if field.versions & whole]


def _row(found: Api, field: Field, versions: Versions, path: str) -> Row:
    since, until = _lifetime(found.key, versions, field.since)
    return {
        "name": field.name,
        "type": "[]" * field.array + field.kind,
        "versions": _spelt(versions, found),
        "nullable": _spelt(field.nullable & versions, found),
        "tag": field.tag,
        "tagged": _spelt(field.tagged & versions, found),
        "default": shown_default(default_value(field, nullable=bool(field.nullable & versions))),
        "ignorable": field.ignorable,
        "map_key": field.key,
        "secret": field.secret,
        "entity": field.entity or None,
        "since": since,
        "until": until,
        "was": list(field.was),
        "values": values(found.key, path),
        "fields": _rows(found, field.fields, versions, path + "[]" * field.array + "."),
    }


def values(key: int, path: str) -> dict[str, str] | None:
    """What the numbers of a field stand for, by number as text; None where any number will do."""
    known = ENUMS.get(key, {}).get(path)
    return None if known is None else {str(number): word for number, word in known.items()}


def _spelt(versions: Versions, found: Api) -> str | None:
    """`9+` where the newest version of the API is among them; None for none."""
    if not versions:
        return None
    return str(Versions(versions.low, FOREVER if versions.high == found.versions.high else versions.high))


def _lifetime(key: int, versions: Versions, since: str) -> tuple[str | None, str | None]:
    """The first release that has the field, and the last one where the newest has it no more."""
    first = RELEASES.index(since) if since else 0
    having = [release for release, its in history(key).items() if its & versions and RELEASES.index(release) >= first]
    if not having:
        return None, None
    return having[0], None if having[-1] == RELEASES[-1] else having[-1]


def paths(among: Sequence[Field], whole: Versions, above: str = "") -> Iterator[tuple[str, Field, Versions]]:
    """Every field with its path (`topics[].partitions[].partition`) and its versions, parents before children."""
    for field in among:
        versions = field.versions & whole
        if versions:
            here = f"{above}{field.name}"
            yield here, field, versions
            yield from paths(field.fields, versions, here + "[]" * field.array + ".")
