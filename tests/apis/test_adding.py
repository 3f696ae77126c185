"""A new API is one file with its facts, and rows of few tables: what shows, sends and replays APIs then follows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from decoders.apis import NAMES
from kwcli.completion.completion_candidates import LIMIT_VARIABLE

ROOT: Final = Path(__file__).resolve().parents[2]
KEY: Final = max(NAMES) + 1
DECLARATION: Final = f'''"""ProbeThings: an API that nobody has."""

DECLARATION = """
api {KEY} ProbeThings
versions 0-1
flexible 1+
listeners broker
route group group_id
sent by client tool
mutates
    # a note for people
errors_listed NOT_COORDINATOR
    GROUP_AUTHORIZATION_FAILED
errors_observed REBALANCE_IN_PROGRESS
errors_expected REBALANCE_IN_PROGRESS (KIP-0) the group rebalances
line group >group_id  probes >probes:known
    → <found:count:thing
    |>probes
example {{"group_id": "kw-example", "probes": -1, "probes@0": 7}}
request
    group_id  string  0+  is groupId
    probes    int32   0+
response
    error_code  int16    0+
    found       []int32  0+
"""
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library with the API: its file, what its fields mean, and its rows in two tables."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "decoders", tree / "decoders", ignore=shutil.ignore_patterns("*.so"))
    apis = tree / "decoders/apis"
    (apis / "probe_things.py").write_text(DECLARATION)
    (apis / "abouts/probe_things.txt").write_text("own request.probes: How many things to look for.\n")
    rows = {
        apis / "__init__.py": (f'    {KEY - 1}: "', f'    {KEY}: "probe_things",\n'),
        tree / "decoders/protocol_facts/kafka_releases.py": (f"    {KEY - 1}: ", f'    {KEY}: "4.4:0-1",\n'),
    }
    for path, (last, row) in rows.items():
        before, mark, after = path.read_text().partition(last)
        assert mark
        path.write_text(before + row + mark + after)
    return tree


def output(tree: Path, *words: str) -> str:
    """What the interpreter prints with the copy in front of our own library."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), LIMIT_VARIABLE: "30"}
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=tree, env=variables
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def kw(tree: Path, *words: str) -> str:
    """What a command prints."""
    return output(tree, "-m", "kwcli", *words)


def test_it_is_shown_with_its_route_and_errors(tree: Path) -> None:
    shown = " ".join(kw(tree, "apis", "ProbeThings", "-o", "text").split())
    assert "sent by client, tool served on broker listeners, by the coordinator of the group" in shown
    assert "changes something on the cluster" in shown
    assert "NOT_COORDINATOR, GROUP_AUTHORIZATION_FAILED, REBALANCE_IN_PROGRESS*" in shown
    assert "ProbeThings" in kw(tree, "errors", "REBALANCE_IN_PROGRESS", "-o", "text")
    assert "How many things to look for." in kw(tree, "apis", "ProbeThings", "1", "--about", "-o", "text")


def test_its_example_is_what_is_sent_and_encoded(tree: Path) -> None:
    sent = kw(tree, "call", "ProbeThings", "--api-version", "0", "--example", "--dry-run", "-o", "text")
    assert "group_id kw-example probes 7" in " ".join(sent.split())
    assert kw(tree, "encode", "ProbeThings", "1", "group_id=g", "probes=5") == "02670000000500\n"


def test_words_of_its_request_are_completed(tree: Path) -> None:
    assert "group_id=" in kw(tree, "__complete", "body", "", "kw", "call", "ProbeThings")


def test_its_line_its_class_and_what_is_expected_follow(tree: Path) -> None:
    code = f"""
from decoders.protocol_facts.errors.errors_by_api import expected_error_codes
from decoders.replaying.classify_apis_for_replay import classify_api
from kwcli.output.facts.compile_line_facts import FactLimits
from kwcli.output.facts.line_fact_functions import find_api_facts
from tests.output.fakes import exchange
made = exchange({KEY}, 1)
for response in ({{"found": [4, 5]}}, {{}}):
    print(find_api_facts({KEY}).facts(made, {{"group_id": "g", "probes": 3}}, response, FactLimits()))
print(classify_api({KEY}), *expected_error_codes({KEY}))
"""
    assert output(tree, "-c", code).splitlines() == [
        "['group g', 'probes 3', '→ 2 things']",
        "['group g', 'probes 3', '→ 3']",
        "data 27",
    ]


def test_what_is_wrong_with_a_fact_is_told_with_its_place(tree: Path) -> None:
    code = """
import sys
from decoders.apis import probe_things
from decoders.schema.api_declaration import DeclarationError
from decoders.protocol_facts.errors.errors_by_api import expected_errors
from decoders.protocol_facts.example_requests import example_of_all_versions
from decoders.protocol_facts.request_routing import route_of_api
from decoders.replaying.classify_apis_for_replay import classify_api
from kwcli.output.facts.line_fact_functions import find_api_facts
right = probe_things.DECLARATION
for old, new, read in (
    ("route group", "route grp", route_of_api),
    ("sent by client", "sent by clients", route_of_api),
    ("mutates", "replay data", classify_api),
    ("REBALANCE_IN_PROGRESS (", "REBALANCE (", expected_errors),
    ("(KIP-0)", "KIP-0", expected_errors),
    (":known", ":well", find_api_facts),
    ('7}', '7', example_of_all_versions),
):
    probe_things.DECLARATION = right.replace(old, new)
    try:
        read(KEY)
    except DeclarationError as error:
        print(error)
""".replace("KEY", str(KEY))
    lines = output(tree, "-c", code).splitlines()
    places = (
        "6: route",
        "7: sent",
        "8: replay",
        "13: errors_expected",
        "13: errors_expected",
        "14: line",
        "17: example",
    )
    assert [line.partition(": line ")[0] for line in lines] == ["decoders/apis/probe_things.py"] * len(places)
    for line, place in zip(lines, places, strict=True):
        assert f": line {place}: " in line
