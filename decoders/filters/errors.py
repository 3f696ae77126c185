"""What is wrong with an expression: a line of text, the column it is about, and the words that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable


class FilterError(ValueError):
    """An expression that says nothing. `column` counts characters from 1.

    `word` is what was not understood, `candidates` the words that would have been, for whoever wants to suggest one.
    """

    def __init__(self, text: str, column: int, *, word: str = "", candidates: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.text = text
        self.column = column
        self.word = word
        self.candidates = tuple(candidates)

    def __str__(self) -> str:
        return f"{self.text} at column {self.column}"
