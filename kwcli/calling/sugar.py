"""What Produce and Fetch by short words (`topic=orders key=k`) have in common: words, versions, topic ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

from decoders.apis import api
from decoders.apis.names import find_field
from decoders.schema.model import Versions
from decoders.wire.primitives import uuid_text
from kwcli.calling.record_words import RecordWord
from kwcli.exits import Exit, Failure
from kwcli.spelling import did_you_mean

_WORD: Final = re.compile(r"([A-Za-z_]+)(:?=)(.*)", re.DOTALL)
# From this version on a topic goes by its id (KIP-516), under which field names.
TOPIC_IDS_FROM: Final = 13
_TOPIC_FIELDS: Final = {0: ("name", "topic_id"), 1: ("topic", "topic_id")}
# What an API cannot do without a cluster.
OFFLINE: Final = {key: (Versions(0, TOPIC_IDS_FROM - 1), "a topic whose id is not known") for key in _TOPIC_FIELDS}


class TopicLookup(Protocol):
    """What a cluster must tell of topics."""

    def partitions(self, topic: str) -> Sequence[int]:
        """The partitions of a topic, ascending, at least one."""

    def topic_id(self, name: str) -> UUID:
        """The id of a topic."""


def split(words: Iterable[str], names: Sequence[str]) -> tuple[list[RecordWord], list[str]]:
    """The words whose name is one of these (camelCase accepted), and the others."""
    known = {name.replace("_", ""): name for name in names}
    ours: list[RecordWord] = []
    rest: list[str] = []
    for text in words:
        match = _WORD.fullmatch(text)
        name = known.get(match[1].replace("_", "").lower()) if match else None
        if match is None or name is None:
            rest.append(text)
        else:
            ours.append(RecordWord(name, match[3], match[2] == ":="))
    return ours, rest


def check_names(key: int, rest: Iterable[str], names: Sequence[str]) -> None:
    """Raises Failure (usage) for a word that is no field but nearly one of these names."""
    fields = api(key).request.fields
    for text in rest:
        match = _WORD.fullmatch(text)
        if match and find_field(fields, match[1]) is None and (meant := did_you_mean(match[1], names)):
            raise Failure(f'{api(key).name} has no field "{match[1]}"{meant}', Exit.USAGE)


def need(key: int, versions: Versions, needs: Sequence[tuple[Versions, str]]) -> Versions:
    """The versions that meet all needs. Raises Failure (usage) that tells the first that cannot be met."""
    left = versions
    for wanted, what in needs:
        both = left & wanted
        if not both:
            name = api(key).name
            raise Failure(f"{what} needs {name} {wanted & api(key).versions}, not {left}", Exit.USAGE)
        left = both
    return left


def topic_field(key: int, version: int, name: str, topics: TopicLookup | None) -> Mapping[str, Any]:
    """The field that says which topic: by name, or by id from version 13 on."""
    by_name, by_id = _TOPIC_FIELDS[key]
    if version < TOPIC_IDS_FROM:
        return {by_name: name}
    if topics is None:
        raise Failure(f"the id of topic {name} is known to the cluster only", Exit.USAGE)
    return {by_id: uuid_text(topics.topic_id(name).bytes)}
