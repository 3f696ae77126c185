"""--since and --until: with files, pipes and live captures; and times that cannot be known."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from decoders.wire.parse_units import parse_moment
from kwcli.filter_options import build_time_expression, resolve_time_range
from kwcli.run_environment import Exit, Failure
from tests.captures.shipped import FOLDER, segments
from tests.cli.worlds import kw, world
from tests.habits.faulty_captures import in_packets

TOUR = FOLDER / "tour.pcapng"
DAY_NS = 1_795_219_200 * 10**9  # 2026-11-21
NOW_NS = DAY_NS + 20 * 3600 * 10**9


def times(out: str) -> list[str]:
    return [json.loads(line)["time"][11:19] for line in out.splitlines()]


@pytest.mark.parametrize(("back_s", "told"), [(5, True), (0.5, False)])
def test_a_clock_that_was_set_back_is_told(back_s: float, told: bool, tmp_path: Path) -> None:
    whole = segments("tour.pcapng")
    middle = len(whole) // 2
    shift = whole[middle][1] - whole[middle - 1][1] + int(back_s * 1e9)
    late = [(segment[0], segment[1] - shift, *segment[2:]) for segment in whole[middle:]]
    path = tmp_path / "back.pcap"
    path.write_bytes(in_packets([*whole[:middle], *late]))
    done = kw("sniff", str(path), "-o", "ndjson")
    assert ("the times of packets go back by more" in done.err) is told
    span = done.err.splitlines()[-1].split(" · ")[1].split()[1]
    first, _, last = span.partition("–")
    assert first <= last


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_a_time_of_day_of_what_is_read_once(name: str, tmp_path: Path) -> None:
    words = ("--since", "17:35:07", "--until", "17:35:08", "-o", "ndjson", "-q")
    wanted = kw("sniff", str(TOUR), *words).out
    assert set(times(wanted)) == {"17:35:07"}
    if name == "-":
        assert kw("sniff", "-", *words, env=world(TOUR.read_bytes())).out == wanted
        return
    pipe = tmp_path / name
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TOUR.read_bytes()))
    writer.start()
    assert kw("sniff", str(pipe), *words).out == wanted
    writer.join()


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ((None, None), ""),
        (("17:35", None), 'time >= "2026-11-21T17:35:00.000000Z"'),
        (("5s", "now"), 'time >= "2026-11-21T17:35:27.860633Z" and time < "2026-11-21T17:35:32.860633Z"'),
        ((None, "2026-11-21"), 'time < "2026-11-21T00:00:00.000000Z"'),
    ],
)
def test_expressions(words: tuple[str | None, str | None], expression: str) -> None:
    since, until = (None if word is None else parse_moment(word) for word in words)
    found = build_time_expression(since, until, [str(TOUR)], world())
    assert found == expression


def test_a_live_capture_begins_now() -> None:
    env = world()
    env.now_ns = lambda: NOW_NS
    assert resolve_time_range(parse_moment("21:00"), None, [], env) == (DAY_NS + 21 * 3600 * 10**9, None)
    assert resolve_time_range(None, parse_moment("now"), [], env) == (None, NOW_NS)


@pytest.mark.parametrize("words", [["-"], ["s3://bucket/a.pcap"]])
def test_what_nobody_knows_before_it_is_read(words: list[str]) -> None:
    with pytest.raises(Failure, match="give date and time") as caught:
        resolve_time_range(parse_moment("5m"), None, words, world())
    assert caught.value.code == Exit.USAGE


def test_records_do_not_say_when_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(kw("sniff", str(TOUR), "-o", "ndjson", "-q").out)
    outcome = kw("sniff", str(path), "--since", "5s")
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert "give date and time" in outcome.err
    assert set(times(kw("sniff", str(path), "--since", "2026-11-21T17:35:30Z", "-o", "ndjson", "-q").out)) > set()
