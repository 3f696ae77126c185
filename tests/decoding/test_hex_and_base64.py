"""Text that stands for bytes: hex, decimals or base64 with what people copy around it; words for what is neither."""

from __future__ import annotations

import pytest

from kwcli.decoding import read_inputs
from kwcli.decoding.byte_notations import decode_notation, explain_undecodable_text


@pytest.mark.parametrize(
    ("text", "form", "data"),
    [
        ("00 12", "auto", b"\0\x12"),
        ("0012", "hex", b"\0\x12"),
        ("0x00, 0x12", "auto", b"\0\x12"),
        ("001", "auto", b"\xd3\x4d"),
        ("001", "hex", None),
        ("", "auto", None),
        ("0, 0, 18", "auto", b"\0\0\x12"),
        ("[0, -1, 127]", "auto", b"\0\xff\x7f"),
        ("255,-128", "auto", b"\xff\x80"),
        ("256, 0", "hex", b"%`"),
        ("-129, 0", "auto", None),
        ("0, 256", "hex", b"\x02V"),
        ("10 12", "auto", b"\x10\x12"),
        ("AAAS", "auto", b"\0\0\x12"),
        ("AAAS", "hex", None),
        ("0012", "base64", b"\xd3\x4d\x76"),
        ("AAASAA==", "base64", b"\0\0\x12\0"),
        ("AAASAA", "base64", b"\0\0\x12\0"),
        ("-_-_", "base64", b"\xfb\xff\xbf"),
        ("AAAS\nAAAS", "auto", b"\0\0\x12\0\0\x12"),
        ("AAAS AAAS", "auto", None),
        ("AAAS AAAS", "base64", b"\0\0\x12\0\0\x12"),
        ("'AAAS'", "auto", b"\0\0\x12"),
        ("AAASA", "base64", None),
        ("0012zz0012001200", "auto", None),
        ("0012zz0012001200", "base64", b"\xd3Mv\xcf=4\xd7m4\xd7m4"),
        ("0012zzz001200", "base64", None),
    ],
)
def test_bytes_of_text(text: str, form: str, data: bytes | None) -> None:
    assert decode_notation(text, form) == data


@pytest.mark.parametrize(
    ("line", "form", "words"),
    [
        ("00 1", "auto", "an odd number of hex digits (3)"),
        ("00 1", "hex", "an odd number of hex digits (3)"),
        ("0011 22x3 4455", "auto", "not hex: 'x34455' behind 6 digits"),
        ("001122x3344556677", "hex", "not hex: 'x3344556' behind 6 digits"),
        ("hello", "auto", "'hello' is neither hex nor base64, and no file"),
        ("hello", "hex", "'hello' is not hex"),
        ("hel!o", "base64", "'hel!o' is not base64"),
        ("g" * 24, "hex", f"'{'g' * 24}' is not hex"),
        ("g" * 25, "hex", f"'{'g' * 24}…' is not hex"),
    ],
)
def test_words_for_text_that_is_neither(line: str, form: str, words: str) -> None:
    assert explain_undecodable_text(line, form) == words


@pytest.mark.parametrize(
    ("whole", "parts", "is_one"),
    [
        (b"\0\0\0\4abcd", [b"\0\0\0\4ab", b"cd"], True),
        (b"\0\0\0\4abcd", [b"\0\0\0\4abcd", b""], False),
        (b"\0\0\0\5abcd", [b"\0\0\0\5ab", b"cd"], False),
        (b"\0\0\0\3abcd", [b"\0\0\0\3ab", b"cd"], True),
        (b"\0\0\0", [b"\0\0\0"], False),
        (b"", [None, b"a"], True),
        (b"", [b"\0\0\0\1a", None], True),
    ],
)
def test_lines_are_one_message_if_the_first_says_so(whole: bytes, parts: list[bytes | None], is_one: bool) -> None:
    assert read_inputs._is_one_wrapped_message(whole, parts) is is_one


def test_messages_of_one_input_are_numbered() -> None:
    names = [read_inputs._append_number_to_name(*words) for words in (("a", 0, 1), ("a", 0, 2), ("", 1, 2), ("", 0, 1))]
    assert names == ["a", "a, message 1", "message 2", ""]
