"""Durations, sizes and times as people write them: what they mean, and what means nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from decoders.wire.units import parse_duration, parse_size, parse_time

DAY_NS = 1_795_219_200_000_000_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        *(("1ns", 1e-6), ("250us", 0.25), ("250µs", 0.25), ("100 ms", 100), (".5s", 500), ("2m", 12e4), ("2min", 12e4)),
        *(("1.5h", 5.4e6), ("2d", 172_800_000)),
    ],
)
def test_durations(text: str, ms: float) -> None:
    assert parse_duration(text) == pytest.approx(ms)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("0", 0), ("512", 512), ("7b", 7), ("1.5k", 1500), ("500kB", 500_000), ("1MiB", 1 << 20), ("2 GiB", 2 << 30)),
        ("3tb", 3 * 10**12),
    ],
)
def test_sizes(text: str, size: float) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("2026-11-21", DAY_NS),
        ("2026-11-21T03", DAY_NS + 3 * 3600 * 10**9),
        ("2026-11-21 03:04:05 z", DAY_NS + 11_045 * 10**9),
        ("2026-11-21T03:04:05.000000001+01:00", DAY_NS + 7445 * 10**9 + 1),
        ("1969-12-31T23:59:59.25Z", -750_000_000),
    ],
)
def test_times(text: str, time_ns: int) -> None:
    assert parse_time(text) == time_ns


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((parse_duration, text) for text in ("", "100", "-5m", "5M", "5 parsec", "1e3s", "m", "٣s")),
        *((parse_size, text) for text in ("", "-1", "kB", "10 parsec", "1e3")),
        *(
            (parse_time, text)
            for text in ("", "20261121", "2026-02-30", "03:04", "2026-11-21T03:04.5", "2026-11-21T25")
        ),
    ],
)
def test_what_is_none(parse: Callable[[str], float], text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
