"""Answers of brokers in, the answers as read and rewritten out: the same bytes are read and rewritten only once.

All clients of a cluster get much the same answers, again and again: reading an ApiVersions answer takes a millisecond,
finding it here a few microseconds (tests/bench/newcomers.py). A result that is kept depends only on its key (API,
version and the answer without its correlation id); a rewrite also on the listeners' addresses. Answers and keys
together have a bound in bytes, and those that were not used for the longest time go first.

Answers with records (Produce, Fetch and the like) never come again and are not looked up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from decoders.limits import REWRITTEN_MAX
from decoders.protocol_facts.api_keys import API_VERSIONS
from kwcli.proxy.relay.relay_state import CAPPED, NOTE, Command
from kwcli.proxy.relay.rewrite_addresses import (
    ROWS,
    Address,
    Endpoint,
    RewriteFailed,
    RewrittenFrame,
    Served,
    cap_api_versions,
    find_endpoints,
    rewrite_addresses,
)

Key = tuple[int, int, bytes]

_SIZE: Final = 4
# Size field and correlation id.
_HEAD: Final = 8
# What an entry takes besides its bytes: key, tuples, a place in the table, and an endpoint for each node.
ENTRY_COST: Final = 500
ENDPOINT_COST: Final = 250
# One answer may take this part of the bound: 1 / _SHARE.
_SHARE: Final = 4
_KEPT: Final = frozenset(key for key, rows in ROWS.items() if not any(row.optional for row in rows))


class ReadAnswer:
    """The nodes that an answer names (`found`), and the answer as rewritten for listeners at `places`.

    `key` is None where the answer is not kept.
    """

    __slots__ = ("api_key", "found", "key", "made", "places", "version")

    def __init__(self, api_key: int, version: int, found: Sequence[Endpoint], key: Key | None) -> None:
        self.api_key = api_key
        self.version = version
        self.found = found
        self.key = key
        self.places: list[Address | None] = []
        self.made: tuple[bytes, bytes, bool] | None = None  # size field, what follows the correlation id, stripped

    def make_rewritten_frame(self, frame: bytes, places: list[Address | None]) -> RewrittenFrame | None:
        """The rewritten answer with the correlation id of `frame`; None where it was not made for these places."""
        if self.made is None or self.places != places:
            return None
        size, rest, stripped = self.made
        return RewrittenFrame(size + frame[_SIZE:_HEAD] + rest, stripped)


_NOTHING: Final = ReadAnswer(-1, 0, (), None)


class _Capped:
    """A capped ApiVersions answer; `made` is None where it stayed as it was."""

    __slots__ = ("commands", "made")

    def __init__(self, made: tuple[bytes, bytes] | None, commands: Sequence[Command]) -> None:
        self.made = made
        self.commands = commands


class RewrittenAnswers:
    """Answers as read and rewritten, for all connections: at most `most` bytes. `served` limits what is offered."""

    def __init__(self, most: int = REWRITTEN_MAX, served: Served | None = None) -> None:
        self.most = most
        self.served = served
        self.size = 0  # bytes
        self.read = 0  # answers that had to be read
        self.made = 0  # answers that had to be rewritten
        self._readings: OrderedDict[Key, tuple[ReadAnswer | _Capped, int]] = OrderedDict()

    def read_answer(self, api_key: int, version: int, frame: bytes) -> ReadAnswer:
        """The nodes that an answer names, of an API with a row in rewrite_addresses.py. Raises RewriteFailed."""
        if api_key not in _KEPT:
            found = find_endpoints(api_key, version, frame)
            return ReadAnswer(api_key, version, found, None) if found else _NOTHING
        key = (api_key, version, frame[_HEAD:])
        known = self._find_result(key)
        if isinstance(known, ReadAnswer):
            return known
        self.read += 1
        found = find_endpoints(api_key, version, frame)
        reading = ReadAnswer(api_key, version, found, key)
        self._keep_result(key, reading, len(frame) + ENDPOINT_COST * len(found))
        return reading

    def rewrite_answer(self, reading: ReadAnswer, frame: bytes, addresses: Mapping[int, Address]) -> RewrittenFrame:
        """The frame that `reading` describes, with the listeners' `addresses`. Raises RewriteFailed."""
        places = [addresses.get(each.node_id) for each in reading.found]
        known = reading.make_rewritten_frame(frame, places)
        if known is not None:
            return known
        self.made += 1
        made = rewrite_addresses(reading.api_key, reading.version, frame, addresses, reading.found)
        if reading.key is not None and reading.key in self._readings:
            reading.places = places
            reading.made = (made.frame[:_SIZE], made.frame[_HEAD:], made.stripped)
            self._keep_result(reading.key, reading, len(frame) + len(made.frame) + ENDPOINT_COST * len(reading.found))
        return made

    def cap_answer(self, version: int, frame: bytes) -> tuple[bytes, Sequence[Command]]:
        """The frame of an ApiVersions response as clients get it, and commands that count and report what was cut."""
        key = (API_VERSIONS, version, frame[_HEAD:])
        known = self._find_result(key)
        if not isinstance(known, _Capped):
            self.read += 1
            made, commands = _cap_and_report(version, frame, self.served)
            same = None if made is frame else (made[:_SIZE], made[_HEAD:])
            known = _Capped(same, commands)
            self._keep_result(key, known, len(frame) + (len(made) if same else 0))
        if known.made is None:
            return frame, known.commands
        size, rest = known.made
        return size + frame[_SIZE:_HEAD] + rest, known.commands

    def _find_result(self, key: Key) -> ReadAnswer | _Capped | None:
        if key not in self._readings:
            return None
        self._readings.move_to_end(key)
        return self._readings[key][0]

    def _keep_result(self, key: Key, value: ReadAnswer | _Capped, size: int) -> None:
        """Keep a result, or its new size; drop the oldest ones beyond the bound."""
        size += ENTRY_COST
        if key in self._readings:
            self.size -= self._readings.pop(key)[1]
        if size > self.most // _SHARE:
            return
        self._readings[key] = (value, size)
        self.size += size
        while self.size > self.most:
            _, (_, gone) = self._readings.popitem(last=False)
            self.size -= gone


def _cap_and_report(version: int, frame: bytes, served: Served | None) -> tuple[bytes, Sequence[Command]]:
    try:
        capped, caps = cap_api_versions(frame, version, served)
    except RewriteFailed as failure:
        return frame, [(NOTE, f"{failure.text}; it passes unchanged")]
    commands: list[Command] = [(CAPPED, len(caps))] if caps else []
    for cap in caps:
        left = f"only up to {cap.left}" if cap.left is not None else "not at all"
        commands.append(
            (NOTE, f"the proxy offers clients {cap.api} {left}: brokers offer {cap.offered}, which kw cannot rewrite")
        )
    return capped, commands
