"""kw against Kafka's own generated classes: equal layouts, headers, values, bytes and defaults, without exception."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from decoders.apis import api
from decoders.embedded import STRUCTURES, encode_embedded, parse_structure_declaration
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.header_versions import request_header_version, response_header_version
from decoders.protocol_facts.kafka_releases import api_versions_of_release, feature_levels_of_release
from decoders.schema.api_declaration import Field, Plan, resolve
from decoders.schema.decode_and_encode import decode, encode
from tests.broker.jars import Missing, client_jars, coordinator_jars, explain_missing_tools, member_jars
from tests.oracle.java_oracle import SIDES, Case, Java, cases, differences, expected_layout, minor, plan_of
from tests.oracle.java_values import STYLES, random_value
from tests.reference.jars import PATCHES
from tests.schema.values import random_value as any_value

pytestmark = pytest.mark.oracle

# 3.9.2 has what 4.0 removed, 4.0.2 the first share APIs, the newest one everything else.
OLDER: Final = ("3.9.2", "4.0.2")
NEWEST: Final = PATCHES[-1]
# Releases whose unstable versions had another layout than the stable one.
EARLY: Final[dict[str, list[Case]]] = {
    "2.7.2": [(54, 0, "request")],
    "3.5.2": [(68, 0, "request"), (68, 0, "response")],
    "3.6.2": [(68, 0, "request"), (68, 0, "response")],
    "3.7.2": [(69, 0, "response")],
}
# Styles whose JSON has everything in the bytes, so that Kafka can build the message from it.
REBUILT: Final = ("plain", "empty", "nulls", "tagged")
# Structures that are definitions only since a later release → that release, of the key and of the value of a record.
LATER: Final = {"ControlRecordTypeSchema": "4.3", "EndTxnMarker": "4.1", "AbortedTxn": "4.4"}
# Modules of structures that the client's jar has.
OF_CLIENTS: Final = ("control_records", "consumer_subscription_and_assignment")


def start(release: str, jars: Callable[[str], list[Path]] = client_jars) -> Java:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    try:
        return Java(release, jars)
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=[*(pytest.param(release, marks=pytest.mark.long) for release in OLDER), NEWEST])
def java(request: pytest.FixtureRequest) -> Iterator[Java]:
    found = start(request.param)
    yield found
    found.close()


# Most APIs have a number of cases that 3 does not divide: each has some of the chosen.
SOME_CASES: Final = pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.full)])


def report(wrong: list[str]) -> str:
    return f"{len(wrong)} differences:\n" + "\n".join(line[:300] for line in wrong[:60])


def older_names(case: Case) -> dict[str, tuple[str, ...]]:
    """Older names of each current field name, anywhere in the message."""
    found: dict[str, tuple[str, ...]] = {}

    def gather(fields: tuple[Field, ...]) -> None:
        for field in fields:
            found[field.name] = found.get(field.name, ()) + field.was
            gather(field.fields)

    key, _, side = case
    gather(getattr(api(key), side).fields)
    return found


def test_layouts_and_headers(java: Java) -> None:
    release = java.release
    (inventory,) = java.ask([["inventory"]])
    wrong: list[str] = []
    for row in inventory:
        key, (low, high) = row["key"], row["versions"]
        if (low, high) == (0, -1):
            continue  # 4.x keeps the names of four APIs without versions
        if str(api_versions_of_release(minor(release))[key]) != (f"{low}-{high}" if low != high else f"{low}"):
            wrong.append(f"{key}: Kafka has versions {low}-{high}")
        for at, version in enumerate(range(low, high + 1)):
            headers = (request_header_version(key, version), response_header_version(key, version))
            if headers != (row["headers"]["request"][at], row["headers"]["response"][at]):
                wrong.append(f"{key} v{version}: header versions {headers}")
            for side in SIDES:
                case: Case = (key, version, side)
                mine = expected_layout(plan_of(release, case))
                kafkas = row["layouts"][side][at]
                if release != NEWEST:
                    mine, kafkas = vague(mine), vague(kafkas)
                wrong += compared(mine, kafkas, older_names(case), f"{row['name']} {side} v{version}")
    assert not wrong, report(wrong)
    assert {row["key"] for row in inventory if row["versions"] != [0, -1]} == set(
        api_versions_of_release(minor(release))
    )


def vague(rows: list[Any]) -> list[Any]:
    """A layout in the form of older classes, which do not tell which structs and records may be null."""
    told = []
    for name, word, nullable, tag, inner in rows:
        silent = word == "STRUCT" or word.endswith("RECORDS")
        word = word.replace("NULLABLE_", "") if silent else word
        told.append([name, word, nullable and not silent, tag, vague(inner)])
    return told


def compared(mine: list[Any], kafkas: list[Any], names: dict[str, tuple[str, ...]], place: str) -> Iterator[str]:
    if len(mine) != len(kafkas):
        yield f"{place}: we have {[row[0] for row in mine]}, Kafka {[row[0] for row in kafkas]}"
        return
    for ours, theirs in zip(mine, kafkas, strict=True):
        name, word, nullable, tag, inner = ours
        if theirs[0] not in (name, *names.get(name, ())) or (word, tag) != (theirs[1], theirs[3]):
            yield f"{place}.{name}: we have {ours[:4]}, Kafka {theirs[:4]}"
        if nullable != theirs[2]:
            yield f"{place}.{name}: nullable {nullable}, Kafka {theirs[2]}"
        yield from compared(inner, theirs[4], names, f"{place}.{name}")


@SOME_CASES
def test_values_and_bytes(java: Java, every: int) -> None:
    wrong = wrong_values(java, list(cases(java.release))[::every])
    assert not wrong, report(wrong)


@pytest.mark.long
@pytest.mark.parametrize("early", EARLY)
def test_early_layouts(early: str) -> None:
    """Layouts of unstable versions, against the classes of their releases (3.9.2 and 4.0.2 are tested above)."""
    java = start(early)
    wrong = wrong_values(java, EARLY[early])
    java.close()
    assert not wrong, report(wrong)


def wrong_values(java: Java, wanted: list[Case]) -> list[str]:
    """The cases in which Kafka and we read other values in our bytes, or write other bytes for them."""
    release = java.release
    asked: list[tuple[Case, str, dict[str, Any], bytes]] = []
    for case in wanted:
        plan = plan_of(release, case)
        for style in STYLES:
            value = random_value(plan, style, f"{case}{style}")
            asked.append((case, style, value, encode(plan, value)))
    questions: list[list[object]] = [
        ["message", *case, data.hex(), style in REBUILT and not has_records(value, plan_of(release, case))]
        for case, style, value, data in asked
    ]
    wrong: list[str] = []
    for (case, style, value, data), answer in zip(asked, java.ask(questions), strict=True):
        wrong += wrong_answer(release, case, style, value, data, answer)
    return wrong


def wrong_answer(
    release: str, case: Case, style: str, value: dict[str, Any], data: bytes, answer: dict[str, Any]
) -> Iterator[str]:
    place = f"{api(case[0]).name} v{case[1]} {case[2]} {style}"
    if "error" in answer:
        yield f"{place}: {answer['error']}"
        return
    plan = plan_of(release, case)
    for text in differences(plan, value, json.loads(answer["json"]), older_names(case)):
        yield f"{place} {text}"
    again = bytes.fromhex(answer["again"])
    if answer["left"] or again != data:
        yield f"{place}: Kafka writes {again.hex():.80}, we {data.hex():.80}, {answer['left']} left"
    if answer.get("rebuilt", answer["again"]) != answer["again"]:
        yield f"{place}: built from its JSON Kafka writes {answer['rebuilt']:.80}"
    if decode(plan, again) != value:
        yield f"{place}: we read other values in Kafka's bytes"


def has_records(value: dict[str, Any], plan: Plan) -> bool:
    """Whether the message carries records, which Kafka's JSON leaves out."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        if inner is None:
            continue
        if field.kind == "records":
            return True
        if field.plan is not None and any(has_records(one, field.plan) for one in (inner if field.array else [inner])):
            return True
    return False


@SOME_CASES
def test_defaults(java: Java, every: int) -> None:
    """A message with all fields at their defaults has the same bytes."""
    release = java.release
    asked = list(cases(release))[::every]
    wrong: list[str] = []
    for case, answer in zip(asked, java.ask([["defaults", *case] for case in asked]), strict=True):
        ours = encode(plan_of(release, case), {})
        if isinstance(answer, dict) or bytes.fromhex(answer) != ours:
            wrong.append(f"{api(case[0]).name} v{case[1]} {case[2]}: Kafka {answer!s:.90}, we {ours.hex():.90}")
    assert not wrong, report(wrong)


@pytest.mark.long
def test_error_codes(java: Java) -> None:
    """The newest table of errors equals ours; the codes of older releases are part of it."""
    (codes,) = java.ask([["errors"]])
    ours = [[code, error.name, error.retriable] for code, error in ERRORS.items()]
    if java.release == NEWEST:
        assert codes == ours
    known = {code: name for code, name, _ in ours}
    assert {code: name for code, name, _ in codes}.items() <= known.items()


def test_structures(java: Java) -> None:
    """The structures inside bytes fields that this release has."""
    ours = [name for name, row in STRUCTURES.items() if row.module in OF_CLIENTS]
    names = [name for name in [*ours, "AbortedTxn", "DefaultPrincipalData"] if java.release >= LATER.get(name, "")]
    compare_structures(java, names)


# Structures that the newest release no longer has: internal topics may hold them for years.
GONE: Final = frozenset(
    {
        *("AccessControlRecord", "QuotaRecord", "RemoveFeatureLevelRecord"),
        *("ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue"),
    }
)
# Files of structures of which Kafka has code, but no definitions.
UNDEFINED: Final = ("connect_worker_metadata_and_assignment", "assignor_user_data")


@pytest.mark.long
def test_structures_of_internal_topics() -> None:
    """All structures of internal topics, against the classes of coordinators, controllers and storage."""
    java = start(NEWEST, coordinator_jars)
    names = [
        name
        for name, row in STRUCTURES.items()
        if name not in GONE and row.module not in UNDEFINED and minor(NEWEST) >= LATER.get(name, "")
    ]
    try:
        compare_structures(java, names)
    finally:
        java.close()


@pytest.mark.long
def test_levels_of_features() -> None:
    """The levels of each feature that brokers of the newest release support."""
    java = start(NEWEST, coordinator_jars)
    try:
        (found,) = java.ask([["features"]])
    finally:
        java.close()
    ours = {name: [levels.low, levels.high] for name, levels in feature_levels_of_release(minor(NEWEST)).items()}
    assert ours == {name: levels for name, levels in found.items() if levels[1]}, (
        "FEATURES in decoders/protocol_facts/kafka_releases.py"
    )


# The newest release that Streams and Connect are published in.
MEMBERS: Final = "4.3.1"
_CONNECT: Final = "org.apache.kafka.connect.runtime.distributed."
_STREAMS: Final = "org.apache.kafka.streams.internals.generated."
_CONSUMER: Final = "org.apache.kafka.clients.consumer."
# (structure, version, size of the bytes before it, class, its schemas)
SCHEMAS: Final = [
    ("ConnectProtocolMetadata", 0, 2, f"{_CONNECT}ConnectProtocol", "CONFIG_STATE_V0"),
    (
        "ConnectProtocolMetadata",
        1,
        2,
        f"{_CONNECT}IncrementalCooperativeConnectProtocol",
        "CONFIG_STATE_V1 ALLOCATION_V1",
    ),
    ("ConnectProtocolAssignment", 0, 2, f"{_CONNECT}ConnectProtocol", "ASSIGNMENT_V0"),
    ("ConnectProtocolAssignment", 1, 2, f"{_CONNECT}IncrementalCooperativeConnectProtocol", "ASSIGNMENT_V1"),
    ("StickyAssignorUserData", 0, 0, f"{_CONSUMER}StickyAssignor", "STICKY_ASSIGNOR_USER_DATA_V0"),
    ("StickyAssignorUserData", 1, 0, f"{_CONSUMER}StickyAssignor", "STICKY_ASSIGNOR_USER_DATA_V1"),
    (
        *("CooperativeStickyAssignorUserData", 0, 0, f"{_CONSUMER}CooperativeStickyAssignor"),
        "COOPERATIVE_STICKY_ASSIGNOR_USER_DATA_V0",
    ),
    *(
        ("SubscriptionInfoData", version, 0, f"{_STREAMS}SubscriptionInfoData", f"SCHEMA_{version}")
        for version in range(1, 12)
    ),
]
# Assignments of Streams, by field: lists have one element, as Streams writes them in no order.
ASSIGNED: Final[dict[str, Any]] = {
    "commonly_supported_version": 11,
    "subtopology": 1,
    "partition": 2,
    "named_topology": [0x78, 0xE9],
    "topic": "t",
    "topic_index": 0,
    "index": 0,
    "name": "t",
    "host": "h",
    "port": 80,
    "err_code": 3,
    "next_rebalance_ms": 77,
}


@pytest.mark.long
def test_structures_of_members() -> None:
    """The structures of Streams, Connect and the sticky assignors, against their classes."""
    java = start(MEMBERS, member_jars)
    wrong: list[str] = []
    rng = Random("members")
    try:
        for name, version, before, where, schemas in SCHEMAS:
            plan = resolve(parse_structure_declaration(name), version)
            for _ in range(20):
                data = encode_embedded(name, version, any_value(plan, rng, strange=False, values=40))[before:]
                (answer,) = java.ask([["schemas", where, schemas, data.hex()]])
                if answer != {"left": 0, "again": data.hex()}:
                    wrong.append(f"{name} v{version}: {answer} for {data.hex()}")
        for version in range(1, 12):
            plan = resolve(parse_structure_declaration("AssignmentInfo"), version)
            data = encode_embedded("AssignmentInfo", version, assigned(plan))
            (answer,) = java.ask([["assignment_info", data.hex()]])
            if answer != data.hex():
                wrong.append(f"AssignmentInfo v{version}: {answer} for {data.hex()}")
    finally:
        java.close()
    assert not wrong, report(wrong)


def assigned(plan: Plan) -> dict[str, Any]:
    """A value with all fields of this version set."""
    known = {"version": plan.version, **ASSIGNED}
    return {field.name: known[field.name] if field.plan is None else [assigned(field.plan)] for field in plan.fields}


def compare_structures(java: Java, names: list[str]) -> None:
    """Random values of these structures must be read and written by Kafka as by us."""
    asked: list[tuple[str, int, str, bytes]] = []
    for name in names:
        versions = parse_structure_declaration(name).versions
        for version in range(versions.low, versions.high + 1):
            for style in STYLES:
                value = random_value(
                    resolve(parse_structure_declaration(name), version), style, f"{name}{version}{style}"
                )
                asked.append((name, version, style, encode(resolve(parse_structure_declaration(name), version), value)))
    questions: list[list[object]] = [
        ["message", name, version, "", data.hex(), style in REBUILT] for name, version, style, data in asked
    ]
    wrong: list[str] = []
    for (name, version, style, data), answer in zip(asked, java.ask(questions), strict=True):
        written = {answer.get("again"), answer.get("rebuilt", answer.get("again"))}
        if written != {data.hex()} or answer["left"]:
            wrong.append(f"{name} v{version} {style}: {answer} for {data.hex()}")
            continue
        plan = resolve(parse_structure_declaration(name), version)
        value = decode(plan, data)
        wrong += [
            f"{name} v{version} {style} {text}" for text in differences(plan, value, json.loads(answer["json"]), {})
        ]
    assert not wrong, report(wrong)
    assert {name for name, *_ in asked} == set(names)
