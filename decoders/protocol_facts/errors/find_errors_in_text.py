"""A word or a line of a log in; the error codes that it names out, by number, name, exception or a client's text."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from decoders.protocol_facts.errors.error_codes import ERRORS, find_error_code
from decoders.protocol_facts.errors.error_names import LIBRDKAFKA_ERRORS

# Names as logs have them: an upper-case constant of several words, or an exception of any client.
_NAMES_IN_A_LINE: Final = re.compile(
    r"\b(?:_?[A-Z]+_[A-Z_]*[A-Z]|_[A-Z]+|(?:[a-z]+\.)*[A-Z][A-Za-z]+(?:Exception|Error)|Err[A-Z][A-Za-z]+)\b"
)
_CODES_IN_A_LINE: Final = re.compile(
    r"(?i)\b(?:error|err|code|kafka_?error)(?:[ _]?code)?\s*[=:(#\[ ]\s*(-?\d{1,3})\b(?!\. disconnecting)"
)
# Words close before a number that say that it is of a process, the system or another protocol.
_FOREIGN: Final = re.compile(
    r"(?i)\b(?:exit(?:ed)?|status|https?|rest|registry|curl|\w*sql\w*|ssl|tls|os|socket|npm|grpc|signal|"
    r"win(?:dows|32)?|docker|zookeeper)\b[^,;|]{0,20}$"
)
# As kafka-go writes an error: its number, its name in words.
_TITLES_IN_A_LINE: Final = re.compile(r"\[(-?\d{1,3})\] ([A-Z][A-Za-z]+(?: [A-Za-z]+){0,6}): ")
# A shorter text may be part of another sentence: it must begin behind one of these, and end the sentence.
_LONG: Final = 30


def find_error_codes_in_line(line: str) -> list[int]:
    """The codes that a line names: `NOT_COORDINATOR`, `…Exception`, `error code 6`, `errorCode=-1`, a client's text."""
    names = (parse_librdkafka_code(word) or find_error_code(word) for word in _NAMES_IN_A_LINE.findall(line))
    numbers = (
        int(match[1]) for match in _CODES_IN_A_LINE.finditer(line) if not _FOREIGN.search(line[: match.start()][-40:])
    )
    titled = (
        int(code) for code, title in _TITLES_IN_A_LINE.findall(line) if _shares_word_with_error_name(title, int(code))
    )
    known = [code for code in (*names, *numbers, *titled) if code in ERRORS or code in LIBRDKAFKA_ERRORS]
    return list(dict.fromkeys(code for code in (*known, *find_codes_of_client_texts(line)) if code is not None))


def _shares_word_with_error_name(title: str, code: int) -> bool:
    """Whether a title has a word of the error's name: another number in brackets is no error."""
    return code in ERRORS and not {*title.upper().split()}.isdisjoint(ERRORS[code].name.split("_"))


def find_codes_of_client_texts(line: str) -> list[int]:
    """The codes whose texts, as client libraries write them, stand in a line; the longest text counts."""
    folded = " ".join(line.lower().split())
    found: dict[int, None] = {}
    for text, code in _codes_by_text():
        at = folded.find(text)
        if at < 0 or (len(text) < _LONG and not _stands_alone_in_line(folded, at, at + len(text))):
            continue
        found[code] = None
        folded = folded[:at] + "\0" + folded[at + len(text) :]
    return list(found)


def _stands_alone_in_line(line: str, start: int, end: int) -> bool:
    before, behind = line[:start].rstrip(), line[end : end + 1]
    return (not before or before[-1] in ":=\"'([{-|,") and (not behind or behind in ".,;:)\"'!]}|(")


@cache
def _codes_by_text() -> tuple[tuple[str, int], ...]:
    """Texts in lower case with their codes, long ones first."""
    from decoders.protocol_facts.errors.client_texts import CLIENT_TEXTS

    rows = [(text.lower(), code) for code, texts in CLIENT_TEXTS.items() for text in texts]
    return tuple(sorted(rows, key=lambda row: -len(row[0])))


def parse_librdkafka_code(word: str) -> int | None:
    """The code of an error that librdkafka makes itself: its number, `_TRANSPORT`, `ERR__TRANSPORT`."""
    if word.removeprefix("-").isdecimal():
        return int(word) if int(word) in LIBRDKAFKA_ERRORS else None
    name = word.strip().upper().removeprefix("RD_KAFKA_RESP_").removeprefix("ERR_")
    return next((code for code, known in LIBRDKAFKA_ERRORS.items() if known.name == name), None)
