"""The text of a module in, its mutants out: copies with one operator, constant, condition or statement changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

__all__ = ["Mutant", "find_mutants"]

# Operator → the text that it has, and the text that takes its place.
COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "+"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
# Names whose values say nothing that a test could see.
UNSEEN: Final = frozenset({"__all__", "__slots__", "TYPE_CHECKING"})


class Mutant(NamedTuple):
    """A change of a module: at `line`, in `function` (its qualified name, "" outside), from `before` to `after`."""

    line: int
    function: str
    before: str
    after: str
    line_text: str  # without its indentation
    text: str  # of the whole module


class _Place(NamedTuple):
    """Bytes of a module from `begin` to `end`, and what takes their place."""

    begin: int
    end: int
    new: str


def find_mutants(text: str) -> Iterator[Mutant]:
    """All mutants of a module, in no particular order."""
    data = text.encode()
    lines = data.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node, function in _walk(ast.parse(text), "", ""):
        for place in _changes_of(node, data, starts):
            before = data[place.begin : place.end].decode()
            changed = (data[: place.begin] + place.new.encode() + data[place.end :]).decode()
            number = node.lineno  # type: ignore[attr-defined]
            yield Mutant(number, function, before, place.new, lines[number - 1].decode().strip(), changed)


def _walk(node: ast.AST, function: str, prefix: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that may be changed, with the function around them; no annotation, docstring, assertion."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "bases", "decorator_list"):
            continue
        if (
            name == "keywords"
            and isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "zip"
        ):
            continue  # its `strict` is an assertion
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_unseen(child):
                continue
            yield child, function
            match child:
                case ast.FunctionDef(name=its_name) | ast.AsyncFunctionDef(name=its_name):
                    yield from _walk(child, prefix + its_name, f"{prefix}{its_name}.<locals>.")
                case ast.ClassDef(name=its_name):
                    yield from _walk(child, function, f"{prefix}{its_name}.")
                case _:
                    yield from _walk(child, function, prefix)


def _is_unseen(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr():  # Python 3.11 gives wrong places in it
            return True
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in UNSEEN
    return False


def _changes_of(node: ast.AST, data: bytes, starts: list[int]) -> Iterator[_Place]:
    """What may take a node's place, or the place of its operator."""

    def begin(of: ast.expr | ast.stmt) -> int:
        return starts[of.lineno - 1] + of.col_offset

    def end(of: ast.expr | ast.stmt) -> int:
        assert of.end_lineno is not None
        assert of.end_col_offset is not None
        return starts[of.end_lineno - 1] + of.end_col_offset

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[_Place]:
        at = data.find(old.encode(), end(left), begin(right))
        if at >= 0 and b"#" not in data[end(left) : at]:
            yield _Place(at, at + len(old), new)

    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for (one, other), operator in zip(pairwise([left, *others]), ops, strict=True):
                yield from between(one, other, *COMPARISONS[type(operator)])
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            yield from between(left, right, *ARITHMETIC[type(operator)])
        case ast.BoolOp(op=operator, values=values):
            words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            for one, other in pairwise(values):
                yield from between(one, other, *words)
        case ast.UnaryOp(op=ast.Not()):
            yield _Place(begin(node), begin(node) + len("not "), "")
        case ast.expr() | ast.stmt():
            if (new := _other_text(node)) is not None:
                yield _Place(begin(node), end(node), new)
            if (test := _condition(node)) is not None:
                yield _Place(begin(test), end(test), f"not ({data[begin(test) : end(test)].decode()})")


def _other_text(node: ast.expr | ast.stmt) -> str | None:
    """The text that takes the place of a constant or a statement."""
    match node:
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int(value)):
            return str(value + 1)
        case ast.Return(value=ast.Constant(value=None | False)):  # who asks for the truth sees no difference of these
            return None
        case ast.Return(value=ast.expr()):
            return "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Raise():
            return "pass"
    return None


def _condition(node: ast.expr | ast.stmt) -> ast.expr | None:
    return node.test if isinstance(node, ast.If | ast.While | ast.IfExp) else None
