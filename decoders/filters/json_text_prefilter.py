"""The name of a field and a word in; a look at bytes that says which JSON texts cannot have the field with that value.

The problem. To decode each value of a capture, only to find that its order is not number 3, takes most of the time of
the question. The idea. In the text of the value the name stands before a colon, and behind it a number or text that is
told apart at once from the one that is wanted. What always holds: a text that has the value passes the look.

That is so because a letter, a digit or one of `_$-` stands in JSON as itself or as `\\u00XX`, so a text with `\\u00`
passes. Other escapes are those of quotes, slashes and control characters, and a wanted text with these makes every text
with an escape pass. What is shown otherwise than it is written passes too: Connect's envelope, whose bytes, decimals
and times have another form, and CloudEvents, whose data may be in base64. A number is passed over only where it is
written as a whole one: all others may be rounded to the wanted one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["make_json_text_prefilter"]

_ESCAPE_OF_LETTERS: Final = b"\\u00"
_SHOWN_OTHERWISE: Final = b'"specversion"', b'"payload"'
# What stands in JSON as itself or as an escape of its number.
_PLAIN_TEXT: Final = re.compile(r"[ !#-.0-\[\]-~]*")
_PLAIN_NUMBER: Final = re.compile(r"[-+]?[0-9.]+")
_WHOLE_NUMBER_MAX: Final = 10**18  # longer ones may be read as others
_COLON: Final = rb"[ \t\r\n]*:[ \t\r\n]*"
# Neither a whole number nor a text that is no number.
_OTHER_NUMBER: Final = rb'(?!-?[0-9]+(?![0-9.eE])|"(?![-+.0-9]))'


def make_json_text_prefilter(name: str, wanted: tuple[Any, str] | None) -> Callable[[bytes], bool]:
    """Whether a JSON text may have a field of this name (letters, digits and `_$-`) with one of two values.

    `wanted`: the value that a word stands for, and the word; None: any value.
    """
    escape, value = _ESCAPE_OF_LETTERS, b""
    if wanted is not None:
        number, word = wanted
        if number == word:
            value = rb'(?:\[|"' + re.escape(word.encode("utf-8", "surrogatepass")) + b'")'
            if _PLAIN_TEXT.fullmatch(word) is None:
                escape = b"\\"
        elif _PLAIN_NUMBER.fullmatch(word) is not None and -_WHOLE_NUMBER_MAX < number < _WHOLE_NUMBER_MAX:
            value = _OTHER_NUMBER
            if number == int(number):
                digits = b"-?0" if number == 0 else b"%d" % int(number)
                value = b"(?:" + digits + b"(?![0-9])|" + value + b")"
    quoted = b'"%s"' % name.encode()
    find = re.compile(re.escape(quoted) + _COLON + value).search
    event, payload = _SHOWN_OTHERWISE

    def may_stand_in(data: bytes) -> bool:
        return escape in data or event in data or payload in data or (quoted in data and find(data) is not None)

    return may_stand_in
