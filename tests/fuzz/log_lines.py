"""Lines of logs, sound, damaged and made of anything: what `kw errors` and `kw decode --explain` say of them.

No line is a defect, what is said is text for a terminal, and an ordinary size or a known API key is never another
protocol.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

from decoders.apis import NAMES
from decoders.frames.explain_strange_numbers import explain_number, list_findings_about_log_line
from decoders.protocol_facts.errors.known_log_lines import LOG_LINES
from decoders.protocols.recognise_protocols import MARKS
from kwcli.reference.error_rows import find_codes_and_causes

LINES: Final = 200
# Words of sizes and keys in lines of logs, with a place for the number.
SIZED: Final = ("size = {}", "Invalid receive (size = {} larger than 104857600)", "length: {}", "read {} bytes", "{}")
KEYED: Final = ("Unexpected api key: {}", "apiKey {}", "api_key={}")
LETTERS: Final = "qzxvkwj"
ODD: Final = (
    *("\0", "\x1b[31m", "\u202e", "\udcff", "\n", "\r", "{", "}", "%s", "$(", "0x", "-", ":", "[", "]"),
    *("\u0661\u0662\u0663", "\u00b2"),  # digits to Python that are none of ASCII
)


@cache
def foreign_names() -> frozenset[str]:
    """The names of other protocols."""
    return frozenset({mark.name for mark in MARKS} | {"SASL token", "Telnet"})


def try_lines(rng: Random) -> int:
    """Explain some lines; gives their number."""
    for _ in range(LINES):
        check_ordinary_numbers(rng)
        line = make_line(rng)
        for found in (list_findings_about_log_line(line, alone=rng.random() < 0.5), find_codes_and_causes([line])[2]):
            for finding in found:
                shown = "".join(finding)
                assert shown.isprintable(), f"{line!r}: {finding}"
    return 2 * LINES


def check_ordinary_numbers(rng: Random) -> None:
    """Assert that an ordinary size and a known API key are taken for no other protocol."""
    filler = "".join(rng.choices(LETTERS, k=rng.randrange(12)))
    size = rng.randrange(64, 1 << rng.choice([8, 14, 20, 24]))
    lines = [f"{filler} {rng.choice(SIZED).format(size)}", f"{filler} {rng.choice(KEYED).format(rng.choice([*NAMES]))}"]
    for line in lines:
        wrong = [
            each
            for each in list_findings_about_log_line(line)
            if each.what in foreign_names() and "likely" not in each.detail
        ]
        assert not wrong, f"{line!r}: {wrong}"
    assert not [each for each in explain_number(size) if each.what in foreign_names() and "likely" not in each.detail]


def make_line(rng: Random) -> str:
    """A line: the words of a known one with holes, numbers and odd characters, or only these."""
    pattern = rng.choice(LOG_LINES).pattern if rng.random() < 0.8 else ""
    parts = list(pattern.replace("\\", "").replace(".*", " "))
    for _ in range(rng.choice([0, 1, 3, 20])):
        at = rng.randrange(len(parts) + 1)
        piece = rng.choice((*ODD, str(rng.randrange(-(1 << 32), 1 << 33)), chr(rng.randrange(1, 0xD7FF))))
        parts[at : at + rng.choice([0, 0, 1, 5])] = [piece]
    return "".join(parts)
