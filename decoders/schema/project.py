"""Paths in, what a projection keeps out: `topics[].partitions[].records:span` → {"topics": {"partitions": …}}.

The problem. Most of what comes is never shown: a text line needs three fields of a Fetch response with a megabyte of
records.

The idea. Whoever needs fields (line, filter, statistics, pairing) names their paths (exchanges/needs.py). The union of
them becomes a tree, and the decoder is generated for that tree:

```
{"topics": {"name": ALL, "partitions": {"records": "span"}}}
wanted field        read, and kept
unwanted fixed      stepped over: a number added to `at`
unwanted string     its size is read and checked, its bytes are not looked at
`span`              where the bytes are, without a copy; `count`: of an array; `raw`: also where it is a secret
```

What always holds: a projection fails exactly when the whole decoder does, so that a line says `undecoded` where the
record would. A field that other versions have is left out; one that no version has is a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from decoders.schema.model import Field, Plan, PlanField
from decoders.schema.walk import UNKNOWN
from decoders.schema.want import ALL, SIZED, Want


def wanted(plan: Plan, paths: Iterable[str]) -> Want:
    """The tree of what these paths name. Raises ValueError for a path that no version of the message has.

    A path without indices takes all of what it names; a word after a colon picks a form (`span`, `raw`, `count`).
    Where a field and parts of it are both asked for, the whole is kept.
    """
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        names, _, word = path.partition(":")
        _add(tree, plan, names.replace("[]", "").split("."), word, path)
    return tree


def _add(tree: dict[str, Any], plan: Plan, names: list[str], word: str, path: str) -> None:
    """Follow one path down; fields that only other versions have leave no trace."""
    place = tree
    for depth, name in enumerate(names):
        fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
        field = fields.get(name)
        if field is None:
            absent = plan.absent.get(name)
            if name != UNKNOWN and not (absent is not None and _names(absent, names[depth + 1 :])):
                raise ValueError(f"{plan.name} has no field {path!r}")
            if name == UNKNOWN:
                place[name] = ALL
            return
        if depth + 1 == len(names):
            _check_word(field, word, path)
            place[name] = word if not isinstance(place.get(name), dict) or word == ALL else place[name]
            return
        if field.plan is None:
            raise ValueError(f"{plan.name} has no field {path!r}")
        below = place.setdefault(name, {})
        if not isinstance(below, dict):
            return
        place, plan = below, field.plan


def _names(field: Field, names: list[str]) -> bool:
    for name in names:
        inner = next((child for child in field.fields if child.name == name), None)
        if inner is None:
            return False
        field = inner
    return True


def _check_word(field: PlanField, word: str, path: str) -> None:
    fits = {
        ALL: True,
        "raw": not field.array and field.plan is None,
        "span": field.kind in SIZED and not field.array,
        "count": field.array,
    }
    if not fits.get(word, False):
        raise ValueError(f"{path!r}: this form is not for {field.kind}{'[]' if field.array else ''}")
