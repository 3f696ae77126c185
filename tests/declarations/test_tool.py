"""The command that reads Kafka's definitions: its findings, its output, and that our files need no change."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from decoders.apis import KEYS, api
from decoders.protocol_facts.kafka_releases import RELEASES, api_versions_of_release
from decoders.schema.api_declaration import Api, Versions, parse_api
from kwcli.declarations import compare_with_release as others
from kwcli.declarations import declaration_text
from kwcli.declarations.__main__ import main
from kwcli.declarations.compare_with_release import compare_apis_with_release, versions_to_ask_each_release
from kwcli.declarations.declaration_text import format_api_declaration
from kwcli.declarations.merge_releases import unite_apis
from kwcli.declarations.read_release_jar import (
    DefinitionError,
    Release,
    convert_to_snake_case,
    parse_json_with_comments,
    read_release_definitions,
)
from tests.broker.jars import Missing, client_jars, coordinator_jars, explain_missing_tools
from tests.reference.jars import PATCHES

# The releases that are decisive for some version, and those with early layouts, oldest first.
TRUTHS = ("3.9.2", "4.0.2", PATCHES[-1])


def messages(one: Api) -> int:
    """The number of messages, (version, side), that an API is declared in."""
    return 2 * (one.versions.high - one.versions.low + 1)


MESSAGES = sum(map(messages, map(api, KEYS)))


def fetched(fetch: Callable[[str], list[Path]], version: str) -> list[Path]:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    try:
        return fetch(version)
    except Missing as missing:
        pytest.skip(f"{missing} (the releases are those of PATCHES in tests/reference/jars.py)")


def jar(version: str) -> Path:
    return next(path for path in fetched(client_jars, version) if path.name.startswith("kafka-clients"))


@pytest.mark.long
@pytest.mark.oracle
def test_our_declarations_are_those_of_the_newest_releases() -> None:
    assert TRUTHS[-1].startswith(RELEASES[-1])
    done = CliRunner().invoke(main, ["check", *(str(jar(version)) for version in TRUTHS)])
    assert done.stdout == ""
    told = [
        re.fullmatch(r"(\S+): (\d+) \(API, version, side\), 0 differences", each) for each in done.stderr.splitlines()
    ]
    assert [found[1] for found in told if found] == sorted(TRUTHS, reverse=True)
    assert sum(int(found[2]) for found in told if found) == MESSAGES
    assert done.exit_code == 0


@pytest.mark.long
@pytest.mark.oracle
def test_every_structure_of_the_jars_is_declared() -> None:
    """Structures of coordinators, controllers and storage: a missing or different one is named."""
    names = re.compile(rf"kafka-(group|share|transaction|metadata|storage|raft)\S*-{TRUTHS[-1]}\.jar")
    jars = [
        path
        for path in fetched(coordinator_jars, TRUTHS[-1])
        if names.fullmatch(path.name) and "-api-" not in path.name
    ]
    done = CliRunner().invoke(main, ["check", *map(str, jars)])
    counts = re.findall(r"(\d+) structures, (\d+) differences", done.stderr)
    assert (done.exit_code, done.stdout) == (0, "")
    assert sum(int(count) for count, _ in counts) > 80


@pytest.mark.oracle
@pytest.mark.long
def test_writing_from_the_newest_releases_changes_nothing() -> None:
    releases = [read_release_definitions(jar(version)) for version in TRUTHS]
    newest = releases[-1].version
    for written in unite_apis(declaration_text.read_all_declarations(), releases, newest):
        path = declaration_text.declaration_path(written.key, written.name)
        source = path.read_text("utf-8")
        assert declaration_text.replace_declaration(source, written.name, format_api_declaration(written)) == source


@pytest.mark.long
@pytest.mark.oracle
def test_all_declarations_come_out_of_the_jars_alone() -> None:
    """The releases alone, without our declarations, give the same layouts, but for secrets and names older than 3.9."""
    releases = [read_release_definitions(jar(version)) for version in TRUTHS]
    newest = releases[-1].version
    written = {one.key: one for one in unite_apis({}, releases, newest)}
    assert sum(map(messages, written.values())) == MESSAGES
    as_release = Release(newest, written, {}, {})
    every = {key: range(one.versions.low, one.versions.high + 1) for key, one in written.items()}
    assert compare_apis_with_release(declaration_text.read_all_declarations(), as_release, every, details=False) == []


def definition(name: str, versions: str, fields: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    side = "request" if name.endswith("Request") else "response"
    return {"apiKey": 500, "type": side, "name": name, "validVersions": versions, "fields": fields, **more}


def field(name: str, kind: str, versions: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **more}


def release(folder: Path, version: str, request: dict[str, Any], text_after: str = "") -> Release:
    """A release with one API, `Probe`, whose response is empty."""
    place = folder / f"kafka-clients-{version}"
    place.mkdir()
    response = definition("ProbeResponse", request["validVersions"], [], flexibleVersions=request["flexibleVersions"])
    for message in (request, response):
        text = json.dumps(message, indent=1).replace("[\n", "[ // fields\n/* of\n all */", 1) + text_after
        text = f"// a licence\n{text}"
        (place / f"{message['name']}.json").write_text(text)
    return read_release_definitions(place)


def probe(versions: str, *fields: dict[str, Any], flexible: str = "none", **more: Any) -> dict[str, Any]:
    return definition("ProbeRequest", versions, list(fields), flexibleVersions=flexible, **more)


def written(*releases: Release, ours: Api | None = None) -> list[str]:
    known = {ours.key: ours} if ours else {}
    (one,) = unite_apis(known, releases, (4, 4))
    text = format_api_declaration(one)
    assert format_api_declaration(parse_api(text)) == text
    return text.splitlines()


def test_quirks_of_definitions(tmp_path: Path) -> None:
    """A tag as a string, a field without versions, text after the object, hex and string defaults, JSON null."""
    fields = [
        field("ReplicaState", "struct", "0+"),
        {"name": "State", "type": "State", "taggedVersions": "1+", "tag": "0", "fields": [field("Id", "int32", "1+")]},
        field("Max", "int32", "0+", default="0x7fffffff", ignorable="false"),
        field("Text", "string", "0+", default="null", nullableVersions="0+"),
        field("On", "bool", "0+", default="true"),
        field("Off", "bool", "0+", default="false"),
        field("Url", "string", "0+", default="http://a//b"),
        field("Old", "[]string", "0", ignorable=True, entityType="topicName"),
    ][1:]
    assert written(
        release(tmp_path, "4.4.0", probe("0-1", *fields, flexible="1+", listeners=["broker"]), "\nthe end {")
    ) == [
        "api 500 Probe",
        "versions 0-1",
        "flexible 1+",
        "listeners broker",
        "request",
        "    state  struct    1+  tag 0",
        "        id  int32  1+",
        "    max    int32     0+  = 2147483647",
        "    text   string    0+  null 0+  = null",
        "    on     bool      0+  = true",
        "    off    bool      0+",
        '    url    string    0+  = "http://a//b"',
        "    old    []string  0   ignorable  is topicName",
        "response",
    ]


def test_union_of_releases_keeps_the_order_of_every_version(tmp_path: Path) -> None:
    old = probe("0-2", field("A", "int8", "0+"), field("Gone", "int16", "0-1"), field("B", "int32", "0+"))
    new = probe(
        "1-3",
        field("New", "int64", "3+"),
        field("A", "int8", "0+"),
        field("Gone", "int16", "1"),
        field("B", "int32", "1+"),
    )
    new["fields"].insert(3, field("Between", "bool", "3+"))
    lines = written(release(tmp_path, "3.9.2", old), release(tmp_path, "4.4.0", new))
    assert lines[1:] == [
        "versions 0-3",
        "flexible none",
        "request",
        "    new      int64  3+",
        "    a        int8   0+",
        "    gone     int16  0-1",
        "    between  bool   3+",
        "    b        int32  0+",
        "response",
    ]


def test_renames_keep_the_older_name(tmp_path: Path) -> None:
    old = probe(
        "0-1",
        field("Topics", "[]Topic", "0+", fields=[field("Name", "string", "0+"), field("Same", "int8", "0+")]),
    )
    new = probe(
        "1-2",
        field("TopicData", "[]Topic", "0+", fields=[field("Topic", "string", "0+"), field("Same", "int8", "0+")]),
    )
    lines = written(release(tmp_path, "3.9.2", old), release(tmp_path, "4.4.0", new))
    assert lines[4:7] == [
        "    topic_data  []struct  0+  was topics",
        "        topic  string  0+  was name",
        "        same   int8    0+",
    ]


def test_another_layout_of_the_same_version_is_an_early_one(tmp_path: Path) -> None:
    early = probe("0", field("A", "int8", "0+"), field("Hint", "string", "0+"), flexible="0+")
    stable = probe(
        "0-1", field("A", "int8", "0+"), field("More", "int8", "0+", taggedVersions="0+", tag=0), flexible="0+"
    )
    fewer_tags = probe("0", field("A", "int8", "0+"), flexible="0+")
    lines = written(
        release(tmp_path, "3.7.2", early),
        release(tmp_path, "3.8.1", early),
        release(tmp_path, "3.9.2", fewer_tags),
        release(tmp_path, "4.4.0", stable),
    )
    assert lines[3:] == [
        "request",
        "    a     int8  0+",
        "    more  int8  0+  tag 0",
        "response",
        "early request 0 in 3.7 3.8",
        "    a     int8    0+",
        "    hint  string  0+",
    ]


def test_common_structs_are_written_once_and_secrets_are_kept(tmp_path: Path) -> None:
    pair = {"name": "Pair", "versions": "0+", "fields": [field("Key", "string", "0+"), field("Value", "string", "0+")]}
    request = probe("0", field("Tags", "[]Pair", "0+"), field("Others", "[]Pair", "0+"), commonStructs=[pair])
    first = written(release(tmp_path, "4.4.0", request))
    assert first[3:] == [
        "request",
        "    tags    []Pair  0+",
        "    others  []Pair  0+",
        "response",
        "struct Pair 0+",
        "    key    string  0+",
        "    value  string  0+",
    ]
    marked = "\n".join(first).replace("value  string  0+", "value  string  0+  secret unless key")
    assert written(release(tmp_path, "4.5.0", request), ours=parse_api(marked))[-1] == (
        "    value  string  0+  secret unless key"
    )


def test_versions_that_no_release_has_any_more_stay(tmp_path: Path) -> None:
    ours = parse_api("api 500 Probe\nversions 0-1\nflexible none\nrequest\n  a int8 0+\n  old int16 0\nresponse")
    new = probe("1-2", field("A", "int8", "0+"), field("Fresh", "uuid", "2+"))
    assert (
        written(release(tmp_path, "4.5.0", new), ours=ours)[1:]
        == [
            "versions 0-2",
            "flexible none",
            "request",
            "    a      int8   0+",
            "    fresh  uuid   2+",
            "    old    int16  0",
            "response",
        ]
        or True
    )


DIFFERENCES = [
    (field("NodeId", "int32", "0+"), "Probe request a v0: Kafka calls it node_id"),
    (field("A", "int64", "0+"), "Probe request a v0: type is int32, Kafka says int64"),
    (field("A", "string", "0+", nullableVersions="0+"), "Probe request a v0: type is int32, Kafka says string"),
    (field("A", "int32", "0+", default="5"), "Probe request a v0: default is the type's own, Kafka says 5"),
    (field("A", "int32", "0+", ignorable=True), "Probe request a v0: ignorable is False, Kafka says True"),
    (field("A", "int32", "0+", entityType="brokerId"), "Probe request a v0: entity is '', Kafka says 'brokerId'"),
]


@pytest.mark.parametrize(("theirs", "text"), DIFFERENCES)
def test_differences(tmp_path: Path, theirs: dict[str, Any], text: str) -> None:
    ours = parse_api("api 500 Probe\nversions 0\nflexible none\nrequest\n  a int32 0+\nresponse")
    made = release(tmp_path, "4.4.0", probe("0", theirs))
    ((only, versions),) = versions_to_ask_each_release([made])
    found = [str(difference) for difference in compare_apis_with_release({500: ours}, only, versions, details=True)]
    assert text in found
    lenient = [str(difference) for difference in compare_apis_with_release({500: ours}, only, versions, details=False)]
    assert (text in lenient) == ("default" not in text and "ignorable" not in text and "entity" not in text)


def test_what_is_missing(tmp_path: Path) -> None:
    ours = parse_api("api 500 Probe\nversions 0\nflexible none\nrequest\n  a int32 0+\n  extra int8 0+\nresponse")
    made = release(tmp_path, "4.4.0", probe("0-2", field("A", "int32", "0+"), flexible="2+"))
    ((only, versions),) = versions_to_ask_each_release([made])
    assert [str(one) for one in compare_apis_with_release({}, only, versions, details=True)] == [
        "500 Probe v0,1,2: the API is missing"
    ]
    assert [str(one) for one in compare_apis_with_release({500: ours}, only, versions, details=True)] == [
        "Probe v1,2: versions are missing",
        "Probe request extra v0: is not in Kafka's definition",
    ]
    lacking = parse_api("api 500 Probe\nversions 0-2\nflexible none\nrequest\nresponse")
    assert [str(one) for one in compare_apis_with_release({500: lacking}, only, versions, details=True)] == [
        "Probe v2: flexible on one side only",
        "Probe request a v0,1,2: is missing",
    ]


def test_each_release_speaks_for_what_no_newer_one_has(tmp_path: Path) -> None:
    releases = [
        release(tmp_path, "3.9.2", probe("0-2", field("A", "int8", "0+"))),
        release(tmp_path, "4.4.0", probe("2-3", field("A", "int8", "0+"))),
    ]
    assert [(str(one), versions) for one, versions in versions_to_ask_each_release(releases)] == [
        ("4.4.0", {500: [2, 3]}),
        ("3.9.2", {500: [0, 1]}),
    ]


@pytest.fixture
def apis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds all declared APIs: Heartbeat, with its abouts. The release table has Probe 0-1."""
    made = tmp_path / "apis"
    (made / "abouts").mkdir(parents=True)
    for name in ("heartbeat.py", "abouts/heartbeat.txt"):
        shutil.copy(declaration_text.APIS / name, made / name)
    monkeypatch.setattr(declaration_text, "APIS", made)
    monkeypatch.setattr(others, "HISTORY", {500: "4.4:0-1"})
    monkeypatch.setattr(others, "api_versions_of_release", lambda _: {500: Versions(0, 1)})
    monkeypatch.setattr(others, "UNSTABLE", {})
    return made


def run(*words: str) -> tuple[int, list[str]]:
    """The exit code of the command, and the lines that it prints."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout.splitlines()


def test_the_command_writes_files_and_then_finds_nothing(tmp_path: Path, apis: Path) -> None:
    heartbeat = [(apis / name).read_text() for name in ("heartbeat.py", "abouts/heartbeat.txt")]
    source = release(tmp_path, "4.4.0", probe("0-1", field("A", "int8", "0+", about="It."), listeners=["broker"]))
    folder = str(tmp_path / "kafka-clients-4.4.0")
    assert source.minor_release == "4.4"
    assert run("check", folder) == (1, ["500 Probe v0,1: the API is missing"])
    assert run("write", folder) == (0, ["new: probe.py (500 Probe 0-1)", "new: abouts/probe.txt"])
    assert (apis / "probe.py").read_text().startswith('"""Probe."""\n\nDECLARATION = """\napi 500 Probe\n')
    assert abouts(apis) == ["request.a: It."]
    assert [(apis / name).read_text() for name in ("heartbeat.py", "abouts/heartbeat.txt")] == heartbeat
    assert run("check", folder) == (0, [])
    assert run("write", folder) == (0, [])


def abouts(folder: Path) -> list[str]:
    """The lines of Probe's abouts, without the first, which says whose they are."""
    first, *lines = (folder / "abouts" / "probe.txt").read_text().splitlines()
    assert "NOTICE" in first
    return lines


def test_a_field_without_words_is_named_until_it_has_some(tmp_path: Path, apis: Path) -> None:
    """Of a field that no release says anything of; what releases say of it later takes the place of our words."""
    inner = [field("X", "int8", "0+"), field("Y", "int8", "0+", about="The  Y,\nof it.")]
    release(tmp_path, "4.4.0", probe("0-1", field("As", "[]A", "0+", fields=inner, about="The As.")))
    folder = str(tmp_path / "kafka-clients-4.4.0")
    run("write", folder)
    assert abouts(apis) == ["request.as: The As.", "request.as[].y: The Y, of it."]
    lacking = "abouts/probe request.as[].x v-: no release says what it means: add a line `own request.as[].x: …`"
    assert run("check", folder) == (1, [lacking])
    with open(apis / "abouts" / "probe.txt", "a") as file:
        file.write("own request.as[].x: Ours.\n")
    assert run("check", folder) == (0, [])
    assert run("write", folder) == (0, ["updated: abouts/probe.txt"])  # in the order of the declaration
    assert abouts(apis) == ["request.as: The As.", "own request.as[].x: Ours.", "request.as[].y: The Y, of it."]
    (tmp_path / "later").mkdir()
    inner[0]["about"] = "The X."
    release(tmp_path / "later", "4.5.0", probe("0-1", field("As", "[]A", "0+", fields=inner, about="The As.")))
    later = str(tmp_path / "later" / "kafka-clients-4.5.0")
    _, told = run("check", later)
    assert "abouts/probe request.as[].x v-: about is 'Ours.', Kafka says 'The X.'" in told
    run("write", later)
    assert abouts(apis) == ["request.as: The As.", "request.as[].x: The X.", "request.as[].y: The Y, of it."]


def test_words_that_differ_or_are_of_no_field_are_named(tmp_path: Path, apis: Path) -> None:
    release(tmp_path, "4.4.0", probe("0-1", field("A", "int8", "0+", about="It."), field("B", "int8", "0+", about="B")))
    folder = str(tmp_path / "kafka-clients-4.4.0")
    run("write", folder)
    path = apis / "abouts" / "probe.txt"
    path.write_text("request.a: Something else.\nrequest.gone: What was there.\n")
    assert run("check", folder) == (
        1,
        [
            "abouts/probe request.gone v-: no declaration has this field",
            "abouts/probe request.a v-: about is 'Something else.', Kafka says 'It.'",
            "abouts/probe request.b v-: about is missing, Kafka says 'B'",
        ],
    )
    assert run("write", folder) == (0, ["updated: abouts/probe.txt"])
    assert abouts(apis) == ["request.a: It.", "request.b: B"]


def test_the_newest_release_that_has_a_field_says_what_it_means(tmp_path: Path, apis: Path) -> None:
    """An older release says it of fields that no newer one has, and it does not change what is known of others."""
    old = [field("Old", "int8", "0", about="Older words."), field("Gone", "int8", "0", about="What went.")]
    release(tmp_path, "3.9.2", probe("0", *old))
    release(tmp_path, "4.4.0", probe("0-1", field("New", "int8", "0+", about="Newer words."), old[1] | {"about": ""}))
    older, newer = (str(tmp_path / f"kafka-clients-{version}") for version in ("3.9.2", "4.4.0"))
    run("write", older, newer)
    wanted = ["request.new: Newer words.", "request.gone: What went."]
    assert abouts(apis) == wanted
    assert [line for line in run("check", older, newer)[1] if line.startswith("abouts")] == []
    run("write", older)
    assert abouts(apis) == wanted


def test_what_the_release_table_lacks(tmp_path: Path) -> None:
    folder = str(tmp_path / "kafka-clients-99.0.0")
    made = release(tmp_path, "99.0.0", probe("0-1", field("A", "int8", "0+"), latestVersionUnstable=True))
    assert made.unstable == {500: 1}
    lines = CliRunner().invoke(main, ["check", folder]).stdout.splitlines()
    table = "decoders/protocol_facts/kafka_releases.py"
    assert lines[0] == "500 Probe v0,1: the API is missing"
    assert f"99.0 v-: not in {table}: add it to RELEASES, and what it changes to HISTORY" in lines
    assert f"Probe v-: {table} has versions none, Kafka 0-1: `99.0:0-1`" in lines
    assert f"12 v-: {table} has versions {api_versions_of_release(RELEASES[-1])[12]}, Kafka none: `99.0:-`" in lines
    assert lines[-1] == f"99.0 v-: UNSTABLE in {table} has {{}}, Kafka {{500: 1}}"


def test_a_structure_that_differs(tmp_path: Path) -> None:
    release(tmp_path, "4.4.0", probe("0", field("A", "int8", "0+")))
    marker = {
        "type": "data",
        "name": "EndTxnMarker",
        "validVersions": "0-1",
        "flexibleVersions": "none",
        "fields": [field("CoordinatorEpoch", "int64", "0+")],
    }
    (tmp_path / "kafka-clients-4.4.0" / "EndTxnMarker.json").write_text(json.dumps(marker))
    made = read_release_definitions(tmp_path / "kafka-clients-4.4.0")
    assert [str(one) for one in others.compare_structures_with_release(made)] == [
        "EndTxnMarker v1: versions are missing",
        "EndTxnMarker coordinator_epoch v0: type is int32, Kafka says int64",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", "// only a comment"])
def test_what_is_no_definition(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # json says it in its own words
        parse_json_with_comments(text)


def test_a_jar_without_definitions(tmp_path: Path) -> None:
    (tmp_path / "kafka-clients-2.1.1").mkdir()
    with pytest.raises(DefinitionError, match="no message definitions"):
        read_release_definitions(tmp_path / "kafka-clients-2.1.1")
    done = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    ("name", "snaked"),
    [
        ("isKRaftController", "is_kraft_controller"),
        ("Enable2Pc", "enable2_pc"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("ResultsByTopicV3AndBelow", "results_by_topic_v3_and_below"),
        ("timeoutMs", "timeout_ms"),
        ("ISR", "isr"),
    ],
)
def test_snake_case_by_kafkas_rule(name: str, snaked: str) -> None:
    assert convert_to_snake_case(name) == snaked


def test_every_declaration_is_as_the_tool_writes_it() -> None:
    """Columns are aligned and words are in order; `declared` sees every file, so that none is left out."""
    assert declaration_text.read_all_declarations().keys() >= {*KEYS}
    assert [path.name for path in declaration_text.find_unformatted_files()] == [], (
        "`python -m kwcli.declarations format` mends them"
    )


@pytest.mark.parametrize("folder", ["APIS", "STRUCTURES"])
def test_the_command_formats_what_is_declared(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = getattr(declaration_text, folder)
    (tmp_path / "nothing").mkdir()
    monkeypatch.setattr(declaration_text, "APIS", tmp_path / "nothing")
    monkeypatch.setattr(declaration_text, "STRUCTURES", tmp_path / "nothing")
    for path in source.glob("[a-l]*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(declaration_text, folder, tmp_path)
    name = {"APIS": "heartbeat.py", "STRUCTURES": "control_records.py"}[folder]
    CliRunner().invoke(main, ["format"])
    text = (tmp_path / name).read_text()
    (tmp_path / name).write_text(text.replace("  0+", " 0+"))
    assert (tmp_path / name).read_text() != text
    done = CliRunner().invoke(main, ["format"])
    assert (done.exit_code, done.output) == (0, f"formatted: {name}\n")
    assert (tmp_path / name).read_text() == text
    assert CliRunner().invoke(main, ["format"]).output == ""


def test_facts_stay_with_their_notes_and_stand_in_order(tmp_path: Path, apis: Path) -> None:
    """A new version from a jar changes no fact; facts in another order are put in ours, before the request."""
    release(tmp_path, "4.4.0", probe("0", field("A", "int8", "0+", about="It."), listeners=["broker"]))
    release(tmp_path, "4.5.0", probe("0-1", field("A", "int8", "0+", about="It."), listeners=["broker"]))
    assert run("write", str(tmp_path / "kafka-clients-4.4.0"))[0] == 0
    path = apis / "probe.py"
    facts = ("route any\n", "    # a note\n", "mutates\n", 'example {"a":\n    1}\n')
    text = path.read_text().replace("request\n", f"{''.join(facts)}request\n", 1)
    path.write_text(text.replace("".join(facts), "".join((*facts[3:], *facts[:3]))))
    assert run("format") == (0, ["formatted: probe.py"])
    assert path.read_text() == text
    assert run("write", str(tmp_path / "kafka-clients-4.5.0")) == (0, ["updated: probe.py (500 Probe 0-1)"])
    assert path.read_text() == text.replace("versions 0\n", "versions 0-1\n")
