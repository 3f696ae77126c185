"""Durations as texts: short in tables, in words where sentences have long ones."""

from __future__ import annotations

import pytest

from decoders.wire.format_and_escape_text import describe_duration


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        *((0.048, "48µs"), (1.2, "1.2ms"), (502, "502ms"), (1000, "1s"), (3250, "3.25s"), (2500, "2.5s")),
        *((10_000, "10s"), (60_000, "60s"), (100_000, "100s"), (119_000, "119s"), (120_000, "2 minutes")),
        *((450_000, "7.5 minutes"), (3_600_000, "60 minutes"), (7_200_000, "2 hours"), (86_400_000, "24 hours")),
        *((172_800_000, "2 days"), (2_592_000_000, "30 days"), (-2_592_000_000, "-30 days")),
    ],
)
def test_durations_in_sentences(ms: float, text: str) -> None:
    assert describe_duration(ms) == text
