"""Kafka's error code in, the exception with which every handler of a mocked broker refuses a request out."""

from __future__ import annotations


class Refusal(Exception):
    """A request, or an element of it, that is answered with an error; `code` is Kafka's."""

    def __init__(self, code: int, text: str | None = None) -> None:
        super().__init__(text or code)
        self.code = code
        self.text = text
