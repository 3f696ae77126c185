"""The name of Kafka's error in, the exception with which every handler of a mocked broker refuses a request out."""

from __future__ import annotations

from decoders.protocol_facts.errors.error_codes import ERRORS

CODES = {row.name: code for code, row in ERRORS.items()}


class Refusal(Exception):
    """A request, or an element of it, that is answered with an error, given by its name or, where it was recorded, its
    code."""

    def __init__(self, error: str | int, text: str | None = None) -> None:
        self.code = CODES[error] if isinstance(error, str) else error
        self.text = text
