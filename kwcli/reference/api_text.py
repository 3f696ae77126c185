"""Rows of the reference of APIs in, lines for people out: the list, an API's fields, a wire layout, what was found."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from decoders.protocol_facts.kafka_releases import RELEASES
from kwcli.output.short_texts import Palette
from kwcli.output.table import TOGETHER, Column, draw_table, paint_text, put_rows_in_columns
from kwcli.reference.wire_layout import collect_encodings, find_legend_rows

Row = dict[str, Any]
INDENT: Final = "  "
ZERO_UUID: Final = "A" * 22
# From this width on the list shows the versions of single releases.
WIDE: Final = 110


def format_release_range(first: str, last: str) -> str:
    """The releases from one to another in few letters: `3.9–4.4`, `4.4`."""
    return first if first == last else f"{first}–{last}"


def format_version_range(versions: Sequence[int] | None) -> str:
    """A range of versions as text: [0, 13] as `0-13`, [2, 2] as `2`; None as the empty text."""
    if versions is None:
        return ""
    low, high = versions
    return str(low) if low == high else f"{low}-{high}"


# Who sends and serves, in one letter each where there is no room for words.
_LETTERS: Final = {"client": "c", "tool": "t", "broker": "b", "controller": "k", "zkBroker": "z"}
_KEY: Final = "c client · t tool · b broker · k controller · z broker on ZooKeeper · flex: first flexible version"


def api_list_lines(
    rows: Sequence[Row], width: int | None, palette: Palette, release: str | None = None
) -> Iterator[str]:
    """One line an API, with its versions in `release`, or in all and in as many single ones as there is room for."""
    wide = width is None or width >= WIDE
    columns = [
        Column("key", right=True),
        Column("API", paint="api", cut=24),
        Column(release or ("versions" if wide else "vers")),
        Column("flexible" if wide else "flex"),
        Column("since", drop=3),
        Column("sent by" if wide else "sent", drop=2),
        Column("listeners" if wide else "served", drop=4),
        Column("changes", drop=1, paint="bad"),
        Column("older name", drop=6, paint="dim"),
    ]
    shown = [_make_api_list_row(row, release, wide=wide) for row in rows]
    if release is None and width is not None and wide:
        for number, one in enumerate(reversed(RELEASES)):
            columns.append(Column(one, paint="dim", right=True, drop=10 + number))
            for row, cell in zip(rows, shown, strict=True):
                cell.append(format_version_range(row["releases"].get(one)))
    yield from draw_table(put_rows_in_columns(columns, shown), width, palette)
    if release is not None and any(release in row["unstable"] for row in rows):
        said = "* the newest version is unstable: brokers of this release hide it unless told otherwise"
        for line in textwrap.wrap(said, width or len(said)):
            yield paint_text(line, "dim", palette)
    if width is not None and not wide:
        for line in textwrap.wrap(_KEY, width):
            yield paint_text(line, "dim", palette)


def _make_api_list_row(row: Row, release: str | None, *, wide: bool) -> list[str]:
    versions = row["versions"] if release is None else row["releases"][release]
    hidden = "*" if release is not None and release in row["unstable"] else ""
    flexible = "never" if row["flexible_from"] is None else f"{row['flexible_from']}+"
    since = format_release_range(row["since"], row["until"]) if row["until"] else row["since"]
    found = [str(row["key"]), row["name"], format_version_range(versions) + hidden, flexible, since or ""]
    found += [_format_senders(row["sent_by"], wide=wide), _format_senders(row["listeners"], wide=wide)]
    return [*found, "changes" if row["mutates"] else "", ",".join(row["was"])]


def _format_senders(words: Sequence[str], *, wide: bool) -> str:
    return ",".join(words) if wide else "".join(_LETTERS[word] for word in words)


def api_tree_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """The facts of an API, then its fields over all versions, its errors and early layouts."""
    yield from api_heading_lines(row, width, palette)
    for side in ("request", "response"):
        yield ""
        if not row[side]:
            yield f"{paint_text(side, 'api', palette)} (no fields)"
            continue
        yield paint_text(side, "api", palette)
        yield from draw_table(put_rows_in_columns(_TREE, [*_walk_field_rows(row[side], 0)]), width, palette, INDENT)
        for title, said in (
            ("values", _field_meaning_lines(row[side], "")),
            ("older names", _older_field_name_lines(row[side], "")),
        ):
            lines = [*said]
            if lines:
                yield paint_text(f"{INDENT}{title}", "dim", palette)
                yield from draw_table(put_rows_in_columns(_MEANINGS, lines), width, palette, INDENT, heading=False)
    names = [*row["errors"]["definition"], *(f"{name}*" for name in row["errors"]["behaviour"])]
    if names:
        yield ""
        yield paint_text("errors", "api", palette)
        for line in textwrap.wrap(", ".join(names), width - len(INDENT) if width else 10**6):
            yield INDENT + line
        if row["errors"]["behaviour"]:
            yield paint_text(f"{INDENT}* from the behaviour of brokers; not in Kafka's definitions", "dim", palette)
    for early in row["early"]:
        yield ""
        yield paint_text(
            f"{early['release']} laid out {early['side']} {early['version']} in another way, not yet stable: "
            f"kw apis {row['name']} {early['version']} --release {early['release']}",
            "dim",
            palette,
        )


# What a field means, if it was asked for.
_ABOUT: Final = Column("about", wrap=True, cut=30)
_TREE: Final = (
    Column("field", paint="name"),
    Column("versions"),
    Column("type"),
    Column("null", drop=2),
    Column("tag", drop=1),
    Column("default", drop=3, cut=6),
    Column("since", drop=4, paint="dim"),
    Column("is", drop=5, paint="dim"),
    _ABOUT,
)


_MEANINGS: Final = (Column("", paint="name", cut=24, left=True), Column("", wrap=True, cut=30))


def _field_meaning_lines(rows: Sequence[Row], above: str) -> Iterator[list[str]]:
    """Each field whose numbers have words, with the numbers and their words."""
    for row in rows:
        path = above + row["name"]
        if row["values"]:
            yield [path, ", ".join(f"{number}{TOGETHER}{word}" for number, word in row["values"].items())]
        yield from _field_meaning_lines(row["fields"], f"{path}{'[]' * row['type'].startswith('[]')}.")


def _older_field_name_lines(rows: Sequence[Row], above: str) -> Iterator[list[str]]:
    """Each field that has other names in older releases, with these names."""
    for row in rows:
        path = above + row["name"]
        if row["was"]:
            yield [path, ", ".join(row["was"])]
        yield from _older_field_name_lines(row["fields"], f"{path}{'[]' * row['type'].startswith('[]')}.")


def _walk_field_rows(rows: Sequence[Row], depth: int) -> Iterator[list[str]]:
    for row in rows:
        tag = "" if row["tag"] is None else str(row["tag"])
        if tag and row["tagged"] != row["versions"]:
            tag += f" ({row['tagged']})"
        since = format_release_range(row["since"], row["until"]) if row["until"] else row["since"]
        kind = row["type"] + " secret" * row["secret"]
        name = INDENT * depth + row["name"]
        yield [
            name,
            row["versions"],
            kind,
            row["nullable"] or "",
            tag,
            format_default_value(row),
            since or "",
            row["entity"] or "",
            row.get("about") or "",
        ]
        yield from _walk_field_rows(row["fields"], depth + 1)


def format_default_value(row: Row) -> str:
    """A field's default as JSON; empty where it is the expected one of an array, a struct or records."""
    if row["type"].startswith("[]") or row["type"] in ("struct", "records", "tags"):
        return "" if row["default"] in ([], {}, "", None) and not row["nullable"] else json.dumps(row["default"])
    return "zero" if row["default"] == ZERO_UUID else json.dumps(row["default"])


# Route.to of decoders/protocol_facts/request_routing.py → words for people.
_SERVERS: Final = {
    "any": "any node",
    "leader": "the leader of each partition",
    "group": "the coordinator of the group",
    "transaction": "the coordinator of the transactional id",
    "share": "the coordinator of the share group's partition",
    "resource": "the broker that the resource names, else any node or, for a change, the controller",
    "controller": "the active controller (a KRaft broker forwards)",
    "all": "every broker for itself",
}


def api_heading_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """The name and the facts of an API."""
    was = f" (was {', '.join(row['was'])})" if row["was"] else ""
    name, versions = paint_text(row["name"], "api", palette), format_version_range(row["versions"])
    yield f"{name}{was} · key {row['key']} · versions {versions}"
    flexible = "never" if row["flexible_from"] is None else f"from version {row['flexible_from']} on"
    facts = [
        ["flexible", flexible],
        ["sent by", ", ".join(row["sent_by"])],
        ["served on", f"{', '.join(row['listeners'])} listeners, by {_SERVERS[row['to']]}"],
        ["changes", "something on the cluster" if row["mutates"] else "nothing"],
        ["releases", format_api_history(row)],
    ]
    if row["unstable"]:
        hidden = ", ".join(f"{release} (version {version})" for release, version in row["unstable"].items())
        facts.append(["unstable in", hidden])
    yield from draw_table(
        put_rows_in_columns((Column("", paint="dim"), Column("", wrap=True)), facts),
        width,
        palette,
        INDENT,
        heading=False,
    )


def format_api_history(row: Row) -> str:
    """`0.8.2 0 · 0.9.0 0-1 · … · gone in 4.0`: the releases that changed something."""
    parts, last, gone = [], None, False
    for release in RELEASES:
        versions = row["releases"].get(release)
        if versions is None:
            if last is not None and not gone:
                parts.append(f"gone in {release}")
                gone = True
        elif versions != last:
            parts.append(f"{release}: {format_version_range(versions)}")
            last = versions
    return " · ".join(parts)


_WIRE: Final = (
    Column("field", paint="name"),
    Column("encoding"),
    Column("tag"),
    Column("bytes", right=True, drop=2, paint="dim"),
    Column("notes", wrap=True, drop=1, paint="dim"),
)
_WIRE_WITH_ABOUTS: Final = (*_WIRE[:-1], _WIRE[-1]._replace(wrap=False), _ABOUT)


_FRAME: Final = (
    ["frame", "an int32 goes before the header: the size of header and body"],
    ["=", "the default, where it is not zero, empty or false"],
)


def wire_layout_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """The layouts of request and response of one version, and an explanation of the encodings."""
    words: set[str] = set()
    having = row["releases"] or ("of no release",)
    where = f"Kafka {row['release'] or format_release_range(having[0], having[-1])}"
    for side in ("request", "response"):
        part = row[side]
        title = paint_text(f"{row['name']} {row['version']} {side}", "api", palette)
        yield f"{title} · key {row['key']} · header {part['header_version']} · {where}"
        for section in ("header", "body"):
            words |= collect_encodings(part[section])
            yield paint_text(section, "dim", palette)
            yield from _wire_section_lines(part[section], width, palette)
        yield ""
    yield from draw_table(
        put_rows_in_columns(
            (Column("", paint="name"), Column("", wrap=True, paint="dim")),
            [*_FRAME, *map(list, find_legend_rows(words))],
        ),
        width,
        palette,
        heading=False,
    )
    for release in row["early"]:
        yield f"{release} had another layout: kw apis {row['name']} {row['version']} --release {release}"


def _wire_section_lines(rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    lines = [*_walk_wire_rows(rows, 0)]
    if lines:
        columns = _WIRE_WITH_ABOUTS if "about" in rows[0] else _WIRE
        yield from draw_table(put_rows_in_columns(columns, lines), width, palette, INDENT, heading=False)


def _walk_wire_rows(rows: Sequence[Row], depth: int) -> Iterator[list[str]]:
    for row in rows:
        size = "" if row["size"] is None else str(row["size"])
        tag = "" if row["tag"] is None else f"tag {row['tag']}"
        said = ["secret"] if row["secret"] else []
        if "constant" in row:
            said.insert(0, f"always {row['constant']}")
        elif row["default"] not in ([], {}, 0, "", ZERO_UUID) and row["type"] != "tags":
            said.insert(0, f"= {json.dumps(row['default'])}")
        about = row.get("about") or ""
        yield [INDENT * depth + row["name"], row["encoding"], tag, size, ", ".join(said), about]
        yield from _walk_wire_rows(row["fields"], depth + 1)


_ARROWS: Final = {"request": "→", "response": "←"}


def search_result_lines(rows: Sequence[Row], word: str, width: int | None, palette: Palette) -> Iterator[str]:
    """A table of the APIs and fields that a search has found, one line each."""
    sides = {"request": "request", "response": "response"} if width is None or width >= WIDE else _ARROWS
    columns = (
        Column("API", paint="api", cut=20),
        Column("side" if sides is not _ARROWS else ""),
        Column("field", paint="name", cut=40, left=True),
        Column("versions"),
        Column("type", drop=1),
        Column("older name", drop=3, paint="dim"),
        _ABOUT,
    )
    shown = [
        [
            row["api"],
            sides.get(row["side"], ""),
            row["path"] or "",
            format_version_range(row["versions"]),
            row["type"] or "",
            row["was"] or "",
            row.get("about") or "",
        ]
        for row in rows
    ]
    if shown:
        yield from draw_table(put_rows_in_columns(columns, shown), width, palette)
    else:
        yield f"nothing is called {word!r}"
