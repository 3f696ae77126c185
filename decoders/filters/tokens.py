"""The text of an expression in, its words and signs with their places out."""

from __future__ import annotations

import re
from typing import Final

from decoders.errors import FilterError
from decoders.filters.filter_field_table import HEADER
from decoders.named_tuple import NamedTuple

# Longest first, so that `!=` is not read as `!`.
SIGNS: Final = ("==", "!=", "<=", ">=", "!~", "&&", "||", "<", ">", "~", "=", "!", "(", ")", ",")
_BLANKS: Final = re.compile(r"\s*")
_PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[\d*\])?(?:\.[A-Za-z0-9_]+(?:\[\d*\])?)*")
_HEADER_NAME: Final = re.compile(rf"{HEADER}\.([^\s(),\"'=!<>~&|]+)")
_BARE: Final = re.compile(r"[^\s(),\"'=!<>~&|]+")
_QUOTES: Final = "\"'"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Word(NamedTuple):
    """A piece of the text. `quoted`: it stood in quotes, so it is text whatever it looks like."""

    text: str
    at: int
    quoted: bool = False


class Scanner:
    """Reads one expression from left to right. Raises FilterError."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._skip_blanks()

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.text)

    def make_error(self, text: str, at: int | None = None) -> FilterError:
        """A FilterError at the present place, or at an earlier one."""
        return FilterError(text, (self.at if at is None else at) + 1)

    def read_sign(self, *wanted: str) -> str | None:
        """One of these signs, if it comes next."""
        found = next((sign for sign in SIGNS if self.text.startswith(sign, self.at)), None)
        if found is None or (wanted and found not in wanted):
            return None
        self._advance_over_characters(len(found))
        return found

    def read_keyword(self, *wanted: str) -> str | None:
        """One of these words, if it comes next."""
        match = _PATH.match(self.text, self.at)
        if match is None or match[0].lower() not in wanted:
            return None
        self._advance_over_characters(len(match[0]))
        return match[0].lower()

    def read_path(self) -> Word:
        """The name of a field. The name of a header may have any sign in it, in quotes: `header."my name"`."""
        head = _HEADER_NAME.match(self.text, self.at)
        if head is not None or self.text.startswith((f'{HEADER}."', f"{HEADER}.'"), self.at):
            return self._read_header_name(head)
        match = _PATH.match(self.text, self.at)
        if match is None:
            raise self.make_error(
                "the name of a field is missing"
                if self.is_at_end
                else f"no field begins with {self._describe_next_character()}"
            )
        word = Word(match[0], self.at)
        self._advance_over_characters(len(match[0]))
        return word

    def _read_header_name(self, match: re.Match[str] | None) -> Word:
        begun = self.at
        if match is not None:
            self._advance_over_characters(len(match[0]))
            return Word(match[0], begun)
        self.at += len(HEADER) + 1
        return Word(f"{HEADER}.{self._read_quoted().text}", begun)

    def read_value(self) -> Word:
        """A value: in quotes, or as it stands up to a blank or a sign."""
        if not self.is_at_end and self.text[self.at] in _QUOTES:
            return self._read_quoted()
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self.make_error(
                "a value is missing"
                if self.is_at_end
                else f"a value is missing before {self._describe_next_character()}"
            )
        word = Word(match[0], self.at)
        self._advance_over_characters(len(match[0]))
        return word

    def _read_quoted(self) -> Word:
        begun, quote = self.at, self.text[self.at]
        made: list[str] = []
        at = begun + 1
        while at < len(self.text) and self.text[at] != quote:
            if self.text[at] == "\\" and at + 1 < len(self.text):
                following = self.text[at + 1]
                # Other escapes stay as they are: regular expressions are full of backslashes.
                made.append(following if following in "\\\"'" else _ESCAPES.get(following, "\\" + following))
                at += 2
            else:
                made.append(self.text[at])
                at += 1
        if at >= len(self.text):
            raise self.make_error(f"the quote {quote} is not closed", begun)
        self._advance_over_characters(at + 1 - begun)
        return Word("".join(made), begun, quoted=True)

    def _advance_over_characters(self, count: int) -> None:
        self.at += count
        self._skip_blanks()

    def _skip_blanks(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _describe_next_character(self) -> str:
        return repr(self.text[self.at : self.at + 12])
