"""Kafka's error codes in; their entries in the reference, as JSON objects and as lines for people, out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from decoders.apis import KEYS, api, api_name
from decoders.frames.explain_strange_numbers import list_findings_about_log_line
from decoders.protocol_facts.errors.error_codes import ERRORS, find_error_code
from decoders.protocol_facts.errors.error_names import LIBRDKAFKA_ERRORS, OTHER_NAMES
from decoders.protocol_facts.errors.errors_by_api import (
    GENERIC,
    errors_listed_by_definition,
    errors_observed_from_brokers,
)
from decoders.protocol_facts.errors.find_errors_in_text import find_error_codes_in_line, parse_librdkafka_code
from decoders.protocol_facts.errors.remedies import REMEDIES
from decoders.protocols.recognise_protocols import Finding
from kwcli.output.short_texts import Palette
from kwcli.output.table import Column, draw_table, paint_text, put_rows_in_columns
from kwcli.reference.walk_field_paths import walk_field_paths

Row = dict[str, Any]
# Java's TimeoutException says this code, and is thrown for other causes too.
_TIMED_OUT = 7
# So are UNKNOWN_SERVER_ERROR and INVALID_REQUEST: the words behind them say more.
_VAGUE = frozenset({-1, _TIMED_OUT, 42})
# Words that people write before a code.
_NOISE: Final = frozenset({"error", "errors", "err", "code", "errorcode", "error_code", "kafka", "no", "number"})


def list_error_codes() -> list[int]:
    """Every code, ascending."""
    return list(ERRORS)


def make_error_row(code: int) -> Row:
    """All that is known of an error code. Raises KeyError for an unknown code.

    `apis` names the APIs that return it; `apis_from` groups them: `definition` (the response's definition lists the
    code), `behaviour` (brokers are known to answer so), `any` (every response with an error code may carry it).
    `also` has its names in older releases and in clients. `client` is there for an error that a client library makes.
    """
    if code in LIBRDKAFKA_ERRORS:
        return _make_librdkafka_error_row(code)
    name, retriable, meaning = ERRORS[code]
    found = _find_apis_returning_error(name)
    apis = {key for keys in found.values() for key in keys}
    return {
        "code": code,
        "name": name,
        "retriable": retriable,
        "meaning": meaning,
        "remedy": REMEDIES.get(code),
        "apis": [api_name(key) for key in sorted(apis)],
        "apis_from": {source: [api_name(key) for key in keys] for source, keys in found.items()},
        "also": OTHER_NAMES.get(code, "").split(),
    }


def _make_librdkafka_error_row(code: int) -> Row:
    name, meaning = LIBRDKAFKA_ERRORS[code]
    return {
        "code": code,
        "name": name,
        "retriable": False,
        "meaning": meaning,
        "remedy": None,
        "apis": [],
        "apis_from": _find_apis_returning_error(name),
        "also": [f"ERR_{name}", f"RD_KAFKA_RESP_ERR_{name}"],
        "client": "librdkafka",
    }


def _find_apis_returning_error(name: str) -> dict[str, list[int]]:
    """The keys of the APIs that return an error, grouped by how that is known; none twice."""
    defined = [key for key in KEYS if name in errors_listed_by_definition(key)]
    besides = [key for key in KEYS if name in errors_observed_from_brokers(key) and key not in defined]
    rest = (
        [key for key in _list_apis_with_error_code_field() if key not in defined and key not in besides]
        if name in GENERIC
        else []
    )
    return {"definition": defined, "behaviour": besides, "any": rest}


def list_errors_returned_by_api(key: int) -> dict[str, list[str]]:
    """The errors that an API's responses carry besides GENERIC ones, grouped by how that is known, sorted by code."""
    names = {"definition": errors_listed_by_definition(key), "behaviour": errors_observed_from_brokers(key)}
    numbers = {name: code for code, (name, _, _) in ERRORS.items()}
    return {source: sorted(some, key=numbers.__getitem__) for source, some in names.items()}


@cache
def _list_apis_with_error_code_field() -> tuple[int, ...]:
    """The keys of all APIs whose response has a field for an error code."""
    fields = ((key, walk_field_paths(api(key).response.fields, api(key).versions)) for key in KEYS)
    return tuple(key for key, among in fields if any(field.name.endswith("error_code") for _, field, _ in among))


def find_codes_of_words(words: Sequence[str]) -> tuple[list[int], list[str]]:
    """The codes that the words stand for, and the words that stand for none.

    A word is a number, a name as `find_error_code` or librdkafka knows it, the beginning of a name, or a line of a log
    that has names or codes in it; all words together may be one name with spaces.
    """
    found: dict[int, None] = {}
    unknown = []
    for word in words:
        codes = _find_codes_of_word(word) or find_error_codes_in_line(word)
        found |= dict.fromkeys(codes)
        if not codes:
            unknown.append(word)
    whole = " ".join(words)
    if (
        unknown
        and len(words) > 1
        and (codes := _find_codes_of_word(whole) or ([] if found else find_error_codes_in_line(whole)))
    ):
        return codes, []
    return list(found), unknown


def find_codes_and_causes(words: Sequence[str]) -> tuple[list[int], list[str], list[Finding]]:
    """The codes that the words stand for, the words that stand for none, and the causes that lines of a log tell.

    A line that tells a cause which its exception does not name (`TimeoutException: Topic … not present in metadata`)
    has that cause alone.
    """
    codes: dict[int, None] = {}
    causes: dict[Finding, None] = {}
    unknown: list[str] = []
    lines = [" ".join(words)] if len(words) > 3 and list_findings_about_log_line(" ".join(words), alone=True) else words
    for word in lines:
        found, missing = find_codes_of_words([word])
        told = _find_causes_in_log_line(word, found, complete=not missing)
        causes |= dict.fromkeys(told)
        codes |= {} if told else dict.fromkeys(found)
        unknown += [] if told else missing
    if codes and all(word.lower().strip(":") in _NOISE for word in unknown):
        unknown = []
    if unknown and len(lines) > 1:
        found, missing = find_codes_of_words(words)
        if not missing:
            return found, [], []
    return list(codes), unknown, list(causes)


def _find_causes_in_log_line(word: str, codes: list[int], *, complete: bool) -> list[Finding]:
    """The causes that a line tells where it names no code for all of it, or one alone that may mean anything."""
    if not complete:
        return list_findings_about_log_line(word, alone=True)
    if " " not in word.strip() or len(codes) != 1 or codes[0] not in _VAGUE:
        return []
    return list_findings_about_log_line(word, alone=codes[0] == _TIMED_OUT)


def _find_codes_of_word(word: str) -> list[int]:
    if word[:2].lower() == "0x" and re.fullmatch("[0-9a-f]{1,4}", word[2:].lower()):
        word = str(int.from_bytes(bytes.fromhex(word[2:].zfill(4)), "big", signed=True))
    exact = find_error_code(word)
    if exact is not None:
        return [exact]
    own = parse_librdkafka_code(word)
    if own is not None:
        return [own]
    folded = _fold_name(word.rstrip("*…").rstrip("."))
    return [code for code, known in ERRORS.items() if _fold_name(known.name).startswith(folded)] if folded else []


def find_error_codes_with_word(word: str) -> list[int]:
    """The codes whose name, meaning or remedy holds the word."""
    folded, plain = _fold_name(word), word.lower()
    return [
        code for code, known in ERRORS.items() if folded in _fold_name(known.name) or plain in _format_error_code(code)
    ]


def _format_error_code(code: int) -> str:
    return f"{ERRORS[code].meaning} {REMEDIES.get(code, '')}".lower()


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


# Lines for people


def cause_lines(causes: Sequence[Finding], width: int | None, palette: Palette) -> Iterator[str]:
    """The lines for causes that lines of a log tell."""
    for cause in causes:
        yield paint_text(cause.what, "bad", palette)
        facts = [["meaning", cause.detail], ["remedy", cause.remedy], ["next", cause.command]]
        columns = (Column("", paint="dim"), Column("", wrap=True))
        shown = [fact for fact in facts if fact[1]]
        yield from draw_table(put_rows_in_columns(columns, shown), width, palette, "  ", heading=False)


def error_list_lines(rows: Sequence[Row], width: int | None, palette: Palette) -> Iterator[str]:
    """One line a code, more where the meaning is long."""
    columns = (
        Column("code", right=True),
        Column("name", paint="bad", cut=20),
        Column("retry", drop=1),
        Column("meaning", cut=34, wrap=True),
    )
    shown = [[str(row["code"]), row["name"], "yes" if row["retriable"] else "no", row["meaning"]] for row in rows]
    if shown:
        yield from draw_table(put_rows_in_columns(columns, shown), width, palette)


def error_description_lines(row: Row, width: int | None, palette: Palette) -> Iterator[str]:
    """The lines for one code: all that is known of it."""
    retriable = "yes: clients send again by themselves" if row["retriable"] else "no: clients report it"
    facts = [["meaning", row["meaning"]], ["remedy", row["remedy"] or ""]]
    if row["code"] and "client" not in row:
        facts.append(["retriable", retriable])
    facts.append(["returned by", _format_apis_returning_error(row)])
    facts.append(["also called", ", ".join(row["also"])])
    yield f"{paint_text(row['name'], 'bad', palette)} · error code {row['code']}"
    columns = (Column("", paint="dim"), Column("", wrap=True))
    yield from draw_table(
        put_rows_in_columns(columns, [fact for fact in facts if fact[1]]), width, palette, "  ", heading=False
    )
    if row["apis_from"]["behaviour"]:
        yield from draw_table(
            put_rows_in_columns(
                (Column("", paint="dim"), Column("", wrap=True, paint="dim")),
                [["", "* from the behaviour of brokers; the others are listed in Kafka's definitions"]],
            ),
            width,
            palette,
            "  ",
            heading=False,
        )


def _format_apis_returning_error(row: Row) -> str:
    if "client" in row:
        return f"no broker: {row['client']} makes it itself"
    if row["apis_from"]["any"]:
        return "any API whose answer has an error code"
    behaviour = row["apis_from"]["behaviour"]
    names = [f"{name}*" if name in behaviour else name for name in row["apis"]]
    return ", ".join(names) or "no API that is known: clients make it themselves, or brokers use it no more"
