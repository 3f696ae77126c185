"""The line before the cursor in, its words and the quotes at the cursor out; a candidate in, bash's text for it out.

readline replaces only a part of a word: what stands behind the quote that is open at the cursor, else behind the last
of the signs in COMP_WORDBREAKS (`=` and `:` among them). bash 3.2 tells neither, so the line is split here, and the
part before that is left out of candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from decoders.named_tuple import NamedTuple

_CODE: Final = re.compile(r"x([0-9a-fA-F]{2})")
_HALF_A_CODE: Final = re.compile(r"(x[0-9a-fA-F]?)?\Z")
_PLAIN: Final = frozenset("_./:=,@%+-")  # signs that bash takes as they are
_BY_NUMBER: Final = frozenset("$`\\")
# Quote that is open at the cursor → the signs that mean something in it.
_ACTIVE: Final = {'"': frozenset('"$`\\!'), "'": frozenset("'`\\"), "$'": frozenset("'`\\")}


class Cursor(NamedTuple):
    """The words of a line without their quotes, the last of which is being typed.

    `quote` is the quote that is open at its end; `cut` its part before what readline replaces; `tilde`: it begins with
    a `~` that stands for a folder.
    """

    words: tuple[str, ...]
    quote: str
    cut: str
    tilde: bool


def parse_bash_line(text: str, breaks: str) -> Cursor | None:
    """The words before the cursor; None where it cannot be told how they are quoted. `breaks`: COMP_WORDBREAKS."""
    words: list[str] = []
    word = quote = cut = broke = ""
    some = dollar = tilde = False
    at = -1
    while (at := at + 1) < len(text):
        one = text[at]
        if one == "\\" and quote != "'":
            at += 1
            some, dollar = True, False
            sign, code = text[at : at + 1], _CODE.match(text, at)
            if quote == '"' and sign and sign not in '"$`\\':
                word += "\\" + sign
            elif quote != "$'" or (sign and sign in '\\"?'):
                word += sign
            elif code:
                word += bytes.fromhex(code[1]).decode("ascii", "surrogateescape")
                at += 2
            elif _HALF_A_CODE.match(text, at):
                break
            else:
                return None  # readline ends the quotes at \', and names have nothing that the others stand for
        elif quote:
            if one == quote[-1]:
                quote = ""
            else:
                word += one
        elif one in "'\"":
            word = word[:-1] if dollar else word
            quote = "$'" if dollar and one == "'" else one
            cut, some, dollar = word, True, False
        elif one in " \t\n":
            if some:
                words.append(word)
            word = broke = ""
            some = dollar = tilde = False
        else:
            tilde = tilde or (one == "~" and not some)
            word += one
            some, dollar = True, one == "$" and not dollar
            if one in breaks:
                broke = word.removesuffix("@")
    words.append(word)
    return Cursor(tuple(map(_decode_single_bytes, words)), quote, _decode_single_bytes(cut if quote else broke), tilde)


def _decode_single_bytes(word: str) -> str:
    """A word in which bytes that were given one by one are characters again."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def quote_reply_words(words: Iterable[str], cursor: Cursor, active: str = "") -> list[str]:
    """The words for COMPREPLY, where readline takes them as they are, behind a line with options for `compopt`.

    Each is quoted so that every beginning of it is, too, since readline inserts what several have in common; and so
    that readline neither doubles nor adds a quote: inside quotes it begins and ends with them. `active`: signs that
    keep their meaning for the shell.
    """
    cut, end = cursor.cut, cursor.quote[-1:]
    size = len(cut)
    texts = [word[size:] for word in words if word[:size].lower() == cut.lower() and len(word) > size]
    goes_on = any(text.endswith(("=", ".", ":", "/", "(")) for text in texts)
    return ["-o nospace" if goes_on else "", *(end + _quote_word(text, cursor.quote, active) + end for text in texts)]


def _quote_word(text: str, quote: str, active: str) -> str:
    out = ""
    for at, one in enumerate(text):
        plain = one not in _ACTIVE[quote] if quote else one in active or one.isalnum() or one in _PLAIN
        if plain or (quote and text.startswith("!=", at)):
            out += one
        elif not quote and one not in _BY_NUMBER:
            out += "\\" + one
        else:  # by its number, which means the same between backticks and to the history
            code = f"\\x{ord(one):02x}"
            out += code if quote == "$'" else f"{quote}$'{code}'{quote}"
    return out
