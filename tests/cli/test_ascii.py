"""Output in ASCII: by `--ascii`, and on terminals whose locale has no UTF-8."""

from __future__ import annotations

import ast
import io
from itertools import chain

import pytest

from kwcli.terminal.ascii_text import SIGNS, AsciiOutput, to_ascii
from tests.cli.worlds import kw, world
from tests.test_layers import ROOT, trees

TOUR = str(ROOT / "captures" / "tour.pcapng")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ("sniff", TOUR, "-o", "text"),
        ("sniff", TOUR, "-o", "text", "-v", "-n", "20"),
        ("sniff", TOUR, "-o", "hex", "-n", "5"),
        ("stats", TOUR, "-o", "text"),
        ("stats", TOUR, "-o", "table"),
        ("doctor", TOUR, "-o", "text"),
        ("clients", TOUR, "-o", "text"),
        ("groups", TOUR, "--name", "billing", "-o", "text"),
        ("apis", "Fetch", "12", "-o", "text"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("terminal", [False, True])
def test_plain_signs_are_asked_for(words: tuple[str, ...], terminal: bool) -> None:
    usual = kw(*words, env=world(terminal=terminal, columns=100))
    plain = kw(*words, "--ascii", env=world(terminal=terminal, columns=100))
    assert (plain.out.isascii(), plain.err.isascii()) == (True, True)
    assert plain.out == to_ascii(usual.out)
    assert not usual.out.isascii()


@pytest.mark.parametrize(
    ("variables", "is_ascii"),
    [
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.utf8"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({}, False),
    ],
)
def test_the_locale_of_a_terminal_decides(variables: dict[str, str], is_ascii: bool) -> None:
    told = kw("sniff", TOUR, env=world(terminal=True, columns=100, variables=variables))
    assert told.out.isascii() is is_ascii
    assert not kw(
        "sniff", TOUR, "-o", "text", env=world(variables=variables)
    ).out.isascii()  # a pipe gets what it always gets


def test_json_keeps_its_values() -> None:
    assert kw("sniff", TOUR, "-o", "ndjson", "--ascii").out == kw("sniff", TOUR, "-o", "ndjson").out


def test_columns_stay() -> None:
    assert {len(SIGNS[sign]) for sign in "→←…·–×µ✗⚡─│█"} == {1}
    assert to_ascii("é→\U0001f600") == "\\xe9>\\U0001f600"


@pytest.mark.long
def test_every_sign_of_the_sources_is_known() -> None:
    """Each sign in a text of kwcli that is no docstring has its text in ASCII."""
    signs: set[str] = set()
    for name, (_, tree) in trees().items():
        if not name.startswith("kwcli") or "report" in name:  # the report's page is HTML
            continue
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
        signs |= set(chain.from_iterable(str(node.value) for node in texts if id(node) not in docstrings))
    found = {sign for sign in signs if not sign.isascii() and sign.isprintable() and not sign.isalnum()}
    read = set("＋－＝＠┊")  # looked for in cells and in dumps of hexyl, never written
    assert sorted(found - set(SIGNS)) == sorted(read)


class Unbuffered(io.RawIOBase):
    """A stream that takes three bytes at once, and notes what becomes of it."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.flushed = 0

    def write(self, data: object, /) -> int:
        self.taken.append(bytes(data)[:3])  # type: ignore[call-overload]  # it is bytes
        return len(self.taken[-1])

    def flush(self) -> None:
        self.flushed += 1

    def fileno(self) -> int:
        return 73


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_a_stream_in_ascii_is_the_stream_beneath_in_other_letters(size: int) -> None:
    text = "17 → 19 · é · orders ✗ \N{GRINNING FACE}"
    data = text.encode()
    beneath = Unbuffered()
    stream = AsciiOutput(beneath)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [stream.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    assert b"".join(beneath.taken) == to_ascii(text).encode()
    assert (beneath.flushed, stream.fileno()) == (0, 73)
    stream.flush()
    assert beneath.flushed == 1
