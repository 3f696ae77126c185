"""Every message that is declared: its plan, by API, side and version, early layouts included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from decoders.apis import KEYS, api
from decoders.schema.api_declaration import Plan, Side, resolve


class Declared(NamedTuple):
    """One layout; `early_layout` names the release of an early one."""

    key: int
    side: Side
    version: int
    early_layout: str
    plan: Plan

    def __str__(self) -> str:
        return f"{api(self.key).name} {self.side} v{self.version} {self.early_layout}".rstrip()


def layouts(key: int) -> Iterator[Declared]:
    """Every layout of one API."""
    found = api(key)
    for version in range(found.versions.low, found.versions.high + 1):
        yield Declared(key, "request", version, "", resolve(found.request, version))
        yield Declared(key, "response", version, "", resolve(found.response, version))
    for (side, version, release), message in found.early.items():
        yield Declared(key, side, version, release, resolve(message, version))


def all_layouts() -> Iterator[Declared]:
    """Every layout of every API."""
    for key in KEYS:
        yield from layouts(key)
