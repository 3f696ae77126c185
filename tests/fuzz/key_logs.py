"""Key logs of any bytes with a capture of TLS: damaged, cut, in other encodings, too long, in files, pipes and pcapng.

A key log that has all lines of the capture whole, whatever else it has, gives all rows; any other gives none that the
traffic does not have. No secret of it is in the output.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from decoders.capture.read_capture import CaptureReader
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw
from tests.fuzz.damage import wrong
from tests.fuzz.program import check_end
from tests.tls.wrapping import pcapng_of, segments_of, wrap

FOLDER: Final = Path(__file__).resolve().parents[2] / "captures"
LABELS: Final = (
    *(b"CLIENT_RANDOM", b"CLIENT_TRAFFIC_SECRET_0", b"SERVER_HANDSHAKE_TRAFFIC_SECRET", b"CLIENT_TRAFFIC_SECRET_"),
    *(b"EXPORTER_SECRET", b"RSA", b"PMS_CLIENT_RANDOM", b"ECH_SECRET", b"Session-ID", b"", b"\xff\xfe", b"#"),
)


@cache
def traffic(number: int) -> tuple[bytes, bytes]:
    """A capture of TLS and its key log."""
    if number == 0:
        files = (FOLDER / "tls" / "librdkafka-jsse.pcap", FOLDER / "tls" / "librdkafka-jsse.keys")
        capture, keys = (path.read_bytes() for path in files)
        return capture, keys
    made = wrap(segments_of(FOLDER / "first-steps.pcapng")[:300])
    return pcapng_of(made.segments), made.key_log


def random_line(rng: Random, keys: Sequence[bytes]) -> bytes:
    """A line of a key log, or what somebody takes for one; none of it has a whole line of `keys`."""
    size = rng.choice([0, 1, 31, 32, 32, 32, 33, 48])
    random, secret = rng.randbytes(size).hex().encode(), rng.randbytes(rng.choice([0, 20, 32, 48])).hex().encode()
    label = rng.choice(LABELS) + rng.choice([b"", b"", b"0", b"99999999999999999999", b"\xc2\xb2"])
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.choice([1, 80, 5000]))
    if kind == 1:
        return wrong(rng, rng.choice(keys)).replace(b"\n", b"")
    if kind == 2:
        return rng.choice(keys)[: rng.randrange(60)]
    if kind == 3:
        return rng.choice([b"a", b"\0", b"\r", b"0", b" ", b"\xf0\x9f"]) * rng.choice([1, 4095, 4097, 300_000])
    if kind == 4:
        return b"RSA Session-ID:" + random + b" Master-Key:" + secret
    return rng.choice([b" ", b"\t", b"   "]).join([label, random, secret][: rng.choice([1, 2, 3, 3, 3])])


# Ways in which a key log is encoded that change nothing.
HARMLESS: Final[Sequence[Callable[[bytes], bytes]]] = (
    lambda text: text,
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text.rstrip(b"\n"),
    lambda text: text.replace(b" ", b"  "),
    lambda text: text.replace(b"\n", b"\n\n# and more\n"),
)
# And those that nobody can read.
ODD: Final[Sequence[Callable[[bytes], bytes]]] = (
    lambda text: text.decode("latin-1").encode("utf-16"),
    lambda text: text[: len(text) // 2],
    lambda text: text.replace(b"\n", b" "),
    lambda text: text.replace(b"\n", b"\r"),
    lambda _text: b"",
    lambda text: bytes(1 << 20) + text,
)


def key_log_of(rng: Random, keys: bytes) -> tuple[bytes, bool]:
    """A key log, and whether it has all lines of `keys` whole, and after them none for the same connections."""
    lines = keys.splitlines()
    mixed = [*lines]
    whole = rng.random() < 0.6
    if not whole:
        mixed = [each for each in mixed if rng.random() < 0.7]
    for _ in range(rng.choice([0, 1, 5, 200])):
        mixed.insert(rng.randint(0, len(mixed)), random_line(rng, lines))
    if rng.random() < 0.3:
        rng.shuffle(mixed)
    if rng.random() < 0.1:
        flood = rng.choice(lines).split()[1]
        randoms = [flood, *(rng.randbytes(32).hex().encode() for _ in range(1000))]
        mixed[:0] = [
            b"CLIENT_TRAFFIC_SECRET_%d %s %064x" % (count, rng.choice([flood, rng.choice(randoms)]), count)
            for count in range(1, 2001)
        ]
        whole = False
    text = b"\n".join(mixed) + b"\n"
    if rng.random() < 0.2:
        return rng.choice(ODD)(text), False
    return rng.choice(HARMLESS)(text), whole and not clashes(mixed, lines)


def clashes(mixed: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    """Whether a random line gives another secret for a connection of the capture, as a line that was changed may."""
    known = {line.upper() for line in lines}
    randoms = {line.split()[1].upper() for line in lines}
    others = [each.upper() for each in mixed if each.upper() not in known]
    return any(word in randoms for each in others for word in each.split())


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The exchanges that were printed."""
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    return [row for row in rows if row["kind"] == "exchange"]


def identity(row: dict[str, Any]) -> tuple[object, ...]:
    """What tells an exchange, also one of which a side was not decrypted."""
    return row["client"], row["correlation_id"], row["api"]


@cache
def all_rows(number: int) -> list[dict[str, Any]]:
    """The rows of a capture with its own key log."""
    capture, keys = traffic(number)
    with TemporaryDirectory() as folder:
        (Path(folder) / "c").write_bytes(capture)
        (Path(folder) / "k").write_bytes(keys)
        rows = rows_of(kw("sniff", f"{folder}/c", "--keylog", f"{folder}/k", "-o", "ndjson"))
    assert len(rows) > 10
    return rows


def try_key_log(rng: Random) -> int:
    """Read a capture of TLS with one key log."""
    number = rng.randrange(2)
    capture, keys = traffic(number)
    text, whole = key_log_of(rng, keys)
    with TemporaryDirectory() as folder:
        path, name = Path(folder) / "capture", f"{folder}/keys"
        words, writer = given(rng, number, capture, text, path, name)
        command = rng.choice([["sniff", "-o", "ndjson"]] * 4 + [["stats", "-o", "json"], ["sniff", "-o", "text", "-v"]])
        outcome = kw(command[0], str(path), *command[1:], *words)
        if writer is not None:
            with suppress(OSError):  # one that found no TLS leaves the writer waiting
                os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(30)
            assert not writer.is_alive()
    check(outcome, text, keys)
    if command == ["sniff", "-o", "ndjson"]:
        rows, expected = rows_of(outcome), all_rows(number)
        if whole:
            assert [{**row, "file": None} for row in rows] == [{**row, "file": None} for row in expected]
        known = set(map(identity, expected))
        assert all(identity(row) in known for row in rows if row["status"] != "orphan_response")
    return 1


def given(
    rng: Random, number: int, capture: bytes, text: bytes, path: Path, name: str
) -> tuple[list[str], threading.Thread | None]:
    """Write the capture, and the key log as a file, several files, a pipe or in the capture; the options for it."""
    how = rng.choice(["file", "file", "files", "pipe", "inside"])
    path.write_bytes(capture)
    if how == "inside" and number == 1:
        made = wrap_segments()
        cut = rng.randint(0, len(text))
        cut = text.rfind(b"\n", 0, cut) + 1
        path.write_bytes(pcapng_of(made, [text[:cut], text[cut:]]))
        return [], None
    if how == "pipe":
        os.mkfifo(name)

        def write() -> None:
            with suppress(BrokenPipeError), open(name, "wb") as file:
                file.write(text)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        return ["--keylog", name], thread
    if how == "files":
        cut = text.rfind(b"\n", 0, rng.randint(0, len(text))) + 1
        Path(name).write_bytes(text[:cut])
        Path(f"{name}2").write_bytes(text[cut:])
        return ["--keylog", name, "--keylog", f"{name}2"], None
    Path(name).write_bytes(text)
    return ["--keylog", name], None


@cache
def wrap_segments() -> Any:
    """The segments of the second capture, whose key log has these keys."""
    return CaptureReader().feed(traffic(1)[0])


def check(outcome: Outcome, text: bytes, keys: bytes) -> None:
    """Assert that a run ended as it must, and showed nothing of a key."""
    check_end(outcome.code, outcome.err)
    assert outcome.code in (Exit.DONE, Exit.FAILURE), outcome.err
    shown = (outcome.out + outcome.err).lower().encode()
    for line in (*keys.splitlines(), *text.splitlines()[:50]):
        secret = line.split()[-1].lower() if line.split() else b""
        assert len(secret) < 64 or len(secret) > 96 or secret[:32] not in shown, line
