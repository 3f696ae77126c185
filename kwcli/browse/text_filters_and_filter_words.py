"""A word that is no filter in, the filter for rows that show it out, and words of filters that it may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from decoders.protocol_facts.errors.error_codes import ERRORS
from kwcli.filter_options import quote_filter_text

__all__ = ["list_words_of_filters", "make_text_filter"]

# A text without signs of the language.
_BARE: Final = re.compile(r"[^\s()\"'=!<>~&|,]+(?: +[^\s()\"'=!<>~&|,]+)*")
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "like"})
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_SPECIAL: Final = re.compile(r"[.+*?\[\]{}^$\\]")
# Fields in which a text is searched: what rows show, and keys and values of records.
_NAMES: Final = ("client_id", "topic", "group")
_CONTENTS: Final = ("key", "value")
_LAST_WORD: Final = re.compile(r"[^\s()\"'=!<>~&|,]+$")


def make_text_filter(text: str) -> str:
    """The filter for rows in which a text is; empty where the text has signs or words of the filter language."""
    text = text.strip()
    if not _BARE.fullmatch(text) or not _KEYWORDS.isdisjoint(text.lower().split()):
        return ""
    regex = text if _PLAIN.fullmatch(text) else quote_filter_text(_SPECIAL.sub(r"\\\g<0>", text))
    fields = [*_NAMES, *(["api"] if _is_in_api_name(text) else []), *(["error"] if _is_in_error_name(text) else [])]
    return " or ".join(f"{field} ~ {regex}" for field in (*fields, *_CONTENTS))


def _is_in_api_name(text: str) -> bool:
    from decoders.apis import NAMES, api

    return any(text in api(key).name for key in NAMES)


def _is_in_error_name(text: str) -> bool:
    return any(text in row.name for row in ERRORS.values())


def list_words_of_filters(text: str, names: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    """The text with its last word made a field whose path ends in it, or a comparison with a name that has it.

    `names`: field → the names that the capture has told.
    """
    last = _LAST_WORD.search(text)
    if last is None:
        return
    head, word = text[: last.start()], last[0]
    before = head.split()[-1:] or ["and"]
    if before[0].lower() not in (*_KEYWORDS, "(", "&&", "||", "!") and not head.endswith("("):
        return
    begun = word.lower()
    for path in _list_body_paths():
        if "." not in word and path.rpartition(".")[2].startswith(begun):
            yield head + path, "a field of bodies"
    for field, known in names.items():
        yield from (
            (f"{head}{field} == {_quote_name_if_needed(name)}", f"a {field}")
            for name in sorted(known)
            if begun in name.lower()
        )


def _quote_name_if_needed(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_filter_text(name)


@cache
def _list_body_paths() -> list[str]:
    """Paths of fields in bodies, those that are least deep first."""
    from decoders.filters.filter_field_table import BODIES
    from decoders.filters.parse_expression import all_body_paths

    found = [f"{side}.{path}" for side in BODIES for path in all_body_paths(BODIES[side][0])]
    return sorted(found, key=lambda path: (path.count("."), len(path)))
