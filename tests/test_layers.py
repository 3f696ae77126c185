"""The house rules of the sources, read from syntax trees: allowed imports, and modules the library must not use."""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from decoders.apis import NAMES

ROOT: Final = Path(__file__).resolve().parent.parent

# Lowest first; a module imports from its own layer and from those below.
LAYERS: Final[list[tuple[str, ...]]] = [
    ("decoders.mypyc_modules", "decoders.errors", "decoders.limits", "decoders.named_tuple", "decoders.wire"),
    ("decoders.schema",),
    ("decoders.apis", "decoders.protocol_facts", "decoders.records", "decoders.embedded", "decoders.values"),
    ("decoders.capture", "decoders.tcp"),
    ("decoders.tls", "decoders.protocols"),
    ("decoders.frames",),
    ("decoders.exchanges",),
    ("decoders.messages",),
    ("decoders.filters", "decoders.analysis", "decoders.scrubbing", "decoders.splits", "decoders.mocking"),
    ("decoders.replaying",),
    ("decoders", "decoders.describe_exchange", "decoders.notebook_html", "decoders.read_exchanges_of_captures"),
    (
        "kwcli.building",
        "kwcli.pip_extras",
        "kwcli.run_environment",
        "kwcli.malloc_trim",
        "kwcli.terminal",
        "kwcli.terminal.pager",
        "kwcli.terminal_escaping",
        "kwcli.private_files",
        "kwcli.run_user_command",
        "kwcli.user_folders",
    ),
    ("kwcli.run_environment",),
    (
        "kwcli.names_in_any_spelling",
        "kwcli.check_overwriting",
        "kwcli.other_tools_hints",
        "kwcli.terminal.text_editor",
        "kwcli.reading",
        "kwcli.terminal.progress",
        "kwcli.output",
    ),
    ("kwcli.reference.field_descriptions",),
    ("kwcli.filter_options", "kwcli.declarations"),
    ("kwcli.clashing_options", "kwcli.capture_options", "kwcli.option_types"),
    ("kwcli.options",),
    ("kwcli.schema_options",),
    ("kwcli.reference", "kwcli.decoding", "kwcli.net"),
    ("kwcli.telemetry",),
    ("kwcli.reading.sinks", "kwcli.reading.load_topic_names", "kwcli.reading.run_reading"),
    ("kwcli.calling", "kwcli.sniff", "kwcli.stats"),
    ("kwcli.analyses", "kwcli.mock", "kwcli.playground", "kwcli.proxy", "kwcli.replay"),
    ("kwcli.report",),
    ("kwcli.pipeline", "kwcli.scrub"),
    ("kwcli.completion", "kwcli.help"),
    ("kwcli.browse",),
    ("kwcli.commands", "kwcli.usage_errors"),
    ("kwcli.main", "kwcli.completion.__main__"),
    ("kwcli.__main__",),
    ("kwcli",),
]
# Modules that the library must not use: files, sockets, clocks, the environment, printing, and the layers above.
FORBIDDEN_MODULES: Final = {
    *("asyncio", "click", "duckdb", "fsspec", "getpass", "glob", "http", "kwcli", "logging", "multiprocessing", "os"),
    *("pandas", "pathlib", "pyarrow", "pyspark", "rich", "scapy", "selectors", "shutil", "signal", "socket", "ssl"),
    *("subprocess", "sys", "tempfile", "textual", "threading", "time", "urllib"),
}
FORBIDDEN_CALLS: Final = frozenset({"print", "open", "input", "breakpoint"})
# Library → the only packages that may import it.
RESERVED: Final[dict[str, tuple[str, ...]]] = {
    "deltalake": ("kwcli.pipeline",),
    "duckdb": ("kwcli.pipeline",),
    "fsspec": ("kwcli.pipeline",),
    "pandas": ("kwcli.pipeline",),
    "pyarrow": ("kwcli.pipeline",),
    "pyiceberg": ("kwcli.pipeline",),
    "pyspark": ("kwcli.pipeline",),
    "rich": ("kwcli.browse", "kwcli.help"),
    "scapy": ("kwcli.reading.live_capture",),
    "textual": ("kwcli.browse",),
}
LOGIC: Final = (
    *(ast.If, ast.IfExp, ast.For, ast.While, ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom),
)
# A concept with this many lines is rare: look whether the file holds two.
MODULE_LINES: Final = 700
# A folder with more files should have subfolders. Declarations and structures have one file each, as many as Kafka has.
FOLDER_FILES: Final = 20
UNBOUNDED_FOLDERS: Final = frozenset({"decoders/apis", "decoders/embedded/declarations"})
# A function with more parameters, besides self and cls, should take a value that names them.
PARAMETERS: Final = 8

# Modules with errors that are raised again in another thread, with their traceback.
RAISED_AGAIN: Final = frozenset(
    {"kwcli.net.command_deadline", "kwcli.pipeline.background_call", "kwcli.pipeline.plan_splits"}
)
KEEPING: Final = frozenset({"append", "appendleft", "add", "put", "set_exception", "setdefault"})
# Words for methods of objects without I/O that are not used → the word for it.
OTHER_VERBS: Final = {
    **dict.fromkeys(("receive", "push", "consume", "on_data"), "feed"),
    **dict.fromkeys(("eof", "done_feeding"), "finish"),
    **dict.fromkeys(("dump", "save_state", "to_state"), "export"),
    **dict.fromkeys(("restore", "load_state", "from_state"), "resume"),
}
# What takes an exported state.
RESUMING: Final = frozenset({"resume", "make_resumed", "add"})
DECLARATIONS: Final = {f"decoders.apis.{name}" for name in NAMES.values()}


@cache
def trees() -> dict[str, tuple[Path, ast.Module]]:
    """Every module with its file and its source; not at import, since each worker imports this file."""
    gc.disable()
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): (
            path,
            ast.parse(path.read_text()),
        )
        for top in ("decoders", "kwcli")
        for path in sorted((ROOT / top).rglob("*.py"))
    }
    gc.freeze()  # a million nodes, which each collection would go through
    gc.enable()
    return found


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's tree: going through the trees is what takes the time of the tests."""
    return tuple(ast.walk(trees()[module][1]))


@cache
def imports(module: str) -> tuple[tuple[str, int], ...]:
    """Every module that a module imports, anywhere in it and for any use, with its line.

    `from a import b` gives `a.b` if that is a module of the project, else `a`.
    """
    return tuple(each_import(nodes_of(module)))


def each_import(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in trees() else node.module, node.lineno


def layer(module: str) -> int | None:
    """The layer of a module: that of the longest name in the table that is the module or a package around it."""
    best: tuple[int, int] | None = None
    for number, names in enumerate(LAYERS):
        for name in names:
            inside = module == name or (module.startswith(name + ".") and name not in ("decoders", "kwcli"))
            if inside and (best is None or len(name) > best[1]):
                best = (number, len(name))
    return None if best is None else best[0]


def test_modules_import_only_from_their_own_layer_and_below() -> None:
    homeless = [module for module in trees() if layer(module) is None]
    assert homeless == [], "they are in no layer: add them to the table"
    wrong = [
        f"{module}:{line} imports {name}"
        for module in trees()
        if module not in ("decoders", "kwcli")
        for name, line in imports(module)
        if name in trees() and name != "kwcli" and (layer(name) or 0) > (layer(module) or 0)
    ]
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    """No cycle of imports, also not by imports for annotations only."""
    graph = {module: {name for name, _ in imports(module) if name in trees() and name != module} for module in trees()}
    assert {module for module in graph if module in reached_from(module, graph)} == set()


def reached_from(module: str, graph: Mapping[str, set[str]]) -> set[str]:
    """The modules that an import of this one loads, at any distance."""
    found: set[str] = set()
    left = [*graph[module]]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += graph[name]
    return found


def test_the_library_touches_nothing_outside_itself() -> None:
    wrong: list[str] = []
    for module in trees():
        if not module.startswith("decoders"):
            continue
        wrong += [
            f"{module}:{line} {name}" for name, line in imports(module) if name.split(".")[0] in FORBIDDEN_MODULES
        ]
        wrong += [
            f"{module}:{node.lineno} {node.func.id}()"
            for node in nodes_of(module)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS
        ]
    assert wrong == []


def test_reserved_libraries_are_imported_by_their_owners_only() -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module in trees()
        for name, line in imports(module)
        for owners in [RESERVED.get(name.split(".")[0])]
        if owners is not None and not f"{module}.".startswith(tuple(f"{owner}." for owner in owners))
    ]
    assert wrong == []


def test_named_tuples_are_those_of_the_library() -> None:
    """Those of `typing` take ten times as long to define (decoders/named_tuple.py)."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for module, (path, tree) in trees().items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module in ("collections", "typing")
        if {"NamedTuple", "namedtuple"} & {name.name for name in node.names}
    ]
    assert wrong == []


def test_an_error_that_is_kept_keeps_no_frames() -> None:
    """The name bound by `except … as error` is assigned, returned or stored only as `strip_traceback(error)`."""
    offenders = [
        f"{path.relative_to(ROOT)}:{line}"
        for module, (path, _) in trees().items()
        for handler in nodes_of(module)
        if isinstance(handler, ast.ExceptHandler) and handler.name and module not in RAISED_AGAIN
        for line in kept(handler)
    ]
    assert offenders == []


def kept(handler: ast.ExceptHandler) -> Iterator[int]:
    """The lines on which the error itself is stored."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign) and node.value is not None:
            held: list[ast.expr] = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KEEPING:
            held = list(node.args)
        else:
            continue
        while held:
            match held.pop():
                case ast.Name(id=name) if name == handler.name:
                    yield node.lineno
                case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts):
                    held += parts
                case ast.IfExp(body=one, orelse=other):
                    held += (one, other)


def is_export(node: ast.stmt) -> bool:
    """Whether a statement is the `__all__` of its module."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"


def texts_in(node: ast.AST) -> Iterator[str]:
    """The texts that are written in a statement."""
    return (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


def bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a module give to something, under conditions too."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.asname or each.name for each in names)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name))
            case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                yield from bound([*inner, *other])


def test_an_exported_name_is_there() -> None:
    wrong = [
        f"{module} has no {name}"
        for module, (_, tree) in trees().items()
        for node in tree.body
        if is_export(node)
        for name in sorted({*texts_in(node)} - {*bound(tree.body)})
    ]
    assert wrong == []


def test_a_name_of_a_module_is_used_by_the_program() -> None:
    """No function, class or value at the top of a module is there for nobody, or for the tests alone."""
    read: set[tuple[str, str]] = set()  # in its own module, or imported from it
    anywhere: set[str] = set()  # as an attribute, or as a text, as in tables of modules that are loaded late
    for module, (_, tree) in trees().items():
        for node in (each for one in tree.body if not is_export(one) for each in ast.walk(one)):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    read.add((module, name))
                case ast.ImportFrom(module=str(home), names=names):
                    read |= {(home, each.name) for each in names}
                case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                    anywhere.add(name)
    unused = [
        f"{module}:{node.lineno} {name}"
        for module, (_, tree) in trees().items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)
        if not getattr(node, "decorator_list", [])
        for name in bound([node])
        if (module, name) not in read and name not in anywhere and not name.startswith("__")
    ]
    assert unused == []


def test_objects_without_io_have_the_same_verbs() -> None:
    """What the page `contributing` says of them: one word for each kind of method, and what is exported is resumed."""
    wrong: list[str] = []
    for module in trees():
        for made in (node for node in nodes_of(module) if isinstance(node, ast.ClassDef)):
            methods = {node.name: node for node in made.body if isinstance(node, ast.FunctionDef)}
            wrong += [f"{module}.{made.name}.{word}: {OTHER_VERBS[word]}" for word in methods if word in OTHER_VERBS]
            if module.startswith("decoders.") and "export" in methods and not methods.keys() & RESUMING:
                wrong.append(f"{module}.{made.name}: export, but not resume")
            if "feed" in methods:
                times = [each.arg for each in methods["feed"].args.args if each.arg in ("now", "now_ns", "now_ms")]
                if times and methods["feed"].args.args[-1].arg != times[0]:
                    wrong.append(f"{module}.{made.name}.feed: the time is last")
    assert wrong == []


def test_a_class_name_is_one_thing() -> None:
    """A class name occurs once in both packages together."""
    found: dict[str, list[str]] = {}
    for module in trees():
        for node in nodes_of(module):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_a_function_has_few_parameters() -> None:
    """No function has too many parameters, click's commands included, whose parameters are options."""
    wrong = [
        f"{module}:{node.lineno} {node.name} has {count}"
        for module in trees()
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (count := parameters(node)) > PARAMETERS
    ]
    assert wrong == []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters that a caller sees; `*` and `**` are one each."""
    asked = function.args
    named = [*asked.posonlyargs, *asked.args, *asked.kwonlyargs, *filter(None, (asked.vararg, asked.kwarg))]
    return sum(each.arg not in ("self", "cls") for each in named)


def test_the_folder_of_apis_holds_declarations_only() -> None:
    """Tables and logic are in `decoders/protocol_facts`; a declaration is one text, and its docstring."""
    found = {module for module in trees() if module.startswith("decoders.apis.")}
    assert found == DECLARATIONS
    wrong = [
        f"{module}:{node.lineno}"
        for module in found
        for node in trees()[module][1].body[1:]
        if [*bound([node])] != ["DECLARATION"]
    ]
    assert wrong == []


def test_a_folder_has_few_files() -> None:
    found = Counter(path.parent.relative_to(ROOT).as_posix() for path, _ in trees().values())
    full = [folder for folder, count in found.items() if count > FOLDER_FILES and folder not in UNBOUNDED_FOLDERS]
    assert not full, f"more than {FOLDER_FILES} files in {full}: join two files of one concept, or make a subfolder"


def test_modules_are_short_and_declarations_are_data() -> None:
    wrong: list[str] = []
    for module, (path, tree) in trees().items():
        text = path.read_text()
        if module in DECLARATIONS:
            wrong += [f"{module}:{node.lineno} is logic" for node in nodes_of(module) if isinstance(node, LOGIC)]
            continue
        if len(text.splitlines()) > MODULE_LINES:
            wrong.append(f"{module} has more than {MODULE_LINES} lines")
        if text.strip() and path.name != "__main__.py" and not ast.get_docstring(tree):
            wrong.append(f"{module} has no docstring")
    assert wrong == []
