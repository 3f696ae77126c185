"""Enumerations of numbers equal those of Kafka's own classes, and belong to existing fields."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders.apis import KEYS, api
from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.exchanges.body_reader import SIDES
from decoders.protocol_facts import enum_words
from decoders.protocol_facts.enum_words import BITS, ENUMS, word_for_number
from decoders.schema.api_declaration import Field
from decoders.wire.primitive_types import RANGES
from kwcli.reference.walk_field_paths import walk_field_paths
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
    "_SECURITY_PROTOCOL": "common.security.auth.SecurityProtocol:id",
    "_STREAMS_STATUS": "common.requests.StreamsGroupHeartbeatResponse$Status:code",
    "_TOPOLOGY_STATUS": "clients.admin.StreamsGroupTopologyDescriptionStatus:id",
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
        mine = {str(number): text for number, text in getattr(enum_words, name).items()}
        assert mine == {number: text.lower() for number, text in theirs[word].items()}, word


def _declared() -> Iterator[tuple[str, str, Field]]:
    """Every field of every API and structure: its owner, its path, the field."""
    for key in KEYS:
        for side in SIDES:
            message = api(key).message(side)
            for path, field, _ in walk_field_paths(message.fields, message.versions):
                yield f"{api(key).name} {side}", path, field
    for name in STRUCTURES:
        message = parse_structure_declaration(name)
        for path, field, _ in walk_field_paths(message.fields, message.versions):
            yield name, path, field


def test_fields_that_mean_something_are_numbers_and_every_set_is_used() -> None:
    kinds: dict[str, set[str]] = {}
    for _, _, field in _declared():
        if field.means:
            kinds.setdefault(field.means, set()).add(field.kind)
    assert kinds.keys() == {*ENUMS, *BITS}
    assert set().union(*kinds.values()) <= {"int8", "int16", "int32", "int64"}


# Names of fields whose numbers have names, in any message.
NAMED = re.compile(
    "isolation_level|acks|(resource_)?pattern_type(_filter)?|permission_type|operation|resource_types?(_filter)?|"
    "config_(source|type|operation)|key_type|member_type|election_type|upgrade_type|endpoint_type|match_type|mechanism|"
    "(accepted_)?compression_types?|security_protocol|leader_recovery_state|delivery_state|acknowledge_types|node_type|"
    ".*authorized_operations|.*leader_epoch|leader_id|leader|(ongoing_txn_)?producer_(id|epoch)|generation_id(_or_.*)?"
)
# Numbers that seem to have names, and have none.
NAMELESS = {
    ("LeaderChangeMessage", "leader_id"): "there is one",
    ("SubscriptionInfoData", "unique_field"): "a number that changes, so that the group is balanced again",
    ("JoinGroup request", "rebalance_timeout_ms"): "-1 stands for its absence in version 0, never on the wire",
    ("WriteTxnMarkers request", "markers[].transaction_version"): "a version",
}


def test_whatever_has_a_name_says_so_in_its_declaration() -> None:
    """A field of int8, with a negative default, or with certain names declares an enumeration, but for NAMELESS."""
    lacking = {
        (whose, path)
        for whose, path, field in _declared()
        if field.kind in RANGES
        and not field.means
        and (field.kind == "int8" or NAMED.fullmatch(field.name) or str(field.default).startswith("-"))
    }
    assert sorted(lacking) == sorted(NAMELESS)


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
    assert word_for_number(means, number) == words
