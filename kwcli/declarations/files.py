"""Our own declarations as files: read into model objects, and rewritten with everything around them kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import decoders.apis
import decoders.embedded
from decoders.apis import NAMES
from decoders.schema.model import Api
from decoders.schema.vocabulary import parse_api, parse_message
from kwcli.declarations.definitions import snake
from kwcli.declarations.notation import api_text, message_text

APIS = Path(decoders.apis.__file__).parent
STRUCTURES = Path(decoders.embedded.__file__).parent
_TEXT = re.compile(r'^DECLARATION = """\n.*?^"""$', re.MULTILINE | re.DOTALL)


def module_path(key: int, name: str) -> Path:
    """Where the declaration of an API lives, or will."""
    return APIS / f"{NAMES.get(key, snake(name))}.py"


def declared() -> dict[int, Api]:
    """Every API that a file declares, by key."""
    apis = [parse_api(text) for _, _, text in _declarations(APIS)]
    return {api.key: api for api in apis}


def _declarations(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Every file of a folder that declares something: its path, its text, and the declaration in it."""
    for path in sorted(folder.glob("*.py")):
        source = path.read_text("utf-8")
        match = _TEXT.search(source)
        if match:
            yield path, source, ast.literal_eval(match[0].partition(" = ")[2])


def unformatted() -> dict[Path, str]:
    """The files whose declarations are not as the notation writes them, each with the text that it should have."""
    written = [
        (path, source, replaced(source, path.name, api_text(parse_api(text))))
        for path, source, text in _declarations(APIS)
    ]
    written += [
        (path, source, replaced(source, path.name, message_text(parse_message(text))))
        for path, source, text in _declarations(STRUCTURES)
    ]
    return {path: text for path, source, text in written if text != source}


def replaced(source: str | None, name: str, text: str) -> str:
    """The file's text with its declaration replaced; a new file when there is none."""
    block = f'DECLARATION = """\n{text}"""'
    if source is None:
        return f'"""{name}."""\n\n{block}\n'
    if not _TEXT.search(source):
        raise ValueError(f"{name}: the file has no DECLARATION")
    return _TEXT.sub(lambda _: block, source)
