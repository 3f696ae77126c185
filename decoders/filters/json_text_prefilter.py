"""The name of a field and a test of its value in; a prefilter of bytes that says which JSON texts cannot pass, out.

The problem. To decode each value of a capture, only to find that its amount is not more than 1000, takes most of the
time of the question. The idea. In the text of the value the name stands before a colon, and the number, text or word
behind it is read and tested alone:

    {"order":27,"customer":"customer-20","amount" : 20.5}
                                        ^^^^^^^^^^  ^^^^   20.5 does not pass: nothing else is read

What always holds: a text that has a value that passes, at whatever path, passes the prefilter, and so do bytes that
such a text is a part of: those of a batch are looked at once for all its records. That is so because a letter, a digit
or one of `_$-` stands in JSON as itself or as `\\u00XX`, so a text with `\\u00` passes, and because each value behind
the name and a colon is tested, also where it stands in what another one seems to be. What is given up: arrays, objects
and texts with escapes behind the name pass untested, and what is shown otherwise than it is written passes too:
Connect's envelope, whose bytes, decimals and times have another form, and CloudEvents, whose data may be in base64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

__all__ = ["make_json_text_prefilter"]

_ESCAPE_OF_LETTERS: Final = b"\\u00"
_SHOWN_OTHERWISE: Final = b'"specversion"', b'"payload"'
_COLON: Final = rb"[ \t\r\n]*:[ \t\r\n]*"
# A number, a text without escapes, or a word; empty where something else stands. The search goes on before it: it may
# begin in a record's key and end in its value.
_SCALAR: Final = rb'(?=(-?[0-9][-+.0-9eE]*|"[^"\\]*+"|true|false|null|))'


def make_json_text_prefilter(name: str, passes: Callable[[Any], bool]) -> Callable[[bytes, int, int], bool]:
    """Whether JSON texts may have a field of this name (letters, digits and `_$-`) with a value that passes a test.

    The texts are somewhere between two offsets in some bytes.
    """
    quoted = b'"%s"' % name.encode()
    find_all = re.compile(re.escape(quoted) + _COLON + _SCALAR).findall
    event, payload = _SHOWN_OTHERWISE
    escape, loads, no_json = _ESCAPE_OF_LETTERS, orjson.loads, orjson.JSONDecodeError

    def may_text_pass(data: bytes, at: int, stop: int) -> bool:
        find = data.find
        if find(escape, at, stop) >= 0 or find(event, at, stop) >= 0 or find(payload, at, stop) >= 0:
            return True
        if find(quoted, at, stop) >= 0:
            for scalar in find_all(data, at, stop):
                if not scalar:
                    return True
                try:
                    value = loads(scalar)
                except no_json:
                    return True
                if passes(value):
                    return True
        return False

    return may_text_pass
