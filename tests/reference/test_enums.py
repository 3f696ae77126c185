"""The numbers that stand for something are those of Kafka's own classes, in fields that there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from decoders.apis import KEYS, api, enums
from decoders.apis.enums import BITS, ENUMS, words_of
from kwcli.reference.catalog import paths
from tests.reference.jars import release_jars

ROOT = Path(__file__).resolve().parents[2]
# Our table → class and method (or field) that gives the number.
CLASSES = {
    "_ACL_RESOURCE": "common.resource.ResourceType:code",
    "_PATTERN": "common.resource.PatternType:code",
    "_OPERATION": "common.acl.AclOperation:code",
    "_PERMISSION": "common.acl.AclPermissionType:code",
    "_CONFIG_RESOURCE": "common.config.ConfigResource$Type:id",
    "_CONFIG_SOURCE": "common.requests.DescribeConfigsResponse$ConfigSource:id",
    "_CONFIG_TYPE": "common.requests.DescribeConfigsResponse$ConfigType:id",
    "_CONFIG_OPERATION": "clients.admin.AlterConfigOp$OpType:id",
    "_ISOLATION": "common.IsolationLevel:id",
    "_MECHANISM": "clients.admin.ScramMechanism:type",
    "_UPGRADE": "clients.admin.FeatureUpdate$UpgradeType:code",
    "_COMPRESSION": "common.record.internal.CompressionType:id",
    "_ELECTION": "common.ElectionType:value",
    "_KEY": "common.requests.FindCoordinatorRequest$CoordinatorType:id",
}


@pytest.mark.oracle
@pytest.mark.long
def test_the_words_are_those_of_kafkas_classes() -> None:
    jar = list(release_jars().values())[-1]
    command = [sys.executable, "-m", "tests.reference.java_enums", str(jar), *CLASSES.values()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout)
    for name, word in CLASSES.items():
        mine = {str(number): text for number, text in getattr(enums, name).items()}
        assert mine == {number: text.lower() for number, text in theirs[word].items()}, word


def test_fields_that_mean_something_are_numbers_and_every_set_is_used() -> None:
    kinds: dict[str, set[str]] = {}
    for key in KEYS:
        for side in (api(key).request, api(key).response):
            for _, field, _ in paths(side.fields, api(key).versions):
                if field.means:
                    kinds.setdefault(field.means, set()).add(field.kind)
    assert kinds.keys() == {*ENUMS, *BITS}
    assert set().union(*kinds.values()) <= {"int8", "int16", "int32", "int64"}


@pytest.mark.parametrize(
    ("means", "number", "words"),
    [
        ("isolation", 0, "read_uncommitted"),
        ("isolation", 7, None),
        ("timestamp", -2, "earliest"),
        ("timestamp", 1_700_000_000_000, None),
        ("", 0, None),
        ("operations", -(1 << 31), "not_asked_for"),
        ("operations", 0, "none"),
        ("operations", 264, "read,describe"),
        ("operations", 1 << 20, "bit_20"),
    ],
)
def test_the_words_for_a_number(means: str, number: int, words: str | None) -> None:
    assert words_of(means, number) == words
