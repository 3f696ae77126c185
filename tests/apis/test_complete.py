"""Every table and section that has to know all APIs: one list of what each API lacks, by file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import pytest

from decoders.apis import KEYS, NAMES, api, section
from decoders.protocol_facts.errors.error_places import ERROR_PLACES
from decoders.protocol_facts.kafka_releases import HISTORY, RELEASES, versions_of_api_by_release
from kwcli.declarations.declaration_text import read_all_declarations
from kwcli.output.facts.line_fact_functions import FUNCTIONS
from kwcli.reference.field_descriptions import read_api_abouts


def saying(word: str) -> list[int]:
    """The keys of the APIs whose declaration has a section of facts."""
    return [key for key in KEYS if section(key, word)]


# The table and its file, or the section → the API keys in it.
TABLES: Final[Mapping[str, Collection[int]]] = {
    "NAMES in decoders/apis/__init__.py": NAMES,
    "HISTORY in decoders/protocol_facts/kafka_releases.py": HISTORY,
    "ERROR_PLACES in decoders/protocol_facts/errors/error_places.py": ERROR_PLACES,
    "its section `route`": saying("route"),
    "its section `sent`": saying("sent"),
    "its section `errors_listed` or `errors_observed`": {*saying("errors_listed"), *saying("errors_observed")},
    "its section `line`": {*saying("line"), *FUNCTIONS},
    "its section `example`": saying("example"),
    "decoders/apis/abouts/<api>.txt": [key for key in KEYS if read_api_abouts(key)],
}


def lacks(tables: Mapping[str, Collection[int]]) -> Iterator[str]:
    """One line for each row that is missing from a table, and for each key that no file declares."""
    files = read_all_declarations()
    for key in sorted({*files, *KEYS}.union(*tables.values())):
        if key not in files:
            yield f"{key}: no file of decoders/apis declares it"
            continue
        for table, keys in tables.items():
            if key not in keys:
                yield f"{key} {files[key].name}: no row in {table}"


def test_every_api_has_its_row_in_every_table() -> None:
    found = list(lacks(TABLES))
    assert not found, "\n".join(["rows are missing:", *found])


def test_the_release_table_knows_the_newest_version_of_every_api() -> None:
    """A declaration's upper bound and the last entry of the API's row in HISTORY are the same number."""
    wrong = [
        f"{key} {api(key).name}: HISTORY in decoders/protocol_facts/kafka_releases.py ends at {last}, versions "
        f"{api(key).versions} in decoders/apis/{NAMES[key]}.py"
        for key in HISTORY
        for last in [max((one.high for one in versions_of_api_by_release(key).values()), default=None)]
        if last != api(key).versions.high
    ]
    assert not wrong, "\n".join([*wrong, "(an entry of a release that RELEASES does not name is not counted)"])


def test_the_release_table_names_releases() -> None:
    wrong = [
        f"{key} {api(key).name}: HISTORY in protocol_facts/kafka_releases.py names {release}, RELEASES does not"
        for key, row in HISTORY.items()
        for release in [change.partition(":")[0] for change in row.split()]
        if release not in RELEASES
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_row_is_told_by_its_file(table: str) -> None:
    tables = {**TABLES, table: [key for key in TABLES[table] if key != 12]}
    assert {*lacks(tables)} - {*lacks(TABLES)} == {f"12 Heartbeat: no row in {table}"}


def test_a_row_without_a_declaration_is_told() -> None:
    tables: dict[str, Any] = {"HISTORY": [*KEYS, KEYS[-1] + 1]}
    assert f"{KEYS[-1] + 1}: no file of decoders/apis declares it" in [*lacks(tables)]


COMMANDS: Final = (
    ("apis",),
    ("apis", "-o", "json"),
    ("apis", "SyncGroup"),
    ("apis", "SyncGroup", "3"),
    ("apis", "--diff", "2.0", RELEASES[-1]),
    ("call", "SyncGroup", "group_id=g", "--dry-run", "-o", "text"),
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("lacking", ["HISTORY", "route", "sent", "errors_observed", "line", "example"])
def test_an_api_without_a_fact_is_shown_all_the_same(lacking: str) -> None:
    """An API without a section or a row is still shown; run in its own process, since facts are cached once read."""
    code = f"""
import re, sys
from decoders.apis import sync_group
from decoders.protocol_facts.kafka_releases import HISTORY
from kwcli.run_environment import Environment
from kwcli.main import run
if {lacking!r} == "HISTORY":
    del HISTORY[14]
else:
    sync_group.DECLARATION, count = re.subn(r"(?m)^{lacking}\\b.*\\n( +.*\\n)*", "", sync_group.DECLARATION)
    assert count == 1
env = Environment.of_process()
sys.exit(max(run(words, env) for words in {COMMANDS!r}))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("SyncGroup") >= len(COMMANDS) - 1
