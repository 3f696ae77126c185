"""Points in time as people write them."""

from __future__ import annotations

import pytest

from kwcli.calling.words.record_words import parse_timestamp_ms
from kwcli.run_environment import Exit, Failure

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("-1", -1),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01 00:00:01", 1000),
        ("2026-11-21T03:04:05.123Z", 1_795_230_245_123),
        ("now", NOW),
        ("-5m", NOW - 300_000),
        ("-250ms", NOW - 250),
        ("-2d", NOW - 172_800_000),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert parse_timestamp_ms(text, NOW, "offset=") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "--5m", "1e3", "9" * 30])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(Failure, match=r"^offset=: .* is no time") as caught:
        parse_timestamp_ms(text, NOW, "offset=")
    assert caught.value.code == Exit.USAGE
