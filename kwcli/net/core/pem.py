"""PEM text as it stands in property files in, PEM text as OpenSSL reads it out.

A value of one line is common there: line breaks written as a backslash and an n, or blanks in their place (KIP-651).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_WIDTH: Final = 64


class Block(NamedTuple):
    """`CERTIFICATE`, `PRIVATE KEY`, … and the text of the whole block."""

    label: str
    text: str

    @property
    def is_key(self) -> bool:
        return self.label.endswith("PRIVATE KEY")

    @property
    def is_certificate(self) -> bool:
        return self.label.endswith("CERTIFICATE")

    @property
    def is_locked(self) -> bool:
        """Whether it takes a password to read the key."""
        return self.label == "ENCRYPTED PRIVATE KEY" or "Proc-Type: 4,ENCRYPTED" in self.text


def blocks(text: str) -> Iterator[Block]:
    """Every block in the text, broken into lines."""
    for match in _BLOCK.finditer(text):
        label, inside = match[1], match[2]
        if ":" in inside:  # the headers of a key locked in OpenSSL's old way: their lines count
            body = inside.replace("\\n", "\n").strip("\n")
        else:
            letters = "".join(inside.replace("\\n", " ").split())
            body = "\n".join(letters[at : at + _WIDTH] for at in range(0, len(letters), _WIDTH))
        yield Block(label, f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")


def written(label: str, contents: Iterable[bytes]) -> str:
    """DER as blocks of one kind."""
    found = []
    for content in contents:
        letters = b64encode(content).decode()
        found.append(f"-----BEGIN {label}-----{letters}-----END {label}-----")
    return "".join(block.text for text in found for block in blocks(text))
