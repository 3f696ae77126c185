"""What fields mean: every field of every version has words, Kafka's are those of its jars, and they are shown."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import decoders
from decoders.apis import KEYS, NAMES
from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.protocol_facts.header_versions import REQUEST_HEADER, RESPONSE_HEADER
from decoders.protocol_facts.kafka_releases import RELEASES, versions_of_api_by_release
from decoders.schema.api_declaration import Plan, parse_message, resolve
from kwcli.reference import wire_layout
from kwcli.reference.api_at_release import find_api_in_release, read_abouts_in_release
from kwcli.reference.field_descriptions import (
    add_abouts_to_rows,
    parse_abouts,
    read_api_abouts,
    read_header_abouts,
    read_structure_abouts,
)
from kwcli.run_environment import Exit
from tests.apis.everything import layouts
from tests.cli.worlds import kw, world
from tests.reference.definitions import snake, span
from tests.reference.jars import release_jars

FOLDERS = [Path(decoders.__file__).parent / room / "abouts" for room in ("apis", "embedded/declarations")]


def paths(plan: Plan, above: str) -> Iterator[str]:
    for field in (*plan.fields, *plan.tagged):
        yield above + field.name
        if field.plan is not None:
            yield from paths(field.plan, f"{above}{field.name}{'[]' * field.array}.")


def test_every_field_of_every_version_has_words() -> None:
    """Also those of early layouts; and a file has no line besides."""
    lacking, besides = [], []
    for key in KEYS:
        wanted = {path for one in layouts(key) for path in paths(one.plan, f"{one.side}.")}
        abouts = read_api_abouts(key)
        assert wanted
        lacking += [f"decoders/apis/abouts/{NAMES[key]}.txt: {path}" for path in wanted if not abouts.get(path)]
        besides += [f"decoders/apis/abouts/{NAMES[key]}.txt: {path}" for path in abouts.keys() - wanted]
    assert lacking == [], "lines are missing; `python -m kwcli.declarations write` takes Kafka's words from a jar"
    assert besides == [], "no declaration has these fields"


def test_every_field_of_headers_and_of_structures_that_kafka_defines_has_words() -> None:
    messages = {name: parse_structure_declaration(name) for name in STRUCTURES}
    messages |= {message.name: message for message in map(parse_message, (REQUEST_HEADER, RESPONSE_HEADER))}
    said = structures() | dict(read_header_abouts())
    assert all(said.values())
    without = set()
    for name, message in messages.items():
        versions = range(message.versions.low, message.versions.high + 1)
        wanted = {path for version in versions for path in paths(resolve(message, version), f"{name}.")}
        lines = {line for line in said if line.startswith(f"{name}.")}
        if lines:
            assert lines == wanted
        elif wanted:
            without.add(name)
    # Kafka writes these by hand.
    assert without == {
        *("ConnectProtocolMetadata", "ConnectProtocolAssignment"),
        *("StickyAssignorUserData", "CooperativeStickyAssignorUserData", "AssignmentInfo"),
    }


def test_only_a_field_of_which_no_release_says_anything_has_our_words() -> None:
    own = [
        f"{path.stem} {line}"
        for folder in FOLDERS
        for path in sorted(folder.glob("*.txt"))
        for line, about in parse_abouts(path.read_text("utf-8")).items()
        if about.own
    ]
    early = [f"join_group {side}" for side in ("request", "response")]
    left = [line for line in own if not line.startswith(tuple(early))]
    assert left == [
        "alter_share_group_offsets response.responses[].partitions",
        "describe_share_group_offsets response.groups[].topics[].partitions",
        "update_metadata request.live_brokers",
        *(
            f"consumer_offsets_topic_consumer_groups ConsumerGroupRegularExpressionValue.{name}"
            for name in ("topics", "version", "timestamp")
        ),
    ]
    assert len(own) - len(left) == 9  # the fields of Kafka 0.8.2's JoinGroup


def in_jar(jar: Path) -> Iterator[tuple[str, int | None, str, str]]:
    """Each field with an `about` in a jar: the message, its key if it is an API's, the path, the text."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.startswith("common/message/") and name.endswith(".json"):
                lines = archive.read(name).decode().splitlines()
                text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
                data, _ = json.JSONDecoder().raw_decode(text.lstrip())
                commons = {each["name"]: each["fields"] for each in data.get("commonStructs", ())}
                for path, about in _in(data.get("fields", []), commons, "", range(99)):
                    yield data["name"], data.get("apiKey"), path, about


def _in(fields: list[dict[str, Any]], commons: dict[str, Any], above: str, whole: range) -> Iterator[tuple[str, str]]:
    for field in fields:
        low, high = span(field["versions"] if "versions" in field else field["taggedVersions"])
        versions = range(max(low, whole.start), min(high + 1, whole.stop))
        if not versions:  # of a struct that several fields have, each in other versions
            continue
        kind = field["type"]
        path = above + snake(field["name"])
        if "about" in field:
            yield path, " ".join(field["about"].split())
        dots = "[]." if kind.startswith("[]") else "."
        yield from _in(field.get("fields") or commons.get(kind.removeprefix("[]"), []), commons, path + dots, versions)


@pytest.mark.long
def test_kafkas_words_are_those_of_its_jars() -> None:
    """Those of the newest release; for an API that is gone those of the last release that had it."""
    jars = release_jars()
    newest = {row[:3]: row[3] for row in in_jar(jars[RELEASES[-1]])}
    assert len(newest) > 1_600
    sides = {"Request": "request.", "Response": "response."}
    last = {row[:3]: row[3] for row in in_jar(jars["3.9"]) if row[1] in (4, 5, 6, 7)}
    assert len(last) > 100
    wrong = []
    for (message, key, path), text in (newest | last).items():
        if key is None:
            said = read_header_abouts() if message.endswith("Header") else structures()
            found = said.get(f"{message}.{path}")
        else:
            side = next(side for end, side in sides.items() if message.endswith(end))
            found = read_api_abouts(key).get(side + path)
        if found != text:
            wrong.append(f"{message} {path}: {found!r} is not {text!r}")
    assert wrong == []


def structures() -> dict[str, str]:
    return {line: text for file in FOLDERS[1].glob("*.txt") for line, text in read_structure_abouts(file.stem).items()}


def shown(*words: str) -> Any:
    outcome = kw("apis", *words, "-o", "json")
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    return json.loads(outcome.out)


def rows(found: Any) -> list[dict[str, Any]]:
    """Every row of a field in what `kw apis` shows of an API."""
    sides = [found["request"], found["response"]]
    return [
        row
        for side in sides
        for part in ([side] if isinstance(side, list) else [side["header"], side["body"]])
        for row in below(part)
    ]


@pytest.mark.parametrize("words", [["Produce", "13"], ["Produce"], ["LeaderAndIsr", "7"], ["AlterPartition"]])
def test_json_says_of_each_field_what_it_means_if_asked(words: list[str]) -> None:
    found = shown(*words, "--about")
    assert len(rows(found)) > 20
    assert all(row["about"] for row in rows(found))
    for row in rows(found):
        del row["about"]
    assert found == shown(*words)


@pytest.mark.parametrize("words", [["Produce", "13"], ["Produce"]])
def test_text_says_of_each_field_what_it_means(words: list[str]) -> None:
    said = {row["about"] for row in rows(shown(*words, "--about"))}
    assert len(said) > 20
    wide = kw("apis", *words, "--about", "-o", "text").out
    assert [about for about in said if about not in wide] == []
    narrow = kw("apis", *words, "--about", "-o", "text", env=world(columns=80)).out
    assert max(map(len, narrow.splitlines())) <= 80
    assert "The timeout to await a response" in narrow
    assert "…" not in narrow  # a column that has no room is left out, not cut
    assert "The timeout" not in kw("apis", *words, "-o", "text", env=world(columns=80)).out


@pytest.mark.one_in(4)
@pytest.mark.parametrize("release", RELEASES)
def test_names_and_layouts_of_a_release_have_words(release: str) -> None:
    """Also fields with other names at the time, and layouts that were not stable yet."""
    checked = 0
    for key in KEYS:
        its = find_api_in_release(key, release)
        if its is None:
            continue
        abouts = read_abouts_in_release(key, release)
        for version in range(its.versions.low, its.versions.high + 1):
            for side in ("request", "response"):
                body = wire_layout.make_wire_layouts(its, version, release)[side]["body"]
                add_abouts_to_rows(body, abouts, f"{side}.")
                assert [row["name"] for row in below(body) if not row["about"]] == [], f"{its.name} {version} {side}"
                checked += 1
    assert checked >= 2 * sum(release in versions_of_api_by_release(key) for key in KEYS)


def below(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in found:
        yield row
        yield from below(row["fields"])


def test_a_field_has_its_words_under_an_older_name_too() -> None:
    path = "response.topics[].partitions[].partition_epoch"
    then = shown("AlterPartition", "--release", "3.1", "--about")
    (older,) = [row for row in below(then["response"]) if row["name"] == "current_isr_version"]
    assert older["about"] == read_api_abouts(56)[path]


def test_what_a_search_finds_has_words() -> None:
    found = shown("--grep", "leader_epoch", "--about")
    assert len(found) > 20
    assert all(row["about"] for row in found if row["path"])
    assert "The latest known leader epoch." in kw("apis", "--grep", "leader_epoch", "--about").out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "--about does not go with the list: name an API"),
        (["3.9"], "--about does not go with the list: name an API"),
        (["Fetch", "11..12"], "--about does not go with --diff"),
        (["--diff", "3.9..4.0"], "--about does not go with --diff"),
    ],
)
def test_where_no_field_is_shown_about_is_refused(words: list[str], why: str) -> None:
    outcome = kw("apis", *words, "--about")
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert outcome.err == f"kw: {why}; see kw apis --help\n"


@pytest.mark.parametrize(
    ("release", "paths"),
    [
        ("0.8.2", ["topics", "topics[].partitions", "topics[].partitions[].partition_index"]),
        (None, ["topic_data", "topic_data[].partition_data", "topic_data[].partition_data[].index"]),
    ],
)
def test_abouts_are_by_the_names_of_the_release(release: str | None, paths: list[str]) -> None:
    """What the fields mean is the same by any name."""
    now = read_abouts_in_release(0, None)
    abouts = read_abouts_in_release(0, release)
    steps = ["topic_data", "topic_data[].partition_data", "topic_data[].partition_data[].index"]
    assert [abouts[f"request.{path}"] for path in paths] == [now[f"request.{path}"] for path in steps]
