"""The body in the request log and kw's body of the same message (JSON or Python form) in, their differences out.

The log has Kafka's camelCase names, bytes as base64, records as their size, and tagged fields only if they are set.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from decoders.schema.api_declaration import Field
from decoders.schema.body_json_form import ERROR

__all__ = ["Differences", "snake_case"]

_SIZE: Final = "SizeInBytes"
_COMPARED: Final = object()


def snake_case(name: str) -> str:
    """Kafka's own rule: an underscore before a capital that follows no capital (`kRaftVersion` is KRaftVersion)."""
    made = []
    after_capital = True
    for letter in name[:1].upper() + name[1:]:
        if letter.isupper() and not after_capital:
            made.append("_")
        after_capital = letter.isupper()
        made.append(letter.lower())
    return "".join(made)


@dataclass(slots=True)
class Differences:
    """Collects differences; `counts` has the number of values compared, and of those that could not be."""

    version: int
    found: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def compare(self, log: Any, ours: Any, fields: Sequence[Field], path: str = "") -> None:
        """Compare two structs, whose declaration is `fields`."""
        declared = {each.name: each for each in fields}
        older = {was: each.name for each in fields for was in each.was}
        expected = {}
        for logged, value in log.items():
            name = snake_case(logged.removesuffix(_SIZE))
            if name not in ours:
                # Some brokers use a field's older name.
                name = older.get(name, name)
            expected[name] = value
            if logged.endswith(_SIZE):
                self._records(value, ours.get(name), f"{path}.{name}".lstrip("."))
                expected[name] = _COMPARED
        for name, value in ours.items():
            place = f"{path}.{name}".lstrip(".")
            if name == "_tagged_fields":
                self.counts["unknown tags"] += 1
            elif name not in expected:
                self._unlogged(declared.get(name), value, place)
            elif expected[name] is not _COMPARED:
                self._value(expected[name], value, declared.get(name), place)
        for name in expected.keys() - ours.keys():
            self.found.append(f"{path}.{name}: only in the log: {expected[name]!r:.100}")

    def _unlogged(self, declared: Field | None, value: Any, place: str) -> None:
        """A field that only the wire has must be a tagged one with its default."""
        if declared is not None and self.version in declared.tagged and _is_default(declared, value):
            self.counts["tagged defaults"] += 1
        else:
            self.found.append(f"{place}: not in the log: {value!r:.100}")

    def _records(self, size: Any, ours: Any, place: str) -> None:
        if ours is None or isinstance(ours, bytes):
            have = None if ours is None else len(ours)
        elif isinstance(ours, Mapping) and "redacted" in ours:
            self.counts["redacted"] += 1
            return
        else:
            have = sum(batch["size"] for batch in ours)
        self.counts["record sets"] += 1
        if have != size and not (have is None and size in (-1, 0)):
            self.found.append(f"{place}: the log says {size}, ours are {have}")

    def _value(self, log: Any, ours: Any, declared: Field | None, place: str) -> None:
        if declared is not None and declared.kind == "records":
            # Only ShareFetch; the log's value is always empty.
            self.counts["record sets without a size"] += 1
        elif isinstance(log, list) and isinstance(ours, list):
            if len(log) != len(ours):
                self.found.append(f"{place}: the log has {len(log)}, ours are {len(ours)}")
                return
            for number, (left, right) in enumerate(zip(log, ours, strict=True)):
                self._value(left, right, declared, f"{place}[{number}]")
        elif isinstance(log, dict) and isinstance(ours, dict):
            self.compare(log, ours, declared.fields if declared else (), place)
        elif isinstance(ours, dict):
            self._special(log, ours, place)
        elif log == "[hidden]":
            self.counts["hidden"] += 1
        else:
            self.counts["values"] += 1
            if not _same(log, ours):
                self.found.append(f"{place}: the log has {log!r:.100}, ours is {ours!r:.100}")

    def _special(self, log: Any, ours: dict[str, Any], place: str) -> None:
        """Compare an object of kw that stands for a value: {"redacted"}, {"base64"} or a decoded structure."""
        if "redacted" in ours:
            self.counts["redacted"] += 1
        elif "$type" in ours:
            self.counts["structures"] += 1
        elif ours.keys() - {ERROR} == {"base64"}:  # the error says why they are no structure
            self.counts["values"] += 1
            if ours["base64"] != log:
                self.found.append(f"{place}: the log has {log!r:.100}, ours is {ours!r:.100}")
        else:
            self.found.append(f"{place}: the log has {log!r:.100}, ours is a struct")


def _same(log: Any, ours: Any) -> bool:
    if isinstance(ours, bytes):
        return _decoded(log) == ours
    if isinstance(ours, uuid.UUID):
        return bool(log == base64.urlsafe_b64encode(ours.bytes).decode().rstrip("="))
    if isinstance(log, bool) or isinstance(ours, bool):
        return log is ours
    if isinstance(log, str) and isinstance(ours, str) and log != ours:
        return _decoded(log) == ours.encode("utf-8", "surrogateescape")
    return bool(log == ours)


def _decoded(log: Any) -> bytes | None:
    try:
        return base64.b64decode(log, validate=True)
    except (TypeError, binascii.Error, ValueError):
        return None


def _is_default(declared: Field, value: Any) -> bool:
    if declared.has_default:
        return bool(value == declared.default)
    return value in (0, "", b"", None, False, [], {"base64": ""}, "AAAAAAAAAAAAAAAAAAAAAA", uuid.UUID(int=0))
