"""A path into a body in (`a`, `a.b`, `a[].b`, `a[2].b[]`), a function that finds its value in such a body out.

Through arrays it is a flat list. What is missing on the way is None; so is what a path cannot lead through, because an
older version has something else under the name. Text lines are full of it: measured by `python -m tests.bench.sniff`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Get = Callable[[Any], Any]


def getter(path: str) -> Get:
    """The function for a path."""
    head, _, rest = path.partition(".")
    name, bracket, index = head.partition("[")
    if index not in ("", "]"):
        return _one(name, int(index[:-1]), getter(rest) if rest else None)
    if not rest:
        return lambda view: view.get(name)
    inner = getter(rest)
    return _each(name, inner) if bracket else _through(name, inner)


def _through(name: str, inner: Get) -> Get:
    def get(view: Any) -> Any:
        value = view.get(name)
        return inner(value) if isinstance(value, dict) else None

    return get


def _one(name: str, index: int, inner: Get | None) -> Get:
    def get(view: Any) -> Any:
        items = view.get(name)
        if not isinstance(items, list) or index >= len(items):
            return None
        item = items[index]
        if inner is None:
            return item
        return inner(item) if isinstance(item, dict) else None

    return get


def _each(name: str, inner: Get) -> Get:
    def get(view: Any) -> Any:
        items = view.get(name)
        if not items:
            return items
        if not isinstance(items[0], dict):
            return None
        found = [value for item in items if (value := inner(item)) is not None]
        if found and isinstance(found[0], list):
            return [value for values in found for value in values]
        return found

    return get
