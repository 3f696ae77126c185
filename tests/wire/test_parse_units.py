"""Durations, sizes and times as people write them: their values, and the errors for others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from decoders.wire.parse_units import Moment, parse_duration, parse_moment, parse_size, parse_time

DAY_NS = 1_795_219_200_000_000_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        *(("1ns", 1e-6), ("250us", 0.25), ("250µs", 0.25), ("100 ms", 100), (".5s", 500), ("2m", 12e4)),
        *(
            ("1.5h", 5.4e6),
            ("2d", 172_800_000),
            ("10", 10_000),
            ("0.25", 250),
            ("1h30m", 5.4e6),
            ("2 min 5 s", 125_000),
        ),
        *(("2min", 12e4), ("10sec", 10_000), ("3 hours", 10.8e6), ("2 min 5 s", 125_000)),
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
        *((parse_duration, text) for text in ("", "-5m", "5M", "5 parsec", "1e3s", "m", "٣s")),
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


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21", Moment(DAY_NS, naive=True)),
        ("2026-11-21T03:04:05Z", Moment(DAY_NS + 11_045 * 10**9)),
        ("1795219200", Moment(DAY_NS)),
        ("1795219200.25", Moment(DAY_NS + 250_000_000)),
        ("1795219200250", Moment(DAY_NS + 250_000_000)),
        ("03:04", Moment(11_040 * 10**9, "midnight")),
        ("3:04:05.5Z", Moment(11_045_500_000_000, "midnight")),
        ("5m", Moment(300 * 10**9, "end")),
        ("-90s", Moment(90 * 10**9, "end")),
        ("90", Moment(90 * 10**9, "end")),
        ("2h ago", Moment(7200 * 10**9, "end")),
        ("now", Moment(0, "end")),
    ],
)
def test_moments(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "25:00", "3:60", "2026-02-30", "-", "5 parsec"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text)


HOUR_NS = 3600 * 10**9


@pytest.mark.parametrize(
    ("moment", "first_hour", "last_hour", "hour"),
    [
        (Moment(5), 3, 4, None),  # a time with a date is taken as it is
        (Moment(HOUR_NS, "end"), 3, 9, 8),
        (Moment(0, "end"), 3, 9, 9),
        (Moment(17 * HOUR_NS, "midnight"), 16, 18, 17),
        (Moment(15 * HOUR_NS, "midnight"), 16, 18, 15),  # before the capture began
        (Moment(20 * HOUR_NS, "midnight"), 16, 18, 20),  # after the capture's end
        (Moment(1 * HOUR_NS, "midnight"), 22, 26, 25),  # the capture went on over midnight
        (Moment(3 * HOUR_NS, "midnight"), 22, 26, 3),  # the capture ended before this time
    ],
)
def test_moments_of_a_capture(moment: Moment, first_hour: int, last_hour: int, hour: int | None) -> None:
    found = moment.resolve_to_ns(DAY_NS + first_hour * HOUR_NS, DAY_NS + last_hour * HOUR_NS)
    assert found == (5 if hour is None else DAY_NS + hour * HOUR_NS)
