"""The house rules of the sources, read from their syntax trees: who may import whom, what the library may not touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders.apis import NAMES

ROOT = Path(__file__).resolve().parent.parent

# Lowest first; a module imports from its own layer and from those below.
LAYERS: list[tuple[str, ...]] = [
    ("decoders.errors", "decoders.limits", "decoders.wire"),
    ("decoders.schema",),
    ("decoders.apis", "decoders.records", "decoders.embedded"),
    ("decoders.streams",),
    ("decoders.capture",),
    ("decoders.exchanges",),
    ("decoders.filters", "decoders.analysis"),
    ("decoders.messages", "decoders"),
    ("kwcli.exits", "kwcli.env", "kwcli.folders", "kwcli.garbage", "kwcli.pager"),
    ("kwcli.spelling",),
    ("kwcli.options", "kwcli.config", "kwcli.inputs", "kwcli.live", "kwcli.render", "kwcli.declarations"),
    ("kwcli.composing", "kwcli.reference", "kwcli.decoding"),
    ("kwcli.net",),
    ("kwcli.calling",),
    ("kwcli.playground",),
    ("kwcli.selection", "kwcli.summary", "kwcli.progress", "kwcli.sniffing", "kwcli.stats"),
    ("kwcli.proxy",),
    ("kwcli.tui", "kwcli.report", "kwcli.pipeline"),
    ("kwcli.completion", "kwcli.help"),
    ("kwcli.commands",),
    ("kwcli.main",),
    ("kwcli",),
]
# What the library does without: files, sockets, clocks, the environment, printing, and who lives above it.
FORBIDDEN_MODULES = {
    *("asyncio", "click", "fsspec", "getpass", "glob", "http", "logging", "multiprocessing", "os", "pandas", "pathlib"),
    *(
        "pyarrow",
        "pyspark",
        "rich",
        "scapy",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "textual",
    ),
    *("threading", "time", "urllib"),
}
FORBIDDEN_CALLS = frozenset({"print", "open", "input", "breakpoint"})
# Who alone may import it.
RESERVED = {
    "fsspec": "kwcli.pipeline",
    "pandas": "kwcli.pipeline",
    "pyarrow": "kwcli.pipeline",
    "pyspark": "kwcli.pipeline",
    "scapy": "kwcli.live",
    "textual": "kwcli.tui",
}

MODULE_LINES = 400
FILES = sorted(path for top in ("decoders", "kwcli") for path in (ROOT / top).rglob("*.py"))
DECLARATIONS = {ROOT / "decoders" / "apis" / f"{name}.py" for name in NAMES.values()}


def module_of(path: Path) -> str:
    """`decoders/wire/__init__.py` → `decoders.wire`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module a file imports, wherever in it, with its line; `from a import b` gives `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module, node.lineno
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def layer(module: str) -> int | None:
    """The layer a module lives in: the longest name in the table that it is or lies in."""
    best: tuple[int, int] | None = None
    for number, names in enumerate(LAYERS):
        for name in names:
            inside = module == name or (module.startswith(name + ".") and name not in ("decoders", "kwcli"))
            if inside and (best is None or len(name) > best[1]):
                best = (number, len(name))
    return None if best is None else best[0]


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_module_imports_only_from_its_own_layer_and_below(path: Path) -> None:
    module = module_of(path)
    own = layer(module)
    assert own is not None, f"{module} is in no layer: add it to the table"
    if module in ("decoders", "kwcli"):
        return
    known = {module_of(file) for file in FILES}
    wrong = [
        f"line {line}: {name}"
        for name, line in imports(ast.parse(path.read_text()))
        if name in known and name != "kwcli" and (layer(name) or 0) > own
    ]
    assert not wrong


@pytest.mark.parametrize("path", [p for p in FILES if p.is_relative_to(ROOT / "decoders")], ids=module_of)
def test_the_library_touches_nothing_outside_itself(path: Path) -> None:
    tree = ast.parse(path.read_text())
    wrong = [f"line {line}: {name}" for name, line in imports(tree) if name.split(".")[0] in FORBIDDEN_MODULES]
    wrong += [
        f"line {node.lineno}: {node.func.id}()"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS
    ]
    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_what_is_reserved_is_imported_by_its_owner_only(path: Path) -> None:
    module = module_of(path)
    wrong = [
        f"line {line}: {name}"
        for name, line in imports(ast.parse(path.read_text()))
        for reserved, owner in RESERVED.items()
        if (name == reserved or name.startswith(reserved + ".")) and not (module + ".").startswith(owner + ".")
    ]
    assert not wrong


@pytest.mark.parametrize("path", sorted(DECLARATIONS), ids=module_of)
def test_a_declaration_is_data(path: Path) -> None:
    logic = (
        ast.If,
        ast.IfExp,
        ast.For,
        ast.While,
        ast.FunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.Import,
        ast.ImportFrom,
    )
    assert [node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, logic)] == []


@pytest.mark.parametrize("path", [p for p in FILES if p not in DECLARATIONS], ids=module_of)
def test_a_module_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < MODULE_LINES
    if text.strip() and path.name != "__main__.py":
        assert ast.get_docstring(ast.parse(text)), f"{module_of(path)} has no docstring"
