"""The README and the handbook as tests read them: whole texts, fenced blocks, Python examples, options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kwcli.help.handbook_pages import TOPICS, read_page

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = (ROOT / "README.md").read_text()
# Every text for users: an example in several texts is taken from the README first.
TEXTS: Final = {"README": README, **{topic: read_page(topic) for topic in TOPICS}}


def block(text: str, start: str) -> list[str]:
    """The lines of the fenced block that holds `start`, from there on."""
    rest = text[text.index(start) :]
    return rest[: rest.index("```")].splitlines()


def python_of(text: str) -> str:
    """The first Python example of a text."""
    return text.partition("```python\n")[2].partition("```")[0]


def programs_of(text: str) -> dict[str, str]:
    """The Python examples of a text behind its heading `Programs`, by the sentence before each."""
    found = r"\n\n([^\n`(,:;]+)[^\n]*(?:\n[^\n]+)*\n\n```python\n(.*?)```"
    return {said.strip(): code for said, code in re.findall(found, text.partition("## Programs")[2], re.DOTALL)}


def options_in(text: str) -> set[str]:
    """The options that a text names: `--limit`, `-o`."""
    return set(re.findall(r"(?<![\w-])-(?:[a-zA-Z](?![\w-])|-[a-z][a-z-]+)", text))
