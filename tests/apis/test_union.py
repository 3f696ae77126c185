"""Every API and version ever published is declared, and nothing else."""

from __future__ import annotations

import pytest

from decoders.apis import KEYS, NAMES, api
from decoders.apis.releases import HISTORY, RELEASES, UNSTABLE, history, spoken
from decoders.embedded import STRUCTURES, structure
from decoders.errors import UnknownApi
from decoders.schema.model import Versions
from tests.apis.lint import check_api, check_message
from tests.apis.union import GUIDES, ROWS


def count(versions: Versions) -> int:
    return versions.high - versions.low + 1


def test_the_union_has_95_apis_and_736_messages() -> None:
    assert len(ROWS) == len(KEYS) == 95
    assert sum(2 * count(api(key).versions) for key in KEYS) == 736


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[1]))
def test_versions_and_names(row: list[str]) -> None:
    key, name, older, versions, flexible = row
    found = api(int(key))
    assert (found.key, found.name, found.was) == (int(key), name, () if older == "-" else (older,))
    assert found.request.versions == found.response.versions == found.versions
    assert str(found.versions) == versions
    assert str(found.flexible) == str(found.request.flexible) == str(found.response.flexible) == flexible
    assert NAMES[found.key].replace("_", "") == name.lower()
    for word in (name, name.upper(), NAMES[found.key], NAMES[found.key].replace("_", "-"), key, older):
        assert word == "-" or api(word) is found


@pytest.mark.parametrize("word", ["", "fetchh", "95", "-1", "1.5", "٣", -1, 95])
def test_unknown_apis(word: str | int) -> None:
    with pytest.raises(UnknownApi):
        api(word)


@pytest.mark.parametrize("key", KEYS)
def test_declarations_follow_the_rules(key: int) -> None:
    assert check_api(api(key)) == []


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_follow_the_rules(name: str) -> None:
    assert check_message(structure(name)) == []


@pytest.mark.parametrize("guide", GUIDES)
def test_guides_hold_nothing_unknown(guide: str) -> None:
    for row in GUIDES[guide].split():
        name, _, versions = row.partition(":")
        inside = Versions.parse(versions)
        assert inside.low in api(name).versions
        assert inside.high in api(name).versions


def test_releases_speak_the_union_together() -> None:
    assert tuple(HISTORY) == KEYS
    for key in KEYS:
        ranges = history(key).values()
        assert min(one.low for one in ranges) >= api(key).versions.low
        assert max(one.high for one in ranges) == api(key).versions.high
    assert set(UNSTABLE) <= set(RELEASES)
    for release, marks in UNSTABLE.items():
        assert all(spoken(release)[key].high == version for key, version in marks.items())


@pytest.mark.parametrize(
    ("release", "apis", "messages"),
    [("0.8.2", 9, 22), ("2.2", 44, 286), ("2.8", 65, 488), ("3.9", 88, 646), ("4.0", 84, 558), ("4.4", 91, 618)],
)
def test_what_a_release_speaks(release: str, apis: int, messages: int) -> None:
    assert (len(spoken(release)), 2 * sum(map(count, spoken(release).values()))) == (apis, messages)


def test_history_of_one_api() -> None:
    ranges = {release: str(versions) for release, versions in history(7).items()}
    assert next(iter(ranges)) == "0.9.0"
    assert (ranges["0.9.0"], ranges["1.0"], ranges["2.4"], ranges["3.9"]) == ("1", "0-1", "0-3", "0-3")
    assert "4.0" not in ranges
    assert spoken("9.9") == {}


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
