"""The numbers that stand for something are those of Kafka's own classes, in fields that there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from decoders.apis import api, enums
from decoders.apis.enums import ENUMS
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


@pytest.mark.parametrize("key", ENUMS)
def test_the_fields_exist_and_hold_numbers(key: int) -> None:
    found = api(key)
    known = {
        path: field for side in (found.request, found.response) for path, field, _ in paths(side.fields, found.versions)
    }
    for path in ENUMS[key]:
        assert known[path].kind in ("int8", "int16", "int64"), path
