"""Every API that a real node offers, at every version from the lowest to the highest, is answered to its example.

There must be no protocol error: the connection stays open, the answer decodes to its last byte, and an error in it only
tells that a thing named in the example does not exist (the table ANSWERS), never that the request is wrong, unknown or
too much for the node (INVALID_REQUEST, UNSUPPORTED_VERSION, UNKNOWN_SERVER_ERROR …). The table STRANGE has the versions
that are offered but never served, with the outcome that they have instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders.apis import api
from tests.broker.fixture import needs_brokers
from tests.calling.stages import ANSWERS, DOORS, LATER, SETUPS, STRANGE, Door, Stages, offered, strange

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stages() -> Iterator[Stages]:
    """The clusters, each started when first asked for; its state must be unchanged at the end, and after a restart."""
    with Stages() as started:
        yield started


def named(value: object) -> str:
    """The name of a parameter: `3.9-controller`, `Fetch`."""
    return "-".join(value) if isinstance(value, tuple) else api(value).name if isinstance(value, int) else str(value)


@pytest.mark.parametrize("some", [True, pytest.param(False, marks=pytest.mark.full)], ids=["first and last", "all"])
@pytest.mark.parametrize(("door", "key"), [(door, key) for door in DOORS for key in offered(door)], ids=named)
def test_every_version_is_answered_to_its_example(stages: Stages, door: Door, key: int, some: bool) -> None:
    stage = stages[door[0]]
    name = api(key).name
    versions = offered(door)[key]
    for version in {versions.low, versions.high} if some else range(versions.low, versions.high + 1):
        outcome = stage.call(name, "--example", "--api-version", str(version), "-o", "ndjson", door=door[1])
        instead = strange(door, name, version)
        # If the coordinator was new, the request may have gone to another node first: the last answer counts.
        exchange = json.loads((outcome.out.splitlines() or ["null"])[-1])
        if exchange is None or exchange["status"] == "unanswered":
            assert instead is not None, f"{name} {version}: {outcome}"
            assert instead in outcome.err
            assert outcome.code in (1, 5)
            continue
        assert (exchange["api_version"], exchange["status"]) == (version, "complete"), f"{name} {version}"
        assert "undecoded" not in exchange, f"{name} {version}"
        errors = {error["name"] for error in exchange["errors"]}
        assert outcome.code == bool(errors)
        if instead is not None:
            assert errors == {instead}, f"{name} {version}"
        else:
            assert errors <= ANSWERS.get(name, set()) | LATER, f"{name} {version}: {exchange['response']}"
        assert stage.cluster.is_node_running(1)


@pytest.mark.parametrize("door", DOORS, ids=named)
def test_nothing_else_is_offered(stages: Stages, door: Door) -> None:
    outcome = stages[door[0]].call("ApiVersions", "-o", "ndjson", door=door[1])
    listed = {
        row["api_key"]: (row["min_version"], row["max_version"])
        for row in json.loads(outcome.out)["response"]["api_keys"]
    }
    assert listed == {key: (versions.low, versions.high) for key, versions in offered(door).items()}


def test_produce_that_is_listed_and_not_served_is_explained(stages: Stages) -> None:
    for version in range(3):
        outcome = stages["4.3"].call("Produce", "--example", "--api-version", str(version))
        assert (outcome.code, outcome.out) == (1, "")
        (line,) = outcome.err.splitlines()
        assert f"lists Produce {version} but does not serve it" in line
        assert "from 4.0" in line


@pytest.mark.parametrize("version", [0, 12])
def test_the_program_itself(stages: Stages, version: int) -> None:
    port = stages["3.9"].cluster.nodes[0].ports["PLAINTEXT"]
    command = [sys.executable, "-m", "kwcli.main", "call", "Metadata", "--example", "-o", "ndjson"]
    command += ["--api-version", str(version)]
    ran = subprocess.run([*command, "-b", f"127.0.0.1:{port}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    exchange = json.loads(ran.stdout)
    assert exchange["api_version"] == version
    assert "orders" in [topic["name"] for topic in exchange["response"]["topics"]]


def test_what_is_strange_is_offered() -> None:
    for (door, name), (versions, _) in STRANGE.items():
        both = offered(door)[api(name).key]
        assert any(strange(door, name, version) for version in range(both.low, both.high + 1)), (door, name, versions)
    assert {door[0] for door in DOORS} == set(SETUPS)
