"""`-E` in tshark's words: the separators, quotes and marks around the values of a line."""

from __future__ import annotations

import pytest

from kwcli.output.fields import FieldSeparators
from kwcli.run_environment import Exit, Failure

CELLS: list[list[object]] = [["a", "b"], [], ["x\ty\nz"], ['q"r'], [1]]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], 'a,b\t\tx\\ty\\nz\tq"r\t1'),
        (["separator=,", "quote=d"], '"a,b","","x\\ty\\nz","q""r","1"'),
        (["separator=comma", "quote=s", "aggregator=;"], "'a;b','','x\\ty\\nz','q\"r','1'"),
        (["separator=/s", "occurrence=f"], 'a  x\\ty\\nz q"r 1'),
        (["separator=space", "occurrence=l"], 'b  x\\ty\\nz q"r 1'),
        (["separator=tab", "escape=n", "occurrence=a"], 'a,b\t\tx\ty\nz\tq"r\t1'),
        (["separator=/t", "quote=n"], 'a,b\t\tx\\ty\\nz\tq"r\t1'),
        (["separator=\\t"], 'a,b\t\tx\\ty\\nz\tq"r\t1'),
        (["separator="], 'a,bx\\ty\\nzq"r1'),
    ],
)
def test_a_line(words: list[str], line: str) -> None:
    assert FieldSeparators.parse_words(words).join_cells(CELLS) == f"{line}\n"


@pytest.mark.parametrize(("word", "header"), [("y", True), ("yes", True), ("true", True), ("n", False), ("no", False)])
def test_a_header_is_asked_for(word: str, header: bool) -> None:
    assert FieldSeparators.parse_words([f"header={word}"]).header is header


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "header",
            "-E 'header': there are header=y, separator=, quote=d|s|n, aggregator=;, occurrence=f|l|a, escape=n",
        ),
        ("x=y", "-E 'x=y': there are header=y, separator=, quote=d|s|n, aggregator=;, occurrence=f|l|a, escape=n"),
        ("quote=x", "-E quote=x: it is one of d, s, n"),
        ("occurrence=", "-E occurrence=: it is one of f, l, a"),
        ("header=maybe", "-E header=maybe: it is one of y, yes, true, n, no, false"),
    ],
)
def test_another_word_is_a_usage_error(word: str, text: str) -> None:
    with pytest.raises(Failure) as failure:
        FieldSeparators.parse_words([word])
    assert (failure.value.text, failure.value.code) == (text, Exit.USAGE)
