"""Versions of APIs and releases of Kafka as people write them in, numbers and names of releases out."""

from __future__ import annotations

import re
from typing import Final

from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.schema.api_declaration import Versions

__all__ = ["parse_api_version", "parse_release_name", "split_version_range"]

# Words for the highest and the lowest there is.
HIGHEST: Final = frozenset({"latest", "newest", "highest", "max", "last"})
LOWEST: Final = frozenset({"earliest", "oldest", "lowest", "min", "first"})
# Patterns are strings: few runs need them, and `re` compiles each when it is first used, then keeps it.
_NUMBER: Final = r"(?a)[vV]?(\d{1,5})"
_RELEASE: Final = r"(?ai)(?:kafka[-_ ]?(?:\d+\.\d+-)?)?v?(\d+(?:\.\d+){0,3})"
_RANGE: Final = r"([^.,:-]+(?:\.\d+)*)\s*(?:\.{2,3}|[,:-])\s*([^.,:-]+(?:\.\d+)*)"


def parse_api_version(text: str, versions: Versions) -> int:
    """`12`, `v12`, `latest` (or max), `earliest` (or min): a version of an API that has `versions`.

    A number need not be one of them. ValueError where it is none of these.
    """
    word = text.strip().lower()
    if word in HIGHEST:
        return versions.high
    if word in LOWEST:
        return versions.low
    match = re.fullmatch(_NUMBER, word)
    if match is None:
        raise ValueError(f"no version: {text!r}")
    return int(match[1])


def parse_release_name(text: str) -> str:
    """`3.9`, `v3.9`, `3.9.1`, `kafka_2.13-3.9.1`, `0.10` (the last one of those), `latest`: a release that kw knows.

    ValueError where it knows none like this.
    """
    word = text.strip()
    if word.lower() in HIGHEST | LOWEST:
        return RELEASES[-1] if word.lower() in HIGHEST else RELEASES[0]
    match = re.fullmatch(_RELEASE, word)
    for release in reversed(RELEASES) if match else ():
        if match and (release == match[1] or match[1].startswith(f"{release}.") or release.startswith(f"{match[1]}.")):
            return release
    raise ValueError(f"no release: {text!r}")


def split_version_range(text: str) -> tuple[str, str] | None:
    """`3.9..4.0`, `12-13`, `v12:v13`, `2.8,latest`: both ends as they are written; None for a single word."""
    match = re.fullmatch(_RANGE, text.strip())
    return (match[1], match[2]) if match else None
