"""A part of the name of a time zone in, the zones that it may be out: by the whole name, or by the city alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kwcli.output.short_texts import find_zone
from kwcli.run_environment import Failure

__all__ = ["find_zone_name", "list_zone_names"]

_UTC = "UTC"


@cache
def _list_all_zones() -> tuple[str, ...]:
    from zoneinfo import available_timezones

    return tuple(
        sorted(name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix")))
    )


def list_zone_names(text: str) -> Iterator[str]:
    """Zones whose name begins with a text, and then those that have it in their city, in any case."""
    begun = text.strip().lower().replace(" ", "_")
    if _UTC.lower().startswith(begun):
        yield _UTC
    named = [name for name in _list_all_zones() if name.lower().startswith(begun)]
    yield from named
    if begun:
        yield from (
            name
            for name in _list_all_zones()
            if begun in name.rpartition("/")[2].lower() and not name.lower().startswith(begun)
        )


def find_zone_name(text: str) -> str | None:
    """The name of a zone as find_zone() takes it, empty for UTC; None for one that is none."""
    if text.upper() == _UTC or not text:
        return ""
    begun = text.lower().replace(" ", "_")
    found = [name for name in _list_all_zones() if begun in (name.lower(), name.rpartition("/")[2].lower())]
    if found:
        return found[0]
    try:
        find_zone(text)
    except Failure:
        return None
    return text
