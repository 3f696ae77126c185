"""Bytes in the place of a frame, and the frame before them, in; what they likely are out, in words.

Few connections have such bytes: framing imports this module where the first of them comes.
"""

from __future__ import annotations

from typing import Final

from decoders.apis import api
from decoders.frames.explain_strange_bytes import find_little_endian_size
from decoders.frames.read_and_judge_headers import YES, judge_request
from decoders.protocols.recognise_protocols import describe_proven_protocol
from decoders.protocols.recognise_sasl_tokens import describe_sasl_frame

__all__ = ["describe_frameless_bytes"]

_SIZE_FIELD: Final = 4


def describe_frameless_bytes(data: bytes, before: bytes = b"") -> str:
    """What bytes of a direction in step likely are, which are no head of a frame; empty where nothing is known.

    `before`: the request before them that has no answer, with its size field; empty where there is none.
    """
    return (
        describe_proven_protocol(data)
        or describe_sasl_frame(data)
        or next((finding.detail for finding in find_little_endian_size(data)), "")
        or _describe_wrong_size(before, data)
        or _describe_missing_size(data)
    )


def _describe_missing_size(data: bytes) -> str:
    """The description of a request without its size field; empty where it is none that decodes to its last byte."""
    if judge_request(len(data).to_bytes(_SIZE_FIELD, "big") + data, 0) != YES:
        return ""
    key, version = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
    return f"{api(key).name} {version} without its size field"


def _describe_wrong_size(before: bytes, rest: bytes) -> str:
    """The description of the rest of a request whose size field is too small; empty where that is not certain."""
    size = len(before) - _SIZE_FIELD
    if size < 0 or int.from_bytes(before[:_SIZE_FIELD], "big") != size or judge_request(before, 0) == YES:
        return ""
    whole = size + len(rest)
    if judge_request(whole.to_bytes(_SIZE_FIELD, "big") + before[_SIZE_FIELD:] + rest, 0) != YES:
        return ""
    return f"the rest of the request before it, whose size field says {size:,} instead of {whole:,}"
