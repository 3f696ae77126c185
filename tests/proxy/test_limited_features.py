"""The features of an answer, limited to the levels of an older release; where a body begins behind its header."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.schema.api_declaration import NONE, Versions
from kwcli.proxy.relay.rewrite_addresses import RewriteFailed, _limit_features, find_start_of_body


class Served:
    """Levels by feature; any level of a feature without."""

    def __init__(self, levels: dict[str, Versions]) -> None:
        self._levels = levels

    def limit_offered_versions(self, _api_key: int, versions: Versions) -> Versions:
        return versions

    def get_allowed_feature_levels(self, feature: str) -> Versions | None:
        return self._levels.get(feature)


def supported(name: str, low: int, high: int) -> dict[str, Any]:
    return {"name": name, "min_version": low, "max_version": high}


def finalized(name: str, low: int, high: int) -> dict[str, Any]:
    return {"name": name, "min_version_level": low, "max_version_level": high}


ANSWER: dict[str, Any] = {
    "supported_features": [supported("a", 1, 9), supported("b", 0, 3)],
    "finalized_features": [finalized("a", 5, 8), finalized("b", 2, 2)],
    "finalized_features_epoch": 7,
}
SILENT: dict[str, Any] = {
    "supported_features": [],
    "finalized_features": [],
    "finalized_features_epoch": -1,
    "zk_migration_ready": False,
}


@pytest.mark.parametrize(
    ("levels", "limited"),
    [
        ({}, None),
        ({"other": NONE}, None),
        (
            {"a": Versions(0, 6)},
            {
                "supported_features": [supported("a", 1, 6), supported("b", 0, 3)],
                "finalized_features": [finalized("a", 5, 6), finalized("b", 2, 2)],
            },
        ),
        (
            {"a": Versions(0, 4)},
            {
                "supported_features": [supported("a", 1, 4), supported("b", 0, 3)],
                "finalized_features": [finalized("a", 4, 4), finalized("b", 2, 2)],
            },
        ),
        (
            {"a": Versions(0, 99), "b": Versions(0, 1)},
            {
                "supported_features": [supported("a", 1, 9), supported("b", 0, 1)],
                "finalized_features": [finalized("a", 5, 8), finalized("b", 1, 1)],
            },
        ),
        (
            {"a": NONE, "b": Versions(0, 0)},
            {"supported_features": [], "finalized_features": [finalized("b", 0, 0)]},
        ),
        ({"a": NONE, "b": NONE}, SILENT),
    ],
)
def test_features_have_the_levels_that_are_served(levels: dict[str, Versions], limited: dict[str, Any] | None) -> None:
    assert _limit_features(ANSWER, Served(levels)) == limited


def test_what_an_answer_lacks_is_not_added() -> None:
    answer = {"supported_features": ANSWER["supported_features"]}
    limited = {"supported_features": [supported("a", 1, 2), supported("b", 0, 3)]}
    assert _limit_features(answer, Served({"a": Versions(0, 2)})) == limited


@pytest.mark.parametrize(
    ("api_key", "version", "frame", "at"),
    [
        (3, 8, "00000004 00000001", 8),
        (3, 8, "00000003 000000", None),
        (3, 9, "00000005 00000001 00", 8 + 1),
        (3, 9, "00000008 00000001 01 05 01 ff", 8 + 4),
        (3, 9, "00000004 00000001", None),
        (3, 9, "00000006 00000001 01 05", None),
        (18, 3, "00000004 00000001", 8),
    ],
)
def test_a_body_begins_behind_its_header(api_key: int, version: int, frame: str, at: int | None) -> None:
    try:
        found: int | None = find_start_of_body(api_key, version, bytes.fromhex(frame))
    except RewriteFailed:
        found = None
    assert found == at
