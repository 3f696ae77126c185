"""A body as text in, what people made of it in their editor out: what `--edit` does."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from decoders.schema.model import Api, Side
from kwcli.calling.bodies import body_in, parse
from kwcli.calling.words.assignments import GivenWords, check_words
from kwcli.env import Environment, Failure
from kwcli.text_editor import run_editor

_SOURCE = "the edited text"


def edit_body(api: Api, text: str, env: Environment, *, side: Side = "request") -> GivenWords | None:
    """The body that the user makes of `text` in $VISUAL, $EDITOR or vi, checked as check_words() does; None: unchanged.

    Raises Failure; what was written is kept then, and its place said.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"kw-{api.name}-", suffix=".yaml")
    path = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    keep = False
    try:
        run_editor(env, name, "nothing is sent")
        data = path.read_bytes()
        if data == text.encode():
            return None
        try:
            return check_words(api, (), side=side, body=body_in(parse(data, _SOURCE), _SOURCE, api, side))
        except Failure as failure:
            keep = True
            raise Failure(f"{failure.text} (kept in {name})", failure.code) from None
    finally:
        if not keep:
            path.unlink(missing_ok=True)
