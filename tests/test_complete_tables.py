"""Tables that belong together: what one has, the other has. A failure names the row that lacks and the file for it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any, Final

import decoders.analysis
from decoders.analysis import client_compatibility
from decoders.analysis.advisories.advisory_audit import ADVISORY_VERDICTS
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.fold_interface import Fold
from decoders.analysis.portraits.client_and_broker_portraits import Portraits
from decoders.capture.link_types import LINKS
from kwcli.analyses.audit_upgrade_and_security import FAIL_ON_VERDICTS
from kwcli.analyses.compare_traffic import FAIL_ON_CHANGES
from kwcli.analyses.csv_and_table_columns import FLAT_COLUMNS
from kwcli.analyses.render_doctor_answer import FAIL_ON
from kwcli.commands.analyses import audit, diff
from kwcli.proxy.deciding.faults.parse_rule import ACTIONS, parse_rule
from kwcli.report.exchange_folds import FOLDS as FOLDS_OF_REPORT
from tests.analysis import test_doctor, test_doctor_precision, test_folds, test_portraits
from tests.capture import test_reader_rows, test_tunnels
from tests.pipeline import test_stored_exchanges
from tests.proxy.faults.client_rows import FAULTS
from tests.test_layers import ROOT, trees

SCHEMAS: Final = ROOT / "decoders" / "messages"
# Kinds of rows that are a message or structure of Kafka as `kw decode` shows it: their fields are Kafka's own.
OF_KAFKA: Final = frozenset({"message", "structure", "structure_name", "explanation"})


def missing(wanted: Iterable[object], there: Iterable[object], sentence: str) -> str:
    """Empty, or the sentence with what is wanted and not there."""
    lacking = sorted({*wanted} - {*there}, key=str)
    return f"{sentence}: {', '.join(map(str, lacking))}" if lacking else ""


def test_every_action_of_a_fault_meets_real_clients() -> None:
    played = {parse_rule(rule).action.name for fault in FAULTS.values() for rule in fault.rules}
    sentence = "no row of FAULTS (tests/proxy/faults/client_rows.py) has these actions of parse_rule.py"
    assert missing((action.name for action in ACTIONS), played, sentence) == ""


def classes_that_merge() -> Iterator[str]:
    """The names of all folds: classes that take exchanges and merge."""
    for found in pkgutil.walk_packages(decoders.analysis.__path__, "decoders.analysis."):
        for name, made in vars(importlib.import_module(found.name)).items():
            methods = ("add", "merge", "rows", "export", "resume")
            if inspect.isclass(made) and made.__module__ == found.name and all(hasattr(made, each) for each in methods):
                yield name


def test_every_class_that_merges_is_split_and_merged_in_tests() -> None:
    makers = [*test_folds.FOLDS.values(), *test_portraits.FOLDS.values(), *FOLDS_OF_REPORT.values()]
    makers += [make for make, _ in test_stored_exchanges.FOLDS.values()]
    merged = {type(make()).__name__ for make in makers} | {Fold.__name__, Portraits.__name__}
    sentence = "no row of FOLDS (tests/analysis/test_folds.py or tests/pipeline/test_stored_exchanges.py) makes these"
    assert missing(classes_that_merge(), merged, sentence) == ""


def test_every_link_type_has_a_row() -> None:
    rows = [*test_tunnels.LINK_TYPES.values(), *test_reader_rows.LINKS.values()]
    sentence = "no row of LINK_TYPES (tests/capture/test_tunnels.py) has these numbers of link_types.py"
    assert missing(LINKS, (row[0] for row in rows), sentence) == ""


def test_every_finding_has_a_scene_or_a_capture() -> None:
    shown = {scene[0] for scene in test_doctor.SCENES} | test_doctor_precision.shown_findings()
    sentence = "no scene of SCENES (tests/analysis/test_doctor.py), capture or fault shows these findings"
    assert missing(FINDINGS, shown | test_doctor_precision.LIVE | {"left-out"}, sentence) == ""
    sentence = "no row of FINDINGS (decoders/analysis/doctor/finding_kinds.py) is what these scenes show"
    assert missing((scene[0] for scene in (*test_doctor.SCENES, *test_doctor.NEAR)), FINDINGS, sentence) == ""


def published_kinds(schema: Any) -> Iterator[str]:
    """The kinds of rows that a published schema describes."""
    if isinstance(schema, dict):
        kind = schema.get("properties", {}).get("kind", {}) if isinstance(schema.get("properties"), dict) else {}
        if isinstance(kind, dict) and "const" in kind:
            yield kind["const"]
        for inner in schema.values():
            yield from published_kinds(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from published_kinds(inner)


def written_kinds() -> Iterator[str]:
    """The kinds of rows that the program writes with a version of their schema, and those of flat answers."""
    yield from FLAT_COLUMNS
    for _, tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                row = {text_of(key): text_of(value) for key, value in zip(node.keys, node.values, strict=True)}
                kind = row.get("kind")
                if kind is not None and "schema" in row:
                    yield kind


def text_of(node: ast.expr | None) -> str | None:
    """The text of a constant; None for everything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_every_answer_has_a_published_schema() -> None:
    published = {
        kind for file in SCHEMAS.glob("*.schema.json") for kind in published_kinds(json.loads(file.read_text()))
    }
    sentence = "no schema in decoders/messages/*.schema.json describes these kinds of rows"
    attributes = {"derived always"}  # a table of attributes, whose key is called so
    assert missing({*written_kinds()} - attributes, published | OF_KAFKA, sentence) == ""


def test_words_of_options_are_those_of_the_tables() -> None:
    """The commands have the words themselves, so that --help and completion load no analysis."""
    assert sorted(diff.CHANGES) == sorted(FAIL_ON_CHANGES)
    assert sorted(audit.VERDICTS) == sorted({*client_compatibility.VERDICTS, *ADVISORY_VERDICTS})
    assert sorted(audit.LEVELS) == sorted({*FAIL_ON_VERDICTS, *FAIL_ON} | {"affected"})
