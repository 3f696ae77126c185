"""The line before bash's cursor as words, and candidates in bash's own quotes: no shell is started."""

from __future__ import annotations

import pytest

from kwcli.completion.bash_quoting import Cursor, parse_bash_line, quote_reply_words

BREAKS = "\"'@><=;|&(:"


@pytest.mark.parametrize(
    ("text", "words", "quote", "cut", "tilde"),
    [
        ("", [""], "", "", False),
        ("kw", ["kw"], "", "", False),
        ("kw ", ["kw", ""], "", "", False),
        ("kw a\\ b", ["kw", "a b"], "", "", False),
        ("kw 'a b", ["kw", "a b"], "'", "", False),
        ("kw 'a\\", ["kw", "a\\"], "'", "", False),
        ('kw "a\\"b\\x', ["kw", 'a"b\\x'], '"', "", False),
        ('kw "\\$\\`\\\\', ["kw", "$`\\"], '"', "", False),
        ("kw $'a\\x41", ["kw", "aA"], "$'", "", False),
        ("kw $'\\xc3\\xa9' b", ["kw", "é", "b"], "", "", False),
        ("kw $'a\\x4", ["kw", "a"], "$'", "", False),
        ("kw $'a\\x", ["kw", "a"], "$'", "", False),
        ("kw $'a\\\\b\\\"\\?", ["kw", 'a\\b"?'], "$'", "", False),
        ("kw ~/x", ["kw", "~/x"], "", "", True),
        ("kw ~/x y", ["kw", "~/x", "y"], "", "", False),
        ("kw a~", ["kw", "a~"], "", "", False),
        ("kw '~'", ["kw", "~"], "", "", False),
        ("kw --o=x", ["kw", "--o=x"], "", "--o=", False),
        ("kw --o=x:", ["kw", "--o=x:"], "", "--o=x:", False),
        ("kw --o=x y", ["kw", "--o=x", "y"], "", "", False),
        ("kw a@b", ["kw", "a@b"], "", "a", False),
        ("kw \"a\"b 'c'd", ["kw", "ab", "cd"], "", "", False),
        ("kw '' b", ["kw", "", "b"], "", "", False),
        ("kw \\", ["kw", ""], "", "", False),
        ("kw $x", ["kw", "$x"], "", "", False),
        ("kw $$'a'", ["kw", "$$a"], "", "", False),
        ('kw $"a', ["kw", "a"], '"', "", False),
        ("kw 'a'\\''b", ["kw", "a'b"], "'", "a'", False),
        ("kw a\tb\nc", ["kw", "a", "b", "c"], "", "", False),
        ('kw a="b c', ["kw", "a=b c"], '"', "a=", False),
    ],
)
def test_a_line_is_split_as_bash_does(text: str, words: list[str], quote: str, cut: str, tilde: bool) -> None:
    assert parse_bash_line(text, BREAKS) == Cursor(tuple(words), quote, cut, tilde)


@pytest.mark.parametrize("text", ["kw $'\\n", "kw $'a\\'"])
def test_what_readline_takes_for_the_end_of_quotes_is_not_told(text: str) -> None:
    assert parse_bash_line(text, BREAKS) is None


@pytest.mark.parametrize(
    ("words", "cursor", "active", "replies"),
    [
        (["ab"], ("a", "", ""), "", ["", "ab"]),
        (
            ["a b", "a$b", "a\\b", "é_./:=,@%+-"],
            ("a", "", ""),
            "",
            ["", "a\\ b", "a$'\\x24'b", "a$'\\x5c'b", "é_./:=,@%+-"],
        ),
        (["a$b!"], ("a", "", ""), "$!", ["", "a$b!"]),
        (["ab="], ("a", "", ""), "", ["-o nospace", "ab="]),
        (["ab/", "ac"], ("a", "", ""), "", ["-o nospace", "ab/", "ac"]),
        (["--o=x", "--O=y", "--p=z", "--o="], ("--o=", "", "--o="), "", ["", "x", "y"]),
        (["a b"], ("a", '"', ""), "", ["", '"a b"']),
        (["a$b", "a!=b", "a!b"], ("a", '"', ""), "", ["", '"a"$\'\\x24\'"b"', '"a!=b"', '"a"$\'\\x21\'"b"']),
        (["a'b"], ("a", "'", ""), "", ["", "'a'$'\\x27''b'"]),
        (["a'b"], ("a", "$'", ""), "", ["", "'a\\x27b'"]),
    ],
)
def test_candidates_have_the_quotes_that_are_open(
    words: list[str], cursor: tuple[str, str, str], active: str, replies: list[str]
) -> None:
    word, quote, cut = cursor
    assert quote_reply_words(words, Cursor(("kw", word), quote, cut, tilde=False), active) == replies
