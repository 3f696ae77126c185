"""Kafka's error codes in; their lines of the reference, in JSON form, out."""

from __future__ import annotations

from typing import Any

from decoders.apis.error_codes import ERRORS, find_error

Row = dict[str, Any]


def all_codes() -> list[int]:
    """Every code, ascending."""
    return list(ERRORS)


def error(code: int) -> Row:
    """What is known of a code. Raises KeyError for one that is unknown."""
    name, retriable, meaning = ERRORS[code]
    return {"code": code, "name": name, "retriable": retriable, "meaning": meaning}


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
    """The codes whose name or meaning holds the word."""
    folded, plain = _folded(word), word.lower()
    return [code for code, known in ERRORS.items() if folded in _folded(known.name) or plain in known.meaning.lower()]


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()
