"""Our own declarations as files: read into model objects, and rewritten with everything around them kept."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import decoders.apis
from decoders.apis import NAMES
from decoders.schema.model import Api
from decoders.schema.vocabulary import parse_api
from kwcli.declarations.definitions import snake

APIS = Path(decoders.apis.__file__).parent
_TEXT = re.compile(r'^DECLARATION = """\n.*?^"""$', re.MULTILINE | re.DOTALL)


def module_path(key: int, name: str) -> Path:
    """Where the declaration of an API lives, or will."""
    return APIS / f"{NAMES.get(key, snake(name))}.py"


def declared() -> dict[int, Api]:
    """Every API that a file declares, by key."""
    found = {}
    for path in sorted(APIS.glob("*.py")):
        match = _TEXT.search(path.read_text("utf-8"))
        if match:
            api = parse_api(ast.literal_eval(match[0].partition(" = ")[2]))
            found[api.key] = api
    return found


def replaced(source: str | None, name: str, text: str) -> str:
    """The file's text with its declaration replaced; a new file when there is none."""
    block = f'DECLARATION = """\n{text}"""'
    if source is None:
        return f'"""{name}."""\n\n{block}\n'
    if not _TEXT.search(source):
        raise ValueError(f"{name}: the file has no DECLARATION")
    return _TEXT.sub(lambda _: block, source)
