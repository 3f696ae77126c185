"""Random messages of any API with control sequences in their texts, shown in every format."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import decoders
from decoders.apis import KEYS, api
from decoders.errors import EncodeError
from decoders.schema.api_declaration import Side, resolve
from kwcli.options import FORMATS, WITHOUT_BODIES
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from tests.capture.pcap_writer import PcapWriter
from tests.cli.hostile import ADDRESS, FORGED, NAME, Seen
from tests.cli.worlds import kw, world
from tests.net.playbook import framed
from tests.schema.values import random_value

PIECES = (
    *NAME,
    "a",
    "é",
    "漢",
    "\x1b[31mEVIL",
    "\x1b]0;t\x07",
    f"\n{FORGED}",
    f"\r{FORGED}",
    "\x9b2J",
    "<b>",
    "=1",
    "\\",
)


def hostile(rng: Random) -> str:
    """A text of a few pieces, most of which are control sequences."""
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 8)))


def turned(value: Any, rng: Random) -> Any:
    """The value with hostile texts in place of some of its texts and bytes."""
    if isinstance(value, dict):
        return {name: turned(item, rng) for name, item in value.items()}
    if isinstance(value, list):
        return [turned(item, rng) for item in value]
    if isinstance(value, str) and rng.random() < 0.7:
        return hostile(rng)
    if isinstance(value, bytes) and rng.random() < 0.3:
        return hostile(rng).encode()
    return value


def _body(key: int, version: int, side: Side, rng: Random) -> dict[str, Any]:
    message = api(key).request if side == "request" else api(key).response
    value: dict[str, Any] = turned(random_value(resolve(message, version), rng, values=rng.choice([5, 20, 60])), rng)
    return value


def _shown(*words: str) -> list[str]:
    env = world(terminal=True, columns=Random(repr(words)).choice([None, 40, 80, 132, 400]))
    outcome = kw(*words, env=env)
    seen = Seen(outcome.code, outcome.out + outcome.err)
    return [f"{' '.join(words)[:200]}: {fault}" for fault in seen.faults(lines="csv" not in words)]


def once(rng: Random, folder: Path) -> int:
    """Show one exchange of any API in every format, and each message alone; gives the number of views, all harmless."""
    key = rng.choice(KEYS)
    found = api(key)
    version = rng.randint(found.versions.low, found.versions.high)
    try:
        asked = decoders.encode_request(
            key, version, _body(key, version, "request", rng), correlation_id=3, client_id=hostile(rng)
        )
        answer = decoders.encode_response(key, version, _body(key, version, "response", rng), correlation_id=3)
    except (EncodeError, UnicodeError):
        return 0  # a text that is too long for its field, or not UTF-8
    talk = SyntheticTcp(*ADDRESS, time_ns=10**18)
    packets = [*talk.opening_packets(), *(packet for packet, _ in talk.data_packets(CLIENT, framed(asked)))]
    packets += [
        *(packet for packet, _ in talk.data_packets(SERVER, framed(answer))),
        *talk.closing_packets(reset=False),
    ]
    pcap = PcapWriter(LINK_RAW)
    file = folder / "hostile.pcap"
    file.write_bytes(
        pcap.make_file_header() + b"".join(pcap.make_packet_block(10**18 + at, data) for at, data in enumerate(packets))
    )
    views = [("sniff", str(file), "--port", "9092", "-o", output, "-q", *more) for output in FORMATS for more in _MORE]
    views = [words for words in views if "--records" not in words or WITHOUT_BODIES.isdisjoint(words)]
    for side, frame in (("--request", asked), ("--response", answer)):
        words = ("decode", "--api", str(key), "--version", str(version), side, framed(frame).hex(), "--records", "-v")
        views += [(*words, "-o", output) for output in ("text", "ndjson", "hex")]
    for words in views:
        assert _shown(*words) == []
    return len(views)


_MORE = ((), ("-vv", "--records"), ("-v", "--reveal-secrets"))


def try_views(rng: Random) -> int:
    """`once`, in a temporary folder."""
    with TemporaryDirectory() as folder:
        return once(rng, Path(folder))
