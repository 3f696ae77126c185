"""Kafka's error codes in; their lines of the reference, in JSON form and for people, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from decoders.apis import KEYS, api
from decoders.apis.error_codes import ERRORS, find_error
from decoders.apis.remedies import REMEDIES
from decoders.apis.returned import GENERIC, LISTED, OBSERVED
from kwcli.output.table import Column, draw_table, fill, painted
from kwcli.output.units import Palette
from kwcli.reference.catalog import paths

Row = dict[str, Any]


def all_codes() -> list[int]:
    """Every code, ascending."""
    return list(ERRORS)


def error(code: int) -> Row:
    """What is known of a code. Raises KeyError for one that is unknown.

    `apis` names those that return it; `apis_from` tells them apart: `definition` (its response's definition lists the
    code), `behaviour` (brokers are known to answer so), `any` (every answer with an error code may carry it).
    """
    name, retriable, meaning = ERRORS[code]
    found = _returning(name)
    apis = {key for keys in found.values() for key in keys}
    return {
        "code": code,
        "name": name,
        "retriable": retriable,
        "meaning": meaning,
        "remedy": REMEDIES.get(code),
        "apis": [api(key).name for key in sorted(apis)],
        "apis_from": {source: [api(key).name for key in keys] for source, keys in found.items()},
    }


def _returning(name: str) -> dict[str, list[int]]:
    """API keys by what it stands on, none twice."""
    listed = [key for key, names in LISTED.items() if name in names.split()]
    observed = [key for key, names in OBSERVED.items() if name in names.split() and key not in listed]
    rest = [key for key in _with_error_code() if key not in listed and key not in observed] if name in GENERIC else []
    return {"definition": listed, "behaviour": observed, "any": rest}


def returned_by(key: int) -> dict[str, list[str]]:
    """The errors that an API's answers carry besides GENERIC ones, by what it stands on, each by code."""
    tables = {"definition": LISTED, "behaviour": OBSERVED}
    numbers = {name: code for code, (name, _, _) in ERRORS.items()}
    return {source: sorted(table.get(key, "").split(), key=numbers.__getitem__) for source, table in tables.items()}


@cache
def _with_error_code() -> tuple[int, ...]:
    """Every API whose answer has a field for an error code."""
    fields = ((key, paths(api(key).response.fields, api(key).versions)) for key in KEYS)
    return tuple(key for key, among in fields if any(field.name.endswith("error_code") for _, field, _ in among))


def look_up(word: str) -> list[int]:
    """The codes that a number, a name in any spelling or the beginning of a name stands for; none when unknown."""
    exact = find_error(word)
    if exact is not None:
        return [exact]
    folded = _folded(word.rstrip("*…").rstrip("."))
    if not folded:
        return []
    same = [code for code, known in ERRORS.items() if _folded(known.name) == folded]
    return same or [code for code, known in ERRORS.items() if _folded(known.name).startswith(folded)]


def find(word: str) -> list[int]:
    """The codes whose name, meaning or remedy holds the word."""
    folded, plain = _folded(word), word.lower()
    return [code for code, known in ERRORS.items() if folded in _folded(known.name) or plain in _said(code)]


def _said(code: int) -> str:
    return f"{ERRORS[code].meaning} {REMEDIES.get(code, '')}".lower()


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


# Rows of the reference of error codes in, lines for people out.


def list_lines(rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    """One line a code, more where the meaning takes them."""
    columns = (
        Column("code", right=True),
        Column("name", paint="bad", cut=20),
        Column("retry", drop=1),
        Column("meaning", cut=34, wrap=True),
    )
    shown = [[str(row["code"]), row["name"], "yes" if row["retriable"] else "no", row["meaning"]] for row in rows]
    if shown:
        yield from draw_table(fill(columns, shown), width, palette)


def error_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """All that is known of one code."""
    retriable = "yes: clients send again by themselves" if row["retriable"] else "no: clients report it"
    facts = [["meaning", row["meaning"]], ["remedy", row["remedy"] or ""]]
    if row["code"]:
        facts.append(["retriable", retriable])
    facts.append(["returned by", _apis(row)])
    yield f"{painted(row['name'], 'bad', palette)} · error code {row['code']}"
    columns = (Column("", paint="dim"), Column("", wrap=True))
    yield from draw_table(fill(columns, [fact for fact in facts if fact[1]]), width, palette, "  ", heading=False)
    if row["apis_from"]["behaviour"]:
        yield from draw_table(
            fill(
                (Column("", paint="dim"), Column("", wrap=True, paint="dim")),
                [["", "* from the behaviour of brokers; the others are listed in Kafka's definitions"]],
            ),
            width,
            palette,
            "  ",
            heading=False,
        )


def _apis(row: Row) -> str:
    if row["apis_from"]["any"]:
        return "any API whose answer has an error code"
    behaviour = row["apis_from"]["behaviour"]
    names = [f"{name}*" if name in behaviour else name for name in row["apis"]]
    return ", ".join(names) or "no API that is known: clients make it themselves, or brokers use it no more"
