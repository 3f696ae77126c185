"""The report of a run of classes: how much was tried, and the command that repeats a failure."""

from __future__ import annotations

import re
import time
from random import Random
from typing import Any

import pytest

from decoders import encode_request
from decoders.apis import KEYS, api
from decoders.limits import MIB
from tests.fuzz.__main__ import ENOUGH, main, run
from tests.fuzz.bombs import FRAME_MAX, batch_of
from tests.fuzz.classes import CLASSES, Class
from tests.fuzz.closes import capture
from tests.fuzz.lies import Liar
from tests.fuzz.names import commands


def fine(_rng: Random) -> int:
    """Three inputs without a failure."""
    return 3


def odd(rng: Random) -> int:
    """Fail for about every second seed."""
    assert rng.random() < 0.5, "what was found"
    return 1


def endless(_rng: Random) -> int:
    """Take longer than allowed."""
    time.sleep(60)
    return 1


class Slow:
    """An object whose destructor takes long, where no exception can be raised."""

    def __del__(self) -> None:
        time.sleep(60)


def slow_to_end(_rng: Random) -> int:
    """Take longer than allowed, first in a destructor, where no exception can be raised."""
    Slow()
    time.sleep(60)
    return 1


def test_nothing_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    assert run({"fine": Class(fine)}, 7, 0) == 0
    said = capfd.readouterr()
    assert re.fullmatch(r"fine     3 inputs of 1 seeds from 7 on in \d+ s, 0 failures\n", said.out)
    assert said.err == ""


def test_what_fails_is_told_with_the_command_that_repeats_it(capfd: pytest.CaptureFixture[str]) -> None:
    wrong = [seed for seed in range(100) if Random(seed).random() >= 0.5][:ENOUGH]
    assert run({"odd": Class(odd)}, 0, 60) == 1
    said = capfd.readouterr()
    assert [line for line in said.err.splitlines() if line.startswith("odd failed")] == [
        f"odd failed; to repeat it: python -m tests.fuzz --class odd --seed {seed} --seconds 0" for seed in wrong
    ]
    assert said.err.count("AssertionError: what was found") == ENOUGH
    assert said.out.startswith("odd      ")
    assert said.out.endswith(f", {ENOUGH} failures\n")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_does_not_end_in_a_destructor_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run({"slow": Class(slow_to_end, 1)}, 0, 0) == 1
    assert re.search(r"slow     1 inputs of 1 seeds from 0 on in \d+ s, 1 failures", capfd.readouterr().out)


def test_what_does_not_end_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert run({"endless": Class(endless, 1)}, 0, 0) == 1
    assert "Hangs: no end after 1 s" in capfd.readouterr().err


def test_a_class_that_is_none() -> None:
    with pytest.raises(SystemExit) as end:
        main(["--class", "nobody"])
    assert end.value.code == 2


@pytest.mark.parametrize(
    "name",
    [
        *("codec", "closes", "damage", "key-logs", "relabelled"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("request-log", "ndjson-values")),
    ],
)
def test_a_class_can_be_run(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    main(["--class", name, "--seed", "3", "--seconds", "0"])
    assert capfd.readouterr().out.startswith(f"{name:8} ")


def test_a_seed_makes_the_same_input_again() -> None:
    assert capture(Random(4)) == capture(Random(4)) != capture(Random(5))
    assert set(CLASSES) >= {"codec", "lossy", "closes", "bombs", "names", "views", "damage", "lies", "key-logs"}
    assert set(CLASSES) >= {"request-log", "ndjson-values", "relabelled"}


def test_a_lie_fits_its_field() -> None:
    with Liar(Random(1), truth=0.0, wrongs={}) as liar:
        for key in KEYS:
            request = encode_request(key, api(key).versions.high, {})
            assert all(liar.reply(request) for _ in range(8))


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\x7f", "\r", "\u202e", "\u200f", "\udcff", "\0"])
def test_what_a_terminal_takes_for_more_than_text(character: str) -> None:
    assert commands(character)
    assert not any(map(commands, "aé日🙂\n\t\u0300\u2028"))


class Largest(Random):
    """Dice that always choose the largest."""

    def choice(self, seq: Any) -> Any:
        """The longest of bytes, or the highest of numbers."""
        return max(seq, key=lambda each: len(each) if isinstance(each, bytes) else each)

    def random(self) -> float:
        """Always 0.5."""
        return 0.5


def test_a_bomb_fits_a_frame() -> None:
    assert len(batch_of(Largest(), "none", 30 * MIB)) < FRAME_MAX
