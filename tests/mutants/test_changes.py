"""What the changes of a module are: rows of a line before and the lines that take its place."""

from __future__ import annotations

import pytest

from tests.mutants.changes import find_mutants


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a < b < c", {"x = a <= b < c", "x = a < b <= c"}),
        ("x = a + b", {"x = a - b"}),
        ("x = a and b or c", {"x = a or b or c", "x = a and b and c"}),
        ("x = not (a)", {"x = (a)"}),
        ("x = True", {"x = False"}),
        ("x = 'é' + f(1)", {"x = 'é' - f(1)", "x = 'é' + f(2)"}),
        ("f(a)", {"pass"}),
        ("x += y", {"pass"}),
        ("def f(): return a", {"def f(): return None"}),
        ("def f(): return None", set()),
        ("def f(): return False", {"def f(): return True"}),
        ("x = zip(a, b, strict=True)", set()),
        ("x = f(strict=True)", {"x = f(strict=False)"}),
        ("if a: pass", {"if not (a): pass"}),
        ("x = a if b else c", {"x = a if not (b) else c"}),
        ("x: int = a", set()),
        ("assert a == 1", set()),
        ("'''A docstring.'''", set()),
        ("__all__ = ['a']", set()),
        ("x = f'{1 + 2}'", set()),
    ],
)
def test_a_line_is_changed_in_each_place(before: str, after: set[str]) -> None:
    assert {mutant.text for mutant in find_mutants(before)} == after


def test_a_mutant_knows_its_function() -> None:
    text = "x = 1\nclass C:\n  y = 2\n  def f(self):\n    def g(): return 3\n"
    assert [(mutant.line, mutant.function) for mutant in find_mutants(text)] == [
        (1, ""),
        (3, ""),
        (5, "C.f.<locals>.g"),
        (5, "C.f.<locals>.g"),
    ]
