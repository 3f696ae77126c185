"""Numbers in Prometheus' text format, line by line."""

from __future__ import annotations

from kwcli.telemetry.prometheus import BOUNDS_S, LABEL_MAX, Family, Histogram, clean_label, format_family_lines


def test_durations_are_counted_in_the_bucket_that_ends_with_them() -> None:
    found = Histogram()
    assert (found.total_ns, found.least_ns, found.most_ns) == (0, 0, 0)
    for took_ns in (500_000, 500_001, 30_000_000_000, 30_000_000_001, 400_000):
        found.add(took_ns)
    assert found.counts == [2, 1, *[0] * 12, 1, 1]
    assert found.total_ns == 60_001_400_002
    assert (found.least_ns, found.most_ns) == (400_000, 30_000_000_001)


def test_families_have_their_head_and_a_line_for_each_number() -> None:
    waits = Histogram()
    waits.add(2_000_000_000)
    lines = list(
        format_family_lines(
            [
                Family("a_total", "counter", "How many.", [({}, 1.0), ({"x": 'q"\\\n', "y": "z"}, 2)]),
                Family("b", "histogram", "How long.", [({"x": "y"}, waits)]),
            ]
        )
    )
    assert lines[:4] == [
        "# HELP a_total How many.",
        "# TYPE a_total counter",
        "a_total 1.0",
        'a_total{x="q\\"\\\\\\n",y="z"} 2',
    ]
    assert lines[4:7] == ["# HELP b How long.", "# TYPE b histogram", 'b_bucket{x="y",le="0.0005"} 0']
    assert lines[-5:] == [
        'b_bucket{x="y",le="10.0"} 1',
        'b_bucket{x="y",le="30.0"} 1',
        'b_bucket{x="y",le="+Inf"} 1',
        'b_sum{x="y"} 2.0',
        'b_count{x="y"} 1',
    ]
    assert len(lines) == 4 + 2 + len(BOUNDS_S) + 1 + 2


def test_a_label_is_escaped_and_cut() -> None:
    assert clean_label("a\x07") == "a\\x07"
    assert clean_label("x" * LABEL_MAX) == "x" * LABEL_MAX
    assert clean_label("x" * (LABEL_MAX + 1)) == "x" * (LABEL_MAX - 1) + "…"
