"""Every API and version ever published is declared, and nothing else."""

from __future__ import annotations

import pytest

from decoders.apis import KEYS, NAMES, api
from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.errors import UnknownApi
from decoders.protocol_facts.kafka_releases import (
    HISTORY,
    RELEASES,
    UNSTABLE,
    api_versions_of_release,
    versions_of_api_by_release,
)
from decoders.schema.api_declaration import NONE, Versions
from tests.apis.lint import check_api, check_message
from tests.apis.union import GUIDES
from tests.reference.jars import wrong_patches


def count(versions: Versions) -> int:
    return versions.high - versions.low + 1


@pytest.mark.parametrize("key", KEYS)
def test_versions_and_names(key: int) -> None:
    found = api(key)
    assert found.key == key
    assert found.request.versions == found.response.versions == found.versions
    assert found.request.flexible == found.response.flexible == found.flexible
    assert NAMES[key].replace("_", "") == found.name.lower()
    for word in (found.name, found.name.upper(), NAMES[key], NAMES[key].replace("_", "-"), str(key), *found.was):
        assert api(word) is found


@pytest.mark.parametrize("word", ["", "fetchh", str(KEYS[-1] + 1), "-1", "1.5", "٣", -1, KEYS[-1] + 1])
def test_unknown_apis(word: str | int) -> None:
    with pytest.raises(UnknownApi):
        api(word)


@pytest.mark.parametrize("key", KEYS)
def test_declarations_follow_the_rules(key: int) -> None:
    assert check_api(api(key)) == []


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_follow_the_rules(name: str) -> None:
    assert check_message(parse_structure_declaration(name)) == []


@pytest.mark.parametrize("guide", GUIDES)
def test_guides_hold_nothing_unknown(guide: str) -> None:
    for row in GUIDES[guide].split():
        name, _, versions = row.partition(":")
        inside = Versions.parse(versions)
        assert inside.low in api(name).versions
        assert inside.high in api(name).versions


def test_the_newest_release_has_its_rows() -> None:
    """One message for both tables that a new release needs a row in."""
    newest, wrong = RELEASES[-1], [wrong_patches()]
    if newest not in UNSTABLE:
        table = "UNSTABLE in decoders/protocol_facts/kafka_releases.py"
        wrong.append(f"{table} has no row of {newest}: which versions does it hide ({{}}: none)?")
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_releases_speak_the_union_together() -> None:
    """The versions in HISTORY are declared, and marks in UNSTABLE are the highest version of their release."""
    for key in HISTORY:
        assert min(one.low for one in versions_of_api_by_release(key).values()) >= api(key).versions.low
    assert set(UNSTABLE) <= set(RELEASES)
    wrong = [
        f"UNSTABLE[{release!r}][{key}] is {version}, the highest version of {release} in HISTORY is {highest}"
        for release, marks in UNSTABLE.items()
        for key, version in marks.items()
        for highest in [api_versions_of_release(release).get(key, NONE).high]
        if version != highest
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("release", "apis", "messages"),
    [("0.8.2", 9, 22), ("2.2", 44, 286), ("2.8", 65, 488), ("3.9", 88, 646), ("4.0", 84, 558), ("4.3", 89, 604)],
)
def test_what_a_release_speaks(release: str, apis: int, messages: int) -> None:
    """Releases before the newest: what they speak does not change any more."""
    found = (len(api_versions_of_release(release)), 2 * sum(map(count, api_versions_of_release(release).values())))
    assert found == (apis, messages), (
        f"HISTORY in decoders/protocol_facts/kafka_releases.py changes what {release} speaks"
    )


def test_history_of_one_api() -> None:
    ranges = {release: str(versions) for release, versions in versions_of_api_by_release(7).items()}
    assert next(iter(ranges)) == "0.9.0"
    assert (ranges["0.9.0"], ranges["1.0"], ranges["2.4"], ranges["3.9"]) == ("1", "0-1", "0-3", "0-3")
    assert "4.0" not in ranges
    assert api_versions_of_release("9.9") == {}


def test_early_layouts() -> None:
    early = {(found.name, *place) for found in map(api, KEYS) for place in found.early}
    assert early == {
        ("EndQuorumEpoch", "request", 0, "2.7"),
        ("ConsumerGroupHeartbeat", "request", 0, "3.5"),
        ("ConsumerGroupHeartbeat", "request", 0, "3.6"),
        ("ConsumerGroupHeartbeat", "response", 0, "3.5"),
        ("ConsumerGroupHeartbeat", "response", 0, "3.6"),
        ("ConsumerGroupDescribe", "response", 0, "3.7"),
        ("ReadShareGroupStateSummary", "response", 0, "3.9"),
        ("ReadShareGroupStateSummary", "response", 0, "4.0"),
        ("JoinGroup", "request", 0, "0.8.2"),
        ("JoinGroup", "response", 0, "0.8.2"),
    }
