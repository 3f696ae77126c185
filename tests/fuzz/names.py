"""Hostile names on a terminal: in captures, messages, answers of brokers, file names and command-line words.

The only control sequences that a command draws are kw's own: colours, and those of the progress bar. All output is
text, and none of it is drawn backwards.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from decoders.apis import KEYS, api
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from decoders.schema.api_declaration import Side
from kwcli.options import ANSWER_FORMATS, FORMATS, WITHOUT_BODIES
from kwcli.stats.render_statistics import FORMATS as STATS_FORMATS
from kwcli.terminal_escaping import ERASE
from tests.capture.spoken import spoken
from tests.exchanges.talks import Turns, plan, request, response, segments
from tests.fuzz.hostile import HOSTILE
from tests.fuzz.lies import Liar, command
from tests.fuzz.program import check_end, run_on_terminal
from tests.schema.values import random_value

# The codes of colours; blinking is not among them.
COLOURS: Final = re.compile(r"\x1b\[(?:[0-47-9]|[39][0-7]|;|38;5;\d+)*m")
BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
METADATA, PRODUCE = 3, 0
SIDES: Final[tuple[Side, ...]] = ("request", "response")
WORDS: Final[tuple[list[str], ...]] = (
    ["sniff"],
    ["stats"],
    ["decode"],
    ["encode"],
    ["apis"],
    ["errors"],
    ["call"],
    ["call", "Metadata", "-b"],
    ["call", "Metadata", "--profile"],
    ["call", "Metadata", "-X"],
    ["call", "Metadata", "-F"],
    ["call", "Metadata", "--node"],
    ["profile", "show"],
    ["sniff", "-f"],
    ["sniff", "--api"],
    ["sniff", "-o"],
    ["decode", "--explain"],
    ["pipeline", "explain"],
    [],
)


def try_command(rng: Random) -> int:
    """Run one command that shows hostile names, and check every byte that it draws."""
    with TemporaryDirectory() as folder:
        colour = rng.choice(["always", "never", "auto"])
        code, drawn, words = SHOWN[rng.choice([*SHOWN])](rng, Path(folder), ["--color", colour])
    shown = f"kw {' '.join(words)!r}"
    text = drawn.decode("utf-8", "surrogateescape")
    check_end(code, f"{shown}: {text[-1000:]!r}")
    left = (text if "never" in words else COLOURS.sub("", text)).replace(ERASE.decode(), "")
    bad = [at for at, character in enumerate(left) if commands(character)]
    assert not bad, f"{left[bad[0]]!r} in {left[max(bad[0] - 40, 0) : bad[0] + 40]!r}: {shown}"
    return 1


def commands(character: str) -> bool:
    """Whether a terminal could take a character for something other than text."""
    if character in "\n\t":
        return False
    return character in BIDI or unicodedata.category(character) in ("Cc", "Cs")


def captures(rng: Random, folder: Path, options: list[str]) -> tuple[int, bytes, list[str]]:
    """Show a capture with hostile names, in a file with a hostile name."""
    path = os.path.join(os.fsencode(folder), file_name(rng) + b".pcap")
    with open(path, "wb") as file:
        file.write(spoken(segments(turns(rng), rng, most=60_000)))
    words = ["sniff", os.fsdecode(path), "-o", rng.choice(FORMATS)]
    words += rng.choice([[], ["-v"], ["-vv"], ["--records"], ["-vv", "--records", "--reveal-secrets"]])
    if rng.random() < 0.3:
        by = rng.choice(["client_id", "topic", "group", "software,error", "client_id,topic"])
        words = ["stats", os.fsdecode(path), "-o", rng.choice([*STATS_FORMATS]), "--by", by, "--slowest", "3"]
    elif rng.random() < 0.3:
        command = rng.choice(["clients", "topics", "brokers", "doctor", "audit"])
        words = [command, os.fsdecode(path), "-o", rng.choice([each for each in ANSWER_FORMATS if each != "fields"])]
    if not WITHOUT_BODIES.isdisjoint(words):
        words = [word for word in words if word != "--records"]
    return drawn(rng, [*words, *options])


def turns(rng: Random) -> Turns:
    """Some exchanges of random APIs."""
    out: Turns = []
    for number in range(rng.choice([1, 3])):
        key = rng.choice([METADATA, PRODUCE, rng.choice(KEYS)])
        version = rng.randint(api(key).versions.low, api(key).versions.high)
        asked, answered = (random_value(plan(key, version, side), rng, values=80, texts=HOSTILE) for side in SIDES)
        if key == PRODUCE and asked["topic_data"]:
            asked["topic_data"][0]["partition_data"] = [{"index": 0, "records": records(rng)}]
        client_id = rng.choice([text for text in HOSTILE if len(text) < 2**15])
        out.append((True, request(key, version, number, client_id, asked)))
        out.append((False, response(key, version, number, answered)))
    return out


def records(rng: Random) -> bytes:
    """A batch of one record with hostile texts."""
    texts = [text.encode("utf-8", "surrogateescape") for text in HOSTILE]
    headers = ((rng.choice(HOSTILE), rng.choice(texts)),)
    return encode_batch([Record(0, 0, rng.choice(texts), rng.choice(texts), headers)])


def messages(rng: Random, folder: Path, options: list[str]) -> tuple[int, bytes, list[str]]:
    """Show single messages with hostile names, whole or cut."""
    path = folder / "messages"
    data = b"".join(data for client, data in turns(rng) if client)
    path.write_bytes(data if rng.random() < 0.8 else data[: rng.randrange(1, len(data))])
    words = ["decode", str(path), "--from", "raw"]
    if rng.random() < 0.2:
        return drawn(rng, [*words, "--explain", "-o", rng.choice(["text", "json", "ndjson"]), *options])
    words += ["-o", rng.choice(["text", "json", "ndjson", "yaml", "hex"])]
    return drawn(rng, [*words, *rng.choice([[], ["-v"], ["--records"], ["-v", "--records"]]), *options])


def brokers(rng: Random, _folder: Path, options: list[str]) -> tuple[int, bytes, list[str]]:
    """Ask a broker that answers with hostile names."""
    with Liar(Random(rng.random()), truth=rng.choice([0.9, 1.0]), wrongs={}) as broker:
        words = command(rng, broker.server)
        verbose = rng.choice([[], ["-v"], ["-vv"]]) if words[0] == "call" else []
        return drawn(rng, [*words, *verbose, *(options if words[0] == "call" else [])])


def words_of_people(rng: Random, folder: Path, _options: list[str]) -> tuple[int, bytes, list[str]]:
    """Run kw with hostile words on the command line."""
    name = os.fsdecode(file_name(rng))
    more = ["--timeout", "1s"] if "-b" in (words := rng.choice(WORDS)) else []
    return drawn(rng, [*words, rng.choice([name, str(folder / name)]), *more])


def file_name(rng: Random) -> bytes:
    """A hostile text, as far as it can be the name of a file."""
    names = [text.encode("utf-8", "surrogateescape") for text in HOSTILE if text]
    return rng.choice([name for name in names if len(name) < 200]).replace(b"\0", b"").replace(b"/", b"")


def drawn(rng: Random, words: list[str]) -> tuple[int, bytes, list[str]]:
    """The exit code and the bytes drawn by a command on a terminal of some width, and its words."""
    code, data = run_on_terminal(words, columns=rng.choice([20, 80, 200]))
    return code, data, words


SHOWN: Final[Mapping[str, Callable[[Random, Path, list[str]], tuple[int, bytes, list[str]]]]] = {
    "captures": captures,
    "messages": messages,
    "brokers": brokers,
    "words": words_of_people,
}
