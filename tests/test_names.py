"""Names in the sources, read from syntax trees: functions are verbs with their object or nouns, one word a concept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from tests.test_layers import ROOT, trees

# Names of one word that say too little. Participles that do not end with -ed, and words that do and are none:
PARTICIPLES: Final = """beaten been begun bought broken built chosen come done drawn driven fallen felt found frozen
given gone held hidden kept known laid led lent lost made meant met overwritten paid put rewritten said seen sent
shaken shown slept spelt spent spoken stolen taken taught thrown told thought understood undone woken worn written"""
NO_PARTICIPLES: Final = "embed feed need seed shed speed uninterrupted"
# Words that are neither verb nor noun.
FUNCTION_WORDS: Final = """about above after again ahead alike all alone and any apart around aside at away back
before behind below beside between both by certain closely common deep different doubly down each early either enough
every exactly few fitting for from further has here how in inside into irrelevant it its itself late later like likely
many may meanwhile more most must not nobody none nothing of off often on once one only or other others otherwise out
over own perhaps plain possible same seldom several simple since some sooner still such surely than that there these
this those through together too twice under until unusual usual very was what when where which who whole whose why
with within without"""
# Verbs that say nothing without their object.
BARE_VERBS: Final = "ask begin do give go have hold keep leave let look put say take tell"
TOO_LITTLE: Final = frozenset(f"{PARTICIPLES} {FUNCTION_WORDS} {BARE_VERBS}".split())
NO_PARTICIPLE: Final = frozenset(NO_PARTICIPLES.split())

# Verb of a name → what its return type has to be: the verb promises it.
YES_OR_NO: Final = re.compile(r"\b(bool|TypeGuard|TypeIs)\b")
TEXT: Final = re.compile(r"\bstr\b")
A_VALUE: Final = re.compile(r"^(?!None$)")
RESULTS: Final[dict[str, re.Pattern[str]]] = {
    **dict.fromkeys(["are", "can", "does", "has", "is", "may", "was"], YES_OR_NO),
    **dict.fromkeys(["choose", "encode", "find", "get", "make", "select", "with"], A_VALUE),
    "describe": TEXT,
}

# Names of files that fit any folder.
GENERAL_FILES: Final = """attributes blocking cluster columns connection connector engine extras helpers history keys
libraries listeners manager marks misc model notation ports process properties requests responses run scripts server
session settings spelling store traffic utils"""
TOO_GENERAL: Final = frozenset(f"{word}.py" for word in GENERAL_FILES.split())

# Words of an interface that people use in files of their own, here a script of the proxy: they stay as they are.
OF_INTERFACES: Final = frozenset(
    {("kwcli/proxy/deciding/scripts/script_api.py", "on"), ("kwcli/proxy/deciding/scripts/script_api.py", "hold")}
)

# Folder → words for a value that has another name there: what its class, or the field, calls it.
IN_AND_OUT: Final = re.compile(r"\bin[,;:] .*\bout\b")
OTHER_WORDS: Final[dict[str, dict[str, str]]] = {
    "decoders/tcp/": {"flow": "half", "flows": "halves"},
    "decoders/splits/": {"flow": "half", "flows": "halves"},
    "decoders/frames/": {"lane": "direction", "run": "unframed", "suspect": "side"},
    "decoders/exchanges/connection_pairing.py": {"run": "unframed", "runs": "other rows"},
    "decoders/exchanges/chunks_to_exchanges.py": {"run": "unframed", "runs": "other rows"},
    "decoders/exchanges/serialize_pairer_state.py": {"run": "unframed", "runs": "other rows"},
    "decoders/exchanges/": {
        "ends": "connection_info",
        "lane": "direction",
        "lanes": "directions",
        "suspect": "side",
        "spec": "api_reader",
        "specs": "api_readers",
        "teach": "add_topic_names",
        "teaches": "has_topic_ids_with_names",
        "watched": "read_when_settled",
    },
    "decoders/messages/": {"spec": "api_reader", "specs": "api_readers", "anatomy": "FrameParts"},
    "decoders/scrubbing/": {"spec": "api_reader"},
    "kwcli/pipeline/local_engine.py": {"coming": "pending_plan", "choice": "row_filter"},
    "kwcli/pipeline/query_tables_and_output.py": {"shown": "settings"},
    "kwcli/pipeline/read/": {"choice": "row_filter"},
    "kwcli/pipeline/run": {"coming": "pending_plan", "planned": "plan"},
    "kwcli/pipeline/sql_command.py": {"shown": "settings"},
    "kwcli/pipeline/spark/": {
        "choice": "row_filter",
        "coming": "pending_plan",
        "notes": "coordination",
        "order": "stage_input",
        "outbox": "shuffle_writer",
        "patch": "correction",
    },
    "kwcli/calling/": {"screen": "output", "stop": "destination", "stops": "destinations", "tape": "builder"},
    "kwcli/replay/": {"tape": "exchange_builder"},
    "kwcli/net/session/": {"way": "connector"},
    "kwcli/proxy/": {"budget": "shared_memory", "route_of_api": "handling", "routes": "handling_table"},
    "kwcli/proxy/run_proxy.py": {"feed": "queue"},
    "kwcli/proxy/log/start_log_process.py": {"feed": "queue"},
    "kwcli/proxy/relay/relay_connection.py": {"feed": "log_queue", "session": "relay", "sessions": "relays"},
    "kwcli/proxy/proxy_server.py": {"feed": "log_queue", "session": "relay", "sessions": "relays"},
    "kwcli/output/facts/": {"shape": "room"},
    "kwcli/reading/sinks/": {"met": "logged", "noticed": "unshown", "sift": "filter", "skim": "rows_to_learn_from"},
}


def trees_by_path() -> Iterator[tuple[str, ast.Module]]:
    """Path in the repository and syntax tree, of all sources."""
    for path, tree in trees().values():
        yield path.relative_to(ROOT).as_posix(), tree


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        ast.unparse(decorator).rpartition(".")[2] in ("property", "cached_property")
        for decorator in node.decorator_list
    )


def says_too_little(name: str) -> bool:
    """Whether a function's name is a bare participle, a bare adverb (or its like), or a verb that lacks its object."""
    word = name.strip("_")
    if name.startswith("__") or "_" in word:
        return False
    return word in TOO_LITTLE or (word.endswith("ed") and word not in NO_PARTICIPLE)


def functions_that_say_too_little() -> Iterator[str]:
    for path, tree in trees_by_path():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if says_too_little(node.name) and not is_property(node) and (path, node.name) not in OF_INTERFACES:
                yield f"{path}:{node.lineno} {node.name}"


def functions_of_other_results() -> Iterator[str]:
    for path, tree in trees_by_path():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.returns is None:
                continue
            wanted, returns = RESULTS.get(node.name.strip("_").partition("_")[0]), ast.unparse(node.returns)
            if wanted is not None and "_" in node.name.strip("_") and wanted.search(returns) is None:
                yield f"{path}:{node.lineno} {node.name} -> {returns}"


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) of each variable, parameter, attribute and definition."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def words_of_others() -> Iterator[str]:
    for folder, words in OTHER_WORDS.items():
        for path, tree in trees_by_path():
            if path.startswith(folder):
                for line, name in names_in(tree):
                    for word in set(re.split(r"_+|(?<=[a-z])(?=[A-Z])", name)):
                        if word.lower() in words:
                            yield f"{path}:{line} {name}: {words[word.lower()]}"


def second_docstrings() -> Iterator[str]:
    """Comments that stand alone in the middle of a module and say what comes in and goes out, or have paragraphs."""
    for path, _ in trees_by_path():
        lines = ["", *(ROOT / path).read_text().splitlines(), ""]
        for number, line in enumerate(lines):
            if not line.startswith("# ") or lines[number - 1]:
                continue
            block = list(takewhile(lambda text: text.startswith("#"), lines[number:]))
            if lines[number + len(block)] == "" and (IN_AND_OUT.search(" ".join(block)) or "#" in block):
                yield f"{path}:{number} {line}"


def test_a_module_has_one_docstring() -> None:
    """What the parts of a module are is said by a heading of a line; what stands there for itself is a module."""
    assert list(second_docstrings()) == []


def test_a_function_is_a_verb_with_its_object_or_a_noun() -> None:
    assert list(functions_that_say_too_little()) == []


def test_a_function_returns_what_its_verb_promises() -> None:
    assert list(functions_of_other_results()) == []


def test_a_concept_has_one_word() -> None:
    assert list(words_of_others()) == []


def files_of_general_names() -> Iterator[str]:
    for path, _ in trees_by_path():
        if path.rpartition("/")[2] in TOO_GENERAL:
            yield path


def test_a_file_is_named_for_what_it_holds() -> None:
    assert list(files_of_general_names()) == []
