"""Words of a command line in, a request's body out: paths and values, short words, names of entities."""

from __future__ import annotations

from typing import Final

from decoders.protocol_facts.api_keys import FETCH, LIST_OFFSETS, PRODUCE

# The APIs that take short words besides paths.
SHORT_WORDS: Final = frozenset({PRODUCE, FETCH, LIST_OFFSETS})
