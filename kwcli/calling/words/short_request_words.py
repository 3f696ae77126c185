"""The short words that some APIs take besides paths in, the request that they ask for out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from decoders.apis import api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH, LIST_OFFSETS, PRODUCE
from decoders.schema.api_declaration import Versions
from kwcli.calling.read_bodies import read_all_stdin, read_file
from kwcli.calling.records.fetch_request import OffsetLookup, parse_fetch_words
from kwcli.calling.records.list_offsets_request import parse_offsets_words
from kwcli.calling.records.parse_record_lines import LineOptions, parse_key_separator
from kwcli.calling.records.produce_request import parse_produce_words
from kwcli.run_environment import Environment, Exit, Failure


class ShortRequest(Protocol):
    """A request given in short words; the other words may still change its body by path."""

    def narrow_versions(self, versions: Versions, *, connected: bool = True) -> Versions:
        """The versions among these that can carry the request. Raises Failure (usage) that says why there is none."""

    def build_body(self, version: int, known: OffsetLookup | None, /) -> dict[str, Any]:
        """The request in JSON form; `known` looks up topics and offsets, None when not connected."""


class RecordOptions(NamedTuple):
    """Options about records; the table below says which APIs have each."""

    compression: str | None = None
    acks: str | None = None
    magic: int | None = None
    lines: bool = False
    key_separator: str | None = None
    values: bool = False

    def check_options_of_api(self, key: int) -> None:
        """Raise Failure (usage) for an option that this API does not have."""
        for name, given in self._asdict().items():
            if given is not None and given is not False and key not in _KEPT_BY[name]:
                apis = " and ".join(api(each).name for each in sorted(_KEPT_BY[name]))
                raise Failure(f"--{name.replace('_', '-')} goes with {apis} only", Exit.USAGE)


_KEPT_BY: Final = {
    "compression": {PRODUCE},
    "acks": {PRODUCE},
    "magic": {PRODUCE},
    "lines": {PRODUCE},
    "key_separator": {PRODUCE, FETCH},
    "values": {FETCH},
}


def parse_short_request(
    key: int, words: Sequence[str], given: RecordOptions, env: Environment
) -> tuple[ShortRequest | None, list[str]]:
    """The request that the short words of this API ask for (None where there are none), and the words that are left.

    Files, and standard input when records are to come from there, are read. Raises Failure for everything that is known
    to be wrong before a connection is made.
    """
    given.check_options_of_api(key)
    if key == PRODUCE:
        separator = None if given.key_separator is None else parse_key_separator(given.key_separator)
        return parse_produce_words(
            words,
            compression=given.compression,
            acks=given.acks,
            magic=given.magic,
            lines=LineOptions(given.lines, separator),
            contents=lambda name: read_all_stdin(env) if name == "-" else read_file(name),
            stdin=lambda: not env.stdin_terminal,
            clock_ms=lambda: env.now_ns() // 1_000_000,
        )
    now_ms = env.now_ns() // 1_000_000
    if key == LIST_OFFSETS:
        return parse_offsets_words(words, now_ms=now_ms)
    return parse_fetch_words(words, now_ms=now_ms) if key == FETCH else (None, list(words))
