"""Messages, structures and records with a different text planted in each of their strings and bytes."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from decoders.schema.api_declaration import Plan, PlanField
from tests.records.making import batch, record

MARK = re.compile(rb"Zq9x\d{5}xHunter")
COUNTED = b"Zq9x%05dxHunter"


class Planter:
    """Values of messages with a planted text in every field; `where` has the place of each text."""

    def __init__(self) -> None:
        self.where: dict[bytes, str] = {}

    def text(self, where: str) -> bytes:
        """The next text to plant at this place."""
        made = COUNTED % len(self.where)
        self.where[made] = where
        return made

    def value(self, plan: Plan, path: str) -> dict[str, Any]:
        """A value of a message with one element in each array."""
        return {field.name: self._field(field, f"{path} {field.name}") for field in (*plan.fields, *plan.tagged)}

    def records(self, where: str, *, attributes: int = 0, payload: bytes | None = None) -> bytes:
        """A batch with a planted key, value and header."""
        key, value, name, held = (self.text(f"{where} {part}") for part in ("key", "value", "header", "of it"))
        return batch(record(key=key, value=value, headers=((name, held),)), attributes=attributes, payload=payload)

    def _field(self, field: PlanField, path: str) -> Any:
        inner: Any
        if field.plan is not None:
            inner = self.value(field.plan, path)
        elif field.kind == "string":
            inner = self.text(path).decode()
        elif field.kind == "bytes":
            inner = self.text(path)
        elif field.kind == "records":
            inner = self.records(path)
        else:
            inner = {"bool": True, "float64": 1.5, "uuid": UUID(int=7)}.get(field.kind, 2)
        return [inner] if field.array else inner
